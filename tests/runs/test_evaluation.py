"""Private evaluation: what is released, what it costs, and that a crash repeats it or pays again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.cli.request import read_request
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import Network
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.plain import read_toml
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Events, Gaussian, Parallel, from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.record import RunRecord, plan_evaluation
from fairpriv_core.runs import execute, session
from fairpriv_core.runs.execute import evaluate_privately
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from tests.methods.harness import RecordingMechanism, make_data

Configure = Callable[..., RunConfig]
PLANNED: Events = (Gaussian(2.0),)
PLAIN = NetworkShape(4)
BY_GROUP = Derived(PLAIN, ((0.1, 0.8), (0.4, 0.6)))


def ask(config: RunConfig) -> RunConfig:
    return replace(config, private_evaluation=True)


def finish(config: RunConfig) -> RunRecord:
    return execute.execute(config, MemoryJournal()).record


def release(
    data: Dataset, threat_model: str, network: Network = PLAIN
) -> tuple[RecordingMechanism, Events, dict[str, Any]]:
    """Evaluate a fixed model on `data` with fresh noise."""
    mechanism = RecordingMechanism()
    fitted = Fitted(network, np.array([1, -1, 0.5, 0.2, 0.1], dtype=np.float32), (), 1)
    paid, found = evaluate_privately(fitted, data, planned=PLANNED, mechanism=mechanism, threat_model=threat_model)
    assert found is not None
    return mechanism, paid, found


@pytest.mark.parametrize(("method", "sensitivity"), [("pf_ld", math.sqrt(2)), ("dp_sgd", 1.0)])
def test_a_run_pays_for_its_evaluation_beside_its_training(
    method: str, sensitivity: float, configure: Configure
) -> None:
    record = finish(ask(configure(method)))
    [event] = from_json(record.event)
    assert isinstance(event, Parallel) and event.fixed and event == from_json(record.released)[0]
    training, [counts] = event.branches
    assert isinstance(counts, Gaussian)
    assert record.epsilon == max(epsilon(training, 1e-5), epsilon((counts,), 1e-5))
    assert 0.999 < epsilon((counts,), 1e-5) <= 1.0 and record.epsilon <= 1.0
    found, raw = record.metrics_private, record.metrics
    assert found is not None and raw is not None and record.metrics_are_raw
    assert found["noise"] == sensitivity * counts.noise_multiplier
    assert found["accuracy"] == pytest.approx(raw["accuracy"], abs=0.03)
    assert found["demographic_parity_gap"] == pytest.approx(raw["demographic_parity_gap"], abs=0.06)
    low, high = found["demographic_parity_gap_interval"]
    assert low < found["demographic_parity_gap"] < high
    assert "Which rows are which is assumed public" in record.assumptions[-1]
    assert RunRecord.from_json(json.loads(record.to_text())) == record


def test_without_it_nothing_changes(configure: Configure) -> None:
    config = configure("pf_ld")
    record = finish(config)
    assert record.metrics_private is None and all(event["kind"] != "parallel" for event in record.event)
    assert config.key != ask(config).key
    assert build_config(ask(config).to_json()) == ask(config)


@pytest.mark.parametrize("network", [PLAIN, BY_GROUP])
def test_one_person_moves_the_counts_by_no_more_than_is_accounted(network: Network) -> None:
    """Brute force at the mechanism's input: every row of a small test set, replaced to each group and removed."""
    data = make_data(120, groups=2)
    [before] = release(data, "attribute", network)[0].releases
    largest = {"attribute": 0.0, "record": 0.0}
    for row in range(data.n):
        group = data.group.copy()
        group[row] = 1 - group[row]
        kept = np.delete(np.arange(data.n), row)
        changed = {"attribute": replace(data, group=group), "record": data.take(kept)}
        for threat_model, other in changed.items():
            [after] = release(other, threat_model, network)[0].releases
            moved = float(np.linalg.norm(after.value - before.value))
            assert moved <= after.bound + 1e-12
            largest[threat_model] = max(largest[threat_model], moved)
    assert largest == pytest.approx({"attribute": math.sqrt(2), "record": 1.0})


@pytest.mark.parametrize("threat_model", ["attribute", "record"])
def test_a_rate_given_decisions_is_made_of_the_released_counts_alone_and_costs_nothing_more(threat_model: str) -> None:
    """Numerator and denominator are sums of cells: whoever moves a cell has moved it in the one release there is."""
    data = make_data(4000, groups=2)
    mechanism, paid, found = release(data, threat_model)
    [seen] = mechanism.releases
    assert paid == PLANNED and seen.bound == {"attribute": math.sqrt(2), "record": 1.0}[threat_model]
    cells = np.reshape(seen.out, (2, 2, 2))
    precise = cells[:, 1, 1] / cells[:, :, 1].sum(axis=1)
    assert found["predictive_parity_gap"] == pytest.approx(abs(precise[0] - precise[1]))
    assert [each["positive_predictive_value"] for each in found["groups"]] == pytest.approx(precise)
    for metric in ("calibration_within_groups_gap", "worst_group_loss"):
        assert found[metric] is None and "needs scores" in found["reasons"][metric]


def test_the_noise_is_as_accounted_and_nothing_else_is_said() -> None:
    data = make_data(60)
    noises = []
    for _ in range(1000):
        mechanism, paid, found = release(data, "record")
        [seen] = mechanism.releases
        noises.append(seen.out - seen.value)
        assert paid == PLANNED == mechanism.events and np.ravel(found["counts"]) == pytest.approx(seen.out)
    assert np.std(noises) == pytest.approx(2.0, rel=0.04)  # 8,000 normals: within five standard errors
    assert np.abs(np.corrcoef(np.array(noises).T) - np.eye(8)).max() < 0.15


def test_noise_set_by_hand_is_matched_by_trainings_epsilon(configure: Configure) -> None:
    method = replace(configure("dp_sgd").method, noise_primal=3.0)  # type: ignore[type-var]
    config = ask(replace(configure("dp_sgd"), method=method, epsilon=None))
    [counts] = plan_evaluation(config, method, 6000)
    training = epsilon(method.event(6000), 1e-5)
    assert 0.998 * training < epsilon((counts,), 1e-5) <= training
    silent = replace(config, method=replace(method, noise_primal=0.0))  # type: ignore[type-var]
    with pytest.raises(BadInput, match="a finite epsilon > 0, and this run's is inf"):
        plan_evaluation(silent, silent.method, 6000)


def test_a_file_and_an_option_both_ask_for_it(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    data = '[data]\ndataset = "synthetic"\nsensitive = "group"\n'
    path.write_text(f'notion = "demographic_parity"\nmethod = "pf_ld"\nepsilon = 1\nprivate_evaluation = true\n{data}')
    assert read_request({"config": str(path)})[0].private_evaluation
    assert read_request({"config": str(path), "private_evaluation": None})[0].private_evaluation
    path.write_text(path.read_text().replace("private_evaluation = true\n", ""))
    assert read_request({"config": str(path)})[0].private_evaluation, "it is made where nobody says anything"
    assert not read_request({"config": str(path), "private_evaluation": False})[0].private_evaluation
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"config": read_toml(path.read_text())}))  # of a version that had no evaluations
    assert not read_request({"config": str(record)})[0].private_evaluation


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({"epsilon": "1"}, True),
        ({"epsilon": "1", "private_evaluation": False}, False),
        ({"method": "dp_sgd", "epsilon": "1"}, True),
        ({"epsilon": "1", "variant": "published"}, False),
        ({"epsilon": "1", "replay_noise": "3"}, False),
        ({"method": "dp_sgd", "assignments": ["noise_primal=3"]}, False),
        ({"method": "one_release", "reuse": "f" * 16}, False),
        ({"method": "none"}, False),
    ],
)
def test_a_run_that_pays_for_itself_makes_one_unless_told_not_to(asked: dict[str, Any], made: bool) -> None:
    data = {"dataset": "synthetic", "sensitive": "group", "notion": "demographic_parity"}
    assert read_request({**data, "method": "pf_ld", **asked})[0].private_evaluation is made


def test_a_method_that_is_not_private_is_refused(configure: Configure) -> None:
    raw = {**configure().to_json(), "private_evaluation": True}
    with pytest.raises(BadInput, match="needs a private method, got 'none'"):
        build_config(raw)
    with pytest.raises(BadInput, match="must be true or false, got 'yes'"):
        build_config({**raw, "private_evaluation": "yes"})


@pytest.mark.parametrize("committed", [True, False])
def test_a_crash_before_the_end_repeats_the_release_or_makes_another(
    committed: bool, local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a checkpoint the same key gives the same counts; without one nothing had left, and the noise is new."""
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0 if committed else math.inf)
    seen: list[dict[str, Any]] = []
    honest = execute.evaluate_privately

    def watch(*given: Any, **named: Any) -> tuple[Events, dict[str, Any] | None]:
        paid, found = honest(*given, **named)
        assert found is not None
        seen.append(found)
        return paid, found

    def break_down(*_: Any) -> None:
        raise ValueError("the power is gone")

    monkeypatch.setattr(execute, "evaluate_privately", watch)
    key, work = local.submit(ask(configure("pf_ld"))).key, WorkStore(local.database)
    with monkeypatch.context() as broken:
        broken.setattr(execute, "finished_record", break_down)
        work_on(work, work.claim(key))
    assert local.row(key).status == "queued"
    work_on(work, work.claim(key))
    record = local.record(key)
    assert record is not None and record.status == "finished" and record.metrics_private == seen[1]
    assert (seen[0] == seen[1]) == committed
    [event] = from_json(record.event)
    assert (
        isinstance(event, Parallel)
        and event.branches[1] == (Gaussian(seen[1]["noise"] / math.sqrt(2)),)
        and record.epsilon is not None
    )
