"""The story of finished runs in five steps, for people who decide: on numbers that are paid for or public alone.

Who is decided about, the gap today, what privacy means, what it costs, and what was chosen. Each step has one number,
one sentence, a picture as data, and notes for whoever presents it. How it is shown comes after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.documents.summary import find_before, format_privacy
from fairpriv_core.facts.headline import (
    About,
    call_people,
    format_prediction,
    may_be_before,
    read_about,
    write_headline,
)
from fairpriv_core.facts.measured import Measured, difference
from fairpriv_core.facts.measures import Open
from fairpriv_core.ledger.report import Spent
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.stats import Mean, number, spread
from fairpriv_core.text import delta_text, epsilon_text

_OF = 100
_UNPAID = "No fairness number may be shown: private evaluation was off, so ε covers none."
_TOO_FEW = "The largest gap may not be shown: a group has too few rows."
_AMONG_LARGE = "A group has too few rows: gaps are between the others."
_UNKNOWN = "How many people belong to which group may not be shown: no ε covers it."
_TO_HAVE_ONE = ("What it takes", ("Train with a private evaluation: a part of ε then covers these numbers.",))
_NOT_FAIR = "ε does not say that the model is fair or right: it limits what the model reveals about one person."


@dataclass(frozen=True)
class Crowd:
    """A hundred people as dots, `filled` of them marked; `label` says who they are and how many are marked."""

    label: str
    filled: int


@dataclass(frozen=True)
class Bar:
    """A share out of 100 with the ends of its interval, or None; `label` says what it is of."""

    label: str
    share: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """Shares side by side; `caption` says what is counted."""

    bars: tuple[Bar, ...]
    caption: str


@dataclass(frozen=True)
class Odds:
    """A proved ε as dots: how `sure` an attacker who began at even odds can end, in 100; no ε: nothing limits it."""

    epsilon: float | None
    sure: int


@dataclass(frozen=True)
class Line:
    """One setting in the curve: its name and style, gap in points and accuracy in % with their ends, and a sentence."""

    name: str
    style: str
    gap: tuple[float, float, float]
    accuracy: tuple[float, float, float]
    sentence: str


@dataclass(frozen=True)
class CostCurve:
    """What settings trade: a line from `before` (None where it may not be shown) to each of `lines`.

    `constant` is the accuracy of one answer for everybody in %, where there is no `before`.
    """

    before: Line | None
    lines: tuple[Line, ...]
    constant: float | None = None


@dataclass(frozen=True)
class Lists:
    """Short lists under their heads."""

    lists: tuple[tuple[str, tuple[str, ...]], ...]


Picture = tuple[Crowd, ...] | Bars | Odds | CostCurve | Lists


@dataclass(frozen=True)
class Step:
    """One step: a title, one number with its unit ("" where none may be shown), one sentence, a picture, and notes."""

    title: str
    number: str
    unit: str
    sentence: str
    picture: Picture
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """Five steps on the runs of one question; `source` says where the numbers are from."""

    title: str
    headline: str
    source: str
    steps: tuple[Step, ...]


def build_story(settings: Sequence[Chosen[Open]], beside: ReportData, chosen_number: int = 1) -> Story:
    """Return the story of `settings`, runs as policy may see them; those on another question than its run are left out.

    `chosen_number` is the number of the run that was chosen; another number stands for the first one.
    """
    run = next((setting for setting in settings if setting.number == chosen_number), settings[0])
    same = [setting for setting in settings if setting.first.question == run.first.question]
    measured_by_number = {setting.number: setting.measure(setting.name.partition(": ")[2]) for setting in same}
    unfair = [numbers for numbers in measured_by_number.values() if may_be_before(numbers, measured_by_number.values())]
    plain = [numbers for numbers in unfair if methods()[numbers.method].info.threat_model is None]
    candidates = [
        numbers
        for numbers in (*plain, find_before([run], beside.references), *unfair)
        if numbers and numbers.among_large.mean is not None
    ]
    before = candidates[0] if candidates else None
    about, measured_run = read_about(run.first), measured_by_number[run.number]
    alternatives = [numbers for numbers in measured_by_number.values() if numbers is not before]
    headline = write_headline([measured_run], about, before=None if measured_run is before else before)
    steps = (
        _build_people(run, about, measured_run),
        _build_gap(run, about, measured_run, before),
        _build_privacy(run),
        _build_costs(run, measured_run, alternatives or [measured_run], before if alternatives else None),
        _build_choice(run, about, measured_run, None if measured_run is before else before, beside.ledger),
    )
    sentence = f"{headline.outcome} {headline.sentence}".strip()
    return Story(
        run.first.data.title.removeprefix("an own file, "), sentence, " ".join((headline.note, *beside.origins)), steps
    )


def _build_people(run: Chosen[Open], about: About, setting: Measured) -> Step:
    """Return who is decided about, and how; the groups as people out of 100."""
    data = run.first.data
    total = sum(setting.sizes.values())
    shares = {name: round(_OF * size / total) for name, size in setting.sizes.items()} if total else {}
    crowds = tuple(Crowd(f"{share} of 100: {about.call(name)}", share) for name, share in shares.items())
    unit = f"{data.unit}s".replace("persons", "people")
    decision = f"who is {about.predicted}" if about.predicted else f"which {data.label} is theirs"
    label = f" ({data.label})" if data.own_file and about.predicted else ""
    return Step(
        "Who is decided about, and how",
        f"{data.n_train + data.n_test:,}",
        unit,
        f"A model decides {decision}{label}. Does it treat {about.people} alike?",
        crowds or Lists(((f"Groups of {about.attribute}", tuple(map(about.call, about.groups))),)),
        (
            f"Data: {data.title}. {data.summary}",
            f"The model learned from {data.n_train:,} {unit} and was measured on {data.n_test:,} others.",
            *(() if total else (_UNKNOWN,)),
            *data.caveats,
        ),
    )


def _build_gap(run: Chosen[Open], about: About, setting: Measured, before: Measured | None) -> Step:
    """Return the gap without fairness where it is known, else that of what was chosen."""
    subject, has_before = before or setting, before is not None
    notes = [run.first.asks, f"When it misleads: {run.first.notion.misleads}"]
    if not has_before:
        notes.insert(0, "Without fairness the gap may not be shown: no ε covers it. This is the gap of what we chose.")
    if subject.among_large.mean is None:
        return Step("The gap", "", "", _format_missing(run), Lists((_TO_HAVE_ONE,)), tuple(notes))
    plain = subject.method == REFERENCE_METHOD
    without = "Without privacy and fairness" if plain else f"Without fairness ({subject.name})"
    sentence = (
        f"{without if has_before else 'With what we chose'}, {about.gap} is {spread(subject.among_large)} points."
    )
    if subject.gap.mean is None:
        sentence += f" {_AMONG_LARGE}"
    title = ("The gap today" if plain else "The gap without fairness") if has_before else "The gap"
    return Step(title, number(subject.among_large.mean), "points", sentence, _draw_gap(subject, about), tuple(notes))


def _draw_gap(setting: Measured, about: About) -> Bars:
    """Return the share of each group that the notion compares, of the first seed; without any, the gap itself."""
    bars = tuple(
        Bar(call_people(group.name, about), _OF * group.share, group.interval and _in_hundred(group.interval))
        for group in setting.groups
    )
    if not bars:
        ends = (setting.among_large.low, setting.among_large.high)
        interval = None if ends[0] is None or ends[1] is None else _in_hundred((ends[0], ends[1]))
        return Bars((Bar(about.gap, _OF * (setting.among_large.mean or 0.0), interval),), "In percentage points.")
    count = format_prediction(about) if about.predicted else f"count for {about.notion.title.lower()}"
    seeds = f" First of {setting.gap.n} seeds." if setting.gap.n > 1 else ""
    whiskers = " Thin lines: 95 % intervals." if any(bar.ends for bar in bars) else ""
    return Bars(bars, f"Of 100, those who {count}.{seeds}{whiskers}")


def _in_hundred(interval: tuple[float, float]) -> tuple[float, float]:
    return _OF * interval[0], _OF * interval[1]


def _build_privacy(run: Chosen[Open]) -> Step:
    """Return what privacy means, as dots."""
    epsilon, sure, title = run.first.epsilon, run.first.epsilon.sure, "What privacy means"
    move = "Move the slider: a smaller ε protects more, and adds more noise."
    if sure is None:
        return Step(title, f"{_OF}", "% certain is possible", epsilon.odds, Odds(None, _OF), (move,))
    attribute = epsilon.threat_model == "attribute"
    what = f"of a person's {run.first.data.sensitive}" if attribute else "whether a person's record was used"
    return Step(
        title,
        f"{sure}",
        "% certain, at most",
        f"At ε = {epsilon_text(epsilon.proved)}, a 50:50 guess {what} becomes at most {sure} % certain.",
        Odds(epsilon.proved, sure),
        (
            f"It is proved, and can fail with a chance of {delta_text(epsilon.delta)}.",
            move,
            epsilon.odds,
        ),
    )


def _format_missing(run: Chosen[Open]) -> str:
    """Return why a run has no gap that may be shown."""
    return _UNPAID if run.first.released is None else _TOO_FEW


def _build_costs(run: Chosen[Open], choice: Measured, settings: Sequence[Measured], before: Measured | None) -> Step:
    """Return how many right answers the choice costs, and each setting as a line from the model without fairness."""
    lines = tuple(line for setting in settings if (line := _draw(setting, before)) is not None)
    notes: tuple[str, ...] = (
        "Each arrow lights one setting.",
        "Up and to the left is better. Whiskers: 95 % intervals.",
    )
    moves = [
        difference(other, before, "accuracy") for other in ([choice] if choice in settings else settings) if before
    ]
    losses = [loss for loss in moves if loss.mean is not None]
    amount, unit, sentence = _format_cost(losses, before) if losses else _format_accuracy(choice)
    sentence = (
        f"With {choice.name}, {sentence[0].lower()}{sentence[1:]}"
        if sentence and choice in settings and len(settings) > 1
        else sentence
    )
    if any(setting.gap.mean is None for setting in settings):
        notes = (*notes, _AMONG_LARGE)
    if not lines:
        return Step("What it costs", amount, unit, sentence or _format_missing(run), Lists((_TO_HAVE_ONE,)), notes)
    start = None if before is None else _draw(before, None)
    constant = None if start is not None or choice.constant is None else _OF * choice.constant
    return Step("What it costs", amount, unit, sentence, CostCurve(start, lines, constant), notes)


def _format_cost(moves: Sequence[Mean], before: Measured | None) -> tuple[str, str, str]:
    """Return how many right answers fewer there are, as a number, its unit, and a sentence."""
    means = [move.mean or 0.0 for move in moves]
    is_gain = min(means) > 0
    low, high = (min(means), max(means)) if is_gain else (-max(means), -min(means))
    amount = number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"
    sentence = "Nothing is given up." if is_gain else "So much accuracy is given up to close the gap and to add noise."
    if all(map(_may_be_none, moves)):
        sentence += " No change is clear: each interval includes none."
    without = "protection" if before is not None and before.method == REFERENCE_METHOD else "fairness"
    return amount, f"{'more' if is_gain else 'fewer'} right answers in 100 than without {without}", sentence


def _format_accuracy(setting: Measured) -> tuple[str, str, str]:
    """Return the accuracy, its unit, and what it is held against, where nothing without protection may be shown."""
    if setting.accuracy.mean is None:
        return "", "", ""
    sentence = "What that costs is not known: no number without protection may be shown."
    if setting.method == REFERENCE_METHOD:
        sentence = "Nothing is protected, so nothing is given up."
    if setting.constant is not None:
        sentence += f" One answer for everybody is right in {number(setting.constant)}."
    return number(setting.accuracy.mean), "right answers in 100", sentence


def _draw(setting: Measured, before: Measured | None) -> Line | None:
    gap, accuracy = setting.among_large, setting.accuracy
    if gap.mean is None or accuracy.mean is None:
        return None
    sentence = f"{setting.name}: gap {spread(gap)} points, accuracy {spread(accuracy)} %"
    move = None if before is None else difference(setting, before, "accuracy")
    if move is not None and _may_be_none(move):
        sentence += ", no clear loss of accuracy"
    name = setting.name or "without privacy and fairness"
    return Line(name, setting.method, _list_ends(gap), _list_ends(accuracy), f"{sentence}.")


def _may_be_none(move: Mean) -> bool:
    """Return whether the interval of a difference includes 0."""
    return move.low is not None and move.high is not None and move.low <= 0 <= move.high


def _list_ends(mean: Mean) -> tuple[float, float, float]:
    """Return a mean and the ends of its interval, of 100; the mean for an end that is not known."""
    value = mean.mean or 0.0
    low, high = (value if end is None else end for end in (mean.low, mean.high))
    return _OF * value, _OF * low, _OF * high


def _build_choice(
    run: Chosen[Open], about: About, setting: Measured, before: Measured | None, ledger: Sequence[Spent]
) -> Step:
    """Return the chosen setting, what it gives up, and what ε does not cover."""
    headline = write_headline([setting], about, before=before)
    gives = []
    move = None if before is None else difference(setting, before, "accuracy")
    if move is not None and move.mean is not None:
        unsure = ", no clear change" if _may_be_none(move) else ""
        way = "lost" if move.mean < 0 else "gained"
        gives.append(f"{number(abs(move.mean))} points of accuracy are {way}{unsure}.")
    remains = setting.among_large
    if remains.mean is not None:
        gives.append(f"A gap of {spread(remains)} points remains.")
    if setting.gap.mean is None:
        gives.append(_format_missing(run) if remains.mean is None else _AMONG_LARGE)
    lists = (("What it gives up", tuple(gives)), ("What is not covered", _list_uncovered(run)))
    privacy = format_privacy(run.first)
    notes = (*(() if privacy is None else (privacy,)), headline.note, *map(_format_spent, ledger))
    amount, unit = ("", "") if remains.mean is None else (number(remains.mean), "points of gap")
    if not amount and setting.accuracy.mean is not None:
        amount, unit = number(setting.accuracy.mean), "right answers in 100"
    sentence = f"{headline.outcome} {headline.sentence}".strip()
    return Step(f"What we chose: {setting.name}", amount, unit, sentence, Lists(lists), notes)


def _list_uncovered(run: Chosen[Open]) -> tuple[str, ...]:
    epsilon, data = run.first.epsilon, run.first.data
    if epsilon.proved is None:
        return ("Nothing is protected: no ε is proved.", _NOT_FAIR)
    if epsilon.threat_model == "attribute":
        only = f"Only {data.sensitive} is protected, nothing else of a {data.unit}."
        return (only, f"Other columns may reveal {data.sensitive}.", _NOT_FAIR)
    return ("What the data says of people in general.", _NOT_FAIR)


def _format_spent(total: Spent) -> str:
    what = "whole records" if total.column is None else total.column
    cost = "without a bound" if total.epsilon is None else f"ε = {epsilon_text(total.epsilon)}"
    return f"All {total.runs:,} runs on {total.data} together have spent, of {what}: {cost}."
