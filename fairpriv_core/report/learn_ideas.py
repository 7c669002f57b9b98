"""The ideas behind every number of the dashboard: a sentence, when it misleads, a figure from numbers, the source."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fairpriv_core.report import learn
from fairpriv_core.report.audits import demonstration_bars, read_audit_results
from fairpriv_core.report.figure import Axis, FigureData, Panel, Reference, line
from fairpriv_core.report.learn import Flow, data_flow
from fairpriv_core.report.live import clipping_histogram
from fairpriv_core.text import epsilon_text

#: the exact ε of 1, 2, … Gaussian releases together, at δ = 1e-5, where one has ε = 1
COMPOSED = (1.0, 1.465, 1.835, 2.155, 2.442, 2.706, 2.953, 3.186, 3.407, 3.619, 3.822, 4.018)
_NOISY = ("noisy results",)
_BINS = 40
_BOUND = 1.0
#: of each made-up group: the scale of its gradients' norms
_SCALES = {"Large group": 0.3, "Small group": 0.6}


@dataclass(frozen=True)
class Idea:
    """A card's content; `draw` makes its figure, `page` is where the idea is met in the dashboard."""

    name: str
    title: str
    sentence: str
    misleads: str
    source: str
    draw: Callable[[], FigureData]
    page: str


def sureness() -> FigureData:
    """How sure an attacker who began at even odds can end, over ε: 100 e^ε / (1 + e^ε)."""
    budgets = [0.05 * 1.1**step for step in range(65)]
    sure = [100 / (1 + math.exp(-budget)) for budget in budgets]
    return FigureData(
        name="sureness",
        title="What ε allows an attacker, at most",
        x=Axis("Privacy budget ε", log=True),
        panels=(Panel(Axis("Sure, at most", "in 100", range=(45.0, 102.0))),),
        series=(line("Sure at most", budgets, sure, style="budget"),),
        caption="For someone guessing 50:50 about one person, before δ. At 50 nothing was learnt; near 100 all may be.",
        alt="Someone guessing 50:50 can become at most 53 % certain at ε = 0.1, 74 % at 1 and 96 % at 3.",
        references=(Reference(50.0, "even odds", axis="y"), Reference(1.0, "ε = 1: 74 in 100")),
    )


def clipping_example() -> FigureData:
    """Made-up gradient norms of two groups with a bound: the group with the larger gradients is clipped more."""
    edges = [3.0 * edge / _BINS for edge in range(_BINS + 1)]
    counts = {name: [round(1000 * share) for share in _bin(edges, scale)] for name, scale in _SCALES.items()}
    clipped = {name: _beyond(_BOUND, scale) for name, scale in _SCALES.items()}
    histogram = {"edges": edges, "counts": counts, "bound": _BOUND, "clipped": clipped}
    drawn = clipping_histogram(histogram, quantity="gradient_norm", symbol="C")
    return replace(
        drawn,
        name="clipping_example",
        raw=False,
        caption="A made-up example: what lies right of C is scaled down to C.",
    )


def adding_up() -> FigureData:
    """The ε of 1, 2, … runs together: as the ledger composes them, and their plain sum."""
    runs = [float(count) for count in range(1, len(COMPOSED) + 1)]
    return FigureData(
        name="adding_up",
        title="What several runs cost together",
        x=Axis("Runs on the same people"),
        panels=(Panel(Axis("ε of all together")),),
        series=(
            line("As the ledger composes", runs, COMPOSED, style="budget"),
            line("Plain sum", runs, runs, style="published"),
        ),
        caption="Runs of one Gaussian release with ε = 1 and δ = 1 in 100,000 each, fixed beforehand.",
        alt=f"{len(runs)} such runs cost ε = {epsilon_text(COMPOSED[-1])} together; their sum would be {len(runs)}.",
    )


def _beyond(norm: float, scale: float) -> float:
    """Return the share of norms above `norm`, of a Gamma distribution with shape 2."""
    return (1 + norm / scale) * math.exp(-norm / scale)


def _bin(edges: Sequence[float], scale: float) -> list[float]:
    """Return the share in each bin; the last holds all beyond."""
    beyond = [_beyond(edge, scale) for edge in edges[:-1]] + [0.0]
    return [low - high for low, high in pairwise(beyond)]


#: in the order in which they build on each other
_OF_PRIVACY = (
    Idea(
        "epsilon",
        "ε and δ",
        "ε bounds how much anybody can learn about one person from all that is published: an attacker who starts at "
        "50:50 can become at most e^ε/(1 + e^ε) certain. δ is the chance that the bound fails.",
        "It bounds what is learnt because one takes part, not what is true of everybody. Two values of ε compare "
        "only where the same thing is protected, and no value is a promise of safety.",
        "Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis",
        sureness,
        "start",
    ),
    Idea(
        "attribute",
        "Protecting the attribute",
        "Only the sensitive attribute of each person is hidden. Features and labels are taken as public, so noise "
        "is needed only where the groups are looked at.",
        "Where the features give the group away by themselves, nothing that training does can hide it: the Data "
        "page lists such features.",
        "Jagielski et al. (2019), Differentially private fair learning",
        lambda: data_flow(Flow("the attribute is protected", "attribute", True, False, _NOISY)),
        "data",
    ),
    Idea(
        "record",
        "Protecting the whole record",
        "All that a row says is hidden: whatever the model learns passes through noise.",
        "The same ε hides more than for an attribute, and costs more accuracy: numbers of the two kinds of method "
        "cannot be set side by side without saying so.",
        "Abadi et al. (2016), Deep learning with differential privacy",
        lambda: data_flow(Flow("the record is protected", "record", True, False, _NOISY)),
        "train",
    ),
    Idea(
        "proved",
        "Proved against published",
        "A paper's accounting can leave a step out. 'Proved' states an ε that covers everything the code releases; "
        "'as published' runs the paper's algorithm and repeats its ε.",
        "A claim that no attack has refuted is not thereby proved; and what is proved holds for the stated "
        "assumptions only.",
        "Jagielski, Ullman and Oprea (2020), Auditing differentially private machine learning",
        lambda: demonstration_bars(read_audit_results()["demonstration"]),
        "audit",
    ),
    Idea(
        "clipping",
        "Clipping",
        "No row may pull the model by more than the bound C: what is longer is scaled down. The noise has to hide "
        "one row, so it grows with C.",
        "A group whose gradients are longer is clipped more, so its interests count less: a bound that suits the "
        "average can hurt the few.",
        "Bagdasaryan, Poursaeed and Shmatikov (2019), Differential privacy has disparate impact on model accuracy",
        clipping_example,
        "train",
    ),
    Idea(
        "ledger",
        "The ledger",
        "Everything that was launched on the same people adds up, failed and deleted runs too. The ledger says "
        "what all of it has cost together, and can refuse a launch that goes beyond a cap.",
        "It knows the runs of this dashboard only. What was released elsewhere about the same people comes on top.",
        "Dwork, Rothblum and Vadhan (2010), Boosting and differential privacy",
        adding_up,
        "train",
    ),
)
_OF_RESULTS = (
    Idea(
        "base_rate",
        "Base rate",
        "The share of a group that truly has the positive label. Who always gives the more frequent answer is right "
        "in so many cases without learning anything: the baseline that accuracy has to beat.",
        "Where base rates differ, no useful classifier meets every notion at once, and one that is always right has a "
        "demographic parity gap.",
        "Kleinberg, Mullainathan and Raghavan (2017), Inherent trade-offs in the fair determination of risk scores",
        learn.base_rates,
        "data",
    ),
    Idea(
        "multiplier",
        "Multiplier λ",
        "How hard a fairness constraint pulls on training. After each epoch it grows in proportion to the gap that is "
        "left, up to λ_max.",
        "At λ_max the constraint asks for more than it is given. A λ that has come to rest says nothing of the gap on "
        "people who were not trained on.",
        "Fioretto et al. (2020), Lagrangian duality for constrained deep learning",
        learn.growing_multiplier,
        "run",
    ),
    Idea(
        "seed",
        "Seed",
        "The number that decides which rows are tested on, where training starts and in which order it sees rows. The "
        "same settings with another seed give another result.",
        "One seed can be lucky: a difference between two runs may be one of seeds. The seed is public and never makes "
        "the noise, which is secret.",
        "Bouthillier et al. (2021), Accounting for variance in machine learning benchmarks",
        learn.results_by_seed,
        "compare",
    ),
    Idea(
        "interval",
        "Interval",
        "The number after ±, a band or a whisker: in 95 of 100 repetitions such an interval holds the mean "
        "over all seeds. More seeds make it shorter; of one seed there is none.",
        "It covers the chance of seeds, and for a group's rate that of the test rows; not other data. With two or "
        "three seeds it is wide, and where two intervals overlap the methods may still differ.",
        "Student (1908), The probable error of a mean",
        learn.interval_by_seeds,
        "compare",
    ),
    Idea(
        "private_evaluation",
        "Private evaluation",
        "Fairness on the test rows from counts with noise, which the run's ε covers: these numbers may be published, "
        "with intervals over the noise and the sampling of the rows.",
        "In a small group the noise drowns the count: its interval is wide and its rate may be undefined. The gap of "
        "noisy rates tends to be too large.",
        "Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis",
        learn.noisy_share,
        "train",
    ),
)
IDEAS = (*_OF_PRIVACY, *_OF_RESULTS)
