"""A score of features and labels alone, which are public under the threat model `attribute`: it reads no group.

Decisions that are set on the rows that a model was trained on are set on scores that are too sure. So every training
row has the score of a model that was trained on the other folds; new rows have that of a model of all rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import Network, predict_proba, to_chance
from fairpriv_core.engine.trees import Trees, TreesShape
from fairpriv_core.methods.base import parameter
from fairpriv_core.seeds import public_generator

LINEAR, BOOSTED, AUTOMATIC = LEARNERS = ("linear", "boosted", "automatic")
FOLDS = 3
_REMEMBERED = 4  # scores
_FEWEST = 10  # rows of each label, below which the score is the labels' share
_MOST_TREES = 120
_BOOSTING = {
    "learning_rate": 0.15,
    "max_leaf_nodes": 15,
    "max_depth": 6,
    "min_samples_leaf": 20,
    "l2_regularization": 1,
}
_LEAST_CHANCE = 1e-6
_LEAST_SPREAD = 1e-12  # of a feature that varies
_RIDGE = 1.0  # of the logistic regression, in rows; its features have variance 1


def learner_parameter(default: str) -> str:
    """Declare what a method's score is learned by."""
    declared: str = parameter(
        default,
        "Learner",
        "What the score is learned by from features and labels: logistic regression, boosted trees, or automatic, the "
        "one of them that predicts held-out labels better.",
        choices=LEARNERS,
    )
    return declared


@dataclass(frozen=True)
class PublicScore:
    """A model of the label (see engine/predict.py), and `held_out` (n,): each training row's score by the others."""

    network: Network
    parameters: np.ndarray
    held_out: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the score (n,) of rows (n, d)."""
        return predict_proba(self.network, self.parameters, rows)[:, 1]


_known: dict[tuple[str, int, str], PublicScore] = {}


def fit_score(learner: str, train: Dataset, *, seed: int) -> PublicScore:
    """Return the score by `learner`; `seed` draws the folds. Of an image it sees the pixels.

    AUTOMATIC takes the one that `choose_learner` chooses.
    The latest scores of a process are remembered by the rows and labels that they were fitted on: another notion,
    target or budget takes no second fit.
    """
    if learner == AUTOMATIC:
        learner = choose_learner(train, seed=seed)
    content = hashlib.sha256(np.ascontiguousarray(train.X, dtype=np.float32).data)
    content.update(np.ascontiguousarray(train.y).data)
    name = (learner, seed, f"{train.X.shape} {content.hexdigest()}")
    if name not in _known:
        while len(_known) >= _REMEMBERED:
            del _known[next(iter(_known))]
        _known[name] = _fit(learner, train, seed)
    return _known[name]


def choose_learner(train: Dataset, *, seed: int) -> str:
    """Return BOOSTED where its loss on held-out rows is less than LINEAR's by more than one standard error, or LINEAR.

    Reads features and labels alone.
    """
    losses = [_loss(fit_score(learner, train, seed=seed).held_out, train.y) for learner in (LINEAR, BOOSTED)]
    gain = losses[0] - losses[1]
    return BOOSTED if gain.mean() > gain.std() / np.sqrt(train.n) else LINEAR


def _loss(score: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(np.where(y == 1, score, 1.0 - score), _LEAST_CHANCE))


def _fit(learner: str, train: Dataset, seed: int) -> PublicScore:
    features = np.nan_to_num(np.asarray(train.X, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    if np.bincount(train.y, minlength=2).min() < _FEWEST:
        return _constant(train)
    folds = _draw_folds(train.y, seed)
    # one thread: sums of several are added in no fixed order, and a resumed run has to give the same bits
    with threadpool_limits(limits=1):
        return (_fit_linear if learner == LINEAR else _fit_boosted)(features, train.y, folds)


def _draw_folds(y: np.ndarray, seed: int) -> np.ndarray:
    """Return each row's fold (n,): as many rows of each label in each."""
    draw = public_generator(seed, "folds of the score")
    shuffled = draw.permutation(len(y))
    ordered = shuffled[np.argsort(y[shuffled], kind="stable")]
    folds = np.empty(len(y), dtype=np.int64)
    folds[ordered] = np.arange(len(y)) % FOLDS
    return folds


def _hold_out(folds: np.ndarray, score: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return (n,): what `score` (rows trained on, rows scored) gives each row from the other folds."""
    held_out = np.empty(len(folds))
    for fold in range(FOLDS):
        inside = folds == fold
        held_out[inside] = score(~inside, inside)
    return held_out


def _constant(train: Dataset) -> PublicScore:
    share = float(np.clip(train.y.mean(), _LEAST_CHANCE, 1.0 - _LEAST_CHANCE))
    parameters = np.append(np.zeros(train.d), np.log(share / (1.0 - share))).astype(np.float32)
    return PublicScore(NetworkShape(train.d), parameters, np.full(train.n, share))


def _fit_linear(features: np.ndarray, y: np.ndarray, folds: np.ndarray) -> PublicScore:
    network = NetworkShape(features.shape[1])

    def score(rows: np.ndarray, scored: np.ndarray) -> np.ndarray:
        return predict_proba(network, _solve(features[rows], y[rows]), features[scored])[:, 1]

    return PublicScore(network, _solve(features, y), _hold_out(folds, score))


def _solve(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the parameters (d + 1,) of a logistic regression, found on features of variance 1."""
    from sklearn.linear_model import LogisticRegression

    middle = features.mean(axis=0, dtype=np.float64)
    spread = np.maximum(features.std(axis=0, dtype=np.float64), _LEAST_SPREAD)
    model = LogisticRegression(C=1.0 / _RIDGE, max_iter=300).fit((features - middle) / spread, y)
    weights = model.coef_[0] / spread
    return np.append(weights, model.intercept_[0] - weights @ middle).astype(np.float32)


def _fit_boosted(features: np.ndarray, y: np.ndarray, folds: np.ndarray) -> PublicScore:
    """Return boosted trees, as many as have the least loss on the rows that they were not trained on."""
    parts = [_boost(features[folds != fold], y[folds != fold], _MOST_TREES) for fold in range(FOLDS)]
    losses = np.zeros(_MOST_TREES)
    for fold, trees in enumerate(parts):
        losses += _sum_losses(trees, features[folds == fold], y[folds == fold])
    count = int(losses.argmin()) + 1
    held_out = np.empty(len(y))
    for fold, trees in enumerate(parts):
        rows = np.flatnonzero(folds == fold)
        for part, logits in trees.add_up(features[rows]):
            held_out[rows[part]] = to_chance(logits[:, count - 1])
    trees = _boost(features, y, count)
    return PublicScore(trees.shape, trees.flat(), held_out)


def _sum_losses(trees: Trees, features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the sum of the rows' losses after each tree (T,)."""
    total = np.zeros(_MOST_TREES)
    for part, logits in trees.add_up(features):
        chance = to_chance(np.where(y[part] == 1, 1.0, -1.0)[:, None] * logits)
        total -= np.log(np.maximum(chance, _LEAST_CHANCE)).sum(axis=0)
    return total


def _boost(features: np.ndarray, y: np.ndarray, count: int) -> Trees:
    """Return `count` trees by scikit-learn's histogram gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=count, early_stopping=False, random_state=0, **_BOOSTING)
    model.fit(features, y)
    tables = [iteration[0].nodes for iteration in model._predictors]  # it has no public name
    sizes = [len(nodes) for nodes in tables]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    nodes, own = np.concatenate(tables), np.arange(sum(sizes))
    leaf = nodes["is_leaf"] == 1
    offset = np.repeat(roots, sizes)
    return Trees(
        shape=TreesShape(features.shape[1], len(roots), len(nodes), depth=max(int(nodes["depth"].max()), 1)),
        base=float(np.float32(model._baseline_prediction.item())),
        roots=roots,
        feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        threshold=_round_down(np.where(leaf, 0.0, nodes["num_threshold"])),
        left=np.where(leaf, own, offset + nodes["left"]).astype(np.int64),
        right=np.where(leaf, own, offset + nodes["right"]).astype(np.int64),
        value=np.where(leaf, nodes["value"], 0.0).astype(np.float32),
    )


def _round_down(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest float32 at most each threshold: of float32 features the same lie at or below it."""
    rounded = thresholds.astype(np.float32)
    above = rounded.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(rounded, np.float32(-np.inf)), rounded)
