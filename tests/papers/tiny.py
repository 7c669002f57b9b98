"""A paper that takes no time: two figures and one table on made-up rows, and one figure that waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    Compare,
    Mark,
    Paper,
    PaperClaim,
    PaperTable,
    Part,
    Plot,
    Preset,
    Printed,
    Quantity,
    Value,
    Version,
    of_method,
    proved,
)

NONE, PF_LD = of_method("N", "none"), proved("PF-LD", "pf_ld")


def sweep(seeds: int) -> dict[str, Any]:
    """Return four runs or more on the synthetic data."""
    return {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "axes": {
            "method": [{"name": "none", "epochs": 2}, {"name": "pf_ld", "epochs": 2}],
            "epsilon": [1.0],
            "seed": list(range(seeds)),
        },
    }


_RUNS: dict[str, Any] = {"full": Version((sweep(9),), "9 seeds"), "small": Version((sweep(2),), "2 seeds of 9")}
FIGURE = Preset(
    id="tiny.figure1",
    title="Figure 1: a gap",
    shows="Accuracy and violation over ε.",
    **_RUNS,
    drawing=Plot("line", EPSILON, (ACCURACY, GAP), (NONE, PF_LD)),
    not_printed="The paper prints no numbers for this figure.",
    claims=(
        PaperClaim(
            "PF-LD is fairer than N",
            "Results",
            Compare(Quantity("PF-LD", GAP, PF_LD.where), Quantity("N", GAP, NONE.where), high=0.0),
            reading="by the gap",
        ),
    ),
    privacy="The ε is proved.",
)
TABLE = Preset(
    id="tiny.table1",
    title="Table 1: accuracy",
    shows="Accuracy of N and PF-LD.",
    **_RUNS,
    drawing=PaperTable((Part("synthetic"),), ((NONE, ACCURACY), (PF_LD, ACCURACY))),
    printed=(Printed("accuracy of N", 81.25, "Table 1, row 1", Quantity("N", ACCURACY, NONE.where)),),
)
AUC = Value("membership/*/auc", "Attack AUC", "%", scale=100.0, mark=Mark("membership/chance/auc", "guessing"))
ATTACKERS = (Part("Regression", step="LR"), Part("Forest", step="RF"))
ATTACKED = replace(
    FIGURE,
    id="tiny.figure3",
    title="Figure 3: attacks",
    drawing=Plot("bar", EPSILON, (AUC,), (NONE, PF_LD), ATTACKERS),
    claims=(
        PaperClaim(
            "PF-LD leaks no more than N",
            "Results",
            Compare(Quantity("PF-LD", AUC, PF_LD.where), Quantity("N", AUC, NONE.where), high=0.0),
            ATTACKERS,
        ),
    ),
    measured="membership",
)
#: the figure by two notions, a sweep each
SEVERAL = replace(FIGURE, small=Version((sweep(1), {**sweep(1), "notion": "equalized_odds"}), "one seed, two notions"))
WAITS = Preset("tiny.figure2", "Figure 2: faces", "Accuracy on faces.", waits_for="Waits for images.")
PAPER = Paper("tiny", "Tiny", "Tiny: a paper", "Nobody (2026)", (FIGURE, TABLE, ATTACKED, WAITS), ("tiny.figure3", 0))
