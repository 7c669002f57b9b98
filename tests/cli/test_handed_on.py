"""`fairpriv export --format onnx|hf|mlflow` and `fairpriv croissant`: what others read, and what must be said of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
import yaml

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.croissant import describe_problem
from fairpriv_core.documents import tracking
from tests.cli.commands import Call
from tests.trained import SYNTHETIC, train_once

Made = dict[str, Any]
RAW_ROWS = "gaps of your own rows are raw, and accuracy too unless epsilon takes features and labels as public"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a store's place, and records of its runs: on made-up rows, and three on a person's own files.

    Of these `plain` is not private, `raw` has no private evaluation and a file for itself, and `paid` has one.
    """
    folder = tmp_path_factory.mktemp("handed on")
    place, path = folder / "runs.db", folder / "jane doe" / "people.csv"
    path.parent.mkdir()
    rows = [f"{index % 9},{'mf'[index % 2]},{'ny'[(index % 9 + 3 * (index % 2)) > 5]}" for index in range(900)]
    path.write_text("\n".join(["hours,sex,paid", *rows]))
    path.with_name("others.csv").write_text("\n".join(["hours,sex,paid", *rows[:-1]]))
    own = ("--label", "paid", "--positive", "y", "--sensitive", "sex", "--set", "epochs=20")
    own += ("--notion", "demographic_parity", "--csv", str(path))
    others = (*own[:-1], str(path.with_name("others.csv")))
    fair = ("--method", "pf_ld", "--epsilon", "2")
    return {
        "place": str(place),
        "private": train_once(place, *SYNTHETIC, *fair),
        "plain": train_once(place, *own, "--method", "none"),
        "raw": train_once(place, *others, *fair, "--no-private-evaluation"),
        "paid": train_once(place, *own, *fair, "--private-evaluation"),
    }


@pytest.fixture
def runs(made: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return runs of the default store, which no test changes."""
    monkeypatch.setenv("FAIRPRIV_STORE", made["place"])
    return made


def read_head(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text("utf-8")
    assert text.startswith("---\n")
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_an_onnx_file_predicts_and_says_what_it_promises(call: Call, runs: Made, tmp_path: Path) -> None:
    record, out = runs["private"], tmp_path / "model.onnx"
    said = call("export", record["key"], "--format", "onnx", "--out", str(out))
    assert said.code == 0 and said.out == "" and "it takes encoded columns" in said.err
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    told = session.get_modelmeta().custom_metadata_map
    assert told["key"] == record["key"] and told["privacy"].startswith("ε = ") and "proved" in told["privacy"]
    wide = len(json.loads(told["features"]))
    (decision,) = session.run(["decision"], {"features": np.zeros((3, wide), np.float32)})
    assert decision.shape == (3,)


def test_a_hub_folder_has_a_card_with_metadata_and_the_model(call: Call, runs: Made, tmp_path: Path) -> None:
    record, out = runs["private"], tmp_path / "hub"
    assert call("export", record["key"], "--format", "hf", "--out", str(out)).code == 0
    assert {path.name for path in out.iterdir()} == {"README.md", "config.toml", "model.json", "model.safetensors"}
    head = read_head(out)
    assert head["library_name"] == "fairpriv" and head["pipeline_tag"] == "tabular-classification"
    assert head["fairpriv"]["epsilon"] == record["epsilon"] and head["fairpriv"]["protects"] == "attribute"
    assert "differential-privacy" in head["tags"]
    (result,) = head["model-index"][0]["results"]
    shown = {each["type"]: each for each in result["metrics"]}
    assert shown["accuracy"]["value"] == record["metrics"]["accuracy"]  # the data is published
    again = call("export", record["key"], "--format", "hf", "--out", str(out))
    assert again.code == 2 and "out must be a new folder, or an empty one" in again.err


def test_what_is_handed_on_of_a_persons_file_is_public_or_paid_for_alone(
    call: Call, runs: Made, tmp_path: Path
) -> None:
    for number, (record, shown) in enumerate(((runs["raw"], {"accuracy"}), (runs["paid"], {"accuracy", "gap"}))):
        out = tmp_path / f"hub{number}"
        assert call("export", record["key"], "--format", "hf", "--out", str(out)).code == 0
        head, text = read_head(out), (out / "README.md").read_text("utf-8")
        metrics = head.get("model-index", [{"results": [{"metrics": []}]}])[0]["results"][0]["metrics"]
        assert {"gap" if each["type"].endswith("_gap") else each["type"] for each in metrics} == shown
        assert "jane" not in text + (out / "config.toml").read_text("utf-8")
        assert 0.0 < record["metrics"]["demographic_parity_gap"] < 1.0
        assert str(record["metrics"]["demographic_parity_gap"]) not in text
    assert "with noise that ε covers" in text and "differential-privacy" in head["tags"]
    whole = tmp_path / "analyst"
    assert call("export", runs["raw"]["key"], "--format", "hf", "--audience", "analyst", "--out", str(whole)).code == 0
    metrics = read_head(whole)["model-index"][0]["results"][0]["metrics"]
    assert all("raw, for the analyst" in each["name"] for each in metrics) and len(metrics) == 2


def test_the_code_in_a_hub_folder_loads_its_model_and_decides_as_the_run_does(
    call: Call, runs: Made, tmp_path: Path
) -> None:
    key, out = runs["paid"]["key"], tmp_path / "hub"
    assert call("export", key, "--format", "hf", "--out", str(out)).code == 0
    rows = Path(runs["place"]).parent / "jane doe" / "people.csv"
    (out / "rows.csv").write_bytes(rows.read_bytes())
    (code,) = re.findall(r"```python\n(.*?)```", (out / "README.md").read_text("utf-8"), re.DOTALL)
    subprocess.run([sys.executable, "-c", code], cwd=out, env={**os.environ, "PYTHONPATH": os.getcwd()}, check=True)
    assert call("predict", key, "--csv", str(rows), "--out", str(tmp_path / "own.csv")).code == 0
    assert (out / "predictions.csv").read_bytes() == (tmp_path / "own.csv").read_bytes()


@pytest.mark.parametrize("form", ["hf", "onnx", "mlflow"])
def test_a_model_of_a_persons_file_that_no_epsilon_covers_is_for_the_analyst(
    call: Call, runs: Made, tmp_path: Path, form: str
) -> None:
    key = runs["plain"]["key"]
    place = [] if form == "mlflow" else ["--out", str(tmp_path / form)]
    refused = call("export", key, "--format", form, "--audience", "policy", *place)
    assert refused.code == 2 and f"run {key} has no proved ε" in refused.err and "--audience analyst" in refused.err
    assert not (tmp_path / form).exists()


def test_lists_say_that_numbers_of_a_persons_file_are_raw(
    call: Call, made: Made, own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_once(own_store, *SYNTHETIC, "--method", "none")
    assert RAW_ROWS not in call("runs").out
    monkeypatch.setenv("FAIRPRIV_STORE", made["place"])
    assert RAW_ROWS in call("runs").out
    published = {run["key"]: run["data_is_published"] for run in call("runs", "--json").json["runs"]}
    assert published == {made[name]["key"]: name == "private" for name in ("private", "plain", "raw", "paid")}


class Tracker(ModuleType):
    """What tracking.py uses of MLflow, keeping what it is given."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.kept: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}

    def start_run(self, run_name: str) -> Tracker:
        self.kept["name"] = run_name
        return self

    def __enter__(self) -> Any:
        return type("Run", (), {"info": type("Info", (), {"run_id": "r1"})})

    def __exit__(self, *raised: object) -> None:
        return None

    def log_params(self, params: dict[str, Any]) -> None:
        self.kept["params"] = params

    def log_metrics(self, metrics: dict[str, float]) -> None:
        self.kept["metrics"] = metrics

    def set_tags(self, tags: dict[str, str]) -> None:
        self.kept["tags"] = tags

    def log_artifacts(self, folder: str) -> None:
        self.files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}

    def get_tracking_uri(self) -> str:
        return "here"


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Tracker:
    """Put a stand-in where mlflow is imported from: it brings twenty packages, and wants a server to speak to."""
    made, errors = Tracker(), ModuleType("mlflow.exceptions")
    vars(errors)["MlflowException"] = type("MlflowException", (Exception,), {})
    monkeypatch.setitem(sys.modules, "mlflow", made)
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", errors)
    monkeypatch.setattr(tracking, "find_spec", lambda name: object())
    return made


def test_an_mlflow_run_has_epsilon_gaps_assumptions_and_the_model(call: Call, runs: Made, tracker: Tracker) -> None:
    record = runs["private"]
    said = call("export", record["key"], "--format", "mlflow")
    assert said.code == 0 and "logged as MLflow run r1 to here" in said.err
    kept = tracker.kept
    assert kept["name"] == record["key"] and kept["params"]["method.name"] == "pf_ld"
    assert kept["metrics"]["epsilon"] == record["epsilon"] and kept["metrics"]["delta"] == 1e-5
    assert kept["metrics"]["demographic_parity_gap"] == record["metrics"]["demographic_parity_gap"]  # published data
    tags = kept["tags"]
    assert tags["fairpriv.privacy"].startswith("ε = ") and tags["fairpriv.key"] == record["key"]
    assert [tags[f"fairpriv.assumption {place}"] for place in range(1, len(record["assumptions"]) + 1)] == record[
        "assumptions"
    ]
    assert set(tracker.files) == {"README.md", "config.toml", "model.json", "model.safetensors"}


def test_an_mlflow_run_of_a_persons_file_holds_no_raw_number(call: Call, runs: Made, tracker: Tracker) -> None:
    record = runs["raw"]
    call("export", record["key"], "--format", "mlflow")
    assert set(tracker.kept["metrics"]) == {"accuracy", "epsilon", "delta"}
    assert any("ε covers no fairness number" in each for each in tracker.kept["tags"].values())
    call("export", record["key"], "--format", "mlflow", "--audience", "analyst")
    assert tracker.kept["metrics"]["demographic_parity_gap"] == record["metrics"]["demographic_parity_gap"]
    assert "raw" in tracker.kept["tags"]["fairpriv.measured demographic_parity_gap"]
    assert "jane" not in json.dumps(tracker.kept) + tracker.files["config.toml"].decode()


def test_what_is_missing_is_said_in_one_sentence(call: Call, runs: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    for options, says in (
        (("hf",), "hf is written to a place: name it with --out."),
        (("onnx",), "onnx is written to a place: name it with --out."),
        (("mlflow", "--out", "x"), "mlflow takes no --out: MLFLOW_TRACKING_URI says where."),
        (("mlflow",), "an MLflow run needs mlflow, which is not installed: pip install 'fairpriv[mlflow]'."),
    ):
        said = call("export", runs["private"]["key"], "--format", *options)
        assert said.code == 2 and says in said.err and len(said.err.strip().splitlines()) == 1


def test_every_benchmark_has_a_croissant_description() -> None:
    for problem in problems().values():
        found = describe_problem(problem)
        json.dumps(found, allow_nan=False)
        fields = {each["name"] for each in found["recordSet"][0]["field"]}
        assert fields == set(problem.columns) and set(found["rai:personalSensitiveInformation"]) <= fields
        files = {each["@id"]: each for each in found["distribution"]}
        assert len(files) == len(found["distribution"]) and all(len(each["sha256"]) == 64 for each in files.values())
        inside = [each["containedIn"]["@id"] for each in files.values() if "containedIn" in each]
        sources = [each["source"]["fileObject"]["@id"] for each in found["recordSet"][0]["field"] if "source" in each]
        assert {*inside, *sources} <= set(files)
        assert found["rai:dataBiases"] == list(problem.caveats) and found["license"] == problem.licence


def test_the_command_prints_or_writes_it_and_knows_no_file_of_a_persons_own(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "croissant.json"
    said = call("croissant", "adult", "--out", str(out))
    expected = describe_problem(problems()["adult"])
    assert said.code == 0 and said.json == json.loads(out.read_text()) == expected
    refused = call("croissant", str(out))
    assert refused.code == 2 and "choose from adult, synthetic" in refused.err
