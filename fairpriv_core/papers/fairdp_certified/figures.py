"""FairDP with certificates (2024): trade-offs, gains, certificates and ablations, on Adult and the credit default data.

Faces have a module of their own.

The text that was read lost its formulas, and with them most numbers: the budgets, all cells of Tables II and III, the
network, the learning rates and the bound M that was used. What is left: a few percentages in the text, Table I, and the
values of M in Table III. Captions are lost too: that Figures 3 and 4 differ in their measure of utility is our reading
of "accuracy/precision" and of the metrics that the text names.
"""

from __future__ import annotations

from functools import partial

from fairpriv_core.papers.fairdp_certified import runs
from fairpriv_core.papers.fairdp_certified.faces import FACES
from fairpriv_core.papers.fairdp_certified.group_ratio import FIGURE_7
from fairpriv_core.papers.fairdp_certified.shared import (
    ADULT,
    AUC,
    CERTIFIED,
    CLEAN,
    COLUMNS,
    CREDIT,
    DATA,
    DPSGD_F,
    FAIRDP,
    GAPS,
    IS_SGD,
    LOST,
    PAID,
    PARITY,
    PRIVACY,
    PROVED,
    SERIES,
    SETTINGS,
    VARIANTS,
    M,
    claim,
    gains_over_sgd,
    is_fairer,
    list_claims_of_bound,
    list_gap_columns,
    of,
    rises_with_budget,
    stays_below,
)
from fairpriv_core.papers.fairdp_certified.shift import FIGURE_6_SHIFT
from fairpriv_core.papers.fairdp_certified.steps import ADAM, THEOREM_6
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    Compare,
    Differ,
    Paper,
    PaperClaim,
    PaperTable,
    Part,
    Plot,
    Preset,
    Value,
    Version,
)

_FULL = "10 seeds, 5 budgets"
_EPSILONS, _FEW = [0.5, 1.0, 2.0, 4.0, 8.0], [0.5, 1.0, 2.0]
_COMPARED = [*runs.baselines(), *runs.fairdp([0.5])]
_TRADE_FULL = Version((runs.sweep(_COMPARED, _EPSILONS, 20),), "20 seeds, 5 budgets")
_TRADE_SMALL = Version((runs.sweep(_COMPARED, _FEW, 20),), "20 seeds, 3 budgets")


def _differs(rival: Part, name: str) -> PaperClaim:
    return claim(
        f"FairDP differs significantly from {name} in fairness, by a two-tailed t test",
        "Section VI-A",
        lambda part: Differ(of(part, PARITY), of(rival, PARITY), EPSILON, 0.05),
        "in demographic parity with p < 0.05 at each of our ε, as its own p is lost, by a paired test over our seeds; "
        "which of the two is fairer is judged above, and a larger p settles nothing",
        cases=DATA,
    )


_PARITY = "in demographic parity"
_CLAIMS = (
    is_fairer(CLEAN, "FairDP attains fairer decisions than the clean model", _PARITY, cases=DATA),
    is_fairer(IS_SGD, "FairDP attains fairer decisions than the best baseline, DP-IS-SGD", _PARITY, cases=DATA),
    claim(
        "privacy enhances fairness: the lower the budget, the lower the fairness metric",
        "Section VI-A",
        rises_with_budget,
        "demographic parity",
        cases=DATA,
    ),
    PaperClaim(
        "on Adult DPSGDF is less fair than the clean model in demographic parity",
        "Section VI-A",
        Compare(of(DPSGD_F, PARITY), of(CLEAN, PARITY), low=0.0),
        (ADULT,),
    ),
)


def _trade_off(number: int, utility: Value, *claims: PaperClaim) -> Preset:
    """Return Figure 3 or 4: the three gaps over a measure of utility, a point for each budget."""
    return Preset(
        id=f"fairdp_certified.figure{number}",
        title=f"Figure {number}: trade-offs of utility, fairness and privacy ({utility.title})",
        shows="The three gaps of every method over its utility; a point is a budget, better to the right and below.",
        settings=SETTINGS,
        full=_TRADE_FULL,
        small=_TRADE_SMALL,
        drawing=Plot("points", utility, tuple(GAPS.values()), SERIES, DATA, along=EPSILON),
        not_printed=f"{LOST}. Three that its text prints stand beside ours under “{ADAM.title}”, by the paper's steps "
        "and by plain ones.",
        claims=claims,
        privacy=PRIVACY,
    )


FIGURE_3 = _trade_off(3, ACCURACY, *_CLAIMS, _differs(CLEAN, "the clean model"), _differs(IS_SGD, "DP-IS-SGD"))
FIGURE_4 = _trade_off(4, AUC)  # of the same runs and gaps: what is claimed of them is judged once

FIGURE_5 = Preset(
    id="fairdp_certified.figure5",
    title="Figures 5 and 8: gains over DP-IS-SGD and over the clean model",
    shows="How much fairer FairDP is than the best baseline and than the model without privacy, over all budgets.",
    settings=SETTINGS,
    full=_TRADE_FULL,
    small=_TRADE_SMALL,
    drawing=Plot("bar", ACCURACY, (*GAPS.values(), ACCURACY), (FAIRDP, PROVED, IS_SGD, CLEAN), DATA),
    not_printed=f"{LOST}, but for gains on average over the fairness metrics: up to 78.41 % (Default-CCC) and 74.08 % "
    "(UTK-Face), at budgets that are lost. The first is judged here metric by metric over all budgets.",
    claims=tuple(
        gains_over_sgd(value, 0.2159, "gains go up to 78.41 % on Default-CCC over DP-IS-SGD", cases=(CREDIT,))
        for value in GAPS.values()
    ),
    privacy=PRIVACY,
)


def _lines(epsilons: list[float]) -> tuple[Part, ...]:
    return tuple(
        Part(f"{data.name}, ε = {value:g}, proved", {**data.where, **PROVED.where, "config/epsilon": value})
        for data in DATA
        for value in epsilons
    )


FIGURE_6 = Preset(
    id="fairdp_certified.figure6",
    title="Figures 6 and 9: certificates against gaps",
    shows="The bound on each gap beside the gap on test rows. "
    + CERTIFIED
    + " Test rows are as drawn here; the next entry shifts them, as the paper does. Its Table II has the Monte Carlo "
    "error, whose numbers are lost: it is 1/√n, 10 points at our n = 100, and part of Proposition 3's bound.",
    settings=SETTINGS + " Proposition 3 fails with a chance of β = 0.05 for each group, the certificate of “proved” "
    "with a chance of 0.05 for all its bounds together.",
    full=Version((runs.sweep(runs.fairdp([0.5]), _EPSILONS, 10),), _FULL),
    small=Version(runs.certified(_FEW), "20 seeds, 3 of “proved”, 3 budgets"),
    drawing=PaperTable(_lines(_FEW), list_gap_columns()),
    not_printed=f"{LOST}.",
    claims=tuple(
        claim(
            "the empirical value is lower than the certificate",
            "Section VI-B",
            partial(stays_below, gap=value, notion=notion),
            f"{value.title.lower()}, at all runs but 10 in 100: β for each of two groups",
            cases=DATA,
        )
        for notion, value in GAPS.items()
    ),
    privacy=PRIVACY + PAID,
)


def _bounds(data: Part) -> tuple[Part, ...]:
    return tuple(
        Part(
            f"{data.name}, M = {bound:g}, {variant.name.partition(', ')[2]}",
            {**data.where, **variant.where, M.path: bound},
        )
        for variant in VARIANTS
        for bound in runs.WEIGHT_BOUNDS
    )


TABLE_3 = Preset(
    id="fairdp_certified.table3",
    title="Table III: the bound M on scoring weights",
    shows="Utility and the three gaps at M = 0.25, 0.5, 0.75 and 1.",
    settings=SETTINGS.replace("ε from 0.5 to 2", "ε = 1").replace(", and M = 0.5", ""),
    full=Version((runs.sweep(runs.fairdp(runs.WEIGHT_BOUNDS), [1.0], 10),), "10 seeds, one budget"),
    small=Version((runs.sweep(runs.fairdp(runs.WEIGHT_BOUNDS), [1.0], 5),), "5 seeds, one budget"),
    drawing=PaperTable((*_bounds(ADULT), *_bounds(CREDIT)), COLUMNS),
    not_printed="All cells of this table but the values of M are lost in the text that we have.",
    claims=list_claims_of_bound(DATA),
    privacy=PRIVACY,
)

PAPER = Paper(
    id="fairdp_certified",
    name="FairDP (certified)",
    title="FairDP: Achieving fairness certification with differential privacy",
    citation="2024, as read in a copy of its text without authors and formulas",
    presets=(
        FIGURE_3,
        FIGURE_4,
        ADAM,
        FIGURE_5,
        FIGURE_6,
        FIGURE_6_SHIFT,
        FIGURE_7,
        TABLE_3,
        THEOREM_6,
        *FACES,
    ),
    main_claim=("fairdp_certified.figure6", 0),
)
