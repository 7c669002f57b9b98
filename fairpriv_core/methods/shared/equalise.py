"""The linear programme of Hardt, Price and Srebro (2016): new decisions from old ones and the group, for any notion."""

from __future__ import annotations

import numpy as np

from fairpriv_core.errors import RunFailed
from fairpriv_core.notions.notion import Notion

_LABELS = np.array([0.0, 1.0])


def equalise(
    counts: np.ndarray, notion: Notion, *, difference_bound: float, response: np.ndarray | None = None
) -> np.ndarray:
    """Return the chances (k, 2) of a decision 1 for (group, old decision) that make the fewest errors within the bound.

    `counts` (k, 2, 2) >= 0 are (estimated) numbers of rows by group, label and old decision, with rows in every cell of
    the notion. In each of its populations the mean of u (the new decision, or for a notion on the loss the 0/1 error)
    differs by at most `difference_bound` between any two groups. `response` (k, k), rows summing to 1, is the chance
    of each answer for each group where the new decision is drawn from an answer and not from the group itself: the
    result is then its product with chances (k, 2) by answer. Always feasible: a fair coin is.
    """
    from scipy.optimize import linprog

    groups = len(counts)
    mixed = np.eye(groups) if response is None else response
    # of the variables (k, 2): group a's new decisions are mixed[a] @ x
    gain = np.einsum("y,ayd,az->zd", 1.0 - 2.0 * _LABELS, counts, mixed)
    rows, right = [], []
    spare = len(notion.populations)  # beside x: the lowest mean of each population's groups
    for index, labels in enumerate(notion.populations):
        for group in range(groups):
            slope, constant = _mean(counts[group], labels, notion.target == "loss")
            of_x = np.einsum("z,d->zd", mixed[group], slope).ravel()
            lowest = np.eye(spare)[index]
            rows += [np.concatenate([-of_x, lowest]), np.concatenate([of_x, -lowest])]
            right += [constant, difference_bound - constant]
    solution = linprog(
        np.concatenate([gain.ravel() / max(counts.sum(), 1.0), np.zeros(spare)]),
        A_ub=np.array(rows),
        b_ub=np.array(right),
        bounds=[(0.0, 1.0)] * (2 * groups + spare),
        method="highs-ds",
    )
    if not solution.success:
        raise RunFailed(f"the linear programme for {notion.title.lower()} has no solution: {solution.message}")
    probabilities: np.ndarray = np.clip(mixed @ solution.x[: 2 * groups].reshape(groups, 2), 0.0, 1.0)
    return probabilities


def _mean(counts: np.ndarray, labels: tuple[int, ...], errors: bool) -> tuple[np.ndarray, float]:
    """Return (slope (2,), constant): the mean of u among a group's rows with `labels` is slope @ chances + constant."""
    inside = counts[list(labels)]
    total = inside.sum()
    if not errors:
        return inside.sum(axis=0) / total, 0.0
    signs = 1.0 - 2.0 * _LABELS[list(labels)]
    wrong_without = float(inside[[label == 1 for label in labels]].sum())
    return signs @ inside / total, wrong_without / total
