"""What one row of each person costs: python -m benchmarks.people FILE LABEL POSITIVE SENSITIVE PERSON.

Prints the table of docs/privacy.md. DP-SGD on a logistic regression by four rules, each with the noise that protects
all rows of a person: one row of each; at most m rows with m times the noise; the mean of a person's gradients, clipped.
Beside them all rows with the noise that protects one row. A quarter of the people is held out, and all rows of theirs
are tested. The learning rate of each rule is chosen on seeds 0 to 4, the numbers are of seeds 100 to 119.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.own_file import read_columns
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.files.table import to_codes
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import SampledGaussian

EPSILONS, DELTA, STEPS, RATE, CLIP = (0.3, 1.0, 3.0), 1e-5, 500, 0.1, 1.0
RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
CHOOSING, REPORTED = range(5), range(100, 120)
RULES = ("one row", "2 rows", "3 rows", "mean of all rows", "all rows, a row protected")


@dataclass(frozen=True)
class People:
    """Rows `X` (n, d) with a column of ones, `y` (n,) 0/1, and whose each is, `person` (n,) from 0 on."""

    X: np.ndarray
    y: np.ndarray
    person: np.ndarray

    def take(self, index: np.ndarray) -> People:
        """Return some rows, with people numbered anew."""
        return People(self.X[index], self.y[index], np.unique(self.person[index], return_inverse=True)[1])


def read_people(spec: DataSpec, person: str) -> People:
    """Return all rows of a file that have label and group."""
    found = load_dataset(spec)
    coded = to_codes(read_columns(Path(spec.file or ""), None, person=person).table[person])
    assert coded is not None
    whose = coded.codes if found.row is None else coded.codes[found.row]
    ones = np.ones((found.n, 1))
    return People(np.hstack([found.X, ones]), found.y, np.unique(whose, return_inverse=True)[1])


def find_noise(budget: float) -> float:
    """Return the noise multiplier that spends `budget` on STEPS sampled sums."""
    return calibrate(lambda noise: (SampledGaussian(noise, RATE, STEPS),), epsilon=budget, delta=DELTA)


def limit_rows(people: People, most: int, draw: np.random.Generator) -> People:
    """Return at most so many rows of each person, drawn at random."""
    order = draw.permutation(len(people.y))
    order = order[np.argsort(people.person[order], kind="stable")]
    sorted_people = people.person[order]
    place = np.arange(len(order)) - np.searchsorted(sorted_people, sorted_people)
    return people.take(np.sort(order[place < most]))


def train(people: People, *, noise: float, step: float, averaged: bool, draw: np.random.Generator) -> np.ndarray:
    """Return weights (d,) after STEPS steps; all rows of a person are in a step's sample, or none."""
    count = int(people.person.max()) + 1
    weights = np.zeros(people.X.shape[1])
    for _ in range(STEPS):
        held = (draw.random(count) < RATE)[people.person]
        X, y, person = people.X[held], people.y[held], people.person[held]
        gradients = X * (1 / (1 + np.exp(-X @ weights)) - y)[:, None]
        if averaged:
            _, place, rows = np.unique(person, return_inverse=True, return_counts=True)
            summed = np.zeros((len(rows), X.shape[1]))
            np.add.at(summed, place, gradients)
            gradients = summed / rows[:, None]
        gradients /= np.maximum(1, np.linalg.norm(gradients, axis=1) / CLIP)[:, None]
        total = gradients.sum(axis=0) + draw.normal(0, noise * CLIP, len(weights))
        units = count if averaged else len(people.y)
        weights -= step * total / (RATE * units)
    return weights


def fit(rule: str, people: People, *, noise: float, step: float, draw: np.random.Generator) -> np.ndarray:
    """Return what one of RULES learns."""
    if rule == "mean of all rows":
        return train(people, noise=noise, step=step, averaged=True, draw=draw)
    if rule.startswith("all rows"):
        each = People(people.X, people.y, np.arange(len(people.y)))
        return train(each, noise=noise, step=step, averaged=False, draw=draw)
    most = 1 if rule == "one row" else int(rule[0])
    return train(limit_rows(people, most, draw), noise=most * noise, step=step, averaged=False, draw=draw)


def measure(rule: str, people: People, *, noise: float, step: float, seed: int) -> float:
    """Return the accuracy on the rows of a quarter of the people, who are held out."""
    draw = np.random.default_rng(seed)
    tested = (draw.random(int(people.person.max()) + 1) < 0.25)[people.person]
    weights = fit(rule, people.take(np.flatnonzero(~tested)), noise=noise, step=step, draw=draw)
    return float(np.mean((people.X[tested] @ weights > 0) == people.y[tested]))


def main() -> None:
    """Print the table."""
    file, label, positive, sensitive, person = sys.argv[1:]
    people = read_people(DataSpec(file=file, label=label, positive=positive, sensitive=sensitive), person)
    rows = np.bincount(people.person)
    print(f"{len(people.y):,} rows of {len(rows):,} people, {rows.mean():.2f} each, at most {rows.max()}")
    print("| ε | " + " | ".join(RULES) + " |\n| --- |" + " --- |" * len(RULES))
    for budget in EPSILONS:
        noise, cells = find_noise(budget), []
        for rule in RULES:
            chosen = {
                step: np.mean([measure(rule, people, noise=noise, step=step, seed=seed) for seed in CHOOSING])
                for step in RATES
            }
            step = max(chosen, key=lambda each: chosen[each])
            found = [measure(rule, people, noise=noise, step=step, seed=seed) for seed in REPORTED]
            half = 2.093 * np.std(found, ddof=1) / np.sqrt(len(found))  # t at 97.5 %, 19 degrees of freedom
            cells.append(f"{100 * np.mean(found):.1f} ± {100 * half:.1f}")
        print(f"| {budget:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
