"""PF-LD's Figures 3 and 4: what the clipping bound C_p does to fairness, accuracy and the gradients."""

from __future__ import annotations

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
    Claim,
    Compare,
    Part,
    Plot,
    Preset,
    Quantity,
    Value,
    Version,
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


def _at(clip: float, value: Value) -> Quantity:
    return Quantity(f"PF-LD at C_p = {clip:g}", value, {**PF_LD, "config/method/clip_primal": clip})


def _of_clip(clip: float, place: int) -> Part:
    chosen = {**PF_LD, "config/method/clip_primal": clip}
    return Part(f"C_p = {clip:g}", chosen, f"step {place}")


_VARIANTS = with_variants((PARITY,))

FIGURE_3 = Preset(
    id="pf_ld.figure3",
    title="Figure 3: what the clipping bound does",
    shows="Accuracy and fairness violation of PF-LD over ε, one line for each clipping bound C_p.",
    settings=f"{SETTINGS} Of the values of C_p the text names only 10 and 20; the others are ours. "
    "As published, training at C_p = 100 and ε = 0.1 breaks off: the noise is too large for it, so 0.1 is left out.",
    full=Version(
        (sweep_bank(pf_ld_at(50, _MORE_CLIPS), epsilon=[0.5, 1.0, 2.0, 3.0, 5.0], seeds=10),),
        "three notions, 7 values of C_p, 5 of ε, 10 seeds, 50 epochs",
    ),
    small=Version(
        (sweep_bank(pf_ld_at(20, _CLIPS), epsilon=[0.5, 1.0, 3.0], seeds=3, notions=["demographic_parity"]),),
        "demographic parity alone, 3 values of C_p, 3 of ε, 3 seeds in place of 10, 20 epochs in place of our 50",
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
        Claim(
            "The best fairness is reached with C_p from 10 to 20.",
            "Analysis of the Clipping Values",
            Best(Quantity("PF-LD", GAP, {**PF_LD, "config/epsilon": 1.0}), _CLIP, "smallest", 10.0, 20.0),
            _VARIANTS,
        ),
        Claim(
            "High values of C_p degrade the accuracy.",
            "Analysis of the Clipping Values",
            Compare(_at(100.0, ACCURACY), _at(10.0, ACCURACY), high=0.0),
            _VARIANTS,
        ),
        Claim(
            "High values of C_p degrade fairness.",
            "Analysis of the Clipping Values",
            Compare(_at(100.0, GAP), _at(10.0, GAP), low=0.0),
            _VARIANTS,
        ),
        Claim(
            "Small values of C_p slow the drop of the violation: it is larger at the largest ε that was run.",
            "Analysis of the Clipping Values",
            Compare(
                Quantity("C_p = 1", GAP, {**_at(1.0, GAP).where, "config/epsilon": 3.0}),
                Quantity("C_p = 10", GAP, {**_at(10.0, GAP).where, "config/epsilon": 3.0}),
                low=0.0,
            ),
            _VARIANTS,
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
        (sweep_bank(pf_ld_at(50, _FINE_CLIPS), epsilon=[1.0], seeds=10, notions=["demographic_parity"]),),
        "9 values of C_p, 10 seeds, 50 epochs",
    ),
    small=Version(
        (
            sweep_bank(
                pf_ld_at(20, (0.2, 1.0, 5.0, 10.0, 20.0, 100.0)),
                epsilon=[1.0],
                seeds=3,
                notions=["demographic_parity"],
            ),
        ),
        "6 values of C_p, 3 seeds in place of 10, 20 epochs in place of our 50",
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
        Claim(
            "The share of gradients above C_p is very high when C_p is small (we take: above half at the smallest).",
            "Analysis of the Clipping Values",
            Compare(_at(0.2, _YOUNG), 50.0, low=0.0),
            _VARIANTS,
        ),
        Claim(
            "At large C_p most gradients of both groups are smaller (we take: of the older, at the largest).",
            "Analysis of the Clipping Values",
            Compare(_at(100.0, _OLD), 50.0, high=0.0),
            _VARIANTS,
        ),
        Claim(
            "At intermediate C_p the violation is lower than at both ends.",
            "Analysis of the Clipping Values",
            Best(Quantity("PF-LD", GAP, PF_LD), _CLIP, "smallest", 0.3, 50.0),
            _VARIANTS,
        ),
    ),
    privacy=PRIVACY,
    clipping=True,
)
