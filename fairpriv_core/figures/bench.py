"""The benchmark's figures: accuracy over ε on one task, and what privacy costs over rows times ε."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fairpriv_core.bench.board import Board, Standing
from fairpriv_core.bench.costs import Cost
from fairpriv_core.bench.suite import Task, read_suite
from fairpriv_core.facts.wording import protected
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series, line
from fairpriv_core.figures.figures import ACCURACY, EPSILON_AXIS
from fairpriv_core.methods.catalog import methods

_COLORS = {"attribute": "group 0", "record": "group 1"}
_GAP = Axis("Gap", "percentage points", with_zero=True)


def draw_task(boards: Sequence[Board], task: Task) -> FigureData:
    """Return accuracy and gap of each entry over ε on one task; `boards` are of one question at several budgets.

    Beside the entries stand the constant answer and, as level lines, those without privacy.
    """
    first = boards[0]
    points: dict[str, list[tuple[float, Standing]]] = {}
    for board in boards:
        for reference in board.standings:
            if task.name in reference.cells:
                points.setdefault(reference.title, []).append((board.epsilon, reference))
    series = [_join(own, task, at) for own in points.values() for at in (0, 1)]
    ends = [board.epsilon for board in (boards[0], boards[-1])]
    for reference in first.references:
        if task.name in reference.cells:
            series += [_join([(end, reference) for end in ends], task, at) for at in (0, 1)]
    constant = first.constants.get(task.name)
    return FigureData(
        name="bench_task",
        title=task.title,
        x=EPSILON_AXIS,
        panels=(Panel(ACCURACY, "Accuracy"), Panel(_GAP, "Gap")),
        series=tuple(series),
        caption=f"{first.title}. Means over the suite's seeds with 95 % intervals. Level lines have no privacy.",
        alt=f"Accuracy and gap over ε on {task.title}, of {len(points)} entries.",
        references=(
            Reference(100 * read_suite().gap, "asked for", "y", 1),
            *([] if constant is None else [Reference(100 * constant, "one answer for all", "y", 0)]),
        ),
    )


def _join(points: Sequence[tuple[float, Standing]], task: Task, panel: int) -> Series:
    """Return an entry's accuracy or gap over ε."""
    first = points[0][1]
    cells = [(at, standing.cells[task.name]) for at, standing in points]
    means = [cell.accuracy if panel == 0 else cell.gap for _, cell in cells]
    return line(
        first.title,
        [at for at, _ in cells],
        [mean.mean for mean in means],
        scale=100,
        low=[None if mean.low is None else max(0.0, mean.low) for mean in means],
        high=[mean.high for mean in means],
        style=first.name if first.name in methods() else "ink",
        panel=panel,
    )


def draw_bench_costs(costs: Sequence[Cost], notion: str) -> FigureData:
    """Return the accuracy lost to privacy over rows times ε, a curve a threat model; `notion` is a title."""
    series = []
    for model, own in groupby(costs, key=lambda cost: cost.threat_model):
        own_costs = [*own]
        losses = [cost.loss for cost in own_costs]
        series.append(
            line(
                f"protects {protected(model)}",
                [cost.amount for cost in own_costs],
                [loss.mean for loss in losses],
                scale=100,
                low=[loss.low for loss in losses],
                high=[loss.high for loss in losses],
                style=_COLORS[model],
            )
        )
    return FigureData(
        name="bench_costs",
        title=f"What privacy costs within one bound on the gap: {notion.lower()}",
        x=Axis("Training rows × ε", "rows", log=True),
        panels=(Panel(Axis("Accuracy lost", "percentage points", with_zero=True)),),
        series=tuple(series),
        caption=(
            "The best private entry whose gap reached the bound against the best one without privacy whose gap did, "
            "each chosen by the other seeds; decisions use no group. Means over cells of task and budget, with 95 % "
            "intervals over seeds. Where an interval holds 0, no cost was measurable; below 0 the entry without "
            "privacy was no ceiling. Gaps of both differ, as the sentences say. Cells where no entry of one side "
            "reached the bound are left out, so that the true cost may be larger."
        ),
        alt=" ".join(cost.format() for cost in costs) or "No cost is known yet.",
        references=(Reference(0.0, "no loss", "y"),),
    )
