"""How far released gaps are from the truth: python -m benchmarks.gap_errors prints a table of one_release.md.

For each data set, ε and notion, DRAWS releases of one training set (seed 9701), each with a model that aims at a gap of
0.04. The truth is the gap of the same decisions between the real groups of the same rows, held out as they are in
training; the error is what is released beside the gap. "Within 2" is the share of releases whose gap is no further from
the truth than two errors. Truth uses the sensitive attribute as it is: nothing of it leaves a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.corrected import read_correction
from fairpriv_core.engine.predict import count_parameters
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.corrected_score import fit_corrected
from fairpriv_core.methods.group_thresholds import GroupThresholds, set_thresholds
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.public_score import PublicScore, fit_score
from fairpriv_core.methods.score_histogram import count_groups
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.rates import count_cells, divide, rates_of, sum_rate
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

SEED, DELTA, DRAWS, TARGET = 9701, 1e-5, 10, 0.04
DATA = (("adult", "sex"), ("compas", "race"))
EPSILONS, ASKED = (1.0, 0.1), ("demographic_parity", "equalized_odds")

Numbers = tuple[float, float, float]


def main() -> None:
    """Print the table."""
    print("| data | ε | method | notion | released gap | true gap | error released | deviation | within 2 |")
    print("| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, sensitive in DATA:
        train, _ = split_dataset(load_dataset(DataSpec(dataset=name, sensitive=sensitive)), seed=SEED)
        score = fit_score("linear", train, seed=SEED)
        for line in list_lines(train, score):
            print(f"| {name}, {sensitive} | {line} |", flush=True)


def list_lines(train: Dataset, score: PublicScore) -> Iterator[str]:
    """Yield a line for each ε, method and notion; a draw whose groups are too small to go on is left out and said."""
    for epsilon, kind, notion in product(EPSILONS, (OneRelease, GroupThresholds), ASKED):
        method = kind(learner="linear", gap_target=TARGET)
        known = method.calibrated(epsilon=epsilon, delta=DELTA, n_train=train.n)
        found = [one for _ in range(DRAWS) if (one := try_once(known, notion, train, score)) is not None]
        told = f"{epsilon:g} | `{kind.info.name}` | {notions()[notion].title.lower()}"
        if not found:
            yield f"{told} | no draw goes on | | | |"
            continue
        released, true, error = np.array(found).T
        within = np.mean(np.abs(true - released) <= 2.0 * error)
        deviation = np.sqrt(np.mean((true - released) ** 2))
        means = " | ".join(f"{value.mean():.3f}" for value in (released, true, error))
        yield f"{told} | {means} | {deviation:.3f} | {100 * within:.0f} % of {len(found)}"


def try_once(method: OneRelease | GroupThresholds, notion: str, train: Dataset, score: PublicScore) -> Numbers | None:
    """Return (released gap, true gap, error) of one release; None where it ends the run, or tells no gap."""
    training = Training(notions()[notion], SEED, Mechanism(Randomness.fresh()), Unwatched())
    try:
        if isinstance(method, GroupThresholds):
            told = count_groups(method, train, training, score.held_out)
            fitted = set_thresholds(method, train, training, score, estimate=told)
            decided = score.held_out > np.asarray(fitted.network["thresholds"])[train.group]
        else:
            fitted = fit_corrected(method, train, training, score)
            decided = decide_held_out(fitted, train, score)
    except RunFailed:
        return None
    metric = notions()[notion].metric
    counts = count_cells(decided.astype(np.int64), train.y, train.group, train.groups)
    true = max(float(np.ptp(divide(*sum_rate(rate, counts)))) for rate in rates_of(notions()[notion]))
    released, error = (fitted.notes[name][metric] for name in ("released_gaps", "released_gap_errors"))
    return None if released is None or error is None else (released, true, error)


def decide_held_out(fitted: Fitted, train: Dataset, score: PublicScore) -> np.ndarray:
    """Return the decisions of a corrected score on the training rows, on scores of models that have not seen them."""
    own = fitted.parameters[count_parameters(fitted.network["score"]) :]
    decided: np.ndarray = read_correction(fitted.network, own).apply(score.held_out, train.X) > 0.5
    return decided


if __name__ == "__main__":
    main()
