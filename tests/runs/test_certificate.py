"""What a run certifies of the model that it exports, read from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fairpriv_core.cli.runs import answer_certificate
from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.engine.predict import decisions, evaluate
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.certificates import PAPERS_OWN, format_bounds, format_certificates
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, Parallel, from_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.parameters import read_method
from fairpriv_core.records.record import CERTIFICATE_OF_CHOSEN, RunRecord, withdrawn_record
from fairpriv_core.runs import execute
from fairpriv_core.runs.certificate import FILE_ASSUMED, NO_COUNTS, SAME_PEOPLE, certify_exported
from fairpriv_core.runs.foreground import train
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.store.runs import open_store
from fairpriv_core.text import Reporter
from tests.methods.harness import make_data

Made = dict[str, Any]
COUNTS = {"counts": np.full((2, 2, 2), 500.0).tolist(), "noise": 4.0}


def _config(method: str, **settings: object) -> dict[str, Any]:
    return {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "method": {"name": method, "epochs": 1, **settings},
        "epsilon": 1,
    }


TRAINED = {
    "certified": _config("fairdp_certified"),
    "published": _config("fairdp_certified", variant="published"),
    "dpsgd_smooth": _config("dpsgd_smooth", smoothing=0.5, smoothing_samples=7),
    "fairsmooth": {**_config("fairsmooth", smoothing=0.5, smoothing_samples=7), "epsilon": None},
    "dp_sgd": _config("dp_sgd"),
}


def _finish(raw: Mapping[str, Any]) -> RunRecord:
    return execute.execute(build_config(raw), MemoryJournal()).record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a store's place, and the records of its runs by their names in TRAINED."""
    place = tmp_path_factory.mktemp("certified") / "runs.db"
    records = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRPRIV_STORE", str(place))
        for name, raw in TRAINED.items():
            records[name] = train(build_config(raw), Reporter(say=lambda _: None, show=lambda _: None))[1]
    return {"place": str(place), **records}


@pytest.fixture
def runs(made: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return runs of the default store, which no test changes."""
    monkeypatch.setenv("FAIRPRIV_STORE", made["place"])
    return made


def test_a_certified_run_says_what_it_certifies_and_how_accurate_it_is(runs: Made) -> None:
    key = runs["certified"].key
    answer = answer_certificate(key)
    assert answer.document["of"] == "exported model" and set(answer.document["bounds"]) == {
        name for name, notion in notions().items() if notion.compares == "decisions"
    }
    for said in ("demographic parity gap", "accuracy", "5 in 100", "exported model, on people drawn at random like"):
        assert said in " ".join(answer.text.split())
    with open_store() as store:
        [told] = gather_report(store, [key]).runs
    assert "accuracy" in dict(told.certificates)


def test_the_certificate_is_paid_for_on_test_rows_and_not_by_training(made: Made) -> None:
    record = made["certified"]
    [event] = from_json(record.event)
    assert isinstance(event, Parallel) and event.fixed and event == from_json(record.released)[0]
    training, [counts] = event.branches
    assert isinstance(counts, Gaussian) and record.epsilon == max(epsilon(training, 1e-5), epsilon((counts,), 1e-5))
    assert record.epsilon <= 1.0 and "Which rows are which is assumed public" in record.assumptions[-1]
    private, found = record.metrics_private, record.notes["certificates"]
    assert (
        private is not None and private["noise"] == counts.noise_multiplier and found["rows"] == record.data["n_test"]
    )
    assert found["accuracy"] == pytest.approx(private["accuracy"])
    for notion, bound in found["bounds"].items():
        assert bound is None or bound > private[f"{notion}_gap"]


def test_a_run_that_ended_at_a_look_states_and_pays_for_its_planned_length() -> None:
    """Where it ended depends on the data; its certificate is made from test rows that no look has seen."""
    asked = {**_config("fairdp_certified", certificate_target=0.047, looks=2), "epsilon": 1}
    asked["method"]["epochs"] = 6
    runs = (_finish({**asked, "seed": seed}) for seed in range(9))  # noise decides at which look, if at any
    record, ended = next((run, after) for run in runs if (after := run.notes["looks"].get("ended_after")))
    planned = read_method(record.calibrated).steps(record.data["n_train"])
    assert ended in (2, 4) and record.steps * 6 == planned * ended
    assert record.event == record.released and record.epsilon == pytest.approx(1.0, abs=1e-3)
    [event] = from_json(record.event)
    assert isinstance(event, Parallel)
    training, _ = event.branches
    assert training == read_method(record.calibrated).event(record.data["n_train"])
    assert [each.count for each in training if isinstance(each, Gaussian)] == [1, 2]
    assert record.notes["certificates"]["rows"] == record.data["n_test"]


@pytest.mark.parametrize("name", ["certified", "published", "dpsgd_smooth", "fairsmooth"])
def test_what_is_exported_is_what_is_measured_and_certified(name: str, runs: Made) -> None:
    """The stored files decide as the run did: their counts are what metrics, evaluation and certificate stand on."""
    record, config = runs[name], build_config(TRAINED[name])
    with open_store() as store:
        model = Model.read(partial(store.artifact, record.key))
    _, test = split_dataset(load_dataset(config.data), seed=config.seed, split=config.split)
    measured = evaluate(model.network, model.parameters, test)
    assert measured["accuracy"] == record.metrics["accuracy"]
    assert measured["demographic_parity_gap"] == record.metrics["demographic_parity_gap"]
    if record.metrics_private is not None:
        decided = decisions(model.network, model.parameters, test)
        cells = np.zeros((2, 2, 2))
        np.add.at(cells, (test.group, test.y, decided), 1)
        assert np.abs(np.asarray(record.metrics_private["counts"]) - cells).max() < 7 * record.metrics_private["noise"]
    assert (record.metrics_private is not None) == (name == "certified")


def test_a_run_without_one_says_which_method_gives_one(runs: Made) -> None:
    key = runs["dp_sgd"].key
    with pytest.raises(BadInput, match=f"run {key} was trained with 'dp_sgd', which gives no certificate; .*certified"):
        answer_certificate(key)


def test_a_run_that_has_not_begun_has_none() -> None:
    with open_store() as store:
        key = store.submit(build_config(_config("fairdp_certified", width=9))).key
    with pytest.raises(BadInput, match="only a finished run has a certificate"):
        answer_certificate(key)


def test_where_nothing_can_be_certified_one_sentence_says_why(made: Made) -> None:
    published = made["published"]
    assert format_certificates(published) == [("none", PAPERS_OWN)] and published.metrics_private is None
    silent = _finish({**_config("fairdp_certified", noise_primal=0.0, noise_counts=1.0), "epsilon": None})
    assert format_certificates(silent) == [("none", NO_COUNTS)] and silent.epsilon is None
    method, data = read_method("fairdp_certified"), make_data(n=40)
    people = replace(data, unit=np.arange(40) // 4)
    found = certify_exported(method, people, COUNTS, learned=False)["certificates"]
    assert found["reason"] == SAME_PEOPLE and "bounds" not in found
    assert certify_exported(read_method("dp_sgd"), data, COUNTS, learned=False) == {}
    own = certify_exported(method, data, COUNTS, learned=True)["certificates"]
    assert FILE_ASSUMED in own["assumptions"]


def test_a_run_that_was_chosen_by_its_test_numbers_loses_its_certificate(made: Made) -> None:
    record = made["certified"]
    chosen = withdrawn_record(record, "Chosen by raw numbers.")
    assert format_certificates(chosen) == [("withdrawn", CERTIFICATE_OF_CHOSEN)]
    assert chosen.notes["certificates"]["stated"] == record.notes["certificates"]
    assert RunRecord.from_json(chosen.to_json()) == chosen


def test_a_bound_that_says_nothing_is_called_that_and_others_are_rounded_up(made: Made) -> None:
    record = made["certified"]
    bounds = {"equalized_odds": None, "demographic_parity": 0.1234001, "equal_opportunity": 0.125}
    found = {**record.notes["certificates"], "bounds": bounds, "accuracy_at_least": 0.79999, "accuracy": None}
    said = dict(format_certificates(replace(record, notes={"certificates": found})))
    assert said["equalized odds gap"].startswith("no information")
    assert said["demographic parity gap"] == "at most 12.35 percentage points"
    assert said["equal opportunity gap"] == "at most 12.50 percentage points"
    assert said["accuracy"] == "at least 79.99 %" and said["Theorem 2"].startswith("No information")


def test_a_bound_that_rests_on_an_estimate_is_said_to_be_no_certificate(made: Made) -> None:
    notes = {"released_gap_bounds": {"demographic_parity_gap": 0.0521}}
    estimated = replace(made["certified"], notes=notes)
    said = dict(format_bounds(estimated))
    assert said["demographic parity gap"] == "at most 5.21 percentage points"
    assert list(said) == ["demographic parity gap", "counts", "not proved"]
    assert format_certificates(estimated) == [] and format_bounds(replace(estimated, notes={})) == []
    notes["released_gap_bounds"]["demographic_parity_gap"] = 4.9
    assert format_bounds(estimated)[0][1].startswith("no information")


def test_on_adult_the_exported_model_keeps_to_its_certificate() -> None:
    for seed, ensemble in ((0, 100), (1, 10_000)):
        raw = _config("fairdp_certified", epochs=10, ensemble=ensemble)
        config: RunConfig = build_config({**raw, "data": {"dataset": "adult", "sensitive": "sex"}, "seed": seed})
        record = execute.execute(config, MemoryJournal()).record
        assert record.metrics is not None
        for notion, bound in record.notes["certificates"]["bounds"].items():
            assert record.metrics[f"{notion}_gap"] < bound < record.metrics[f"{notion}_gap"] + 0.16
