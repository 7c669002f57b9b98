"""`fairpriv sweep` as a person uses it: cost first, results as they come, stopped, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.cli.ledger import answer_cap
from fairpriv_core.cli.output import Answer
from fairpriv_core.cli.sweep import run_sweep
from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.records.ledger_entry import identify_data
from fairpriv_core.records.model import PARAMETERS
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps import launch as sweep_launch
from fairpriv_core.sweeps.launch import Order, request_launch
from fairpriv_core.text import Reporter
from tests.patience import PATIENCE, wait_until
from tests.sweeps.here import Here

EXAMPLES = Path(__file__).parents[2] / "examples" / "sweeps"
FEW = """
notion = "demographic_parity"
[data]
dataset = "synthetic"
sensitive = "group"
[method]
name = "pf_ld"
epochs = 2
[axes]
epsilon = [1, 3]
seed = [0, 1]
"""


class Said(Reporter):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(say=self.lines.append, show=self.lines.append)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.lines).split())


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return str(path)


def run(path: str, said: Said | None = None, *, execute: Here | None = None, **asked: bool) -> Answer:
    return run_sweep(path, Order(execute or Here(), 1, **asked), said or Said())


def test_one_process_runs_sweeps_in_two_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sweeps' children come from one fork server, which was started while the first store was the default one."""
    path = write(tmp_path, FEW.replace("[1, 3]", "[1]").replace("[0, 1]", "[0]"))
    for name in ("first.db", "second.db"):
        monkeypatch.setenv("FAIRPRIV_STORE", str(tmp_path / name))
        run_sweep(path, Order(partial(run_here, workers=1), 1), Said())
        with open_store() as store:
            assert [row.status for row in store.rows()] == ["finished"]


def test_a_sweep_tells_its_cost_trains_and_prints_means(local: RunStore) -> None:
    said = Said()
    answer = run(str(EXAMPLES / "tiny.toml"), said)
    assert not answer.failed and "8 in 3 chunks: 8 new" in said.text
    assert "4 of 12 combinations ask for the same as others" in said.text
    assert "no bound if all results are released. run" in said.text and "about" in said.text
    assert {row.status for row in local.rows()} == {"finished"} and len(local.rows()) == 8
    document = json.loads(json.dumps(answer.document))
    assert len(document["runs"]) == 12 and document["sweep"]["combinations"] == 12
    line = document["runs"][-1]
    assert line["cell"] == {"method": "pf_ld", "epsilon": 3, "seed": 1} and line["status"] == "finished"
    record = local.record(line["key"])
    assert record is not None and record.metrics is not None
    assert (line["accuracy"], line["epsilon"]) == (record.metrics["accuracy"], record.epsilon)
    assert line["gap"] == record.metrics["demographic_parity_gap"] and line["reason"] is None
    mean = document["table"][-1]
    pair = [item["accuracy"] for item in document["runs"][-2:]]
    assert mean["accuracy"] == pytest.approx(np.mean(pair)) and (mean["runs"], mean["finished"]) == (2, 2)
    assert answer.text.splitlines()[0].split() == ["method", "epsilon", "runs", "accuracy", "gap", "epsilon"]
    assert "your own rows" not in answer.text
    again = Here()
    assert not run(str(EXAMPLES / "tiny.toml"), said, execute=again).failed and again.taken == []
    assert "nothing is left to run" in said.text


def test_a_sweep_of_the_command_line_is_listed_for_pages(local: RunStore, tmp_path: Path) -> None:
    path, sweeps = write(tmp_path, FEW), SweepStore(local)
    with pytest.raises(KeyboardInterrupt):
        run(path, execute=Here(stop=0))
    [(name, request)] = sweeps.launched().items()
    told = local.previews.look(name).result
    assert told is not None and request["sweep"]["axes"] == {"epsilon": [1, 3], "seed": [0, 1]}
    assert sweeps.progress(told["keys"]) == ({"paused": 4}, 0.0) and told["cost"]["new"] == 4
    launch = request_launch(request["sweep"], owner=local.payer, confirmed=False)
    assert local.previews.look(name_request(launch)).status == "finished", "a page does not offer it again"
    sweeps.go_on(told["keys"])  # as Resume does
    Here()(str(local.database.path), [row.chunk for row in local.rows() if row.chunk], lambda: None)
    assert sweeps.progress(told["keys"]) == ({"finished": 4}, 4.0)
    assert {row.config["private_evaluation"] for row in local.rows()} == {True}
    assert not run_sweep(path, Order(Here(), 1), Said(), evaluate=False).failed
    assert len(sweeps.launched()) == 2 and len(local.rows()) == 8
    assert sum(row.config["private_evaluation"] for row in local.rows()) == 4


def test_the_cost_is_what_the_ledger_says_afterwards(local: RunStore, tmp_path: Path) -> None:
    path = write(tmp_path, FEW)
    cost = run(path).document["sweep"]
    [protected] = [item for item in cost["protected"] if item["column"] == "group"]
    lines = local.ledger.lines(identify_data("synthetic", None))
    spent = compose([line.planned for line in lines], "group").epsilon(1e-5)
    assert (
        protected["epsilon"] == pytest.approx(spent, rel=0.015) and protected["epsilon_after"] == protected["epsilon"]
    )
    assert protected["most_alone"] == pytest.approx(3, rel=0.015)
    other = run(write(tmp_path, FEW.replace("[0, 1]", "[2]"))).document["sweep"]["protected"][0]
    assert other["epsilon_after"] > other["epsilon"]


def test_ctrl_c_keeps_what_ended_and_resume_runs_the_rest(local: RunStore, tmp_path: Path) -> None:
    path = write(tmp_path, FEW.replace('name = "pf_ld"', "").replace("epsilon = [1, 3]", 'method = ["none", "f_ld"]'))
    said = Said()
    with pytest.raises(KeyboardInterrupt):
        run(path, said, execute=Here(stop=1))
    assert "2 finished of 4 runs; the rest is paused" in said.text and "--resume goes on" in said.text
    assert sorted(row.status for row in local.rows()) == ["finished", "finished", "paused", "paused"]
    with pytest.raises(BadInput, match="was begun in this store, and 2 of its 4 runs have not ended; --resume goes on"):
        run(path)
    rest = Here()
    assert not run(path, execute=rest, resume=True).failed and rest.taken == [2]


def test_more_runs_than_the_file_lets_start_need_to_be_asked_for(local: RunStore, tmp_path: Path) -> None:
    path, said = write(tmp_path, FEW + "[sweep]\nmax_runs = 3\n"), Said()
    with pytest.raises(BadInput, match="4 runs would start, and more than 3 need --yes"):
        run(path, said)
    assert local.rows() == [] and "4 in 1 chunk: 4 new" in said.text, "the cost is told all the same"
    assert not run(path, yes=True).failed


def test_a_sweep_beyond_a_cap_launches_nothing(local: RunStore, tmp_path: Path) -> None:
    answer_cap("synthetic", "group", epsilon=2.0, delta=None, record=False, lift=False)
    with pytest.raises(BadInput, match=r"the cap on 'group' is epsilon = 2 .* nothing was launched"):
        run(write(tmp_path, FEW))
    assert local.rows() == [] and SweepStore(local).launched() == {}
    answer_cap("synthetic", "group", epsilon=9.0, delta=None, record=False, lift=False)
    assert not run(write(tmp_path, FEW)).failed


def test_a_full_disk_is_told_before(local: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_launch, "_BYTES_A_RUN", 10**18)
    with pytest.raises(StoreError, match=r"4 runs need about .* MB left; free some space"):
        run(write(tmp_path, FEW))
    assert local.rows() == []


def test_a_cell_that_fails_is_a_row_with_its_reason(local: RunStore, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    rows = [f"{'few' if row % 60 == 0 else 'many'},{row % 3},{'yes' if row % 7 < 3 else 'no'}" for row in range(600)]
    file.write_text("\n".join(["side,size,label", *rows]) + "\n")
    data = f'file = "{file}"\nlabel = "label"\npositive = "yes"\nsensitive = "side"\n'
    base = FEW.replace('dataset = "synthetic"\nsensitive = "group"\n', data)
    axes = 'method = ["pf_ld", "f_ld"]\nepsilon = [10, 30]'  # noise that lifts no count of some 8 rows to 30
    path = write(tmp_path, base.replace('name = "pf_ld"', "").replace("epsilon = [1, 3]", axes))
    answer = run(path)
    assert answer.failed and "4 of 6 runs have not finished; the first:" in str(answer.error)
    failed = [line for line in answer.document["runs"] if line["status"] == "failed"]
    assert len(failed) == 4 and all("'few'" in line["reason"] and line["cell"]["method"] == "pf_ld" for line in failed)
    assert "runs failed: " in answer.text or "run failed: " in answer.text
    assert "gaps of your own rows are raw" in answer.text
    assert [line["finished"] for line in answer.document["table"]] == [0, 0, 2, 2]


def test_one_release_serves_a_whole_frontier(local: RunStore, tmp_path: Path) -> None:
    text = FEW.replace("pf_ld", "one_release").replace(
        "epsilon = [1, 3]", "epsilon = [1]\nmethod.gap_target = [0.01, 0.1]"
    )
    answer = run(write(tmp_path, f"private_evaluation = false\n{text}[sweep]\nshare_release = true\n"))
    assert not answer.failed and [line["epsilon"] for line in answer.document["runs"]] == pytest.approx(
        [1] * 4, rel=2e-3
    )
    [cost] = [item for item in answer.document["sweep"]["protected"] if item["column"] == "group"]
    lines = local.ledger.lines(identify_data("synthetic", None))
    spent = compose([line.planned for line in lines], "group")
    assert [event.count for event in spent.events] == [2], "one release a seed, whatever is trained on it"
    assert cost["epsilon"] == pytest.approx(spent.epsilon(1e-5), rel=0.015)


@pytest.mark.long
def test_a_killed_sweep_goes_on_to_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FEW.replace("epochs = 2", "epochs = 100").replace("[axes]", "[axes]\nmethod.multiplier_max = [1, 2]")
    path = write(tmp_path, "replay_noise = 3\n" + text)
    killed, whole = tmp_path / "killed.db", tmp_path / "whole.db"
    process = launch(path, killed)
    with open_store(str(killed)) as store:
        wait_until(lambda: any(row.step > 0 for row in store.rows()), "the first commit")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        rows = store.rows()
        assert {row.status for row in rows} == {"lost"} and all(0 < row.step < 100 * 24 for row in rows)
        process = launch(path, killed, "--resume")
        monkeypatch.setenv("FAIRPRIV_STORE", str(whole))
        undisturbed = run(path).document
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        resumed = json.loads(out)
        with open_store(str(whole)) as other:
            for line, expected in zip(resumed["runs"], undisturbed["runs"], strict=True):
                assert line == expected and line["status"] == "finished"
                record, same = store.record(line["key"]), other.record(line["key"])
                assert record is not None and same is not None and record.resumed_from_step > 0
                spent = {"seconds": 0.0, "resumed_from_step": 0}
                assert replace(record, **spent) == replace(same, **spent)
                one, another = (each.artifact(line["key"], PARAMETERS) for each in (store, other))
                assert one == another


def launch(path: str, store: Path, *options: str) -> subprocess.Popen[str]:
    """Start the command in a process group of its own."""
    command = [sys.executable, "-m", "fairpriv_core", "sweep", path, "--json", "--workers", "1", *options]
    where = {**os.environ, "FAIRPRIV_STORE": str(store)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=where, start_new_session=True, **pipes)
