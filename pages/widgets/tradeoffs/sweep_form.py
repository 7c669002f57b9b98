"""Which sweep: filled in as a form, or pasted as a sweep's TOML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import streamlit as st

from fairpriv_core.data.problem import DataJson
from fairpriv_core.engine.modules import ENTRY_POINTS, is_module, list_installed
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.wording import value_text
from fairpriv_core.methods.base import Parameter, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, DEFAULT_RECORD_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.plain import read_toml
from fairpriv_core.store.rows import ENDED
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.sweeps.spec import build_sweep
from pages.widgets.shared.demo import list_offered
from pages.widgets.shared.names import name_data, name_method, name_notion
from pages.widgets.shared.reference import list_reference
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.session import find_spec
from pages.widgets.shared.state import (
    choose,
    draw_buttons,
    draw_list,
    draw_several,
    draw_switch,
    draw_text,
    keep,
    label_apart,
    mount,
    mount_index,
    mount_number,
    refuse,
    value,
)
from pages.widgets.shared.suitable import title_method
from pages.widgets.shared.sweeper import offer_sweep
from pages.widgets.tradeoffs.questions import find_answers, find_place, find_title

_NONE = "–"
_EXAMPLE = """notion = "demographic_parity"

[data]
dataset = "adult"
sensitive = "sex"

[method]
name = "dp_fermi"
epochs = 20

[axes]
epsilon = [0.5, 1, 3, 9]
method.multiplier = [0.5, 1, 2]
seed = [0, 1, 2]"""
_WAYS = {"form": "Fill in a form", "paste": "Paste a sweep's file", "launched": "Launched before"}
_BUDGETS, _SEEDS = "0.02, 0.1, 0.5, 1, 3, 9", 3
_AXES = {"epsilon": "ε", "method": "methods", "notion": "notions", "seed": "seeds"}
_NAMED = {"method": name_method, "notion": name_notion}
_MOST_VALUES = 6  # of an axis, named one by one
_EVALUATES = (
    "Each run with an ε of its own also releases how fair it is on the test rows, with noise and within the same ε. It "
    "reads test rows alone, so training keeps its budget."
)


def read_values(text: str, name: str, *, as_int: bool = False) -> list[float | int]:
    """Return the numbers of "0.5, 1, 3"; BadInput names what is no number.

    >>> read_values("0.5, 1;3", "epsilon")
    [0.5, 1.0, 3.0]
    """
    values: list[float | int] = []
    for part in text.replace(";", ",").split(","):
        try:
            values += [int(part) if as_int else float(part)] if part.strip() else []
        except ValueError as error:
            kind = "whole numbers" if as_int else "numbers"
            raise BadInput(
                f"{name} takes {kind} with commas between them, got '{part.strip()}'.", field=name
            ) from error
    return values


def choose_question() -> tuple[str, str, list[str]]:
    """Draw the choices and return the data's reference, the notion's name and the methods' names."""
    data, goal = st.columns(2)
    with data:
        label, data_here = "Data and sensitive attribute", value("data")
        reference = draw_list("sweep.data", label, list_offered(data_here), list_reference, data_here)
    with goal:
        titles = {name: notion.title for name, notion in notions().items()}
        notion = draw_list("sweep.notion", "Fairness notion", titles, titles.__getitem__, value("notion"))
    able = [name for name, kind in methods().items() if notion in kind.info.notions]
    usual = (DEFAULT_METHOD, DEFAULT_RECORD_METHOD)
    names = draw_several("sweep.method", "Methods", able, usual, format_func=title_method)
    return str(reference), str(notion), [*names]


def choose_axes(names: Sequence[str]) -> dict[str, list[Any]]:
    """Draw the choice of up to two parameters that all chosen methods have, and return their values by axis."""
    able = _list_shared(names)
    axes: dict[str, list[Any]] = {}
    for number, place in enumerate(st.columns(2), start=1):
        free = [_NONE, *(name for name in able if f"method.{name}" not in axes)]
        with place:
            titles = {name: able[name][0].title if name in able else "none" for name in free}
            name = draw_list(f"sweep.parameter{number}", f"Parameter {number:d}", free, titles.__getitem__, _NONE)
            if name == _NONE:
                continue
            parameter, usual = able[name]
            look = {"help": parameter.help, "placeholder": "such as 0.1, 0.5, 1"}
            text = draw_text(f"sweep.{name}", f"Values of {plain(parameter.title)}", default=f"{usual:g}", **look)
            axes[f"method.{name}"] = read_values(text, parameter.title, as_int=isinstance(usual, int))
    return axes


def _list_shared(names: Sequence[str]) -> dict[str, tuple[Parameter, Any]]:
    """Return the numeric parameters that all of these methods have, with a usual value of the first one's."""
    first, *further = [parameters(methods()[name]) for name in names]
    parameters_by_name: dict[str, tuple[Parameter, Any]] = {}
    for name, (parameter, field) in first.items():
        usual = parameter.high if field.default is None else field.default
        number = isinstance(usual, int | float) and not isinstance(usual, bool)
        if number and all(name in declared for declared in further):
            parameters_by_name[name] = (parameter, usual)
    return parameters_by_name


def paste_sweep() -> dict[str, Any]:
    """Draw the field and return the sweep that stands in it; BadInput for what is no TOML, or names a file."""
    text = st.text_area("The file", height=330, **mount("sweep.text", default=_EXAMPLE), help="As for fairpriv sweep.")
    raw = read_toml(str(keep("sweep.text", text)), what="this")
    refuse_files(raw)
    refuse_code(raw)
    return raw


def refuse_code(raw: Any) -> None:
    """Raise BadInput where a pasted sweep names a network that no installed package offers: its code would be run."""
    for name, part in _walk(raw):
        if name == "network" and is_module(str(part)) and part not in list_installed().values():
            raise BadInput(
                f"network '{part}' is not one that an installed package offers ({ENTRY_POINTS}); for it run fairpriv "
                "sweep.",
                field="network",
            )


def refuse_files(raw: Any) -> None:
    """Raise BadInput where a pasted sweep names a file: whoever pastes it need not be who may read this machine."""
    if any(name == "file" for name, _ in _walk(raw)):
        raise BadInput(
            "a pasted sweep is about a benchmark (dataset = …). For a file of your own choose it on the Data page "
            "and fill in the form, or run fairpriv sweep.",
            field="data",
        )


def _walk(raw: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all that stands in a pasted sweep, each by the last part of its name; of a list each item too."""
    yield name, raw
    if isinstance(raw, Mapping):
        for key, part in raw.items():
            yield from _walk(part, str(key).rpartition(".")[2])
    if isinstance(raw, list):
        for part in raw:
            yield from _walk(part, name)


def choose_sweep(store: RunStore) -> None:
    """Draw the ways to say which sweep, and the sweep itself: its cost, Launch, its progress.

    A sweep that was launched stands in the address, so that a reload or a link shows how it goes.
    """
    launched = attempt(SweepStore(store).launched) or {}
    if value("sweep") not in launched:
        refuse("sweep")
    ways = _WAYS if launched else {name: title for name, title in _WAYS.items() if name != "launched"}
    way = draw_buttons("sweep.way", "Sweep", ways, "launched" if value("sweep") in launched else "form")
    makers = {"form": _fill_in, "paste": paste_sweep, "launched": lambda: _choose_launched(store, launched)}
    raw = attempt(makers[way])
    if raw is not None:
        name = offer_sweep(store, raw, key="tradeoffs")
        keep("sweep", name if name in launched else "")
        if name is not None:
            _offer_points(store, name)


def _offer_points(store: RunStore, name: str) -> None:
    """Draw a button to the points of a sweep, where the page shows those of other data or another notion."""
    keys = set((store.previews.look(name).result or {}).get("keys", ()))
    place = find_place(find_answers(store) or {}, keys)
    if place is None or place == (value("of_data"), value("of_notion")):
        return
    if st.button("Show the points of this sweep", key="sweep_points", icon=":material/scatter_plot:"):
        choose("of_data", place[0])
        choose("of_notion", place[1])
        st.rerun()


def _choose_launched(store: RunStore, launched: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    widget = mount_index("sweep", launched)
    labels = label_apart({name: _format_sweep(raw["sweep"]) for name, raw in launched.items()})
    sweep_id = st.selectbox("Newest first", list(labels), **widget, format_func=labels.__getitem__)
    for name in [name for name in labels if name != sweep_id]:
        _show_under_way(store, name, labels[name])
    sweep: Mapping[str, Any] = launched[sweep_id]["sweep"]
    return sweep


def _show_under_way(store: RunStore, name: str, label: str) -> None:
    """Draw how far another sweep is that was launched, unless all its runs have ended."""
    keys = (store.previews.look(name).result or {}).get("keys", ())
    counts, progress = SweepStore(store).progress(keys)
    n_ended = sum(counts.get(status, 0) for status in ENDED)
    if n_ended < len(keys):
        st.progress(min(1.0, progress / len(keys)), text=plain(f"{label}: {n_ended:,} of {len(keys):,} ended"))


def _format_sweep(raw: Mapping[str, object]) -> str:
    """Return a sweep in a line: "PF-LD · Synthetic: label by group · ε 1, 3 · seeds 0, 1"; of many values the ends."""
    base, data = raw.get("method"), raw.get("data")
    method = str(base.get("name", "") if isinstance(base, Mapping) else base or "")
    about = name_data(cast(DataJson, data)) if isinstance(data, Mapping) and data.get("sensitive") else ""
    parts = [name_method(method) if method else "", about]
    axes = build_sweep(raw).axes
    for name in dict.fromkeys(name for table in axes for name in table):
        values = [value for table in axes for value in table.get(name, ())]
        texts = list(dict.fromkeys(_name_value(name, value) for value in values))
        title = _AXES.get(name) or find_title(name).title or name
        listed = ", ".join(texts) if len(texts) <= _MOST_VALUES else f"{texts[0]}, {texts[1]} … {texts[-1]}"
        parts.append(f"{title} {listed}")
    return " · ".join(part for part in parts if part)


def _name_value(axis: str, value: Any) -> str:
    """Return a value of an axis in words: of a method's table its name, or the settings of one that is named before."""
    if isinstance(value, Mapping):
        if axis == "data" and value.get("sensitive"):
            return name_data(cast(DataJson, value))
        return name_method(value["name"]) if "name" in value else value_text(value)
    return _NAMED.get(axis, value_text)(value)


def _choose_evaluation() -> dict[str, bool]:
    """Draw the switch, and return the setting of the sweep; {} where it is at its default."""
    evaluates = draw_switch("sweep.evaluates", "Private evaluation", default=True, help=_EVALUATES)
    return {} if evaluates else {"private_evaluation": False}


def _fill_in() -> dict[str, Any] | None:
    """Draw the form and return the sweep that it asks for; None after showing what is missing."""
    reference, notion, names = choose_question()
    spec = find_spec(reference)
    if spec is None:
        return None
    if not names:
        st.info("Choose at least one method.")
        return None
    left, right = st.columns(2)
    with left:
        budgets = draw_text("sweep.epsilon", "Values of ε", default=_BUDGETS)
    with right:
        seeds = st.number_input("Seeds", **mount_number("sweep.seeds", 1, 100, _SEEDS), help="Each is one run more.")
    private = any(methods()[name].info.threat_model for name in names)
    axes: dict[str, Any] = {"epsilon": read_values(budgets, "ε")} if private else {}
    axes |= choose_axes(names)
    axes["seed"] = list(range(int(keep("sweep.seeds", seeds))))
    unsaid = _choose_evaluation() if private else {}
    method: dict[str, Any] = {"name": names[0]} if len(names) == 1 else {}
    axes |= {"method": list(names)} if len(names) > 1 else {}
    shares = any(methods()[name].info.reuses for name in names)
    return {
        **unsaid,
        "data": spec.to_json(),
        "notion": notion,
        "delta": value("delta"),
        "method": method,
        "axes": axes,
        "sweep": {"invalid": "skip", "share_release": shares},
    }
