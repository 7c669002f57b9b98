"""The settings of DP-FERMI and of its rivals on each data set: what each was tried with, and what was chosen.

On each data set and notion every method has trials of its optimiser's settings, each with several values of its knob
for fairness, by what seeds 100 and 101 hold out. Of a trial, at each budget of the figure and at each accuracy, counts
the smallest mean violation among values of the knob with a mean accuracy of at least that; where none gets there, 100
points count. The trial with the smallest mean is chosen; of equal ones, the more accurate.

The accuracies are those of `LEVELS`, one a data set, or for `THERE` those at which the figure compares: four from end
to end of what the authors' points span. There the rule stood before its trials, but for D = 5, which was added as D = 2
was the better of 1 and 2, and was worse. Values of the knob were then λ = 1, 2.5, 8 and 20 and λ_max = 0.5, 1, 2 and 4.
Tran et al. (2021a) would gain there on Adult from a step of 0.05: at seeds 100 and 101 its violation is 7.6 to 12
points, so that no verdict would change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any

from fairpriv_core.papers.preset import Method

PARITY, ODDS = "demographic_parity", "equalized_odds"
FOUR, THREE = (0.5, 1.0, 3.0, 9.0), (0.5, 1.0, 3.0)
LOST = "the paper's D, L_θ and optimiser, which it does not print"
TRIAL_SEEDS = (100, 101)  # no figure has them
#: the accuracy at which settings were chosen, in percent, by data set; but of THERE
LEVELS = {"adult": 84.0, "parkinsons_motor": 94.0, "credit_default": 81.0}
#: where the authors' points of Tran et al. (2021b) lie, in percent of accuracy, outward to halves; of the stand-in for
#: Retired Adult as far below the model that is neither private nor fair as theirs lie on their data
SPANS = {
    (PARITY, "adult"): (81.0, 82.5),
    (PARITY, "credit_default"): (80.0, 81.0),
    (PARITY, "parkinsons_motor"): (91.5, 95.0),
    (PARITY, "acs_income"): (75.5, 76.5),
    (ODDS, "adult"): (79.5, 82.0),
    (ODDS, "credit_default"): (78.0, 80.0),
    (ODDS, "acs_income"): (75.5, 76.5),
}

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """The data, the notion and the budgets of one figure, or of two that share their settings.

    `plain` is the setting of the model without privacy and fairness; `beyond` are the λ beyond what is printed, and
    `multipliers` PF-LD's λ_max.
    """

    data: Mapping[str, Any]
    notion: str
    epsilons: Sequence[float]
    plain: Setting
    split: str = "stratified"
    beyond: Sequence[float] = (4.0, 8.0, 20.0)  # of parity on Adult the violation falls from 15 points to 1 to 3
    multipliers: Sequence[float] = (0.1, 0.25, 0.5, 1.0)

    @property
    def span(self) -> tuple[float, float]:
        """From where to where the figure compares, in percent of accuracy."""
        return SPANS[self.notion, self.data["dataset"]]


_SHORT, _LONG = {"epochs": 20}, {"epochs": 200, "learning_rate": 0.01}
_PARKINSONS = {"dataset": "parkinsons_motor", "sensitive": "sex"}
CASES: Mapping[str, Case] = {
    "Adult, parity": Case(
        {"dataset": "adult", "sensitive": "sex"},
        PARITY,
        FOUR,
        _SHORT,
        beyond=(4.0, 6.0, 8.0, 20.0),
        multipliers=(0.5, 1.0, 2.0, 4.0),
    ),
    "Adult, odds": Case({"dataset": "adult", "sensitive": "sex"}, ODDS, THREE, _SHORT),
    "Credit Card, parity": Case({"dataset": "credit_default", "sensitive": "SEX"}, PARITY, FOUR, _SHORT),
    "Credit Card, odds": Case({"dataset": "credit_default", "sensitive": "SEX"}, ODDS, THREE, _SHORT),
    "Parkinsons, parity": Case(_PARKINSONS, PARITY, FOUR, _LONG, split="rows", beyond=()),
}

_PUBLISHED = {"variant": "published", "batch_size": 1024}
_FIXED: Mapping[str, Setting] = {
    "dp_fermi": {**_PUBLISHED, "epochs": 200, "optimizer": "adam", "dual_step": 0.01, "clip_primal": 1.0},
    "pf_ld": _PUBLISHED,
    "fairlens": _PUBLISHED,
    "jagielski_in": {},
}
#: what trades accuracy for fairness; a figure has a point at each of its values
KNOBS = {
    "dp_fermi": "multiplier",
    "pf_ld": "multiplier_max",
    "fairlens": "multiplier_boundary",
    "jagielski_in": "difference_bound",
}
TITLES = {
    "dp_fermi": "DP-FERMI",
    "pf_ld": "Tran et al. 2021b",
    "fairlens": "Tran et al. 2021a",
    "jagielski_in": "Jagielski et al. 2019",
}
_WORDS = {
    "learning_rate": "a step of {}",
    "dual_norm": "D = {}",
    "epochs": "{} epochs",
    "dual_step": "an auditor's step of {}",
    "rounds": "{} rounds",
}


def _combine(**values: Sequence[Any]) -> tuple[Setting, ...]:
    return tuple(dict(zip(values, combination, strict=True)) for combination in product(*values.values()))


_STEPS_AND_EPOCHS = _combine(learning_rate=(0.01, 0.05), epochs=(20, 200))
TRIED: Mapping[str, tuple[Setting, ...]] = {
    "dp_fermi": _combine(learning_rate=(0.005, 0.01), dual_norm=(1.0, 2.0)),
    "pf_ld": _STEPS_AND_EPOCHS,
    "fairlens": _STEPS_AND_EPOCHS,
    "jagielski_in": _combine(dual_step=(0.5, 2.0), rounds=(10, 40)),
}
CHOSEN: Mapping[str, Mapping[str, Setting]] = {
    "Adult, parity": {
        "dp_fermi": {"learning_rate": 0.005, "dual_norm": 2.0},
        "pf_ld": {"learning_rate": 0.01, "epochs": 200},
        "fairlens": {"learning_rate": 0.01, "epochs": 20},
    },
    "Adult, odds": {
        "dp_fermi": {"learning_rate": 0.01, "dual_norm": 1.0},
        "pf_ld": {"learning_rate": 0.01, "epochs": 20},
        "jagielski_in": {"dual_step": 2.0, "rounds": 10},
    },
    "Credit Card, parity": {
        "dp_fermi": {"learning_rate": 0.01, "dual_norm": 2.0},
        "pf_ld": {"learning_rate": 0.05, "epochs": 200},
        "fairlens": {"learning_rate": 0.01, "epochs": 200},
    },
    "Credit Card, odds": {
        "dp_fermi": {"learning_rate": 0.005, "dual_norm": 1.0},
        "pf_ld": {"learning_rate": 0.01, "epochs": 20},
        "jagielski_in": {"dual_step": 0.5, "rounds": 10},
    },
    "Parkinsons, parity": {
        "dp_fermi": {"learning_rate": 0.005, "dual_norm": 1.0},
        "pf_ld": {"learning_rate": 0.01, "epochs": 200},
        "fairlens": {"learning_rate": 0.05, "epochs": 200},
    },
}
#: the cases and methods whose settings were chosen at the accuracies at which the figure compares
THERE = (("Adult, parity", "dp_fermi"), ("Adult, parity", "pf_ld"))


def list_levels(notion: str, data: str) -> tuple[float, ...]:
    """Return the accuracies at which violations are compared, in percent: four, from end to end of the span."""
    low, high = SPANS[notion, data]
    return tuple(round(low + (high - low) * step / 3.0, 2) for step in range(4))


def list_methods(case: Case) -> tuple[str, ...]:
    """Return the methods of a case: DP-FERMI and its two rivals."""
    return ("dp_fermi", "pf_ld", "jagielski_in" if case.notion == ODDS else "fairlens")


def build(name: str, setting: Setting, values: Sequence[float]) -> list[Method]:
    """Return a method's tables of a sweep: with a setting, at each value of its knob."""
    return [{"name": name, **_FIXED[name], **setting, KNOBS[name]: value} for value in values]


def format_trials(name: str) -> str:
    """Return with what the methods of a case were tried, and what was chosen."""
    methods = list_methods(CASES[name])
    alike = groupby(methods, lambda method: TRIED[method])
    tried = " ".join(
        f"{' and '.join(TITLES[method] for method in own)}: {_format_settings(settings)}." for settings, own in alike
    )
    choices = "; ".join(
        f"{', '.join(f'for {TITLES[method]} {_format_settings([CHOSEN[name][method]])}' for method in own)}, at {at} %"
        for at, own in groupby(methods, lambda method: _format_accuracy(name, method))
    )
    return (
        f" Each method had trials on seeds {' and '.join(map(str, TRIAL_SEEDS))}, with several values of its knob. "
        f"{tried} We took what has the smallest violation at an accuracy, on average over the budgets: {choices}."
    )


def _format_accuracy(name: str, method: str) -> str:
    """Return the accuracy at which a method's setting was chosen, in percent."""
    case = CASES[name]
    low, high = case.span
    return f"{low:g} to {high:g}" if (name, method) in THERE else f"{LEVELS[case.data['dataset']]:g}"


def _format_settings(settings: Sequence[Setting]) -> str:
    """Return in words which values each hyper-parameter has in settings."""
    values = {key: sorted({setting[key] for setting in settings}) for key in settings[0]}
    return " with ".join(_WORDS[key].format(" or ".join(f"{one:g}" for one in own)) for key, own in values.items())
