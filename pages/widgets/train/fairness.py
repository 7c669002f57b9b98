"""How fair the model is to be: the gap that a person can accept, or for experts the multipliers by hand."""

from __future__ import annotations

import math
from typing import Any, cast

import streamlit as st

from fairpriv_core.methods.base import Method, Parameter, parameters
from fairpriv_core.methods.fields import AIMED_MULTIPLIER
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import keep, mount, mount_number, value
from pages.widgets.train.form import write_form

_AIM = "gap_target"
_MOST_POINTS = 30.0
_MIDDLE = 5
_GAP = "The gap I can accept"
_HELP = (
    "The largest difference between two groups' decisions that you accept, in percentage points, as the fairness "
    "notion compares them. Training aims at it, and the Run page says whether it was reached."
)
_BY_HAND = "The method's own settings say how hard the notion is pursued, as in the paper, in place of a gap aimed at."


def choose_fairness(kind: type[Method], *, expert: bool, typed: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Draw what the method is to pursue; return (parameters by name, those that the form leaves to this).

    One slider for every method that can aim at a gap; of the others simple mode turns the parameter that trades
    accuracy against fairness, and expert mode shows all of them.
    """
    known = parameters(kind)
    if not _can_aim(kind):
        return ({} if expert else _choose_trade(kind)), ((_AIM,) if _AIM in known else ())
    replaced = tuple(name for name in known[_AIM][0].replaces if name in known)
    if expert and replaced and keep("set_lambda", st.toggle(_name_toggle(kind), **mount("set_lambda"), help=_BY_HAND)):
        return {_AIM: None}, (_AIM,)
    aimed = {_AIM: _choose_gap(typed=typed)}
    if "multiplier_max" in replaced:
        aimed["multiplier_max"] = AIMED_MULTIPLIER
    return aimed, (_AIM, *replaced)


def turn_knob(default: float, position: int, shown: Parameter) -> float:
    """Return the knob's value at `position` (0 to 10): its default at 5, half again as fair a step, within its range.

    >>> turn_knob(4.0, 5, Parameter("", "", fairer="more")), turn_knob(3.0, 6, Parameter("", "", fairer="less"))
    (4.0, 2.0)
    """
    steps = position - _MIDDLE
    turned = default * 1.5 ** (-steps if shown.fairer == "less" else steps)
    low, high = -math.inf if shown.low is None else shown.low, math.inf if shown.high is None else shown.high
    return float(f"{min(max(turned, low), high):.3g}")


def _can_aim(kind: type[Method]) -> bool:
    """Return whether it takes a gap to aim at: as published, methods pursue equality."""
    published = "published" in kind.info.variants and value("variant") == "published"
    return _AIM in parameters(kind) and not published


def _name_toggle(kind: type[Method]) -> str:
    """Say what a person sets in place of the gap: the multipliers, or of a method without them its own bound."""
    known = parameters(kind)
    first = next(name for name in known[_AIM][0].replaces if name in known)
    return "Set λ myself" if first.startswith("multiplier") else f"Set “{plain(known[first][0].title)}” myself"


def _choose_gap(*, typed: bool) -> float:
    if typed:
        mounted = mount("gap")
        form = write_form(mounted["value"])
        points = st.number_input(f"{_GAP}, in points", step=None, format=form, **mounted, help=_HELP)
    else:
        mounted = mount_number("gap", 0.0, max(_MOST_POINTS, min(value("gap"), 100.0)))
        form = f"{write_form(mounted['value'])} points"
        points = st.slider(_GAP, step=0.5, format=form, **mounted, help=_HELP)
    return float(keep("gap", points)) / 100


def _choose_trade(kind: type[Method]) -> dict[str, Any]:
    knob = next((name for name, (shown, _) in parameters(kind).items() if shown.fairer), None)
    if knob is None:
        st.caption("This method has no setting for fairness.")
        return {}
    shown, field = parameters(kind)[knob]
    position = keep(
        "fairness",
        st.slider(
            "More accurate ↔ more fair",
            0,
            2 * _MIDDLE,
            **mount("fairness", range(2 * _MIDDLE + 1), _MIDDLE),
            help=f"Moves “{plain(shown.title)}” around its default. {plain(shown.help)}",
        ),
    )
    chosen = turn_knob(cast("float", field.default), position, shown)
    st.caption(f"{plain(shown.title)} = {chosen:g}")
    return {knob: chosen}
