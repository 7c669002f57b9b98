"""A paper's figure from records: its columns and rows, means with bands, level lines, bars, chains of points."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from fairpriv_core.figures.figure import write_csv
from fairpriv_core.figures.paper_figures import draw_preset, format_run_sentences, is_raw, list_cells
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    ERROR,
    GAP,
    SECONDS,
    Compare,
    PaperTable,
    Part,
    Plot,
    Printed,
    Quantity,
    Value,
    of_method,
    proved,
    published,
)
from fairpriv_core.papers.printed import count_beside, set_beside
from fairpriv_core.papers.values import amount, choose, list_paths
from fairpriv_core.papers.verdicts import judge_all
from tests.papers import tiny
from tests.papers.records import make_record, make_runs

PF_LD, M, N = of_method("PF-LD", "pf_ld"), of_method("M", "randomized_response"), of_method("N", "none")
RUNS = [*make_runs(), *[make_record("none", seed=seed, accuracy=0.9, gap=0.15) for seed in range(3)]]
LINES = Plot("line", EPSILON, (ACCURACY, GAP), (PF_LD, M, N))


def test_lines_are_means_over_seeds_with_bands_and_level_where_there_is_no_budget() -> None:
    (figure,) = draw_preset(replace(tiny.FIGURE, drawing=LINES), RUNS)
    assert [panel.y.title for panel in figure.panels] == ["Accuracy", "Fairness violation"]
    by_name = {(series.name, series.panel): series for series in figure.series}
    pf_ld = by_name["PF-LD", 1]
    assert pf_ld.x == (0.5, 1.0) and pf_ld.y == pytest.approx((5.1, 2.1))
    assert pf_ld.high[0] - pf_ld.y[0] == pytest.approx(0.2484, abs=1e-3)
    level = by_name["N", 0]
    assert level.x == (0.5, 1.0) and level.y == pytest.approx((90.0, 90.0))
    (mark,) = figure.references
    assert (mark.value, mark.axis, mark.panel) == (80.0, "y", 0)
    assert not figure.raw and "3 seeds" in figure.caption and "1 in 100,000" in figure.caption
    assert "the sensitive attribute of each person" in figure.caption and "2.10 at 1" in figure.alt


def test_runs_are_chosen_alike_whether_their_settings_are_numbered_or_not() -> None:
    numbered = [replace(run, setting=(run.config["method"]["name"], run.config["epsilon"])) for run in RUNS]
    for asked in (
        [{"config/epsilon": 0.5}, {"config/method/name": ("pf_ld", "none")}],
        [{"config/epsilon": 0.5, "config/seed": 1}],
        [{"config/method/name": "pf_ld"}, {"variant": "proved"}],
    ):
        keys = [run.key for run in choose(RUNS, *asked)]
        assert keys == [run.key for run in choose(numbered, *asked)] and 0 < len(keys) < len(RUNS)


def test_columns_are_figures_beside_each_other_and_empty_ones_are_left_out() -> None:
    columns = tuple(Part(name, {"config/notion": name}) for name in ("demographic_parity", "equalized_odds"))
    figures = draw_preset(replace(tiny.FIGURE, drawing=replace(LINES, columns=columns)), RUNS)
    assert [figure.title for figure in figures] == ["tiny, Figure 1, Bank marketing: demographic_parity"]
    across = draw_preset(replace(tiny.FIGURE, drawing=replace(LINES, across=True)), RUNS)
    assert [(figure.title, len(figure.panels)) for figure in across] == [
        ("tiny, Figure 1, Bank marketing: Accuracy", 1),
        ("tiny, Figure 1, Bank marketing: Fairness violation", 1),
    ]
    assert len({figure.name for figure in across}) == 2


def test_bars_have_columns_as_categories_and_never_reach_below_zero() -> None:
    runs = [make_record("none", seed=seed, accuracy=0.9, gap=gap) for seed, gap in enumerate((0.0, 0.001, 0.05))]
    plot = Plot("bar", EPSILON, (ACCURACY, GAP), (N,), (Part("Parity", {"config/notion": "demographic_parity"}),))
    accuracy, gap = draw_preset(replace(tiny.FIGURE, drawing=plot), runs)
    assert accuracy.horizontal and accuracy.references[0].axis == "x"
    (bar,) = gap.series
    assert bar.x == ("Parity",) and bar.low == (0.0,)


def test_curves_have_a_figure_a_method_and_a_line_a_value_over_epochs() -> None:
    runs = [
        replace(
            make_record("pf_ld", seed=seed, accuracy=0.9, gap=0.1, epsilon=epsilon),
            measured={"training": {"accuracy": at}},
        )
        for epsilon in (0.5, 1.0)
        for seed, at in enumerate(({"2": 0.6, "4": 0.8}, {"2": 0.7, "4": 0.9 * epsilon}))
    ]
    lines = tuple(Part(f"ε {value:g}", {"config/epsilon": value}, variation=at) for at, value in enumerate((0.5, 1.0)))
    drawing = Plot(
        "curve",
        Value("config/method/epochs", "Epoch"),
        (Value("training/accuracy/*", "Accuracy", "%", scale=100.0),),
        lines,
        (PF_LD, M),
        steps=(2, 4, 6),
    )
    preset = replace(tiny.FIGURE, drawing=drawing, claims=())
    assert [path for path in list_paths(preset) if "training" in path] == [
        f"training/accuracy/{at}" for at in (2, 4, 6)
    ]
    (figure,) = draw_preset(preset, runs)
    assert figure.title == "tiny, Figure 1, Bank marketing: PF-LD" and figure.x.title == "Epoch"
    assert [(line.name, line.style, line.variation) for line in figure.series] == [
        ("ε 0.5", "pf_ld", 0),
        ("ε 1", "pf_ld", 1),
    ]
    assert [line.x for line in figure.series] == [(2.0, 4.0)] * 2, "no point where no run has one"
    assert [line.y for line in figure.series] == [pytest.approx((65.0, 62.5)), pytest.approx((65.0, 85.0))]


def test_a_level_far_from_all_values_is_said_and_not_drawn() -> None:
    runs = [make_record("none", seed=seed, accuracy=0.95 + seed / 1000, gap=0.1 + seed / 50) for seed in range(3)]
    drawing = Plot("points", GAP, (ERROR,), (N,))
    (figure,) = draw_preset(replace(tiny.FIGURE, drawing=drawing), runs)
    assert figure.references == ()
    assert figure.caption.endswith("Outside the plot: always the same answer: 20.00 %.")
    (near,) = draw_preset(replace(tiny.FIGURE, drawing=drawing), [*runs, *make_runs_at(0.8, "pf_ld")])
    assert near.references == (), "only what is drawn counts"
    (wide,) = draw_preset(replace(tiny.FIGURE, drawing=replace(drawing, series=(N, M))), [*runs, *make_runs_at(0.85)])
    assert [level.value for level in wide.references] == [pytest.approx(20.0)] and "Outside" not in wide.caption


def make_runs_at(accuracy: float, method: str = "randomized_response") -> list[PaperRun]:
    return [make_record(method, seed=seed, accuracy=accuracy, gap=0.1) for seed in range(3)]


def test_points_are_joined_along_the_setting_that_their_runs_have() -> None:
    along = (Value("config/method/multiplier", "λ"), Value("config/method/clip_primal", "C_p"))
    (figure,) = draw_preset(replace(tiny.FIGURE, drawing=Plot("points", GAP, (ERROR,), (PF_LD,), along=along)), RUNS)
    (chain,) = figure.series
    assert chain.text == ("5", "10")
    assert chain.x == pytest.approx((5.1, 2.1)) and chain.y == pytest.approx((10.9, 10.9))
    assert chain.x_low and chain.low


def test_a_table_has_a_cell_for_each_row_and_column_and_times_no_interval() -> None:
    table = PaperTable((Part("all"), Part("ε = 1", {"config/epsilon": 1.0})), ((PF_LD, GAP), (N, SECONDS)))
    preset = replace(tiny.TABLE, drawing=table)
    assert list_cells(preset, RUNS) == [
        {"what": "all", "PF-LD": "3.60 ± 1.73", "N": "2.00"},
        {"what": "ε = 1", "PF-LD": "2.10 ± 0.25", "N": "–"},
    ]


def test_printed_numbers_stand_beside_ours_and_follow_them() -> None:
    loss = Compare(Quantity("PF-LD", ACCURACY, PF_LD.where), Quantity("N", ACCURACY, N.where))
    printed = (
        Printed("gap", 2.2, "Table 1", Quantity("PF-LD", GAP, {**PF_LD.where, "config/epsilon": 1.0})),
        Printed("loss", -2.5, "Table 2", loss),
    )
    preset = replace(tiny.TABLE, printed=printed)
    gap, difference = set_beside(preset, RUNS)
    assert (gap.printed, gap.ours, gap.unit, len(gap.keys)) == ("2.20", "2.10 ± 0.25", "percentage points", 3)
    assert (gap.status, gap.verdict, gap.seeds) == ("agrees", "agrees within 1.00", 3)
    assert difference.ours.startswith("−0.90 ±") and len(difference.keys) == 9
    assert (difference.status, difference.verdict) == ("differs", "differs by 1.60")
    assert count_beside([gap, difference]).startswith("1 of 2 printed numbers agree with ours; 1 differs.")
    moved = copy.deepcopy(RUNS)
    for run in moved:
        run.metrics["demographic_parity_gap"] += 0.1
    apart = set_beside(preset, moved)[0]
    assert (apart.ours, apart.status, apart.verdict) == ("12.10 ± 0.25", "differs", "differs by 9.90")
    (near,) = set_beside(replace(preset, printed=(replace(printed[0], tolerance=10.2),)), moved)
    assert (near.status, near.verdict) == ("agrees", "agrees within 10.20")
    (half,) = set_beside(replace(preset, printed=(replace(printed[0], tolerance=9.9),)), moved)
    assert half.status == "open" and half.verdict.startswith("open: ")
    assert set_beside(preset, [])[0].status is None and count_beside(set_beside(preset, [])) == ""


def test_what_is_published_is_called_so() -> None:
    runs = [make_record("pf_ld", seed=0, accuracy=0.9, gap=0.1, epsilon=1.0, variant="published")]
    drawing = Plot("line", EPSILON, (ACCURACY,), (published("PF-LD", "pf_ld"), proved("PF-LD", "pf_ld")))
    said = format_run_sentences(replace(tiny.FIGURE, drawing=drawing), runs)
    assert "ε by the paper's own accounting, not proved to hold: 1.00 (PF-LD, as published)." in said
    assert said.startswith("Data: Bank marketing, by age. One seed")
    assert format_run_sentences(tiny.FIGURE, []) == "No finished run yet."


def test_groups_of_rows_that_not_everybody_has_are_raw() -> None:
    faces = {"dataset": "utkface", "sensitive": "race"}
    runs = [replace(run, config={**run.config, "data": {**run.data, **faces}}) for run in RUNS]
    assert draw_preset(replace(tiny.FIGURE, drawing=LINES), runs)[0].raw and draw_preset(tiny.ATTACKED, runs)[0].raw
    assert is_raw(tiny.FIGURE, runs) and not is_raw(tiny.FIGURE, RUNS) and not is_raw(tiny.TABLE, runs)


def test_a_path_goes_through_lists_and_kept_numbers() -> None:
    run = make_record("none", seed=0, accuracy=0.9, gap=0.1)
    assert run.read("metrics/groups/age < 60/accuracy") == 0.9
    assert run.read("metrics/groups/nobody/accuracy") is None
    assert run.read("gap") == 0.1 and run.read("seconds_per_epoch") == 2.0
    kept = replace(run, metrics={}, numbers={"metrics/demographic_parity_gap": 0.3})
    assert kept.read("gap") == 0.3
    assert list_paths(tiny.FIGURE)[:2] == ["metrics/accuracy", "gap"]


def test_a_line_of_a_table_has_its_epsilon_and_who_accounts_for_it() -> None:
    runs = [
        *[
            make_record("pf_ld", seed=0, accuracy=0.9, gap=0.1, epsilon=1.5, variant=kind)
            for kind in ("published", "proved")
        ],
        make_record("none", seed=0, accuracy=0.9, gap=0.1),
    ]
    rows = (N, published("PF-LD", "pf_ld"), proved("PF-LD", "pf_ld"))
    preset = replace(tiny.TABLE, drawing=PaperTable(rows, ((Part("accuracy"), ACCURACY),)))
    assert [cells["ε"] for cells in list_cells(preset, runs)] == [
        "none",
        "1.50 by the paper, not proved",
        "1.50 proved",
    ]
    assert "Each line has its ε beside it" in format_run_sentences(preset, runs)


def test_settings_in_which_the_variants_differ_are_named_and_so_are_models_that_answer_alike() -> None:
    drawing = Plot("line", EPSILON, (ACCURACY,), (published("PF-LD", "pf_ld"), proved("PF-LD", "pf_ld")))
    preset = replace(tiny.FIGURE, drawing=drawing)
    made = {"seed": 0, "accuracy": 0.9, "gap": 0.1, "epsilon": 1.0}
    alike = [make_record("pf_ld", **made, variant=kind, clip_primal=10.0) for kind in ("published", "proved")]
    assert "other settings" not in format_run_sentences(preset, alike) and "same answer" not in format_run_sentences(
        preset, alike
    )
    apart = [alike[0], make_record("pf_ld", **made, variant="proved", clip_primal=1.0)]
    assert "PF-LD: the proved variant has other settings than the published one (clip primal)" in format_run_sentences(
        preset, apart
    )
    apart[0].metrics["positive_rate"] = 0.97
    assert "Of these 2 models 1 gives 95 of 100 people or more the same answer." in format_run_sentences(preset, apart)


def test_a_picture_that_is_taken_away_says_what_it_is_under_a_plain_name() -> None:
    drawing = replace(LINES, kind="points", x=GAP, rows=(ERROR,), along=EPSILON, columns=(Part("ε = 0.5"),))
    (figure,) = draw_preset(replace(tiny.FIGURE, drawing=drawing), RUNS)
    assert (figure.title, figure.name) == ("tiny, Figure 1, Bank marketing: ε = 0.5", "tiny_figure1_epsilon_0_5")
    assert figure.caption.startswith("Data: Bank marketing, by age. ")
    assert figure.caption.endswith(f"Numbers at points: {EPSILON.title}.")
    head, first, *_ = write_csv(figure).splitlines()
    assert head.endswith(",note,label") and first.endswith(",0.5")


def test_numbers_have_a_true_minus_and_no_minus_before_zero() -> None:
    assert [amount(value) for value in (-0.9, -0.001, 0.0, None)] == ["−0.90", "0.00", "0.00", "–"]


def test_of_several_figures_each_says_what_is_its_own_and_an_export_has_all() -> None:
    runs = copy.deepcopy(RUNS)
    for run in runs:
        run.metrics["positive_rate"] = 0.0 if run.config["epsilon"] == 1.0 else 0.5
    columns = tuple(Part(f"ε = {epsilon:g}", {"config/epsilon": epsilon}) for epsilon in (0.5, 1.0))
    drawing = Plot("points", GAP, (ERROR,), (PF_LD, M), columns, along=EPSILON)
    preset = replace(tiny.FIGURE, drawing=drawing)
    figures = draw_preset(preset, [run for run in runs if run.config["epsilon"]])
    assert [figure.own for figure in figures] == [
        "ε: 0.500 proved. Nearly the same answer for all: 0 of 6 models.",
        "ε: 1.00 proved. Nearly the same answer for all: 6 of 6 models.",
    ]
    assert all("Data: Bank marketing, by age. Means over 3 seeds" in figure.caption for figure in figures)
    assert "Of these 6 models 6 give 95 of 100" in figures[1].caption and "same answer" not in figures[0].caption
    across = draw_preset(replace(tiny.FIGURE, drawing=replace(LINES, across=True)), runs)
    assert [figure.own for figure in across] == ["", ""]
    assert "Of these 15 models" in across[0].caption == across[1].caption


def test_points_whose_numbers_are_of_unlike_settings_name_them() -> None:
    along = (Value("config/method/clip_primal", "C_p"), EPSILON)
    preset = replace(tiny.FIGURE, drawing=Plot("points", GAP, (ERROR,), (PF_LD, M), along=along))
    (figure,) = draw_preset(preset, RUNS)
    assert figure.caption.endswith("Numbers at points: C_p (PF-LD); ε, as each line accounts for it (M).")


def test_a_bar_for_each_attacker_has_its_own_number_and_a_run_counts_once() -> None:
    runs = [
        replace(run, measured={"membership": {"LR": {"auc": 0.6}, "RF": {"auc": 0.7}, "chance": {"auc": 0.5}}})
        for run in RUNS
        if run.config["method"]["name"] != "randomized_response"
    ]
    (figure,) = draw_preset(tiny.ATTACKED, runs)
    none, pf_ld = figure.series
    assert none.x == pf_ld.x == ("Regression", "Forest") and none.y == pytest.approx((60.0, 70.0)) == pf_ld.y
    (mark,) = figure.references
    assert (mark.value, mark.label, mark.axis) == (50.0, "guessing: 50.00 %", "x")
    assert not figure.raw and "3 seeds" in figure.caption
    assert list_paths(tiny.ATTACKED)[:2] == ["membership/LR/auc", "membership/RF/auc"]
    assert "membership/chance/auc" in list_paths(tiny.ATTACKED)
    (verdict,) = judge_all(tiny.ATTACKED, runs)
    assert verdict.subject == "Attack AUC of PF-LD minus N (%), at most 0.00 expected"
    found = [(one.case, one.status, one.words) for one in verdict.cases]
    assert found == [(name, "agrees", "0.00 ± 0.00") for name in ("Regression", "Forest")]
    assert all(len(one.runs) == len(runs) for one in verdict.cases)
