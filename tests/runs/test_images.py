"""Runs on images of a person's own: paused and gone on with bit for bit, told, repeated, attacked."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fairpriv_core.cli.request import read_request
from fairpriv_core.cli.runs import answer_prediction, answer_run
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.certificates import find_certificates
from fairpriv_core.notions.catalog import notions
from fairpriv_core.papers.measured import measure_clipped
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.runs import session
from fairpriv_core.runs.audit import audit_model
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore

KINDS, SEXES = ("cat", "dog", "fox"), ("f", "m")
ROWS, SIDE = 120, 14


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Return a list of small grey images with a bright row for each kind."""
    torch.set_num_threads(1)
    (tmp_path / "pictures").mkdir()
    lines, draw = ["file,kind,sex"], np.random.default_rng(0)
    for row in range(ROWS):
        pixels = draw.integers(0, 90, (SIDE, SIDE), dtype=np.uint8)
        pixels[4 * (row % 3) + 1] += 120
        Image.fromarray(pixels).save(tmp_path / "pictures" / f"{row}.png")
        lines.append(f"pictures/{row}.png,{KINDS[row % 3]},{SEXES[row // 3 % 2]}")
    path = tmp_path / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def ask(path: Path, **more: Any) -> RunConfig:
    data = {"file": str(path), "label": "kind", "sensitive": "sex", "image": "file"}
    method = {"name": "dp_sgd", "epochs": 3, "batch_size": 30, **more.pop("method", {})}
    return build_config({"data": data, "notion": "accuracy_parity", "method": method, "epsilon": 5, **more})


def finish(store: RunStore, key: str) -> np.ndarray:
    """Work on a run to its end and return its parameters."""
    work = WorkStore(store.database)
    work_on(work, work.claim(key))
    assert store.row(key).status == "finished", store.row(key).error
    return Model.read(partial(store.artifact, key)).parameters


def test_a_paused_run_goes_on_bit_for_bit_tells_repeats_and_is_attacked(
    pets: Path, tmp_path: Path, local: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    config = ask(pets, replay_noise=3)
    with open_store(str(tmp_path / "other.db")) as other:
        same = other.submit(config).key
        expected, undisturbed = finish(other, same), other.record(same)
    key, work = local.submit(config).key, WorkStore(local.database)
    work_on(work, work.claim(key), on_commit=lambda progress: progress.step == 5 and local.request(key, "pause"))
    assert local.row(key).status == "paused"
    local.request(key, "resume")
    found, record = finish(local, key), local.record(key)
    assert undisturbed is not None and record is not None and record.resumed_from_step >= 5
    assert np.array_equal(found, expected)
    assert (record.metrics, record.event) == (undisturbed.metrics, undisturbed.event)
    row = local.row(key)
    assert row.config["method"]["network"] == "cnn_small" and "cnn_small" in answer_run(row, record).text
    path = pets.parent / "again.toml"
    path.write_text(build_config(record.config).to_toml())
    assert read_request({"config": str(path)})[0].key == key
    model = Model.read(partial(local.artifact, key))
    attacked = json.loads(json.dumps(audit_model(record, model, seed=0)))
    assert len(attacked["membership"]["attackers"]) == 4 and attacked["attribute"]["judged"] > 0


def test_a_model_of_images_predicts_new_ones(pets: Path, local: RunStore, tmp_path: Path) -> None:
    key, out = local.submit(ask(pets, epsilon=None, method={"name": "none", "epochs": 20})).key, tmp_path / "out.csv"
    finish(local, key)
    new = tmp_path / "new.csv"
    new.write_text("note,picture\n" + "".join(f"seen,pictures/{row}.png\n" for row in range(9)))
    assert answer_prediction(key, str(new), str(out)).document["rows"] == 9
    lines = out.read_text().splitlines()[1:]
    assert [line.split(",")[2] for line in lines] == [KINDS[row % 3] for row in range(9)]
    Image.new("L", (20, SIDE)).save(tmp_path / "wide.png")
    for text, sentence in (
        ("picture\nwide.png\n", "the model was trained on images of 14 × 14 pixels, new.csv has 20 × 14 pixels."),
        ("note\nseen\n", "the model needs one column of images, and new.csv has none."),
        ("picture\ngone.png\n", "none of 1 images can be read: gone.png (no such file)."),
    ):
        new.write_text(text)
        with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
            answer_prediction(key, str(new), str(out))


@pytest.mark.parametrize("name", ["pf_ld", "one_release", "pf_ld_record", "fairdp_certified"])
def test_methods_for_two_labels_end_in_a_record_of_two_labels(name: str, pets: Path, local: RunStore) -> None:
    method: dict[str, Any] = {"name": name, "epochs": 2}
    if name != "pf_ld_record":
        method["batch_size"] = 30
    data = {"file": str(pets), "label": "kind", "positive": "dog", "sensitive": "sex", "image": "file"}
    key = local.submit(
        build_config({"data": data, "notion": "demographic_parity", "method": method, "epsilon": 20})
    ).key
    parameters, record = finish(local, key), local.record(key)
    assert record is not None and record.epsilon is not None and record.epsilon <= 20
    network = json.loads(local.artifact(key, "model.json"))["network"]
    assert (
        network["layers"][-1] == {"kind": "dense", "units": 1}
        and len(parameters) == LayeredShape.from_json(network).size
    )
    assert {"positive_rate", "demographic_parity_gap", "equal_opportunity_gap"} <= set(record.metrics)
    if name == "fairdp_certified":
        assert find_certificates(record)["bounds"].keys() == {
            name for name, notion in notions().items() if notion.compares == "decisions"
        }
    if name == "pf_ld":
        assert set(measure_clipped(local, key, DatasetCache())) == set(SEXES)


def test_where_the_group_is_the_label_no_attribute_is_left_to_guess(pets: Path, local: RunStore) -> None:
    text = pets.read_text().replace("sex", "same").replace(",f", ",cat")
    lines = [",".join([*line.split(",")[:2], line.split(",")[1]]) for line in text.splitlines()[1:]]
    pets.write_text("\n".join(["file,kind,sex", *lines]) + "\n")
    key = local.submit(ask(pets, method={"epochs": 1})).key
    finish(local, key)
    record = local.record(key)
    model = Model.read(partial(local.artifact, key))
    assert record is not None and audit_model(record, model, seed=0)["attribute"] is None
