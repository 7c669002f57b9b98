"""Predicting a file's rows with a model that decides by group: the sensitive column is needed, and nothing else is."""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load

from fairpriv_core.data.dataset import Dataset, load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import Groups
from fairpriv_core.data.schema import write_schema
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.modules import ModuleShape, Trained
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import number
from fairpriv_core.files.read import read_table
from fairpriv_core.records import model as predict
from fairpriv_core.records.archive import read_archive, write_archive
from fairpriv_core.records.model import Model

TABLE = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0))


def _write(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _train(tmp_path: Path, sensitive: str = "side", label: str = "good") -> Dataset:
    """Return data in three groups, of a text or of a number that is cut."""
    rows = [f"{('left', 'mid', 'right')[row % 3]},{row % 10},{row % 70},{row % 10 > 4:d}" for row in range(210)]
    path = _write(tmp_path / "own.csv", "side,score,age,good", *rows)
    return load_dataset(DataSpec(file=path, label=label, positive=None, sensitive=sensitive))


def _model(train: Dataset) -> Model:
    """Return a model that refuses the first group, takes the second and asks the third for a score of 9."""
    shape = NetworkShape(train.d)
    weights = [float(name == "score = 9") for name in train.feature_names]
    parameters = np.array([*weights, 0.0], dtype=np.float32)
    network = Derived(shape, TABLE)
    return Model.of(Fitted(network, parameters, (), 1), train)


def _predictions(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as stream:
        return [row["prediction"] for row in csv.DictReader(stream)]


def test_rows_are_decided_by_their_group(tmp_path: Path) -> None:
    model, out = _model(_train(tmp_path)), tmp_path / "out.csv"
    new = _write(tmp_path / "new.csv", "age,score,side", "1,9,left", "1,0,mid", "1,9,right", "1,0,right")
    assert model.predict_file(new, str(out))["positive"] == 2
    assert _predictions(out) == ["0", "1", "1", "0"]


def test_a_cut_number_gives_the_group(tmp_path: Path) -> None:
    model, out = _model(_train(tmp_path, "age:20,40")), tmp_path / "out.csv"
    new = _write(tmp_path / "new.csv", "score,side,age", "9,mid,19.5", "0,left,20", "9,left,40", "0,left,69")
    model.predict_file(new, str(out))
    assert _predictions(out) == ["0", "1", "1", "0"]


def test_a_label_that_is_cut_names_what_is_predicted(tmp_path: Path) -> None:
    model, out = _model(_train(tmp_path, label="age:40")), tmp_path / "out.csv"
    new = _write(tmp_path / "new.csv", "score,good,side", "9,1,left", "0,1,mid")
    model.predict_file(new, str(out))
    assert _predictions(out) == ["age < 40", "age ≥ 40"]


@pytest.mark.parametrize("sensitive", ["side", "age:20,40", "side+age:20"])
def test_stored_groups_are_those_of_training(tmp_path: Path, sensitive: str) -> None:
    train = _train(tmp_path, sensitive)
    groups = Groups.from_json(train.grouping)
    assert np.array_equal(groups.assign(read_table(tmp_path / "own.csv").table), train.group)
    assert groups.to_json() == train.grouping


def test_of_a_column_that_is_cut_the_edges_alone_are_stored(tmp_path: Path) -> None:
    """Range, mean, deviation and deciles of a protected column stood here once; such models are still read."""
    train = _train(tmp_path, "side+age:20,40")
    stored = json.loads(train.grouping)
    assert stored["groupings"][1] == {"column": "age", "values": [], "rest": None, "edges": [20.0, 40.0]}
    assert [column["name"] for column in json.loads(stored["columns"])["columns"]] == ["side"]
    measured = write_schema((number("age", low=1, high=97, center=40, scale=9),))
    assert Groups.from_json(json.dumps({**stored, "columns": measured})).columns == ()


def test_a_missing_sensitive_column_is_said_in_one_sentence(tmp_path: Path) -> None:
    model = _model(_train(tmp_path))
    new = _write(tmp_path / "new.csv", "age,score", "1,9")
    with pytest.raises(
        BadInput,
        match=r"^the model decides by group, so every row needs a value of side; the file has only age, score\.$",
    ):
        model.predict_file(new, str(tmp_path / "out.csv"))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("sensitive", "row", "says"),
    [
        ("side", "9,,1", "side must be one of left, mid, right"),
        ("side", "9,up,1", "side must be one of left, mid, right"),
        ("age:20,40", "9,mid,", "age must be a number"),
    ],
)
def test_a_row_in_no_group_is_named(tmp_path: Path, sensitive: str, row: str, says: str) -> None:
    new = _write(tmp_path / "new.csv", "score,side,age", "9,mid,1", row)
    with pytest.raises(BadInput, match=rf"^row 2 of the file is in no group that the model knows, .*: {says}\.$"):
        _model(_train(tmp_path, sensitive)).predict_file(new, str(tmp_path / "out.csv"))


def test_a_model_that_does_not_decide_by_group_stores_no_groups(tmp_path: Path) -> None:
    train = _train(tmp_path)
    shape = NetworkShape(train.d)
    model = Model.of(Fitted(shape, shape.initial(0), (), 1), train)
    assert b'"grouping": null' in model.write()["model.json"]
    new = _write(tmp_path / "new.csv", "age,score", "1,9")
    assert model.predict_file(new, str(tmp_path / "out.csv"))["rows"] == 1


def test_a_text_that_says_no_groups_is_refused() -> None:
    for text in ["", "{}", "[1]", '{"groupings": [{}], "columns": "{}"}']:
        with pytest.raises(BadInput, match="the model does not say which rows are in which group"):
            Groups.from_json(text)


def test_of_many_labels_the_largest_score_decides_and_each_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    monkeypatch.setattr(predict, "predict_proba", lambda *given: score)
    train, out = replace(_train(tmp_path), label_names=("young", "middle", "old")), tmp_path / "out.csv"
    network = NetworkShape(train.d)
    model = Model.of(Fitted(network, np.zeros(train.d + 1, dtype=np.float32), (), 1), train)
    new = _write(tmp_path / "new.csv", "age,score,side", *["1,9,left"] * 4)
    found = model.predict_file(new, str(out))
    assert found["positive"] is None and found["decided"] == {"young": 1, "middle": 2, "old": 1}
    assert _predictions(out) == ["middle", "young", "old", "middle"]
    with out.open(encoding="utf-8") as stream:
        assert [row["probability"] for row in csv.DictReader(stream)] == ["0.5", "0.4", "0.8", "0.4"]


def test_a_persons_module_is_stored_as_tensors_that_load_by_name(tmp_path: Path) -> None:
    parameters = np.arange(5, dtype=np.float32)
    told = {"reference": "my.nets:build", "code": "a" * 64, "fixed": "b" * 64}
    trained = Trained(told["code"], told["fixed"], 5, {"dense.weight": [2, 2], "dense.bias": [1]})
    network = ModuleShape(told["reference"], (1,), 2, trained)
    model = Model(network, parameters, "", None, ("no", "yes"), ("x",))
    files = model.write()
    assert set(files) == {"model.safetensors", "model.json"}
    (tmp_path / "model.safetensors").write_bytes(files["model.safetensors"])
    found = load(files["model.safetensors"])
    with safe_open(tmp_path / "model.safetensors", framework="np") as stored:
        assert {name: stored.metadata()[name] for name in told} == told
    assert found["dense.weight"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and found["dense.bias"].tolist() == [4.0]
    assert np.array_equal(Model.read(files.__getitem__).parameters, parameters)


def test_a_threshold_that_was_taken_decides_and_says_that_no_epsilon_holds(tmp_path: Path) -> None:
    train = _train(tmp_path)
    shape, out = NetworkShape(train.d), tmp_path / "out.csv"
    own = Model.of(Fitted(shape, np.zeros(train.d + 1, dtype=np.float32), (), 1), train)
    taken = replace(own, threshold=0.4, unproved="It was chosen by raw numbers.").write()
    described = json.loads(taken["model.json"])
    assert (described["threshold"], described["epsilon"]) == (0.4, None)
    assert "epsilon" not in json.loads(own.write()["model.json"])
    new = _write(tmp_path / "new.csv", "age,score,side", "1,9,left")
    for model, expected in ((own, "0"), (Model.read(taken.__getitem__), "1")):
        model.predict_file(new, str(out))
        assert _predictions(out) == [expected], "a score of one half is above 0.4 alone"
    assert Model.read(taken.__getitem__).write() == taken


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.json", b"[]"),
        ("model.json", b"{}"),
        ("model.json", b"[" * 5_000 + b"]" * 5_000),
        ("model.json", b'{"format": 2, "network": {"kind": "forest"}}'),
        ("model.json", b'{"format": 2, "network": null}'),
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 8),
        ("model.safetensors", b"\x00" * 11),
    ],
)
def test_a_file_of_a_persons_own_that_is_no_model_gets_one_sentence(name: str, content: bytes, tmp_path: Path) -> None:
    shape, path = NetworkShape(2), tmp_path / "own.zip"
    write_archive(path, Model(shape, shape.initial(0), "", None, ("no", "yes"), ("x", "y")), {})
    assert read_archive(path)[0].network == shape
    with zipfile.ZipFile(path) as archive:
        files = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for each, own in {**files, name: content}.items():
            archive.writestr(each, own)
    with pytest.raises(BadInput, match=r"own\.zip' is no model that fairpriv saved|cannot be read|must be one of"):
        read_archive(path)
