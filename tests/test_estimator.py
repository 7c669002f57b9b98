"""The scikit-learn front: pipelines, cross-validation, fairlearn, and what it says about epsilon."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.record import RunRecord

QUICK = {"epochs": 3, "batch_size": 100}


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
    model = FairPrivateClassifier("pf_ld", settings=QUICK, random_state=7).fit(X, y, sensitive_features=sex)
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
    model = FairPrivateClassifier("dp_sgd", epsilon=None, settings=settings, groups=("m", "f", "x"))
    said = " ".join(model.fit(X, y, sensitive_features=sex).record_["assumptions"])
    assert "The list of groups (m; f; x) is declared, not learned from rows" in said
    assert "labels (hired; rejected) was read from y" in said and "How the features were made" in said
    assert model.groups_ == ("m", "f", "x")
    said = " ".join(clone(model).fit(X, y).record_["assumptions"])
    assert "No sensitive attribute was given: everyone is one group." in said


def test_where_no_epsilon_is_proved_there_is_a_reason(rows: Any) -> None:
    X, y, sex = rows
    plain = FairPrivateClassifier("none", settings=QUICK).fit(X, y, sensitive_features=sex)
    assert plain.epsilon_ is None and "not private" in plain.epsilon_reason_
    published = FairPrivateClassifier("pf_ld", variant="published", settings=QUICK).fit(X, y, sensitive_features=sex)
    assert published.epsilon_ is None and "does not hold" in published.epsilon_reason_
    assert published.record_["epsilon_published"] == pytest.approx(1.0, rel=0.01)


def test_random_state_repeats_what_is_public_and_never_the_noise(rows: Any) -> None:
    X, y, sex = rows

    def weights(method: str, random_state: Any) -> np.ndarray:
        model = FairPrivateClassifier(method, settings={"hidden_layers": 1, **QUICK}, random_state=random_state)
        return model.fit(X, y, sensitive_features=sex).parameters_

    assert np.array_equal(weights("none", 3), weights("none", 3))
    assert np.array_equal(weights("none", np.random.RandomState(5)), weights("none", np.random.RandomState(5)))
    assert not np.array_equal(weights("none", 3), weights("none", 4))
    assert not np.array_equal(weights("none", None), weights("none", None))
    assert not np.allclose(weights("dp_sgd", 3), weights("dp_sgd", 3))


def test_what_a_failed_fit_released_is_said(rows: Any) -> None:
    X, y, sex = rows
    with pytest.raises(RunFailed, match=r"at least 30 are needed.*\. It costs epsilon = 10\.0, that of its planned"):
        groups = ("f", "m", "nobody")  # at this epsilon their noisy count is below 30 for certain
        FairPrivateClassifier("pf_ld", epsilon=10, settings=QUICK, groups=groups).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pd.Categorical, lambda given: pd.DataFrame({"sex": given})]
)
def test_sensitive_values_may_be_of_any_kind(kind: Any, rows: Any) -> None:
    X, y, sex = rows
    model = FairPrivateClassifier("f_ld", settings=QUICK, random_state=0)
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
        (np.zeros((1_200, 2)), {}, "must be one column, got an array of shape (1200, 2)"),
        (["f", "m"] * 600, {"method": "pfld"}, "unknown method 'pfld'; choose from none"),
        (["f", "m"] * 600, {"notion": "luck"}, "unknown notion 'luck'; choose from"),
        (["f", "m"] * 600, {"epsilon": -1}, "epsilon must be a finite number > 0, got -1.0."),
        (["f", "m"] * 600, {"epsilon": None}, "epsilon is not given: method 'pf_ld' needs a number > 0"),
        (["f", "m"] * 600, {"settings": {"epoch": 3}}, "unknown parameter of method 'pf_ld' 'epoch'"),
        (["f", "m"] * 600, {"settings": {"batch_size": 5_000}}, "batch_size"),
        (["f", "m"] * 600, {"random_state": -1}, "seed must be a whole number from 0"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(given: Any, settings: Any, says: str, rows: Any) -> None:
    X, y, _ = rows
    with pytest.raises(BadInput) as caught:
        FairPrivateClassifier(**settings).fit(X, y, sensitive_features=given)
    assert says in str(caught.value) and str(caught.value).endswith(".")


def test_lengths_that_differ_are_refused(rows: Any) -> None:
    X, y, sex = rows
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FairPrivateClassifier("f_ld").fit(X, y, sensitive_features=sex[1:])


def test_a_pipeline_takes_sensitive_features_in_both_ways(rows: Any, routing: None) -> None:
    X, y, sex = rows
    model = FairPrivateClassifier("pf_ld", settings=QUICK, groups=["f", "m"])
    for step in (model, clone(model).set_fit_request(sensitive_features=True)):
        piped = make_pipeline(StandardScaler(), step).fit(X, y, sensitive_features=sex)
        assert piped.score(X, y) > 0.7 and piped[-1].epsilon_ <= 1.0
    with sklearn.config_context(enable_metadata_routing=False):
        piped = make_pipeline(StandardScaler(), clone(model))
        piped.fit(X, y, fairprivateclassifier__sensitive_features=sex)
        assert list(piped[-1].classes_) == ["hired", "rejected"]


def test_cross_validation_hands_each_fold_its_sensitive_features(rows: Any, routing: None) -> None:
    X, y, sex = rows
    model = make_pipeline(StandardScaler(), FairPrivateClassifier("pf_ld", settings=QUICK, groups=["f", "m"]))
    scores = cross_val_score(model, X, y, cv=3, params={"sensitive_features": sex}, error_score="raise")
    assert scores.shape == (3,) and scores.min() > 0.7
    with sklearn.config_context(enable_metadata_routing=False):
        scores = cross_val_score(model[-1], X, y, cv=3, params={"sensitive_features": sex}, error_score="raise")
        assert scores.min() > 0.7


def test_a_grid_search_varies_settings_and_methods(rows: Any, routing: None) -> None:
    X, y, sex = rows
    grid = {"method": ["none", "f_ld"], "settings": [QUICK, {**QUICK, "learning_rate": 1e-5}]}
    search = GridSearchCV(FairPrivateClassifier(random_state=0), grid, cv=2, error_score="raise")
    search.fit(X, y, sensitive_features=sex)
    assert search.best_params_["settings"] == QUICK
    assert search.best_estimator_.get_params()["epsilon"] == 1.0


def test_predictions_go_into_fairlearn(rows: Any) -> None:
    X, y, sex = rows
    gaps = {}
    for method in ("none", "f_ld"):
        settings = {"epochs": 20, "batch_size": 100, "learning_rate": 0.01}
        model = FairPrivateClassifier(method, settings=settings, random_state=0).fit(X, y, sensitive_features=sex)
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


def test_a_model_that_decides_by_group_is_given_it(rows: Any) -> None:
    X, y, sex = rows
    model = FairPrivateClassifier("f_ld", settings=QUICK, random_state=0).fit(X, y, sensitive_features=sex)
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
    model = FairPrivateClassifier("pf_ld", settings=QUICK).fit(X, y, sensitive_features=sex)
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
    model = FairPrivateClassifier("dp_sgd", epsilon=3.0, random_state=0).fit(X, y)
    assert model.record_["steps"] == 1_540 and model.record_["config"]["method"]["batch_size"] == 13
    assert model.score(X, y) > max(np.mean(y == "yes"), np.mean(y == "no")) + 0.1
    given = FairPrivateClassifier("dp_sgd", epsilon=3.0, settings={"batch_size": 500, "epochs": 2}).fit(X, y)
    assert given.record_["steps"] == 4
