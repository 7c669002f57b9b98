"""Entries of others: decisions in a file, with the epsilon that is claimed for them. They are scored as ours are.

Nobody here has run what made them, so that their lines are "claimed". A file has the columns of HEAD and no other: for
each task and seed every test row once, by its number in the task's table, with the decision on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fairpriv_core.bench.lines import Line, build_lines, score
from fairpriv_core.bench.runner import Bench
from fairpriv_core.bench.suite import Suite, Task, seal_rows, split_task
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import ThreatModel
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.plugins import NAME

HEAD = ("task", "seed", "row", "decision", "epsilon")
OUTSIDE = "outside"


@dataclass(frozen=True)
class Claim:
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


def score_file(path: Path, claim: Claim, suite: Suite) -> pd.DataFrame:
    """Return the lines of a file of decisions; BadInput for whatever is wrong with it, in one sentence."""
    found = _read(path, suite)
    lines: list[Line] = []
    with TemporaryDirectory() as folder:
        for _, rows in found.groupby(["task", "seed", "epsilon"], sort=False, dropna=False):
            first = rows.iloc[0]
            known = {**_describe(claim), "epsilon_asked": float(first.epsilon)}
            bench = Bench(suite, {}, Path(folder))
            lines += _score(bench, suite.find_task(str(first.task)), int(first.seed), rows, known)
    return build_lines(lines)


def _read(path: Path, suite: Suite) -> pd.DataFrame:
    try:
        found = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path.name} cannot be read as a CSV file of decisions.", field="file") from error
    if {*found.columns} != {*HEAD}:
        wrong = ", ".join(sorted({*map(str, found.columns)} ^ {*HEAD}))
        raise BadInput(
            f"{path.name} must have the columns {', '.join(HEAD)} and no other; see to {wrong}.", field="file"
        )
    if found.empty:
        raise BadInput(f"{path.name} has no decisions.", field="file")
    if not found.epsilon.isin(suite.epsilons).all():
        budgets = ", ".join(f"{epsilon:g}" for epsilon in suite.epsilons)
        raise BadInput(f"every row must claim an epsilon, one of {budgets}.", field="epsilon")
    if not found.decision.isin((0, 1)).all():
        raise BadInput("decision must be 0 or 1 in every row.", field="decision")
    whole = pd.api.types.is_integer_dtype(found.seed) and pd.api.types.is_integer_dtype(found.row)
    if not whole or found.seed.min() < 0:
        raise BadInput("seed and row must be whole numbers of at least 0 in every row.", field="row")
    return found


def _describe(claim: Claim) -> Line:
    named = {"method": claim.name, "author": OUTSIDE, "kind": "claimed", "trials": claim.trials}
    return {**named, "threat_model": claim.threat_model, "by_group": claim.by_group, "audit_date": "", "failed": ""}


def _score(bench: Bench, task: Task, seed: int, rows: pd.DataFrame, known: Line) -> Iterator[Line]:
    """Yield a line for each notion."""
    train, test = split_task(bench.suite, task, seed, bench.folder)
    counts = count_cells(_order(rows, test, task, seed), test.y, test.group, test.groups, test.labels)
    own = {"suite": bench.suite.version, "task": task.name, "seed": seed, "split": seal_rows(test), "n_train": train.n}
    own |= {"epsilon_claimed": known["epsilon_asked"], "best": bench.find_best_rule(task, seed)}
    for notion in bench.suite.notions:
        yield {**known, **own, "notion": notion, **score(counts, bench.find_plain(task, seed), notion, bench.suite)}


def _order(rows: pd.DataFrame, test: Dataset, task: Task, seed: int) -> np.ndarray:
    """Return the decisions (n,) in the order of the test rows; BadInput where they are on other rows."""
    assert test.row is not None
    if sorted(rows.row) != sorted(test.row.tolist()):
        raise BadInput(
            f"the rows of {task.name}, seed {seed}, are not its test rows: fairpriv bench split {task.name} --seed "
            f"{seed} writes them.",
            field="row",
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
