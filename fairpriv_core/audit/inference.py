"""Attacks on one trained model by people who see its answers: who was trained on, and what is a person's attribute?

Membership inference as in FairDP-A's Figure 3 (after Song and Marn, 2020): four classifiers learn from half of the
records to tell training rows from others by the model's answer, and are judged on the other half. Every number here is
computed on raw records: for the analyst.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.seeds import public_generator

_LEAST = 1e-7  # of a probability, before its logarithm
_SURE = 0.95


@dataclass(frozen=True)
class Membership:
    """How well one attack model tells members from others: AUC (0.5 is chance) and max |TPR - FPR| (0 is chance)."""

    attacker: str
    auc: float
    advantage: float


@dataclass(frozen=True)
class MembershipInference:
    """The four attack models, judged on `judged` records of each kind.

    A model that leaks nothing gives an attacker more than `chance` as an advantage in 5 % of cases.
    """

    attackers: tuple[Membership, ...]
    judged: int
    chance: float


@dataclass(frozen=True)
class AttributeGuess:
    """How often one attack model names a training record's group: from (x, y) alone, and with the model's answer."""

    attacker: str
    baseline: float
    accuracy: float


@dataclass(frozen=True)
class AttributeInference:
    """The four attack models, judged on `judged` training records; `majority` is always naming the largest group."""

    attackers: tuple[AttributeGuess, ...]
    judged: int
    majority: float


def attackers(seed: int) -> dict[str, object]:
    """Return the unfitted attack models of FairDP-A's Figure 3 by name."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "LR": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "MLP": make_pipeline(StandardScaler(), MLPClassifier((64,), early_stopping=True, random_state=seed)),
        "RF": RandomForestClassifier(100, min_samples_leaf=5, random_state=seed),
        "KNN": make_pipeline(StandardScaler(), KNeighborsClassifier(25)),
    }


def stack_answers(probability: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what the attacker sees of each record (n, 4): probability, its logit, the label, the loss.

    With the probabilities (n, l) of more than two labels: all of these, their logits, 1 for the label, and the loss.
    """
    clipped = np.clip(probability, _LEAST, 1.0 - _LEAST)
    if clipped.ndim == 2:
        own = np.eye(clipped.shape[1])[y]
        losses = -np.log((clipped * own).sum(axis=1, keepdims=True))
        return np.hstack([clipped, np.log(clipped / (1.0 - clipped)), own, losses])
    loss = -np.log(np.where(y == 1, clipped, 1.0 - clipped))
    return np.stack([clipped, np.log(clipped / (1.0 - clipped)), y.astype(np.float64), loss], axis=1)


def infer_membership(inside: np.ndarray, outside: np.ndarray, *, limit: int, seed: int) -> MembershipInference:
    """Attack with what is seen of training records (n, f) and of others (m, f): equally many, at most `limit`."""
    from scipy.stats import kstwobign
    from sklearn.metrics import roc_auc_score, roc_curve

    draw = public_generator(seed, "membership inference")
    size = min(len(inside), len(outside), limit) // 2 * 2
    parts = [part[draw.permutation(len(part))[:size]] for part in (inside, outside)]
    learned, judged = (np.concatenate([part[start::2] for part in parts]) for start in (0, 1))
    member = np.repeat([1, 0], size // 2)
    attacks = []
    for name, attacker in attackers(seed).items():
        score = _fit(attacker, learned, member).predict_proba(judged)[:, 1]
        false_alarms, hits, _ = roc_curve(member, score)
        advantage = float(np.abs(hits - false_alarms).max())
        attacks.append(Membership(name, float(roc_auc_score(member, score)), advantage))
    chance = float(kstwobign.ppf(_SURE)) * math.sqrt(4.0 / max(size, 1))
    return MembershipInference(tuple(attacks), size // 2, min(chance, 1.0))


def guessed_advantage(judged: int) -> float:
    """Return the mean advantage of an attacker who learns nothing, on `judged` records of each kind (Kolmogorov).

    >>> round(guessed_advantage(2000), 4)
    0.0275
    """
    from scipy.stats import kstwobign

    return min(float(kstwobign.mean()) * math.sqrt(2.0 / judged), 1.0) if judged else 1.0


def draw_judged(n: int, *, limit: int, seed: int) -> np.ndarray:
    """Return which of n training records attribute inference is about, at most `limit`, in the order that it takes."""
    return public_generator(seed, "attribute inference").permutation(n)[:limit]


def infer_attribute(facts: np.ndarray, answers: np.ndarray, group: np.ndarray, *, seed: int) -> AttributeInference:
    """Attack training records: `facts` (n, f) is x and y, `answers` (n, g) the model's, `group` (n,) the secret.

    Every other one is learned from, and the rest are judged.
    """
    rows = np.arange(len(group))
    learned, judged = rows[::2], rows[1::2]
    attacks = []
    for name in attackers(seed):
        shares = []
        for inputs in (facts, np.hstack([facts, answers])):
            attacker = _fit(attackers(seed)[name], inputs[learned], group[learned])
            shares.append(float((attacker.predict(inputs[judged]) == group[judged]).mean()))
        attacks.append(AttributeGuess(name, *shares))
    majority = np.bincount(group[learned]).argmax()
    return AttributeInference(tuple(attacks), len(judged), float((group[judged] == majority).mean()))


def advantage_limit(epsilon: float, delta: float) -> float:
    """Return what (epsilon, delta)-privacy of whole records allows any attacker as an advantage (Kairouz et al., 2015).

    >>> round(advantage_limit(1.0, 0.0), 3)
    0.462
    """
    return min((math.expm1(epsilon) + 2.0 * delta) / (math.exp(epsilon) + 1.0), 1.0)


def _fit(attacker: Any, inputs: np.ndarray, truth: np.ndarray) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an attack that could still get better is an attack
        return attacker.fit(inputs, truth)
