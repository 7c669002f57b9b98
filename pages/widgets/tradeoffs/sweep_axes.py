"""What a sweep's form asks: data, notion and methods, and which parameters take which values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Parameter, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods
from fairpriv_core.notions.catalog import notions
from pages.widgets.shared.demo import list_offered
from pages.widgets.shared.guard import plain
from pages.widgets.shared.reference import list_reference
from pages.widgets.shared.state import keep, mount, mount_index, mount_several, value
from pages.widgets.shared.suitable import PROTECTS

_NONE = "–"


def read_values(text: str, name: str, *, whole: bool = False) -> list[float | int]:
    """Return the numbers of "0.5, 1, 3"; BadInput names what is no number.

    >>> read_values("0.5, 1;3", "epsilon")
    [0.5, 1.0, 3.0]
    """
    values: list[float | int] = []
    for part in text.replace(";", ",").split(","):
        try:
            values += [int(part) if whole else float(part)] if part.strip() else []
        except ValueError as error:
            kind = "whole numbers" if whole else "numbers"
            raise BadInput(
                f"{name} takes {kind} with commas between them, got '{part.strip()}'.", field=name
            ) from error
    return values


def choose_question() -> tuple[str, str, list[str]]:
    """Draw the choices and return the data's reference, the notion's name and the methods' names."""
    data, goal = st.columns(2)
    with data:
        listed = list_offered()
        listed += [value("data")] if value("data") not in listed else []
        mounted = mount_index("sweep.data", listed, value("data"))
        chosen = st.selectbox("Data and sensitive attribute", listed, **mounted, format_func=list_reference)
        reference = keep("sweep.data", chosen)
    with goal:
        titles = {name: notion.title for name, notion in notions().items()}
        mounted = mount_index("sweep.notion", titles, value("notion"))
        chosen = st.selectbox("Fairness notion", list(titles), **mounted, format_func=titles.__getitem__)
        notion = keep("sweep.notion", chosen)
    able = {name: kind.info for name, kind in methods().items() if notion in kind.info.notions}
    picked = st.multiselect(
        "Methods",
        list(able),
        **mount_several("sweep.method", able, (DEFAULT_METHOD,)),
        format_func=lambda name: f"{able[name].title} · {PROTECTS[able[name].threat_model]}",
    )
    return str(reference), str(notion), list(keep("sweep.method", tuple(picked)))


def choose_axes(chosen: Sequence[str]) -> dict[str, list[Any]]:
    """Draw the choice of up to two parameters that all chosen methods have, and return their values by axis."""
    able = _list_shared(chosen)
    axes: dict[str, list[Any]] = {}
    for number, place in enumerate(st.columns(2), start=1):
        free = [_NONE, *(name for name in able if f"method.{name}" not in axes)]
        with place:
            mounted = mount_index(f"sweep.parameter{number}", free, _NONE)
            shown = {name: able[name][0].title if name in able else "none" for name in free}
            title = f"Parameter {number:d}"
            name = keep(f"sweep.parameter{number}", st.selectbox(title, free, **mounted, format_func=shown.__getitem__))
            if name == _NONE:
                continue
            parameter, usual = able[name]
            label, mounted = f"Values of {plain(parameter.title)}", mount(f"sweep.{name}", default=f"{usual:g}")
            text = st.text_input(label, **mounted, help=parameter.help, placeholder="such as 0.1, 0.5, 1")
            values = read_values(str(keep(f"sweep.{name}", text)), parameter.title, whole=isinstance(usual, int))
            axes[f"method.{name}"] = values
    return axes


def _list_shared(chosen: Sequence[str]) -> dict[str, tuple[Parameter, Any]]:
    """Return the numeric parameters that all of these methods have, with a usual value of the first one's."""
    first, *others = [parameters(methods()[name]) for name in chosen]
    found: dict[str, tuple[Parameter, Any]] = {}
    for name, (shown, field) in first.items():
        usual = shown.high if field.default is None else field.default
        number = isinstance(usual, int | float) and not isinstance(usual, bool)
        if number and all(name in other for other in others):
            found[name] = (shown, usual)
    return found
