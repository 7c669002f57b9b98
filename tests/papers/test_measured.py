"""What is measured at finished models for the papers' figures: each measure by its name, of each run once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.networks import build_mlp
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.papers.measured import MEASURES, compute, find_gradients, measure, with_measured
from fairpriv_core.papers.preset import MEASURES as WORDS
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache, calibrate_method
from fairpriv_core.runs.audit import audit_model
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from tests.many import make_ages

Configure = Callable[..., RunConfig]


@pytest.fixture(autouse=True)
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the four attackers learn from few records."""
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)


@pytest.fixture
def key(local: RunStore, configure: Configure) -> str:
    """Return the key of a finished run of PF-LD."""
    work = WorkStore(local.database)
    [claim] = work.claim(local.submit(configure("pf_ld", variant="published", gap_target=None)).key)
    work_on(work, [claim])
    return claim.key


@pytest.fixture
def convex(local: RunStore, configure: Configure) -> str:
    """Return the key of a finished run of FairDP, as published, with the settings of Theorem 6."""
    steps = {"hidden_layers": 0, "schedule": "inverse_sqrt", "clip_primal": 50.0, "ensemble": 2}
    work = WorkStore(local.database)
    [claim] = work.claim(local.submit(configure("fairdp_certified", variant="published", **steps)).key)
    work_on(work, [claim])
    return claim.key


def test_what_presets_may_ask_for_is_what_there_is() -> None:
    assert set(WORDS) == set(MEASURES)


def test_membership_is_the_audits_attack_and_repeats(local: RunStore, key: str) -> None:
    found = measure(local, "membership", [key])[key]
    assert found == measure(local, "membership", [key])[key]
    record = local.record(key)
    assert record is not None
    model = Model.read(partial(local.artifact, key))
    audit = audit_model(record, model, seed=record.config["seed"])["membership"]
    expected = {one["attacker"]: {name: one[name] for name in ("auc", "advantage")} for one in audit["attackers"]}
    assert list(found) == [*expected, "chance"] and {name: found[name] for name in expected} == expected
    assert found["chance"]["auc"] == 0.5 and 0.0 < found["chance"]["advantage"] < audit["chance"]


def test_clipped_is_a_share_of_each_group(local: RunStore, key: str) -> None:
    shares = measure(local, "clipped", [key])[key]
    assert len(shares) == 2 and all(0.0 <= share <= 1.0 for share in shares.values())


def test_bias_and_variance_are_those_of_equation_4(local: RunStore, key: str) -> None:
    found = measure(local, "bias_variance", [key])[key]
    config = build_config(local.row(key).config)
    train, _ = DatasetCache().parts(config)
    method: Any = calibrate_method(config, train.n)
    *weights, bias = Model.read(partial(local.artifact, key)).parameters.astype(np.float64)
    chance = 1.0 / (1.0 + np.exp(-(train.X @ np.array(weights) + bias)))
    gradients = (chance - train.y)[:, None] * np.column_stack([train.X, np.ones(train.n)])  # of a logistic regression
    lost = np.maximum(np.linalg.norm(gradients, axis=1) - method.clip_primal, 0.0).mean()
    bias_term = 2.0 * (1.0 + 1.0 / method.learning_rate) * np.linalg.norm(gradients.mean(axis=0)) * lost + lost**2
    variance = (method.noise_primal * method.clip_primal / method.batch_size) ** 2 * gradients.shape[1]
    assert found["clipping"] == pytest.approx(bias_term, rel=1e-4)
    assert found["noise"] == pytest.approx(variance)
    assert found["tau"] == found["clipping"] + found["noise"]


@pytest.mark.parametrize(("clip_primal", "clip_dual"), [(0.01, 0.01), (0.2, 0.3), (50.0, 50.0)])
def test_errors_are_below_the_bounds_of_theorems_4_and_5(
    local: RunStore, configure: Configure, clip_primal: float, clip_dual: float
) -> None:
    method = {"variant": "published", "clip_primal": clip_primal, "clip_dual": clip_dual, "gap_target": None}
    work = WorkStore(local.database)
    [claim] = work.claim(local.submit(configure("pf_ld", **method)).key)
    work_on(work, [claim])
    found = measure(local, "errors", [claim.key])[claim.key]
    assert 0.0 < found["gradient"] <= found["gradient_bound"] * (1.0 + 1e-9)
    assert 0.0 < found["violation"] <= found["violation_bound"] * (1.0 + 1e-9)
    if clip_primal == 50.0:  # nothing is clipped: all error is noise, whose mean is known
        assert found["gradient"] == pytest.approx(found["gradient_bound"], rel=1e-6)
        assert found["violation"] == pytest.approx(np.sqrt(2.0 / np.pi) * found["violation_bound"], rel=1e-6)


def test_the_errors_of_a_proved_run_are_not_those_of_the_theorems(local: RunStore, configure: Configure) -> None:
    work = WorkStore(local.database)
    [claim] = work.claim(local.submit(configure("pf_ld", variant="proved")).key)
    work_on(work, [claim])
    with pytest.raises(BadInput, match="variant must be published, got proved"):
        measure(local, "errors", [claim.key])


def test_training_is_what_the_run_stored_by_epoch_and_ends_in_its_record(local: RunStore, key: str) -> None:
    found = measure(local, "training", [key])[key]
    row, record = local.row(key), local.record(key)
    assert record is not None and list(found) == ["accuracy", "gap"]
    epochs = row.config["method"]["epochs"]
    assert list(found["accuracy"]) == list(found["gap"]) == [str(epoch) for epoch in range(1, epochs + 1)]
    assert found["accuracy"][str(epochs)] == record.metrics["accuracy"]
    stored = {step: value for step, name, value in local.metrics(key) if name == "test/demographic_parity_gap"}
    assert list(found["gap"].values()) == [stored[step] for step in sorted(stored)]


def test_the_excess_risk_of_a_run_is_below_its_bound(local: RunStore, convex: str, key: str) -> None:
    found = measure(local, "excess_risk", [convex])[convex]
    assert 0.0 <= found["found"] < found["untrained"] and found["found"] < found["bound"]
    with pytest.raises(BadInput, match="pf_ld"):
        measure(local, "excess_risk", [key])


def test_gradients_of_a_network_of_layers_are_those_of_its_losses() -> None:
    ages, shape = make_ages(20), build_mlp(4, 1, 6, outputs=3)
    data = replace(ages, X=np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
    model = Model.of(Fitted(shape.to_json(), shape.initial(0), (), 0), data)
    norms, mean = find_gradients(model, data)
    alone = [find_gradients(model, data.take(np.array([row])))[1] for row in range(data.n)]
    assert norms == pytest.approx(np.linalg.norm(alone, axis=1), rel=1e-4)
    assert mean == pytest.approx(np.mean(alone, axis=0), abs=1e-6)


def test_records_get_what_was_measured_under_its_name(local: RunStore, key: str) -> None:
    plain = {"key": key, "seconds": 1.0}
    assert with_measured(local, "", [plain]) == [plain]
    (found,) = with_measured(local, "clipped", [plain])
    assert found == {**plain, "clipped": measure(local, "clipped", [key])[key]}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_worker_measures_what_a_page_asked_for(
    local: RunStore, key: str, convex: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = convex if name == "excess_risk" else key
    monkeypatch.setattr("fairpriv_core.runs.preview.live_with_parent", lambda: None)
    place = str(local.database.path)
    asked = local.request_preview({"measure": name, "keys": [key]})
    assert local.previews.claim() == asked
    run_preview(place, asked)
    told = local.preview(asked)
    assert told is not None and told["error"] is None
    assert (
        told["result"] == compute(place, {"measure": name, "keys": [key]}) == {"measured": measure(local, name, [key])}
    )
