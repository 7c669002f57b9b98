"""The leaderboard's tables as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fairpriv_core.bench.board import Board, Cell, Standing, build_boards
from fairpriv_core.bench.lines import OURS
from fairpriv_core.bench.suite import Task, read_suite
from fairpriv_core.facts.aim import VERDICTS
from fairpriv_core.stats import number, spread


@dataclass(frozen=True)
class Shown:
    """A table of texts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def format(self) -> str:
        """Return the table as Markdown."""
        lines = (self.head, ("---",) * len(self.head), *self.rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show_board(board: Board) -> Shown:
    """Return a board over tasks: the best mean rank first."""
    head = ("Entry", "Mean rank", "Tasks within the gap", "ε", "Trials", "Audit showed", "Seconds a fit")
    return Shown(head, tuple(_show_standing(standing, board.tasks) for standing in board.standings))


def _show_standing(standing: Standing, tasks: Sequence[Task]) -> tuple[str, ...]:
    rank = "tasks or seeds lack" if standing.rank is None else f"{standing.rank:.1f}"
    spent = "–" if standing.claimed else f"{standing.seconds:.1f}"
    within = sum(standing.cells[task.name].reached for task in tasks if task.name in standing.cells)
    texts = (standing.title, rank, f"{within} of {len(tasks)}", standing.stated)
    trials = "as shipped" if standing.author == OURS and standing.trials == 1 else str(standing.trials)
    return *texts, trials, standing.audit, spent


def show_task(board: Board, task: Task) -> Shown:
    """Return a board on one task: entries within the gap first, the most accurate first, then those without privacy."""
    measured = ("Accuracy, %", "Balanced, %", "Gap, points", "Within the gap", "Above the mixing line, points")
    head = ("Entry", *measured, "Surely behind")
    cells = [(standing, standing.cells[task.name]) for standing in board.standings if task.name in standing.cells]
    cells.sort(key=lambda pair: (not pair[1].reached, -(pair[1].accuracy.mean or 0.0)))
    rows = [_show_cell(each.title, cell) for each, cell in cells]
    rows += [
        (*_show_cell(f"{reference.title} (not private)", reference.cells[task.name])[:-1], "")
        for reference in board.references
        if task.name in reference.cells
    ]
    constant = board.constants.get(task.name)
    if constant is not None:
        rows.append(("One answer for all", number(constant), "50.0", "0.0", "", "", ""))
    return Shown(head, tuple(rows))


def _show_cell(title: str, cell: Cell) -> tuple[str, ...]:
    if cell.failed == cell.seeds:
        return title, "no model", "–", "–", "–", "–", "–"
    reached = VERDICTS.get(cell.verdict, "unknown")
    failed = f", {cell.failed} of {cell.seeds} without a model" if cell.failed else ""
    height = "no line" if cell.height.mean is None else spread(cell.height)
    behind = "no" if cell.leads else "yes" if cell.reached else "not ranked"
    return title, spread(cell.accuracy), spread(cell.balanced), spread(cell.gap), f"{reached}{failed}", height, behind


def list_curves(lines: pd.DataFrame, board: Board) -> Sequence[Board]:
    """Return a board's question at every budget that has entries."""
    boards = [each for epsilon in read_suite().epsilons for each in build_boards(lines, board.notion, epsilon)]
    return [each for each in boards if each.name == board.name]
