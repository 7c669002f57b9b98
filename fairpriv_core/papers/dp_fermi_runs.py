"""The runs behind the figures of DP-FERMI: Appendix F.2.1's settings, and each rival's as we set them."""

from __future__ import annotations

from typing import Any

ADULT = {"dataset": "adult", "sensitive": "sex"}
CREDIT = {"dataset": "credit_default", "sensitive": "SEX"}
PARKINSONS = {"dataset": "parkinsons", "sensitive": "sex"}
PARKINSONS_MOTOR = {**PARKINSONS, "dataset": "parkinsons_motor"}
ACS = {"dataset": "acs_income", "sensitive": "sex"}
FACES = {"dataset": "utkface", "label": "age", "sensitive": "race", "rows": 5000}
FACES_LARGE = {"dataset": "utkface_128", "label": "age", "sensitive": "race"}
PARITY = "demographic_parity"
Method = dict[str, Any]
Sweep = dict[str, Any]

_LAMBDAS = [0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5]
_FEW = [0.25, 0.5, 1.0, 1.5, 2.5]
PRINTED = tuple(_LAMBDAS)  # in Appendix F.2.1's range
BEYOND = [4.0, 8.0, 20.0]  # to where the violation ends

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


def fermi(multipliers: list[float], epochs: int, *, dual_norm: float = 2.0) -> list[Method]:
    """Return DP-FERMI as published at each penalty: batches, steps, D and L_θ from the ranges that the paper gives."""
    common = {"name": "dp_fermi", "variant": "published", "epochs": epochs, "batch_size": 1024}
    steps = {"optimizer": "adam", "learning_rate": 0.005, "dual_step": 0.01, "clip_primal": 1.0, "dual_norm": dual_norm}
    return [{**common, **steps, "multiplier": value} for value in multipliers]


def iterates(*, whole: bool) -> list[Method]:
    """Return DP-FERMI as published that returns the last iterate, and one drawn uniformly."""
    last = fermi(_LAMBDAS if whole else _FEW, 200)
    return [*last, *[{**each, "iterate": "uniform"} for each in last]]


def fermi_proved(multipliers: list[float]) -> list[Method]:
    """Return DP-FERMI, proved, at each penalty, with the bound on gradients that it shipped with when this was run."""
    return [{"name": "dp_fermi", "clip_primal": 0.7, "multiplier": value} for value in multipliers]


def pf_ld(largest: list[float], epochs: int = 20) -> list[Method]:
    """Return PF-LD as published (Tran et al. 2021b) at each largest multiplier."""
    common = {"name": "pf_ld", "variant": "published", "epochs": epochs, "batch_size": 1024, "learning_rate": 0.01}
    return [{**common, "multiplier_max": value} for value in largest]


def fairlens(multipliers: list[float], epochs: int = 20) -> list[Method]:
    """Return Tran et al. (2021a) as published at each multiplier of its second regulariser."""
    common = {"name": "fairlens", "variant": "published", "epochs": epochs, "batch_size": 1024}
    return [{**common, "multiplier_boundary": value} for value in multipliers]


def jagielski(bounds: list[float]) -> list[Method]:
    """Return Jagielski et al.'s (2019) in-processing at each bound on differences, with 40 rounds at every ε."""
    return [{"name": "jagielski_in", "rounds": 40, "difference_bound": value} for value in bounds]


def plain(epochs: int = 20) -> list[Method]:
    """Return logistic regression without privacy and without fairness."""
    return [{"name": "none", "epochs": epochs}]


def parity_methods(*, whole: bool, epochs: int = 200) -> list[Method]:
    """Return the methods of a demographic parity figure."""
    ours = [*fermi([*(_LAMBDAS if whole else _FEW), *BEYOND], epochs), *fermi_proved([1.0, 3.0, 6.0])]
    return [*ours, *pf_ld([0.1, 0.25, 0.5, 1.0]), *fairlens([0.1, 0.3, 1.0, 3.0]), *plain()]


def parkinsons_methods(*, whole: bool) -> list[Method]:
    """Return the methods of a figure on recordings split by rows, each as its trials there chose it."""
    ours = [*fermi(_LAMBDAS if whole else _FEW, 200, dual_norm=1.0), *fermi_proved([1.0, 3.0, 6.0])]
    rival = [{**each, "learning_rate": 0.05} for each in fairlens([0.1, 0.3, 1.0, 3.0], 200)]
    return [*ours, *pf_ld([0.1, 0.25, 0.5, 1.0], 200), *rival, {"name": "none", "epochs": 200, "learning_rate": 0.01}]


def odds_methods(*, whole: bool, epochs: int = 200) -> list[Method]:
    """Return the methods of an equalized odds figure."""
    ours = [*fermi([*(_LAMBDAS if whole else _FEW), *BEYOND], epochs), *fermi_proved([1.0, 3.0, 6.0])]
    return [*ours, *pf_ld([0.1, 0.25, 0.5, 1.0]), *jagielski([0.005, 0.02, 0.05]), *plain()]


def long_methods(*, whole: bool, odds: bool) -> list[Method]:
    """Return the methods of a figure on the survey's 499,000 training rows: an epoch there is 15 of Adult's."""
    ours = fermi(_LAMBDAS if whole else [0.5, 1.0, 2.5], 200 if whole else 10)
    rivals = pf_ld([0.25, 0.5, 1.0], 20 if whole else 2)
    return [*ours, *rivals, *([] if odds else fairlens([0.3, 1.0], 20 if whole else 2)), *plain(2)]


def fermi_on_faces(network: str, multipliers: list[float], epochs: int) -> list[Method]:
    """Return DP-FERMI on faces at each penalty, as Appendix F.3 has it and proved."""
    common = {"name": "dp_fermi", "network": network, "epochs": epochs}
    kinds = ({"variant": "published", **_FACES}, {"variant": "proved", **_FACES_PROVED})
    return [{**common, **kind, "multiplier": value} for kind in kinds for value in multipliers]


def sweep(
    data: dict[str, Any],
    notion: str,
    methods: list[Method],
    epsilons: list[float],
    seeds: int,
    *,
    split: str | None = None,
) -> Sweep:
    """Return the sweep of all combinations; `split` in place of the usual one."""
    return {
        "data": data,
        "notion": notion,
        "split": split or ("stratified" if data in (ADULT, CREDIT, ACS) else "people"),
        "axes": {"method": methods, "epsilon": epsilons, "seed": list(range(seeds))},
        "sweep": {"max_runs": 5000},
    }


def by_seed(data: dict[str, Any], notion: str, methods: list[Method], epsilons: list[float], seeds: int) -> list[Sweep]:
    """Return one sweep a seed, for data whose training part has another size under each."""
    whole = sweep(data, notion, methods, epsilons, seeds)
    return [{**whole, "axes": {**whole["axes"], "seed": [seed]}} for seed in range(seeds)]
