"""Entries of others: decisions in a file, with the epsilon that is claimed for them. They are scored as ours are.

Nobody here has run what made them, so that their lines are "claimed". A file has the columns of HEAD and no other: for
each task and seed every test row once, by its number in the task's table, with the decision on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fairpriv_core.bench.lines import OUTSIDE, Line, build_lines, score
from fairpriv_core.bench.runner import Bench
from fairpriv_core.bench.suite import Suite, Task, seal_rows, split_task
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import ThreatModel
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.plugins import NAME
from fairpriv_core.text import shorten

HEAD = ("task", "seed", "row", "decision", "epsilon")
_MOST_BYTES = 50_000_000  # all tasks, seeds and budgets of the suite have about 15 million
_MOST_NUMBER = 2**31


@dataclass(frozen=True)
class OutsideEntry:
    """What outsiders say of their entry: its name, what it protects, whether decisions use the group, and its trials.

    More than one trial must be `paid`: the claimed epsilon covers all of them, or none read a private row.
    """

    name: str
    threat_model: ThreatModel
    by_group: bool = False
    trials: int = 1
    paid: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name in methods():
            raise BadInput(
                f"name must be 2 to 40 small letters, digits and underscores, and no method's of the catalogue, got "
                f"'{self.name}'.",
                field="name",
            )
        check_trials(self.trials, paid=self.paid)


def check_trials(trials: int, *, paid: bool) -> None:
    """Raise BadInput where settings were found by trials that nobody paid for."""
    if trials > 1 and not paid:
        raise BadInput(
            f"{trials} trials must be paid: say --paid where epsilon covers them all, or where none read a private "
            "row.",
            field="trials",
        )


def score_file(path: Path, claim: OutsideEntry, suite: Suite) -> pd.DataFrame:
    """Return the lines of a file of decisions; BadInput for whatever is wrong with it, in one sentence.

    Everything is checked before plain training, which each split needs for its mixing line.
    """
    table = _read(path, suite)
    parts = [
        (suite.find_task(str(task)), int(str(seed)), own)
        for (task, seed), own in table.groupby(["task", "seed"], sort=False)
    ]
    common = {"method": claim.name, "author": OUTSIDE, "kind": "claimed", "trials": claim.trials}
    common |= {"threat_model": claim.threat_model, "by_group": claim.by_group, "audit_date": "", "failed": ""}
    with TemporaryDirectory() as folder:
        counts = [_count(own, suite, task, seed, Path(folder)) for task, seed, own in parts]
        lines = [
            {**common, **line}
            for (task, seed, _), budgets in zip(parts, counts, strict=True)
            for line in _score(Bench(suite, {}, Path(folder)), task, seed, budgets)
        ]
    return build_lines(lines)


def _score(bench: Bench, task: Task, seed: int, budgets: Sequence[tuple[Line, np.ndarray]]) -> Iterator[Line]:
    """Yield a line for each budget and notion."""
    common = {"suite": bench.suite.version, "task": task.name, "seed": seed, "best": bench.find_best_rule(task, seed)}
    for (own, counts), notion in product(budgets, bench.suite.notions):
        scored = score(counts, bench.find_plain(task, seed), notion, bench.suite)
        yield {**common, **own, "notion": notion, **scored}


def _read(path: Path, suite: Suite) -> pd.DataFrame:
    """Return task, seed, row, decision and epsilon of each row; BadInput names the first value that is wrong."""
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise BadInput(
                f"{path.name} has {size:,} bytes, and may have {_MOST_BYTES:,}: send tasks in files of their own.",
                field="file",
            )
        table = pd.read_csv(path, dtype=str, keep_default_na=False, compression=None)
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read ({error.strerror}).", field="file") from error
    except ValueError as error:
        raise BadInput(f"{path.name} cannot be read as a CSV file of decisions.", field="file") from error
    if {*table.columns} != {*HEAD} or not isinstance(table.index, pd.RangeIndex):
        wrong = ", ".join(sorted({*table.columns} ^ {*HEAD})) or "rows with more cells than the head"
        raise BadInput(
            f"{path.name} must have the columns {', '.join(HEAD)} and no other; see to {shorten(wrong, 100)}.",
            field="file",
        )
    if table.empty:
        raise BadInput(f"{path.name} has no decisions.", field="file")
    budgets = " or ".join(f"{epsilon:g}" for epsilon in suite.epsilons)
    numbers = {name: pd.to_numeric(table[name], errors="coerce") for name in HEAD[1:]}
    for name in ("seed", "row"):
        is_whole = numbers[name].between(0, _MOST_NUMBER) & (numbers[name] % 1 == 0)
        _check(table[name], is_whole, "a whole number of at least 0")
    _check(table.decision, numbers["decision"].isin((0, 1)), "0 or 1")
    _check(table.epsilon, numbers["epsilon"].isin(suite.epsilons), budgets)
    return pd.DataFrame({"task": table.task, **numbers}).astype({"seed": int, "row": int, "decision": int})


def _check(column: pd.Series, right: pd.Series, rule: str) -> None:
    if not right.all():
        at = int(right.to_numpy().argmin())
        got = shorten(column.iloc[at], 40)
        raise BadInput(f"{column.name} must be {rule} in every row, got '{got}' in line {at + 2}.", field="file")


def _count(decisions: pd.DataFrame, suite: Suite, task: Task, seed: int, folder: Path) -> list[tuple[Line, np.ndarray]]:
    """Return for each budget what a line says of it, with the counts over group, label and decision."""
    train, test = split_task(suite, task, seed, folder)
    split = seal_rows(test)
    suite.check_split(task, seed, split)
    own = {"split": split, "n_train": train.n}
    return [
        (
            {**own, "epsilon_asked": epsilon, "epsilon_claimed": epsilon},
            count_cells(_order(rows, test, task, seed), test.y, test.group, test.groups, test.labels),
        )
        for epsilon, rows in decisions.groupby("epsilon")
    ]


def _order(rows: pd.DataFrame, test: Dataset, task: Task, seed: int) -> np.ndarray:
    """Return the decisions (n,) in the order of the test rows; BadInput where they are on other rows."""
    assert test.row is not None
    twice, foreign = rows.row[rows.row.duplicated()], rows.row[~rows.row.isin(test.row)]
    wrong = f"of which {test.n - len(rows):,} of {test.n:,} are missing" if len(rows) < test.n else ""
    wrong = f"of which row {twice.iloc[0]} is there twice" if len(twice) else wrong
    wrong = f"as row {foreign.iloc[0]} is none" if len(foreign) else wrong
    if wrong:
        again = f"fairpriv bench split {task.name} --seed {seed} writes which they are."
        raise BadInput(
            f"decisions on {task.name}, seed {seed}, are not on its test rows, {wrong}: {again}", field="row"
        )
    ordered: np.ndarray = rows.set_index("row").decision.loc[test.row].to_numpy(dtype=np.int64)
    return ordered


def list_rows(suite: Suite, task: Task, seed: int) -> tuple[list[str], Iterator[list[object]]]:
    """Return the head and the rows of a task's table as an entry may use it: number, part, label, group, features."""
    with TemporaryDirectory() as folder:
        parts = dict(zip(("train", "test"), split_task(suite, task, seed, Path(folder)), strict=True))
    head = ["row", "part", "label", "group", *parts["train"].feature_names]
    return head, (line for part, data in parts.items() for line in _list_part(part, data))


def _list_part(part: str, data: Dataset) -> Iterator[list[object]]:
    assert data.row is not None
    for row, label, group, features in zip(data.row, data.y, data.group, data.X, strict=True):
        yield [int(row), part, int(label), data.group_names[group], *(f"{value:.6g}" for value in features)]
