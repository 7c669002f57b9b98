"""The command line: one JSON document on standard output, sentences on standard error, exit codes 0, 1 and 2."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from click import Command, Context, Group, Option
from pyarrow import parquet

from fairpriv_core.cli.main import cli
from fairpriv_core.cli.request import read_request
from fairpriv_core.facts.aim import format_too_fine
from fairpriv_core.methods.catalog import GROUPS
from fairpriv_core.notions import catalog
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.runs import foreground, session, worker
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.cli.commands import Call

TRAIN = ("train", "--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity")
FIELDS = (
    "key status config threat_model variant epsilon epsilon_published epsilon_reason epsilon_if_secret delta event "
    "assumptions steps seconds versions metrics"
)
METRICS = (
    "accuracy balanced_accuracy roc_auc demographic_parity_gap equalized_odds_gap equal_opportunity_gap "
    "accuracy_parity_gap groups"
)


def test_a_trained_run_prints_one_record_and_does_not_run_twice(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    command = (*TRAIN, "--method", "pf_ld", "--epsilon", "1", "--set", "epochs=2", "--json")
    said = call(*command, "--out", str(out))
    record = said.json
    assert said.code == 0 and json.loads(out.read_text()) == record
    parity = catalog.notions()["demographic_parity"]
    assert said.err.splitlines() == [format_too_fine(parity, 0.04, tested=2_000, groups=2)]
    assert not set(FIELDS.split()) - set(record) and not set(METRICS.split()) - set(record["metrics"])
    assert record["status"] == "finished" and record["threat_model"] == "attribute" and record["variant"] == "proved"
    assert record["epsilon"] == pytest.approx(epsilon(from_json(record["event"]), 1e-5))
    assert [group["name"] for group in record["metrics"]["groups"]] == ["A", "B"]
    again = call(*command)
    assert again.code == 0 and again.json == record and "nothing ran" in again.err
    other = call(*command, "--again")
    assert other.json["key"] == f"{record['key']}-2" and other.json["notes"] != record["notes"]
    listed = call("runs", "--json").json["runs"]
    assert [row["key"] for row in listed] == [other.json["key"], record["key"]]
    assert listed[1]["status"] == "finished" and listed[1]["steps"] == listed[1]["planned_steps"] == record["steps"]
    assert listed[1]["accuracy"] == record["metrics"]["accuracy"]
    told = call(*command[:-1]).out
    for words in (", proved", "delta", "sensitive attribute"):
        assert words in " ".join(told.split()) and "percentage points" in told and "by the paper" in told
    assert "publish them" not in " ".join(told.split()), "everybody has these rows"
    assert "demographic_parity" in call("runs").out


def test_a_release_that_is_paid_for_is_trained_on_again(call: Call) -> None:
    asked = (*TRAIN, "--method", "one_release", "--json")
    paid = call(*asked, "--epsilon", "1", "--set", "learner=linear").json
    again = call(*asked, "--set", "gap_target=0.08", "--reuse", paid["key"])
    assert again.code == 0, again.err
    assert again.json["epsilon"] == paid["epsilon"] and again.json["calibrated"]["gap_target"] == 0.08


def test_what_has_no_proof_is_said_to_have_none(call: Call) -> None:
    unproved = call(*TRAIN, "--method", "pf_ld", "--variant", "published", "--epsilon", "1", "--set", "epochs=2")
    assert unproved.code == 0 and re.search(r"^epsilon +none\.", unproved.out, re.M) and "published" in unproved.out


def test_of_a_file_it_is_said_which_numbers_are_raw_and_of_a_run_without_proof_all_are(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "own.csv"
    lines = [f"{'left' if row % 3 else 'right'},{row % 10},{1 if row % 10 > 4 else 0}" for row in range(400)]
    path.write_text("\n".join(["side,score,good", *lines]) + "\n")
    asked = ("--csv", str(path), "--label", "good", "--sensitive", "side", "--notion", "demographic_parity")
    asked += ("--method", "pf_ld", "--epsilon", "1", "--set", "epochs=2")
    proved, unproved = (
        " ".join(call("train", *asked, "--variant", variant).out.split()) for variant in ("proved", "published")
    )
    assert "Gaps and groups' rates are raw" in proved and "Accuracy may be published" in proved
    assert "accuracy, with noise" in proved and "within epsilon" in proved
    assert "Raw, for the analyst" in unproved and "Do not publish." in unproved
    assert "may be published" not in unproved and "with noise" not in unproved, "no epsilon covers anything"


def test_several_files_of_one_shape_are_one_table(call: Call, tmp_path: Path) -> None:
    """They are stored once, in whatever order they are named; of unlike shape, a sentence names the column."""
    lines = [f"{row % 50},{'fm'[row % 2]},{'ny'[row % 3 == 0]}\n" for row in range(400)]
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("age,sex,paid\n" + "".join(lines[:150]))
    second.write_text("age,sex,paid\n" + "".join(lines[150:]))
    asked = ("--label", "paid", "--positive", "y", "--sensitive", "sex", "--method", "none", "--set", "epochs=1")
    asked += ("--notion", "demographic_parity", "--json")
    made = call("train", "--csv", str(first), "--csv", str(second), *asked)
    assert made.code == 0, made.err
    again = call("train", "--csv", str(second), "--csv", str(first), *asked)
    assert again.json["key"] == made.json["key"] and "nothing ran" in again.err
    proposed = call("schema", str(first), str(second)).out
    assert "--file first.csv --file second.csv --schema" in proposed and "[columns.sex]" in proposed
    second.write_text("age,paid\n1,n\n")
    refused = call("train", "--csv", str(first), "--csv", str(second), *asked)
    assert refused.code == 2 and "second.csv has no column 'sex', which first.csv has" in refused.err


def test_what_is_stated_of_a_file_goes_with_its_run(call: Call, tmp_path: Path) -> None:
    """And folders of Parquet files are a table; the next file is read as it is stated too."""
    lines = [f"{row % 50};{'fm'[row % 2]};{'ny'[row % 3 == 0]}" for row in range(400)]
    path, parts = tmp_path / "people.txt", tmp_path / "people"
    path.write_text("\n".join(["age;sex;paid", *lines]))
    asked = ("--label", "column 3", "--positive", "y", "--sensitive", "column 2", "--method", "none")
    asked += ("--set", "epochs=1", "--notion", "demographic_parity", "--json")
    form = ("--header", "none", "--separator", ";", "--file-encoding", "latin-1")
    made = call("train", "--file", str(path), *form, *asked)
    assert made.code == 0, made.err
    stated = {"encoding": "iso8859-1", "separator": ";", "header": 0}
    assert json.loads(made.json["config"]["data"]["schema"])["file"] == stated
    out = str(tmp_path / "out.csv")
    found = call("predict", made.json["key"], "--file", str(path), *form, "--out", out, "--json")
    assert found.json["rows"] == 401
    lacking = call("predict", made.json["key"], "--file", str(path), "--out", out)
    assert lacking.code == 2 and "column 1" in lacking.err
    for sex in ("f", "m"):
        (parts / f"sex={sex}").mkdir(parents=True)
        parquet.write_table(pa.table({"age": [1, 2, 3], "paid": ["n", "y", "n"]}), parts / f"sex={sex}" / "a.parquet")
    proposed = call("schema", str(parts))
    assert "[columns.sex]" in proposed.out and "as 2 files" in proposed.err
    for option, value in {"header": "first", "separator": "and", "file-encoding": "utf-9", "sheet": "x"}.items():
        refused = call("train", "--file", str(path), f"--{option}", value, *asked)
        assert refused.code == 2 and value in refused.err


def test_a_small_table_gets_a_batch_that_leaves_steps_enough(call: Call, tmp_path: Path) -> None:
    """By `train` and by a sweep alike, into the same run; a batch that a person set stays, and so do epochs."""
    table, sweep = tmp_path / "small.csv", tmp_path / "small.toml"
    table.write_text(
        "age,sex,paid\n" + "".join(f"{row % 50},{'fm'[row % 2]},{'ny'[row % 3 == 0]}\n" for row in range(600))
    )
    asked = ("train", "--csv", str(table), "--label", "paid", "--positive", "y", "--sensitive", "sex", "--json")
    asked += ("--notion", "demographic_parity", "--method", "none")
    made = call(*asked)
    assert "batch_size = 6: the usual 256 is too large for 600 rows." in made.err
    assert made.json["config"]["method"]["batch_size"] == 6 and made.json["steps"] == 1500
    other = call(*asked, "--set", "batch_size=64")
    assert other.err == "" and other.json["config"]["method"]["batch_size"] == 64
    other = call(*asked, "--set", "epochs=2")
    assert "batch_size = 112: the usual 256" in other.err and other.json["config"]["method"]["batch_size"] == 112
    sweep.write_text(
        f'notion = "demographic_parity"\n[data]\nfile = "{table}"\nlabel = "paid"\npositive = "y"\n'
        'sensitive = "sex"\n[axes]\nmethod = ["none", {name = "none", batch_size = 64}]\n'
    )
    swept = call("sweep", str(sweep), "--json").json
    assert swept["sweep"]["new"] == 0 and swept["runs"][0]["key"] == made.json["key"]
    schema = tmp_path / "small.schema.toml"
    assert call("schema", str(table), "--out", str(schema)).code == 0
    known = call("train", "--file", str(table), "--schema", str(schema), "--json", *asked[-4:])
    sweep.write_text(
        f'notion = "demographic_parity"\n[data]\nfile = "{table}"\nschema = "{schema}"\n[axes]\nmethod = ["none"]\n'
    )
    swept = call("sweep", str(sweep), "--json").json
    assert swept["sweep"]["new"] == 0 and swept["runs"][0]["key"] == known.json["key"]
    sweep.write_text(sweep.read_text().replace('[axes]\nmethod = ["none"]', '[method]\nname = "none"'))
    once = call("train", "--config", str(sweep), "--json")
    assert once.json["key"] == known.json["key"]


def test_a_config_file_gives_the_same_run_and_options_override_it(call: Call, tmp_path: Path) -> None:
    first = call(*TRAIN, "--method", "none", "--set", "epochs=1", "--seed", "5", "--json").json
    record, toml = tmp_path / "record.json", tmp_path / "run.toml"
    record.write_text(json.dumps(first))
    toml.write_text(
        'notion = "demographic_parity"\nseed = 5\n[data]\ndataset = "synthetic"\nsensitive = "group"\n'
        '[method]\nname = "none"\nepochs = 1\n'
    )
    for path in (record, toml):
        said = call("train", "--config", str(path), "--json")
        assert said.json["key"] == first["key"] and "nothing ran" in said.err
    other = call("train", "--config", str(toml), "--seed", "6", "--set", "epochs=2", "--json").json
    assert (other["config"]["seed"], other["config"]["method"]["epochs"]) == (6, 2)


def test_a_file_of_ones_own_is_trained_on_and_predicted(call: Call, tmp_path: Path) -> None:
    path, out = tmp_path / "own.csv", tmp_path / "predicted.csv"
    lines = [f"{'left' if row % 3 else 'right'},{row % 10},{1 if row % 10 > 4 else 0}" for row in range(400)]
    path.write_text("\n".join(["side,score,good", *lines]) + "\n")
    named = ("--csv", str(path), "--label", "good", "--positive", "1.0", "--sensitive", "side")
    said = call(
        "train", *named, "--notion", "equal_opportunity", "--method", "none", "--set", "learning_rate=0.1", "--json"
    )
    assert said.code == 0 and said.json["metrics"]["accuracy"] > 0.9
    key = said.json["key"]
    predicted = call("predict", key, "--csv", str(path), "--out", str(out), "--json").json
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    positive = sum(row["prediction"] == "1" for row in rows)
    assert predicted == {"key": key, "rows": 400, "positive": positive, "out": str(out), "remarks": []}
    assert [row["row"] for row in rows[:2]] == ["1", "2"] and all(0 <= float(row["probability"]) <= 1 for row in rows)
    aimed = ("--notion", "demographic_parity", "--method", "f_ld", "--set", "gap_target=0.04", "--set", "epochs=1")
    outcome = " ".join(call("train", *named, *aimed).out.partition("\nrun ")[0].split())
    assert outcome.startswith("outcome You asked for a gap of at most 4 points; groups 'left' and 'right' are ")
    assert outcome.endswith("(Raw.)")
    by_hand = call("train", *named, *aimed[:4], "--set", "multiplier_max=1", "--set", "epochs=1", "--json")
    assert by_hand.json["config"]["method"]["gap_target"] is None
    assert "gap_target = none: you set multiplier_max." in by_hand.err
    (tmp_path / "short.csv").write_text("side,other\nleft,1\n")
    said = call("predict", key, "--csv", str(tmp_path / "short.csv"), "--out", str(out))
    assert said.code == 2 and "score" in said.err


def test_catalogues_are_json(call: Call) -> None:
    methods = call("methods", "--json").json["methods"]
    groups = {group: list(own) for group, own in groupby(methods, key=lambda each: each["group"])}
    assert list(groups) == [GROUPS[source] for source in ("paper", "other", "ours")], "a heading stands once"
    assert [each["name"] for each in groups["Ours"]] == [
        each["name"] for each in methods if each["citation"].startswith("this project")
    ]
    assert {each["citation"].split(",")[0].split(" (")[0].split(":")[0] for each in groups[GROUPS["paper"]]} == {
        "Tran", "Lowy", "FairDP"
    }  # fmt: skip
    pf_ld = next(method for method in methods if method["name"] == "pf_ld")
    assert pf_ld["threat_model"] == "attribute" and pf_ld["variants"] == ["proved", "published"] and pf_ld["citation"]
    clip = next(item for item in pf_ld["parameters"] if item["name"] == "clip_primal")
    assert clip["default"] > 0 and clip["help"] and clip["low"] < clip["high"]
    notions = call("notions", "--json").json["notions"]
    assert [notion["name"] for notion in notions] == list(catalog.notions())
    assert [notion["name"] for notion in notions if "pf_ld" in notion["methods"]] == pf_ld["notions"]
    names = {item["name"] for item in call("datasets", "--json").json["datasets"]}
    assert {"synthetic", "adult", "bank", "bank_no_duration", "compas", "credit_default"} <= names
    for name in ("methods", "notions", "datasets"):
        text = [line for line in call(name).out.splitlines() if line not in ("", *GROUPS.values())]
        assert [line.split()[0] for line in text if line[0] != " "] == [
            item["name"] for item in call(name, "--json").json[name]
        ]


def test_the_commands_are_listed_without_being_loaded() -> None:
    """Each with what its documentation says first."""
    script = "import sys; sys.argv[1:] = ['--help']\nfrom fairpriv_core.cli.main import main\ntry: main()\n"
    script += "finally: print('loaded', [each for each in ('numpy', 'sqlalchemy') if each in sys.modules])"
    listed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert listed.endswith("loaded []\n")
    said = " ".join(listed.split())
    assert said.index(" train --method ") < said.index("Options:")
    context = Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None and command.help is not None
        assert f" {name} {command.help.splitlines()[0].partition(';')[0].removesuffix('.')}" in said


def list_options(command: Command, name: str) -> Iterator[tuple[str, Option, Context]]:
    context = Context(command, show_default=True)
    yield from ((name, each, context) for each in command.params if isinstance(each, Option))
    for each in command.list_commands(context) if isinstance(command, Group) else ():
        found = command.get_command(context, each)
        assert found is not None
        yield from list_options(found, f"{name} {each}")


def test_every_option_says_its_type_and_its_default_and_where_names_are_listed() -> None:
    found = [each for each in list_options(cli, "fairpriv") if not each[1].is_flag]
    assert len(found) > 60
    for name, option, context in found:
        form, text = option.get_help_record(context) or ("", "")
        assert not form.endswith(" TEXT") or "characters" in text, f"{name} {form}"
        assert re.search(r"[Dd]efault: |\[required\]|\[default: ", text), f"{name} {form}: {text}"
        lists = {"--dataset": "datasets", "--method": "methods", "--notion": "notions"}.get(option.opts[0])
        assert lists is None or f"fairpriv {lists} lists" in text, f"{name} {form}"


def test_account_needs_no_data_and_its_event_gives_its_epsilon(call: Call) -> None:
    command = ("account", "--method", "pf_ld", "--dataset-size", "33916", "--groups", "2", "--epsilon", "1")
    found = call(*command, "--json").json
    assert found["epsilon"] == pytest.approx(epsilon(from_json(found["event"]), 1e-5)) and 0.99 < found["epsilon"] <= 1
    assert found["noise_multipliers"]["noise_primal"] > 0 and found["threat_model"] == "attribute"
    assert call(*command, "--set", "epochs=40", "--json").json["noise_multipliers"] != found["noise_multipliers"]
    assert ", proved" in call(*command).out
    assert call("account", "--method", "none", "--dataset-size", "1000", "--json").json["epsilon"] is None
    assert found["warnings"] == [] and "1/n" not in call(*command).out
    for large in (("--delta", "0.01"), ("--dataset-size", "1000000")):
        said = call(*command, *large, "--json")
        assert "is not below 1/n" in said.json["warnings"][0] and "is not below 1/n" in said.err
        assert "is not below 1/n" in call(*command, *large).out.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TRAIN, "--method", "pf_ld"), "epsilon is not given"),
        ((*TRAIN, "--method", "pf_ld", "--epsilon", "nan"), "epsilon must be a finite number > 0, got nan"),
        ((*TRAIN, "--method", "pf_ld", "--epsilon", "1", "--delta", "0"), "delta must lie strictly between 0 and 1"),
        ((*TRAIN, "--method", "pf_ld", "--epsilon", "1", "--set", "clip=1"), "unknown parameter"),
        ((*TRAIN, "--method", "pf_ld", "--epsilon", "1", "--set", "clip_primal"), "--set takes key=value"),
        ((*TRAIN, "--method", "none", "--set", "batch_size=9999"), "batch_size must be at most the 6000"),
        ((*TRAIN, "--method", "none", "--epsilon", "1"), "epsilon needs a private method, got 'none'"),
        ((*TRAIN, "--method", "none", "--sensitive", "moon"), "unknown column 'moon'"),
        ((*TRAIN, "--method", "none", "--split", "official"), "split"),
        ((*TRAIN, "--method", "none", "--csv", "a.csv"), "give either a data set"),
        ((*TRAIN, "--method", "none", "--out", "/no/such/folder/record.json"), "out must be a file in a folder"),
        (("train", "--config", "/no/such/file.toml"), "config cannot be read"),
        (("sweep", "/no/such/file.toml"), "the sweep's file cannot be read"),
        (("account", "--method", "dp_fermi", "--dataset-size", "10", "--epsilon", "1"), "batch_size must be at most"),
        (("account", "--method", "pf_ld", "--dataset-size", "9", "--groups", "1", "--epsilon", "1"), "groups must be"),
        (("resume", "nothing"), "no run 'nothing'"),
        (("predict", "nothing", "--csv", "a", "--out", "b"), "no run 'nothing'"),
        (("predict", "nothing", "--parquet", "a", "--out", "b"), "no run 'nothing'"),
        (("train", "--method", "none", "--parquet", "a", "--sensitive", "sex"), "label is not given"),
        (("train", "--frobnicate"), "No such option"),
        (("sing",), "No such command"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(call: Call, arguments: tuple[str, ...], message: str) -> None:
    said = call(*arguments)
    assert (said.code, said.out) == (2, "") and message in said.err
    with open_store() as store:
        assert store.rows() == []


class Terminal(io.StringIO):
    """What a person at a terminal types."""

    def isatty(self) -> bool:
        return True


def test_a_failed_run_is_exit_code_1_with_its_record(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.csv"
    lines = [f"{'few' if row % 60 == 0 else 'many'},{row % 3},{row % 2}" for row in range(600)]
    path.write_text("\n".join(["side,size,label", *lines]) + "\n")
    named = ("--csv", str(path), "--label", "label", "--positive", "1", "--sensitive", "side")
    said = call("train", *named, "--notion", "demographic_parity", "--method", "pf_ld", "--epsilon", "10", "--json")
    assert said.code == 1 and said.json["status"] == "failed" and said.json["event"]
    *warned, error = said.err.splitlines()
    assert "'few'" in error and error.startswith("Error: ") and "those planned" in " ".join(warned)
    assert "Warning: Group 'few' is small" in said.err and "Do not publish" in said.err, "a script goes on"
    with open_store() as store:
        stored = store.rows()
    assert not any("'few' is small" in str(row.to_json()) for row in stored), "raw: for who launches alone"
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    said = call("train", *named, "--notion", "demographic_parity", "--method", "pf_ld", "--epsilon", "9")
    assert (said.code, said.out) == (1, "") and "most runs will fail at the count, with ε = 9.00 spent" in said.err
    with open_store() as store:
        assert len(store.rows()) == len(stored)


def test_a_store_of_something_else_is_a_sentence(call: Call, own_store: Path) -> None:
    own_store.parent.mkdir()
    own_store.write_text("no database " * 100)
    said = call("runs")
    assert said.code == 1 and "is not a run store" in said.err and own_store.read_text() == "no database " * 100


def test_ctrl_c_pauses_and_resume_goes_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    command = (*TRAIN, "--method", "dp_sgd", "--epsilon", "1", "--set", "epochs=3", "--set", "batch_size=600")
    command += ("--replay-noise", "1", "--json")  # 30 steps, each of which is committed
    whole = call(*command, "--again").json

    def interrupt(work: Any, claims: Any, *, on_commit: Any, datasets: Any) -> None:
        def stop(progress: Any) -> None:
            if progress.step == 9:
                raise KeyboardInterrupt

        real(work, claims, on_commit=stop, datasets=datasets)

    real = worker.work_on
    monkeypatch.setattr("fairpriv_core.runs.foreground.work_on", interrupt)
    stopped = call(*command, "--again")
    key = f"{whole['key']}-2"
    assert (stopped.code, stopped.out) == (1, "") and f"paused; fairpriv resume {key} goes on" in stopped.err
    monkeypatch.setattr("fairpriv_core.runs.foreground.work_on", real)
    said = call("resume", key, "--json")
    assert said.code == 0 and said.json["resumed_from_step"] == 9 and "goes on from step 9" in said.err
    assert said.json["metrics"] == whole["metrics"] and said.json["event"] == whole["event"]
    assert call("resume", key).code == 0
    curves = call("export", key, "--format", "csv").out.splitlines()
    assert curves[0].startswith("# Synthetic is public.") and curves[1] == "step,name,value"
    assert json.loads(call("export", key).out) == said.json


def test_a_run_that_another_process_holds_is_waited_for(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (*TRAIN, "--method", "none", "--set", "epochs=1", "--json")
    named = {"dataset": "synthetic", "sensitive": "group", "notion": "demographic_parity"}
    with open_store() as store:
        work = WorkStore(store.database)
        row = store.submit(read_request({**named, "method": "none", "assignments": ["epochs=1"]})[0])
        claims = work.claim(row.key)
        assert claims
        assert "running in another process" in call("resume", row.key).err
        with monkeypatch.context() as patch:  # the other process ends the run while this one waits
            patch.setattr(foreground, "time", SimpleNamespace(sleep=lambda _: worker.work_on(work, claims)))
            waited = call(*arguments)
    assert waited.code == 0 and waited.json["key"] == row.key and "waiting for it" in waited.err


def test_a_schema_is_measured_with_noise_and_its_line_stands_in_the_ledger(call: Call, tmp_path: Path) -> None:
    path, schema = tmp_path / "own.csv", tmp_path / "own.toml"
    lines = [f"{'fm'[row % 2]},{row % 80},{'yes' if row % 80 > 40 else 'no'}" for row in range(2_000)]
    path.write_text("\n".join(["sex,score,good", *lines]) + "\n")
    assert call("schema", str(path), "--out", str(schema)).code == 0
    asked = ("--notion", "demographic_parity", "--method", "dp_sgd", "--epsilon", "2", "--set", "epochs=2")
    asked += ("--set", "batch_size=200")
    named = ("train", "--csv", str(path), "--schema", str(schema), *asked)
    found = call(*named, "--private-schema", "0.2", "--json").json
    said = json.loads(found["config"]["data"]["schema"])
    assert said["values_from"] == "paid" and found["epsilon"] <= 2 and found["event"][1]["kind"] == "approximate"
    low, high = said["columns"]["score"]["range"]
    assert 0 <= low < 20 and 60 < high <= 128  # a wider one is possible, once in some thousand times
    listed = call("ledger", "--csv", str(path)).out
    assert said["paid"]["release"] in listed and "charged" in listed
    for given, words in (
        ("0", "private_schema must lie strictly between 0 and 1, got 0.0"),
        ("a lot", "private_schema must be a share of epsilon, such as 0.1, got 'a lot'"),
    ):
        refused = call(*named, "--private-schema", given)
        assert refused.code == 2 and words in refused.err
    bare = call("train", "--csv", str(path), "--label", "good", "--sensitive", "sex", *asked, "--private-schema", "0.2")
    assert bare.code == 2 and "write one with fairpriv schema" in bare.err
