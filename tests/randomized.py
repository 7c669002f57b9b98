"""Made-up people whose sex decides more than it should, as a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HEADER = "town,hours,sex,paid"


def draw_people(n: int, seed: int = 0) -> list[str]:
    """Return the lines of n people, those of one sex after those of the other: an order that tells of them."""
    draw = np.random.default_rng(seed)
    male = np.sort(draw.random(n) < 0.5)
    hours = (30 + 10 * draw.random(n) + 6 * male).round(1)
    paid = draw.random(n) < 1 / (1 + np.exp(-(hours - 38) / 2))
    towns = draw.choice(["a", "b", "c"], n)
    rows = zip(towns, hours, np.where(male, "male", "female"), np.where(paid, "yes", "no"), strict=True)
    return [f"{town},{hour},{sex},{good}" for town, hour, sex, good in rows]


def write_people(path: Path, n: int, seed: int = 0) -> Path:
    """Write n people to `path` and return it."""
    path.write_text("\n".join([HEADER, *draw_people(n, seed)]) + "\n")
    return path
