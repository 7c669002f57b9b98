"""Tran, Fioretto and Van Hentenryck (2021): PF-LD. Figures 1 to 4 and Table 1, on the Bank data by age.

The texts read are that of AAAI 2021 and arXiv:2009.12562; their experiments and Table 1 are the same. Neither prints
epochs, batch size (but in Table 1), learning rate, dual step, the largest multiplier, where age is cut, or the values
of a figure.
"""

from __future__ import annotations

from fairpriv_core.papers.pf_ld_clipping import FIGURE_3, FIGURE_4
from fairpriv_core.papers.pf_ld_runs import (
    NO_NUMBERS,
    NOTIONS,
    PF_LD,
    PRIVACY,
    RESPONSE,
    SETTINGS,
    not_private,
    pf_ld_at,
    sweep_bank,
    with_variants,
)
from fairpriv_core.papers.pf_ld_table import TABLE_1
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    Claim,
    Compare,
    Paper,
    Plot,
    Preset,
    Quantity,
    Trend,
    Version,
    of_method,
    proved,
    published,
)

_M = {"name": "randomized_response"}
_AT_ONE, _M_AT_ONE = {**PF_LD, "config/epsilon": 1.0}, {**RESPONSE, "config/epsilon": 1.0}
_LINES = (published("PF-LD", "pf_ld"), proved("PF-LD", "pf_ld"), of_method("M", "randomized_response"))

FIGURE_1 = Preset(
    id="pf_ld.figure1",
    title="Figure 1: accuracy and fairness",
    shows="Accuracy and fairness violation of CLF (neither fair nor private), of Z and A (fair, not private), of M "
    "(randomised response, then a fair learner) and of PF-LD at ε = 1, for three notions; means over 10 runs.",
    settings=SETTINGS,
    full=Version(
        (sweep_bank([*not_private(50), _M, *pf_ld_at(50)], epsilon=[1.0], seeds=10),),
        "10 seeds as in the paper, 50 epochs",
    ),
    small=Version(
        (sweep_bank([*not_private(20), _M, *pf_ld_at(20)], epsilon=[1.0], seeds=3),),
        "3 seeds in place of 10, 20 epochs in place of our 50",
    ),
    drawing=Plot(
        "bar",
        EPSILON,
        (ACCURACY, GAP),
        (
            of_method("CLF", "none"),
            of_method("Z", "zafar"),
            of_method("A", "reductions"),
            of_method("M, ε = 1", "randomized_response"),
            published("PF-LD, ε = 1", "pf_ld"),
            proved("PF-LD, ε = 1", "pf_ld"),
        ),
        NOTIONS,
    ),
    not_printed=NO_NUMBERS,
    claims=(
        Claim(
            "The accuracy of PF-LD is in line with that of CLF (we take: at most 1 point below).",
            "Accuracy and Fairness",
            Compare(
                Quantity("PF-LD", ACCURACY, PF_LD), Quantity("CLF", ACCURACY, {"config/method/name": "none"}), -1.0
            ),
            with_variants(NOTIONS),
        ),
        Claim(
            "Its fairness violations are competitive with those of A (we take: at most 1 point above).",
            "Accuracy and Fairness",
            Compare(Quantity("PF-LD", GAP, PF_LD), Quantity("A", GAP, {"config/method/name": "reductions"}), high=1.0),
            with_variants(NOTIONS),
        ),
        Claim(
            "Its fairness violations are competitive with those of Z (we take: at most 1 point above).",
            "Accuracy and Fairness",
            Compare(Quantity("PF-LD", GAP, PF_LD), Quantity("Z", GAP, {"config/method/name": "zafar"}), high=1.0),
            with_variants(NOTIONS),
        ),
        Claim(
            "PF-LD has considerably lower fairness violations than M.",
            "Accuracy and Fairness",
            Compare(Quantity("PF-LD", GAP, PF_LD), Quantity("M", GAP, RESPONSE), high=0.0),
            with_variants(NOTIONS),
        ),
    ),
    privacy=PRIVACY,
)

FIGURE_2 = Preset(
    id="pf_ld.figure2",
    title="Figure 2: privacy, fairness and accuracy",
    shows="Accuracy and fairness violation of PF-LD and of M over ε, for three notions; means over 100 runs.",
    settings=SETTINGS,
    full=Version(
        (sweep_bank([*pf_ld_at(50), _M], epsilon=[0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0], seeds=100),),
        "100 seeds as in the paper, 7 values of ε, 50 epochs",
    ),
    small=Version(
        (sweep_bank([*pf_ld_at(20), _M], epsilon=[0.1, 1.0, 3.0], seeds=3),),
        "3 seeds in place of 100, 3 values of ε, 20 epochs in place of our 50",
    ),
    drawing=Plot("line", EPSILON, (ACCURACY, GAP), _LINES, NOTIONS),
    not_printed=NO_NUMBERS,
    claims=(
        Claim(
            "The fairness violation decreases as ε increases.",
            "Privacy, Fairness, and Accuracy Tradeoff",
            Trend(Quantity("PF-LD", GAP, PF_LD), EPSILON, "down", slack=1.0),
            with_variants(NOTIONS),
        ),
        Claim(
            "The accuracy slightly decreases as ε increases.",
            "Privacy, Fairness, and Accuracy Tradeoff",
            Trend(Quantity("PF-LD", ACCURACY, PF_LD), EPSILON, "down", slack=0.2),
            with_variants(NOTIONS),
        ),
        Claim(
            "In most cases PF-LD is more accurate than M (at ε = 1).",
            "Privacy, Fairness, and Accuracy Tradeoff",
            Compare(Quantity("PF-LD", ACCURACY, _AT_ONE), Quantity("M", ACCURACY, _M_AT_ONE), low=0.0),
            with_variants(NOTIONS),
        ),
        Claim(
            "In most cases PF-LD has smaller fairness violations than M (at ε = 1).",
            "Privacy, Fairness, and Accuracy Tradeoff",
            Compare(Quantity("PF-LD", GAP, _AT_ONE), Quantity("M", GAP, _M_AT_ONE), high=0.0),
            with_variants(NOTIONS),
        ),
        Claim(
            "The violations of PF-LD vary less between runs than those of M (at ε = 1).",
            "Privacy, Fairness, and Accuracy Tradeoff",
            Compare(
                Quantity("PF-LD", GAP, _AT_ONE, "spread"),
                Quantity("M", GAP, _M_AT_ONE, "spread"),
                high=0.0,
            ),
            with_variants(NOTIONS),
        ),
    ),
    privacy=PRIVACY,
)

PAPER = Paper(
    id="pf_ld",
    title="PF-LD: differentially private and fair deep learning",
    citation="Tran, Fioretto and Van Hentenryck, Differentially Private and Fair Deep Learning: A Lagrangian Dual "
    "Approach, AAAI 2021 and arXiv:2009.12562",
    presets=(FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, TABLE_1),
)
