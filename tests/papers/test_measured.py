"""What is measured at finished models for the papers' figures: each measure by its name, of each run once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.networks import build_mlp
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.papers.measured import MEASURES, find_gradients, measure, with_measured
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import MEASURES as WORDS
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache, calibrate_method
from fairpriv_core.runs.audit import audit_model
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from tests.many import make_ages

CLIPS = ((0.01, 0.01), (0.2, 0.3), (50.0, 50.0))
_PLAIN = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1}


@dataclass(frozen=True)
class Trained:
    """A store with the finished runs of `list_asked`, by their names; what was measured of one is kept."""

    store: RunStore
    keys: dict[str, str]
    kept: dict[tuple[str, str], Any] = field(default_factory=dict)

    def measure(self, name: str, run: str = "pf_ld") -> Any:
        """Return what the measure called `name` finds of a run."""
        if (name, run) not in self.kept:
            self.kept[name, run] = measure(self.store, name, [self.keys[run]])[self.keys[run]]
        return self.kept[name, run]


def list_asked() -> dict[str, dict[str, Any]]:
    """Return the methods of the runs: PF-LD, FairDP with the settings of Theorem 6, PF-LD at other bounds."""
    pf_ld = {"name": "pf_ld", "epochs": 2, "variant": "published", "gap_target": None}
    steps = {"hidden_layers": 0, "schedule": "inverse_sqrt", "clip_primal": 50.0, "ensemble": 2}
    clipped = {f"{primal:g} {dual:g}": {**pf_ld, "clip_primal": primal, "clip_dual": dual} for primal, dual in CLIPS}
    return {
        "pf_ld": pf_ld,
        "convex": {"name": "fairdp_certified", "epochs": 2, "variant": "published", **steps},
        "proved": {"name": "pf_ld", "epochs": 2, "variant": "proved"},
        **clipped,
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """Return finished runs; the four attackers learn from few records."""
    with (
        pytest.MonkeyPatch.context() as patch,
        open_store(str(tmp_path_factory.mktemp("measured") / "runs.db")) as store,
    ):
        patch.setattr("fairpriv_core.runs.audit._MOST", 300)
        work, keys = WorkStore(store.database), {}
        for name, method in list_asked().items():
            keys[name] = store.submit(build_config({**_PLAIN, "method": method, "seed": 0})).key
            work_on(work, work.claim(keys[name]))
        yield Trained(store, keys)


def test_what_presets_may_ask_for_is_what_there_is() -> None:
    assert set(WORDS) == set(MEASURES)


def test_membership_is_the_audits_attack_and_repeats(trained: Trained) -> None:
    found, key = trained.measure("membership"), trained.keys["pf_ld"]
    record = trained.store.record(key)
    assert record is not None
    model = Model.read(partial(trained.store.artifact, key))
    audit = audit_model(record, model, seed=record.config["seed"])["membership"]
    expected = {one["attacker"]: {name: one[name] for name in ("auc", "advantage")} for one in audit["attackers"]}
    assert list(found) == [*expected, "chance"] and {name: found[name] for name in expected} == expected
    assert found["chance"]["auc"] == 0.5 and 0.0 < found["chance"]["advantage"] < audit["chance"]


def test_clipped_is_a_share_of_each_group(trained: Trained) -> None:
    shares = trained.measure("clipped")
    assert len(shares) == 2 and all(0.0 <= share <= 1.0 for share in shares.values())


def test_bias_and_variance_are_those_of_equation_4(trained: Trained) -> None:
    found, key = trained.measure("bias_variance"), trained.keys["pf_ld"]
    config = build_config(trained.store.row(key).config)
    train, _ = DatasetCache().parts(config)
    method: Any = calibrate_method(config, train.n)
    *weights, bias = Model.read(partial(trained.store.artifact, key)).parameters.astype(np.float64)
    chance = 1.0 / (1.0 + np.exp(-(train.X @ np.array(weights) + bias)))
    gradients = (chance - train.y)[:, None] * np.column_stack([train.X, np.ones(train.n)])  # of a logistic regression
    lost = np.maximum(np.linalg.norm(gradients, axis=1) - method.clip_primal, 0.0).mean()
    bias_term = 2.0 * (1.0 + 1.0 / method.learning_rate) * np.linalg.norm(gradients.mean(axis=0)) * lost + lost**2
    variance = (method.noise_primal * method.clip_primal / method.batch_size) ** 2 * gradients.shape[1]
    assert found["clipping"] == pytest.approx(bias_term, rel=1e-4)
    assert found["noise"] == pytest.approx(variance)
    assert found["tau"] == found["clipping"] + found["noise"]


@pytest.mark.parametrize(("primal", "dual"), CLIPS)
def test_errors_are_below_the_bounds_of_theorems_4_and_5(trained: Trained, primal: float, dual: float) -> None:
    found = trained.measure("errors", f"{primal:g} {dual:g}")
    assert 0.0 < found["gradient"] <= found["gradient_bound"] * (1.0 + 1e-9)
    assert 0.0 < found["violation"] <= found["violation_bound"] * (1.0 + 1e-9)
    if primal == 50.0:  # nothing is clipped: all error is noise, whose mean is known
        assert found["gradient"] == pytest.approx(found["gradient_bound"], rel=1e-6)
        assert found["violation"] == pytest.approx(np.sqrt(2.0 / np.pi) * found["violation_bound"], rel=1e-6)


def test_the_errors_of_a_proved_run_are_not_those_of_the_theorems(trained: Trained) -> None:
    with pytest.raises(BadInput, match="variant must be published, got proved"):
        trained.measure("errors", "proved")


def test_training_is_what_the_run_stored_by_epoch_and_ends_in_its_record(trained: Trained) -> None:
    found, key = trained.measure("training"), trained.keys["pf_ld"]
    record = trained.store.record(key)
    assert record is not None and list(found) == ["accuracy", "gap"]
    assert list(found["accuracy"]) == list(found["gap"]) == ["1", "2"], "each epoch"
    assert found["accuracy"]["2"] == record.metrics["accuracy"]
    stored = {step: value for step, name, value in trained.store.metrics(key) if name == "test/demographic_parity_gap"}
    assert list(found["gap"].values()) == [stored[step] for step in sorted(stored)]


def test_the_excess_risk_of_a_run_is_below_its_bound(trained: Trained) -> None:
    found = trained.measure("excess_risk", "convex")
    assert 0.0 <= found["found"] < found["untrained"] and found["found"] < found["bound"]
    with pytest.raises(BadInput, match="pf_ld"):
        trained.measure("excess_risk")


def test_gradients_of_a_network_of_layers_are_those_of_its_losses() -> None:
    ages, shape = make_ages(20), build_mlp(4, 1, 6, outputs=3)
    data = replace(ages, X=np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
    model = Model.of(Fitted(shape, shape.initial(0), (), 0), data)
    norms, mean = find_gradients(model, data)
    alone = [find_gradients(model, data.take(np.array([row])))[1] for row in range(data.n)]
    assert norms == pytest.approx(np.linalg.norm(alone, axis=1), rel=1e-4)
    assert mean == pytest.approx(np.mean(alone, axis=0), abs=1e-6)


def test_records_get_what_was_measured_under_its_name(trained: Trained) -> None:
    plain = PaperRun(trained.keys["pf_ld"], {}, seconds=1.0)
    assert with_measured(trained.store, "", [plain]) == [plain]
    assert with_measured(trained.store, "clipped", [plain]) == [
        replace(plain, measured={"clipped": trained.measure("clipped")})
    ]


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_worker_measures_what_a_page_asked_for(trained: Trained, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for as JSON and told as JSON, and finds the same again."""
    run = "convex" if name == "excess_risk" else "pf_ld"
    key, store = trained.keys[run], trained.store
    monkeypatch.setattr("fairpriv_core.runs.preview.live_with_parent", lambda: None)
    asked = store.previews.ask({"measure": name, "keys": [key]})
    assert store.previews.claim() == asked
    run_preview(str(store.database.path), asked)
    told = store.previews.look(asked)
    assert told.error is None and told.result == {"measured": {key: trained.measure(name, run)}}
