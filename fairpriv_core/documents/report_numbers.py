"""What a report measures: run table, groups and figures, from raw numbers or from those that ε covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.document import Cell, Part, Section, TablePart, Text
from fairpriv_core.facts import classes, wording
from fairpriv_core.facts.classes import are_groups, compare_classes, find_reference, format_decided, has_classes
from fairpriv_core.facts.compare import fold_exact
from fairpriv_core.facts.measured import Measured
from fairpriv_core.facts.measures import Fact, Measures, cut_interval, find_worst
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.figures import live
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series, Value
from fairpriv_core.figures.figure import Reference as Mark
from fairpriv_core.figures.figures import ACCURACY, EPSILON_AXIS, GroupRates, group_bars
from fairpriv_core.figures.live import fold_curves
from fairpriv_core.figures.origin import PUBLIC, Origin, find_origin
from fairpriv_core.figures.styles import count_earlier, method_style
from fairpriv_core.plain import Json
from fairpriv_core.records.record import RAW, RAW_BUT_ACCURACY
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean
from fairpriv_core.text import in_percent, number_text, percent_text

RATES = {
    "positive_rate": "predicted positive",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "accuracy": "accuracy",
}
_COMPARED = {**RATES, "positive_predictive_value": "positive predictive value"}  # the last where a notion compares it
Point = tuple[Chosen[Kind], Mean, Mean]
_HEAD = ("run", "accuracy %", "± acc.", "gap pp", "± gap", "seeds")
CONSTANT = "always the same answer"
_NEAR = 0.03  # of an axis of accuracy: two names nearer than that are printed over each other
_CLASS_HEAD = ("class", "test rows", "accuracy %", "decided %")


def run_rows(settings: Sequence[Chosen[Kind]]) -> TablePart:
    """Return accuracy and gap of each run, raw, as mean ± 95 % over seeds."""
    rows = tuple(
        (setting.name, *_ends(setting.row.accuracy), *_ends(setting.row.gap), len(setting.row.seeds))
        for setting in settings
    )
    return TablePart(
        _HEAD,
        rows,
        "Mean and half of its 95 % interval over seeds, on the test split.",
        _find_origin(settings, paid=False),
    )


def paid_rows(settings: Sequence[Chosen[Kind]]) -> TablePart:
    """Return what may be published of each run: accuracy and gap, public or covered by ε; of several seeds their mean.

    A number is exact on the test rows where it is public; a noisy one says so.
    """
    rows = []
    for setting in settings:
        numbers, notion = setting.measure(), setting.first.notion
        cells = (*_show_paid(setting, "accuracy", numbers.accuracy), *_show_paid(setting, notion.metric, numbers.gap))
        rows.append((setting.name, *cells, len(setting.runs)))
    words = "±: half of the 95 % interval, over seeds, or of one run over the sampling of its test rows and the noise."
    return TablePart(_HEAD, tuple(rows), f"Numbers without the words “with noise” are exact. {words}")


def _show_paid(setting: Chosen[Kind], name: str, mean: Mean) -> tuple[Cell, Value]:
    """Return a number that may be published, and half of its interval."""
    share, half = _ends(mean)
    fact = setting.first.read(name)
    return f"{number_text(share)} with noise" if fact is not None and fact.kind == "released" else share, half


def constant_rows(settings: Sequence[Chosen[Kind]]) -> tuple[tuple[Cell, ...], ...]:
    """Return what the same answer for everybody reaches on the test rows, of the runs where it may be shown."""
    return tuple(
        (
            CONSTANT if len(marks) == len(settings) else f"{CONSTANT} ({', '.join(marks)})",
            100 * share,
            None,
            None,
            None,
            None,
        )
        for share, marks in _find_constants(settings).items()
    )


def reference_rows(references: Sequence[RunFacts[Kind]]) -> tuple[tuple[Cell, ...], ...]:
    """Return runs without privacy and fairness on the same question, raw."""
    pairs = (
        (f"for reference: no privacy, no fairness (key {reference.key}, seed {reference.seed})", reference)
        for reference in references
    )
    return tuple((name, _show_fact(run.accuracy), None, _show_fact(run.gap), None, 1) for name, run in pairs)


def group_rows(setting: Chosen[Kind], *, paid: bool) -> TablePart | None:
    """Return the groups' rates of the first seed with 95 % intervals; None where there are none."""
    measures = _select(setting, paid=paid)
    if measures is None or not measures.groups:
        return None
    own = {} if has_classes(measures) else {rate: _COMPARED[rate] for rate in setting.first.notion.rates}
    rates = {**_list_rates(measures), **own}
    shares = zip(*(classes.read_groups(measures.found, rate) for rate in rates), strict=True)
    rows = tuple((own[0]["name"], round(own[0]["size"]), *map(wording.share_text, own, rates)) for own in shares)
    note = "In per cent, with 95 % Wilson intervals, on the test split."
    if paid:
        note = (
            "From noisy counts that ε covers: the numbers of test rows carry noise too, so their sum need not be "
            f"{setting.first.data.n_test:,}. In brackets: 95 % interval over the noise and the sampling of the "
            "test rows."
        )
    return TablePart(
        ("group", "test rows", *(f"{title} %" for title in rates.values())), rows, note, Origin(measures.kind)
    )


def _list_rates(measures: Measures[Kind]) -> dict[str, str]:
    """Return the shares of each group that a table has: of many classes the accuracy and where groups differ most."""
    if not has_classes(measures):
        return RATES
    if classes.are_groups(measures.found):
        return {"accuracy": RATES["accuracy"]}
    widest = classes.find_widest(measures.found)
    return {"accuracy": RATES["accuracy"], widest: classes.list_shares(measures.found)[widest]}


def group_figures(settings: Sequence[Chosen[Kind]], *, paid: bool) -> list[Part]:
    """Return the groups' rates that the runs' notions compare, as bars."""
    pairs = [
        (setting, measures) for setting in settings if (measures := _select(setting, paid=paid)) and measures.groups
    ]
    rates = dict.fromkeys(rate for setting, measures in pairs for rate in _compared_rates(setting, measures))
    origin = Origin(find_worst([measures.kind for _, measures in pairs]))
    return [group_bars(_read_bars(pairs, rate), rate=rate, origin=origin) for rate in rates]


def _read_bars(pairs: Sequence[tuple[Chosen[Kind], Measures[Kind]]], rate: str) -> list[GroupRates]:
    """Return the groups of those runs that have the share `rate` of them."""
    matching = [
        (setting, measures.found)
        for setting, measures in pairs
        if rate in (classes.list_shares(measures.found) or _COMPARED)
    ]
    return [
        GroupRates(setting.name, setting.row.method, classes.read_groups(numbers, rate))
        for setting, numbers in matching
    ]


def _compared_rates(setting: Chosen[Kind], measures: Measures[Kind]) -> tuple[str, ...]:
    """Return the groups' shares that a run's notion compares; of many classes that in which groups differ most."""
    usual = setting.first.notion.rates
    return tuple(_list_rates(measures)) if has_classes(measures) and usual != ("accuracy",) else usual


def curve_figures(settings: Sequence[Chosen[Kind]]) -> list[Part]:
    """Return accuracy and gaps while training, raw; [] where no run kept its curves."""
    histories = {setting.number: [live.collect(run.curves) for run in setting.runs] for setting in settings}
    if not any(live.has_epochs(history) for seeds in histories.values() for history in seeds):
        return []
    metrics = dict.fromkeys(["accuracy", *(setting.first.notion.metric for setting in settings)])
    return [
        live.overlay(
            [fold_curves(setting.name, setting.row.method, histories[setting.number], metric) for setting in settings],
            metric=metric,
            origin=find_origin((setting.first.config["data"] for setting in settings), tell=False),
        )
        for metric in metrics
    ]


def chosen_trade_off(
    settings: Sequence[Chosen[Kind]], *, paid: bool, before: Measured | None = None
) -> FigureData | None:
    """Return accuracy against gap, one point a run with its 95 % interval; None where no run has both.

    `paid`: from what ε covers alone. Without a gap that was paid for, accuracy stands over ε instead. `before` is what
    the runs are held against.
    """
    titles = dict.fromkeys(setting.first.notion.title for setting in settings)
    numbers = [(setting, setting.measure() if paid else setting.row) for setting in settings]
    points = [
        (setting, cut_interval(own.accuracy), cut_interval(own.gap, setting.first.notion))
        for setting, own in numbers
        if own.accuracy.mean is not None
    ]
    gap_points = [point for point in points if point[2].mean is not None]
    if gap_points:
        axis = Axis("Gap" if len(titles) > 1 else f"{next(iter(titles))} gap", "percentage points", with_zero=True)
        return _add_before(_scatter(gap_points, axis, settings, paid=paid), before, paid=paid)
    budgets = ((setting, accuracy, setting.row.epsilon) for setting, accuracy, _ in points)
    over = [(setting, accuracy, Mean(at / 100, None, None, 1)) for setting, accuracy, at in budgets if at is not None]
    return _scatter(over, EPSILON_AXIS, settings, paid=paid) if over else None


def _scatter(points: Sequence[Point], x: Axis, settings: Sequence[Chosen[Kind]], *, paid: bool) -> FigureData:
    """Return accuracy over `x`, in hundredths of whose unit the second mean is; `settings` are all runs."""
    variations = count_earlier([setting.row.method for setting, _, _ in points])
    series = [
        _draw_point(setting.name, setting.row.method, at, accuracy, text=setting.mark, variation=variation)
        for (setting, accuracy, at), variation in zip(points, variations, strict=True)
    ]
    sentence = "; ".join(f"{s.name}: accuracy {number_text(s.y[0])} % at {number_text(float(s.x[0]))}" for s in series)
    better = "" if x.log else "Up and to the left is better. "
    return FigureData(
        name="chosen_trade_off",
        title="Accuracy against fairness gap" if not x.log else "Accuracy over the privacy budget",
        x=x,
        panels=(Panel(ACCURACY),),
        series=tuple(series),
        caption=f"{better}{_format_absent(points, settings)}{_format_whiskers(points, paid=paid)}",
        alt=f"Accuracy over {x.label}. {sentence}.",
        references=_mark_constants(settings),
        origin=_find_origin([setting for setting, _, _ in points], paid=paid),
    )


def _draw_point(name: str, style: str, x: Mean, accuracy: Mean, *, text: str, variation: int = 0) -> Series:
    """Return a point with whiskers where its intervals are known; `x` in hundredths of its axis' unit."""
    ends = [[in_percent(end) for end in (mean.mean, mean.low, mean.high)] for mean in (x, accuracy)]
    (place, left, right), (y, low, high) = ends
    point = Series(name, "points", (place or 0.0,), (y,), style=style, variation=variation, text=(text,))
    point = point if low is None or high is None else replace(point, low=(low,), high=(high,))
    return point if left is None else replace(point, x_low=(left,), x_high=(right,))


def _add_before(figure: FigureData, before: Measured | None, *, paid: bool) -> FigureData:
    """Return a figure with the point of what its runs are held against, where accuracy and gap of that are known."""
    if before is None:
        return figure
    gap, accuracy = before.gap, before.accuracy
    if gap.mean is None or accuracy.mean is None:
        return figure
    name = method_style(before.method).title
    if gap.n == 1 and not paid:  # one seed's whiskers are not drawn beside raw points without them
        gap, accuracy = (Mean(mean.mean, None, None, 1) for mean in (gap, accuracy))
    point = _draw_point(name, before.method, gap, accuracy, text="plain")
    sentence = f" {name}: accuracy {number_text(point.y[0])} % at {number_text(float(point.x[0]))}."
    worst = find_worst([figure.origin.kind, before.kind])
    origin = figure.origin if worst == figure.origin.kind else Origin(worst)
    return replace(figure, series=(*figure.series, point), alt=f"{figure.alt}{sentence}", origin=origin)


def _mark_constants(settings: Sequence[Chosen[Kind]]) -> tuple[Mark, ...]:
    """Return a line for each accuracy of the same answer for everybody; lines that nearly meet have one name."""
    together: list[list[float]] = []
    for share in sorted(_find_constants(settings)):
        if together and share - together[-1][-1] < _NEAR:
            together[-1].append(share)
        else:
            together.append([share])
    return tuple(
        Mark(100 * share, "" if place else f"{CONSTANT}: {_format_ends(near)}", axis="y")
        for near in together
        for place, share in enumerate(reversed(near))
    )


def _format_ends(shares: Sequence[float]) -> str:
    low, high = number_text(100 * shares[0]), percent_text(shares[-1])
    return high if len(shares) == 1 else f"{low} to {high}"


def _format_absent(points: Sequence[Point], settings: Sequence[Chosen[Kind]]) -> str:
    """Return which of the runs are not drawn."""
    numbers = {setting.number for setting, _, _ in points}
    absent = [setting.mark for setting in settings if setting.number not in numbers]
    return f"Not drawn, since they lack a number that this needs: {', '.join(absent)}. " if absent else ""


def _format_whiskers(points: Sequence[Point], *, paid: bool) -> str:
    has_seeds = any(len(setting.runs) > 1 for setting, _, _ in points)
    if paid:
        has_intervals = any(mean.low is not None for _, accuracy, at in points for mean in (accuracy, at))
        words = "95 % over the sampling of the test rows and the noise" + ("; of several seeds, over these" * has_seeds)
        whiskers = f"Whiskers: {words}. " if has_intervals else ""
        return f"{whiskers}From numbers that are public or that ε covers."
    seeds = "Whiskers: 95 % interval of the mean over seeds." if has_seeds else wording.ONE_SEED
    return seeds


def _find_origin(settings: Sequence[Chosen[Kind]], *, paid: bool) -> Origin:
    """Return whose the runs' exact numbers are, or `paid` those that may be published.

    The mark of a raw origin names the runs whose accuracy may be published, where these are not all.
    """
    if paid:
        return Origin(find_worst([setting.measure().kind for setting in settings]))
    if all(setting.first.data.published or setting.first.data.answered for setting in settings):
        return PUBLIC
    public = [setting.mark for setting in settings if setting.accuracy_is_public]
    if 0 < len(public) < len(settings):
        some = f"But the accuracy of {', '.join(public)} may be published: it follows from what is public."
        return Origin("raw", mark=f"{RAW} {some}")
    return Origin("raw", mark=RAW_BUT_ACCURACY if public else RAW)


def _find_constants(settings: Sequence[Chosen[Kind]]) -> dict[float, list[str]]:
    """Return the accuracy of the same answer for everybody, with the runs on whose test rows it is; to 0.0001."""
    marks_by_accuracy: dict[float, list[str]] = {}
    for setting in settings:
        mean = fold_exact(setting.runs, "constant_accuracy").mean
        if mean is not None:
            marks_by_accuracy.setdefault(round(mean, 4), []).append(setting.mark)
    return marks_by_accuracy


def _ends(mean: Mean) -> tuple[Value, Value]:
    half = mean.half
    return in_percent(mean.mean), in_percent(half)


def build_classes(settings: Sequence[Chosen[Kind]], *, paid: bool) -> tuple[Section, ...]:
    """Return the classes of each run's first seed, and over all seeds what they lose; () where there are two labels."""
    parts: list[Part] = []
    for setting in settings:
        table = class_rows(setting, paid=paid)
        if table is not None:
            seeds = f", seed {setting.row.seeds[0]}" if len(setting.runs) > 1 else ""
            parts += [Text(f"{setting.name}{seeds}. {format_decided(_find(setting, paid=paid))}"), table]
    if not parts:
        return ()
    with_classes = [setting for setting in settings if has_classes(_select(setting, paid=paid))]
    bars = [
        GroupRates(setting.name, setting.row.method, _find(setting, paid=paid)["classes"]) for setting in with_classes
    ]
    if not all(
        are_groups(_find(setting, paid=paid)) for setting in with_classes
    ):  # else they stand among the groups' figures
        origin = Origin(
            find_worst([measures.kind for setting in with_classes if (measures := _select(setting, paid=paid))])
        )
        parts.append(group_bars(bars, rate="accuracy", of="class", origin=origin))
    losses = None if paid else loss_rows(with_classes)
    title = "Classes, from noisy counts" if paid else "Classes"
    return (Section(title, (*parts, *(() if losses is None else (losses,)))),)


def class_rows(setting: Chosen[Kind], *, paid: bool) -> TablePart | None:
    """Return how each class fares in the first seed, with 95 % intervals; None where there are two labels."""
    measures = _select(setting, paid=paid)
    if measures is None or not has_classes(measures):
        return None
    numbers = measures.found
    rows = tuple(
        (part["name"], round(part["size"]), wording.share_text(part, "accuracy"), wording.share_text(part, "decided"))
        for part in numbers["classes"]
    )
    noisy = "From noisy counts that ε covers. In brackets: 95 % over the noise and the sampling of the test rows."
    exact_note = "Accuracy is among the class's own rows; decided, the share of all rows. 95 % Wilson intervals."
    return TablePart(_CLASS_HEAD, rows, noisy if paid else exact_note, Origin(measures.kind))


def loss_rows(settings: Sequence[Chosen[Kind]]) -> TablePart | None:
    """Return what each class gains or loses against the run for accuracy alone; None where that is not among them."""
    reference = find_reference([setting.row.method for setting in settings])
    places = [at for at in range(len(settings)) if at != reference]
    if reference is None or not places:
        return None
    lines = compare_classes([setting.runs for setting in settings], reference=reference)
    rows: list[tuple[Cell, ...]] = []
    for line in lines:
        base = line.accuracies[reference].mean
        gains = (line.gains[at] for at in places)
        rows.append((line.name, *(None if share is None else 100 * share for share in (base, *gains))))
    head = ("class", f"accuracy %, {settings[reference].mark}", *(f"{settings[at].mark}, pp" for at in places))
    note = "Percentage points gained, where negative lost, against the run that is trained for accuracy alone; means"
    return TablePart(head, tuple(rows), f"{note} over seeds.", _find_origin(settings, paid=False))


def _select(setting: Chosen[Kind], *, paid: bool) -> Measures[Kind] | None:
    """Return the first seed's numbers: those of its private evaluation, or exact ones."""
    return setting.first.released if paid else setting.first.exact


def _find(setting: Chosen[Kind], *, paid: bool) -> Json:
    measures = _select(setting, paid=paid)
    return {} if measures is None else measures.found


def _show_fact(fact: Fact[Kind] | None) -> Value:
    return None if fact is None else 100 * fact.value
