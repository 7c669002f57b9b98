"""The leaderboard in every form: its tables as texts, and one HTML file that asks no server for anything."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from fairpriv_core.bench.board import Board, Cell, Standing, build_boards
from fairpriv_core.bench.costs import fold_costs, format_paper_costs, measure_costs
from fairpriv_core.bench.lines import OURS
from fairpriv_core.bench.suite import Task, read_suite
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.aim import VERDICTS
from fairpriv_core.figures.bench import draw_bench_costs
from fairpriv_core.figures.export import to_image
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.page import write_document, write_figure, write_table
from fairpriv_core.notions.catalog import notions
from fairpriv_core.stats import number, spread
from fairpriv_core.text import short_epsilon_text

_INTRODUCTION = (
    "Private and fair methods on the same public tasks, splits and budgets. An entry counts on a task where its gap is "
    "not surely above the bound. Results on a person's own data are refused."
)


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
    seconds = "–" if standing.claimed else f"{standing.seconds:.1f}"
    within = sum(standing.cells[task.name].reached for task in tasks if task.name in standing.cells)
    texts = (standing.title, rank, f"{within} of {len(tasks)}", standing.stated)
    trials = "as shipped" if standing.author == OURS and standing.trials == 1 else str(standing.trials)
    return *texts, trials, standing.audit, seconds


def show_task(board: Board, task: Task) -> Shown:
    """Return a board on one task: entries within the gap first, the most accurate first, then those without privacy."""
    columns = ("Accuracy, %", "Balanced, %", "Gap, points", "Within the gap", "Above the mixing line, points")
    head = ("Entry", *columns, "Surely behind")
    cells = [(standing, standing.cells[task.name]) for standing in board.standings if task.name in standing.cells]
    cells.sort(key=lambda pair: (not pair[1].reached, -(pair[1].accuracy.mean or 0.0)))
    rows = [_show_cell(entry.title, cell) for entry, cell in cells]
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
    verdict = VERDICTS.get(cell.verdict, "unknown")
    failed = f", {cell.failed} of {cell.seeds} without a model" if cell.failed else ""
    height = "no line" if cell.height.mean is None else spread(cell.height)
    behind = "no" if cell.leads else "yes" if cell.reached else "not ranked"
    return title, spread(cell.accuracy), spread(cell.balanced), spread(cell.gap), f"{verdict}{failed}", height, behind


def write_bench_page(lines: pd.DataFrame) -> str:
    """Return the leaderboard as one HTML file. Its pictures need a browser to be drawn; without one numbers stand."""
    suite = read_suite()
    parts = [f"<h1>Leaderboard</h1>\n<p>{html.escape(_INTRODUCTION)} Suite {suite.version}.</p>"]
    for notion, epsilon in product(suite.notions, suite.epsilons):
        boards = build_boards(lines, notion, epsilon)
        if boards:
            title = f"{notions()[notion].title}, ε = {short_epsilon_text(epsilon)}"
            parts += [f"<h2>{html.escape(title)}</h2>", *(_write_board(board) for board in boards)]
    parts += _write_costs(lines)
    items = "".join(f"<li>{html.escape(cost)}</li>" for cost in format_paper_costs(lines))
    parts.append(f"<h2>The four papers' methods</h2>\n<ul>{items}</ul>")
    return write_document("Leaderboard", "\n".join(parts), theme="light", style=".wide { overflow-x: auto; }\n")


def _write_board(board: Board) -> str:
    tasks = "\n".join(
        f"<h4>{html.escape(task.title)}</h4>{_write_shown(show_task(board, task), task.title)}" for task in board.tasks
    )
    over = _write_shown(show_board(board), board.title)
    first = f"<p><strong>{html.escape(board.format_first())}</strong></p>"
    more = f"<details><summary>By task</summary>{tasks}</details>"
    return f"<h3>{html.escape(board.title)}</h3>\n{first}\n{over}\n{more}"


def _write_shown(table: Shown, name: str) -> str:
    return write_table(table.head, table.rows, name=name)


def _write_costs(lines: pd.DataFrame) -> Iterator[str]:
    yield "<h2>What privacy costs within one bound on the gap</h2>"
    for notion in read_suite().notions:
        costs = fold_costs(measure_costs(lines, notion))
        if costs:
            yield _draw(draw_bench_costs(costs, notions()[notion].title))
            yield "<ul>" + "".join(f"<li>{html.escape(f'{cost.threat_model}: {cost.format()}')}</li>" for cost in costs)
            yield "</ul>"


def _draw(figure: FigureData) -> str:
    try:
        picture = b64encode(to_image(figure, "svg")).decode()
    except BadInput:
        return write_figure(figure, "")
    return write_figure(figure, f'<img alt="" style="max-width: 100%" src="data:image/svg+xml;base64,{picture}">')


def list_curves(lines: pd.DataFrame, board: Board) -> Sequence[Board]:
    """Return a board's question at every budget that has entries."""
    boards = [
        candidate for epsilon in read_suite().epsilons for candidate in build_boards(lines, board.notion, epsilon)
    ]
    return [candidate for candidate in boards if candidate.name == board.name]
