"""The small figures of the Learn page: which cells a notion compares, and where a method's noise enters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from scipy.special import stdtrit

from fairpriv_core.facts import wording
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series, line
from fairpriv_core.figures.live import live_multipliers
from fairpriv_core.figures.start import read_start_results
from fairpriv_core.figures.styles import method_style
from fairpriv_core.notions.notion import Compares
from fairpriv_core.stats import mean_interval
from fairpriv_core.text import number_text, percent_text, points_text

#: a made-up example on which the notions disagree: of each group of 100, how many for each (true label, prediction)
CELLS: Mapping[str, Mapping[tuple[int, int], int]] = {
    "Group A": {(1, 1): 40, (1, 0): 10, (0, 1): 10, (0, 0): 40},
    "Group B": {(1, 1): 18, (1, 0): 12, (0, 1): 7, (0, 0): 63},
}
#: of label 1, that are given in the example to those predicted negative and positive
CHANCES = (0.2, 0.8)
#: what methods call their releases, where that is not plain by itself
_RELEASES = {
    "primal": "gradients",
    "dual": "fairness terms",
    "answers": "each answer",
    "statistic": "one statistic",
    "cost of a decision": "decision costs",
}
_WORDS = {1: "positive", 0: "negative"}
_HIDDEN = Axis("", range=(-0.5, 1.5))
_MOST_SEEDS = 20
_NOISE = 10.0
_EPOCHS = 8
_LIMIT, _STEP, _FIRST_GAP = 2.0, 2.0, 0.2


@dataclass(frozen=True)
class Flow:
    """What a method declares of where data go, for `data_flow`.

    Attributes:
        title: the method's.
        threat_model: "attribute", "record", or None for a method that is not private.
        reads_group: whether training looks at the sensitive attribute.
        needs_group: whether predictions do.
        releases: what each noisy release is called; () for a method that is not private.
    """

    title: str
    threat_model: str | None
    reads_group: bool
    needs_group: bool
    releases: Sequence[str] = field(default=())


def compared_cells(title: str, *, conditions: Sequence[int | None], compares: Compares) -> FigureData:
    """Which cells of each group's confusion matrix a notion counts, and out of which, on a made-up example.

    `conditions` are the true labels within which it compares (None: everyone), and of one that `compares` "labels" the
    predictions.
    """
    series, panels, sentences = [], [], []
    for panel, (group, cells) in enumerate(CELLS.items()):
        rates = [_rate(cells, condition, compares) for condition in conditions]
        sentences.append(f"{group}: {', '.join(rates)}")
        panels.append(Panel(Axis("", range=(-0.1, 2.1)), sentences[-1]))
        for name, style, own_cells in _sort_cells(cells, conditions, compares):
            series.append(_cells(name, style, panel, own_cells, cells))
    return FigureData(
        name="compared_cells",
        title=f"What {title.lower()} compares",
        x=_HIDDEN,
        panels=tuple(panels),
        series=tuple(series),
        caption=f"A made-up example: two groups of 100 people. {_gap_words(conditions, compares)}",
        alt=f"The cells of two confusion matrices that {title.lower()} compares. {'. '.join(sentences)}.",
    )


def calibrated_groups(title: str) -> FigureData:
    """The share truly positive over the chance given, by group, on the made-up example with two chances."""
    series, far = [], {}
    for (group, cells), style in zip(CELLS.items(), ("budget", "published"), strict=True):
        shares = [_share(cells, predicted, "labels") for predicted in (0, 1)]
        truly = [100 * positive / people for positive, people in shares]
        series.append(line(group, [100 * chance for chance in CHANCES], truly, style=style))
        off = [abs(100 * chance - share) for chance, share in zip(CHANCES, truly, strict=True)]
        far[group] = sum(offset * people for offset, (_, people) in zip(off, shares, strict=True)) / sum(cells.values())
    premise = "Those predicted positive are given a chance of 80 %, the others one of 20 %."
    sentence = f"The gap is {points_text(max(far.values()) / 100)}."
    return FigureData(
        name="calibrated_groups",
        title=f"What {title.lower()} compares",
        x=Axis("Chance given", "%", range=(0.0, 100.0)),
        panels=(Panel(Axis("Truly positive", "%", range=(0.0, 100.0))),),
        series=(line("Ideal", [0.0, 100.0], [0.0, 100.0], style="muted"), *series),
        caption=f"A made-up example: two groups of 100 people. {premise} {sentence}",
        alt=". ".join(f"{group} is {value:.1f} points off on average" for group, value in far.items()) + ".",
    )


def group_losses(title: str) -> FigureData:
    """Each group's mean loss on the made-up example with two chances; the largest is the level."""
    right, wrong = (-math.log(chance) for chance in reversed(CHANCES))
    losses = {}
    for group, cells in CELLS.items():
        rightly, people = _share(cells, None, "errors")
        losses[group] = (rightly * right + (people - rightly) * wrong) / people
    worst = max(losses, key=losses.__getitem__)
    premise = "Each person's own label is given a chance of 80 % where the prediction is right, else one of 20 %."
    sentence = f"The level is {number_text(losses[worst])}, that of {worst}."
    return FigureData(
        name="group_losses",
        title=f"What {title.lower()} measures",
        x=Axis("Mean loss", range=(0.0, 0.6)),
        panels=(Panel(Axis("")),),
        series=(Series("Mean loss", "bar", tuple(losses), tuple(losses.values()), style="budget"),),
        caption=f"A made-up example: two groups of 100 people. {premise} {sentence}",
        alt=". ".join(f"{group}: {number_text(value)}" for group, value in losses.items()) + f". {sentence}",
        horizontal=True,
    )


def data_flow(flow: Flow) -> FigureData:
    """From the data to the model: what is public, what is protected, and where noise enters; one form for all."""
    names = [_RELEASES.get(release, release) for release in flow.releases]
    predicts = "needs the group\nto predict" if flow.needs_group else "predicts\nfrom features\nalone"
    boxes = [*_data_boxes(flow), _box("Not protected", "box open", 2, (0.0, 3.0), f"model:\n{predicts}")]
    if names:
        span = (0.0, 3.0) if flow.threat_model == "record" else (0.0, 0.9)
        boxes.append(_box("Released with noise", "box noisy", 1, span, "with noise:\n" + "\n".join(names)))
    return FigureData(
        name="data_flow",
        title=f"Where noise enters: {flow.title}",
        x=Axis("", range=(-0.5, 2.5)),
        panels=(Panel(Axis("", range=(-0.1, 3.1))),),
        series=(*boxes, *_arrows(flow)),
        caption=_flow_words(flow, names),
        alt=_flow_words(flow, names),
    )


def _sort_cells(
    cells: Mapping[tuple[int, int], int], conditions: Sequence[int | None], compares: Compares
) -> list[tuple[str, str, list[tuple[int, int]]]]:
    """Return (legend, look, cells): counted, only in the whole that they are a share of, and not looked at."""
    inside = [cell for cell in cells if None in conditions or _given(cell, compares) in conditions]
    hits = [cell for cell in inside if _counts(cell, compares)]
    misses = [cell for cell in inside if cell not in hits]
    parts = (
        ("Counted", "box noisy", hits),
        ("Out of these too", "box part", misses),
        ("Not looked at", "box left out", [cell for cell in cells if cell not in inside]),
    )
    return [part for part in parts if part[2]]


def _cells(
    name: str, style: str, panel: int, own_cells: Sequence[tuple[int, int]], cells: Mapping[tuple[int, int], int]
) -> Series:
    x, y = [float(1 - predicted) for _, predicted in own_cells], [float(label) + 0.5 for label, _ in own_cells]
    low, high = tuple(middle - 0.45 for middle in y), tuple(middle + 0.45 for middle in y)
    text = tuple(f"{cells[cell]}\ntruly {_WORDS[cell[0]]},\npredicted {_WORDS[cell[1]]}" for cell in own_cells)
    return Series(name, "box", tuple(x), tuple(y), low=low, high=high, style=style, panel=panel, text=text)


def _counts(cell: tuple[int, int], compares: Compares) -> bool:
    label, predicted = cell
    return {"decisions": predicted == 1, "errors": label == predicted, "labels": label == 1}[compares]


def _given(cell: tuple[int, int], compares: Compares) -> int:
    """Return what a notion conditions on in a cell: its prediction where labels are compared, else its label."""
    return cell[1] if compares == "labels" else cell[0]


def _share(cells: Mapping[tuple[int, int], int], condition: int | None, compares: Compares) -> tuple[int, int]:
    inside = {cell: count for cell, count in cells.items() if condition in (None, _given(cell, compares))}
    return sum(count for cell, count in inside.items() if _counts(cell, compares)), sum(inside.values())


def _rate(cells: Mapping[tuple[int, int], int], condition: int | None, compares: Compares) -> str:
    part, total = _share(cells, condition, compares)
    return f"{part} of {total} = {percent_text(part / total)}"


def _gap_words(conditions: Sequence[int | None], compares: Compares) -> str:
    gaps = []
    for condition in conditions:
        shares = [part / total for part, total in (_share(cells, condition, compares) for cells in CELLS.values())]
        gaps.append(max(shares) - min(shares))
    largest = "The largest difference, and so the gap, is" if len(gaps) > 1 else "The gap is"
    return f"{largest} {points_text(max(gaps))}."


def _data_boxes(flow: Flow) -> list[Series]:
    hidden = {"attribute": (True, False, False), "record": (True, True, True)}.get(
        flow.threat_model or "", (False,) * 3
    )
    boxes = []
    for row, (name, secret) in enumerate(zip(("sensitive\nattribute", "label", "features"), hidden, strict=True)):
        is_read = row > 0 or flow.reads_group
        kind = ("Protected", "box kept") if secret else ("Not protected", "box open")
        words = f"{name}\n{'protected' if secret else 'not protected'}" + ("" if is_read else ",\nnot read")
        boxes.append(_box(*(kind if is_read else ("Not read by training", "box left out")), 0, (row, row + 0.9), words))
    return boxes


def _box(name: str, style: str, x: float, span: tuple[float, float], text: str) -> Series:
    low, high = span
    return Series(name, "box", (float(x),), ((low + high) / 2,), low=(low,), high=(high,), style=style, text=(text,))


def _arrows(flow: Flow) -> list[Series]:
    rows = [row + 0.45 for row in range(3) if row > 0 or flow.reads_group]
    through = {"attribute": rows[:1], "record": rows}.get(flow.threat_model or "", []) if flow.releases else []
    arrows = [_arrow((0.43, 0.57), row) for row in through]
    arrows += [_arrow((0.43, 1.57), row) for row in rows if row not in through]
    return arrows + ([_arrow((1.43, 1.57), sum(through) / len(through))] if through else [])


def _arrow(x: tuple[float, float], y: float) -> Series:
    return Series("", "arrow", x, (y, y), style="flow")


def _flow_words(flow: Flow, names: Sequence[str]) -> str:
    if flow.threat_model is None:
        return "Nothing is protected: the model comes straight from the data, without noise."
    subject = (
        "Everything that training learns" if flow.threat_model == "record" else "All that is learnt of the attribute"
    )
    return f"{subject} passes through noise: {', '.join(names)}. ε covers {wording.protected(flow.threat_model)}."


_SIZES = [20.0 * 1.3**step for step in range(22)]


def base_rates() -> FigureData:
    """The share of each made-up group that truly is positive."""
    sizes = {group: sum(cells.values()) for group, cells in CELLS.items()}
    shares = [
        100.0 * sum(count for (label, _), count in cells.items() if label) / sizes[group]
        for group, cells in CELLS.items()
    ]
    sentence = ", ".join(f"{group} {share:.0f} %" for group, share in zip(CELLS, shares, strict=True))
    return FigureData(
        name="base_rates",
        title="Base rates of two groups",
        x=Axis("Truly positive", "%", range=(0.0, 100.0)),
        panels=(Panel(Axis("")),),
        series=(Series("Base rate", "bar", tuple(CELLS), tuple(shares), style="part"),),
        caption=f"A made-up example: two groups of {min(sizes.values())} people.",
        alt=f"Base rates: {sentence}.",
        horizontal=True,
    )


def growing_multiplier() -> FigureData:
    """A made-up λ that grows with the gap, which it makes smaller, towards its limit."""
    values = [0.0]
    while len(values) <= _EPOCHS:
        values.append(min(_LIMIT, values[-1] + _STEP * _FIRST_GAP / (1 + values[-1])))
    steps = [float(step) for step in range(len(values))]
    figure = live_multipliers({"multiplier/one constraint": (steps, values)}, limit=_LIMIT)
    return replace(
        figure,
        x=Axis("Epoch"),
        title="A multiplier over training",
        caption="A made-up example: the gap that is left shrinks as λ grows, so λ grows ever less; λ_max is its limit.",
    )


def results_by_seed() -> FigureData:
    """Gap of each stored run of one setting without noise: the seeds alone differ."""
    results = read_start_results()
    first = next(run for run in results.outcomes if run.threat_model is None)
    runs = sorted((run for run in results.outcomes if run.setting == first.setting), key=lambda run: run.seed)
    gaps = [100 * run.gap for run in runs if run.gap is not None]
    title = method_style(first.method).title
    mean = mean_interval(gaps).mean or 0.0
    return FigureData(
        name="results_by_seed",
        title="The same settings, other seeds",
        x=Axis("Seed"),
        panels=(Panel(Axis("Gap", "percentage points")),),
        series=(Series(title, "cloud", tuple(float(run.seed) for run in runs), tuple(gaps), style=first.method),),
        caption=f"{title}: stored results on {results.data['dataset']}, which is public. No noise: seeds alone differ.",
        alt=f"Gaps of {len(gaps)} seeds, from {min(gaps):.2f} to {max(gaps):.2f} percentage points.",
        references=(Reference(mean, f"mean {number_text(mean)}", axis="y"),),
    )


def interval_by_seeds() -> FigureData:
    """Half the 95 % t interval over the number of seeds, in standard deviations between seeds."""
    seeds = [float(count) for count in range(2, _MOST_SEEDS + 1)]
    half = [float(stdtrit(count - 1, 0.975)) / math.sqrt(count) for count in seeds]
    return FigureData(
        name="interval_by_seeds",
        title="Half the interval, by number of seeds",
        x=Axis("Seeds"),
        panels=(Panel(Axis("± in standard deviations", log=True)),),
        series=(line("± of the mean", seeds, half, style="total"),),
        caption="Student's t at 95 %, in standard deviations between single seeds.",
        alt=f"± in standard deviations: {half[0]:.1f} of 2 seeds, {half[3]:.1f} of 5, {half[-1]:.1f} of {_MOST_SEEDS}.",
    )


def noisy_share() -> FigureData:
    """Half the interval of a group's share of one half by the group's size, with and without noise on its count."""
    plain = [100 * 1.96 * math.sqrt(0.25 / size) for size in _SIZES]
    noisy = [100 * 1.96 * math.sqrt(0.25 / size + (_NOISE / size) ** 2) for size in _SIZES]
    return FigureData(
        name="noisy_share",
        title="What noise does to a group's rate",
        x=Axis("People in the group", log=True),
        panels=(Panel(Axis("± of the rate", "percentage points", log=True)),),
        series=(
            line("Sampling and noise", _SIZES, noisy, style="budget"),
            line("Sampling alone", _SIZES, plain, style="muted"),
        ),
        caption=f"A made-up example: a rate of 50 %, its count with normal noise of standard deviation {_NOISE:g}.",
        alt=f"With {_SIZES[0]:.0f} people noise makes ± {noisy[0]:.0f} out of {plain[0]:.0f} points; with "
        f"{_SIZES[-1]:,.0f} people {noisy[-1]:.1f} out of {plain[-1]:.1f}.",
    )
