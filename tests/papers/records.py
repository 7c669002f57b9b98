"""Records as presets read them, made up; what is kept and what presets ask for, read once and changed by no test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from fairpriv_core.papers.catalog import find_preset
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.results import read_made
from fairpriv_core.papers.runs import list_configs
from fairpriv_core.records.config import RunConfig, name_config

read_kept = cache(read_made)


@cache
def read_configs(preset_id: str, version: str) -> dict[str, RunConfig]:
    """Return the configs of a preset's version by their keys."""
    return list_configs(find_preset(preset_id).versions[version].sweeps)


@cache
def read_settings(preset_id: str, version: str) -> list[dict[str, Any]]:
    """Return the JSON of the configs of a preset's version."""
    return list(name_settings(find_preset(preset_id).versions[version].sweeps).values())


def name_settings(sweeps: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the JSON of the configs of sweeps by their keys; each setting is built once, for its first seed."""
    found = {}
    for raw in sweeps:
        for config in list_configs([cut(raw, 1)]).values():
            each = [{**config.to_json(), "seed": seed} for seed in raw["axes"]["seed"]]
            found |= {name_config(asked): asked for asked in each}
    return found


def cut(raw: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """Return a sweep with its first seeds."""
    return {**raw, "axes": {**raw["axes"], "seed": raw["axes"]["seed"][:seeds]}}


def make_record(
    method: str, *, seed: int, accuracy: float, gap: float, epsilon: float | None = None, **setting: Any
) -> PaperRun:
    """Return a run on Bank for demographic parity."""
    private = epsilon is not None
    shown = "_".join(str(part) for part in (method, *setting.values(), epsilon, seed))
    return PaperRun(
        shown,
        {
            "data": {"dataset": "bank", "sensitive": "age"},
            "notion": "demographic_parity",
            "method": {"name": method, "epochs": 4, **setting},
            "epsilon": epsilon,
            "delta": 1e-5,
            "seed": seed,
        },
        seconds=8.0,
        threat_model="attribute" if private else None,
        variant=setting.get("variant", "proved") if private else None,
        epsilon=epsilon if setting.get("variant") != "published" else None,
        epsilon_published=epsilon,
        metrics={
            "accuracy": accuracy,
            "demographic_parity_gap": gap,
            "positive_rate": 0.1,
            "constant_accuracy": 0.8,
            "groups": [{"name": "age < 60", "accuracy": accuracy}, {"name": "age ≥ 60", "accuracy": accuracy - 0.1}],
        },
    )


def make_runs(*, fair: float = 0.02, unfair: float = 0.10) -> list[PaperRun]:
    """Return PF-LD with a gap near `fair` and M with one near `unfair`, at two budgets and three seeds."""
    runs = []
    for epsilon, more in ((0.5, 0.03), (1.0, 0.0)):
        for seed in range(3):
            noise = 0.001 * seed
            pf_ld = {"seed": seed, "accuracy": 0.89 + noise, "gap": fair + more + noise}
            runs.append(make_record("pf_ld", **pf_ld, epsilon=epsilon, variant="proved", clip_primal=10 * epsilon))
            answers = {"seed": seed, "accuracy": 0.87 - noise, "gap": unfair + more - noise}
            runs.append(make_record("randomized_response", **answers, epsilon=epsilon))
    return runs
