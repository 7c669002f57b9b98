"""Sample inputs, and one figure of every kind."""

from __future__ import annotations

import json
import math
from typing import Any

from fairpriv_core.report import figures, live
from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.over_epsilon import trade_off
from fairpriv_core.report.tables import Outcome, TableRow, fold_outcomes

_PROTECTS = "the sensitive attribute of each person"

EPSILONS = (0.1, 0.5, 1.0, 3.0, 9.0)


def outcomes(seeds: int = 3) -> list[Outcome]:
    found = [
        Outcome(
            method,
            "demographic_parity",
            "adult",
            "sex",
            seed,
            base + 0.002 * seed,
            0.1 / (1 + e) + 0.01 * seed,
            e,
            kind,
            setting=json.dumps({"method": method, "epsilon": e}),
        )
        for method, kind, base in (("pf_ld", "attribute", 0.83), ("dp_sgd", "record", 0.81))
        for e in EPSILONS
        for seed in range(seeds)
    ]
    return found + [
        Outcome(
            "none", "demographic_parity", "adult", "sex", seed, 0.848 + 0.001 * seed, 0.18, setting='{"method": "none"}'
        )
        for seed in range(seeds)
    ]


def rows(seeds: int = 3) -> tuple[TableRow, ...]:
    return fold_outcomes(outcomes(seeds), {})


def group_list(*names: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "size": 100 * (i + 1), "positive_rate": 0.2 + 0.1 * i, "positive_rate_interval": [0.1, 0.5]}
        for i, name in enumerate(names)
    ]


def history(*names: str, steps: int = 300) -> live.History:
    rows: list[tuple[int, str, float | None]] = []
    for step in range(1, steps + 1):
        share = step / steps
        rows += [
            (step, "test/accuracy", 0.75 + 0.08 * share),
            (step, "test/constant_accuracy", 0.7555),
            (step, "test/demographic_parity_gap", 0.18 - 0.13 * share),
            (step, "test/equalized_odds_gap", 0.08 + 0.02 * share),
            (step, "epsilon", math.sqrt(share)),
        ]
        for index, name in enumerate(names):
            rate = 0.2 + 0.05 * index
            rows += [(step, f"group/{name}/positive_rate{end}", rate + move) for end, move in ENDS]
            rows.append((step, f"multiplier/{name}", (-1) ** index * share))
            rows.append((step, f"clipped/gradient_norm/{name}", 0.3 * share * (index + 1) / len(names)))
            rows.append((step, f"contribution/{name}", 1 / len(names)))
    return live.collect(rows)


ENDS = (("", 0.0), ("_low", -0.02), ("_high", 0.02))


def histogram(*names: str) -> dict[str, Any]:
    return {
        "edges": [0.0, 0.5, 1.0, 1.5, 2.0],
        "counts": {name: [10 + i, 20, 5, 5 + i] for i, name in enumerate(names)},
        "bound": 1.0,
        "clipped": {name: (10 + i) / (40 + 2 * i) for i, name in enumerate(names)},
    }


def every_figure(*names: str) -> dict[str, FigureData]:
    names = names or ("Female", "Male")
    seen = history(*names)
    runs = [
        figures.GroupRates("A: PF-LD", "pf_ld", group_list(*names)),
        figures.GroupRates("B: PF-LD", "pf_ld", group_list(*names)),
        figures.GroupRates("C: DP-SGD", "dp_sgd", group_list(*names)),
    ]
    curves = [live.Curve(run.label, run.method, *seen["test/accuracy"]) for run in runs]
    clips = [0.1 * 1.2**i for i in range(40)]
    drawn = [
        trade_off(rows(), dataset="Adult, sex", notion="Demographic parity", epsilon=1.0),
        figures.group_bars(runs, overall=0.25),
        figures.bias_variance(
            clips, [math.exp(-c) for c in clips], [0.01 * c * c for c in clips], best=4.0, current=2.0
        ),
        figures.predicted_epsilon([1, 2, 3], [0.5, 0.8, 1.0], budget=1.0, delta=1e-5, protects=_PROTECTS),
        figures.epsilon_dots(1.0, 73),
        live.live_quality(seen, method="pf_ld", notion="demographic_parity"),
        live.live_groups(seen),
        live.live_multipliers(seen, limit=1.0),
        live.live_epsilon(seen, budget=1.0, delta=1e-5, protects=_PROTECTS, steps=600),
        live.clipping_histogram(histogram(*names), quantity="gradient_norm"),
        live.clipping_histogram(histogram(*names), quantity="output"),
        live.live_clipping(seen),
        live.overlay(curves, metric="accuracy"),
    ]
    return {figure.name: figure for figure in drawn}


def record(seed: int = 0, **changes: Any) -> dict[str, Any]:
    config = {
        "data": {"dataset": "adult", "file": None, "sensitive": "sex"},
        "notion": "demographic_parity",
        "method": {"name": "pf_ld", "clip_primal": 10.0, "epochs": 50},
        "epsilon": 1.0,
        "delta": 1e-5,
        "seed": seed,
        "replay_noise": None,
    }
    plain = {
        "key": f"key{seed}",
        "status": "finished",
        "config": config,
        "threat_model": "attribute",
        "variant": "proved",
        "epsilon": 0.998,
        "epsilon_published": 0.52,
        "epsilon_reason": None,
        "epsilon_if_secret": None,
        "delta": 1e-5,
        "assumptions": ["x and y are public."],
        "warnings": [],
        "metrics_are_raw": True,
        "metrics": {"accuracy": 0.83 + 0.01 * seed, "demographic_parity_gap": 0.04},
    }
    return {**plain, **changes}
