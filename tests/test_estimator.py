"""The scikit-learn front: pipelines, cross-validation, fairlearn, and what it says about epsilon."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.base import clone
from sklearn.metrics import accuracy_score, precision_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpriv_core.cli.ledger import answer_cap, answer_ledger
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.metrics import measure
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import in_memory
from fairpriv_core.warnings import DataWarning, PrivacyWarning

QUICK = {"epochs": 3, "batch_size": 100}
Hiring = partial(FairPrivateClassifier, pos_label="hired")


def make_rows(n: int = 1_200) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, text labels and sex; men are favoured."""
    draw = np.random.default_rng(1)
    sex = draw.choice(["f", "m"], n)
    skill = draw.normal(size=n)
    rows = pd.DataFrame({"test": skill + 0.3 * draw.normal(size=n), "club": (sex == "m") + 0.3 * draw.normal(size=n)})
    return rows, np.where(skill + (sex == "m") > 0.5, "hired", "rejected"), sex


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    return make_rows()


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_record_is_one_and_says_what_is_taken_as_given(rows: Any, own_store: Path) -> None:
    X, y, sex = rows
    model = Hiring("pf_ld", settings=QUICK, random_state=7).fit(X, y, sensitive_features=sex)
    record = RunRecord.from_json(json.loads(json.dumps(model.record_, allow_nan=False)))
    assert (record.status, record.config["seed"], record.data["n_train"], record.metrics) == (
        "finished",
        7,
        1_200,
        None,
    )
    assert record.epsilon == model.epsilon_ == pytest.approx(epsilon(from_json(record.event), 1e-5))
    assert 0.99 < record.epsilon <= 1.0 and record.event == record.released
    assert "The list of groups (f; m) is read from the rows given to fit" in " ".join(record.assumptions)
    assert "sensitive attribute is neither among the features" in " ".join(record.assumptions)
    assert record.data["digest"] == ""  # one of protected values would confirm a guess
    assert not own_store.exists() and not own_store.parent.exists()


def test_declared_groups_and_learned_scales_are_told_apart(rows: Any) -> None:
    X, y, sex = rows
    settings = {"noise_primal": 2.0, **QUICK}
    model = Hiring("dp_sgd", epsilon=None, settings=settings, groups=("m", "f", "x"))
    said = " ".join(model.fit(X, y, sensitive_features=sex).record_["assumptions"])
    assert "The list of groups (m; f; x) is declared, not learned from rows" in said
    assert "labels (rejected; hired) was read from y" in said and "How the features were made" in said
    assert model.groups_ == ("m", "f", "x")
    said = " ".join(clone(model).fit(X, y).record_["assumptions"])
    assert "No sensitive attribute was given: everyone is one group." in said


def test_where_no_epsilon_is_proved_there_is_a_reason(rows: Any) -> None:
    X, y, sex = rows
    plain = Hiring("none", settings=QUICK).fit(X, y, sensitive_features=sex)
    assert plain.epsilon_ is None and "not private" in plain.epsilon_reason_
    published = Hiring("pf_ld", variant="published", settings=QUICK).fit(X, y, sensitive_features=sex)
    assert published.epsilon_ is None and "does not hold" in published.epsilon_reason_
    assert published.record_["epsilon_published"] == pytest.approx(1.0, rel=0.01)


def test_random_state_repeats_what_is_public_and_never_the_noise(rows: Any) -> None:
    X, y, sex = rows

    def weights(method: str, random_state: Any) -> np.ndarray:
        model = Hiring(method, settings={"hidden_layers": 1, **QUICK}, random_state=random_state)
        return model.fit(X, y, sensitive_features=sex).parameters_

    assert np.array_equal(weights("none", 3), weights("none", 3))
    assert np.array_equal(weights("none", np.random.RandomState(5)), weights("none", np.random.RandomState(5)))
    assert not np.array_equal(weights("none", 3), weights("none", 4))
    assert not np.array_equal(weights("none", None), weights("none", None))
    assert not np.allclose(weights("dp_sgd", 3), weights("dp_sgd", 3))


def test_what_a_failed_fit_released_is_said(rows: Any) -> None:
    X, y, sex = rows
    said = r"at least 30 are needed.*\. It costs epsilon = 10\.0, that of its planned"
    with pytest.raises(RunFailed, match=said), pytest.warns(PrivacyWarning, match=r"'nobody' .* most runs will fail"):
        groups = ("f", "m", "nobody")  # at this epsilon their noisy count is below 30 for certain
        Hiring("pf_ld", epsilon=10, settings=QUICK, groups=groups).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pd.Categorical, lambda given: pd.DataFrame({"sex": given})]
)
def test_sensitive_values_may_be_of_any_kind(kind: Any, rows: Any) -> None:
    X, y, sex = rows
    model = Hiring("f_ld", settings=QUICK, random_state=0)
    by_text = model.fit(X, y, sensitive_features=kind(sex))
    assert by_text.groups_ == ("f", "m")
    by_number = clone(model).fit(X, y, sensitive_features=kind(np.where(sex == "f", 0, 1)))
    assert by_number.groups_ == (0, 1)
    assert np.array_equal(by_text.parameters_, by_number.parameters_)


@pytest.mark.parametrize(
    ("given", "settings", "says"),
    [
        (["f", None] * 600, {}, "sensitive_features lacks the value of 600 rows."),
        ([1.0, np.nan] * 600, {}, "sensitive_features lacks the value of 600 rows."),
        (["f"] * 1_200, {}, "at least two groups, got ['f']"),
        (["f", "d"] * 600, {"groups": ["f", "m"]}, "holds 'd', which is none of the groups ['f', 'm']."),
        (np.zeros((1_200, 2, 1)), {}, "must be one column or several, got an array of shape (1200, 2, 1)"),
        (
            ["f", "m"] * 600,
            {"pos_label": "promoted"},
            "pos_label must be one of the labels ['hired', 'rejected'], got 'promoted'.",
        ),
        (["f", "m"] * 600, {"sensitive_feature_ids": [0]}, "sensitive values are given twice"),
        (["f", "m"] * 600, {"method": "pfld"}, "unknown method 'pfld'; choose from pf_ld"),
        (["f", "m"] * 600, {"notion": "luck"}, "unknown notion 'luck'; choose from"),
        (["f", "m"] * 600, {"notion": "predictive_parity"}, "does not support notion 'predictive_parity'; choose from"),
        (
            ["f", "m"] * 600,
            {"method": "dp_sgd", "notion": "worst_group_loss"},
            "notion 'worst_group_loss' is a level, no gap: every run measures it, and none can be asked for it",
        ),
        (["f", "m"] * 600, {"epsilon": -1}, "epsilon must be a finite number > 0, got -1.0."),
        (["f", "m"] * 600, {"epsilon": None}, "epsilon is not given: method 'pf_ld' needs a number > 0"),
        (["f", "m"] * 600, {"settings": {"epoch": 3}}, "unknown parameter of method 'pf_ld' 'epoch'"),
        (["f", "m"] * 600, {"settings": {"batch_size": 5_000}}, "batch_size"),
        (["f", "m"] * 600, {"random_state": -1}, "seed must be a whole number from 0"),
        (range(1_200), {"method": "f_ld"}, "sensitive_features has 1,200 groups; at most 50 can be compared"),
        (np.arange(1_200) % 49, {}, "1,200 training rows are too few for 49 counts: each must reach 30, beside noise"),
        (np.arange(1_200) % 49, {"method": "one_release"}, "49 counts: each must reach 30. Most runs would stop"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(
    given: Any, settings: Any, says: str, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = rows
    monkeypatch.setattr(in_memory, "Mechanism", None)  # nothing may be released before
    with pytest.raises(BadInput) as caught:
        FairPrivateClassifier(**{"pos_label": "hired", **settings}).fit(X, y, sensitive_features=given)
    assert says in str(caught.value) and str(caught.value).endswith(".")


def test_a_label_of_too_few_rows_is_refused_where_labels_are_public(rows: Any) -> None:
    X, _, sex = rows
    rare = np.where(np.arange(len(X)) < 40, "hired", "rejected")
    with pytest.raises(BadInput, match=r"40 training rows of label 'hired' are too few for 2 counts.*take more rows"):
        Hiring("one_release", "equal_opportunity", settings=QUICK).fit(X, rare, sensitive_features=sex)


def test_a_delta_that_is_too_large_is_a_warning_and_in_the_record(rows: Any) -> None:
    X, y, _ = rows
    with pytest.warns(PrivacyWarning, match="not below 1/n") as caught:
        model = Hiring("dp_sgd", delta=0.01, settings=QUICK).fit(X, y)
    assert caught[0].filename == __file__ and "not below 1/n" in model.record_["warnings"][0]


def test_a_fit_warns_once_of_all_that_is_doubtful(rows: Any) -> None:
    X, y, _ = rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FairPrivateClassifier("dp_sgd", delta=0.01, settings=QUICK).fit(1e4 * np.asarray(X), y)
    (only,) = caught
    assert only.category is PrivacyWarning and only.filename == __file__
    assert all(part in str(only.message) for part in ("not below 1/n", "'rejected', counts as", "another scale"))


def test_weights_multiply_the_loss_of_their_rows(rows: Any) -> None:
    X, y, sex = rows
    women = np.where(sex == "f", 1.0, 0.0)
    one, other = (
        Hiring("none", settings={"epochs": 20}, random_state=0).fit(X, labels, women)
        for labels in (y, np.where(sex == "f", y, "hired"))
    )
    assert np.array_equal(one.parameters_, other.parameters_), "labels of rows that weigh nothing were learned from"
    assert "weight" not in " ".join(one.record_["assumptions"])
    slow, fast = ({"epochs": 5, "optimizer": "sgd", "learning_rate": rate} for rate in (0.002, 0.004))
    doubled = Hiring("none", settings=slow, random_state=0).fit(X, y, np.full(len(X), 2.0))
    faster = Hiring("none", settings=fast, random_state=0).fit(X, y)
    assert np.allclose(doubled.parameters_, faster.parameters_, atol=1e-6), "a sum of weights divides"


@pytest.mark.parametrize(("method", "says"), [("pf_ld", "not made from the"), ("dp_sgd", "part of its record")])
def test_what_epsilon_takes_of_weights_is_said(method: str, says: str, rows: Any) -> None:
    X, y, sex = rows
    weight = np.linspace(0.1, 3.0, len(X))
    model = Hiring(method, settings=QUICK).fit(X, y, weight, sensitive_features=sex)
    assert any(says in each for each in model.record_["assumptions"]) and model.epsilon_ is not None


def test_weights_are_refused_where_no_proof_covers_them_or_they_are_none(rows: Any) -> None:
    X, y, sex = rows
    weight = np.ones(len(X))
    with pytest.raises(BadInput, match=r"'raco_dp' takes no sample_weight: no proof of its epsilon .* dp_sgd"):
        Hiring("raco_dp").fit(X, y, weight, sensitive_features=sex)
    with pytest.raises(BadInput, match="learner must be network where rows have weights"):
        Hiring("one_release", settings={"learner": "linear"}).fit(X, y, weight, sensitive_features=sex)
    for bad, says in ((weight[1:], "one weight for each"), (-weight, "at least zero"), (0 * weight, "above zero")):
        with pytest.raises(ValueError, match=says):
            Hiring("dp_sgd", settings=QUICK).fit(X, y, bad)


@pytest.mark.parametrize("ids", [None, ["sex"]])
def test_text_among_the_features_is_refused_with_what_would_encode_it(ids: list[str] | None) -> None:
    frame = pd.DataFrame({"ward": ["east", "west"] * 50, "sex": ["f", "m"] * 50, "age": range(100)})
    told = {} if ids else {"sensitive_features": frame["sex"]}
    model = FairPrivateClassifier("pf_ld", epsilon=1.0, sensitive_feature_ids=ids)
    with pytest.raises(ValueError, match=r"'east'; encode columns of text first, for example with .*OneHotEncoder"):
        model.fit(frame, [0, 1] * 50, **told)


def test_lengths_that_differ_are_refused(rows: Any) -> None:
    X, y, sex = rows
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Hiring("f_ld").fit(X, y, sensitive_features=sex[1:])


def test_a_pipeline_takes_sensitive_features_in_both_ways(rows: Any, routing: None) -> None:
    X, y, sex = rows
    model = Hiring("pf_ld", settings=QUICK, groups=["f", "m"])
    for step in (model, clone(model).set_fit_request(sensitive_features=True)):
        piped = make_pipeline(StandardScaler(), step).fit(X, y, sensitive_features=sex)
        assert piped.score(X, y) > 0.7 and piped[-1].epsilon_ <= 1.0
    with sklearn.config_context(enable_metadata_routing=False):
        piped = make_pipeline(StandardScaler(), clone(model))
        piped.fit(X, y, fairprivateclassifier__sensitive_features=sex)
        assert list(piped[-1].classes_) == ["hired", "rejected"]


def test_cross_validation_hands_each_fold_its_sensitive_features(rows: Any, routing: None) -> None:
    X, y, sex = rows
    wide = {**QUICK, "gap_target": 0.3}  # a closer one costs accuracy, by its noise
    model = make_pipeline(StandardScaler(), Hiring("pf_ld", epsilon=10, settings=wide, groups=["f", "m"]))
    scores = cross_val_score(model, X, y, cv=3, params={"sensitive_features": sex}, error_score="raise")
    assert scores.shape == (3,) and scores.min() > 0.7
    with sklearn.config_context(enable_metadata_routing=False):
        scores = cross_val_score(model[-1], X, y, cv=3, params={"sensitive_features": sex}, error_score="raise")
        assert scores.min() > 0.7


def test_a_grid_search_varies_settings_and_methods(rows: Any, routing: None) -> None:
    X, y, sex = rows
    grid = {"method": ["none", "f_ld"], "settings": [QUICK, {**QUICK, "learning_rate": 1e-5}]}
    search = GridSearchCV(Hiring(random_state=0), grid, cv=2, error_score="raise")
    search.fit(X, y, sensitive_features=sex)
    assert search.best_params_["settings"] == QUICK
    assert search.best_estimator_.get_params()["epsilon"] == 1.0


def test_predictions_go_into_fairlearn(rows: Any) -> None:
    X, y, sex = rows
    gaps = {}
    for method in ("none", "f_ld"):
        settings = {"epochs": 20, "batch_size": 100, "learning_rate": 0.01}
        model = Hiring(method, settings=settings, random_state=0).fit(X, y, sensitive_features=sex)
        predicted = model.predict(X)
        frame = MetricFrame(
            metrics={
                "accuracy": accuracy_score,
                "hired": lambda true, said: selection_rate(true, said, pos_label="hired"),
            },
            y_true=y,
            y_pred=predicted,
            sensitive_features=sex,
        )
        assert frame.by_group.shape == (2, 2) and frame.overall["accuracy"] == model.score(X, y)
        gaps[method] = frame.difference()["hired"]
        numbers = predicted == "hired"
        same = demographic_parity_difference(y == "hired", numbers, sensitive_features=sex)
        assert gaps[method] == pytest.approx(same)
    assert gaps["f_ld"] < gaps["none"] / 2


def test_a_models_precision_by_group_is_that_of_scikit_learn(rows: Any) -> None:
    X, y, sex = rows
    names = sorted(set(sex))
    model = Hiring("raco_dp", notion="predictive_parity", epsilon=8, groups=names, random_state=0)
    predicted = model.fit(X, y, sensitive_features=sex).predict(X) == "hired"
    chances = model.predict_proba(X)[:, list(model.classes_).index("hired")]
    members = np.array([names.index(each) for each in sex])
    found = measure((y == "hired").astype(int), chances, members, names)
    precise = [precision_score((y == "hired")[members == each], predicted[members == each]) for each in (0, 1)]
    assert found["predictive_parity_gap"] == pytest.approx(abs(precise[0] - precise[1]))
    assert [each["positive_predictive_value"] for each in found["groups"]] == pytest.approx(precise)


def test_a_model_that_decides_by_group_is_given_it(rows: Any) -> None:
    X, y, sex = rows
    model = Hiring("f_ld", settings=QUICK, random_state=0).fit(X, y, sensitive_features=sex)
    decided = model.predict(X)
    model.network_ = {"kind": "derived", "base": model.network_, "table": [[1.0, 0.0], [0.0, 1.0]]}  # women: reversed
    assert np.array_equal(model.predict(X, sensitive_features=sex) == decided, sex == "m")
    assert model.score(X, y, sensitive_features=sex) < 0.7
    with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
        model.predict(X)
    with pytest.raises(BadInput, match="holds 'x', which is none of the groups"):
        model.predict_proba(X[:1], sensitive_features=["x"])


def test_the_readmes_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("0.99")


def test_a_fitted_model_survives_pickling_and_clone_forgets_it(rows: Any) -> None:
    X, y, sex = rows
    model = Hiring("pf_ld", settings=QUICK).fit(X, y, sensitive_features=sex)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X)) and again.record_ == model.record_
    assert list(model.feature_names_in_) == ["test", "club"]
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "record_")
    assert fresh.set_params(epsilon=3.0, settings={"epochs": 2}).epsilon == 3.0
    weighted = model.score(X, y, sample_weight=np.where(sex == "f", 1.0, 0.0))
    assert weighted == pytest.approx(model.score(X[sex == "f"], y[sex == "f"]))


def test_few_rows_make_steps_enough_for_dp_sgd() -> None:
    draw = np.random.default_rng(2)
    X = (draw.random((1_000, 20)) < 0.2).astype(float)
    y = np.where(X @ draw.normal(size=20) + 0.3 * draw.normal(size=1_000) > 0.1, "yes", "no")
    model = FairPrivateClassifier("dp_sgd", epsilon=3.0, pos_label="yes", random_state=0).fit(X, y)
    assert model.record_["steps"] == 1_540 and model.record_["config"]["method"]["batch_size"] is None
    assert model.score(X, y) > max(np.mean(y == "yes"), np.mean(y == "no")) + 0.1
    given = FairPrivateClassifier(
        "dp_sgd", epsilon=3.0, pos_label="yes", settings={"batch_size": 500, "epochs": 2}
    ).fit(X, y)
    assert given.record_["steps"] == 4


def test_the_label_that_counts_as_positive_is_said_or_chosen(rows: Any) -> None:
    X, y, _ = rows
    with pytest.warns(UserWarning, match="'rejected', counts as positive"):
        by_order = FairPrivateClassifier("none", settings=QUICK, random_state=0).fit(X, y)
    hired = Hiring("none", settings=QUICK, random_state=0).fit(X, y)
    assert (by_order.pos_label_, hired.pos_label_) == ("rejected", "hired")
    assert hired.record_["data"]["label_names"] == ["rejected", "hired"]
    for model in (by_order, hired):
        assert list(model.classes_) == ["hired", "rejected"] and model.score(X, y) > 0.7
        decided, share = model.decision_function(X) > 0, model.predict_proba(X)
        assert np.array_equal(model.classes_[decided.astype(int)], model.predict(X))
        assert np.array_equal(share[:, 1] > 0.5, decided) and np.corrcoef(share[:, 0], y == "hired")[0, 1] > 0.4


@pytest.mark.parametrize("chosen", ["hired", "rejected"])
def test_equal_opportunity_is_about_the_chosen_label(chosen: str, rows: Any) -> None:
    X, y, sex = rows
    model = FairPrivateClassifier("f_ld", "equal_opportunity", settings=QUICK, random_state=0)
    numbers = clone(model).fit(X, (y == chosen).astype(int), sensitive_features=sex)
    labels = clone(model).set_params(pos_label=chosen).fit(X, y, sensitive_features=sex)
    assert np.array_equal(labels.parameters_, numbers.parameters_)
    assert np.array_equal(labels.predict(X) == chosen, numbers.predict(X) == 1)


def test_an_epoch_is_told_as_it_ends_and_what_is_raw_stays_here(rows: Any, tmp_path: Path) -> None:
    X, y, sex = rows
    told: list[Any] = []
    model = Hiring("pf_ld", settings=QUICK, callback=told.append).fit(X, y, sensitive_features=sex)
    assert model.history_ == told and [each["epoch"] for each in told] == [1, 2, 3]
    assert told[-1]["step"] == model.record_["steps"] and told[-1]["accuracy"] == pytest.approx(model.score(X, y))
    spent = [each["epsilon"] for each in told]
    assert 0 < spent[0] <= spent[1] <= spent[2] <= 1.001
    kept = pickle.loads(pickle.dumps(model))
    assert (kept.history_, kept.callback) == ([], None) and model.callback is not None
    assert Hiring("none", settings=QUICK).fit(X, y).history_ == []

    def stop(shown: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Hiring("none", settings=QUICK, callback=stop).fit(X, y)


def make_small(n: int = 1_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a small table of skewed numbers, scaled to [0, 1], which some sixty steps leave where they began."""
    draw = np.random.default_rng(0)
    group, numbers = (draw.random(n) < 0.4).astype(int), draw.lognormal(size=(n, 5))
    score = 0.5 * np.log(numbers[:, 0]) + np.log(numbers[:, 1]) + 0.5 * group + draw.logistic(size=n) / 2
    scaled = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    return scaled, (score > np.median(score)).astype(int), group


@pytest.mark.parametrize("method", ["none", "f_ld", "pf_ld", "one_release"])
def test_a_small_table_gets_steps_enough_to_beat_one_answer_for_everybody(method: str) -> None:
    X, y, group = make_small()
    private = methods()[method].info.threat_model is not None
    model = FairPrivateClassifier(method, epsilon=1.0 if private else None, random_state=0, groups=[0, 1])
    model.fit(X[:750], y[:750], sensitive_features=group[:750])
    assert model.record_["config"]["method"]["batch_size"] == 10 and model.record_["steps"] == 1_500
    assert model.score(X[750:], y[750:]) > 0.6 > 0.5 + np.sqrt(0.25 / 250)
    large = model.set_params(settings={"batch_size": 256}).fit(X[:750], y[:750], sensitive_features=group[:750])
    assert large.record_["config"]["method"]["batch_size"] == 256, "what is said is done"


def test_a_method_that_has_no_loss_tells_its_epochs_too(rows: Any) -> None:
    X, y, sex = rows
    model = Hiring("jagielski_post", settings={"epochs": 3}, callback=lambda _: None).fit(X, y, sensitive_features=sex)
    assert model.history_[-1]["loss"] is None and all(each["accuracy"] for each in model.history_)


def test_a_row_that_overflows_ends_no_fit_that_is_watched(rows: Any) -> None:
    X, y, sex = rows
    odd = np.asarray(X, dtype=np.float32).copy()
    odd[0] = 3e38
    settings = {**QUICK, "hidden_layers": 1, "width": 4}
    model = Hiring("dp_sgd", settings=settings, callback=lambda _: None)
    with pytest.warns(DataWarning, match="'x0', 'x1'"):
        model.fit(odd, y, sensitive_features=sex)
    assert len(model.history_) == 3 and np.isfinite(model.parameters_).all()


def test_settings_are_parameters_of_their_own(rows: Any) -> None:
    X, y, _ = rows
    model = Hiring("none", settings=QUICK, random_state=0)
    assert model.get_params()["settings__epochs"] == 3 and "settings__epochs" not in model.get_params(deep=False)
    grid = {"settings__epochs": [1, 5], "settings__learning_rate": [0.01]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.settings == {
        **QUICK,
        **{key[10:]: value for key, value in search.best_params_.items()},
    }
    assert model.settings == QUICK
    with pytest.raises(BadInput, match="unknown parameter of method 'none' 'epoch'"):
        model.set_params(settings__epoch=3).fit(X, y)


@pytest.mark.parametrize("method", ["none", "pf_ld", "group_thresholds"])
def test_a_saved_model_decides_and_says_the_same(method: str, rows: Any, tmp_path: Path) -> None:
    X, y, sex = rows
    settings = {} if method == "group_thresholds" else QUICK
    model = Hiring(method, settings=settings, groups=("m", "f")).fit(X, y, sensitive_features=sex)
    model.save(tmp_path / "model.zip")
    again = FairPrivateClassifier.load(tmp_path / "model.zip")
    assert np.array_equal(again.predict(X, sensitive_features=sex), model.predict(X, sensitive_features=sex))
    assert np.array_equal(
        again.decision_function(X, sensitive_features=sex), model.decision_function(X, sensitive_features=sex)
    )
    assert (again.epsilon_, again.groups_, again.pos_label_) == (model.epsilon_, ("m", "f"), "hired")
    assert (
        again.record_ == json.loads(json.dumps(model.record_))
        and again.get_params() == clone(model).set_params(groups=["m", "f"]).get_params()
    )
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X.rename(columns={"club": "clubs"}), sensitive_features=sex)


def add_odd_columns(X: pd.DataFrame) -> pd.DataFrame:
    """Return X with what tables have: a running number, a column that never varies, a share of a million, a slip."""
    n, slip = len(X), X["test"].to_numpy() * 12 + 40
    slip[3] = 99_999_999
    odd = {"id": 1e9 + np.arange(n), "year": np.full(n, 2_026), "share": X["club"] * 1e-6, "typed": slip}
    return X.assign(**odd, flag=np.arange(n) % 50 == 0)


@pytest.mark.parametrize("method", ["none", "f_ld", "pf_ld", "one_release", "reductions"])
def test_columns_of_any_scale_are_standardised_where_they_are_public(method: str, rows: Any, tmp_path: Path) -> None:
    X, y, sex = rows
    odd = add_odd_columns(X)[["id", "year", "share", "typed", "flag"]]
    settings = {} if method == "reductions" else {"epochs": 20, "batch_size": 100, "learning_rate": 0.01}
    model = Hiring(method, settings=settings, groups=["f", "m"], random_state=0).fit(odd, y, sensitive_features=sex)
    plain = Hiring(method, settings=settings, groups=["f", "m"], random_state=0).fit(X, y, sensitive_features=sex)
    assert model.score(odd, y) > plain.score(X, y) - 0.1 and plain.scaling_ is None
    assert model.scaling_.columns == (0, 1, 2, 3), "a flag stays as it is"
    told = " ".join(model.record_["assumptions"])
    assert ("(id; year; share; typed) were standardised" in told) == (model.record_["threat_model"] == "attribute")
    model.save(tmp_path / "model.zip")
    for again in (FairPrivateClassifier.load(tmp_path / "model.zip"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict_proba(odd), model.predict_proba(odd))
    assert not hasattr(clone(model), "scaling_")
    other = odd.assign(id=0, year=1e300)  # no row of training was like that
    assert np.isfinite(model.predict_proba(other)).all()


def test_columns_of_protected_rows_are_never_scaled_by_them(rows: Any) -> None:
    X, y, sex = rows
    model = Hiring("one_release_record", epsilon=10, settings={"epochs": 3})
    with pytest.warns(DataWarning, match=r"'id', 'year', 'share' and 1 more: of another scale"):
        model.fit(add_odd_columns(X), y, sensitive_features=sex)
    assert model.scaling_ is None and not any("scale" in said for said in model.record_["warnings"]), "it read rows"


def test_labels_and_groups_of_many_digits_stay_apart(rows: Any) -> None:
    X, y, sex = rows
    first, hired = 12_345_678_901_234_567, y == "hired"
    numbers = first + hired
    model = FairPrivateClassifier("f_ld", settings=QUICK, random_state=0)
    groups = first + (sex == "f")
    for given in (numbers, pd.Series(numbers), pd.Series(numbers).astype("Int64"), numbers.tolist()):
        model.fit(X, given, sensitive_features=groups)
        assert model.classes_.tolist() == [first, first + 1] and model.groups_ == (first, first + 1)
        assert np.mean(model.predict(X) == numbers) > 0.6
    table = X.assign(code=1_234_567_890.0 + (sex == "f"))  # as float32 they are one number
    assert len(clone(model).set_params(sensitive_feature_ids=["code"]).fit(table, hired).groups_) == 2
    for told in ({"y": numbers.astype(float) + 4 * (sex == "f")}, {"sensitive_features": groups + 0.0}):
        with pytest.raises(BadInput, match="a float stands for several whole numbers; give them as text"):
            model.fit(X, **{"y": hired, "sensitive_features": sex, **told})


def test_another_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("not one")
    with pytest.raises(BadInput, match=r"a.zip' is no model that fairpriv saved"):
        FairPrivateClassifier.load(tmp_path / "a.zip")


def test_sensitive_columns_of_x_are_no_features_and_several_are_crossed(rows: Any) -> None:
    X, y, sex = rows
    old = np.random.default_rng(3).choice(["old", "young"], len(X))
    table = X.assign(sex=sex, age=old)
    inside = Hiring("f_ld", settings=QUICK, random_state=0, sensitive_feature_ids=["sex", 3]).fit(table, y)
    beside = Hiring("f_ld", settings=QUICK, random_state=0).fit(X, y, sensitive_features=table[["sex", "age"]])
    assert inside.groups_ == beside.groups_ == (("f", "old"), ("f", "young"), ("m", "old"), ("m", "young"))
    assert np.array_equal(inside.parameters_, beside.parameters_)
    assert inside.record_["data"]["group_names"][0] == "f, old" and inside.n_features_in_ == 4
    assert np.array_equal(inside.predict(table), beside.predict(X))
    by_place = Hiring("f_ld", settings=QUICK, random_state=0, sensitive_feature_ids=[2])
    numbers = np.column_stack([X, sex == "f"])
    assert by_place.fit(numbers, y).groups_ == (0.0, 1.0)
    for wrong in ("gender", 7):
        with pytest.raises(BadInput, match="sensitive_feature_ids names the column"):
            Hiring("f_ld", sensitive_feature_ids=[wrong]).fit(table, y)


def test_a_method_that_decides_by_group_finds_it_in_x(rows: Any) -> None:
    X, y, sex = rows
    table = X.assign(sex=sex)
    model = Hiring("group_thresholds", sensitive_feature_ids=["sex"]).fit(table, y)
    assert set(model.predict(table)) <= {"hired", "rejected"}
    with pytest.raises(BadInput, match="holds 'x', which is none of the groups"):
        model.predict(table.assign(sex="x"))


def test_more_than_two_labels_where_the_method_takes_them(rows: Any) -> None:
    X, _, sex = rows
    y = np.digitize(X["test"], [-0.5, 0.5])
    model = FairPrivateClassifier("none", "accuracy_parity", settings={"epochs": 20, "batch_size": 100}, random_state=0)
    model.fit(X, y, sensitive_features=sex)
    assert list(model.classes_) == [0, 1, 2] and model.pos_label_ is None and model.score(X, y) > 0.8
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (len(X), 3)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        FairPrivateClassifier("pf_ld", settings=QUICK).fit(X, y, sensitive_features=sex)
    with pytest.raises(BadInput, match="choose from"):
        FairPrivateClassifier("none", "equal_opportunity", settings=QUICK).fit(X, y, sensitive_features=sex)


def test_the_ledger_counts_every_fit_and_a_cap_refuses_one(rows: Any, own_store: Path) -> None:
    X, y, sex = rows
    model = Hiring("pf_ld", settings=QUICK, ledger="staff")
    with pytest.raises(BadInput, match="unknown data set 'staff'; choose from adult"):
        tell_ledger()
    first = model.fit(X, y, sensitive_features=sex).epsilon_
    model.fit(X, y, sensitive_features=sex)
    [ledger] = answer_ledger(None, None, None, None).document["ledgers"]
    assert (ledger["data"], ledger["protected"]) == ("staff", tell_ledger()["protected"])
    spent = next(each["epsilon"] for each in ledger["protected"] if each["epsilon"] is not None)
    assert len(ledger["lines"]) == 2 and first < spent < 2 * first
    answer_cap("staff", "sensitive_features", record=False, lift=False, epsilon=1.5, delta=1e-5)
    with pytest.raises(BadInput, match="cap"):
        model.fit(X, y, sensitive_features=sex)
    assert len(tell_ledger()["lines"]) == 2


def tell_ledger() -> dict[str, Any]:
    [ledger] = answer_ledger("staff", None, None, None).document["ledgers"]
    return ledger
