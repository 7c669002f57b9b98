"""The runs behind the figures of DP-FERMI: the data, the values of λ, and how many runs each figure has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from fairpriv_core.papers.dp_fermi.settings import CASES, CHOSEN, TRIAL_SEEDS, build, list_methods
from fairpriv_core.papers.preset import Method, PaperSweep, SweepAxes

ACS = {"dataset": "acs_income", "sensitive": "sex"}
FACES = {"dataset": "utkface", "label": "age", "sensitive": "race", "rows": 5000}
FACES_LARGE = {"dataset": "utkface_128", "label": "age", "sensitive": "race"}

_LAMBDAS = [0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5]
_FEW = [0.25, 0.5, 1.0, 1.5, 2.5]
PRINTED = tuple(_LAMBDAS)  # in Appendix F.2.1's range
_VALUES = {
    "fairlens": [0.1, 0.3, 1.0, 3.0],
    "jagielski_in": [0.005, 0.02, 0.05],
}

#: Appendix F.3's, with the least of its ranges for D and L_θ
_FACES = {
    "batch_size": 64,
    "optimizer": "adam",
    "learning_rate": 0.001,
    "dual_step": 0.005,
    "clip_primal": 1.0,
    "dual_norm": 1.0,
}
#: ours: its proof lets W take larger steps for the same budget
_FACES_PROVED = {**_FACES, "dual_step": 0.05}


def iterates(*, whole: bool) -> list[Method]:
    """Return DP-FERMI as published on Adult that returns the last iterate, and one drawn uniformly."""
    last = build("dp_fermi", CHOSEN["Adult, parity"]["dp_fermi"], _LAMBDAS if whole else _FEW)
    return [*last, *[{**method, "iterate": "uniform"} for method in last]]


def fermi_proved(multipliers: list[float]) -> list[Method]:
    """Return DP-FERMI, proved, at each penalty, with the bound on gradients that it shipped with when this was run."""
    return [{"name": "dp_fermi", "clip_primal": 0.7, "multiplier": value} for value in multipliers]


def compared(name: str, *, whole: bool) -> list[Method]:
    """Return the methods of a figure; DP-FERMI, as published, and its rivals are as the case's trials chose them."""
    case, settings = CASES[name], CHOSEN[name]
    penalties = [*(_LAMBDAS if whole else _FEW), *case.beyond]  # beyond in search of where the violation ends
    values = {**_VALUES, "dp_fermi": penalties, "pf_ld": case.multipliers}
    ours, *rivals = (build(method, settings[method], values[method]) for method in list_methods(case))
    plain = {"name": "none", **case.plain}
    return [*ours, *fermi_proved([1.0, 3.0, 6.0]), *rivals[0], *rivals[1], plain]


def long_methods(*, whole: bool, odds: bool) -> list[Method]:
    """Return the methods of a figure on the survey's 499,000 training rows: an epoch there is 15 of Adult's."""
    settings = CHOSEN["Adult, parity"]
    few = {"dp_fermi": [0.5, 1.0, 2.5], "pf_ld": [0.25, 0.5, 1.0], "fairlens": [0.3, 1.0]}
    values = {**few, "dp_fermi": _LAMBDAS} if whole else few
    epochs = {"dp_fermi": 200, "pf_ld": 20, "fairlens": 20} if whole else {"dp_fermi": 10, "pf_ld": 2, "fairlens": 2}
    names = ("dp_fermi", "pf_ld") if odds else ("dp_fermi", "pf_ld", "fairlens")
    tables = [build(name, {**settings[name], "epochs": epochs[name]}, values[name]) for name in names]
    return [*chain.from_iterable(tables), {"name": "none", "epochs": 2}]


def fermi_on_faces(network: str, multipliers: list[float], epochs: int) -> list[Method]:
    """Return DP-FERMI on faces at each penalty, as Appendix F.3 has it and proved."""
    common = {"name": "dp_fermi", "network": network, "epochs": epochs}
    kinds = ({"variant": "published", **_FACES}, {"variant": "proved", **_FACES_PROVED})
    return [{**common, **kind, "multiplier": value} for kind in kinds for value in multipliers]


def sweep(
    data: Mapping[str, object], notion: str, methods: list[Method], epsilons: Sequence[float], seeds: int, *, split: str
) -> PaperSweep:
    """Return the sweep of all combinations."""
    axes: SweepAxes = {"method": methods, "epsilon": list(epsilons), "seed": list(range(seeds))}
    return {"data": data, "notion": notion, "split": split, "axes": axes, "sweep": {"max_runs": 5000}}


def sweep_case(name: str, epsilons: Sequence[float], seeds: int, *, whole: bool) -> PaperSweep:
    """Return the sweep of a figure of a case; its seeds are the first that the trials did not have."""
    case = CASES[name]
    raw = sweep(case.data, case.notion, compared(name, whole=whole), epsilons, seeds, split=case.split)
    fresh = [seed for seed in range(seeds + len(TRIAL_SEEDS)) if seed not in TRIAL_SEEDS]
    return {**raw, "axes": {**raw["axes"], "seed": fresh[:seeds]}}
