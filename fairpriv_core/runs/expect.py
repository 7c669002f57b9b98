"""How long a run may take: from runs of the same kind where there are any, else from its arithmetic, roughly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import AnyShape
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.fields import TrainsNetwork, count_batch
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.rows import RunRow

# One core of a common server or laptop, of our runs on Adult, Bank and MNIST: within a factor of about two.
_STEP, _EPOCH, _START = 5e-4, 0.03, 1.0
_LAYERED_START = 7.0  # PyTorch and Opacus are loaded
_PER_SECOND, _LAYERED_PER_SECOND = 3e10, 2e10  # multiplications, six of which a weight takes to be learnt
_PASSES = 50  # over all rows, where a step is a whole fit of a learner
_SIZES = ("learner", "network", "hidden_layers", "width", "batch_size", "sampling_rate")
_SHOWN = 0.2  # of the training rows: about how many are predicted at the end of an epoch


def expect_seconds(
    config: RunConfig, *, n_train: int, steps: int, shape: AnyShape, rows: Iterable[RunRow]
) -> tuple[float, bool] | None:
    """Return about how many seconds a run takes, and whether one among `rows` (newest first) shows it.

    That is one of the same method, network and data. `steps` are those of the calibrated method, `shape` is the network
    that is trained. None for a person's own network that no run among `rows` has trained.
    """
    config_json = config.to_json()
    for row in rows:
        n_steps = row.steps if row.status == "finished" and row.steps else row.step  # a search may end early
        if _name_kind(row.config) == _name_kind(config_json) and n_steps > 0 and row.seconds > 0:
            return row.seconds / n_steps * steps, True
    if isinstance(shape, ModuleShape):
        return None
    layered = isinstance(shape, LayeredShape)
    row_seconds = shape.operations / (_LAYERED_PER_SECOND if layered else _PER_SECOND)
    step = _STEP + 6 * _count_rows(config.method, n_train) * row_seconds
    epoch = _EPOCH + (_SHOWN * n_train * row_seconds if layered else 0.0)
    start = _LAYERED_START if layered else _START
    return start + steps * step + int(getattr(config.method, "epochs", 1)) * epoch, False


def _name_kind(config: ConfigJson) -> tuple[Any, ...]:
    """Return what runs have in common whose steps take about as long."""
    method = config["method"]
    return method["name"], *(method.get(name) for name in _SIZES), config["data"]


def _count_rows(method: Method, n_train: int) -> float:
    """Return how many rows a step passes through the network."""
    rate = getattr(method, "sampling_rate", None)
    if not hasattr(method, "batch_size"):
        return float((rate or _PASSES) * n_train)
    batch = count_batch(cast(TrainsNetwork, method), n_train)
    return float(batch + (rate or batch / n_train) * n_train)
