"""Where each stop of a slider would put Explore's point, so that it moves with the slider while that is dragged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairpriv_core.facts.grid import Expected, expect
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.stats import Mean
from pages.widgets.shared.charts import Glide
from pages.widgets.shared.epsilon import list_stops
from pages.widgets.train.form import build_stops
from pages.widgets.train.sliders import MOST_POINTS

_BOUND = "clip_primal"


def list_glides(config: RunConfig, name: str) -> Glide:
    """Return how the series `name`, the point of a run of public data, follows the sliders of what is stored."""
    points = range(int(2 * MOST_POINTS) + 1)
    stops: dict[str, tuple[str, Mapping[float, float]]] = {
        "epsilon": ("epsilon", _count(list_stops(config.epsilon or 0.0))),
        "gap": ("gap_target", {step / 2: step / 200 for step in points}),
        f"p-{_BOUND}": (_BOUND, _list_bounds(type(config.method), config.to_json()["method"])),
    }
    return Glide(name, {widget: _list_places(config.to_json(), *axis) for widget, axis in stops.items()})


def _list_places(base: ConfigJson, name: str, stops: Mapping[float, float]) -> dict[str, tuple[float, ...]]:
    """Return where each entry of a slider puts the point, of those for which runs are stored."""
    configs = {entry: _change(base, name, stop) for entry, stop in stops.items()}
    return {f"{entry:g}": _place(expected) for entry, config in configs.items() if (expected := expect(config))}


def _change(config: ConfigJson, name: str, stop: float) -> ConfigJson:
    if name == "epsilon":
        return {**config, "epsilon": stop}
    return {**config, "method": {**config["method"], name: stop}}


def _list_bounds(kind: type[Method], method: Mapping[str, Any]) -> Mapping[float, float]:
    if _BOUND not in method:
        return {}
    parameter, field = parameters(kind)[_BOUND]
    return _count(sorted({*build_stops(parameter, cast("float", field.default)), method[_BOUND]}))


def _count(stops: Sequence[float]) -> dict[float, float]:
    """Return a slider's stops by their places, since its entry holds the place."""
    return dict(enumerate(stops))


def _place(expected: Expected) -> tuple[float, ...]:
    return (*_read(expected.gap), *_read(expected.accuracy))


def _read(interval: Mean) -> tuple[float, ...]:
    """Return a mean with the ends of its interval, in per cent."""
    return tuple(100 * (end or 0.0) for end in (interval.mean, interval.low, interval.high))
