"""Rows with two labels, and what was measured of them before there could be more than two labels (`binary.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

#: rows, groups, names, what makes each case odd
CASES = {
    "three groups": {"n": 900, "k": 3},
    "an empty group": {"n": 60, "k": 2, "empty": 1},
    "one label": {"n": 40, "k": 2, "base": 0.0},
    "nobody positive": {"n": 300, "k": 2, "shift": -9.0},
    "coins": {"n": 500, "k": 4, "coins": True},
    "eight groups": {"n": 120, "k": 8},
}


def draw_case(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str], Any]:
    """Return labels, scores, groups, the groups' names and the threshold of a case."""
    case: dict[str, Any] = CASES[name]
    n, k = case["n"], case["k"]
    generator = np.random.default_rng(n)
    group = generator.integers(0, k, n)
    y = (generator.random(n) < case.get("base", 0.3) * (1 + 0.2 * group)).astype(np.int64)
    score = 0.35 * y + 0.05 * group + generator.normal(0.3, 0.2, n) + case.get("shift", 0.0)
    names = [f"g{index}" for index in range(k + case.get("empty", 0))]
    return y, np.clip(np.round(score, 3), 0, 1), group, names, generator.random(n) if "coins" in case else 0.5


def read_recorded() -> dict[str, dict[str, Any]]:
    """Return by case the recorded `raw` and `noisy` metrics."""
    found: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "binary.json").read_text(encoding="utf-8"))
    return found
