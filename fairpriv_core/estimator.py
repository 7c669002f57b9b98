"""The methods behind scikit-learn's interface: fit, predict, and what epsilon covers as attributes.

Whoever calls `fit` has encoded the features already; columns on another scale are standardised where features are
public. That those steps (means, ranges, categories) and the lists of labels and groups are public is what epsilon takes
as given; `record_["assumptions"]` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    check_random_state,
    check_X_y,
    validate_data,
)

from fairpriv_core.data.arrays import as_groups, find_column, name_group, read_values, require_exact, to_exact
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.roles import MOST_CLASSES, MOST_GROUPS
from fairpriv_core.data.scaling import Scaling, find_scaling
from fairpriv_core.engine.models import read_network
from fairpriv_core.engine.modules import Held, hold, name_held
from fairpriv_core.engine.predict import decision_thresholds, predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods
from fairpriv_core.methods.fields import fit_batch_size
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from fairpriv_core.notions.rates import TWO, decide
from fairpriv_core.records.advice import settle_method
from fairpriv_core.records.archive import read_archive, write_archive
from fairpriv_core.records.config import OF_MLP, RunConfig, build_config
from fairpriv_core.records.evidence import Size
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import check_notion
from fairpriv_core.runs.in_memory import IN_MEMORY, run_in_memory
from fairpriv_core.warnings import DataWarning, FairprivWarning

_EVERYONE = "everyone"
_LABELS = "The list of labels ({}) was read from y and is taken as public, and so is the number of rows."
_FEATURES = {
    "attribute": "The sensitive attribute is neither among the features nor was it used in making them.",
    "record": "How the features were made (scaling, ranges, categories, selection) is taken as public: what was "
    "learned from the rows before fit is not covered by epsilon.",
}
_POSITIVE = (
    "Of the labels {0} and {1} the second one, {1!r}, counts as positive, because it comes later in sorted order; "
    "pos_label says which one should."
)
_UNSCALED = (
    "{0}: of another scale than a network learns on, which is numbers near 0 that differ by about 1; {1}. Divide by a "
    "range that is declared, such as that of a code book, before fit."
)
_SCALED = "Features on another scale ({0}) were standardised by the rows given to fit, which are public but for groups."
_WEIGHTS = {
    "attribute": "The weights of the rows are public, and were not made from the sensitive attribute.",
    "record": "A row's weight is part of its record, and was made from that record alone.",
}
_NAMED = 3  # columns, in a warning
_SETTING = "settings__"
#: with metadata routing on, sensitive_features go where they are given without a further request
_GIVEN = {"sensitive_features": True}


class FairPrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that is fair, private, or both, by any method of the catalogue.

    Parameters
    ----------
    method : str
        A name of `fairpriv methods`, or "auto": the one that did best on tables like yours, `reasons_` says why.
    notion : str
        A name of `fairpriv notions`; methods that pursue no notion only record it.
    epsilon : float or None
        The budget of one `fit`, > 0. None where the method is not private or `settings` sets its noise. Every further
        fit (each fold of a cross-validation, each point of a grid search) costs its own epsilon.
    delta : float
        In (0, 1), and below 1 / rows to mean something.
    variant : str or None
        "proved" or "published" where the method has both; None is "proved".
    protect, group_at_decision : str or None
        For "auto": "attribute" (who is in which group stays secret) or "record" (all that a row says), which it needs;
        and "yes" where the group may be known when the model decides.
    settings : mapping or None
        The method's further hyper-parameters by name, such as {"epochs": 10}; before all others `gap_target` (the gap
        that is accepted, 0.04 where nothing is said), `multiplier_max` or `multiplier` (λ), `clip_primal` (C_p) and
        `clip_dual` (C_d), as far as the method has them (`fairpriv methods NAME`). Where λ or C_d is set and
        `gap_target` is not, no gap is aimed at. On few rows a batch size that is left
        out is a quarter of them, or small enough for 1,500 steps. In a grid each is a parameter of its own, such as
        `settings__epochs`.
    module : torch.nn.Module, callable, str or None
        A network of your own, in place of `settings`' hidden layers: a module, which stays as it is and starts training
        from a copy; a function of (size, outputs) that builds one; or "package:function". It takes rows (n, d) and
        gives (n, 1), the logit of the second label, or (n, 2). Epsilon takes the module's parameters as public, and
        that it treats each record by itself (docs/modules.md).
    groups : sequence or None
        All values that `sensitive_features` may have, tuples where it has several columns. None reads them from the
        rows, which epsilon then takes as given.
    pos_label : label or None
        Which of two labels counts as positive: what equal opportunity is an opportunity for. None is the second one in
        sorted order, with a warning where the labels are texts, whose order says nothing.
    sensitive_feature_ids : sequence of int or str, or None
        Columns of X, by place or name, whose values are the sensitive ones, crossed where there are several, and which
        are no features. In place of `sensitive_features`, for tools that hand on X and y alone.
    callback : callable or None
        Called at the end of each epoch with what `history_` then ends in; what it raises ends the fit.
    ledger : str or None
        What the data are called. The ledger of the default run store then counts every fit on them, which `fairpriv
        ledger` tells, and refuses one beyond a cap (`fairpriv ledger cap`). None counts nothing.
    random_state : int, RandomState or None
        Public: drives initialisation and public batches. Noise and secret samples always come from the operating
        system, so a private fit is never repeatable.

    Attributes
    ----------
    classes_ : ndarray (l,)
        The labels in sorted order; more than two where the method takes them.
    pos_label_ : label or None
        The one of two labels that counts as positive; None where there are more.
    groups_ : tuple
        The values of `sensitive_features`, in the order of their numbers.
    epsilon_ : float or None
        What holds for all that `fit` released (see `record_["event"]`), or None with `epsilon_reason_`.
    record_ : dict
        The run's record, JSON only, as the command line prints it, without metrics: no row was kept back for testing.
    history_ : list of dict
        Empty without a `callback`. With one, each epoch's loss, accuracy and gaps on the training rows, and the
        epsilon spent by then.
        Raw, for the analyst: computed on protected rows without noise, and so in no pickle and no saved file.
    reasons_ : tuple of str
        Why "auto" took the method that `record_["config"]` names; () where a person named it.
    scaling_ : Scaling or None
        What features on another scale were standardised by, where epsilon takes features as public; `predict` does the
        same. None where rows are used as they are.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> draw = np.random.default_rng(0)
    >>> a = draw.choice(["f", "m"], 2_000)
    >>> X = draw.normal(size=(2_000, 3)) + (a == "m")[:, None]
    >>> y = np.where(X[:, 0] + draw.normal(size=2_000) > 0, "hired", "rejected")
    >>> model = FairPrivateClassifier(method="pf_ld", epsilon=1.0, groups=["f", "m"], pos_label="hired")
    >>> model = model.fit(X, y, sensitive_features=a)
    >>> model.predict(X[:2]).shape, model.predict_proba(X).shape
    ((2,), (2000, 2))
    >>> model.record_["threat_model"], 0.99 < model.epsilon_ <= 1.0
    ('attribute', True)
    """

    __metadata_request__fit: ClassVar = _GIVEN
    __metadata_request__predict: ClassVar = _GIVEN
    __metadata_request__predict_proba: ClassVar = _GIVEN
    __metadata_request__decision_function: ClassVar = _GIVEN
    __metadata_request__score: ClassVar = _GIVEN

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        notion: str = DEFAULT_NOTION,
        *,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        variant: str | None = None,
        protect: str | None = None,
        group_at_decision: str | None = None,
        settings: Any = None,
        module: Any = None,
        groups: Any = None,
        pos_label: Any = None,
        sensitive_feature_ids: Any = None,
        callback: Callable[[Mapping[str, object]], None] | None = None,
        ledger: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.notion = notion
        self.epsilon = epsilon
        self.delta = delta
        self.variant = variant
        self.protect = protect
        self.group_at_decision = group_at_decision
        self.settings = settings
        self.module = module
        self.groups = groups
        self.pos_label = pos_label
        self.sensitive_feature_ids = sensitive_feature_ids
        self.callback = callback
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> Self:
        """Train on rows X (n, d) of finite numbers, labels y (n,), one or more sensitive values for each row (n, c).

        `sensitive_features` may be left out for a method that never looks at groups. `sample_weight` (n,), at least 0,
        multiplies each row's loss; gaps are of rows, not of weights. Where records are protected a weight is part of
        its record, and its row's gradient is clipped with the weight in it; where the attribute is, weights are public.
        A method for which no proof covers weights refuses them. Nothing is stored, but for a line of the ledger.
        Raises ValueError for X, y or weights that cannot be used, BadInput for a setting or sensitive values that
        cannot, RunFailed where training cannot go on (what was released by then is spent). One warning says all that
        is doubtful, before anything is spent.
        """
        doubts: list[FairprivWarning] = []
        features, y, values = self._read_rows(X, y, sensitive_features)
        self._network, self._held = _read_module(self.module)
        groups = values if self.groups is None else as_groups(self.groups)
        config = self._build_config(len(features), lambda: Size(len(y), len({*(groups or ())}), len(np.unique(y))))
        rows = self._scale(features, config, doubts)
        labels = self._read_labels(y, config, doubts)
        info = config.method.info
        if values is None and info.uses_groups:
            raise BadInput(
                f"method '{info.name}' needs the sensitive value of every row: fit(X, y, sensitive_features=…).",
                field="sensitive_features",
            )
        group, listed = self._read_groups(values, len(rows))
        weight = None if sample_weight is None else _read_weights(sample_weight, rows, config.method.info)
        self.history_: list[dict[str, Any]] = []
        watch = None if self.callback is None else self._note
        with self._hold_module():
            train = self._build_dataset(rows, labels, group, listed)
            if weight is not None:
                train = _weigh(train, weight)
            outcome = run_in_memory(config, train, watch=watch, ledger=self.ledger, doubts=doubts)
            self.network_, self.parameters_ = outcome.fitted.network.to_json(), outcome.fitted.parameters
        self.epsilon_, self.epsilon_reason_ = outcome.record.epsilon, outcome.record.epsilon_reason
        self.record_ = outcome.record.to_json()
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the labels (n,) of rows X; a method that decides by group needs `sensitive_features` here too."""
        rows, score = self._score_rows(X, sensitive_features)
        decided = decide(score, decision_thresholds(read_network(self.network_), rows))
        labels: np.ndarray = self._in_order(self.classes_)[decided]
        return labels

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the scores (n, l) of the labels, in the order of `classes_`; each row sums to 1."""
        return self._in_order(self._score_rows(X, sensitive_features)[1].T).T

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return how far each row's score lies on the side of `classes_[1]`, (n,); of more than two labels the scores.

        Above 0 is what `predict` calls `classes_[1]`.
        """
        rows, score = self._score_rows(X, sensitive_features)
        if len(self.classes_) > TWO:
            return score
        margin: np.ndarray = score[:, 1] - decision_thresholds(read_network(self.network_), rows)
        if self.pos_label_ == self.classes_[1]:
            return margin
        return np.where(margin == 0, np.finfo(float).tiny, -margin)  # a tie is decided as negative

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Return the share of rows that are predicted right."""
        right = self.predict(X, sensitive_features=sensitive_features) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file, which holds numbers and JSON and runs nothing when it is read.

        Of the rows it holds what the model and its record hold. Raises BadInput where it cannot be written, labels or
        groups are neither texts nor numbers, or `module` is no "package:function".
        """
        check_is_fitted(self)
        names = tuple(map(str, self._in_order(self.classes_))), tuple(getattr(self, "feature_names_in_", ()))
        left_out = {"callback": None, "random_state": None}
        content = {
            "parameters": {**self.get_params(deep=False), **left_out},
            "classes": self.classes_.tolist(),
            "dtype": self.classes_.dtype.str,
            "groups": self.groups_,
            "features": self.n_features_in_,
            "scaling": None if self.scaling_ is None else asdict(self.scaling_),
            "record": self.record_,
        }
        write_archive(path, Model(read_network(self.network_), self.parameters_, "", None, *names), _to_plain(content))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model that `save` wrote; BadInput for another file.

        Reading runs nothing. A file whose `module` is "package:function" names an installed function, which predicting
        calls: load such a file from people alone whom you trust.
        """
        model, content = read_archive(path)
        loaded = cls(**content["parameters"])
        loaded._network, loaded._held = _read_module(loaded.module)
        loaded.network_, loaded.parameters_ = model.network.to_json(), model.parameters
        loaded.classes_ = np.array(content["classes"], dtype=content["dtype"])
        loaded.pos_label_ = loaded._find_positive() if len(loaded.classes_) == TWO else None
        loaded.groups_ = as_groups(content["groups"])
        loaded.n_features_in_, scaling = content["features"], content["scaling"]
        loaded.scaling_ = None if scaling is None else Scaling.from_json(scaling)
        if model.feature_names:
            loaded.feature_names_in_ = np.array(model.feature_names, dtype=object)
        loaded.record_, loaded.history_ = content["record"], []
        loaded.epsilon_, loaded.epsilon_reason_ = loaded.record_["epsilon"], loaded.record_["epsilon_reason"]
        return loaded

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters by name; `deep` has each of `settings` beside them, as `settings__epochs`."""
        own: dict[str, object] = super().get_params(deep=deep)
        each = self.settings if deep and isinstance(self.settings, Mapping) else {}
        return {**own, **{f"{_SETTING}{name}": value for name, value in each.items()}}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, of `settings` each by its own, as `settings__epochs`."""
        nested = {name.removeprefix(_SETTING): parameters[name] for name in parameters if name.startswith(_SETTING)}
        super().set_params(**{name: value for name, value in parameters.items() if not name.startswith(_SETTING)})
        if nested:
            self.settings = {**(self.settings or {}), **nested}
        return self

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled: not `history_`, which is raw, nor `callback`, which may hold it."""
        unsaid: dict[str, object] = {"callback": None, **({"history_": []} if hasattr(self, "history_") else {})}
        return {**super().__getstate__(), **unsaid}

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn's own checks and meta-estimators should know."""
        tags = super().__sklearn_tags__()
        method = methods().get(self.method)
        tags.classifier_tags.multi_class = method is not None and method.info.max_labels is None
        private = method is not None and method.info.threat_model is not None
        tags.non_deterministic = private
        tags.classifier_tags.poor_score = private  # a small epsilon on few rows leaves little to learn
        return tags

    def _build_config(self, n: int, measure: Callable[[], Size]) -> RunConfig:
        state = self.random_state
        seed = state if isinstance(state, int | np.integer) else check_random_state(state).randint(2**31 - 1)
        settings = dict(self.settings or {})
        raw = {"notion": self.notion, "epsilon": self.epsilon, "delta": self.delta, "seed": int(seed)}
        if self._network is not None:
            _refuse_two(settings)
            settings["network"] = self._network
        terms = {"variant": self.variant, "protect": self.protect, "group_at_decision": self.group_at_decision}
        table = {**settings, "name": self.method, **{name: value for name, value in terms.items() if value is not None}}
        raw, self.reasons_ = settle_method({**raw, "method": table}, lambda config: measure(), data=IN_MEMORY)
        config = build_config(raw, data=IN_MEMORY)
        fitting = fit_batch_size(config.method, n, settings)
        return config if fitting is None else replace(config, method=replace(config.method, batch_size=fitting))

    def _note(self, epoch: Mapping[str, object]) -> None:
        self.history_.append(dict(epoch))
        if self.callback is not None:
            self.callback(epoch)

    def _read_rows(self, X: Any, y: Any, sensitive: Any) -> tuple[np.ndarray, Any, list[Hashable] | None]:
        """Return features (n, d), labels and the sensitive value of each row, None where there is none."""
        if self.sensitive_feature_ids is None:
            with _naming_an_encoder():
                rows, y = validate_data(self, X, to_exact(y), dtype=np.float64)
            return rows, y, None if sensitive is None else read_values(sensitive, rows)
        if sensitive is not None:
            raise BadInput(
                "sensitive values are given twice; leave out sensitive_features or sensitive_feature_ids.",
                field="sensitive_features",
            )
        columns, values = self._take_sensitive(X, reset=True)
        with _naming_an_encoder():
            rows, y = check_X_y(columns, to_exact(y), dtype=np.float64, estimator=self)
        return rows, y, values

    def _take_sensitive(self, X: Any, *, reset: bool) -> tuple[Any, list[Hashable]]:
        """Return X without the columns of `sensitive_feature_ids`, and the value that each row has there."""
        is_frame = isinstance(X, pd.DataFrame)
        checked = validate_data(self, X, dtype=np.float64, skip_check_array=is_frame, reset=reset)
        frame = X if is_frame else pd.DataFrame(checked)
        columns = [find_column(frame, place) for place in self.sensitive_feature_ids]
        rest = frame.drop(columns=columns)
        if not rest.shape[1]:
            raise ValueError(f"X has {frame.shape[1]} feature(s), and sensitive_feature_ids leaves none to learn from.")
        return (rest if is_frame else rest.to_numpy()), read_values(frame[columns], frame)

    def _scale(self, rows: np.ndarray, config: RunConfig, doubts: list[FairprivWarning]) -> np.ndarray:
        """Set `scaling_`; return rows (n, d) as the network is given them.

        Where rows are protected nothing of theirs may go into the model for free, and a module of one's own may know
        its rows' scale: columns on another scale are among `doubts`.
        """
        scaling, self.scaling_ = find_scaling(rows), None
        if scaling is not None and config.method.info.threat_model != "record" and self._network is None:
            self.scaling_ = scaling
        elif scaling is not None:
            names = self._name_features(rows.shape[1])
            few = ", ".join(f"'{names[column]}'" for column in scaling.columns[:_NAMED])
            more = f" and {len(scaling.columns) - _NAMED} more" if len(scaling.columns) > _NAMED else ""
            why = (
                "the module takes rows as they are"
                if self._network is not None
                else "epsilon covers no scaling by rows"
            )
            doubts.append(DataWarning(_UNSCALED.format(few + more, why)))
        return _apply(self.scaling_, rows)

    def _name_features(self, columns: int) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", ())
        return tuple(names) if len(names) == columns else tuple(f"x{index}" for index in range(columns))

    def _read_labels(self, y: Any, config: RunConfig, doubts: list[FairprivWarning]) -> np.ndarray:
        """Set `classes_` and `pos_label_`; return the number of each row's label (n,), of two 1 for the positive one.

        Raises ValueError, in scikit-learn's words, for labels that cannot be told apart or are too many.
        """
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        require_exact(self.classes_, "y")
        most = config.method.info.max_labels
        if len(self.classes_) < TWO:
            raise ValueError(f"y must have two classes, got one class: {self.classes_.tolist()}.")
        if most is not None and len(self.classes_) > most:
            kind = type_of_target(y, input_name="y")
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) > MOST_CLASSES:
            raise ValueError(f"y has {len(self.classes_):,} classes; at most {MOST_CLASSES} can be learned.")
        check_notion(config.notion, config.method.info, len(self.classes_))
        self.pos_label_ = None if len(self.classes_) > TWO else self._find_positive()
        if self.pos_label is None and self.pos_label_ is not None and self.classes_.dtype.kind not in "biuf":
            doubts.append(DataWarning(_POSITIVE.format(*self.classes_.tolist())))
        turned = self.pos_label_ is not None and self.pos_label_ != self.classes_[1]
        return (1 - labels if turned else labels).astype(np.int64)

    def _find_positive(self) -> Any:
        """Return which of the two labels is positive; BadInput where `pos_label` is neither."""
        if self.pos_label is None:
            return self.classes_[1]
        if self.pos_label not in self.classes_.tolist():
            raise BadInput(
                f"pos_label must be one of the labels {self.classes_.tolist()}, got {self.pos_label!r}.",
                field="pos_label",
            )
        return self.classes_[self.classes_.tolist().index(self.pos_label)]

    def _in_order(self, values: np.ndarray) -> np.ndarray:
        """Return what stands in the order of `classes_` in the order of the model's labels, and the other way round."""
        return values[::-1] if self.pos_label_ is not None and self.pos_label_ != self.classes_[1] else values

    def _read_groups(self, values: list[Hashable] | None, n: int) -> tuple[np.ndarray, str]:
        """Set `groups_`; return the group of each of n rows (n,) and what is assumed of their list."""
        if values is None:
            self.groups_: tuple[Hashable, ...] = (_EVERYONE,)
            return np.zeros(n, dtype=np.int64), "No sensitive attribute was given: everyone is one group."
        learned = self.groups is None
        self.groups_ = tuple(sorted(set(values), key=str)) if learned else as_groups(self.groups)
        require_exact(self.groups_, "sensitive_features")
        if len(self.groups_) < 2:
            raise BadInput(
                f"sensitive_features must have at least two groups, got {list(self.groups_)}.",
                field="sensitive_features",
            )
        if len(self.groups_) > MOST_GROUPS:
            raise BadInput(
                f"sensitive_features has {len(self.groups_):,} groups; at most {MOST_GROUPS} can be compared: cut "
                "numbers into ranges, as with pandas.cut(age, [0, 25, 60, 120]), or merge values.",
                field="sensitive_features",
            )
        origin = "read from the rows given to fit and" if learned else "declared, not learned from rows, and"
        names = "; ".join(map(name_group, self.groups_))
        return self._find_groups(values), f"The list of groups ({names}) is {origin} taken as public."

    def _find_groups(self, values: list[Hashable]) -> np.ndarray:
        position = {value: index for index, value in enumerate(self.groups_)}
        unknown = [value for value in values if value not in position]
        if unknown:
            raise BadInput(
                f"sensitive_features holds {unknown[0]!r}, which is none of the groups {list(self.groups_)}.",
                field="sensitive_features",
            )
        return np.array([position[value] for value in values], dtype=np.int64)

    def _build_dataset(self, rows: np.ndarray, labels: np.ndarray, group: np.ndarray, listed: str) -> Dataset:
        names = self._name_features(rows.shape[1])
        classes = tuple(str(label) for label in self._in_order(self.classes_))
        return Dataset(
            X=rows,
            y=labels,
            group=group,
            feature_names=names,
            label_names=classes,
            group_names=tuple(map(name_group, self.groups_)),
            name=str(IN_MEMORY.dataset),
            sensitive=IN_MEMORY.sensitive,
            digest="",  # one of protected values would let anyone who guesses them know that they are right
            assumptions={
                "attribute": (listed, _FEATURES["attribute"], *self._format_scaling(names)),
                "record": (listed, _LABELS.format("; ".join(classes)), _FEATURES["record"]),
            },
        )

    def _format_scaling(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what is assumed of features that were standardised."""
        if self.scaling_ is None:
            return ()
        return (_SCALED.format("; ".join(names[column] for column in self.scaling_.columns)),)

    def _score_rows(self, X: Any, sensitive: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows as they are predicted (n, d) and their scores (n, l), of two labels the positive one last."""
        check_is_fitted(self)
        network = read_network(self.network_)
        if self.sensitive_feature_ids is None:
            rows = validate_data(self, X, dtype=np.float64, reset=False)
            values = None if sensitive is None or len(self.groups_) < 2 else read_values(sensitive, rows)
        else:
            features, values = self._take_sensitive(X, reset=False)
            rows, values = check_array(features, dtype=np.float64), values if network.needs_group else None
        rows = _apply(self.scaling_, rows)
        group = None if values is None else self._find_groups(values)
        with self._hold_module():
            return rows, predict_proba(network, self.parameters_, rows, group)

    @contextmanager
    def _hold_module(self) -> Iterator[None]:
        """Let the fit's network mean the module that was given, where one was."""
        if self._held is None:
            yield
        else:
            with hold(str(self._network), self._held):
                yield


def _read_weights(sample_weight: Any, rows: np.ndarray, info: MethodInfo) -> np.ndarray:
    """Return the weights (n,) float32; BadInput where a method's proof covers none, ValueError for what are none."""
    if not info.weighs_rows:
        able = ", ".join(name for name, method in methods().items() if method.info.weighs_rows)
        why = "no proof of its epsilon covers weights" if info.threat_model else "it counts all rows alike"
        raise BadInput(
            f"method '{info.name}' takes no sample_weight: {why}; leave it out, or take one of {able}.",
            field="sample_weight",
        )
    weight: np.ndarray = check_array(sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight")
    if weight.shape != (len(rows),):
        raise ValueError(f"sample_weight must have one weight for each of {len(rows)} rows, got shape {weight.shape}.")
    if (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be at least zero in every row, and above zero in some.")
    return weight


def _weigh(train: Dataset, weight: np.ndarray) -> Dataset:
    """Return the rows with their weights, and what epsilon takes as given of these."""
    assumptions = {name: (*sentences, _WEIGHTS[name]) for name, sentences in train.assumptions.items()}
    return replace(train, weight=weight, assumptions=assumptions)


def _refuse_two(settings: Mapping[str, object]) -> None:
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


@contextmanager
def _naming_an_encoder() -> Iterator[None]:
    """Say of text among the features what would be right, after scikit-learn's own words."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        message = f"{error}; encode columns of text first, for example with sklearn.preprocessing.OneHotEncoder."
        raise ValueError(message) from None


def _apply(scaling: Scaling | None, rows: np.ndarray) -> np.ndarray:
    """Return rows (n, d) as a network is given them, float32; ValueError for numbers that it cannot be given."""
    scaled: np.ndarray = check_array(rows if scaling is None else scaling.apply(rows), dtype=np.float32)
    return scaled


def _to_plain(value: Any) -> Any:
    """Return `value` with Python's own numbers, texts and lists in place of NumPy's."""
    if isinstance(value, Mapping):
        return {name: _to_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray | pd.Index):
        return [_to_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
