"""A method's hyper-parameters as a form, made from what the method declares: title, help, range, default, paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field
from decimal import Decimal
from functools import partial
from types import MappingProxyType, NoneType
from typing import Any, cast, get_args, get_type_hints

import streamlit as st

from fairpriv_core.data.dataset import Dataset, drop_unprotected
from fairpriv_core.engine.modules import list_installed
from fairpriv_core.engine.networks import FOR_IMAGES, MLP
from fairpriv_core.methods.base import Method, Parameter, list_sliders, parameters
from fairpriv_core.methods.fields import fit_batch_size
from fairpriv_core.records.config import OF_MLP
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import (
    count_digits,
    draw_list,
    draw_switch,
    follow,
    forget,
    keep,
    label_apart,
    mount,
    mount_number,
    value,
    write_texts,
)

_STEPS_A_DECADE = 12
_WIDEST_SLIDER = 100
_TITLES = {
    MLP: "No convolutions: pixels as columns",
    "cnn_small": "Small: 2 convolutions, 2 dense layers",
    "vgg9": "Large: 6 convolutions, 3 dense layers",
}
_HELP = "More layers see more; noise grows with the number of parameters."


def choose_parameters(
    kind: type[Method],
    *,
    typed: bool,
    without: Collection[str] = (),
    on_change: Mapping[str, Callable[[], None]] = MappingProxyType({}),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the parameters of `kind` that are not sliders; return (values by name, container under each by name).

    Those in `without` keep their defaults. `typed` takes numbers as typed, out of range too: the core says what is
    wrong with them. `on_change` has what a change of some of them calls.
    """
    values: dict[str, Any] = {}
    slots: dict[str, Any] = {}
    not_here = ("variant", *list_sliders(kind), *without)
    parameters_here = {
        name: item for name, item in parameters(kind).items() if name not in not_here and len(item[0].choices) != 1
    }
    usual = {name: item for name, item in parameters_here.items() if not item[0].expert}
    rare = {name: item for name, item in parameters_here.items() if item[0].expert}
    draw = partial(_draw_grid, may_be_empty=list_optional(kind), typed=typed, on_change=on_change)
    draw(usual, values, slots)
    if rare:
        with st.expander("More parameters", expanded=True, key="more_parameters"):
            draw(rare, values, slots)
    return values, slots


def list_choices(kind: type[Method]) -> list[str]:
    """Return the names under which the form keeps what was chosen."""
    return [*(f"p.{name}" for name in parameters(kind)), *(f"p.{name}.automatic" for name in list_optional(kind))]


def fit_batch(kind: type[Method], dataset: Dataset) -> dict[str, Any]:
    """Return the batch size where the usual one does not suit so many rows; {} where it does."""
    rows = drop_unprotected(dataset, kind.info.threat_model).n
    fitting = fit_batch_size(kind(), rows * 3 // 4)
    if fitting is None:
        return {}
    usual = parameters(kind)["batch_size"][1].default
    st.caption(f"Batch size = {fitting:d}: the usual {usual:d} is too large for {rows:,} rows.")
    return {"batch_size": fitting}


def build_stops(parameter: Parameter, default: float) -> tuple[float, ...]:
    """Return the stops of a log slider from low to high, the default among them; of whole numbers, powers of two.

    >>> build_stops(Parameter("", "", low=0.1, high=10.0), 1.0)[0::12]
    (0.1, 1.0, 10.0)
    """
    low, high = float(parameter.low or 0), float(parameter.high or 1)
    first = low if low > 0 else high / 1e4
    count = max(2, round(math.log10(high / first) * _STEPS_A_DECADE))
    stops = {float(f"{first * (high / first) ** (step / count):.3g}") for step in range(count + 1)}
    if isinstance(default, int):
        stops = {float(2**power) for power in range(int(math.log2(first)), int(math.log2(high)) + 1)}
    return tuple(sorted(stops | {float(default), low, high}))


def find_stop(kind: type[Method], name: str, number: float) -> float:
    """Return the stop of the log slider of a parameter that is nearest to `number`, on its own scale."""
    parameter, field = parameters(kind)[name]
    return min(build_stops(parameter, cast("float", field.default)), key=lambda stop: abs(math.log(stop / number)))


def list_optional(kind: type[Method]) -> set[str]:
    """Return the parameters that may be left empty, for the method to set them itself."""
    hints = get_type_hints(kind)
    return {name for name in parameters(kind) if NoneType in get_args(hints[name])}


def _draw_grid(
    items: Mapping[str, tuple[Parameter, Field[Any]]],
    values: dict[str, Any],
    slots: dict[str, Any],
    *,
    may_be_empty: Collection[str],
    typed: bool,
    on_change: Mapping[str, Callable[[], None]],
) -> None:
    listed = list(items.items())
    for first in range(0, len(listed), 2):
        for column, (name, (parameter, field)) in zip(st.columns(2), listed[first : first + 2], strict=False):
            with column:
                optional = name in may_be_empty and field.default is not None
                more = {"on_change": on_change[name]} if name in on_change else {}
                item = draw_parameter(name, parameter, field.default, typed=typed, **more)
                st.caption(describe(parameter, field.default))
                slots[name] = st.container()
                values[name] = None if optional and choose_automatic(name, parameter) else item


def choose_automatic(name: str, parameter: Parameter) -> bool:
    """Draw the switch that leaves a parameter to the method, and return whether it is on."""
    return draw_switch(f"p.{name}.automatic", "Set automatically", default=False, help=parameter.help)


def draw_parameter(name: str, parameter: Parameter, default: Any, *, typed: bool = False, **options: Any) -> Any:
    """Draw one parameter by its name, with further options of its widget, and return its value."""
    draw = _choose_widget(parameter, default, typed=typed)
    follow(f"p.{name}", default)
    if default is not None and value(f"p.{name}", default) is None:
        forget(f"p.{name}")  # another method's parameter of this name was left empty
    return keep(f"p.{name}", draw(f"p.{name}", parameter, default, **options))


def _choose_widget(parameter: Parameter, default: Any, *, typed: bool) -> Callable[..., Any]:
    if parameter.choices:
        return _draw_choice
    if isinstance(default, bool):
        return _draw_toggle
    if default is None or isinstance(default, str | tuple):
        return _draw_text
    if typed or parameter.low is None or parameter.high is None:
        return _draw_number
    if parameter.log:
        return _draw_log_slider
    return _draw_slider if parameter.high - parameter.low <= _WIDEST_SLIDER else _draw_number


def _draw_choice(key: str, parameter: Parameter, default: Any) -> Any:
    return draw_list(key, parameter.title, parameter.choices, default=default, help=parameter.help)


def _draw_toggle(key: str, parameter: Parameter, default: Any) -> Any:
    return draw_switch(key, parameter.title, default=default, help=parameter.help)


def _draw_text(key: str, parameter: Parameter, default: Any) -> Any:
    text = "" if default is None else ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    if value(key, text) is None:
        keep(key, text)
    typed = st.text_input(parameter.title, **mount(key, default=text), help=parameter.help, placeholder="automatic")
    return typed.strip() or None


def _draw_number(key: str, parameter: Parameter, default: Any, **options: Any) -> Any:
    step = 1 if isinstance(default, int) else None
    widget = mount(key, default=default)
    form = "%d" if isinstance(default, int) else write_form(widget["value"])
    return st.number_input(parameter.title, step=step, format=form, **widget, help=parameter.help, **options)


def _draw_slider(key: str, parameter: Parameter, default: Any, **options: Any) -> Any:
    """Draw a slider, as wide as it takes to show the value of a link as it is."""
    low, high, number = cast("float", parameter.low), cast("float", parameter.high), value(key, default)
    widget = mount_number(key, min(low, number), max(high, number), default)
    step = 1 if isinstance(default, int) else float(f"{(high - low) / 100:.1g}")
    form = None if isinstance(default, int) else write_form(widget["value"])
    return st.slider(parameter.title, step=step, format=form, **widget, help=parameter.help, **options)


def _draw_log_slider(key: str, parameter: Parameter, default: Any, **options: Any) -> Any:
    """Draw a slider of stops; the value of a link that lies beside them is a stop more."""
    start = keep(key, float(value(key, default)))
    stops = tuple(sorted({*build_stops(parameter, default), start}))
    widget = mount(key, stops, float(default))
    options |= {"format_func": lambda stop: write_texts(stop)[0] + _unit(parameter), "help": parameter.help}
    number: float = st.select_slider(parameter.title, stops, **widget, **options)
    return int(number) if isinstance(default, int) else float(number)


def write_form(number: float | None) -> str:
    """Return the printf form with the fewest digits that show a number, without the rounding of a slider's steps.

    >>> write_form(0.5), write_form(0.12345678), write_form(0.1 + 0.2)
    ('%.6g', '%.8g', '%.6g')
    """
    return f"%.{count_digits(float(f'{number or 0.0:.12g}'))}g"


def describe(parameter: Parameter, default: Any) -> str:
    """Return the line under a parameter: its range, its default and the paper's value."""
    parts = []
    if parameter.low is not None and parameter.high is not None:
        parts.append(plain(f"{_show(parameter.low)} to {_show(parameter.high)}"))
    parts.append(f"default {'automatic' if default is None else plain(_show(default) + _unit(parameter))}")
    if parameter.paper:
        parts.append(f"paper {plain(str(parameter.paper))}")
    return " · ".join(parts)


def _show(item: Any) -> str:
    """Return a value as a caption writes it.

    >>> _show(65536), _show(1e-05), _show(0.5), _show("adam")
    ('65,536', '0.00001', '0.5', 'adam')
    """
    number = isinstance(item, int | float) and not isinstance(item, bool)
    return f"{Decimal(f'{item:g}'):,f}" if number else str(item)


def _unit(parameter: Parameter) -> str:
    return f" {parameter.unit}" if parameter.unit else ""


def choose_network(kind: type[Method], dataset: Dataset) -> tuple[str | None, tuple[str, ...]]:
    """Draw the choice where `kind` leaves it: rows are images, or an installed package offers a network.

    Returns the network's name, or None where there is no choice, and the parameters that the form has to leave out.
    """
    if "network" not in parameters(kind):
        if dataset.image is not None:
            st.caption(f"This method takes no convolutions: it trains on the {dataset.features:,} pixels as columns.")
        return None, ()
    own = {} if kind.info.certifies else {reference: name for name, reference in list_installed().items()}
    if dataset.image is None and not own:
        return None, ("network",)
    shipped = _TITLES if dataset.image is not None else {MLP: "Hidden layers and width as set"}
    titles = label_apart({**shipped, **{reference: f"{name}, installed" for reference, name in own.items()}})
    usual = FOR_IMAGES if dataset.image is not None else MLP
    network = str(draw_list("p.network", "Network", titles, titles.__getitem__, usual, help=_HELP))
    return network, ("network",) if network == MLP else ("network", *OF_MLP)
