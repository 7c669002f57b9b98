"""Leaderboards: of entries that protect the same and may know the same, those whose gap reached the bound, by task and
over tasks. And what privacy costs within one bound on the gap.

*The rule.* On a task an entry reached the bound where the lower ends of its gap's 95 % intervals are at most the bound
in the mean over seeds: it is not surely above. Entries that reached it are ranked by mean accuracy, all others share
the last ranks. Over tasks mean ranks are compared with Nemenyi's critical difference (Demšar 2006): two entries differ
where their mean ranks are further apart, and not otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from fairpriv_core.bench.lines import OURS, judge_gap
from fairpriv_core.bench.suite import Suite, Task, read_suite
from fairpriv_core.facts.aim import Verdict
from fairpriv_core.facts.wording import protected
from fairpriv_core.methods.catalog import methods
from fairpriv_core.stats import Mean, mean_interval
from fairpriv_core.text import at_least_text, count_text, epsilon_text

LEVEL = 0.95
THREAT_MODELS = ("attribute", "record")


@dataclass(frozen=True)
class Cell:
    """What an entry came to on a task, over seeds; `leads` where no entry that reached the bound is surely better."""

    accuracy: Mean
    balanced: Mean
    gap: Mean
    height: Mean
    verdict: Verdict
    failed: int
    seeds: int
    leads: bool = False

    @property
    def reached(self) -> bool:
        """Whether the gap is not surely above the bound, and every seed gave a model."""
        return self.verdict in ("yes", "maybe") and not self.failed


@dataclass(frozen=True)
class Standing:
    """An entry on a board; `rank` is its mean rank over the board's tasks, None where it lacks one, or a seed of it."""

    name: str
    author: str
    claimed: bool
    trials: int
    cells: dict[str, Cell]
    epsilon: float | None
    epsilon_claimed: float | None
    audit: str
    seconds: float
    rank: float | None = None

    @property
    def title(self) -> str:
        """What tables call it: the method's title, with the package it is of; a name, where others claim it."""
        if self.claimed or self.name not in methods():
            return f"{self.name} ({'claimed' if self.claimed else self.author})"
        own = methods()[self.name].info.legend
        return own if self.author == OURS else f"{own} ({self.author})"

    @property
    def stated(self) -> str:
        """Its epsilon: what is proved, or what is claimed."""
        if self.epsilon is not None:
            parted = ", but for a public part" * methods()[self.name].info.public_part
            return f"{epsilon_text(self.epsilon)}, proved{parted}"
        return "none" if self.epsilon_claimed is None else f"{epsilon_text(self.epsilon_claimed)}, claimed"


@dataclass(frozen=True)
class Board:
    """Entries for one question, the best mean rank first; `critical` is None where ranks cannot be compared."""

    threat_model: str
    by_group: bool
    notion: str
    epsilon: float
    tasks: tuple[Task, ...]
    standings: tuple[Standing, ...]
    references: tuple[Standing, ...]
    constants: dict[str, float]
    critical: float | None

    @property
    def name(self) -> str:
        """Its name in an address."""
        return f"{self.threat_model}{'_by_group' if self.by_group else ''}"

    @property
    def title(self) -> str:
        """Whom it protects, and whether decisions may use the group."""
        return (
            f"Protects {protected(self.threat_model)}; decisions {'use' if self.by_group else 'do not use'} the group"
        )

    @property
    def ranked(self) -> tuple[Standing, ...]:
        """The entries that have every task with every seed."""
        return tuple(standing for standing in self.standings if standing.rank is not None)

    def differ(self, first: Standing, second: Standing) -> bool:
        """Return whether the mean ranks of two entries differ."""
        if self.critical is None or first.rank is None or second.rank is None:
            return False
        return abs(first.rank - second.rank) > self.critical

    def format_first(self) -> str:
        """Return who ranks first, and who does not surely rank behind: never one alone where ranks do not differ."""
        ranked = self.ranked
        if not ranked:
            return "No entry has all tasks of this board."
        first = [standing for standing in ranked if not self.differ(ranked[0], standing)]
        names = _join([standing.title for standing in first])
        tasks = count_text(len(self.tasks), "task")
        if self.critical is None:
            return f"{names} alone has all tasks of this board."
        distance = f"over {tasks} mean ranks differ where they are more than {self.critical:.1f} apart"
        if len(first) == len(ranked):
            return f"No entry is ahead: {distance}."
        verb = "ranks" if len(first) == 1 else "rank"
        return f"{names} {verb} first: {distance}."


def build_boards(
    lines: pd.DataFrame, notion: str, epsilon: float, *, suite: Suite | None = None, tasks: Sequence[str] = ()
) -> tuple[Board, ...]:
    """Return the boards of a notion and a budget that have entries.

    They are ranked over `tasks`, else over the standard ones, as far as anybody has run them.
    """
    full_suite = suite or read_suite()
    candidates = [task for task in full_suite.tasks if task.name in tasks or (not tasks and not task.more)]
    matching = lines[(lines.notion == notion) & lines.seed.isin(full_suite.seeds)]
    rows = matching.drop_duplicates(["task", "seed"])  # as the first file has them: others' lines move no reference
    constants = {str(task): float(constant) for task, constant in rows.groupby("task").constant.mean().items()}
    references = _stand(matching[(matching.threat_model == "") & (matching.kind == "run")], full_suite)
    own = matching[matching.epsilon_asked == epsilon]
    boards = []
    for threat_model, by_group in product(THREAT_MODELS, (False, True)):
        part = own[(own.threat_model == threat_model) & (own.by_group == by_group)]
        if part.empty:
            continue
        board_tasks = tuple(task for task in candidates if (part.task == task.name).any())
        ranked, critical = _rank(_mark_leads(_stand(part, full_suite)), board_tasks, len(full_suite.seeds))
        boards.append(
            Board(threat_model, by_group, notion, epsilon, board_tasks, ranked, tuple(references), constants, critical)
        )
    return tuple(boards)


def _stand(lines: pd.DataFrame, suite: Suite) -> list[Standing]:
    """Return what each entry came to on each task."""
    standings = []
    for (name, author), own in lines.groupby(["method", "author"], sort=False):
        first = own.iloc[0]
        bound = at_least_text(first.audit_bound) if not math.isnan(first.audit_bound) else ""
        standing = Standing(
            name=str(name),
            author=str(author),
            claimed=first.kind == "claimed",
            trials=int(own.trials.max()),
            cells={str(task): _fold(part, suite) for task, part in own.groupby("task", sort=False)},
            epsilon=_largest(own.epsilon),
            epsilon_claimed=_largest(own.epsilon_claimed),
            audit=f"{bound} of {epsilon_text(first.audit_epsilon)}, {first.audit_date}" if bound else "none stored",
            seconds=float(own.seconds.mean()),
        )
        standings.append(standing)
    return standings


def _fold(lines: pd.DataFrame, suite: Suite) -> Cell:
    models = lines[lines.failed == ""]
    low, high = models.gap_low.mean(), models.gap_high.mean()
    return Cell(
        accuracy=mean_interval(models.accuracy),
        balanced=mean_interval(models.balanced_accuracy),
        gap=mean_interval(models.gap),
        height=mean_interval(models.height),
        verdict="unknown" if math.isnan(low) else judge_gap(low, high, suite.gap),
        failed=len(lines) - len(models),
        seeds=len(lines),
    )


def _largest(values: pd.Series) -> float | None:
    numbers = values.dropna()
    return float(numbers.max()) if len(numbers) else None


def _mark_leads(standings: Sequence[Standing]) -> list[Standing]:
    """Return the entries with the tasks marked on which no other that reached the bound is surely better."""
    best: dict[str, Mean] = {}
    for standing in standings:
        for task, cell in standing.cells.items():
            if cell.reached and _mid(cell.accuracy) > _mid(best.get(task)):
                best[task] = cell.accuracy
    return [
        replace(entry, cells={task: _mark(cell, best.get(task)) for task, cell in entry.cells.items()})
        for entry in standings
    ]


def _mark(cell: Cell, best: Mean | None) -> Cell:
    if best is None or not cell.reached:
        return cell
    ends = (cell.accuracy.high, best.low)
    return replace(cell, leads=ends[0] is None or ends[1] is None or ends[0] >= ends[1])


def _rank(
    standings: Sequence[Standing], tasks: Sequence[Task], seeds: int
) -> tuple[tuple[Standing, ...], float | None]:
    """Return the entries by their mean ranks, those without one last, and Nemenyi's critical difference."""
    names = [task.name for task in tasks]
    complete = [standing for standing in standings if names and all(_has(standing, name, seeds) for name in names)]
    if not complete:
        return tuple(standings), None
    scores = [
        [_mid(entry.cells[name].accuracy) if entry.cells[name].reached else -1.0 for entry in complete]
        for name in names
    ]
    from scipy.stats import rankdata

    means = rankdata(-np.array(scores), axis=1).mean(axis=0)
    pairs = sorted(zip(means, complete, strict=True), key=lambda pair: float(pair[0]))
    ranked = [replace(entry, rank=float(mean)) for mean, entry in pairs]
    incomplete = [standing for standing in standings if standing not in complete]
    return (*ranked, *incomplete), find_critical(len(complete), len(names))


def _has(standing: Standing, task: str, seeds: int) -> bool:
    """Return whether an entry has a task with every seed: nobody chooses the seeds that suit them."""
    return task in standing.cells and standing.cells[task].seeds == seeds


def find_critical(entries: int, tasks: int) -> float | None:
    """Return how far apart mean ranks differ at 95 % (Nemenyi, by Demšar 2006); None of one entry.

    >>> round(find_critical(4, 14), 2), round(find_critical(5, 30), 2)
    (1.25, 1.11)
    """
    if entries < 2:
        return None
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(LEVEL, entries, np.inf) / math.sqrt(2.0)
    return float(quantile * math.sqrt(entries * (entries + 1) / (6.0 * tasks)))


def _mid(mean: Mean | None) -> float:
    return -math.inf if mean is None or mean.mean is None else mean.mean


def _join(names: Sequence[str]) -> str:
    """Return names in a row; some have commas of their own."""
    between = "; " if any("," in name for name in names) else ", "
    return names[0] if len(names) == 1 else f"{between.join(names[:-1])} and {names[-1]}"
