"""scikit-learn's own checks of the estimator, and a round through every method of the catalogue."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from fairpriv_core.engine.models import read_network
from fairpriv_core.errors import BadInput
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records import record
from fairpriv_core.records.parameters import method_to_json, noise_is_set
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import make_data

WEIGHED = (
    "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
    "check_all_zero_sample_weights_error", "check_sample_weights_shape", "check_sample_weights_not_overwritten",
    "check_classifiers_one_label_sample_weights",
)  # fmt: skip
TWICE_FITTED = ("check_classifier_data_not_an_array", "check_supervised_y_2d", "check_fit_idempotent")
MANY_VALUES = (
    "check_all_zero_sample_weights_error", "check_classifiers_train", "check_decision_proba_consistency",
    "check_dtype_object", "check_fit_check_is_fitted", "check_fit_idempotent", "check_n_features_in",
)  # fmt: skip
FITTED = (
    "check_classifiers_classes", "check_classifiers_train", "check_decision_proba_consistency", "check_dict_unchanged",
    "check_dont_overwrite_parameters", "check_dtype_object", "check_estimators_dtypes",
    "check_estimators_fit_returns_self", "check_estimators_nan_inf", "check_estimators_overwrite_params",
    "check_estimators_pickle", "check_f_contiguous_array_estimator", "check_fit2d_1feature", "check_fit2d_predict1d",
    "check_fit_check_is_fitted", "check_fit_score_takes_y", "check_methods_sample_order_invariance",
    "check_methods_subset_invariance", "check_n_features_in", "check_n_features_in_after_fitting",
    "check_pipeline_consistency", "check_positive_only_tag_during_fit", "check_readonly_memmap_input",
)  # fmt: skip
EQUIVALENT = "check_sample_weight_equivalence_on_dense_data"


class Halved(FairPrivateClassifier):
    """Puts every other row in a group, where scikit-learn's checks give none."""

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        rows = np.arange(len(np.asarray(X)) if not hasattr(X, "shape") else X.shape[0]) % 2
        return super().fit(X, y, sensitive_features=rows)


def list_expected_failures(estimator: FairPrivateClassifier) -> dict[str, str]:
    """Return the checks of scikit-learn's `check_estimator` that cannot hold for `estimator`, with the reason."""
    info = methods()[estimator.method].info
    private = "Compares two fits, and the noise of a private fit is never the same twice."
    grouped = info.uses_groups and estimator.sensitive_feature_ids is None
    needed = "Fits without sensitive_features, which this method needs."
    failed = {EQUIVALENT: "Compares a row of weight 2 with two rows, which are drawn and counted as two."}
    if not info.weighs_rows:
        failed |= dict.fromkeys(WEIGHED, "Gives weights, which this method refuses.")
    if info.threat_model:
        failed |= dict.fromkeys(TWICE_FITTED, private)
    if estimator.sensitive_feature_ids is not None:
        failed |= dict.fromkeys(MANY_VALUES, "Has more values in every column than there may be groups.")
    if grouped:
        failed |= dict.fromkeys((*TWICE_FITTED, *FITTED, *WEIGHED), needed)
    return failed


@pytest.fixture
def quick_accounting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Account for equal fits once: scikit-learn's checks fit the same few sizes over and over."""
    for name in ("state_epsilon", "published_epsilon"):
        monkeypatch.setattr(record, name, lru_cache(getattr(record, name)))


@pytest.mark.parametrize(
    "model",
    [
        FairPrivateClassifier("none", settings={"epochs": 5}),
        FairPrivateClassifier("dp_sgd", epsilon=None, settings={"noise_primal": 3.0, "epochs": 1, "batch_size": 1}),
        FairPrivateClassifier("pf_ld"),
        FairPrivateClassifier("f_ld"),
    ],
    ids=lambda model: model.method,
)
@pytest.mark.usefixtures("quick_accounting")
@pytest.mark.filterwarnings("ignore::fairpriv_core.warnings.FairprivWarning")
def test_scikit_learns_checks_pass_but_for_those_that_cannot(model: FairPrivateClassifier) -> None:
    expected = list_expected_failures(model)
    found = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"] == []
    assert {check["check_name"] for check in found if check["status"] == "skipped"} <= {
        "check_array_api_input",
        "check_pipeline_consistency",
    }
    failed = {check["check_name"] for check in found if check["status"] == "xfail"}
    by_chance = {"check_classifier_data_not_an_array", "check_supervised_y_2d", "check_fit_idempotent"}
    if model.__sklearn_tags__().non_deterministic:
        by_chance |= {name for name in expected if "invariance" in name or "pipeline" in name}  # not even tried
    assert set(expected) - failed <= by_chance
    assert model.method != "none" or set(expected) == {EQUIVALENT}


@pytest.mark.parametrize(
    "model",
    [
        Halved("f_ld", settings={"epochs": 5}),
        FairPrivateClassifier("f_ld", settings={"epochs": 5}, sensitive_feature_ids=[0]),
    ],
    ids=["beside", "inside"],
)
@pytest.mark.filterwarnings("ignore::fairpriv_core.warnings.FairprivWarning")
def test_scikit_learns_checks_pass_with_groups(model: FairPrivateClassifier) -> None:
    found = check_estimator(model, expected_failed_checks=list_expected_failures(model), on_fail=None, on_skip=None)
    failed = [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"]
    assert [name for name, _ in failed] == [], failed


@pytest.mark.parametrize("method", [pytest.param(each[-1], id=name) for name, each in EXAMPLES.items()])
def test_every_method_fits_and_predicts(method: Method) -> None:
    data = make_data(240)
    sex = np.array(data.group_names)[data.group]
    model = build_model(method).fit(data.X, data.y, sensitive_features=sex)
    given = {"sensitive_features": sex} if read_network(model.network_).needs_group else {}
    scores = model.predict_proba(data.X, **given)
    assert scores.shape == (240, 2) and np.allclose(scores.sum(axis=1), 1.0)
    assert set(model.predict(data.X, **given)) <= {0, 1}
    assert model.record_["threat_model"] == method.info.threat_model
    assert (model.epsilon_ is None) == bool(model.epsilon_reason_)
    if given:
        with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
            model.predict(data.X)


def build_model(method: Method) -> FairPrivateClassifier:
    settings = {key: value for key, value in method_to_json(method).items() if key not in ("name", "variant")}
    return FairPrivateClassifier(
        method.info.name,
        method.info.notions[0],
        epsilon=None if noise_is_set(method) else 1.0,
        variant=getattr(method, "variant", None),
        settings=settings,
        random_state=0,
    )


#: one for all that protect the same
USE_GROUPS = {method.info.threat_model: name for name, method in methods().items() if method.info.uses_groups}


@pytest.mark.parametrize("name", USE_GROUPS.values())
def test_a_method_that_needs_groups_asks_for_them(name: str) -> None:
    data = make_data()
    with pytest.raises(BadInput, match=rf"method '{name}' needs the sensitive value of every row: fit\(X, y, sens"):
        build_model(EXAMPLES[name][0]).fit(data.X, data.y)
