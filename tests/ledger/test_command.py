"""`fairpriv ledger` from outside: what it prints, what a cap refuses, and what is left of a run that was killed."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.cli.ledger import answer_cap, answer_ledger
from fairpriv_core.cli.main import cli
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, from_json
from fairpriv_core.store.runs import RunStore, open_store
from tests.cli.commands import Call
from tests.launched import DELTA, begin, commit, config, evaluated, finish
from tests.patience import wait_until

TRAIN = ("train", "--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity")
PF_LD = (Gaussian(9.0),)


def ledger_of(*, column: str | None = "group") -> dict[str, Any]:
    [found] = answer_ledger("synthetic", None, None, None).document["ledgers"]
    return next(item for item in found["protected"] if item["column"] == column)


def count_steps(ledger: dict[str, Any]) -> int:
    """Return how many steps' sums have been released."""
    return sum(event["count"] for event in ledger["event"] if event["kind"] == "sampled_gaussian")


def test_an_empty_store_has_nothing_to_tell(local: RunStore) -> None:
    answer = answer_ledger(None, None, None, None)
    assert answer.document == {"ledgers": []} and "nothing has been launched" in answer.text
    assert ledger_of()["epsilon"] == 0.0


def test_it_lists_each_data_set_and_all_that_is_protected(local: RunStore) -> None:
    finish(local, config(), evaluated(PF_LD, (Gaussian(20.0),)))
    finish(local, config(dataset="adult", sensitive="sex"), PF_LD)
    work, claim, _ = begin(local, config(seed=3), PF_LD)
    answer = answer_ledger(None, None, None, None)
    one, other = answer.document["ledgers"]
    assert json.loads(json.dumps(answer.document, allow_nan=False)) == answer.document
    assert (one["data"], other["data"], one["delta"]) == ("synthetic", "adult", DELTA)
    assert [item["column"] for item in one["protected"]] == [None, "group", "region"]
    assert {"sex", "race"} <= {item["column"] for item in other["protected"]}
    record, group, region = one["protected"]
    assert record["epsilon"] is None and record["reason"].startswith("run ") and "1 more run has no" in record["reason"]
    assert group["epsilon"] == pytest.approx(epsilon(from_json(group["event"]), DELTA)) and group["reason"] is None
    assert group["epsilon_planned"] > group["epsilon"] > 0 and len(group["runs"]) == 2
    assert "'region' in clear" in region["reason"]
    assert [line["status"] for line in one["lines"]] == ["finished", "running"]
    for words in ("whole records", "no bound. Run", "with what waits and runs", "epsilon alone", "pf_ld"):
        assert words in " ".join(answer.text.split())  # lines are folded to the terminal's width
    commit(work, claim, PF_LD)
    assert ledger_of()["epsilon"] == ledger_of()["epsilon_planned"]


def test_a_cap_is_set_told_and_lifted(local: RunStore) -> None:
    set_to = answer_cap("synthetic", "group", record=False, lift=False, epsilon=3.0, delta=None)
    assert "cap 3 at delta 1e-05, 3.00 of it remains" in " ".join(set_to.text.split())
    finish(local, config(), PF_LD)
    cap = ledger_of()["cap"]
    assert cap["epsilon"] == 3 and 0 < cap["remaining"] < 3 and cap["spent"] > 0
    lifted = answer_cap("synthetic", "group", record=False, lift=True, epsilon=None, delta=None)
    assert "cap" not in lifted.text and ledger_of()["cap"] is None


def test_a_cap_on_a_file_of_ones_own(local: RunStore, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("Sex,score,good\nf,1,1\nm,2,0\n")
    capped = answer_cap(str(path), "SEX", record=False, lift=False, epsilon=1.0, delta=1e-6)
    [found] = capped.document["ledgers"]
    assert "in this order" in capped.document["says"] and "in this order" in capped.text
    assert found["data"] == "own.csv" and found["protected"][0]["column"] == "sex"
    with pytest.raises(BadInput, match="unknown column 'age'"):
        answer_cap(str(path), "age", record=False, lift=False, epsilon=1.0, delta=None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cap", "adlt", "--epsilon", "1", "--record"), "'adlt' is neither a data set (adult, "),
        (("cap", "synthetic", "--epsilon", "1"), "say what the cap is on: --sensitive COLUMN, or --record"),
        (("cap", "synthetic", "--record"), "give either --epsilon, to set the cap, or --lift"),
        (("cap", "synthetic", "--record", "--epsilon", "-1"), "epsilon must be a finite number > 0, got -1"),
        (("cap", "synthetic", "--record", "--epsilon", "1", "--delta", "2"), "delta must lie strictly between 0 and 1"),
        (("cap", "synthetic", "--sensitive", "group+region", "--epsilon", "1"), "one column, got group and region"),
        (("--dataset", "adlt"), "unknown data set 'adlt'"),
        (("--sensitive", "sex"), "name the data set too"),
    ],
)
def test_bad_input_is_a_sentence(arguments: tuple[str, ...], says: str, local: RunStore) -> None:
    with pytest.raises(BadInput) as caught:
        cli.main(["ledger", *arguments], standalone_mode=False)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_the_commands_of_the_documentation_run(local: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text("utf-8")
    lines = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    for line in lines:
        keys = [row.key for row in local.rows()]
        named = {f"KEY{place}": key for place, key in enumerate(keys, 1)}
        program, *arguments = shlex.split(line, comments=True)
        assert program == "./fairpriv"
        cli.main([named.get(argument, argument) for argument in arguments], standalone_mode=False)
    assert "proved: all candidates and the choice" in capsys.readouterr().out and len(local.rows()) == 2


def test_a_launch_beyond_the_cap_is_refused_and_leaves_nothing(call: Call, local: RunStore) -> None:
    answer_cap("synthetic", "group", record=False, lift=False, epsilon=1.5, delta=None)
    run = (*TRAIN, "--method", "pf_ld", "--set", "epochs=2", "--private-evaluation")
    said = call(*run, "--epsilon", "1", "--json")
    assert said.code == 0 and said.json["metrics_private"] is not None
    said = call(*run, "--epsilon", "1.2", "--json")
    assert (said.code, said.out) == (2, "") and said.err.count("Error: ") == 1
    assert "the cap on 'group' is epsilon = 1.5 at delta = 1e-05" in said.err
    assert " remains, and this would spend 1.2" in said.err
    assert len(local.rows()) == 1 and len(local.ledger.lines(local.ledger.data_sets().popitem()[0])) == 1
    said = call("ledger", "--dataset", "synthetic", "--sensitive", "group", "--json")
    [item] = said.json["ledgers"][0]["protected"]
    assert 0.9 < item["epsilon"] <= 1 and 0 < item["cap"]["remaining"] < 1.2


def test_a_killed_run_has_spent_what_it_released_and_is_taken_over_at_once(
    call: Call, local: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (*TRAIN, "--method", "pf_ld", "--epsilon", "1", "--set", "epochs=150", "--json")
    with subprocess.Popen([sys.executable, "-m", "fairpriv_core", *asked], stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: any(row.step > 50 for row in local.rows()) or process.poll() is not None, "some releases")
        process.kill()
    [row], killed, shown = local.rows(), ledger_of(), set(local.metrics(local.rows()[0].key))
    assert row.status == "lost" and row.step > 0
    assert 0 < count_steps(killed) <= row.step and 0 < killed["epsilon"] < killed["epsilon_planned"] <= 1
    shutil.copytree(Path(str(local.database.path)).parent, tmp_path / "stopped")
    resumed = call(*asked).json  # the same command goes on, as `resume` does
    assert resumed["resumed_from_step"] == row.step and resumed["status"] == "finished"
    assert local.row(row.key).resumed_from_step == row.step
    assert shown <= set(local.metrics(row.key))
    assert resumed["event"] == resumed["released"] and resumed["steps"] == row.steps
    monkeypatch.setenv("FAIRPRIV_STORE", str(tmp_path / "stopped" / "runs.db"))
    with open_store() as store:
        store.request(row.key, "stop")
        stopped = ledger_of()
        assert stopped["epsilon"] == stopped["epsilon_planned"] == killed["epsilon_planned"]
        store.delete(row.key)
        assert ledger_of()["epsilon"] == stopped["epsilon"]
