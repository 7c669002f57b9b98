"""Write docs/results/local.csv and its page: OneRelease on everybody's own answer, and with nothing flipped.

    python -m examples.make_local

Protocol, written before the first fit: a linear score, the gap aimed at as shipped, numbers encoded plainly; fresh
seeds, each a split and a start of its own. Nothing is chosen. Losses are paired by seed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from examples.make_start_results import train_loop
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.measured import measure
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.records.config import build_config
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.record import RunRecord
from fairpriv_core.stats import mean_interval, spread

SEEDS = range(9701, 9706)
EPSILONS = (3.0, 1.0, 0.5, 0.2)
SHOWN = ("1", "0.2")  # of the epsilons, on the page
TABLES = (("adult", "sex"), ("dutch_census", "sex"), ("adult", "race"), ("adult", "sex+race"))
NOTIONS = ("demographic_parity", "equalized_odds")
_NOT_FLIPPED = 50.0  # the epsilon of an answer that is the truth but for a chance of e^-50
_HEAD = """# OneRelease without a curator, measured

Made by `python -m examples.make_local`: a linear score, a gap of 4 points asked for, seeds 9701 to 9705, exact
numbers of the test rows of public data in percent and points, means with 95 % intervals over seeds. "Lost" is the
accuracy of the same rule where nothing is flipped, less its own, paired by seed: gaps differ, so it is to be read
with them. Adult by race has three groups, by sex and race six. [local.csv](local.csv) has ε = 3 and 0.5 too.

"""
COLUMNS = (
    "data",
    "notion",
    "ε",
    "accuracy",
    "gap",
    "lost",
    "gap where nothing is flipped",
    "`one_release`: accuracy",
    "`one_release`: gap",
)
FOLDER = Path(__file__).parent.parent / "docs" / "results"


def train(name: str, epsilon: float, data: Mapping[str, Any], notion: str, cache: DatasetCache) -> list[RunRecord]:
    """Return a run for each seed; FairprivError where the method is refused."""
    known = {"data": data, "notion": notion, "method": {"name": name, "learner": "linear"}, "epsilon": epsilon}
    made = [build_config({**known, "delta": 1e-5, "private_evaluation": False, "seed": seed}) for seed in SEEDS]
    return train_loop(made, cache)


def measure_table() -> Iterator[Sequence[str]]:
    """Yield a line for each table, notion and epsilon; one whose method is refused ends in why."""
    cache = DatasetCache()
    for (dataset, sensitive), notion in product(TABLES, NOTIONS):
        asked: Any = {"dataset": dataset, "sensitive": sensitive, "encoding": "plain"}, notion, cache
        plain = train("one_release_local", _NOT_FLIPPED, *asked)
        for epsilon in EPSILONS:
            setting = (f"{dataset}, {sensitive}", notion.replace("_", " "), f"{epsilon:g}")
            try:
                own = train("one_release_local", epsilon, *asked)
            except FairprivError as error:
                yield (*setting, f"refused: {re.split('; | [(]', str(error))[0]}")
            else:
                yield (*setting, *_format(own, plain, train("one_release", epsilon, *asked)))


def render(lines: Iterable[Sequence[str]]) -> str:
    """Return the page: the lines with the epsilons that are shown."""
    shown = [line for line in lines if line[2] in SHOWN]
    table = [COLUMNS, ["---"] * len(COLUMNS), *shown]
    return _HEAD + "".join(f"| {' | '.join(line)} |{'|' * (len(COLUMNS) - len(line))}\n" for line in table)


def _format(own: list[RunRecord], plain: list[RunRecord], curated: list[RunRecord]) -> list[str]:
    measured = [[measure([read_facts(record)]) for record in records] for records in (own, plain, curated)]
    accuracies, gaps = (
        [[getattr(one, name).mean or 0.0 for one in each] for each in measured] for name in ("accuracy", "gap")
    )
    lost = [base - value for value, base in zip(*accuracies[:2], strict=True)]
    cells = (accuracies[0], gaps[0], lost, gaps[1], accuracies[2], gaps[2])
    return [spread(mean_interval(values)) for values in cells]


if __name__ == "__main__":
    measured = list(measure_table())
    with (FOLDER / "local.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *measured])
    (FOLDER / "local.md").write_text(render(measured), encoding="utf-8")
