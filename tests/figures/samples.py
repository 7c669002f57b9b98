"""Sample inputs, and the registry of figures: what every builder draws of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd

from fairpriv_core.bench.board import Board, build_boards
from fairpriv_core.bench.costs import Cost, fold_costs, measure_costs
from fairpriv_core.bench.suite import read_suite
from fairpriv_core.documents.chosen import choose_runs
from fairpriv_core.documents.report_numbers import chosen_trade_off
from fairpriv_core.engine.training import Histogram
from fairpriv_core.facts.compare import Compared
from fairpriv_core.facts.grid import Expected
from fairpriv_core.facts.tables import Outcome, TableRow, fold_outcomes, run_table
from fairpriv_core.figures import audits, figures, learn, learn_ideas, live
from fairpriv_core.figures.bench import draw_bench_costs, draw_task
from fairpriv_core.figures.comparison import compare_groups, compare_points
from fairpriv_core.figures.explored import draw_explored, draw_groups, read_explored
from fairpriv_core.figures.figure import Axis, FigureData
from fairpriv_core.figures.frontier import Wanted, frontier, group_by_claim
from fairpriv_core.figures.heatmap import Setting, heat_map
from fairpriv_core.figures.origin import Origin
from fairpriv_core.figures.over_epsilon import trade_off
from fairpriv_core.figures.paper_figures import draw_preset
from fairpriv_core.figures.start import draw_costs, read_start_results
from fairpriv_core.notions.notion import Compares
from fairpriv_core.papers.preset import ACCURACY, EPSILON, ERROR, GAP, Part, Plot, of_method
from fairpriv_core.records.record import RunRecord
from fairpriv_core.stats import Mean
from tests.bench.made_lines import make_lines, make_reference
from tests.documents.made_up import make_data, tell_run
from tests.facts.told import tell
from tests.papers import tiny
from tests.papers.records import make_runs

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


def keyed_rows() -> list[TableRow]:
    """Return rows that a key tells apart."""
    return [replace(row, keys=(f"row {number}",)) for number, row in enumerate(rows())]


def group_list(*names: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "size": 100 * (i + 1), "positive_rate": 0.2 + 0.1 * i, "positive_rate_interval": [0.1, 0.5]}
        for i, name in enumerate(names)
    ]


def history(*names: str, steps: int = 40) -> live.History:
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
            rows.append((step, f"multiplier/{name}", (-1) ** index * share))
            rows.append((step, f"clipped/gradient_norm/{name}", 0.3 * share * (index + 1) / len(names)))
            rows.append((step, f"contribution/{name}", 1 / len(names)))
    return live.collect([*rows, *_shares("group", "positive_rate", names, steps=steps)])


def _shares(of: str, rate: str, names: tuple[str, ...], *, steps: int = 40) -> Iterator[tuple[int, str, float | None]]:
    for step in range(1, steps + 1):
        for index, name in enumerate(names):
            yield from ((step, f"{of}/{name}/{rate}{end}", 0.2 + 0.05 * index + move) for end, move in ENDS)


ENDS = (("", 0.0), ("_low", -0.02), ("_high", 0.02))


def histogram(*names: str) -> Histogram:
    return Histogram(
        edges=[0.0, 0.5, 1.0, 1.5, 2.0],
        counts={name: [10 + i, 20, 5, 5 + i] for i, name in enumerate(names)},
        bound=1.0,
        clipped={name: (10 + i) / (40 + 2 * i) for i, name in enumerate(names)},
    )


def every_figure(*names: str, about: str = "Adult, sex") -> dict[str, FigureData]:
    """Return all figures of `every_sample`, by name; what shares a name is numbered."""
    found: dict[str, FigureData] = {}
    for figures_of_one in every_sample(*names, about=about).values():
        for figure in figures_of_one:
            same = sum(figure.name == name.partition(" (")[0] for name in found)
            found[f"{figure.name} ({same + 1})" if same else figure.name] = figure
    return found


def every_sample(*names: str, about: str = "Adult, sex") -> dict[str, list[FigureData]]:
    """Return what every builder draws, by "module.function" of figures and documents: the registry of figures.

    `names` are those of groups, two or more; `about` is another text that a person may have written.
    """
    names = names or ("Female", "Male")
    return {
        **_of_results(names, about),
        **_of_plans(),
        **_of_live(names, about),
        **_of_choices(about),
        **_of_comparison(names, about),
        **_of_audits(about),
        **_of_learn(),
        **_of_papers(),
        **_of_bench(),
    }


def _of_bench() -> dict[str, list[FigureData]]:
    boards, costs = _judge()
    return {
        "bench.draw_task": [draw_task(boards, boards[0].tasks[0])],
        "bench.draw_bench_costs": [draw_bench_costs(costs, "Demographic parity")],
    }


@cache
def _judge() -> tuple[list[Board], list[Cost]]:
    """Return a board for each epsilon, and what tasks cost: judged once, and drawn for every sample."""
    entries = {"pf_ld": 0.84, "dp_fermi": 0.83}
    private = [make_lines(entries, epsilon_asked=epsilon) for epsilon in read_suite().epsilons]
    lines = pd.concat([*private, make_reference({"f_ld": 0.85, "none": 0.86})], ignore_index=True)
    boards = [build_boards(lines, "demographic_parity", epsilon)[0] for epsilon in read_suite().epsilons]
    return boards, fold_costs(measure_costs(lines, "demographic_parity"))


def _of_results(names: tuple[str, ...], about: str) -> dict[str, list[FigureData]]:
    runs = [
        figures.GroupRates("A: PF-LD", "pf_ld", group_list(*names)),
        figures.GroupRates("B: PF-LD", "pf_ld", group_list(*names)),
        figures.GroupRates("C: DP-SGD", "dp_sgd", group_list(*names)),
    ]
    given = {"dataset": about, "notion": "Demographic parity"}
    settings = {row.keys[0]: about for row in keyed_rows()}
    return {
        "start.draw_costs": [draw_costs(read_start_results(), 1.0)],
        "over_epsilon.trade_off": [
            trade_off(rows(), **given, epsilon=1.0),
            trade_off(keyed_rows(), **given, settings=settings, wanted=Wanted(0.825, 0.08)),
        ],
        "figures.group_bars": [
            figures.group_bars(runs),
            figures.group_bars(runs[:1], origin=Origin("released")),
            figures.group_bars(runs[:2], of="class"),
        ],
    }


def _of_plans() -> dict[str, list[FigureData]]:
    clips = [0.1 * 1.2**i for i in range(40)]
    bias, variance = [math.exp(-c) for c in clips], [0.01 * c * c for c in clips]
    return {
        "figures.bias_variance": [
            figures.bias_variance(clips, bias, variance, best=4.0, current=2.0),
            figures.bias_variance(clips, bias, variance, best=3.0, symbol="C_d", source="At x."),
        ],
        "figures.predicted_epsilon": [
            figures.predicted_epsilon([1, 2, 3], [0.5, 0.8, 1.0], budget=1.0, delta=1e-5, protects=_PROTECTS)
        ],
        "figures.epsilon_dots": [figures.epsilon_dots(1.0, 73)],
    }


def _of_live(names: tuple[str, ...], about: str) -> dict[str, list[FigureData]]:
    seen = history(*names)
    labels = [("A: PF-LD", "pf_ld"), ("B: PF-LD", "pf_ld"), ("C: DP-SGD", "dp_sgd")]
    curves = [live.RunCurve(label, method, *seen["test/accuracy"]) for label, method in labels]
    gap = seen["test/demographic_parity_gap"]
    ends = [[None if y is None else y + move for y in gap[1]] for move in (-0.01, 0.01)]
    return {
        "live.live_accuracy": [
            live.live_accuracy(seen, method="pf_ld", plain=0.86),
            live.live_accuracy(seen, method="pf_ld", x=Axis("Epoch", range=(0.0, 20.0))),
        ],
        "live.expected_measures": list(
            live.expected_measures(
                Expected(Mean(0.84, 0.83, 0.85, 5), Mean(0.04, 0.0, 0.08, 5), dict.fromkeys(names, 0.2), 0.75, True),
                notion="demographic_parity",
                plain={"accuracy": 0.86},
                aim=0.04,
                x=Axis("Step", range=(0.0, 600.0)),
            ).values()
        ),
        "live.live_gap": [live.live_gap(seen, method="pf_ld", notion="demographic_parity", plain=0.2, aim=0.04)],
        "live.live_gaps": [live.live_gaps(seen, method="pf_ld", notion="demographic_parity")],
        "live.live_groups": [live.live_groups(seen)],
        "live.live_classes": [live.live_classes(live.collect(_shares("class", "accuracy", names)))],
        "live.live_multipliers": [live.live_multipliers(seen, limit=1.0)],
        "live.live_epsilon": [live.live_epsilon(seen, budget=1.0, delta=1e-5, protects=_PROTECTS, steps=600)],
        "live.clipping_histogram": [
            live.clipping_histogram(histogram(*names), quantity=quantity) for quantity in ("gradient_norm", "output")
        ],
        "live.live_clipping": [live.live_clipping(seen)],
        "live.overlay": [
            live.overlay(curves, metric="accuracy"),
            live.overlay([live.RunCurve(about, "pf_ld", *gap, *ends)], metric="demographic_parity_gap"),
        ],
    }


def _of_choices(about: str) -> dict[str, list[FigureData]]:
    known = [replace(row, constant=0.755) if row.method == "none" else row for row in keyed_rows()]
    claims = group_by_claim(known)
    given = {"dataset": about, "notion": "Demographic parity", "details": {row.keys[0]: about for row in known}}
    private = [row for row in known if row.epsilon]
    at = {row.keys[0]: {"epsilon": row.epsilon or 0.0, "c": float(row.method == "pf_ld")} for row in private}
    axes = (Setting("epsilon", "ε"), Setting("c", about))
    chosen = choose_runs(make_data(tell_run(), tell_run("b" * 16, method="dp_sgd", threat_model="record")), "analyst")
    return {
        "frontier.frontier": [frontier(claims, **given, numbers=at, wanted=Wanted(0.8, 0.05))],
        "heatmap.heat_map": [
            heat_map(private[:-1], at, axes, quantity=quantity, about=about) for quantity in ("accuracy", "gap")
        ],
        "report_numbers.chosen_trade_off": [
            figure for paid in (False, True) if (figure := chosen_trade_off(chosen, paid=paid)) is not None
        ],
    }


def _of_comparison(names: tuple[str, ...], about: str) -> dict[str, list[FigureData]]:
    def measured(seed: int) -> dict[str, Any]:
        shares = {"accuracy": 0.83 + 0.01 * seed, "demographic_parity_gap": 0.04 + 0.02 * seed}
        return record(seed, metrics={**shares, "constant_accuracy": 0.755, "groups": group_list(*names)})

    compared = [
        Compared(label, run_table(own)[0], [tell(each) for each in own])
        for label, own in ((f"A: {about}", [measured(seed) for seed in range(3)]), ("B: PF-LD", [measured(3)]))
    ]
    plain = replace(compared[0].row, method="none", epsilon=None, constant=0.7)
    told = {"notes": {}, "data": {**record()["data"], "label_names": ["no", names[0]]}}
    config = {**record()["config"], "data": {"dataset": None, "file": "own.csv", "label": "y", "sensitive": "sex"}}
    own_rows = {**measured(0), **told, "config": config}
    noisy = {"released_gaps": {"demographic_parity_gap": 0.05}, "released_gap_errors": {"demographic_parity_gap": 0.01}}
    trail = [
        point
        for one in (own_rows, {**own_rows, "notes": noisy})
        if (point := read_explored(RunRecord.from_json(one))) is not None
    ]
    given = {"title": about, "notion": "Demographic parity", "wanted": Wanted(0.8, 0.05)}
    return {
        "comparison.compare_points": [compare_points(compared, plain)],
        "comparison.compare_groups": [compare_groups(compared, rate="positive_rate")],
        "explored.draw_explored": [
            draw_explored(trail, plain=None, **given, waiting=True),
            draw_explored(trail[:1], plain=plain, **given, waiting=False),
        ],
        "explored.draw_groups": [draw_groups(trail[0])],
    }


def _of_audits(about: str) -> dict[str, list[FigureData]]:
    def bound(low: float, proved: float | None, **more: float) -> dict[str, Any]:
        at = {"delta": 1e-5, "lower_bound": low, "epsilon": proved, "epsilon_published": 0.9, **more}
        return {"runs": 2000, "confidence": 0.99, "profile": [at]}

    one_run = {"lower_bound": 0.31}
    code = {"distinguishing": bound(0.4, 1.2, lower_bound_curve=0.8), "one_run": one_run}
    shares = [{"attacker": name, "auc": 0.6, "advantage": 0.2} for name in ("LR", "RF")]
    guesses = [{"attacker": name, "baseline": 0.6, "accuracy": 0.7} for name in ("LR", "KNN")]
    return {
        "audits.bound_bars": [audits.bound_bars(code)],
        "audits.catalogue_bars": [audits.catalogue_bars([{**code, "title": "PF-LD"}, {**code, "title": "DP-SGD"}])],
        "audits.demonstration_bars": [
            audits.demonstration_bars({"published": bound(2.5, None), "proved": bound(0.7, 1.2)})
        ],
        "audits.membership_bars": [
            audits.membership_bars({"attackers": shares, "chance": 0.01, "limit": 0.3, "judged": 2000})
        ],
        "audits.attribute_bars": [
            audits.attribute_bars({"attackers": guesses, "majority": 0.55, "judged": 2000, "sensitive": about})
        ],
    }


_COMPARED: tuple[tuple[tuple[int | None, ...], Compares], ...] = (
    ((None,), "decisions"),
    ((0, 1), "decisions"),
    ((1,), "errors"),
    ((1,), "labels"),
)


def _of_learn() -> dict[str, list[FigureData]]:
    flows = [("attribute", False, ("counts",)), ("record", True, ("gradients", "dual")), (None, False, ())]
    return {
        "learn.compared_cells": [
            learn.compared_cells("Equalized odds", conditions=conditions, compares=compares)
            for conditions, compares in _COMPARED
        ],
        "learn.calibrated_groups": [learn.calibrated_groups("Calibration within groups")],
        "learn.group_losses": [learn.group_losses("Worst group's loss")],
        "learn.data_flow": [learn.data_flow(learn.Flow("one", model, True, need, said)) for model, need, said in flows],
        "learn.base_rates": [learn.base_rates()],
        "learn.growing_multiplier": [learn.growing_multiplier()],
        "learn.results_by_seed": [learn.results_by_seed()],
        "learn.interval_by_seeds": [learn.interval_by_seeds()],
        "learn.noisy_share": [learn.noisy_share()],
        "learn_ideas.sureness": [learn_ideas.sureness()],
        "learn_ideas.clipping_example": [learn_ideas.clipping_example()],
        "learn_ideas.adding_up": [learn_ideas.adding_up()],
    }


def _of_papers() -> dict[str, list[FigureData]]:
    series = (of_method("PF-LD", "pf_ld"), of_method("M", "randomized_response"))
    columns = (Part("Parity", {"config/notion": "demographic_parity"}),)
    drawings = (
        Plot("line", EPSILON, (ACCURACY, GAP), series),
        Plot("points", GAP, (ERROR,), series, along=EPSILON),
        Plot("bar", EPSILON, (ACCURACY, GAP), series, columns),
    )
    runs = make_runs()
    return {
        "paper_figures.draw_preset": [
            figure for one in drawings for figure in draw_preset(replace(tiny.FIGURE, drawing=one), runs)
        ]
    }


def record(seed: int = 0, **changes: Any) -> dict[str, Any]:
    config = {
        "data": {"dataset": "adult", "file": None, "label": None, "positive": None, "sensitive": "sex"},
        "notion": "demographic_parity",
        "method": {"name": "pf_ld", "clip_primal": 10.0, "epochs": 50},
        "epsilon": 1.0,
        "delta": 1e-5,
        "split": "rows",
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
        "event": [],
        "released": [],
        "assumptions": ["x and y are public."],
        "calibrated": {},
        "data": {
            "name": "adult",
            "sensitive": "sex",
            "group_names": ["Female", "Male"],
            "label_names": ["<=50K", ">50K"],
            "columns": ["age"],
            "n_train": 3000,
            "n_test": 1000,
            "caveats": [],
        },
        "versions": {},
        "warnings": [],
        "metrics": {"accuracy": 0.83 + 0.01 * seed, "demographic_parity_gap": 0.04},
    }
    return {**plain, **changes}
