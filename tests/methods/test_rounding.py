"""What rounding adds to a row's contribution, at the mechanism during the real fit, and that it adds nowhere else.

The neighbour has one row nulled in place: it keeps its number, its coin and its place, and adds nothing.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.audit.trials import make_alike, with_row
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine import kernel as kernel_module
from fairpriv_core.engine import products
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.layers import Dense, LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.torch.device import DeviceKernel
from fairpriv_core.engine.torch.kernel import TorchKernel
from fairpriv_core.engine.torch.module_kernel import ModuleKernel
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp
from fairpriv_core.privacy import sums
from tests.engine.reference import SMALL
from tests.methods.harness import RecordingMechanism, train

NOISE = {"noise_primal": 1.0}
CASES: dict[str, tuple[Method, int, int]] = {
    "8192, two models": (DpSgd(**NOISE), 8_192, 2),
    "65536": (DpSgd(**NOISE), 65_536, 1),
    "65536, hidden": (DpSgd(**NOISE, hidden_layers=1, width=8), 65_536, 1),
    "500000": (PfLdRecord(**NOISE, noise_dual=1.0, noise_counts=1.0, gap_target=None), 500_000, 1),
    "raco_dp, 65536, two models": (RacoDp(**NOISE), 65_536, 2),
    "raco_dp, 500000": (RacoDp(**NOISE), 500_000, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_a_row_moves_a_large_sum_within_what_the_mechanism_was_told(case: str) -> None:
    method, rows, models = CASES[case]
    contract.check_rounding(method, rows=rows, models=models)


def test_a_row_moves_a_sum_over_images_within_what_the_mechanism_was_told() -> None:
    data = dataclasses.replace(make_alike(8_192, columns=256), image=(1, 16, 16))
    method = DpSgd(epochs=1, batch_size=8_192, clip_primal=1.0, **NOISE, network="cnn_small")

    def sum_first(on: Dataset) -> tuple[np.ndarray, float]:
        recorder = RecordingMechanism(seed=0)
        train(method, [on], [recorder])
        return recorder.releases[0].value, recorder.releases[0].bound

    whole, bound = sum_first(data)
    for row in (0, 5_000):
        other, _ = sum_first(with_row(data, row, np.nan))
        assert 0.9 * bound <= np.linalg.norm(whole - other) <= bound


@pytest.mark.parametrize("models", [1, 2])
def test_a_sum_in_one_product_is_caught(models: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once was: one block that holds the whole sample."""
    for module in (kernel_module, products, sums):
        monkeypatch.setattr(module, "BLOCK", 10**9)
    method, rows, _ = CASES["500000"]
    with pytest.raises(contract.ContractBroken, match="of 500000 rows one moves the sum by"):
        contract.check_rounding(method, rows=rows, models=models)


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
        "images": TorchKernel(images, start[images]),
        "module": ModuleKernel(module, np.stack([module.initial(seed) for seed in range(models)]) + np.float32(0.01)),
    }


@pytest.mark.parametrize("name", list(_kernels(1)))
@pytest.mark.parametrize(("n", "streams"), [(5, 1), (128, 2), (300, 2), (1_500, 1)])
def test_no_row_changes_what_another_gives(name: str, n: int, streams: int) -> None:
    """Bit for bit: outputs, norms, and a sum from which the row is left out."""
    rows, row = np.random.default_rng(4).normal(size=(streams, n, 64)).astype(np.float32), n // 2
    weights = np.full((2, n), 0.5, dtype=np.float32)
    weights[:, row] = 0.0
    kernel, others = _kernels(2)[name], np.arange(n) != row

    def take(value: float | None) -> list[np.ndarray]:
        changed = rows.copy()
        if value is not None:
            changed[0, row] = value
        with np.errstate(all="ignore"):
            passed = kernel.run(changed)
            norms = np.broadcast_to(passed.norms, passed.logits.shape)
            total = kernel.weighted_sum(passed, weights, slice(None), bounded=True)
        return [passed.logits[:, others].copy(), norms[:, others].copy(), total.copy()]

    unchanged = take(None)
    for value in (np.nan, np.inf, 0.0, -1e19, 3.0):
        assert all(np.array_equal(one, other) for one, other in zip(unchanged, take(value), strict=True)), value


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
