"""A trained model as an ONNX file, which decides as `engine/predict.py` does.

Its input `features` (n, d) float32 are encoded columns; their names, and the encoder that makes them of a table's, are
among the file's metadata. A model that decides by group has a second input, `group` (n,) int64. Outputs are `scores`
(n, l) float64 and `decision` (n,) int64, the place of a label. A randomised model is refused: its coin is of the row's
bytes, which ONNX does not see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec

from fairpriv_core.errors import BadInput
from fairpriv_core.records.model import Model

NO_ONNX = "an ONNX file needs onnx, which is not installed: pip install 'fairpriv[onnx]'."
_OWN = "fairpriv_core.engine.torch.as_module"  # it needs torch, which takes seconds to load
FEATURES, GROUP, SCORES, DECISION = "features", "group", "scores", "decision"


def write_onnx(model: Model, about: Mapping[str, str]) -> bytes:
    """Return the model as an ONNX file; `about` joins its metadata.

    Raises:
        BadInput: onnx is not installed, the model is randomised, or PyTorch cannot write a person's own module.
    """
    if find_spec("onnx") is None:
        raise BadInput(NO_ONNX, field="format")
    import onnx

    inputs = (FEATURES, GROUP) if model.network.needs_group else (FEATURES,)
    exported = import_module(_OWN).export_onnx(
        model.network, model.parameters, inputs=inputs, outputs=(SCORES, DECISION)
    )
    model_proto = onnx.load_from_string(exported)
    model_proto.producer_name, model_proto.producer_version = "fairpriv", metadata.version("fairpriv")
    onnx.helper.set_model_props(model_proto, {**_build_metadata(model), **about})
    onnx.checker.check_model(model_proto)
    content: bytes = model_proto.SerializeToString()
    return content


def _build_metadata(model: Model) -> dict[str, str]:
    """Return what a person needs to use the file: names, and how a table's columns become features."""
    lists = {"labels": list(model.label_names), FEATURES: list(model.feature_names)}
    texts = {name: json.dumps(names, ensure_ascii=False) for name, names in lists.items()}
    return {**texts, "encoder": model.encoder, **({} if model.grouping is None else {"grouping": model.grouping})}
