"""Curves over ε: settings joined, one of a method's is bold by what is wanted, and what is wanted is shaded."""

from __future__ import annotations

from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.frontier import Wanted
from fairpriv_core.figures.over_epsilon import trade_off
from tests.figures.test_frontier import row

ROWS = [
    row(epsilon, 0.8 + step, gap, key=f"{epsilon}-{gap}", seeds=3)
    for epsilon, step in ((1, 0.0), (3, 0.02))
    for gap in (0.02, 0.1)
]
SETTINGS = {each.keys[0]: f"gap target {each.keys[0].rpartition('-')[2]}" for each in ROWS}


def test_settings_are_joined_over_epsilon_and_the_one_that_keeps_to_the_gap_stands_out() -> None:
    figure = trade_off(ROWS, dataset="a", notion="x", settings=SETTINGS, wanted=Wanted(0.8, 0.05))
    lit = [one for one in figure.series if not one.faint]
    assert [(one.name, one.panel, one.x, one.labelled) for one in lit] == [
        ("PF-LD, gap target 0.02", 0, (1, 3), True),
        ("PF-LD, gap target 0.02", 1, (1, 3), True),
    ]
    faint = [one for one in figure.series if one.faint]
    assert {one.name for one in faint} == {"PF-LD, gap target 0.1"} and not any(one.low for one in faint)
    assert lit[0].keys == ("1-0.02", "3-0.02") and lit[0].low and "Bold: of each method" in figure.caption
    drawn = draw(figure)["data"]
    assert {trace.get("opacity") for trace in drawn if "0.1" in trace["name"]} == {0.35}


def test_what_is_wanted_is_shaded_with_an_edge_that_has_a_name() -> None:
    figure = trade_off(ROWS, dataset="a", notion="x", settings=SETTINGS, wanted=Wanted(0.8, 0.05))
    shapes = draw(figure)["layout"]["shapes"]
    assert [(shape["type"], shape.get("name")) for shape in shapes] == [
        ("rect", None),
        ("line", "edge 0 y 0"),
        ("rect", None),
        ("line", "edge 1 y 1"),
    ]
    assert shapes[1]["y0"] == shapes[1]["y1"] == 80 and shapes[3]["y0"] == shapes[3]["y1"] == 5


def test_settings_of_one_method_are_one_line_where_nothing_tells_them_apart() -> None:
    figure = trade_off(ROWS[::2], dataset="a", notion="x")
    assert {one.name for one in figure.series} == {"PF-LD (protects the attribute)"}
    assert not any(one.faint or one.labelled for one in figure.series)


def test_the_legend_has_the_papers_methods_first_and_our_own_last() -> None:
    rows = [row(1, 0.8, 0.1, method=method, key=method) for method in ("one_release", "randomized_response", "pf_ld")]
    figure = trade_off(rows, dataset="a", notion="x")
    names = dict.fromkeys(one.style for one in figure.series)
    assert list(names) == ["pf_ld", "randomized_response", "one_release"]
