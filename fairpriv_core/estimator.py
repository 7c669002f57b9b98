"""The methods behind scikit-learn's interface: fit, predict, and what epsilon covers as attributes.

Whoever calls `fit` has encoded and scaled the features already. That those steps (means, ranges, categories) and the
lists of labels and groups are public is what epsilon takes as given; `record_["assumptions"]` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, check_random_state, validate_data

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.modules import Held, hold, name_held
from fairpriv_core.engine.predict import decision_thresholds, predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods
from fairpriv_core.methods.fields import find_fitting_batch
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.records.config import OF_MLP, RunConfig, build_config
from fairpriv_core.runs.in_memory import IN_MEMORY, run_in_memory

_EVERYONE = "everyone"
_LABELS = "The list of labels ({}) was read from y and is taken as public, and so is the number of rows."
_FEATURES = {
    "attribute": "The sensitive attribute is neither among the features nor was it used in making them.",
    "record": "How the features were made (scaling, ranges, categories, selection) is taken as public: what was "
    "learned from the rows before fit is not covered by epsilon.",
}
#: with metadata routing on, sensitive_features go where they are given without a further request
_GIVEN = {"sensitive_features": True}
_TWICE_FITTED = ("check_classifier_data_not_an_array", "check_supervised_y_2d", "check_fit_idempotent")
_FITTED = (
    "check_classifiers_classes", "check_classifiers_train", "check_dict_unchanged", "check_dont_overwrite_parameters",
    "check_dtype_object", "check_estimators_dtypes", "check_estimators_fit_returns_self", "check_estimators_nan_inf",
    "check_estimators_overwrite_params", "check_estimators_pickle", "check_f_contiguous_array_estimator",
    "check_fit2d_1feature", "check_fit2d_predict1d", "check_fit_check_is_fitted", "check_fit_score_takes_y",
    "check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_n_features_in",
    "check_n_features_in_after_fitting", "check_pipeline_consistency", "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
)  # fmt: skip


class FairPrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A binary classifier that is fair, private, or both, by any method of the catalogue.

    Parameters
    ----------
    method : str
        A name of `fairpriv methods`.
    notion : str
        A name of `fairpriv notions`; methods that pursue no notion only record it.
    epsilon : float or None
        The budget of one `fit`, > 0. None where the method is not private or `settings` sets its noise. Every further
        fit (each fold of a cross-validation, each point of a grid search) costs its own epsilon.
    delta : float
        In (0, 1), and below 1 / rows to mean something.
    variant : str or None
        "proved" or "published" where the method has both; None is "proved".
    settings : mapping or None
        The method's further hyper-parameters by name, such as {"epochs": 10}. A default batch size is at most the
        number of rows; of DP-SGD and its relatives it makes 1,500 steps or more.
    module : torch.nn.Module, callable, str or None
        A network of your own, in place of `settings`' hidden layers: a module, which stays as it is and starts training
        from a copy; a function of (size, outputs) that builds one; or "package:function". It takes rows (n, d) and
        gives (n, 1), the logit of the second label, or (n, 2). Epsilon takes the module's parameters as public, and
        that it treats each record by itself (docs/modules.md).
    groups : sequence or None
        All values that `sensitive_features` may have. None reads them from the rows, which epsilon then takes as given.
    random_state : int, RandomState or None
        Public: drives initialisation and public batches. Noise and secret samples always come from the operating
        system, so a private fit is never repeatable.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels; the second one counts as positive.
    groups_ : tuple
        The values of `sensitive_features`, in the order of their numbers.
    epsilon_ : float or None
        What holds for all that `fit` released (see `record_["event"]`), or None with `epsilon_reason_`.
    record_ : dict
        The run's record, JSON only, as the command line prints it, without metrics: no row was kept back for testing.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> draw = np.random.default_rng(0)
    >>> a = draw.choice(["f", "m"], 2_000)
    >>> X = draw.normal(size=(2_000, 3)) + (a == "m")[:, None]
    >>> y = np.where(X[:, 0] + draw.normal(size=2_000) > 0, "hired", "rejected")
    >>> model = FairPrivateClassifier(method="pf_ld", notion="demographic_parity", epsilon=1.0, groups=["f", "m"])
    >>> model = model.fit(X, y, sensitive_features=a)
    >>> model.predict(X[:2]).shape, model.predict_proba(X).shape
    ((2,), (2000, 2))
    >>> model.record_["threat_model"], 0.99 < model.epsilon_ <= 1.0
    ('attribute', True)
    """

    __metadata_request__fit: ClassVar = _GIVEN
    __metadata_request__predict: ClassVar = _GIVEN
    __metadata_request__predict_proba: ClassVar = _GIVEN
    __metadata_request__score: ClassVar = _GIVEN

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        notion: str = DEFAULT_NOTION,
        *,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        variant: str | None = None,
        settings: Any = None,
        module: Any = None,
        groups: Any = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.notion = notion
        self.epsilon = epsilon
        self.delta = delta
        self.variant = variant
        self.settings = settings
        self.module = module
        self.groups = groups
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        """Train on rows X (n, d) of finite numbers, labels y (n,) of two values, one sensitive value for each row.

        `sensitive_features` may be left out for a method that never looks at groups. Nothing is stored.
        Raises ValueError for X or y that cannot be used, BadInput for a setting or sensitive values that cannot,
        RunFailed where training cannot go on (what was released by then is spent).
        """
        rows, y = validate_data(self, X, y, dtype=np.float32)
        self.classes_, labels = _read_labels(y)
        self._network, self._held = _read_module(self.module)
        config = self._build_config(len(rows))
        if sensitive_features is None and config.method.info.uses_groups:
            raise BadInput(
                f"method '{self.method}' needs the sensitive value of every row: fit(X, y, sensitive_features=…).",
                field="sensitive_features",
            )
        group, listed = self._read_groups(sensitive_features, rows)
        with self._hold_module():
            outcome = run_in_memory(config, self._build_dataset(rows, labels, group, listed))
        self.network_, self.parameters_ = dict(outcome.fitted.network), outcome.fitted.parameters
        self.epsilon_, self.epsilon_reason_ = outcome.record.epsilon, outcome.record.epsilon_reason
        self.record_ = outcome.record.to_json()
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the labels (n,) of rows X; a method that decides by group needs `sensitive_features` here too."""
        rows, score = self._score_rows(X, sensitive_features)
        decided = score[:, 1] > decision_thresholds(self.network_, rows)
        labels: np.ndarray = self.classes_[decided.astype(np.int64)]
        return labels

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the scores (n, 2) of both labels, in the order of `classes_`; each row sums to 1."""
        return self._score_rows(X, sensitive_features)[1]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Return the share of rows that are predicted right."""
        right = self.predict(X, sensitive_features=sensitive_features) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn's own checks and meta-estimators should know."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        known = methods().get(self.method)
        private = known is not None and known.info.threat_model is not None
        tags.non_deterministic = private
        tags.classifier_tags.poor_score = private  # a small epsilon on few rows leaves little to learn
        return tags

    def _build_config(self, n: int) -> RunConfig:
        given = self.random_state
        seed = given if isinstance(given, int | np.integer) else check_random_state(given).randint(2**31 - 1)
        settings = dict(self.settings or {})
        raw = {"notion": self.notion, "epsilon": self.epsilon, "delta": self.delta, "seed": int(seed)}
        if self._network is not None:
            _refuse_two(settings)
            settings["network"] = self._network
        named = {**settings, "name": self.method, "variant": self.variant}
        config = build_config({**raw, "method": named}, data=IN_MEMORY)
        usual = getattr(config.method, "batch_size", None) or 0
        fitting = find_fitting_batch(config.method, n) or min(usual, n)
        if "batch_size" in settings or fitting == usual:
            return config
        return build_config({**raw, "method": {**named, "batch_size": fitting}}, data=IN_MEMORY)

    def _read_groups(self, given: Any, rows: np.ndarray) -> tuple[np.ndarray, str]:
        """Set `groups_`; return the group of each row (n,) and what is assumed of their list."""
        if given is None:
            self.groups_ = (_EVERYONE,)
            return np.zeros(len(rows), dtype=np.int64), "No sensitive attribute was given: everyone is one group."
        values = _read_column(given, rows)
        learned = self.groups is None
        self.groups_ = tuple(sorted(set(values), key=str)) if learned else tuple(self.groups)
        if len(self.groups_) < 2:
            raise BadInput(
                f"sensitive_features must have at least two groups, got {list(self.groups_)}.",
                field="sensitive_features",
            )
        origin = "read from the rows given to fit and" if learned else "declared, not learned from rows, and"
        return self._find_groups(
            values
        ), f"The list of groups ({'; '.join(map(str, self.groups_))}) is {origin} taken as public."

    def _find_groups(self, values: list[Any]) -> np.ndarray:
        position = {value: index for index, value in enumerate(self.groups_)}
        unknown = [value for value in values if value not in position]
        if unknown:
            raise BadInput(
                f"sensitive_features holds {unknown[0]!r}, which is none of the groups {list(self.groups_)}.",
                field="sensitive_features",
            )
        return np.array([position[value] for value in values], dtype=np.int64)

    def _build_dataset(self, rows: np.ndarray, labels: np.ndarray, group: np.ndarray, listed: str) -> Dataset:
        names = getattr(self, "feature_names_in_", [f"x{index}" for index in range(rows.shape[1])])
        classes = tuple(str(label) for label in self.classes_)
        return Dataset(
            X=rows,
            y=labels,
            group=group,
            feature_names=tuple(names),
            label_names=classes,
            group_names=tuple(str(value) for value in self.groups_),
            name=str(IN_MEMORY.dataset),
            sensitive=IN_MEMORY.sensitive,
            digest="",  # one of protected values would let anyone who guesses them know that they are right
            assumptions={
                "attribute": (listed, _FEATURES["attribute"]),
                "record": (listed, _LABELS.format("; ".join(classes)), _FEATURES["record"]),
            },
        )

    def _score_rows(self, X: Any, sensitive_features: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows as they are predicted (n, d) and their scores (n, 2)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float32, reset=False)
        group = None
        if sensitive_features is not None and len(self.groups_) > 1:
            group = self._find_groups(_read_column(sensitive_features, rows))
        with self._hold_module():
            return rows, predict_proba(self.network_, self.parameters_, rows, group)

    @contextmanager
    def _hold_module(self) -> Iterator[None]:
        """Let the fit's network mean the module that was given, where one was."""
        if self._held is None:
            yield
        else:
            with hold(str(self._network), self._held):
                yield


def expected_failed_checks(estimator: FairPrivateClassifier) -> dict[str, str]:
    """Return the checks of scikit-learn's `check_estimator` that cannot hold for `estimator`, with the reason.

    `check_estimator(model, expected_failed_checks=expected_failed_checks(model))` passes for every method.
    """
    info = methods()[estimator.method].info
    private = "Compares two fits, and the noise of a private fit is never the same twice."
    grouped = "Fits without sensitive_features, which this method needs."
    failed = dict.fromkeys(_TWICE_FITTED, private) if info.threat_model else {}
    return {**failed, **(dict.fromkeys((*_TWICE_FITTED, *_FITTED), grouped) if info.uses_groups else {})}


def _refuse_two(settings: Mapping[str, Any]) -> None:
    """Raise BadInput where settings describe a network beside a module."""
    for name in ("network", *OF_MLP):
        if name in settings:
            raise BadInput(
                f"module and {name} exclude each other, got {name}={settings[name]!r}: the module is the network.",
                field="module",
            )


def _read_module(module: Any) -> tuple[str | None, Held | None]:
    """Return what `network` is to be and, of a module in memory, what it means; BadInput for what is none."""
    if module is None:
        return None, None
    return (module, None) if isinstance(module, str) else name_held(module)


def _read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the two labels, and which of them each row has (n,); ValueError in scikit-learn's words otherwise."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes, got one class: {classes.tolist()}.")
    return classes, labels.astype(np.int64)


def _read_column(given: Any, rows: np.ndarray) -> list[Any]:
    """Return one hashable value for each row; BadInput for another shape or a missing value."""
    values = np.asarray(given, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise BadInput(
            f"sensitive_features must be one column, got an array of shape {values.shape}; cross several into one.",
            field="sensitive_features",
        )
    check_consistent_length(rows, values)
    missing = int(pd.isna(values).sum())
    if missing:
        raise BadInput(f"sensitive_features lacks the value of {missing} rows.", field="sensitive_features")
    return list(values)
