"""Whether a config suits its data: what there is to protect, how many labels, which network and its memory."""

from __future__ import annotations

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.footprint import estimate_memory, find_memory
from fairpriv_core.engine.presets import AnyShape
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, MethodInfo
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import say_undefined
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.network import build_shape

_GIB = 2**30


def check_suited(config: RunConfig, data: Dataset) -> AnyShape:
    """Return the network that `config` trains on `data`, which may be without `X`; BadInput where it cannot."""
    check_method(config.method.info, data)
    check_notion(config.notion, config.method.info, data.labels)
    return check_network(config.method, data)


def check_method(info: MethodInfo, data: Dataset) -> None:
    """Raise BadInput where a method takes labels as public and these are the sensitive attribute, or are too many."""
    if info.threat_model == "attribute" and data.classes_are_groups:
        raise BadInput(
            f"method '{info.name}' protects the sensitive attribute and takes labels as public; in '{data.name}' the "
            "label is the sensitive attribute, so choose a method that protects whole records.",
            field="method",
        )
    if info.max_labels is not None and data.labels > info.max_labels:
        able = [name for name, kind in methods().items() if kind.info.max_labels is None]
        raise BadInput(
            f"method '{info.name}' takes data with at most {info.max_labels} labels, and this has {data.labels}; "
            f"choose from {', '.join(able)}.",
            field="method",
        )


def check_notion(name: str, info: MethodInfo, labels: int) -> None:
    """Raise BadInput where a notion is undefined on data with so many `labels`."""
    if not notions()[name].conditions_among(labels):
        able = [each for each in info.notions if notions()[each].conditions_among(labels)]
        raise BadInput(
            f"notion '{name}': {say_undefined(notions()[name], labels)[:-1]}; choose from {', '.join(able)}.",
            field="notion",
        )


def check_network(method: Method, data: Dataset) -> AnyShape:
    """Return a method's network; BadInput where it does not fit the rows, or would not fit into memory."""
    shape = build_shape(method, data)
    drawn = getattr(method, "sampling_rate", None) or 0.0
    needed = estimate_memory(shape, int(getattr(method, "batch_size", drawn * data.n)) or 1)
    there = find_memory()
    if there is not None and needed > there:
        raise BadInput(
            f"training this network, {shape.size:,} parameters on rows of {shape.inputs:,} values, would take about "
            f"{needed / _GIB:.1f} GiB of memory, and {there / _GIB:.1f} GiB are here; take smaller rows, a smaller "
            "network or a smaller batch_size.",
            field="network" if hasattr(method, "network") else "method",
        )
    return shape
