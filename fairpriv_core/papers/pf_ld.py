"""Tran, Fioretto and Van Hentenryck (2021): PF-LD. Figures 1 to 4 and Table 1, on the Bank data by age.

The texts read are that of AAAI 2021 and arXiv:2009.12562; their experiments and Table 1 are the same. Neither prints
epochs, batch size (but in Table 1), learning rate, dual step, the largest multiplier, where age is cut, or the values
of a figure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fairpriv_core.papers.pf_ld_claims import PROVED, PUBLISHED, make_claim, quantity
from fairpriv_core.papers.pf_ld_clipping import FIGURE_3, FIGURE_4
from fairpriv_core.papers.pf_ld_runs import (
    NO_NUMBERS,
    NOTIONS,
    PRIVACY,
    SETTINGS,
    not_private,
    pf_ld_at,
    sweep_bank,
)
from fairpriv_core.papers.pf_ld_table import TABLE_1
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    Compare,
    Paper,
    Part,
    Plot,
    Preset,
    Quantity,
    Trend,
    Version,
    Where,
    of_method,
    proved,
    published,
)

_M = {"name": "randomized_response"}
_AT_ONE = {"config/epsilon": 1.0}
_CLF, _Z, _A = of_method("CLF", "none"), of_method("Z", "zafar"), of_method("A", "reductions")
_RESPONSE = of_method("M", "randomized_response")
_FAIRNESS, _TRADE_OFF = "Accuracy and Fairness", "Privacy, Fairness, and Accuracy Tradeoff"


def _lower(own: Part, rival: Part, high: float = 0.0, where: Where | None = None) -> Compare:
    return Compare(quantity(own, GAP, where), quantity(rival, GAP, where), high=high)


def _spread(part: Part) -> Quantity:
    return replace(quantity(part, GAP, _AT_ONE), of="spread")


FIGURE_1 = Preset(
    id="pf_ld.figure1",
    title="Figure 1: accuracy and fairness",
    shows="Accuracy and fairness violation of CLF (neither fair nor private), of Z and A (fair, not private), of M "
    "(randomised response, then a fair learner) and of PF-LD at ε = 1, for three notions; means over 10 runs.",
    settings=SETTINGS,
    full=Version(
        (sweep_bank([*not_private(), _M, *pf_ld_at()], epsilon=[1.0], seeds=10),),
        "10 seeds as in the paper",
    ),
    small=Version(
        (sweep_bank([*not_private(), _M, *pf_ld_at()], epsilon=[1.0], seeds=3),),
        "3 seeds in place of 10",
    ),
    drawing=Plot(
        "bar",
        EPSILON,
        (ACCURACY, GAP),
        (
            _CLF,
            _Z,
            _A,
            of_method("M, ε = 1", "randomized_response"),
            published("PF-LD, ε = 1", "pf_ld"),
            proved("PF-LD, ε = 1", "pf_ld"),
        ),
        NOTIONS,
    ),
    not_printed=NO_NUMBERS,
    claims=(
        make_claim(
            "the accuracy of PF-LD is in line with that of CLF",
            _FAIRNESS,
            lambda own: Compare(quantity(own, ACCURACY), quantity(_CLF, ACCURACY), -1.0),
            reading="at most 1 point below",
        ),
        *(
            make_claim(
                f"its fairness violations are competitive with those of {rival.name}",
                _FAIRNESS,
                partial(_lower, rival=rival, high=1.0),
                reading="at most 1 point above",
            )
            for rival in (_A, _Z)
        ),
        make_claim(
            "PF-LD has considerably lower fairness violations than M",
            _FAIRNESS,
            partial(_lower, rival=_RESPONSE),
            reading="lower at all, as it does not say how much is considerable",
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
        (sweep_bank([*pf_ld_at(), _M], epsilon=[0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0], seeds=100),),
        "100 seeds as in the paper, 7 values of ε",
    ),
    small=Version(
        (sweep_bank([*pf_ld_at(), _M], epsilon=[0.1, 1.0, 3.0], seeds=3),),
        "3 seeds in place of 100, 3 values of ε in place of 7",
    ),
    drawing=Plot("line", EPSILON, (ACCURACY, GAP), (PUBLISHED, PROVED, _RESPONSE), NOTIONS),
    not_printed=NO_NUMBERS,
    claims=(
        make_claim(
            "the fairness violation decreases as ε increases",
            _TRADE_OFF,
            lambda own: Trend(quantity(own, GAP), EPSILON, "down", slack=1.0),
        ),
        make_claim(
            "the accuracy slightly decreases as ε increases",
            _TRADE_OFF,
            lambda own: Trend(quantity(own, ACCURACY), EPSILON, "down", slack=0.2),
            reading="lower at all at the largest ε, as it does not say how much is slight",
        ),
        make_claim(
            "in most cases PF-LD is more accurate than M",
            _TRADE_OFF,
            lambda own: Compare(quantity(own, ACCURACY, _AT_ONE), quantity(_RESPONSE, ACCURACY, _AT_ONE), low=0.0),
            reading="at ε = 1",
        ),
        make_claim(
            "in most cases PF-LD has smaller fairness violations than M",
            _TRADE_OFF,
            partial(_lower, rival=_RESPONSE, where=_AT_ONE),
            reading="at ε = 1",
        ),
        make_claim(
            "the violations of PF-LD vary less between runs than those of M",
            _TRADE_OFF,
            lambda own: Compare(_spread(own), _spread(_RESPONSE), high=0.0),
            reading="at ε = 1",
        ),
    ),
    privacy=PRIVACY,
)

PAPER = Paper(
    id="pf_ld",
    name="PF-LD",
    title="PF-LD: differentially private and fair deep learning",
    citation="Tran, Fioretto and Van Hentenryck, Differentially Private and Fair Deep Learning: A Lagrangian Dual "
    "Approach, AAAI 2021 and arXiv:2009.12562",
    presets=(FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, TABLE_1),
)
