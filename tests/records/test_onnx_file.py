"""A model as an ONNX file decides as it does here: run by onnxruntime on made-up rows, for every kind of model."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from fairpriv_core.audit.observe import RecordingMechanism
from fairpriv_core.audit.trials import make_images, make_rows, make_three, train
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import decision_thresholds, predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.rates import decide
from fairpriv_core.records import onnx_file
from fairpriv_core.records.model import Model
from fairpriv_core.records.onnx_file import DECISION, FEATURES, GROUP, SCORES, write_onnx
from tests.methods.examples import dp_sgd_family, fermi
from tests.methods.examples.catalog import EXAMPLES, on_images, with_module

#: methods whose model is the network that they train, as `none` has it: its graph is that of `none`
PLAIN = {*dp_sgd_family.EXAMPLES, *fermi.EXAMPLES, "f_ld", "dp_sgd", "pf_ld", "pf_ld_record", "raco_dp"}
ON_ROWS = [
    pytest.param(method, make_rows, id=f"{name}-{place}", marks=pytest.mark.long if name in PLAIN else ())
    for name, each in EXAMPLES.items()
    for place, method in enumerate(each)
]
OTHERS = [
    pytest.param(EXAMPLES["dp_sgd"][0], make_three, id="three labels"),
    pytest.param(on_images(EXAMPLES["dp_sgd"][0]), make_images, id="images"),
]


def fit(method: Method, make: Callable[..., Dataset]) -> tuple[Model, Dataset]:
    data = make(n=300)
    (fitted,) = train(method, [data], [RecordingMechanism(0)])
    return Model.of(fitted, data), make(n=500, seed=4)


def run(content: bytes, data: Dataset, *, group: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and decisions of an ONNX file on encoded data."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    given = {FEATURES: data.X, **({GROUP: data.group} if group else {})}
    scores, decision = session.run([SCORES, DECISION], given)
    return scores, decision


@pytest.mark.parametrize(("method", "make"), [*ON_ROWS, *OTHERS])
def test_it_decides_as_the_model_does_or_is_refused(method: Method, make: Callable[..., Dataset]) -> None:
    model, rows = fit(method, make)
    if model.network.is_randomised:
        with pytest.raises(BadInput, match="decides by a coin that follows from the row's bytes"):
            write_onnx(model, {})
        return
    scores, decision = run(write_onnx(model, {}), rows, group=model.network.needs_group)
    expected = predict_proba(model.network, model.parameters, rows.X, rows.group)
    assert np.allclose(scores, expected, atol=1e-6)
    assert np.array_equal(decision, decide(expected, decision_thresholds(model.network, rows.X)))
    assert 0 < len(np.unique(decision)) <= rows.labels


def test_what_is_not_finite_is_read_as_here() -> None:
    model, rows = fit(EXAMPLES["one_release"][3], make_rows)
    rows.X[0, 0], rows.X[1, 1], rows.X[2] = np.nan, np.inf, -np.inf
    scores, _ = run(write_onnx(model, {}), rows, group=False)
    assert np.allclose(scores, predict_proba(model.network, model.parameters, rows.X), atol=1e-6)


def test_the_file_says_what_it_takes_and_what_holds_of_it() -> None:
    model, _ = fit(EXAMPLES["none"][0], make_rows)
    read = onnx.load_from_string(write_onnx(model, {"privacy": "No ε: this method is not private."}))
    told = {each.key: each.value for each in read.metadata_props}
    assert json.loads(told["features"]) == ["x0", "x1", "x2", "x3"] and json.loads(told["labels"]) == ["no", "yes"]
    assert told["privacy"] == "No ε: this method is not private." and read.producer_name == "fairpriv"
    (taken,) = read.graph.input
    assert (taken.name, taken.type.tensor_type.shape.dim[1].dim_value) == (FEATURES, 4)


def test_without_onnx_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = fit(EXAMPLES["none"][0], make_rows)
    monkeypatch.setattr(onnx_file, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"needs onnx, which is not installed: pip install 'fairpriv\[onnx\]'\."):
        write_onnx(model, {})


@pytest.mark.parametrize(("network", "make"), [("block", make_rows), ("normed", make_rows), ("cnn", make_images)])
def test_a_persons_module_is_written_by_pytorch(network: str, make: Callable[..., Dataset]) -> None:
    model, rows = fit(with_module(EXAMPLES["dp_sgd"][0], network), make)
    content = write_onnx(model, {"key": "k"})
    scores, decision = run(content, rows, group=False)
    expected = predict_proba(model.network, model.parameters, rows.X)
    assert np.allclose(scores, expected, atol=1e-5) and np.array_equal(decision, decide(expected))
    told = {each.key: each.value for each in onnx.load_from_string(content).metadata_props}
    assert told["key"] == "k" and len(json.loads(told["features"])) == rows.d
    for here in {str(Path(__file__).parents[2]), str(Path.home()), sys.prefix, f"/{getpass.getuser()}/"}:
        assert here.encode() not in content, "an exported file says nothing of the machine that wrote it"


def test_a_module_that_is_not_installed_is_named() -> None:
    model, _ = fit(with_module(EXAMPLES["dp_sgd"][0], "block"), make_rows)
    gone = replace(model, network=replace(model.network, reference="gone_since:build"))
    with pytest.raises(BadInput, match="network 'gone_since:build' is not installed here"):
        write_onnx(gone, {})
