"""What a figure or table of a paper is, as data: the runs behind it, how it is drawn, what was printed, what it claims.

A preset names numbers of run records by their paths: "metrics/accuracy", "config/epsilon", "config/method/clip_primal",
"metrics/groups/Female/accuracy" (of a list, the item of that name). Three paths are worked out: "gap" is the gap of
the run's own notion, "seconds_per_epoch" the training time over the epochs, of runs that train together an equal share
each, so that it has no interval, and "same_answer" the share of test rows that are given the most frequent answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Required, TypedDict

from fairpriv_core.errors import BadInput

Where = Mapping[str, object]  # path -> the value that a record has there, or a tuple of those that it may have
Method = dict[str, Any]  # a method of a sweep: its name, and hyper-parameters by name
Measure = Literal["", "bias_variance", "clipped", "errors", "excess_risk", "membership", "shifted", "training"]
#: what a worker finds out of finished runs beside their metrics, in words
MEASURES: Mapping[Measure, str] = {
    "bias_variance": "the bias and variance term τ of each run's gradients",
    "clipped": "how many gradients of each group are above C_p",
    "errors": "how far a step's releases lie from the true ones, and the bounds on it",
    "excess_risk": "how far each run's training loss lies above the least, and the bound on it",
    "membership": "how well four attackers tell who was trained on",
    "shifted": "how large the gap is where test rows' groups and labels are shifted",
    "training": "how accurate and how fair each run was while it trained",
}


@dataclass(frozen=True)
class Mark:
    """A level to compare a value with, drawn as a dashed line: the mean of what stands at `path`, and its name."""

    path: str
    name: str


@dataclass(frozen=True)
class Value:
    """A number of a record: its path, its title and unit, how it is shown, and the level to compare it with.

    Shown is `scale` times the number, or times 1 minus the number for a `complement` (an error from an accuracy). In
    the path "*" stands for the `step` of a figure's column or of a claim's case. Ours is the paper's where it is within
    `tolerance` of it, in shown units: half a point of an accuracy and a point of a gap, written before anything ran.
    """

    path: str
    title: str
    unit: str = ""
    scale: float = 1.0
    complement: bool = False
    log: bool = False
    mark: Mark | None = None
    tolerance: float = 0.0


@dataclass(frozen=True)
class Part:
    """A name for the records with given values: a series, a column, a row, or a case of a claim.

    `style` is the method's id where it is drawn; `variation` sets series of one method apart (1 for as published).
    `step` is what stands for "*" in the paths of the values that a column or a case is of.
    """

    name: str
    where: Where = field(default_factory=dict)
    style: str = "ink"
    variation: int = 0
    step: str = ""


@dataclass(frozen=True)
class Plot:
    """A figure's arrangement.

    Attributes:
        kind: "line": `rows` over the setting `x`, means over seeds with bands, runs without that setting as level
            lines; "curve": means over training, `x` its title, at the epochs `steps`, or over what else has a number
            at each step; the columns are methods, whose series differ in a setting; "points": means of `rows` over
            means of the number `x`, joined in the order of `along`; "bar": the columns are categories and the series
            stand beside each other.
        x: what the horizontal axis shows; of bars it is not used.
        rows: one plot each, from top to bottom.
        columns: one figure each, from left to right.
        series: one line, chain of points, or bar each.
        along: the setting that tells the points of a series apart; of several, the first that its runs have.
        across: the rows stand beside each other as figures of their own, not below each other.
        steps: of a curve what stands for "*" in the rows' paths, one point each.
    """

    kind: Literal["line", "curve", "points", "bar"]
    x: Value
    rows: tuple[Value, ...]
    series: tuple[Part, ...]
    columns: tuple[Part, ...] = (Part(""),)
    along: Value | tuple[Value, ...] = ()
    across: bool = False
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """A table's arrangement: a line for each of `rows`, a cell for each of `columns` with the mean of its value."""

    rows: tuple[Part, ...]
    columns: tuple[tuple[Part, Value], ...]


@dataclass(frozen=True)
class GainTable:
    """A table's arrangement: a line for each cell of mean gains, with both sides and the gain at the cell's level."""

    gains: tuple[MeanGain, ...]


Drawing = Plot | PaperTable | GainTable


@dataclass(frozen=True)
class Quantity:
    """The mean of a value over the records with the given values, or its standard deviation over them ("spread")."""

    name: str
    value: Value
    where: Where = field(default_factory=dict)
    of: Literal["mean", "spread"] = "mean"


@dataclass(frozen=True)
class Compare:
    """That `one` minus `other` (as_ratio: over it) lies in [low, high], in shown units; `other` may be a number.

    On means; with `failing` at single runs, where both sides are of the same runs, else at single seeds. It is the
    share of them at which the paper's promise may fail, in [0, 1].
    """

    one: Quantity
    other: Quantity | float
    low: float | None = None
    high: float | None = None
    as_ratio: bool = False
    failing: float | None = None


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints, in the unit in which ours is shown, and where it stands.

    Ours is a quantity, or a comparison without bounds: the difference or ratio of two. The two agree where our whole
    interval is within `tolerance` of the printed number; None takes that of the value. A number that may be read in
    several ways stands here once for each `reading`, under one label.
    """

    label: str
    number: float
    source: str
    ours: Quantity | Compare
    tolerance: float | None = None
    reading: str = ""

    @property
    def allowed(self) -> float:
        """How far ours may lie from the printed number, in shown units."""
        value = self.ours.one.value if isinstance(self.ours, Compare) else self.ours.value
        return value.tolerance if self.tolerance is None else self.tolerance


@dataclass(frozen=True)
class Trend:
    """That the mean of `what` goes one way from the smallest to the largest value of the setting `along`.

    Between neighbours it may go the other way by `slack`, in shown units.
    """

    what: Quantity
    along: Value
    way: Literal["up", "down"]
    slack: float = 0.0


@dataclass(frozen=True)
class Best:
    """That the mean of `what` is smallest or largest where the setting `along` lies in [low, high]."""

    what: Quantity
    along: Value
    want: Literal["smallest", "largest"]
    low: float
    high: float


@dataclass(frozen=True)
class Reach:
    """That `one` minus `other` lies in [low, high], each at its setting with the smallest mean, at each of the levels.

    Settings are those of the quantity's runs, seeds apart, of which the mean of `level` is at least one of `at_least`,
    in shown units and rising: "the violation at an accuracy of 81 to 82.5 %". Where one side has none, the other side
    has the better of it. `other` may be a number, such as authors' own at that level. Which settings reach a level is
    itself known by seeds alone, so a verdict must hold for all that may.
    """

    one: Quantity
    other: Quantity | float
    level: Value
    at_least: tuple[float, ...]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class MeanGain:
    """That `one` is below `other` by `low` % of it or more on average over `cells`, such as a data set at a budget.

    A cell is where its runs are, and levels of the mean of `level` there, in shown units: both sides are taken at each
    of them as `Reach` takes them, and it must hold at each. Cells without runs are left out.
    """

    one: Quantity
    other: Quantity
    level: Value
    cells: tuple[tuple[Part, tuple[float, ...]], ...]
    low: float


@dataclass(frozen=True)
class Differ:
    """That the means of `one` and `other` differ at each value of the setting `along`.

    A paired, two-tailed t test over seeds has a p below `below` there. A larger p settles nothing. Runs of one side
    without that setting are compared with the other's at each value.
    """

    one: Quantity
    other: Quantity
    along: Value
    below: float


Check = Compare | Trend | Best | Reach | MeanGain | Differ


@dataclass(frozen=True)
class PaperClaim:
    """What the paper says, where it stands, and the check that we make of it, which must hold in each of the cases.

    Attributes:
        says: ends "The paper says that …", in our words and without a full stop.
        source: where it stands.
        check: of what the paper had: methods as published, and methods without variants.
        cases: where it must hold.
        reading: ends "We take it as: …", where its words leave that open.
        ours: the same check of our proved variant, which the paper never had; it says nothing of the paper.
        lost: which settings of the paper's the check has not, where our text lacks them, so that no case can differ.
    """

    says: str
    source: str
    check: Check
    cases: tuple[Part, ...] = (Part(""),)
    reading: str = ""
    ours: Check | None = None
    lost: str = ""


@dataclass(frozen=True)
class Released:
    """Points (x, y) that authors released of a figure's column, in shown units, what they are called, and a style."""

    column: str
    name: str
    points: tuple[tuple[float, float], ...]
    style: str = "ink"


class SweepAxes(TypedDict, total=False):
    """The axes of a paper's sweep: its runs are all combinations."""

    data: list[Mapping[str, Any]]
    notion: list[str]
    method: list[Method]
    epsilon: list[float]
    seed: list[int]


class PaperSweep(TypedDict, total=False):
    """A sweep in the form that `build_sweep` reads."""

    data: Mapping[str, Any]
    notion: str
    epsilon: float
    split: str
    private_evaluation: bool
    axes: Required[SweepAxes]
    sweep: Mapping[str, int]


@dataclass(frozen=True)
class Version:
    """The runs of a preset at one size: sweeps in the form that `build_sweep` reads, and what the size is.

    None makes a private evaluation: the papers' runs do not.
    """

    sweeps: tuple[PaperSweep, ...]
    size: str

    def __post_init__(self) -> None:
        plain: tuple[PaperSweep, ...] = tuple({"private_evaluation": False, **sweep} for sweep in self.sweeps)
        object.__setattr__(self, "sweeps", plain)


@dataclass(frozen=True)
class Preset:
    """A figure or table of a paper.

    Attributes:
        id: "pf_ld.figure2": the paper's id and the figure's or table's name there.
        title: as the paper calls it, with what it is about.
        shows: what the paper did and shows, in a sentence or two.
        settings: what the paper says of its settings, and what we chose where it says nothing.
        full, small: the runs; None for an entry that waits for something.
        drawing: how they are arranged.
        printed: the numbers that the paper prints; where there are none, `not_printed` says so in a sentence.
        claims: what the paper concludes from it, as checks.
        privacy: what is proved of the budgets in it, in plain words; where a claim of the paper does not hold.
        measured: of MEASURES what is found of each finished run beside its metrics, at "clipped/GROUP", at
            "bias_variance/tau", at "errors/gradient" or "errors/violation" and their "_bound", at "excess_risk/found",
            "/bound" and "/untrained", at "membership/ATTACKER/auc" and "/advantage" ("chance": what guessing finds
            out), at "shifted/worst/PERCENT" and "shifted/even/PERCENT", or at "training/accuracy/EPOCH" and
            "training/gap/EPOCH".
        made_from: the ids of those whose runs it shows, where it has none of its own: the versions' sweeps are theirs,
            and of it nothing is kept.
        waits_for: the sentence that says why it cannot run; "" for one that can.
        released: the authors' own figure data, which a figure of points shows beside ours.
        caution: what is to be said of them.
        test: what a test would take, where none of its claims is tested.
    """

    id: str
    title: str
    shows: str
    settings: str = ""
    full: Version | None = None
    small: Version | None = None
    drawing: Drawing | None = None
    printed: tuple[Printed, ...] = ()
    not_printed: str = ""
    claims: tuple[PaperClaim, ...] = ()
    privacy: str = ""
    measured: Measure = ""
    made_from: tuple[str, ...] = ()
    waits_for: str = ""
    released: tuple[Released, ...] = ()
    caution: str = ""
    test: str = ""

    def __post_init__(self) -> None:
        complete = self.full is not None and self.small is not None and self.drawing is not None
        if complete == bool(self.waits_for):
            raise BadInput(f"preset {self.id} must have runs and a drawing, or say what it waits for.", field="papers")
        if complete and bool(self.printed) == bool(self.not_printed):
            raise BadInput(f"preset {self.id} must have printed numbers, or say that there are none.", field="papers")

    @property
    def versions(self) -> dict[str, Version]:
        """The sizes at which it runs, by name: "small" and "full"."""
        versions = {"small": self.small, "full": self.full}
        return {name: version for name, version in versions.items() if version is not None}

    def pick(self, size: str) -> Version:
        """Return the version called "small" or "full"; BadInput where it waits for something."""
        if self.waits_for:
            raise BadInput(f"{self.id} cannot run: {self.waits_for}", field="id")
        return self.versions[size]


@dataclass(frozen=True)
class MethodTable:
    """A figure that compares methods by what they can do: it needs no runs, and nothing in it is judged.

    `methods` are the ids of those that are here; `shows` says what the paper compares, and what it is in place of.
    """

    title: str
    shows: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """A paper: its id, its short name and title, how it is cited, and its figures and tables in their order.

    `main_claim`: the id of a preset, and which of its claims is what the paper says above all. `method_table`: the
    figure that compares methods, if it has one; it is none of the presets.
    """

    id: str
    name: str
    title: str
    citation: str
    presets: tuple[Preset, ...]
    main_claim: tuple[str, int]
    method_table: MethodTable | None = None


_CONSTANT = Mark("metrics/constant_accuracy", "always the same answer")
ACCURACY = Value("metrics/accuracy", "Accuracy", "%", scale=100.0, mark=_CONSTANT, tolerance=0.5)
ERROR = Value("metrics/accuracy", "Test error", "%", scale=100.0, complement=True, mark=_CONSTANT, tolerance=0.5)
GAP = Value("gap", "Fairness violation", "percentage points", scale=100.0, tolerance=1.0)
SECONDS = Value("seconds_per_epoch", "Time of an epoch", "s")
EPSILON = Value("config/epsilon", "ε, as each line accounts for it", log=True)


def published(name: str, method: str, where: Where | None = None) -> Part:
    """Return the series of a method's runs by the paper's own accounting."""
    conditions = {"config/method/name": method, "config/method/variant": "published", **(where or {})}
    return Part(f"{name}, as published", conditions, method, 1)


def proved(name: str, method: str, where: Where | None = None) -> Part:
    """Return the series of a method's runs whose epsilon is proved."""
    conditions = {"config/method/name": method, "config/method/variant": "proved", **(where or {})}
    return Part(f"{name}, proved", conditions, method)


def of_method(name: str, method: str) -> Part:
    """Return the series of a method that has no variants."""
    return Part(name, {"config/method/name": method}, method)
