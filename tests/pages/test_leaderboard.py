"""Leaderboard: boards of what ships and of what was entered here, and what a first look has to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairpriv_core.bench.board import build_boards
from fairpriv_core.bench.lines import KEPT, list_files, read_lines, write_lines
from fairpriv_core.bench.suite import read_suite
from tests.bench.made_lines import make_lines
from tests.pages.shown import Open, charts, said, whole

MOST_WORDS = 120


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where results that were made here are looked for."""
    monkeypatch.setenv("FAIRPRIV_BENCH", str(tmp_path / "results"))
    return tmp_path / "results"


def test_it_shows_the_kept_results_by_board_and_by_task(folder: Path, open_page: Open) -> None:
    page = whole(open_page("leaderboard"))
    over, on_task = (frame.value for frame in page.dataframe)
    board = build_boards(read_lines([KEPT]), read_suite().notions[0], 1.0)[0]
    assert [*over["Entry"]] == [each.title for each in board.standings] and board.format_first() in said(page)
    assert "One answer for all" in [*on_task["Entry"]] and {"bench_task", "bench_costs"} <= charts(page).keys()
    assert "no measurable cost" in said(page) and "free" not in said(page)
    page.selectbox("bench_board").set_value("record").run()
    assert "RaCO-DP" in [*whole(page).dataframe[0].value["Entry"]]


def test_its_first_screen_is_short(folder: Path, open_page: Open) -> None:
    """Tables and what is folded apart: the title, what is asked, and who is first."""
    page = whole(open_page("leaderboard"))
    shown = [str(each.value) for each in (*page.title, *page.markdown[:2])]
    shown += [str(each.label) for each in (*page.selectbox, *page.button_group)]
    assert len(re.findall(r"\w+", " ".join(shown))) <= MOST_WORDS


def test_what_was_entered_here_appears_and_what_does_not_belong_is_said(folder: Path, open_page: Open) -> None:
    theirs = make_lines({"theirs": 0.9}, kind="claimed", author="outside", epsilon=None, epsilon_claimed=1.0)
    write_lines(theirs, folder / "theirs.parquet")
    assert len(list_files()) == 2
    assert "theirs (claimed)" in [*whole(open_page("leaderboard")).dataframe[0].value["Entry"]]
    write_lines(theirs.assign(task="my_people"), folder / "mine.parquet")
    page = open_page("leaderboard")
    assert not page.exception and "takes public data alone" in said(page, "error")
    assert page.dataframe, "what can be read is shown all the same"


def test_a_link_to_a_board_that_is_not_there_opens_another(folder: Path, open_page: Open) -> None:
    page = whole(open_page("leaderboard", bench_board="nothing", bench_epsilon="7", bench_task="mine"))
    assert len(page.dataframe) == 2
