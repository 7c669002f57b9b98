"""The ideas behind every number of the dashboard: a sentence, when it misleads, a figure from numbers, the source."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fairpriv_core.bench.costs import fold_costs, measure_costs
from fairpriv_core.bench.lines import KEPT, read_lines
from fairpriv_core.bench.suite import read_suite
from fairpriv_core.engine.training import Histogram
from fairpriv_core.figures import learn
from fairpriv_core.figures.audits import demonstration_bars, read_audit_results
from fairpriv_core.figures.bench import draw_bench_costs
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, line
from fairpriv_core.figures.learn import Flow, data_flow
from fairpriv_core.figures.live import clipping_histogram
from fairpriv_core.figures.origin import PUBLIC
from fairpriv_core.notions.catalog import notions
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
    """A card's content; `draw` makes its figure, `page` is where the idea is met; `formula` (TeX) ends the sentence."""

    name: str
    title: str
    sentence: str
    misleads: str
    source: str
    draw: Callable[[], FigureData]
    page: str
    formula: str = ""


def sureness() -> FigureData:
    """How sure an attacker who began at even odds can end, over ε: 100 e^ε / (1 + e^ε)."""
    budgets = [0.05 * 1.1**step for step in range(65)]
    sure = [100 / (1 + math.exp(-budget)) for budget in budgets]
    return FigureData(
        name="sureness",
        title="What ε allows an attacker, at most",
        x=Axis("Privacy budget ε", log=True),
        panels=(Panel(Axis("Certain, at most", "%", range=(45.0, 102.0))),),
        series=(line("Certain, at most", budgets, sure, style="budget"),),
        caption="For someone guessing 50:50 about one person, before δ. At 50 nothing was learnt; near 100 all may be.",
        alt="Someone guessing 50:50 can become at most 53 % certain at ε = 0.1, 74 % at 1 and 96 % at 3.",
        references=(Reference(50.0, "a 50:50 guess", axis="y"), Reference(1.0, "ε = 1: 74 %")),
    )


def clipping_example() -> FigureData:
    """Made-up gradient norms of two groups with a bound: the group with the larger gradients is clipped more."""
    edges = [3.0 * edge / _BINS for edge in range(_BINS + 1)]
    counts = {name: [round(1000 * share) for share in _bin(edges, scale)] for name, scale in _SCALES.items()}
    clipped = {name: _beyond(_BOUND, scale) for name, scale in _SCALES.items()}
    histogram = Histogram(edges, counts, bound=_BOUND, clipped=clipped)
    figure = clipping_histogram(histogram, quantity="gradient_norm", symbol="C", origin=PUBLIC)
    return replace(
        figure,
        name="clipping_example",
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


def _draw_costs() -> FigureData:
    notion = next(iter(read_suite().notions))
    return draw_bench_costs(fold_costs(measure_costs(read_lines([KEPT]), notion)), notions()[notion].title)


#: in the order in which they build on each other
_OF_PRIVACY = (
    Idea(
        "epsilon",
        "ε and δ",
        "ε bounds how much anybody can learn about one person from all that is published. δ is the chance that it "
        "fails. The formula says how certain someone guessing 50:50 can become: at most 74\u00a0% at ε = 1.",
        "It bounds what is learnt because one person takes part, not what the data say about everybody. Two values of "
        "ε compare only where they protect the same thing. No value is a promise of safety.",
        "Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis",
        sureness,
        "start",
        formula=r"\frac{e^{\varepsilon}}{1 + e^{\varepsilon}}",
    ),
    Idea(
        "attribute",
        "Protecting the attribute",
        "Only the sensitive attribute of each person is hidden. Features and labels are assumed public, so only steps "
        "that use the groups need noise.",
        "If the features reveal the group by themselves, training cannot hide it. The Data page lists such features.",
        "Jagielski et al. (2019), Differentially private fair learning",
        lambda: data_flow(Flow("the attribute is protected", "attribute", True, False, _NOISY)),
        "data",
    ),
    Idea(
        "record",
        "Protecting the whole record",
        "All that a row says is hidden: whatever the model learns passes through noise.",
        "The same ε hides more than for an attribute, and costs more accuracy. So ε of the two kinds of method cannot "
        "be compared.",
        "Abadi et al. (2016), Deep learning with differential privacy",
        lambda: data_flow(Flow("the record is protected", "record", True, False, _NOISY)),
        "train",
    ),
    Idea(
        "proved",
        "Proved against published",
        "A paper's accounting can leave a step out. 'Proved' states an ε that covers everything the code releases; "
        "'as published' runs the paper's algorithm and repeats its ε.",
        "A claim that no attack refutes is not yet proved. A proof holds only under the stated assumptions.",
        "Jagielski, Ullman and Oprea (2020), Auditing differentially private machine learning",
        lambda: demonstration_bars(read_audit_results()["demonstration"]),
        "audit",
    ),
    Idea(
        "clipping",
        "Clipping",
        "No row may pull the model by more than the bound C; longer gradients are scaled down. The noise has to hide "
        "one row, so it grows with C.",
        "A group with longer gradients is clipped more, so it counts less. A bound that suits the average can hurt a "
        "small group.",
        "Bagdasaryan, Poursaeed and Shmatikov (2019), Differential privacy has disparate impact on model accuracy",
        clipping_example,
        "train",
    ),
    Idea(
        "ledger",
        "The ledger",
        "All runs on the same people add up, failed and deleted ones too. The ledger computes what they cost together, "
        "and can refuse a launch beyond a cap.",
        "It knows only the runs of this dashboard. Releases elsewhere about the same people come on top.",
        "Dwork, Rothblum and Vadhan (2010), Boosting and differential privacy",
        adding_up,
        "train",
    ),
)
_OF_RESULTS = (
    Idea(
        "base_rate",
        "Base rate",
        "The share of a group that truly has the positive label. Always giving the more frequent answer needs no "
        "learning; it is the baseline that accuracy has to beat.",
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
        "At λ_max the constraint would need more weight than it may get. A λ that has stopped moving says nothing "
        "about the gap on other people.",
        "Fioretto et al. (2020), Lagrangian duality for constrained deep learning",
        learn.growing_multiplier,
        "run",
    ),
    Idea(
        "seed",
        "Seed",
        "The seed decides which rows are test rows, where training starts and in which order it sees rows. The same "
        "settings with another seed give another result.",
        "One seed can be lucky: the seeds alone may make two runs differ. The seed is public; it never makes the "
        "noise, which is secret.",
        "Bouthillier et al. (2021), Accounting for variance in machine learning benchmarks",
        learn.results_by_seed,
        "compare",
    ),
    Idea(
        "interval",
        "Interval",
        "The number after ±, a band or a whisker. In 95 of 100 repetitions such an interval contains the mean over all "
        "seeds. More seeds make it shorter; one seed has none.",
        "It covers the chance of seeds, and for a group's rate that of the test rows, but not other data. With two or "
        "three seeds it is wide. Two methods can differ although their intervals overlap.",
        "Student (1908), The probable error of a mean",
        learn.interval_by_seeds,
        "compare",
    ),
    Idea(
        "private_evaluation",
        "Private evaluation",
        "Fairness on the test rows, from noisy counts that the run's ε covers. These numbers may be published. Their "
        "intervals cover the noise and the sampling of the rows.",
        "In a small group the noise is larger than the count: the interval is wide, and the rate may be undefined. The "
        "gap of noisy rates tends to be too large.",
        "Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis",
        learn.noisy_share,
        "train",
    ),
    Idea(
        "privacy_cost",
        "What privacy costs",
        "Accuracy lost to privacy on public tasks, over training rows times ε, among models whose gap is within one "
        "bound. With more rows or a larger ε less is lost.",
        "No measurable cost is not the same as none: the interval says what may be lost. On few rows hardly any model "
        "keeps to the bound, and what none keeps to is left out.",
        "this project's benchmark, on eight public tasks",
        _draw_costs,
        "leaderboard",
    ),
)
IDEAS = (*_OF_PRIVACY, *_OF_RESULTS)
