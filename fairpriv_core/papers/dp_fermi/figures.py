"""Lowy, Gupta and Razaviyayn (2023): DP-FERMI. Its figures, and its gains over Tran et al. (2021b).

The text prints no values of a figure: only those gains, over all data sets at once. Neither delta, the optimiser nor
what each figure's axes show stands in it; that trade-offs are "fairness violation vs. test error" does (section 4).
Nor do the marks of Figure 1, which compares methods: a table of what ours declare stands in its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fairpriv_core.methods.shared.iterates import LAST, UNIFORM
from fairpriv_core.papers.dp_fermi import runs
from fairpriv_core.papers.dp_fermi.authors import CAUTION, released
from fairpriv_core.papers.dp_fermi.faces import FIGURE_5
from fairpriv_core.papers.dp_fermi.settings import (
    CASES,
    FOUR,
    LOST,
    ODDS,
    PARITY,
    SPANS,
    THREE,
    TITLES,
    format_trials,
    list_levels,
)
from fairpriv_core.papers.preset import (
    ACCURACY,
    ERROR,
    GAP,
    Compare,
    GainTable,
    MeanGain,
    MethodTable,
    Paper,
    PaperClaim,
    PaperSweep,
    Part,
    Plot,
    Preset,
    Quantity,
    Reach,
    Released,
    Trend,
    Value,
    Version,
    of_method,
    proved,
    published,
)

_LAMBDA = Value("config/method/multiplier", "λ")
_ALONG = (
    Value("config/method/difference_bound", "bound on differences"),
    _LAMBDA,
    Value("config/method/multiplier_max", "λ_max"),
    Value("config/method/multiplier_boundary", "γ₂"),
)
FERMI = published(TITLES["dp_fermi"], "dp_fermi")
FERMI_PROVED = proved("DP-FERMI", "dp_fermi")
PF_LD = published(TITLES["pf_ld"], "pf_ld")
FAIRLENS = published(f"{TITLES['fairlens']}, for whole records", "fairlens")
JAGIELSKI = of_method(f"{TITLES['jagielski_in']}, in-processing", "jagielski_in")
PLAIN = of_method("Neither private nor fair", "none")
PARITY_SERIES = (FERMI, FERMI_PROVED, PF_LD, FAIRLENS, PLAIN)
ODDS_SERIES = (FERMI, FERMI_PROVED, PF_LD, JAGIELSKI, PLAIN)

_ITERATE = "config/method/iterate"
_ITERATE_BUDGETS = [1.0, 3.0]
_TWO = (0.5, 3.0)
_PRINTED = (
    "From the paper's Appendix F.2.1: logistic regression, a 3:1 split, batches of 1,024, 200 epochs, λ in [0, 2.5]. "
    "Of its ranges we take steps of 0.01 for W and L_θ = 1. L_θ bounds the gradient of both probabilities together, "
    "√2 times that of one. The paper prints neither the optimiser nor δ: ours are Adam and 1e-5. It compares at a "
    "fixed accuracy, which it does not name: here at each that the authors' points of Tran et al. (2021b) span. Each "
    "rival has its own knob for fairness, as DP-FERMI has λ, and lines join its values."
)
_AS_IN_FIGURE_2 = " The other settings are those of Figure 2, chosen on Adult for demographic parity."
_SHIPPED = " DP-FERMI, proved, has the shipped settings but for L_θ = 0.7."
_BEYOND = " More values of λ go beyond the printed range, up to 20."
_ODDS_END = (
    " DP-FERMI, as published, has its least violation, on average, at λ = 2.5 or below. At 20 it is less accurate than "
    "always the same answer, so that λ ends there."
)


def _format_settings(case: str) -> str:
    """Return the settings of a figure whose methods were tried on its own data."""
    beyond = _BEYOND + (_ODDS_END if CASES[case].notion == ODDS else "")
    return _PRINTED + format_trials(case) + (beyond if CASES[case].beyond else "") + _SHIPPED


_PRIVACY = (
    "The ε of DP-FERMI, as published, is Theorem 3.3. It does not hold: the group shares P_S are exact, though one "
    "changed attribute changes everybody's term, and the loss on the same public batch undoes the amplification by "
    "sampling. The claim of PF-LD (Tran et al. 2021b) does not hold either. Both are about the sensitive attribute. "
)
_PRIVACY_PARITY = _PRIVACY + (
    "Tran et al. 2021a is about whole records, so that its ε is another thing, though the paper draws them together."
)
_PRIVACY_ODDS = _PRIVACY + (
    "So is Jagielski et al.'s, which is proved for our version of it; the paper does not say which of their two it ran."
)
_NO_NUMBERS = (
    "The paper prints no numbers of this figure. Over all data sets and budgets it prints gains over Tran et al. "
    "(2021b) at a fixed accuracy: {gain}; which accuracy, it does not say. “Section 4: gains over Tran et al. 2021b, "
    "all data sets” judges them."
)
_PARITY_GAIN = "79.648 % less violation of demographic parity on average, 65.89 % in the median"
_ODDS_GAIN = "96.65 % less violation of equalized odds on average, 90.02 % in the median"


def _budgets(epsilons: Sequence[float]) -> tuple[Part, ...]:
    """Return a column for each budget; the model without one is in all."""
    return tuple(Part(f"ε = {value:g}", {"config/epsilon": (value, None)}) for value in epsilons)


def _quantity(part: Part) -> Quantity:
    return Quantity(part.name, GAP, part.where)


_RIVALS_LOST = "the rivals' settings, which the paper does not print"


def _beats(rival: Part, says: str, source: str, of: tuple[str, str], epsilons: Sequence[float]) -> PaperClaim:
    """Return the claim that DP-FERMI's violation is the smaller at the accuracies of a notion and a data set."""
    check = Reach(_quantity(FERMI), _quantity(rival), ACCURACY, list_levels(*of), high=0.0)
    low, high = SPANS[of]
    reading = f"at an accuracy of {low:g} to {high:g} % its violation is at most that of our {rival.name}"
    return PaperClaim(says, source, check, _budgets(epsilons), reading, lost=_RIVALS_LOST)


def _beats_points(
    says: str, source: str, points: Sequence[Released], epsilons: Sequence[float]
) -> Iterator[PaperClaim]:
    """Yield the claims that DP-FERMI's violation is at most that of the authors' own points of Tran et al. (2021b).

    Accuracies are cut after two digits, as more than the point's own would be asked of DP-FERMI otherwise.
    """
    for case in _budgets(epsilons):
        ((violation, error),) = next(
            point.points for point in points if (point.column, point.style) == (case.name, "pf_ld")
        )
        level = math.floor(round(100.0 * (100.0 - error), 6)) / 100.0
        check = Reach(_quantity(FERMI), violation, ACCURACY, (level,), high=0.0)
        reading = (
            f"at {level:g} % its violation is at most the {violation:.2f} points of the authors' own Tran et al. 2021b"
        )
        yield PaperClaim(says, source, check, (case,), reading, lost=LOST)


def _trades(epsilons: Sequence[float]) -> tuple[PaperClaim, ...]:
    """Return the claims that say how the curves come about."""
    says, source = "sweeping λ trades accuracy for fairness", "Appendix F.2.1"
    printed = {**FERMI.where, _LAMBDA.path: runs.PRINTED}
    fewer = Trend(Quantity(FERMI.name, GAP, printed), _LAMBDA, "down", slack=0.5)
    worse = Trend(Quantity(FERMI.name, ERROR, printed), _LAMBDA, "up", slack=0.2)
    cases = _budgets(epsilons)
    return (
        PaperClaim(says, source, fewer, cases, "the violation falls as λ grows", lost=LOST),
        PaperClaim(says, source, worse, cases, "the error rises as λ grows", lost=LOST),
    )


def _plot(series: tuple[Part, ...], epsilons: Sequence[float]) -> Plot:
    return Plot("points", GAP, (ERROR,), series, _budgets(epsilons), along=_ALONG)


def _list_claims(
    says: str, source: str, name: str, points: Sequence[Released], epsilons: Sequence[float]
) -> tuple[PaperClaim, ...]:
    """Return the claims of a figure of a case, beside the authors' points."""
    case = CASES[name]
    of = case.notion, case.data["dataset"]
    return (
        _beats(PF_LD, says, source, of, epsilons),
        _beats(JAGIELSKI if case.notion == ODDS else FAIRLENS, says, source, of, epsilons),
        *_beats_points(says, source, points, epsilons),
        *_trades(epsilons),
    )


_SEEDS = 15  # as many as the paper ran
_SMALL = "15 seeds as in the paper, 5 values of λ in place of 10"
_FULL = "15 seeds, 10 values of λ, 200 epochs of DP-FERMI"
#: by figure: as many as open claims needed by the spread of 15, where that could be run
_OUR_SEEDS = {2: 10, 3: 100, 4: 31, 7: 85, 8: 60, 9: 42}


def _format_small(figure: int) -> str:
    """Return what the smaller version of a figure with other seeds than the paper's differs in."""
    return _SMALL.replace("15 seeds as in the paper", f"{_OUR_SEEDS[figure]} seeds, 15 in the paper")


#: how the authors' file calls the data sets
_IN_FILE = {"adult": "adult", "credit_default": "credit-card", "parkinsons_motor": "parkinsons"}


def _compare(
    number: int,
    name: str,
    *,
    title: str,
    shows: str,
    says: str,
    source: str,
    further: str = "",
    epsilons: Sequence[float] | None = None,
) -> Preset:
    """Return a figure of DP-FERMI and two rivals on the data of a case, at its budgets or at those that are given.

    `further` are sentences on its settings.
    """
    case = CASES[name]
    budgets, odds = epsilons or case.epsilons, case.notion == ODDS
    points = released("EO" if odds else "DP", _IN_FILE[case.data["dataset"]], budgets)
    return Preset(
        id=f"dp_fermi.figure{number}",
        title=f"Figure {number}: {title}",
        shows=shows,
        settings=_format_settings(name) + further,
        full=Version((runs.sweep_case(name, budgets, _SEEDS, whole=True),), _FULL),
        small=Version((runs.sweep_case(name, budgets, _OUR_SEEDS[number], whole=False),), _format_small(number)),
        drawing=_plot(ODDS_SERIES if odds else PARITY_SERIES, budgets),
        not_printed=_NO_NUMBERS.format(gain=_ODDS_GAIN if odds else _PARITY_GAIN),
        claims=_list_claims(says, source, name, points, budgets),
        privacy=_PRIVACY_ODDS if odds else _PRIVACY_PARITY,
        released=points,
        caution=CAUTION,
    )


FIGURE_2 = _compare(
    2,
    "Adult, parity",
    title="demographic parity on Adult",
    shows="Test error against the violation of demographic parity of DP-FERMI and two rivals, for four budgets; means "
    "over 15 seeds.",
    says="DP-FERMI offers superior trade-offs at every privacy level",
    source="Section 4.1.1",
    further=" D = 5 with a step of 0.005, tried last, was worse than 2.",
)

_DRAWN = replace(published("DP-FERMI, a drawn iterate", "dp_fermi", {_ITERATE: UNIFORM}), variation=2)
_LAST = published("DP-FERMI, the last iterate", "dp_fermi", {_ITERATE: LAST})


def _sweep_iterates(seeds: int, *, whole: bool) -> PaperSweep:
    adult = CASES["Adult, parity"]
    return runs.sweep(adult.data, PARITY, runs.iterates(whole=whole), _ITERATE_BUDGETS, seeds, split=adult.split)


ITERATE = Preset(
    id="dp_fermi.iterate",
    title="Beside Theorem 3.4: the last iterate, and one drawn uniformly",
    shows="Test error against the violation of demographic parity on Adult, of the iterate that Algorithm 1 returns "
    "and of the last one, which the paper recommends and its figures show.",
    settings=_PRINTED + _AS_IN_FIGURE_2,
    full=Version((_sweep_iterates(_SEEDS, whole=True),), _FULL),
    small=Version((_sweep_iterates(25, whole=False),), "25 seeds, 5 values of λ in place of 10"),
    drawing=_plot((_LAST, _DRAWN), _ITERATE_BUDGETS),
    not_printed="The paper shows no figure and prints no number of a drawn iterate.",
    claims=(
        PaperClaim(
            "its experiments show strong performance of the last iterate",
            "Section 3, after Theorem 3.4",
            Compare(Quantity(_LAST.name, ERROR, _LAST.where), Quantity(_DRAWN.name, ERROR, _DRAWN.where), high=0.0),
            _budgets(_ITERATE_BUDGETS),
            "its error, on average over λ, is at most that of a drawn one",
            lost=LOST,
        ),
    ),
    privacy="The ε as published is Theorem 3.3, which does not hold (Figure 2 says why); both iterates have the same.",
)

_BY_ROW = (
    " The paper's 19 features have motor_UPDRS among them, a part of the very score that is the label, and so has this "
    "figure. The paper splits rows, 5,875 recordings of 42 people, and so does this figure. Plain training has an "
    "accuracy of about 95 % (seeds 100 and 101). Of new people, and without that part, it guesses: 50 % are right."
)


def _parkinsons(number: int, epsilons: Sequence[float]) -> Preset:
    """Return Figure 3 or 8, which differ in their budgets, with the paper's split."""
    return _compare(
        number,
        "Parkinsons, parity",
        title=f"demographic parity on Parkinsons, ε = {epsilons[0]:g} and {epsilons[1]:g}",
        shows="Test error against the violation of demographic parity on Parkinsons, by sex; is the total UPDRS score "
        "above the median?",
        says="its algorithm outperforms the baselines again for all tested privacy levels",
        source="Section 4.1.1",
        further=_BY_ROW,
        epsilons=epsilons,
    )


FIGURE_3 = _parkinsons(3, [1.0, 3.0])
FIGURE_8 = _parkinsons(8, [0.5, 9.0])

_FAIR_ALREADY = (
    " On this data our model without fairness has next to no violation, so that there is little for a method to gain."
)

FIGURE_4 = _compare(
    4,
    "Credit Card, odds",
    title="equalized odds on Credit Card",
    shows="Test error against the violation of equalized odds of DP-FERMI and two rivals on the credit default data, "
    "by sex, for three budgets.",
    says="DP-FERMI outperforms the baselines at every privacy level",
    source="Section 4.1.2",
    further=" For equalized odds the paper's ranges for D and for L_θ are [1, 2]." + _FAIR_ALREADY,
)

_STAND_IN = (
    " Retired Adult, as the paper has it (some 45,000 rows), is not public any more where we can fetch it. The ACS "
    "income survey of 2018, by the same authors with the same question, stands in. It has 665,800 rows of other "
    "people. So an epoch has 15 times Adult's steps, and the noise for a budget is smaller. The accuracies that are "
    "compared lie as far below the unfair model's as the authors' do on their data."
)
_LONG_FULL = "15 seeds, 10 values of λ, 200 epochs of DP-FERMI and 20 of its rivals: days on a small machine"
_LONG_SMALL = (
    "15 seeds, 2 budgets, 3 values of λ; 10 epochs of DP-FERMI and 2 of its rivals, about as many steps as 140 "
)
_LONG_SMALL += "and 30 on Adult"


def _survey(number: int, *, odds: bool, source: str) -> Preset:
    """Return Figure 6 or 10: demographic parity, or equalized odds."""
    notion, budgets = (ODDS, THREE) if odds else (PARITY, FOUR)
    full, tiny = (runs.long_methods(whole=size, odds=odds) for size in (True, False))
    claims = [
        _beats(PF_LD, "its approach outperforms Tran et al. (2021b)", source, (notion, "acs_income"), _TWO),
        *_trades(_TWO),
    ]
    if not odds:
        claims.insert(
            1, _beats(FAIRLENS, "its trade-offs are the most favourable", source, (notion, "acs_income"), _TWO)
        )
    return Preset(
        id=f"dp_fermi.figure{number}",
        title=f"Figure {number}: {'equalized odds' if odds else 'demographic parity'} on Retired Adult (stand-in)",
        shows="Test error against violation, by sex, on the data that are to replace Adult.",
        settings=_PRINTED + _AS_IN_FIGURE_2 + _STAND_IN,
        full=Version((runs.sweep(runs.ACS, notion, full, budgets, _SEEDS, split="stratified"),), _LONG_FULL),
        small=Version((runs.sweep(runs.ACS, notion, tiny, _TWO, _SEEDS, split="stratified"),), _LONG_SMALL),
        drawing=_plot((FERMI, PF_LD, PLAIN) if odds else (FERMI, PF_LD, FAIRLENS, PLAIN), _TWO),
        not_printed=_NO_NUMBERS.format(gain=_ODDS_GAIN if odds else _PARITY_GAIN),
        claims=tuple(claims),
        privacy=(_PRIVACY if odds else _PRIVACY_PARITY).strip(),
        released=() if odds else released("DP", "retired-adult", FOUR),
        caution="" if odds else CAUTION,
    )


FIGURE_6 = _survey(6, odds=False, source="Appendix F.2.3")
FIGURE_10 = _survey(10, odds=True, source="Appendix F.2.4")

FIGURE_7 = _compare(
    7,
    "Credit Card, parity",
    title="demographic parity on Credit Card",
    shows="Test error against the violation of demographic parity on the credit default data, by sex.",
    says="DP-FERMI provides the most favourable profile",
    source="Section 4.1.1",
    further=_FAIR_ALREADY,
)

FIGURE_9 = _compare(
    9,
    "Adult, odds",
    title="equalized odds on Adult",
    shows="Test error against the violation of equalized odds of DP-FERMI and two rivals on Adult, by sex.",
    says="its approach outperforms the previous state-of-the-art methods",
    source="Appendix F.2.4",
    further=" In trials at the accuracies compared, D = 2 with a step of 0.005 had 4.4 points on average, this setting "
    "6.0.",
)

_DATA = {
    "adult": "Adult",
    "parkinsons_motor": "Parkinsons",
    "acs_income": "Retired Adult (stand-in)",
    "credit_default": "Credit Card",
}


def _gain(notion: str, name: str, low: float, budgets: Mapping[str, Sequence[float]]) -> MeanGain:
    """Return the check of the mean gain over Tran et al. (2021b) on data sets at budgets, at least `low` %."""
    cells = tuple(
        (
            Part(
                f"{name}, {_DATA[data]}, ε = {epsilon:g}",
                {"config/data/dataset": data, "config/notion": notion, "config/epsilon": epsilon},
            ),
            SPANS[notion, data],
        )
        for data, epsilons in budgets.items()
        for epsilon in epsilons
    )
    return MeanGain(_quantity(FERMI), _quantity(PF_LD), ACCURACY, cells, low)


def _gain_claim(says: str, check: MeanGain) -> PaperClaim:
    reading = "the mean gain over data sets and budgets is at least that, at the accuracies of the figures"
    return PaperClaim(says, "Section 4", check, reading=reading, lost=_RIVALS_LOST)


_GAIN_PARITY = _gain(
    PARITY, "Parity", 79.648, {"adult": FOUR, "parkinsons_motor": FOUR, "acs_income": _TWO, "credit_default": FOUR}
)
_GAIN_ODDS = _gain(ODDS, "Odds", 96.65, {"adult": THREE, "acs_income": _TWO, "credit_default": THREE})
_COMPARING = (FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10)
_THEIRS = "the runs that Figures 2, 3, 4 and 6 to 10 ask for"


def _put_together(size: str) -> tuple[PaperSweep, ...]:
    return tuple(raw for figure in _COMPARING for raw in figure.versions[size].sweeps)


GAINS = Preset(
    id="dp_fermi.gains",
    title="Section 4: gains over Tran et al. 2021b, all data sets",
    shows="Violations of DP-FERMI and of Tran et al. (2021b), in percentage points, each at its fairest setting with "
    "the accuracy named, the lowest and the highest of each figure's. A gain is by how many percent the first is "
    "below the second.",
    settings="The runs are those of Figures 2, 3, 4 and 6 to 10, with their settings and accuracies. Parkinsons is "
    "split by rows, and the stand-in for Retired Adult has the budgets 0.5 and 3 alone.",
    full=Version(_put_together("full"), f"{_THEIRS}, as in the paper"),
    small=Version(_put_together("small"), f"{_THEIRS}, in their smaller versions"),
    drawing=GainTable((_GAIN_PARITY, _GAIN_ODDS)),
    not_printed="The paper prints gains over all data sets and budgets, and none of a single one. Of demographic "
    "parity they are 79.648 % on average and 65.89 % in the median, of equalized odds 96.65 % and 90.02 %. The "
    "averages are "
    "judged here. The medians of ours stand beside them without a verdict.",
    claims=(
        _gain_claim("it gains 79.648 % in demographic parity on average over Tran et al. (2021b)", _GAIN_PARITY),
        _gain_claim("it gains 96.65 % in equalized odds on average over Tran et al. (2021b)", _GAIN_ODDS),
    ),
    privacy=_PRIVACY.strip(),
    made_from=tuple(figure.id for figure in _COMPARING),
)

FIGURE_1 = MethodTable(
    title="Figure 1: comparison with existing works",
    shows="The paper compares what works take and guarantee: labels that are not binary, several notions of fairness, "
    "and convergence. The marks of the printed figure are not in our text, so that nothing is judged. In their place "
    "stands what our versions of these works declare. A batch size is that of a model's training; what corrects a "
    "finished model counts all rows. Convergence is not declared. The paper claims its guarantee with mini-batches for "
    "DP-FERMI alone.",
    methods=("jagielski_post", "jagielski_in", "randomized_response", "pf_ld", "sf_pate", "fairlens", "dp_fermi"),
)

PAPER = Paper(
    id="dp_fermi",
    name="DP-FERMI",
    title="DP-FERMI: Stochastic differentially private and fair learning",
    citation="Lowy, Gupta and Razaviyayn, ICLR 2023",
    presets=(
        FIGURE_2,
        ITERATE,
        FIGURE_3,
        FIGURE_4,
        FIGURE_5,
        FIGURE_6,
        FIGURE_7,
        FIGURE_8,
        FIGURE_9,
        FIGURE_10,
        GAINS,
    ),
    main_claim=("dp_fermi.figure2", 0),
    method_table=FIGURE_1,
)
