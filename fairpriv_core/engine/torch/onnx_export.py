"""A person's own module with its trained parameters as an ONNX graph, by PyTorch's exporter."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.torch.module import build_module, open_module
from fairpriv_core.engine.training import CPU
from fairpriv_core.errors import BadInput

_ROWS = 2  # that the exporter sees; how many come later is left open


class Deciding(nn.Module):
    """A module that gives scores (n, l) float64 of the labels, and decisions (n,), as `engine/predict.py` does."""

    def __init__(self, module: nn.Module, shape: ModuleShape, threshold: float) -> None:
        super().__init__()
        self.module, self.shape, self.threshold = module, shape, threshold

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and decisions of encoded rows (n, d) float32."""
        found = self.module(features.view(-1, *self.shape.size_in))
        flat = found.flatten(1) if found.dim() > 1 else found.unsqueeze(1)
        if self.shape.outputs == 1 and flat.shape[1] == self.shape.labels:
            flat = flat[:, 1:] - flat[:, :1]
        if self.shape.outputs > 1:
            scores = flat.double().softmax(dim=1)
            return scores, scores.argmax(dim=1)
        positive = flat.double().sigmoid()
        scores = torch.cat([1.0 - positive, positive], dim=1)
        return scores, (positive[:, 0] > self.threshold).long()


def export_module(
    network: Mapping[str, Any], parameters: np.ndarray, *, names: Sequence[str], threshold: float, opset: int
) -> bytes:
    """Return the module that `network` names, with its trained `parameters` (P,), as ONNX.

    `names` are those of the input and the two outputs. BadInput where it is not installed, is not the one that the
    model was trained with, or has an operation that ONNX does not know.
    """
    shape = ModuleShape.from_json(network)
    open_module(shape, CPU)  # checks both hashes
    module = build_module(shape, 0)
    _fill(module, torch.from_numpy(np.asarray(parameters, dtype=np.float32)))
    given, *found = names
    try:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Deciding(module, shape, threshold),
                (torch.zeros(_ROWS, shape.inputs),),
                path := Path(folder, "module.onnx"),
                input_names=[given],
                output_names=found,
                dynamic_axes={name: {0: "n"} for name in names},
                opset_version=opset,
                dynamo=False,
            )
            return path.read_bytes()
    except Exception as error:  # of PyTorch's exporter, or of the module's own code
        raise BadInput(
            f"PyTorch cannot write network '{shape.reference}' as ONNX: {type(error).__name__}: {error}.",
            field="format",
        ) from error


@torch.no_grad()
def _fill(module: nn.Module, flat: Tensor) -> None:
    start = 0
    for each in module.parameters():
        if each.requires_grad:
            each.copy_(flat[start : start + each.numel()].view(each.shape))
            start += each.numel()
