"""Networks of layers as they are described, predicted with in numpy, and asked for by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairpriv_core.engine import layers
from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, Layer, LayeredShape, MaxPool, layer_from_json
from fairpriv_core.engine.networks import build_cnn_small, build_image_network, build_mlp, build_vgg9
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.torch.kernel import TorchKernel
from fairpriv_core.errors import BadInput
from tests.engine.reference import LOGITS, SHAPES, score, start

NETWORKS = {**SHAPES, "cnn_small": build_cnn_small((1, 28, 28), 10), "vgg9": build_vgg9((3, 20, 17), 9)}
NETWORKS |= {**LOGITS, "cnn, logit": build_cnn_small((1, 15, 14), 1), "vgg9, logit": build_vgg9((3, 16, 17), 1)}


def _to_chances(scores: torch.Tensor) -> np.ndarray:
    """Return the chances (n, l) of scores (n, outputs); one logit is that of the second of two labels."""
    both = scores if scores.shape[1] > 1 else torch.cat([torch.zeros_like(scores), scores], dim=1)
    return both.softmax(dim=1).numpy()


@pytest.mark.parametrize("shape", NETWORKS.values(), ids=NETWORKS)
def test_predictions_are_those_of_pytorch_and_of_the_kernel(
    shape: LayeredShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = start(shape, 1).astype(np.float32)
    rows = np.random.default_rng(0).normal(size=(7, shape.inputs)).astype(np.float32)
    ours = predict_proba(shape, flat[0], rows)
    theirs = _to_chances(score(shape, flat[0], rows).detach())
    kernel = _to_chances(torch.tensor(TorchKernel(shape, flat).run(rows[None]).logits[0]).view(7, -1))
    assert ours.shape == (7, max(shape.outputs, 2)) == (7, shape.labels) and ours.dtype == np.float64
    assert np.allclose(ours.sum(axis=1), 1.0, atol=1e-12)
    assert np.abs(ours - theirs).max() <= 1e-5 and np.abs(ours - kernel).max() <= 1e-5
    monkeypatch.setattr(layers, "_NUMBERS", 1)
    assert np.allclose(predict_proba(shape, flat[0], rows), ours, atol=1e-6)


@pytest.mark.parametrize("shape", NETWORKS.values(), ids=NETWORKS)
def test_a_network_is_what_its_description_says(shape: LayeredShape) -> None:
    network, flat = shape.to_json(), shape.initial(3)
    assert LayeredShape.from_json(network) == shape
    assert shape.size == flat.size
    assert flat.dtype == np.float32 and np.array_equal(flat, shape.initial(3))
    assert not np.array_equal(flat, shape.initial(4))
    assert sum(weights.size + biases.size for weights, biases in shape.views(flat[None])) == shape.size


def test_presets_have_the_sizes_that_are_stated() -> None:
    assert build_cnn_small((1, 28, 28), 10).size == 26_010
    assert build_vgg9((3, 128, 128), 9).size == build_vgg9((3, 48, 48), 9).size == 1_613_385
    vgg = [layer for layer in build_vgg9((1, 48, 48), 9).layers if isinstance(layer, Convolution | Dense)]
    assert len(vgg) == 9
    assert not build_mlp(5, 0, 64, outputs=3).initial(0).any()


def test_no_rows_give_no_scores() -> None:
    shape = NETWORKS["flat"]
    assert predict_proba(shape, shape.initial(0), np.empty((0, shape.inputs))).shape == (0, 4)


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        ((Convolution(4, side=9), Dense(2)), r"a window of 9 x 9 does not fit into 8 x 8 pixels\."),
        ((Dense(4), MaxPool(2, stride=2), Dense(2)), r"a window of 2 x 2 needs an image, got 4 values\."),
        ((Convolution(4, side=3), GroupNorm(3), Dense(2)), r"group_norm with 3 groups needs .*, got 4\."),
        (
            (Convolution(4, side=3),),
            r"the last layer must be dense, with one unit, or one for each of two or more labels\.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(layers: tuple[Layer, ...], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        LayeredShape((1, 8, 8), layers)


@pytest.mark.parametrize("name", ["batch_norm", "BatchNorm2d"])
def test_batch_norm_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(BadInput, match=r"mixes the records of a batch, so no record's part can be bounded; take group"):
        layer_from_json({"kind": name})
    with pytest.raises(BadInput, match=r"unknown layer 'lstm'; choose from convolution, dense"):
        layer_from_json({"kind": "lstm"})


def test_a_network_for_images_needs_images_that_are_large_enough() -> None:
    with pytest.raises(BadInput, match=r"network 'vgg9' needs images, and these data are a table; take mlp\."):
        build_image_network("vgg9", None, 9)
    with pytest.raises(BadInput, match=r"network 'cnn_small' needs images of at least 14 x 14 pixels, got 20 x 8;"):
        build_image_network("cnn_small", (1, 20, 8), 9)
