"""Figures of the Learn page: numbers of the made-up example, and where noise enters for each kind of method."""

from __future__ import annotations

import pytest

from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.learn import CELLS, Flow, compared_cells, data_flow
from fairpriv_core.figures.learn_ideas import COMPOSED, IDEAS, Idea, adding_up, clipping_example
from fairpriv_core.notions.notion import Compares
from fairpriv_core.privacy.gaussian import gaussian_epsilon, gaussian_mu


def boxes(figure: FigureData, panel: int = 0) -> dict[str, list[str]]:
    """Return the texts of one panel's boxes by the name in the legend."""
    found: dict[str, list[str]] = {}
    for series in figure.series:
        if series.kind == "box" and series.panel == panel:
            found.setdefault(series.name, []).extend(series.text)
    return found


@pytest.mark.parametrize(
    ("conditions", "compares", "counted", "gap"),
    [
        ((None,), "decisions", {40, 10}, "25.00"),
        ((0, 1), "decisions", {40, 10}, "20.00"),
        ((1,), "decisions", {40}, "20.00"),
        ((None,), "errors", {40}, "1.00"),
        ((1,), "labels", {40}, "8.00"),
    ],
)
def test_the_cells_that_a_notion_counts_and_its_gap(
    conditions: tuple[int | None, ...], compares: Compares, counted: set[int], gap: str
) -> None:
    figure = compared_cells("A notion", conditions=conditions, compares=compares)
    assert {int(text.split()[0]) for text in boxes(figure)["Counted"]} == counted
    assert f"{gap} percentage points" in figure.caption
    assert all(sum(len(texts) for texts in boxes(figure, panel).values()) == 4 for panel in range(len(CELLS)))


def test_noise_stands_before_all_that_is_protected_and_before_nothing_else() -> None:
    attribute = data_flow(Flow("one", "attribute", True, False, ("counts",)))
    record = data_flow(Flow("two", "record", False, True, ("gradients",)))
    open_one = data_flow(Flow("three", None, True, False))
    assert boxes(attribute)["Protected"] == ["sensitive\nattribute\nprotected"]
    assert len(boxes(record)["Protected"]) == 2 and "not read" in boxes(record)["Not read by training"][0]
    assert "needs the group" in boxes(record)["Not protected"][0]
    assert "Released with noise" not in boxes(open_one) and "without noise" in open_one.caption
    arrows = [sum(series.kind == "arrow" for series in figure.series) for figure in (attribute, record, open_one)]
    assert arrows == [4, 3, 3]


def test_what_the_ledger_card_shows_is_the_exact_composition() -> None:
    mu = gaussian_mu(1.0, 1e-5)
    exact = [gaussian_epsilon(mu * count**0.5, 1e-5) for count in range(1, len(COMPOSED) + 1)]
    assert list(COMPOSED) == pytest.approx(exact, abs=1e-3)
    assert f"{COMPOSED[-1]:.2f}" in adding_up().alt


def test_the_clipping_example_is_made_up_and_clips_the_small_group_more() -> None:
    figure = clipping_example()
    assert not figure.raw and "made-up" in figure.caption
    shares = [float(panel.title.partition(": ")[2].split()[0]) for panel in figure.panels]
    assert shares[0] < shares[1]


@pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: idea.name)
def test_every_idea_draws_and_says_so_in_words(idea: Idea) -> None:
    figure = idea.draw()
    assert figure.alt and figure.caption and draw(figure)["data"]
