"""Runs on more than two labels: refused before they train where they cannot be, and measured over classes."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.engine import predict
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.training import Fitted, Snapshot
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records import plan
from fairpriv_core.runs.execute import evaluate_privately
from fairpriv_core.runs.session import snapshot_values
from pages.widgets.train.plan import make_plan
from tests.many import AGES, ask, draw_scores, make_ages
from tests.methods.harness import RecordingMechanism

DATA = make_ages()
SCORE = draw_scores(DATA, skill=0.5, seed=0)
NETWORK = NetworkShape(4)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every model answer with SCORE."""
    monkeypatch.setattr(predict, "predict_proba", lambda *given: SCORE)


@pytest.mark.parametrize(("method", "field"), [("pf_ld", "method"), ("f_ld", "method"), ("dp_sgd", "notion")])
def test_what_cannot_be_is_refused_before_it_trains(method: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "load_dataset", lambda spec: DATA)
    config = ask(method, notion="equal_opportunity" if field == "notion" else "demographic_parity")
    for refuse in (lambda: plan.DatasetCache().parts(config), lambda: make_plan(config, DATA, None)):
        with pytest.raises(BadInput, match=r"3 labels|has 3") as refused:
            refuse()
        assert refused.value.field == field
    train, test = plan.DatasetCache().parts(ask("dp_sgd"))
    assert train.labels == 3 and make_plan(ask("dp_sgd"), DATA, None).steps > 0 and test.n > 0


def test_a_private_evaluation_releases_all_counts_once(answers: None) -> None:
    mechanism = RecordingMechanism(seed=1)
    fitted = Fitted(NETWORK, np.zeros(1, dtype=np.float32), (), 1)
    events, found = evaluate_privately(
        fitted, DATA, planned=(Gaussian(3.0),), mechanism=mechanism, threat_model="record"
    )
    assert found is not None and events == (Gaussian(3.0),)
    [release] = mechanism.releases
    decided = SCORE.argmax(axis=1)
    exact = np.zeros((3, 3, 3))
    np.add.at(exact, (DATA.group, DATA.y, decided), 1)
    assert np.array_equal(release.value, exact.ravel()) and release.bound == 1.0
    assert np.allclose(found["counts"], release.out.reshape(3, 3, 3)) and found["noise"] == 3.0
    assert [each["name"] for each in found["classes"]] == list(AGES)
    assert found["accuracy"] == pytest.approx(np.mean(decided == DATA.y), abs=0.02)


def test_an_epoch_shows_how_each_class_fares(answers: None) -> None:
    shown = Snapshot(1, 10, NETWORK, np.zeros(1, dtype=np.float32), {"loss": 0.5}, {})
    values = {name: value for _, name, value in snapshot_values(shown, DATA)}
    old = DATA.y == 2
    assert values["class/old/accuracy"] == pytest.approx(np.mean(SCORE.argmax(axis=1)[old] == 2))
    assert values["class/old/decided"] == pytest.approx(np.mean(SCORE.argmax(axis=1) == 2))
    assert {"test/largest_decided", "test/accuracy", "train/loss", "group/A/accuracy"} <= set(values)
    assert values["test/equal_opportunity_gap"] is None and not [name for name in values if "confusion" in name]
