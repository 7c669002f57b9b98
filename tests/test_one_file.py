"""The example in one file is the product: its parameters have the same bits, and it counts the same releases."""

from __future__ import annotations

import numpy as np
import pytest

from examples import fairpriv_in_one_file as one_file
from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal

MOST_LINES = 300
SEED, REPLAYED = 3, 7


@pytest.mark.parametrize("sensitive", ["group", "group+region"])
@pytest.mark.parametrize("set_by_hand", [{}, {"batch_size": 1000, "clip_primal": 0.1, "epochs": 5}])
def test_parameters_have_the_products_bits(sensitive: str, set_by_hand: dict[str, float]) -> None:
    asked = {"dataset": "synthetic", "sensitive": sensitive}
    config = build_config(
        {
            "data": asked,
            "notion": "demographic_parity",
            "method": {"name": "pf_ld", "gap_target": None, **set_by_hand},
            "epsilon": 1.0,
            "seed": SEED,
            "replay_noise": REPLAYED,
        }
    )
    outcome = execute(config, MemoryJournal())
    train, _ = split_dataset(load_dataset(DataSpec(**asked)), seed=SEED)
    settings = one_file.Settings(**set_by_hand)
    noise = one_file.find_noise(settings, train.n)
    trainer = one_file.Trainer(train, settings, noise, Randomness.replay(REPLAYED))
    parameters = trainer.train(SEED)
    assert np.array_equal(parameters, outcome.fitted.parameters)
    assert trainer.mechanism.released == outcome.fitted.events == one_file.announce(settings, noise, train.n)
    assert epsilon(trainer.mechanism.released, settings.delta) == outcome.record.epsilon_if_secret <= settings.epsilon


def test_a_small_group_ends_the_run() -> None:
    train, _ = split_dataset(load_dataset(DataSpec(dataset="synthetic", sensitive="group")), seed=SEED)
    few = train.take(np.concatenate([np.flatnonzero(train.group == 0), np.flatnonzero(train.group == 1)[:5]]))
    noise = one_file.Noise(counts=1.0, dual=1.0, primal=1.0)
    with pytest.raises(SystemExit, match="at least 30 are needed"):
        one_file.Trainer(few, one_file.Settings(), noise, Randomness.replay(REPLAYED))


def test_it_says_what_it_cost_and_closes_the_gap(capsys: pytest.CaptureFixture[str]) -> None:
    one_file.main()
    cost, fair, plain = capsys.readouterr().out.splitlines()
    assert 0.99 < float(cost.split()[2]) <= 1.0
    assert float(fair.split()[-1]) < float(plain.split()[-1]) - 0.1


def test_it_stays_short_enough_to_read() -> None:
    with open(one_file.__file__, encoding="utf-8") as file:
        assert len(file.readlines()) <= MOST_LINES
