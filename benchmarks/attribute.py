"""What one release of the sensitive attribute reaches: python -m benchmarks.attribute prints one_release.md's table.

    python -m benchmarks.attribute --only bank:age         one of them; --seeds 9611 9612 others than the five
    python -m benchmarks.attribute --encoding plain        each number one feature, without our bins

The rule, written before it was run. For each data set, seed, ε and notion, and each bound on the gap:

1. The split by row numbers gives training and test rows. A quarter of the training rows, drawn from the seed, is the
   validation part. No test row is looked at before settings are chosen.
2. Candidates are the learners `linear` and `boosted` with `gap_target` of the bound times 1, 0.75 and 0.5, all else as
   shipped. Each is trained on the other training rows and measured on the validation part. One release for each
   learner and ε serves every notion and every target, as `--reuse` does.
3. Of the candidates whose gap there is at most the bound, the one with the highest accuracy is chosen; where none is,
   the one with the smallest gap.
4. It is trained once on all training rows, with fresh noise, and measured on the test rows.

A run ends where a cell has too few noisy rows, which its release has paid for; the table counts such seeds.

Beside it stand, on the same test rows: the constant answer, the score itself (the better of the two learners on the
validation part), and how far the result lies above the line between these two (the mixing line).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.group_thresholds import GroupThresholds, set_thresholds
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.shared.corrected_score import move_decisions
from fairpriv_core.methods.shared.group_estimate import read_groups
from fairpriv_core.methods.shared.public_score import PublicScore, fit_score
from fairpriv_core.methods.shared.score_histogram import count_groups
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.seeds import public_generator
from fairpriv_core.stats import mean_interval

DELTA = 1e-5
SEEDS = (9601, 9602, 9603, 9604, 9605)
LEARNERS, SHARES = ("linear", "boosted"), (1.0, 0.75, 0.5)
PARITY, ODDS = "demographic_parity", "equalized_odds"
AIMS = ((PARITY, 0.05, False), (PARITY, 0.02, False), (ODDS, 0.05, False))
MANY = ((PARITY, 0.05, False), (ODDS, 0.05, False), (PARITY, 0.05, True), (ODDS, 0.05, True))  # of more than two groups
#: (data set, sensitive attribute) -> ε -> what is asked: notion and bound, whether the group is seen
ASKED: dict[tuple[str, str], dict[float, tuple[tuple[str, float, bool], ...]]] = {
    ("adult", "sex"): {
        1.0: (*AIMS, (PARITY, 0.02, True), (ODDS, 0.05, True)),
        0.1: (*AIMS, (PARITY, 0.02, True)),
    },
    ("bank", "age"): {1.0: (*AIMS, (PARITY, 0.02, True))},
    ("compas", "race"): {1.0: MANY},
    ("adult", "race"): {1.0: MANY, 0.1: MANY},
    ("adult", "sex+race"): {1.0: MANY, 0.1: MANY},
    ("acs_income", "race"): {1.0: MANY, 0.1: MANY},
}
Asked = tuple[str, float, bool]
Key = tuple[str, str, float, Asked]


@dataclass(frozen=True)
class Found:
    """One result on test rows; `chosen` is the learner and the share of the bound, `above` the mixing line's."""

    accuracy: float
    gap: float
    constant: float
    score: float
    above: float
    chosen: tuple[str, float]


class Trained:
    """Scores of one training set, fitted once each, and releases on them: a draw of noise serves all that is asked."""

    def __init__(self, train: Dataset, seed: int) -> None:
        self.train, self._seed = train, seed
        self.scores = {learner: fit_score(learner, train, seed=seed) for learner in LEARNERS}
        self._told: dict[tuple[object, ...], Any] = {}

    def fit(self, learner: str, asked: Asked, *, target: float, epsilon: float) -> Fitted:
        """Return the model for what is asked, on the one release of that learner and ε."""
        notion, _, aware = asked
        kind: Any = GroupThresholds if aware else OneRelease
        method = kind(learner=learner, gap_target=target)
        method = method.calibrated(epsilon=epsilon, delta=DELTA, n_train=self.train.n)
        training = Training(notions()[notion], self._seed, Mechanism(Randomness.fresh()), Unwatched())
        name, score = (learner, aware, epsilon), self.scores[learner]
        if name not in self._told:
            read = count_groups if aware else read_groups
            self._told[name] = read(method, self.train, training, score.held_out)
        if aware:
            return set_thresholds(method, self.train, training, score, estimate=self._told[name])
        return move_decisions(method, self.train, training, score, reading=self._told[name])


def measure(fitted: Fitted, rows: Dataset, notion: str) -> tuple[float, float]:
    """Return accuracy and gap on some rows."""
    found = evaluate(fitted.network, fitted.parameters, rows)
    return found["accuracy"], found[notions()[notion].metric]


def score_alone(score: PublicScore, rows: Dataset, notion: str) -> tuple[float, float]:
    """Return accuracy and gap of the score's own decisions."""
    return measure(Fitted(score.network, score.parameters, (), 0), rows, notion)


def run_seed(data: Dataset, name: str, seed: int) -> Iterator[tuple[Key, Found | None]]:
    """Yield what one seed gives for all that is asked of a data set; None of a run that ended for want of rows."""
    train, test = split_dataset(data, seed=seed)
    shuffled = public_generator(seed, "validation part").permutation(train.n)
    fitting, validation = train.take(np.sort(shuffled[train.n // 4 :])), train.take(np.sort(shuffled[: train.n // 4]))
    part, whole = Trained(fitting, seed), Trained(train, seed)
    best = max(LEARNERS, key=lambda learner: score_alone(part.scores[learner], validation, PARITY)[0])
    for epsilon, each in ASKED[name, data.sensitive].items():
        for asked in each:
            notion, bound, _ = asked
            try:
                learner, share = choose(part, validation, asked, epsilon)
                fitted = whole.fit(learner, asked, target=share * bound, epsilon=epsilon)
            except RunFailed:
                yield (name, data.sensitive, epsilon, asked), None
                continue
            accuracy, gap = measure(fitted, test, notion)
            plain, apart = score_alone(whole.scores[best], test, notion)
            constant = float(max(test.y.mean(), 1.0 - test.y.mean()))
            line = constant + (plain - constant) * min(gap / apart, 1.0)
            yield (
                (name, data.sensitive, epsilon, asked),
                Found(accuracy, gap, constant, plain, accuracy - line, (learner, share)),
            )


def choose(part: Trained, validation: Dataset, asked: Asked, epsilon: float) -> tuple[str, float]:
    """Return the candidate that the rule takes."""
    notion, bound, _ = asked
    ranked = []
    for learner in LEARNERS:
        for share in SHARES:
            fitted = part.fit(learner, asked, target=share * bound, epsilon=epsilon)
            accuracy, gap = measure(fitted, validation, notion)
            ranked.append(((gap <= bound, accuracy if gap <= bound else -gap), (learner, share)))
    return max(ranked)[1]


def say(values: Sequence[float], scale: float = 1.0, digits: int = 4) -> str:
    """Return a mean and half of its 95 % interval."""
    found = mean_interval([scale * value for value in values])
    return f"{found.mean:.{digits}f} ± {found.half or 0.0:.{digits}f}"


def main() -> None:
    """Print a line for each result as it comes, and at last the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(":".join(asked) for asked in ASKED))
    parser.add_argument("--encoding", choices=("binned", "plain"), default="binned")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    wanted = parser.parse_args()
    table: dict[Key, list[Found | None]] = defaultdict(list)
    for (name, sensitive), seed in product(ASKED, wanted.seeds):
        if wanted.only not in (None, f"{name}:{sensitive}"):
            continue
        spec = DataSpec(dataset=name, sensitive=sensitive, encoding=wanted.encoding)
        start, data = time.process_time(), load_dataset(spec)
        for key, found in run_seed(data, name, seed):
            table[key].append(found)
            print(seed, key, found, file=sys.stderr, flush=True)
        print(f"{name} {seed}: {time.process_time() - start:.0f} s of CPU", file=sys.stderr, flush=True)
    print_table(table)


def print_table(table: Mapping[Key, Sequence[Found | None]]) -> None:
    """Print means and intervals over the seeds."""
    print(
        "| data | group seen | notion, bound | ε | accuracy | gap | above the mixing line, points | score | constant |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (name, sensitive, epsilon, (notion, bound, aware)), all_found in table.items():
        each = [found for found in all_found if found is not None]
        ended = f" ({len(all_found) - len(each)} of {len(all_found)} ended)" if len(each) < len(all_found) else ""
        cells = [f"{name}, {sensitive}{ended}", "yes" if aware else "no"]
        cells += [f"{notions()[notion].title.lower()} ≤ {bound:g}", f"{epsilon:g}"]
        cells += [say([found.accuracy for found in each]), say([found.gap for found in each])]
        cells += [say([found.above for found in each], 100, 2)]
        cells += [f"{np.mean([getattr(found, field) for found in each]):.4f}" for field in ("score", "constant")]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
