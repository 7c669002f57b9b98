"""What rounding adds to a row's contribution, at the mechanism during the real fit, and that it adds nowhere else.

The neighbour has one row nulled in place: it keeps its number, its coin and its place, and adds nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine import kernel as kernel_module
from fairpriv_core.engine import products
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.layers import Dense, LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.torch.device import DeviceKernel
from fairpriv_core.engine.torch.kernel import LayeredKernel
from fairpriv_core.engine.torch.module_kernel import ModuleKernel
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.privacy import sums
from tests.engine.reference import SMALL
from tests.methods.harness import RecordingMechanism, train

LARGE: dict[str, Any] = {"epochs": 1, "clip_primal": 1.0, "noise_primal": 1.0, "learning_rate": 1e-5}


def _alike(n: int, d: int = 20, image: tuple[int, int, int] | None = None) -> Dataset:
    """Return rows whose gradients all point about the same way and are longer than the bound."""
    rows = (5.0 * (1.0 + 0.3 * np.random.default_rng(0).normal(size=(n, d)))).astype(np.float32)
    return Dataset(
        X=rows,
        y=np.zeros(n, dtype=np.int64),
        group=np.arange(n) % 2,
        feature_names=tuple(f"x{j}" for j in range(d)),
        label_names=("no", "yes"),
        group_names=("A", "B"),
        name="alike",
        sensitive="group",
        digest="0",
        image=image,
    )


def _with_row(data: Dataset, row: int, value: float) -> Dataset:
    rows = data.X.copy()
    rows[row] = value
    return dataclasses.replace(data, X=rows)


def _first_sum(method: Method, data: Dataset, models: int = 1) -> tuple[np.ndarray, float]:
    """Return the first step's sum of the last model, and what the mechanism was told bounds it."""
    mechanisms = [RecordingMechanism(seed=seed) for seed in range(models)]
    train(method, [data] * models, mechanisms)
    released = next(release for release in mechanisms[-1].releases if release.kind == "sum")
    return released.value, released.bound


def _build(name: str, **how: Any) -> Method:
    kind = methods()[name]
    known = {item.name for item in dataclasses.fields(kind)}
    return kind(**{key: value for key, value in {**LARGE, **how}.items() if key in known})


CASES = {
    "256": (_build("dp_sgd", batch_size=256), 256, 1),
    "8192": (_build("dp_sgd", batch_size=8_192), 8_192, 1),
    "8192, two models": (_build("dp_sgd", batch_size=8_192), 8_192, 2),
    "65536": (_build("dp_sgd", batch_size=65_536), 65_536, 1),
    "65536, hidden": (_build("dp_sgd", batch_size=65_536, hidden_layers=1, width=8), 65_536, 1),
    "500000": (_build("pf_ld_record", sampling_rate=1.0, multiplier_max=0.0), 500_000, 1),
    "raco_dp, 256": (_build("raco_dp", sampling_rate=1.0), 256, 1),
    "raco_dp, 65536, two models": (_build("raco_dp", sampling_rate=1.0), 65_536, 2),
    "raco_dp, 500000": (_build("raco_dp", sampling_rate=1.0), 500_000, 1),
}


@pytest.mark.parametrize(("method", "n", "models"), list(CASES.values()), ids=list(CASES))
def test_a_row_moves_a_large_sum_within_what_the_mechanism_was_told(method: Method, n: int, models: int) -> None:
    data = _alike(n)
    whole, bound = _first_sum(method, data, models)
    assert np.linalg.norm(whole) > 0.8 * n
    for row in (0, n // 3, n - 1):
        for value, contributions in ((np.nan, 1.0), (-3.0, 2.0)):
            other, told = _first_sum(method, _with_row(data, row, value), models)
            assert told == bound
            assert np.linalg.norm(whole - other) <= contributions * bound


def test_a_row_moves_a_sum_over_images_within_what_the_mechanism_was_told() -> None:
    data = _alike(8_192, d=256, image=(1, 16, 16))
    method = _build("dp_sgd", batch_size=8_192, network="cnn_small")
    whole, bound = _first_sum(method, data)
    for row in (0, 5_000):
        other, _ = _first_sum(method, _with_row(data, row, np.nan))
        assert 0.9 * bound <= np.linalg.norm(whole - other) <= bound


def _largest_move(case: str, models: int) -> float:
    """Return how far a row that is nulled moves a sum, over what the mechanism was told."""
    method, n, _ = CASES[case]
    data, largest = _alike(n), 0.0
    whole, bound = _first_sum(method, data, models)
    for row in np.linspace(0, n - 1, 8).astype(int):
        other, _ = _first_sum(method, _with_row(data, row, np.nan), models)
        largest = max(largest, float(np.linalg.norm(whole - other)) / bound)
    return largest


@pytest.mark.parametrize("models", [1, 2])
def test_a_sum_in_one_product_is_caught(models: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once was: one block that holds the whole sample."""
    for module in (kernel_module, products, sums):
        monkeypatch.setattr(module, "BLOCK", 10**9)
    assert _largest_move("500000", models) > 1.0


def test_a_sum_in_few_digits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_roughly(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        np.copyto(out, (left @ right).astype(np.float16))

    monkeypatch.setattr(kernel_module, "add_products", add_roughly)
    assert _largest_move("8192", 2) > 1.0


MODULE = ModuleShape("tests.modules:normed", (64,), 2)


def _kernels(models: int) -> dict[str, Kernel]:
    logistic, deep, module = NetworkShape(64, 0, 1), NetworkShape(64, 2, 16), MODULE
    images = LayeredShape((1, 8, 8), (*SMALL.layers[:7], Dense(1)))
    start = {shape: np.stack([shape.initial(seed) for seed in range(models)]) for shape in (logistic, deep, images)}
    for own in start.values():
        own += 0.01
    return {
        "logistic": Kernel(logistic, start[logistic]),
        "deep": Kernel(deep, start[deep]),
        "device": DeviceKernel(deep, start[deep], "cpu"),
        "images": LayeredKernel(images, start[images]),
        "module": ModuleKernel(module, np.stack([module.initial(seed) for seed in range(models)]) + np.float32(0.01)),
    }


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("name", list(_kernels(1)))
@pytest.mark.parametrize("n", [5, 128, 300, 1_500])
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1e19, 3.0])
def test_no_row_changes_what_another_gives(name: str, n: int, streams: int, value: float) -> None:
    """Bit for bit: outputs, norms, and a sum from which the row is left out."""
    rows = np.random.default_rng(4).normal(size=(streams, n, 64)).astype(np.float32)
    changed, row = rows.copy(), n // 2
    changed[0, row] = value
    weights = np.full((2, n), 0.5, dtype=np.float32)
    weights[:, row] = 0.0
    kernel, others, found = _kernels(2)[name], np.arange(n) != row, []
    with np.errstate(all="ignore"):
        for each in (rows, changed):
            passed = kernel.run(each)
            norms = np.broadcast_to(passed.norms, passed.logits.shape)
            total = kernel.weighted_sum(passed, weights, slice(None), bounded=True).copy()
            found.append((passed.logits[:, others].copy(), norms[:, others].copy(), total))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["logistic", "deep", "images", "module"])
@pytest.mark.parametrize("models", [1, 2])
def test_a_batch_in_whole_blocks_does_not_depend_on_how_many_rows_follow(name: str, models: int) -> None:
    """Batch and secret sample pass through as one: the public update must not tell the sample's size."""
    kernel = _kernels(models)[name]
    count = next(size for size in (256, 1_024) if kernel.parts_at(size))
    rows = np.random.default_rng(5).normal(size=(1, count + 444, 64)).astype(np.float32)
    weights, found = np.full((models, count), 0.5, dtype=np.float32), []
    for more in (0, 1, 3, 100, 128, 444):
        passed = kernel.run(rows[:, : count + more])
        total = kernel.weighted_sum(passed, weights, slice(0, count)).copy()
        found.append((passed.logits[:, :count].copy(), passed.norms[:, :count].copy(), total))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_pass_of_which_that_is_not_known_takes_batch_and_sample_apart() -> None:
    kernels = _kernels(1)
    assert not any(kernels["device"].parts_at(count) for count in (128, 256, 1_024))
    assert not kernels["module"].parts_at(200) and not kernels["deep"].parts_at(200)
