"""The benchmarks run and write what their readers expect; what they measure is no test's business."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accounting, gpu, modules, report, sweep, table1
from benchmarks.alone import measure_alone
from benchmarks.contenders import SHAPES, Case, Work, build_data
from benchmarks.measuring import build_parser, start, write_result
from benchmarks.sweep import time_workers

TINY = 2_048


def test_table_1_has_a_cell_for_each_case() -> None:
    work = Work(build_data("bank", rows=TINY), 1, 256)
    cells = table1.collect([(work, (Case("none"), Case("pf_ld", "proved")))], rounds=1)
    assert [(cell["method"], cell["variant"]) for cell in cells] == [("none", ""), ("pf_ld", "proved")]
    for cell in cells:
        assert (cell["layers"], cell["batch"]) == (1, 256)
        assert all(math.isfinite(cell[name]) and cell[name] > 0 for name in cell if "ratio" in name)


def test_a_quick_table_1_has_both_variants_at_both_depths() -> None:
    works = table1.list_works(rows=TINY, quick=True, device="cpu")
    found = {(work.layers, work.batch, case.variant) for work, cases in works for case in cases if case.variant}
    assert found >= {(layers, 256, variant) for layers in (2, 10) for variant in ("proved", "published")}


def test_a_quick_table_1_takes_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer of them what ends an epoch would weigh more than in the full table."""
    seen: list[int] = []
    monkeypatch.setattr(table1, "collect", lambda works, **how: seen.extend(work.data.n for work, _ in works))
    monkeypatch.setattr(table1, "collect_memory", lambda cases, rows: [])
    monkeypatch.setattr("sys.argv", ["table1.py", "--quick"])
    table1.main()
    assert seen == [SHAPES["bank"][0], SHAPES["bank"][0], SHAPES["adult"][0]]


@pytest.mark.long
def test_memory_is_measured_in_another_process() -> None:
    (line,) = table1.collect_memory((Case("dp_sgd"),), rows=TINY)
    assert (line["method"], line["layers"], line["batch"]) == ("dp_sgd", 10, 1024)
    assert line["mib"] > 0


@pytest.mark.parametrize("name", ["mlp", "module normed"])
def test_a_device_gives_the_same_bits_twice_and_nearly_those_of_the_processor(name: str) -> None:
    """On PyTorch's CPU device."""
    _, case, layers = gpu.CASES[name]
    found = gpu.compare(case, build_data("bank", rows=TINY), layers=layers, device="cpu:0")
    assert found["same_bits"] and found["events_alike"] and found["apart"] < 1e-4


def test_modules_are_measured_against_opacus_own_loop() -> None:
    found = measure_alone(modules.list_contenders("normed", 256, rows=TINY)["ours"])
    assert found["seconds"] > 0 and found["mib"] >= 0  # in a process that did more before, nothing may be taken anew
    assert all(map(math.isfinite, found.values()))


@pytest.mark.long
def test_images_are_measured_in_processes_of_their_own() -> None:
    cells = list(modules.collect_images(rows=512, rounds=1))
    assert [cell["method"] for cell in cells] == ["none", "dp_sgd"]
    assert all(
        math.isfinite(value) and value > 0 for cell in cells for value in cell.values() if value != cell["method"]
    )


@pytest.mark.long
def test_accounting_counts_in_steps_of_n() -> None:
    result = accounting.collect(rows=TINY, rounds=1)
    assert all(cell["n_steps"] > 0 for cell in result["cells"])
    assert {cell["what"].split()[0] for cell in result["cells"]} == {"ours,", "Opacus", "dp_accounting"}
    assert all(cell["share"] > 0 for cell in result["live"])


@pytest.mark.long
def test_a_sweep_is_timed_against_one_by_one() -> None:
    lines = sweep.collect(sweep.build_sweeps(rows=TINY, models=30, device="cpu"), rounds=1, full=False)
    assert [(line["sweep"], line["method"], line["variant"]) for line in lines] == [
        ("frontier", "one_release", ""),
        ("figure 2", "dp_fermi", "published"),
        ("figure 2", "dp_fermi", "proved"),
        ("mlps", "dp_sgd", ""),
        ("mlps", "pf_ld", "published"),
        ("mlps", "pf_ld", "proved"),
    ]
    for line in lines:
        assert (line["models"], line["ours_scaled_from"], line["opacus_scaled_from"]) == (30, 6, "1 models x 3 epochs")
        assert line["speed_up"] == pytest.approx(line["opacus_seconds"] / line["seconds"], rel=0.05)


@pytest.mark.long
def test_a_worker_trains_and_one_that_fails_is_told() -> None:
    assert time_workers(1, [str(TINY), "1", "1"], chunks=1) > 0
    with pytest.raises(RuntimeError, match="a worker failed"):
        time_workers(1, ["nothing"], chunks=1)


def test_a_result_names_the_machine_it_was_measured_on(tmp_path: Path) -> None:
    options = argparse.Namespace(quick=True, json=tmp_path / "new" / "result.json")
    write_result(options, {"cells": []})
    written = json.loads(options.json.read_text())
    assert written["quick"] is True
    assert set(written["machine"]) >= {"cpu", "cores", "torch", "opacus", "clock", "load_average", "measured"}


def test_a_device_that_is_not_there_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser("")
    parser.add_argument("--device")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr("torch.cuda.is_available", lambda: False)
        start(parser, ["--device", "cuda"])
    assert stopped.value.code == 2
    assert "no CUDA device" in capsys.readouterr().err


def test_the_page_on_performance_is_what_the_results_make_of_it() -> None:
    made = report.render(report.read_spec(), report.read_results())
    assert report.PAGE.read_text("utf-8") == made, "run: python benchmarks/report.py"


@pytest.mark.parametrize(
    ("gate", "value", "verdict"),
    [
        ({"most": 2.0}, 1.9, "met"),
        ({"least": 1.0}, 0.5, "**missed**: it is slow"),
        ({"least": 0.4, "inverse": True}, 1 / 1.9, "met"),
        ({"most": 190, "scale": 100}, 190.0, "met"),
        ({"most": 1.0, "where": {"batch": 16}}, 0.5, "met"),
        ({"most": 1.0, "where": {"batch": 64}}, None, "not measured"),
    ],
)
def test_the_worst_cell_decides_a_gate(gate: dict[str, Any], value: float | None, verdict: str) -> None:
    asked = {"what": "speed", "file": "table1", "value": "ratio", "why": "it is slow", **gate}
    cells = [{"batch": 16, "ratio": 0.5}, {"batch": 256, "ratio": 1.9}]
    worst, said = report.judge(asked, {"table1": {"cells": cells}})
    assert (worst, said) == (value if value is None else pytest.approx(value), verdict)


def test_a_missed_gate_needs_a_reason() -> None:
    gate = {"what": "speed", "file": "table1", "value": "ratio", "most": 1.0}
    with pytest.raises(ValueError, match=r"'speed' is missed at 1\.9: page"):
        report.judge(gate, {"table1": {"cells": [{"ratio": 1.9}]}})
