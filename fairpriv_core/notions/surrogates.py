"""The h of each notion as a function of the logit: the differentiable one (PF-LD, eq. 1), and what is decided."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairpriv_core.notions.notion import Target

#: what training takes for a notion's h: the positive label's probability or logit, or the loss
Surrogate = Target | Literal["logit"]


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-o)) of each logit o."""
    with np.errstate(over="ignore"):  # exp(-o) is then infinite, and the result 0
        inverse = np.exp(-logits)
    inverse += 1.0
    probability: np.ndarray = np.reciprocal(inverse, out=inverse)
    return probability


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each label (..., l) from the outputs of a network (..., l)."""
    probabilities: np.ndarray = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return probabilities


def output(target: Surrogate, logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return h for each record: the positive label's probability or the cross-entropy, never negative; or its logit."""
    if target == "score":
        return sigmoid(logits)
    if target == "logit":
        return logits
    loss: np.ndarray = np.maximum(np.logaddexp(0.0, logits) - labels * logits, 0.0, dtype=logits.dtype)
    return loss


def decided(target: Surrogate, logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return what is reported of each record: 1 where label 1 is decided, or where the decision is wrong, else 0.

    NaN where a logit is not a number.
    """
    positive = logits > 0
    decision: np.ndarray = positive != (labels == 1) if target == "loss" else positive
    return np.where(np.isnan(logits), np.nan, decision)


def derivative(target: Surrogate, probability: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return dh/do, the derivative of h with respect to the logit o, from `probability` = sigmoid(o)."""
    if target == "score":
        return probability * (1.0 - probability)
    if target == "logit":
        return np.ones_like(probability)
    difference: np.ndarray = probability - labels
    return difference
