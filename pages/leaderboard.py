"""Leaderboard: private and fair methods on the same public tasks, by task and over tasks, and what privacy costs."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from fairpriv_core.bench.board import Board, build_boards
from fairpriv_core.bench.costs import Cost, fold_costs, format_paper_costs, measure_costs
from fairpriv_core.bench.lines import list_files, read_lines
from fairpriv_core.bench.suite import Task, read_suite
from fairpriv_core.documents.bench import Shown, list_curves, show_board, show_task
from fairpriv_core.figures.bench import draw_bench_costs, draw_task
from fairpriv_core.notions.catalog import notions
from fairpriv_core.store.mode import DATA, is_open
from fairpriv_core.text import short_epsilon_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import draw_buttons, draw_list, enter, publish

Files = tuple[tuple[str, float], ...]
_CHOICES = ("bench_notion", "bench_epsilon", "bench_board", "bench_task")


def show() -> None:
    """Draw the page."""
    enter("leaderboard")
    st.title("Leaderboard", anchor=False)
    st.markdown("Private and fair methods on the same public tasks, splits and budgets.")
    shipped, *own = list_files()
    readable = [shipped, *(file for file in own if attempt(partial(read_lines, [file])) is not None)]
    files = tuple((str(file), file.stat().st_mtime) for file in readable)
    lines = _read(files, is_open())
    titles = {name: plain(notions()[name].title) for name in read_suite().notions}
    notion = str(draw_buttons("bench_notion", "Fairness notion", titles))
    board = _choose_board(lines, notion)
    publish(_CHOICES)
    if board is not None:
        _show_board(board, lines)
    with st.expander("What privacy costs within one bound on the gap"):
        costs = _measure(files, is_open(), notion)
        if costs:
            show_figure(draw_bench_costs(costs, notions()[notion].title), "bench_costs")
        for cost in costs:
            st.markdown(plain(f"{cost.threat_model.capitalize()}: {cost.format()}"))
    with st.expander("The four papers' methods on equal terms"):
        for sentence in _list_sentences(files, is_open()):
            st.markdown(plain(sentence))
    with st.expander("Enter your own method"):
        st.markdown("A method of an installed package runs by one command. Results of your own data are refused.")
        st.code("fairpriv bench --method NAME\nfairpriv bench enter decisions.csv --name NAME --protects record")


@st.cache_data(show_spinner=False)
def _read(files: Files, everything: bool) -> pd.DataFrame:
    """Return the lines of files, each with the time at which it was written; of the data that may be shown."""
    lines = read_lines([name for name, _ in files])
    tasks = [task.name for task in read_suite().tasks if everything or task.data.get("dataset") in DATA]
    return lines[lines.task.isin(tasks)]


@st.cache_data(show_spinner=False)
def _measure(files: Files, everything: bool, notion: str) -> list[Cost]:
    """Return what privacy costs; it takes half a second."""
    return fold_costs(measure_costs(_read(files, everything), notion))


@st.cache_data(show_spinner=False)
def _list_sentences(files: Files, everything: bool) -> list[str]:
    """Return the sentences on the papers' methods; they take half a second."""
    return format_paper_costs(_read(files, everything))


def _choose_board(lines: pd.DataFrame, notion: str) -> Board | None:
    """Return the board that is looked at; None where nothing was run for this notion and budget."""
    budgets = {short_epsilon_text(epsilon): epsilon for epsilon in read_suite().epsilons}
    left, right = st.columns([1, 3])
    with left:
        texts = {text: text for text in budgets}
        epsilon = budgets[draw_buttons("bench_epsilon", "Privacy budget ε", texts, "1")]
    boards = {board.name: board for board in build_boards(lines, notion, epsilon)}
    if not boards:
        st.info("Nothing was run at this budget yet. Choose another one.")
        return None
    with right:
        return boards[draw_list("bench_board", "Board", boards, lambda name: plain(boards[name].title))]


def _show_board(board: Board, lines: pd.DataFrame) -> None:
    """Draw a board over tasks, and below it on one task with its curve over ε."""
    st.markdown(f"**{plain(board.format_first())}**")
    _draw(show_board(board), "bench_over_tasks", "Entries by their mean rank over tasks.")
    tasks = {task.name: task for task in read_suite().tasks if any(task.name in s.cells for s in board.standings)}
    task: Task = tasks[draw_list("bench_task", "Task", tasks, lambda name: plain(tasks[name].title))]
    _draw(show_task(board, task), "bench_on_task", "Accuracy and gap of each entry on one task.")
    show_figure(draw_task(list_curves(lines, board), task), "bench_curve")


def _draw(table: Shown, key: str, alt: str) -> None:
    rows = pd.DataFrame(table.rows, columns=[*table.head])
    st.dataframe(rows, key=key, hide_index=True, height="content", alt=alt)


show()
