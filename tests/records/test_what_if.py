"""What a model says of a made-up person is what it decides on a file with that person's row."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.what_if import answer, list_columns, usual_value
from fairpriv_core.runs.foreground import train
from fairpriv_core.store.runs import open_store
from fairpriv_core.text import Reporter

DATA = {"dataset": "adult", "sensitive": "sex"}
KINDS: dict[str, dict[str, Any]] = {
    "network": {"name": "none", "epochs": 1},
    "thresholds by group": {"name": "group_thresholds", "learner": "linear"},
    "mixture that draws lots": {"name": "jagielski_in"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_that_of_a_file_with_the_row(kind: str, own_store: Path, tmp_path: Path) -> None:
    epsilon = {} if kind == "network" else {"epsilon": 1.0}
    asked = build_config({"data": DATA, "notion": "demographic_parity", "method": KINDS[kind], **epsilon})
    row, _ = train(asked, Reporter(say=lambda _: None, show=lambda _: None))
    with open_store(str(own_store)) as store:
        model = Model.read(lambda name: store.artifact(row.key, name))
    columns = list_columns(model)
    assert ("sex" in {column.name for column in columns}) is (kind == "thresholds by group")
    usual = {column.name: usual_value(column) for column in columns}
    rich = {**usual, "education-num": 16.0, "capital-gain": 90_000.0, "marital-status": "Married-civ-spouse"}
    blank = dict.fromkeys(usual) | {"sex": "Male"}
    for person in (usual, rich, blank):
        source, target = tmp_path / "one.csv", tmp_path / "out.csv"
        with source.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerows([list(usual), ["" if person[name] is None else person[name] for name in usual]])
        if person is not blank:  # of which a file is refused: no cell of a column says anything
            model.predict_file(str(source), str(target))
            [told] = csv.DictReader(target.read_text().splitlines())
            said = answer(model, person)
            score = said.score if said.is_chance or said.label == model.label_names[1] else 1 - said.score
            assert score == pytest.approx(float(told["probability"]), abs=1e-6)
            assert said.is_chance is ("lots" in kind) and (said.is_chance or said.label == told["prediction"])
        else:
            assert 0.0 <= answer(model, person).score <= 1.0
    if kind == "thresholds by group":
        with pytest.raises(BadInput, match="in no group that the model knows"):
            answer(model, {**usual, "sex": "unheard of"})
