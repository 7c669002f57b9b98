"""Whose defaults are chosen, out of what, and on which benchmarks; see defaults.py.

The first candidate of a method is what shipped when the rule was written. The methods that a person can give a gap to
are tried as Train asks them, with the gap that stands there when it is opened. Five benchmarks were for all methods at
first; before any but DP-SGD was run, three were left for want of time, and PF-LD's runs without a gap were left out.
The two methods for which another candidate was confirmed were then tried without a gap aimed at, too: a default serves
both ways, and what is judged is their cells together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ACCEPTED = 0.04  # the gap that Train accepts when it is opened
MULTIPLIER_MAX = 5.0  # and λ_max there
Settings = Mapping[str, Any]
_BY_MULTIPLIERS = {"gap_target": ACCEPTED, "multiplier_max": MULTIPLIER_MAX}
_BY_TARGET = {"gap_target": ACCEPTED}

FIVE = ("synthetic:group", "compas:race", "adult:sex", "bank:age", "credit_default:sex")
THREE = ("synthetic:group", "compas:race", "adult:sex")


@dataclass(frozen=True)
class Design:
    """Candidates of a method by name, the ways in which it is asked, and the benchmarks."""

    candidates: Mapping[str, Settings]
    data: tuple[str, ...] = THREE
    ways: Mapping[str, Settings] = field(default_factory=lambda: {"as shipped": {}})


def rounds_that_follow(epsilon: float) -> int:
    """Return rounds of the DP oracle learner's game: 40 from ε = 1 on, 10 at ε = 0.1."""
    return round(40 * min(epsilon, 1.0) ** 0.6)


_BOTH_WAYS = {"aims at 0.04": _BY_TARGET, "as shipped": {"gap_target": None}}
_STEPS = {"clip_primal": 1.0, "learning_rate": 0.05}
DESIGNS: Mapping[str, Design] = {
    "dp_sgd": Design(
        {
            "shipped": {"batch_size": None, "learning_rate": 0.01, "clip_primal": 1.0},
            "batches of 1,024": {"batch_size": 1024, "learning_rate": 0.01, "clip_primal": 1.0},
            "half the rate": {"batch_size": None, "learning_rate": 0.005, "clip_primal": 1.0},
            "twice the rate": {"batch_size": None, "learning_rate": 0.02, "clip_primal": 1.0},
            "half the bound": {"batch_size": None, "learning_rate": 0.01, "clip_primal": 0.5},
        },
        data=FIVE,
    ),
    # added when benchmarks.constant had found it below the constant answer on Bank, whose smaller group has 3 % of rows
    "fairdp_certified": Design(
        {
            "shipped": {"learning_rate": 0.5, "weight_bound": 0.5},
            "rate 0.2": {"learning_rate": 0.2, "weight_bound": 0.5},
            "rate 0.1": {"learning_rate": 0.1, "weight_bound": 0.5},
            "rate 0.2, M = 0.7": {"learning_rate": 0.2, "weight_bound": 0.7},
            "rate 0.2, M = 1": {"learning_rate": 0.2, "weight_bound": 1.0},
        },
        data=FIVE,
    ),
    "pf_ld": Design(
        {
            "shipped": {"clip_primal": 0.5, "learning_rate": 0.002, "batch_size": 256},
            "half C_p": {"clip_primal": 0.25, "learning_rate": 0.002, "batch_size": 256},
            "twice C_p": {"clip_primal": 1.0, "learning_rate": 0.002, "batch_size": 256},
            "automatic batch": {"clip_primal": 0.5, "learning_rate": 0.002, "batch_size": None},
        },
        ways={"aims at 0.04": _BY_MULTIPLIERS},
    ),
    "pf_ld_record": Design(
        {
            "shipped": {"clip_primal": 1.0, "learning_rate": 0.03},
            "half C": {"clip_primal": 0.5, "learning_rate": 0.03},
            "twice C": {"clip_primal": 2.0, "learning_rate": 0.03},
            "half the rate": {"clip_primal": 1.0, "learning_rate": 0.015},
        },
        ways={"aims at 0.04": _BY_MULTIPLIERS},
    ),
    "raco_dp": Design(
        {
            "shipped": {**_STEPS},
            "half C": {**_STEPS, "clip_primal": 0.5},
            "rate 0.03": {**_STEPS, "learning_rate": 0.03},
        }
    ),
    "jagielski_in": Design(
        {
            "shipped": {"rounds": 40},
            "20 rounds": {"rounds": 20},
            "rounds follow ε": {"rounds": rounds_that_follow},
        },
        ways=_BOTH_WAYS,
    ),
    "dp_fermi": Design(
        {
            "shipped": {"clip_primal": 0.7, "learning_rate": 0.008},
            "half L_θ": {"clip_primal": 0.35, "learning_rate": 0.008},
            "half the rate": {"clip_primal": 0.7, "learning_rate": 0.004},
            # added when the others had been run: half L_θ moves θ half as far for fairness at the same λ
            "half L_θ, twice λ": {"clip_primal": 0.35, "learning_rate": 0.008, "multiplier": 12.0},
        },
        ways=_BOTH_WAYS,
    ),
    "dp_fermi_record": Design(
        {
            "shipped": {"clip_primal": 2.0, "learning_rate": 0.015},
            "half C": {"clip_primal": 1.0, "learning_rate": 0.015},
            "half the rate": {"clip_primal": 2.0, "learning_rate": 0.0075},
        },
        ways={"aims at 0.04": _BY_TARGET},
    ),
    "one_release_record": Design(
        {
            "shipped": {**_STEPS},
            "half C": {**_STEPS, "clip_primal": 0.5},
            "rate 0.03": {**_STEPS, "learning_rate": 0.03},
        }
    ),
    "group_thresholds_record": Design(
        {
            "shipped": {**_STEPS, "share_counts": 0.15},
            "half C": {**_STEPS, "clip_primal": 0.5, "share_counts": 0.15},
            "more for counts": {**_STEPS, "share_counts": 0.3},
        }
    ),
    "one_release": Design(
        {
            "shipped": {"learning_rate": 0.002, "score_bins": 10},
            "twice the rate": {"learning_rate": 0.004, "score_bins": 10},
            "5 bins": {"learning_rate": 0.002, "score_bins": 5},
        },
    ),
    "group_thresholds": Design(
        {"shipped": {"score_bins": 10}, "5 bins": {"score_bins": 5}, "20 bins": {"score_bins": 20}}
    ),
    "jagielski_post": Design({"shipped": {"difference_bound": 0.01}, "a bound of 0.02": {"difference_bound": 0.02}}),
}


def settings_at(candidate: Settings, epsilon: float) -> dict[str, Any]:
    """Return a candidate's settings at an ε, which some of them follow."""
    return {name: value(epsilon) if callable(value) else value for name, value in candidate.items()}
