"""The runs behind the figures of FairDP with certificates: one network for all methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.papers.preset import Method, PaperSweep, SweepAxes

ADULT = {"dataset": "adult", "sensitive": "sex"}
CREDIT = {"dataset": "credit_default", "sensitive": "SEX"}
FACES = {"dataset": "utkface", "label": "age_36", "sensitive": "race"}
FEW_FACES = 5000

_NETWORK = {"hidden_layers": 1, "width": 32}
_SAMPLES = {"batch_size": 1024}
_FACE_NETWORK = {"network": "cnn_small", "epochs": 10, "batch_size": 128}
WEIGHT_BOUNDS = [0.25, 0.5, 0.75, 1.0]


def _method(name: str, **setting: Any) -> Method:
    return {"name": name, **_NETWORK, **setting}


def fairdp(bounds: list[float]) -> list[Method]:
    """Return FairDP, as published and proved, at each bound M on the scoring layer, with steps of 0.5."""
    kinds = ({"variant": kind, "weight_bound": bound} for kind in ("published", "proved") for bound in bounds)
    return [_method("fairdp_certified", learning_rate=0.5, **kind) for kind in kinds]


def baselines() -> list[Method]:
    """Return the paper's six baselines, by the papers' own accounting where they differ from ours."""
    private = [_method(name, **_SAMPLES) for name in ("dp_sgd", "dpsgd_smooth")]
    fair = [_method(name, variant="published", **_SAMPLES) for name in ("dpsgd_f", "dp_is_sgd")]
    return [_method("none"), _method("fairsmooth"), *private, *fair]


def sweep(methods: list[Method], epsilons: list[float], seeds: int) -> PaperSweep:
    """Return the sweep of both data sets."""
    return _sweep([ADULT, CREDIT], methods, epsilons, range(seeds))


def certified(epsilons: list[float]) -> tuple[PaperSweep, PaperSweep]:
    """Return FairDP on both data sets: as published with the seeds that its promise needs, and proved with three."""
    published, proved = ([method] for method in fairdp([0.5]))
    return sweep(published, epsilons, 20), sweep(proved, epsilons, 3)


def by_both(epsilons: list[float], seeds: int) -> PaperSweep:
    """Return FairDP by plain steps and by Adam, its rate halved half-way, and the clean model; seeds from 20 on."""
    adam = {"optimizer": "adam", "learning_rate": 0.05, "schedule": "halved"}
    methods = [_method("none"), *fairdp([0.5]), *({**method, **adam} for method in fairdp([0.5]))]
    return _sweep([ADULT, CREDIT], methods, epsilons, range(20, 20 + seeds))


def by_groups(epsilons: list[float], seeds: int) -> PaperSweep:
    """Return FairDP as published by an Adam of each group's own, its rate halved half-way; seeds from 20 on."""
    published, _ = fairdp([0.5])
    adam = {"optimizer": "adam_by_group", "learning_rate": 0.05, "schedule": "halved"}
    return _sweep([ADULT, CREDIT], [{**published, **adam}], epsilons, range(20, 20 + seeds))


def thinned(
    adult: list[float], credit: list[float], epsilons: list[float], seeds: int
) -> tuple[PaperSweep, PaperSweep]:
    """Return FairDP at ratios of the smaller group to the larger one, and the clean model on all rows."""
    data = [{**ADULT, "group_ratio": ratio} for ratio in adult] + [{**CREDIT, "group_ratio": ratio} for ratio in credit]
    clean = _sweep([ADULT, CREDIT], [_method("none")], epsilons[:1], range(seeds))
    return _sweep(data, fairdp([0.5]), epsilons, range(seeds)), clean


def convex(epochs: list[int], seeds: int) -> PaperSweep:
    """Return FairDP as published on a logistic regression of Adult, by steps c / sqrt(t) and noise set by hand."""
    noise = {"noise_primal": 1.0, "noise_certificate": 1.0, "clip_primal": 6.5, "ensemble": 2}
    steps = {"schedule": "inverse_sqrt", "learning_rate": 0.6, "weight_bound": 2.0, **_SAMPLES}
    common = {"name": "fairdp_certified", "variant": "published", "hidden_layers": 0, **noise, **steps}
    axes: SweepAxes = {"method": [{**common, "epochs": number} for number in epochs], "seed": list(range(seeds))}
    return {"data": ADULT, "notion": "demographic_parity", "split": "stratified", "axes": axes}


def clean_faces() -> Method:
    """Return the clean model of faces."""
    return {"name": "none", **_FACE_NETWORK, "batch_size": 64, "learning_rate": 0.001}


def face_fairdp(bounds: list[float]) -> list[Method]:
    """Return FairDP on faces, as published and proved, at each bound M on the scoring layer."""
    variants = ("published", "proved")
    common = {"name": "fairdp_certified", **_FACE_NETWORK, "learning_rate": 1.0}
    return [{**common, "variant": kind, "weight_bound": bound} for kind in variants for bound in bounds]


def face_methods(*, whole: bool) -> list[Method]:
    """Return FairDP on faces, the clean model, DP-SGD and DP-IS-SGD, and where all is `whole` the other baselines."""
    descent = {**_FACE_NETWORK, "optimizer": "sgd", "learning_rate": 1.0}
    clipped, sampled = ({"name": name, "variant": "published", **descent} for name in ("dpsgd_f", "dp_is_sgd"))
    smooth = [{**clean_faces(), "name": "fairsmooth"}, {"name": "dpsgd_smooth", **descent}]
    methods = [clean_faces(), {"name": "dp_sgd", **descent}, sampled, *face_fairdp([1.0])]
    return [*methods, clipped, *smooth] if whole else methods


def on_faces(methods: list[Method], epsilons: list[float], seeds: int, *, rows: int | None) -> tuple[PaperSweep, ...]:
    """Return the sweep on `rows` of the faces, or all."""
    data = FACES if rows is None else {**FACES, "rows": rows}
    axes: SweepAxes = {"method": methods, "epsilon": epsilons, "seed": list(range(seeds))}
    return ({"data": data, "notion": "demographic_parity", "axes": axes, "sweep": {"max_runs": 5000}},)


def _sweep(
    data: Sequence[Mapping[str, object]], methods: list[Method], epsilons: list[float], seeds: range
) -> PaperSweep:
    axes: SweepAxes = {"data": [*data], "method": methods, "epsilon": epsilons, "seed": list(seeds)}
    return {"notion": "demographic_parity", "split": "stratified", "axes": axes, "sweep": {"max_runs": 5000}}
