"""What the figures of FairDP with certificates have in common: values, methods, data, settings and what they claim."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    Check,
    Compare,
    PaperClaim,
    Part,
    Quantity,
    Trend,
    Value,
    of_method,
    proved,
    published,
)

_FAILURE = 0.05  # β: of a group as published, of all that a run certifies as proved


def _points(name: str, title: str) -> Value:
    return Value(f"metrics/{name}_gap", title, "percentage points", scale=100.0)


M = Value("config/method/weight_bound", "M")
AUC = Value("metrics/roc_auc", "ROC-AUC", "%", scale=100.0)
GAPS = {
    "demographic_parity": _points("demographic_parity", "Demographic parity"),
    "equal_opportunity": _points("equal_opportunity", "Equality of opportunity"),
    "equalized_odds": _points("equalized_odds", "Equality of odds"),
}
PARITY = GAPS["demographic_parity"]
DATA = (
    Part("Adult", {"config/data/dataset": "adult"}),
    Part("Default-CCC", {"config/data/dataset": "credit_default"}),
)
ADULT, CREDIT = DATA
EITHER = Part("")
CLEAN = of_method("Clean model", "none")
IS_SGD = published("DP-IS-SGD", "dp_is_sgd")
DPSGD_F = published("DPSGDF", "dpsgd_f")
FAIRDP = published("FairDP", "fairdp_certified")
PROVED = proved("FairDP", "fairdp_certified")
VARIANTS = (FAIRDP, PROVED)
SERIES = (
    *(*VARIANTS, IS_SGD, DPSGD_F),
    *(of_method("DPSGD-Smooth", "dpsgd_smooth"), of_method("DP-SGD", "dp_sgd"), of_method("FairSmooth", "fairsmooth")),
    CLEAN,
)
SHORT = dict(zip(GAPS, ("DP", "EOpp", "EOdd"), strict=True))
#: of Table III
COLUMNS = (
    *((Part("AUC, %"), AUC), (Part("Acc, %"), ACCURACY)),
    *((Part(f"{SHORT[notion]}, points"), gap) for notion, gap in GAPS.items()),
)
EVERYWHERE = (EITHER,)

SETTINGS = (
    "From the paper: multi-layer perceptrons, FairDP with clipped scoring weights, everything trained by Adam. Its "
    "budgets, network, rates and M are lost in the text that we have. Ours are ε from 0.5 to 2, one hidden layer of "
    "32 for every method, the shipped settings but for FairDP's steps of 0.5, and M = 0.5. Our FairDP takes plain "
    "gradient steps throughout; Adam, at a rate reduced half-way, has a figure of its own. Table I has 48,842 rows of "
    "Adult (11,687 positive) and 30,000 of "
    "Default-CCC (6,636); ours leaves out Adult's rows with missing values."
)
PRIVACY = (
    "All ε are about whole records. Those “as published” are by the moments accountant. FairDP's does not hold as "
    "published. Sums are divided by the realised sizes of secret samples. The even split of the last step shifts with "
    "one more record. The certificate's noise ignores its divisors. Neither do those of DP-IS-SGD, whose ε leaves "
    "out the group sizes, and DPSGDF, which counts one sample twice. The ε of “proved” is proved."
)
PUBLISHED_CERTIFIED = (
    "The certificate of “as published” is the paper's Proposition 3: it is about a classifier whose last layer is "
    "drawn anew, not about the model whose gap is beside it."
)
CERTIFIED = PUBLISHED_CERTIFIED + " That of “proved” bounds the very model's gap."
PAID = " The certificate of “proved” comes from noisy counts of test rows, which its ε covers."
LOST_SETTINGS = "the paper's budgets and M, which our text lacks"
LOST = "The numbers of this figure are not in the text that we have"


def of(part: Part, value: Value, data: Part = EITHER) -> Quantity:
    """Return the mean of a value over the runs of a part, of one data set where one is given."""
    return Quantity(part.name, value, {**part.where, **data.where})


def claim(
    says: str,
    source: str,
    check: Callable[[Part], Check],
    reading: str,
    *,
    cases: tuple[Part, ...] = EVERYWHERE,
    lost: str = "",
) -> PaperClaim:
    """Return what the paper says; `check` is given the variant that it is about."""
    return PaperClaim(says, source, check(FAIRDP), cases, reading, check(PROVED), lost)


def is_fairer(rival: Part, says: str, reading: str, *, cases: tuple[Part, ...] = EVERYWHERE) -> PaperClaim:
    """Return the claim that FairDP's demographic parity is at most a rival's."""
    return claim(
        says,
        "Section VI-A",
        lambda part: Compare(of(part, PARITY), of(rival, PARITY), high=0.0),
        reading,
        cases=cases,
    )


def gains_over_sgd(value: Value, most: float, says: str, *, cases: tuple[Part, ...] = EVERYWHERE) -> PaperClaim:
    """Return the claim that a gap is at most so many times DP-IS-SGD's."""
    return claim(
        says,
        "Section VI-A",
        lambda part: Compare(of(part, value), of(IS_SGD, value), high=most, as_ratio=True),
        f"FairDP's {value.title.lower()} is at most {most} times DP-IS-SGD's, over all our budgets; what it prints is "
        "a mean over the metrics",
        cases=cases,
        lost=LOST_SETTINGS,
    )


def rises_with_budget(part: Part) -> Trend:
    """Return the check that demographic parity grows with ε."""
    return Trend(of(part, PARITY), EPSILON, "up", slack=0.5)


def _grows_with_bound(part: Part, *, value: Value, slack: float) -> Trend:
    return Trend(of(part, value), M, "up", slack)


def list_claims_of_bound(cases: tuple[Part, ...] = EVERYWHERE) -> tuple[PaperClaim, ...]:
    """Return what the paper says of M: what grows with it."""
    degrades = "reducing M degrades utility"
    values = ((PARITY, "reducing M leads to fairer decisions", 0.5), (AUC, degrades, 0.3), (ACCURACY, degrades, 0.3))
    return tuple(
        claim(
            says,
            "Section VI-C",
            partial(_grows_with_bound, value=value, slack=slack),
            f"{value.title}, over M from 0.25 to 1",
            cases=cases,
        )
        for value, says, slack in values
    )


def certificate(notion: str) -> Value:
    """Return the bound on the gap of a notion: Proposition 3's as published, proved that of the exported model."""
    title = f"Certificate, {GAPS[notion].title.lower()}"
    return Value(f"notes/certificates/bounds/{notion}", title, "percentage points", scale=100.0)


def stays_below(part: Part, gap: Value, notion: str, groups: int = 2) -> Compare:
    """Return the check that a gap is at most its certificate, but at the share of runs that its promise leaves."""
    failing = _FAILURE * groups if part is FAIRDP else _FAILURE
    return Compare(of(part, certificate(notion)), of(part, gap), low=0.0, failing=failing)


def list_gap_columns() -> tuple[tuple[Part, Value], ...]:
    """Return for each notion the certificate and the gap on the test rows."""
    pairs = ((certificate(notion), value) for notion, value in GAPS.items())
    return tuple((Part(f"{value.title}, points"), value) for pair in pairs for value in pair)
