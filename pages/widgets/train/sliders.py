"""The sliders of a method that stand in sight: the gap aimed at, λ, and the clipping bounds C_p and C_d."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from fairpriv_core.methods.base import Method, Parameter, list_sliders, parameters
from fairpriv_core.notions.catalog import notions
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import ahead, choose, forget, keep, mount, mount_number, value
from pages.widgets.train.form import choose_automatic, describe, draw_parameter, list_optional, write_form

_AIM, _BY_HAND, _OUTPUTS = "gap_target", "set_lambda", "surrogate"
MOST_POINTS = 30.0
_GAP = "The gap I can accept"
_HELP = (
    "The largest difference between two groups' decisions that you accept, in percentage points, as the fairness "
    "notion compares them. Training aims at it, and the Run page says whether it was reached."
)
_MEANINGS = {
    "clip_primal": "Cuts gradients",
    "clip_dual": "Cuts outputs",
    "multiplier": "0: no fairness",
    "multiplier_max": "0: no fairness",
}
_DECISIONS = "Decisions are summed: 0 or 1."
_PROBABILITIES = "Probabilities: at most 1."


def choose_sliders(
    kind: type[Method], notion: str, *, columns: int = 1, lines: bool = True, expert: bool = False, typed: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the sliders of `kind` in `columns`; return its parameters by name, and the container under each by name.

    `lines` say what each is for.

    A gap is aimed at until λ, or another setting that the gap replaces, is moved. `typed` takes numbers as typed.
    """
    declared = parameters(kind)
    aims = _AIM in declared and not _is_published(kind)
    by_hand = bool(list_moves(kind) and value(_BY_HAND))
    usual = {} if aims and not by_hand else declared[_AIM][0].otherwise if _AIM in declared else {}
    values: dict[str, Any] = {}
    slots: dict[str, Any] = {}
    names = [name for name in list_sliders(kind) if aims or name != _AIM]
    places = [place for _ in range(0, len(names), columns) for place in st.columns(columns)]
    for name, place in zip(names, places, strict=False):
        with place:
            if name == _AIM:
                values[name] = _draw_aim(kind, by_hand=by_hand, lines=lines, typed=typed)
            else:
                idle = _format_idle(kind, notion, aims=aims and not by_hand) if name == "clip_dual" else None
                default = usual.get(name, declared[name][1].default)
                values[name] = _draw(kind, name, default, idle, lines=lines, typed=typed, expert=expert)
            slots[name] = st.container()
    if _OUTPUTS in declared:
        values |= {} if expert else {_OUTPUTS: value(f"p.{_OUTPUTS}", declared[_OUTPUTS][1].default)}
    return values, slots


def list_moves(kind: type[Method]) -> dict[str, Callable[[], None]]:
    """Return the callbacks of the settings that a gap aimed at replaces, by name: moving one ends the aim."""
    declared = parameters(kind)
    replaced = declared[_AIM][0].replaces if _AIM in declared and not _is_published(kind) else ()
    return {name: partial(choose, _BY_HAND, True) for name in replaced if name in declared}


def _draw(
    kind: type[Method], name: str, default: Any, idle: str | None, *, lines: bool, typed: bool, expert: bool
) -> Any:
    """Draw one slider with a line under it, greyed where it is `idle`, and return what is chosen."""
    parameter = parameters(kind)[name][0]
    stuck = idle == _DECISIONS or (idle is not None and not typed and value(f"p.{name}", default) >= 1)
    moved = list_moves(kind).get(name)
    number = draw_parameter(name, parameter, default, typed=typed, disabled=stuck, on_change=moved)
    paper = "" if parameter.paper is None else f"paper {plain(parameter.paper)}"
    line = " · ".join(filter(None, (_MEANINGS.get(name), describe(parameter, default) if typed else paper)))
    if idle or lines:
        _draw_line(name, idle or line or describe(parameter, default))
    if name == "clip_dual" and _OUTPUTS in parameters(kind):
        _offer_outputs(idle)
    if name in list_optional(kind) and (expert or value(f"p.{name}.automatic", default=False)):
        return None if choose_automatic(name, parameter) else number
    return number


def _is_published(kind: type[Method]) -> bool:
    """Return whether it runs as published: such a method pursues equality, and takes no gap."""
    return "published" in kind.info.variants and value("variant") == "published"


def _choose_gap(*, typed: bool, disabled: bool) -> float:
    if typed:
        widget = mount("gap")
        form = write_form(widget["value"])
        label = f"{_GAP}, in points"
        points = st.number_input(label, step=None, format=form, **widget, help=_HELP, disabled=disabled)
    else:
        widget = mount_number("gap", 0.0, max(MOST_POINTS, min(value("gap"), 100.0)))
        form = f"{write_form(widget['value'])} points"
        points = st.slider(_GAP, step=0.5, format=form, **widget, help=_HELP, disabled=disabled)
    return float(keep("gap", points)) / 100


def _draw_aim(kind: type[Method], *, by_hand: bool, lines: bool, typed: bool) -> float | None:
    """Draw the gap, greyed where none is aimed at, and return it, None there."""
    gap = _choose_gap(typed=typed, disabled=by_hand)
    if by_hand:
        _offer_aim(kind, list(list_moves(kind)))
    elif lines:
        _draw_line("gap", "Aimed at")
    return None if by_hand else gap


def _draw_line(name: str, words: str) -> None:
    with st.container(key=f"line_{name}"):
        st.caption(words)


def _offer_aim(kind: type[Method], replaced: list[str]) -> None:
    """Say that no gap is aimed at, since a person set what it replaces, and offer to aim again."""
    declared = parameters(kind)
    usual = {name: declared[_AIM][0].otherwise.get(name, declared[name][1].default) for name in replaced}
    moved = [name for name in replaced if ahead(f"p.{name}", usual[name]) != usual[name]]
    names = " and ".join(dict.fromkeys(_name(declared[name][0]) for name in moved or replaced[:1]))
    _draw_line("gap", plain(f"You set {names}. The gap is not aimed at."))
    undo = partial(_aim, replaced)
    st.button("Aim at a gap again", key="aim_again", type="tertiary", icon=":material/undo:", on_click=undo)


def _aim(replaced: list[str]) -> None:
    choose(_BY_HAND, False)
    forget(*(f"p.{name}" for name in (*replaced, _OUTPUTS)))


def _name(parameter: Parameter) -> str:
    """Return a parameter's symbol, or its title where that has none."""
    return parameter.symbol or f"“{parameter.title}”"


def _format_idle(kind: type[Method], notion: str, *, aims: bool) -> str | None:
    """Return why C_d cuts nothing; None where it may, as of a loss or of logits."""
    if aims:
        return _DECISIONS
    logits = _OUTPUTS in parameters(kind) and value(f"p.{_OUTPUTS}", "probability") == "logit"
    return None if logits or notions()[notion].compares != "decisions" else _PROBABILITIES


def _offer_outputs(idle: str | None) -> None:
    """Draw the button that makes C_d cut logits, which have no bound, or probabilities again."""
    if idle is None and value(f"p.{_OUTPUTS}", "probability") != "logit":
        return  # of a loss
    label, surrogate = ("Use probabilities", "probability") if idle is None else ("Use logits", "logit")
    use = partial(_use, surrogate)
    st.button(label, key="use_outputs", type="tertiary", icon=":material/swap_horiz:", on_click=use)


def _use(outputs: str) -> None:
    choose(f"p.{_OUTPUTS}", outputs)
    choose(_BY_HAND, True)
