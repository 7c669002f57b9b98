"""Boards: who is ranked, who is said to be first, and what privacy is said to cost."""

from __future__ import annotations

import pandas as pd
import pytest

from fairpriv_core.bench.board import Board, build_boards, find_critical
from fairpriv_core.bench.costs import fold_costs, format_paper_costs, measure_costs
from fairpriv_core.documents.bench import show_board, show_task, write_bench_page
from fairpriv_core.figures import export
from fairpriv_core.figures.bench import draw_task
from tests.bench.made_lines import TASKS, make_lines, make_reference

APART = {"pf_ld": 0.84, "dp_fermi": 0.83, "one_release": 0.82, "jagielski_in": 0.81, "randomized_response": 0.80}


def build(lines: pd.DataFrame) -> Board:
    (board,) = build_boards(lines, "demographic_parity", 1.0)
    return board


def test_the_critical_difference_is_demsars() -> None:
    """The example of section 3.2.2: four classifiers on 14 data sets, 1.25 apart."""
    assert find_critical(4, 14) == pytest.approx(1.25, abs=0.005)
    assert find_critical(1, 14) is None


def test_entries_are_ranked_and_no_winner_is_alone_where_ranks_are_near() -> None:
    board = build(make_lines(APART))
    assert [each.rank for each in board.ranked] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert board.critical is not None and 2.0 < board.critical < 3.0
    assert board.format_first().startswith("PF-LD, DP-FERMI and OneRelease rank first: over 8 tasks")
    assert build(make_lines({"pf_ld": 0.84, "dp_fermi": 0.8})).format_first().startswith("PF-LD ranks first")
    assert build(make_lines(APART, tasks=TASKS[:2])).format_first().startswith("No entry is ahead")
    assert build(make_lines({"pf_ld": 0.84})).format_first() == "PF-LD alone has all tasks of this board."


def test_on_a_task_nobody_leads_alone_whose_interval_meets_anothers() -> None:
    board = build(make_lines({"pf_ld": 0.840, "dp_fermi": 0.838, "one_release": 0.80}))
    cells = {each.name: each.cells[TASKS[0]] for each in board.standings}
    assert [cells[name].leads for name in ("pf_ld", "dp_fermi", "one_release")] == [True, True, False]
    behind = {row[0]: row[-1] for row in show_task(board, board.tasks[0]).rows}
    assert behind == {"PF-LD": "no", "DP-FERMI": "no", "OneRelease": "yes", "One answer for all": ""}


def test_whose_gap_is_surely_above_the_bound_comes_last_however_accurate() -> None:
    board = build(make_lines({"pf_ld": 0.9, "dp_fermi": 0.8}, gaps={"pf_ld": 0.08}))
    assert [each.name for each in board.ranked] == ["dp_fermi", "pf_ld"]
    assert not board.ranked[1].cells[TASKS[0]].reached and show_board(board).rows[1][2] == "0 of 8"
    near = build(make_lines({"pf_ld": 0.9, "dp_fermi": 0.8}, gaps={"pf_ld": 0.042}))
    assert near.ranked[0].name == "pf_ld" and near.ranked[0].cells[TASKS[0]].verdict == "maybe"


def test_an_entry_that_lacks_a_task_or_a_model_is_shown_and_not_ranked_before_others() -> None:
    board = build(pd.concat([make_lines(APART), make_lines({"raw": 0.99}, tasks=TASKS[:1], author="outside")]))
    assert board.standings[-1].name == "raw" and board.standings[-1].rank is None
    assert show_board(board).rows[-1][1] == "tasks or seeds lack"
    lines = make_lines({"pf_ld": 0.84, "dp_fermi": 0.8})
    lines.loc[(lines.method == "pf_ld") & (lines.seed == 0), ["accuracy", "gap", "gap_low", "gap_high"]] = float("nan")
    lines.loc[(lines.method == "pf_ld") & (lines.seed == 0), "failed"] = "A group is too small."
    failing = build(lines)
    assert [each.name for each in failing.ranked] == ["dp_fermi", "pf_ld"]
    assert "1 of 3 without a model" in show_task(failing, failing.tasks[0]).rows[1][4]


def test_nobody_is_ranked_by_the_seeds_that_suit_them() -> None:
    lucky = make_lines({"lucky": 0.99}, author="outside")
    board = build(pd.concat([make_lines(APART), lucky[lucky.seed == 1]]))
    assert board.standings[-1].name == "lucky" and board.standings[-1].rank is None
    assert build(pd.concat([make_lines(APART), lucky.assign(seed=7)])).standings[-1].name != "lucky"


def test_threat_models_and_uses_of_the_group_have_boards_of_their_own() -> None:
    parts = [
        make_lines({name: 0.8}, threat_model=model, by_group=used)
        for name, model, used in (
            ("pf_ld", "attribute", False),
            ("group_thresholds", "attribute", True),
            ("raco_dp", "record", False),
        )
    ]
    boards = build_boards(pd.concat([*parts, make_reference({"none": 0.85})]), "demographic_parity", 1.0)
    assert [board.name for board in boards] == ["attribute", "attribute_by_group", "record"]
    assert all([each.name for each in board.references] == ["none"] for board in boards)


def test_what_is_claimed_says_so_wherever_it_is_shown() -> None:
    claimed = make_lines({"theirs": 0.86}, kind="claimed", author="outside", epsilon=None, epsilon_claimed=1.0)
    rows = {row[0]: row for row in show_board(build(pd.concat([make_lines(APART), claimed]))).rows}
    assert rows["theirs (claimed)"][3] == "1.00, claimed" and rows["PF-LD"][3] == "1.00, proved"


def test_what_is_of_others_moves_no_cost_no_reference_and_no_sentence_on_papers() -> None:
    ours = pd.concat([make_lines(APART), make_reference({"f_ld": 0.85})])
    own = {"author": "their_package 1.0", "epsilon": float("nan")}
    theirs = [make_lines({"theirs": 0.99}, constant=0.9, **own), make_reference({"theirs_open": 0.999}, **own)]
    both = pd.concat([ours, *theirs])
    assert measure_costs(both, "demographic_parity") == measure_costs(ours, "demographic_parity")
    assert format_paper_costs(both) == format_paper_costs(ours)
    board = build(both)
    assert board.constants == build(ours).constants
    assert board.standings[0].title == "theirs (their_package 1.0)" and board.standings[0].stated == "none"


def test_a_curve_has_an_entry_where_it_has_the_task_and_two_authors_apart() -> None:
    names = {"author": "outside", "kind": "claimed", "epsilon": float("nan")}
    claims = [
        make_lines({"theirs": 0.8}, tasks=TASKS[:1], **names),
        make_lines({"theirs": 0.8}, tasks=TASKS[1:], epsilon_asked=3.0, **names),
        make_lines({"theirs": 0.7}, author="their_package 1.0", epsilon=float("nan")),
    ]
    lines = pd.concat([make_lines(APART), *claims])
    boards = [build_boards(lines, "demographic_parity", epsilon)[0] for epsilon in (1.0, 3.0)]
    drawn = draw_task(boards, boards[0].tasks[0])
    assert {each.name: len(each.x) for each in drawn.series if each.name.startswith("theirs")} == {
        "theirs (claimed)": 1,
        "theirs (their_package 1.0)": 1,
    }


def test_a_cost_within_its_interval_is_not_measurable_and_nothing_is_free() -> None:
    near = pd.concat([make_lines({"pf_ld": 0.8400}), make_reference({"f_ld": 0.8401})], ignore_index=True)
    near.loc[near.method == "pf_ld", "accuracy"] += pd.Series([0.002, -0.003, 0.001] * 8)
    (cost,) = fold_costs(measure_costs(near, "demographic_parity"))
    assert not cost.measurable and "no measurable cost (0.0 ± " in cost.format() and "free" not in cost.format()
    far = pd.concat([make_lines({"pf_ld": 0.80}), make_reference({"f_ld": 0.85, "none": 0.9}, gaps={"none": 0.2})])
    (cost,) = fold_costs(measure_costs(far, "demographic_parity"))
    assert cost.loss.mean == pytest.approx(0.05) and cost.measurable and cost.amount == pytest.approx(15_000)


def test_a_cost_that_one_seed_alone_tells_is_not_told() -> None:
    lines = make_lines({"pf_ld": 0.80}, tasks=TASKS[:1])
    lines.loc[lines.seed > 0, ["accuracy", "gap", "gap_low", "gap_high"]] = float("nan")
    both = pd.concat([lines, make_reference({"f_ld": 0.81}, tasks=TASKS[:1])])
    assert measure_costs(both, "demographic_parity") == []
    lucky = make_lines({"dp_fermi": 0.99}, tasks=TASKS[:1])
    both = pd.concat(
        [make_lines({"pf_ld": 0.8}, tasks=TASKS[:1]), lucky[lucky.seed == 1], both[both.threat_model == ""]]
    )
    assert measure_costs(both, "demographic_parity") == [], "seed 1 chooses it for the others, where it is not"


def test_a_cost_says_by_how_much_gaps_differ_and_where_the_reference_was_no_ceiling() -> None:
    lines = make_lines({"pf_ld": 0.85}, gaps={"pf_ld": 0.03}, tasks=TASKS[:1])
    (cost,) = measure_costs(pd.concat([lines, make_reference({"f_ld": 0.8}, tasks=TASKS[:1])]), "demographic_parity")
    assert "no ceiling" in cost.format() and "2.0 points larger" in cost.format()


def test_a_choice_among_entries_does_not_favour_the_chosen_ones() -> None:
    """Each seed's entry is chosen by the other seeds: one that is lucky on a seed is not taken for it."""
    lines = make_lines({"pf_ld": 0.80, "dp_fermi": 0.81}, tasks=TASKS[:1])
    lines.loc[(lines.method == "pf_ld") & (lines.seed == 0), "accuracy"] = 0.9
    lines.loc[(lines.method == "pf_ld") & (lines.seed != 0), "accuracy"] = 0.7
    both = pd.concat([lines, make_reference({"f_ld": 0.81}, tasks=TASKS[:1])])
    (cost,) = measure_costs(both, "demographic_parity")
    assert cost.by_seed[0] == pytest.approx(0.0)


def test_the_page_has_every_board_and_asks_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairpriv_core.documents.bench.to_image", lambda *_: b"<svg/>")
    assert export.to_image  # the page's pictures come from there
    page = write_bench_page(pd.concat([make_lines(APART), make_reference({"f_ld": 0.85})]))
    assert "rank first" in page and "Adult, income by sex" in page and "http" not in page.split("</head>")[1]
    assert "data:image/svg+xml" in page and "The four papers" in page


def test_each_papers_method_has_one_sentence() -> None:
    said = format_paper_costs(make_lines(APART))
    assert [each.partition(" (")[0] for each in said] == ["PF-LD", "DP-FERMI"]
    assert "reached the gap in 8 of 8 cells" in said[0] and "surely ahead on 0 of 1 board" in said[0]
