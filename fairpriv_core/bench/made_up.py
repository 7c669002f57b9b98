"""The made-up family: three generators with known truth, of which every seed draws a table anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairpriv_core.text import write_lines

KINDS = ("dense", "sparse", "skewed")
ROWS = 10_000
_TEMPER = 0.5  # of the logistic noise between score and label


def draw_table(kind: str, seed: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return group (n,), features (n, d), label (n,) and the chance of label 1 (n,), which is the truth.

    One of two groups, which half of the label follows, has two rows in five. Features are dense numbers, sparse flags
    beside two numbers, or skewed amounts, on whose logarithms the label depends.
    """
    draw = np.random.default_rng(seed)
    group = draw.random(rows) < 0.4
    if kind == "dense":
        X = draw.normal(size=(rows, 8))
        score = X @ draw.normal(size=8) / 2 + 0.6 * group
    elif kind == "sparse":
        X = np.hstack([draw.normal(size=(rows, 2)), draw.random((rows, 14)) < 0.15])
        score = 1.6 * X[:, 0] - 1.2 * X[:, 1] + 0.5 * group
    else:
        X = draw.lognormal(size=(rows, 5))
        score = 0.5 * np.log(X[:, 0]) + np.log(X[:, 1]) + 0.5 * group
    above = score - np.median(score)
    return group, X, above + _TEMPER * draw.logistic(size=rows) > 0, 1 / (1 + np.exp(-above / _TEMPER))


def find_best(kind: str, seed: int) -> float:
    """Return the accuracy of the best rule on a table: it knows the truth, group included, and nothing of fairness."""
    chance = draw_table(kind, seed)[3]
    return float(np.maximum(chance, 1 - chance).mean())


def write_table(kind: str, seed: int, path: Path, rows: int = ROWS) -> None:
    """Write a table as CSV."""
    group, X, y, _ = draw_table(kind, seed, rows)
    head = ["sex", *(f"c{column}" for column in range(X.shape[1])), "paid"]
    lines = (
        ["m" if who else "f", *(f"{value:.4f}" for value in row), "yes" if good else "no"]
        for who, row, good in zip(group, X, y, strict=True)
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        write_lines(file, head, lines)
