"""PF-LD's Figures 3 and 4: what the clipping bound C_p does to fairness, accuracy and the gradients."""

from __future__ import annotations

from fairpriv_core.papers.pf_ld_claims import make_claim, quantity
from fairpriv_core.papers.pf_ld_runs import (
    NO_NUMBERS,
    NOTIONS,
    PARITY,
    PF_LD,
    PRIVACY,
    SETTINGS,
    pf_ld_at,
    sweep_bank,
    with_variants,
)
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    Best,
    Compare,
    Part,
    Plot,
    Preset,
    Quantity,
    Value,
    Version,
    Where,
    proved,
    published,
)

_CLIP = Value("config/method/clip_primal", "Clipping bound C_p", log=True)
_YOUNG, _OLD = (
    Value(f"clipped/{group}", f"Gradients above C_p, {group}", "%", scale=100.0) for group in ("age < 60", "age ≥ 60")
)
_CLIPS = (1.0, 10.0, 100.0)
_MORE_CLIPS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_FINE_CLIPS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def _at(own: Part, clip: float, value: Value, where: Where | None = None) -> Quantity:
    chosen = {**own.where, "config/method/clip_primal": clip, **(where or {})}
    return Quantity(f"{own.name}, at C_p = {clip:g}", value, chosen)


def _of_clip(clip: float, place: int) -> Part:
    chosen = {**PF_LD, "config/method/clip_primal": clip}
    return Part(f"C_p = {clip:g}", chosen, f"step {place}")


_CASES = (PARITY,)
_SOURCE = "Analysis of the Clipping Values"
_THREE = {"config/epsilon": 3.0}

FIGURE_3 = Preset(
    id="pf_ld.figure3",
    title="Figure 3: what the clipping bound does",
    shows="Accuracy and fairness violation of PF-LD over ε, one line for each clipping bound C_p.",
    settings=f"{SETTINGS} Of the values of C_p the text names only 10 and 20; the others are ours. "
    "As published, training at C_p = 100 and ε = 0.1 breaks off: the noise is too large for it, so 0.1 is left out.",
    full=Version(
        (sweep_bank(pf_ld_at(_MORE_CLIPS), epsilon=[0.5, 1.0, 2.0, 3.0, 5.0], seeds=10),),
        "three notions, 7 values of C_p, 5 of ε, 10 seeds",
    ),
    small=Version(
        (sweep_bank(pf_ld_at(_CLIPS), epsilon=[0.5, 1.0, 3.0], seeds=3, notions=["demographic_parity"]),),
        "demographic parity alone, 3 values of C_p, 3 of ε, 3 seeds in place of 10",
    ),
    drawing=Plot(
        "line",
        EPSILON,
        (ACCURACY, GAP),
        tuple(_of_clip(clip, place) for place, clip in enumerate(_MORE_CLIPS)),
        tuple(case for notion in NOTIONS for case in with_variants((notion,))),
    ),
    not_printed=NO_NUMBERS,
    claims=(
        make_claim(
            "the best fairness is reached with C_p from 10 to 20",
            _SOURCE,
            lambda own: Best(quantity(own, GAP, {"config/epsilon": 1.0}), _CLIP, "smallest", 10.0, 20.0),
            reading="at ε = 1",
            cases=_CASES,
        ),
        make_claim(
            "high values of C_p degrade the accuracy",
            _SOURCE,
            lambda own: Compare(_at(own, 100.0, ACCURACY), _at(own, 10.0, ACCURACY), high=0.0),
            reading="lower at 100 than at 10",
            cases=_CASES,
        ),
        make_claim(
            "high values of C_p degrade fairness",
            _SOURCE,
            lambda own: Compare(_at(own, 100.0, GAP), _at(own, 10.0, GAP), low=0.0),
            reading="a larger violation at 100 than at 10",
            cases=_CASES,
        ),
        make_claim(
            "small values of C_p slow the drop of the violation",
            _SOURCE,
            lambda own: Compare(_at(own, 1.0, GAP, _THREE), _at(own, 10.0, GAP, _THREE), low=0.0),
            reading="at ε = 3 it is larger at C_p = 1 than at 10",
            cases=_CASES,
        ),
    ),
    privacy=PRIVACY,
)

FIGURE_4 = Preset(
    id="pf_ld.figure4",
    title="Figure 4: gradients above the clipping bound",
    shows="Accuracy (left), fairness violation (middle) and the share of each group's gradients whose norm is above "
    "C_p (right), over C_p, for demographic parity.",
    settings=f"{SETTINGS} Norms are those of every training row at each run's finished model; the text does not say "
    "when the paper took them. The values of C_p are ours.",
    full=Version(
        (sweep_bank(pf_ld_at(_FINE_CLIPS), epsilon=[1.0], seeds=10, notions=["demographic_parity"]),),
        "9 values of C_p, 10 seeds",
    ),
    small=Version(
        (
            sweep_bank(
                pf_ld_at((0.2, 1.0, 5.0, 10.0, 20.0, 100.0)),
                epsilon=[1.0],
                seeds=3,
                notions=["demographic_parity"],
            ),
        ),
        "6 values of C_p, 3 seeds in place of 10",
    ),
    drawing=Plot(
        "line",
        _CLIP,
        (ACCURACY, GAP, _YOUNG, _OLD),
        (published("PF-LD, ε = 1", "pf_ld"), proved("PF-LD, ε = 1", "pf_ld")),
        across=True,
    ),
    not_printed=NO_NUMBERS,
    claims=(
        make_claim(
            "the share of gradients above C_p is very high when C_p is small",
            _SOURCE,
            lambda own: Compare(_at(own, 0.2, _YOUNG), 50.0, low=0.0),
            reading="above half of the younger's at the smallest C_p",
            cases=_CASES,
        ),
        make_claim(
            "at large C_p most gradients of both groups are smaller",
            _SOURCE,
            lambda own: Compare(_at(own, 100.0, _OLD), 50.0, high=0.0),
            reading="above it are less than half of the older's at the largest C_p",
            cases=_CASES,
        ),
        make_claim(
            "at intermediate C_p the violation is lower than at both ends",
            _SOURCE,
            lambda own: Best(quantity(own, GAP), _CLIP, "smallest", 0.3, 50.0),
            reading="it is smallest at a C_p between the smallest and the largest",
            cases=_CASES,
        ),
    ),
    privacy=PRIVACY,
    measured="clipped",
)
