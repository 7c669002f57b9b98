"""What a person has chosen, kept across pages and in the address, so that a reload or a link shows the same view.

A widget forgets its value when its page is left. Here every choice lives under one name: in the session, in the
widget of that name, and (for those that a page publishes) in the address. The address wins when it was changed from
outside: on opening, and on going back or forward.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from fairpriv_core.data.catalog import DEFAULT_DATA
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.methods.catalog import DEFAULT_METHOD
from fairpriv_core.methods.fields import USUAL_GAP
from fairpriv_core.notions.catalog import DEFAULT_NOTION
from pages.widgets.shared.frame import ask_for_frame

_LARGEST = 2**53 - 1  # a browser knows no larger whole number
#: every choice that a link carries, with its default; method parameters are `p.<name>` and have the method's default
DEFAULTS: dict[str, Any] = {
    "data": f"{DEFAULT_DATA['dataset']}:{DEFAULT_DATA['sensitive']}",
    "notion": DEFAULT_NOTION,
    "method": DEFAULT_METHOD,
    "protect": "",
    "by_group": False,
    "variant": "proved",
    "epsilon": 1.0,
    "delta": 1e-5,
    "seed": 0,
    "reuse": "new",
    "private_evaluation": True,
    "reuse_evaluation": False,
    "expert": False,
    "typed": False,
    "gap": 100 * USUAL_GAP,
    "set_lambda": False,
    "source": "benchmark",
    "cloned": "",
    "run": "",
    "along": "steps",
    "runs": (),
    "archived": False,
    "inverse": False,
    "least_accuracy": 80.0,
    "reference": "",
    "rate": "positive_rate",
    "only.data": (),
    "only.notion": (),
    "only.method": (),
    "only.protects": (),
    "only.tag": (),
    "audience": "analyst",
    "decided": "",
    "of_data": "",
    "of_notion": "",
    "of_method": (),
    "of_claim": (),
    "view": "frontier",
    "dominated": True,
    "map_of": "",
    "map_quantity": "gap",
    "map_x": "",
    "map_y": "",
    "wish_accuracy": 80.0,
    "wish_gap": 5.0,
    "points": (),
    "sweep": "",
    "card": "epsilon",
    "paper": "",
    "preset": "",
    "claims_of": "all",
    "claims_that": "all",
    "size": "small",
    "bench_notion": "",
    "bench_epsilon": "",
    "bench_board": "",
    "bench_task": "",
}


@dataclass
class _Memory:
    """What a session remembers.

    Attributes:
        choices: what was chosen, by name.
        defaults: what the widgets of parameters start from.
        linked: what the address said, of that refused: what the page cannot take.
        mounted: the widgets that this page has drawn.
        page: the page that is shown; shown: the settings whose results it draws.
    """

    choices: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    linked: dict[str, object] = field(default_factory=dict)
    refused: dict[str, object] = field(default_factory=dict)
    mounted: set[str] = field(default_factory=set)
    page: str = ""
    shown: tuple[TableRow, ...] = ()


def enter(page: str) -> None:
    """Begin a page, in its frame: take choices from the address where it was changed from outside."""
    ask_for_frame()
    memory = _memory()
    is_new = memory.page != page
    if is_new:
        memory.mounted = set()
    memory.page, memory.shown = page, ()
    if is_new or _went_back_or_forward():
        memory.linked, memory.refused = {}, {}
        for name in st.query_params:
            if name in DEFAULTS or name.startswith("p."):
                choose(name, _parse(name, tuple(st.query_params.get_all(name))))
                memory.linked[name] = memory.choices[name]


def value(name: str, default: Any = None) -> Any:
    """Return the choice called `name`; the default where nothing valid was chosen."""
    fallback = DEFAULTS.get(name, default)
    try:
        return _like(_memory().choices.get(name, fallback), fallback)
    except ValueError:
        refuse(name)
        return fallback


def refuse(name: str) -> None:
    """Remember that the address has a value of `name` that this page cannot take, unless another was chosen since."""
    memory = _memory()
    if name in memory.linked and memory.linked[name] == memory.choices.get(name):
        memory.refused[name] = memory.linked[name]


def get_refused() -> Mapping[str, object]:
    """Return the values in the address that this page cannot take, by name."""
    return _memory().refused


def set_shown(rows: Iterable[TableRow]) -> None:
    """Set the settings whose results this page draws, for the strip above it."""
    _memory().shown = tuple(rows)


def get_shown() -> Sequence[TableRow]:
    """Return what `set_shown` was given since the page was begun."""
    return _memory().shown


def ahead(name: str, default: Any = None) -> Any:
    """Return the choice called `name` before its widget is drawn further down: the value just chosen there."""
    is_drawn = name in st.session_state and name in _memory().mounted
    return st.session_state[name] if is_drawn else value(name, default)


def choose(name: str, item: Any) -> None:
    """Set a choice from code; its widget, if it is shown later in this run, shows it."""
    memory = _memory()
    memory.choices[name] = item
    memory.choices.pop(f"{name}.aside", None)
    memory.mounted.discard(name)


def settle(name: str, able: Sequence[Any], fallback: Any) -> Any:
    """Replace a choice that is not among `able` by the `fallback`, and restore it once it is; return the first choice.

    Whoever chooses another one meanwhile has changed their mind: `choose` and `forget("<name>.aside")` drop the first.
    """
    wish = _memory().choices.get(f"{name}.aside", value(name))
    if wish in able and wish != value(name):
        choose(name, wish)
    elif value(name) not in able:
        refuse(name)
        choose(name, fallback)
        keep(f"{name}.aside", wish)
    return wish


def forget(*names: str) -> None:
    """Drop choices: their widgets start from their defaults. A name that ends in a stop is every choice below it."""
    memory = _memory()
    for name in list(memory.choices):
        if name in names or name.partition(".")[0] + "." in names:
            del memory.choices[name]
            memory.mounted.discard(name)


def follow(name: str, default: Any) -> None:
    """Let a choice that is at its default be at the new one where it has changed, as another method has another."""
    before = _memory().defaults.get(name)
    if before not in (None, default) and ahead(name, default) == before:
        forget(name)


def mount(name: str, options: Iterable[Any] | None = None, default: Any = None) -> dict[str, Any]:
    """Return the `key` and the `value` with which the widget called `name` is drawn.

    A choice that is not among `options` (a link to something that is gone) becomes the default or the first option.
    The value is also the widget's own default: a browser that draws the widget anew starts from it.
    """
    _memory().defaults[name] = default
    listed = None if options is None else list(options)
    item = value(name, default)
    if listed is not None and item not in listed:
        refuse(name)
        item = default if default in listed else (listed[0] if listed else None)
    if name in st.session_state:
        current = st.session_state[name]
        if name in _memory().mounted and (listed is None or current in listed):
            item = current
        elif current != item:
            st.session_state[name] = item
    _memory().mounted.add(name)
    return {"key": name, "value": item}


def mount_number(name: str, low: float | None = None, high: float | None = None, default: Any = None) -> dict[str, Any]:
    """Return what a field or slider of a number called `name` is drawn with: `key`, `value` and its range.

    A choice outside [low, high] (of a link) becomes the nearer end of it.
    """
    kind, number = type(DEFAULTS.get(name, default)), value(name, default)
    ends = {side: kind(end) for side, end in (("min_value", low), ("max_value", high)) if end is not None}
    inside = min(max(number, ends.get("min_value", number)), ends.get("max_value", number))
    if inside != number:
        refuse(name)
        choose(name, inside)
    return {**mount(name, default=default), **ends}


def mount_index(name: str, options: Iterable[Any], default: Any = None) -> dict[str, Any]:
    """Return the `key` and the `index` with which a list called `name` is drawn."""
    listed = list(options)
    widget = mount(name, listed, default)
    return {"key": name, "index": listed.index(widget["value"]) if listed else None}


def label_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return what a list shows of each option, with the option behind texts that are equal.

    A list in the browser sends back the text that was chosen, not its place: of equal texts the first would count.

    >>> label_apart({"1f": "people.csv", "2a": "people.csv", "3c": "pay.csv"})
    {'1f': 'people.csv · 1f', '2a': 'people.csv · 2a', '3c': 'pay.csv'}
    """
    texts = list(labels.values())
    return {option: text if texts.count(text) == 1 else f"{text} · {option}" for option, text in labels.items()}


def mount_default(name: str, options: Iterable[Any], default: Any = None) -> dict[str, Any]:
    """Return the `key` and the `default` with which a row of buttons called `name` is drawn."""
    return {"key": name, "default": mount(name, options, default)["value"]}


def keep(name: str, item: Any) -> Any:
    """Remember what the widget called `name` returned, and return it."""
    _memory().choices[name] = item
    return item


def draw_buttons(name: str, label: str, titles: Mapping[Any, str], default: Any = None, **look: Any) -> Any:
    """Draw a row of buttons, one for each option by its title, and return the option that is chosen."""
    widget = mount_default(name, titles, default)
    item = st.segmented_control(label, list(titles), required=True, format_func=titles.__getitem__, **widget, **look)
    return keep(name, item)


def draw_list(
    name: str, label: str, options: Collection[Any], title: Callable[[Any], str] = str, default: Any = None, **look: Any
) -> Any:
    """Draw a list of options by their titles, and return the option that is chosen."""
    widget = mount_index(name, options, default)
    return keep(name, st.selectbox(label, list(options), format_func=title, **widget, **look))


def draw_several(
    name: str, label: str, options: Collection[Any], default: Iterable[Any] = (), **look: Any
) -> tuple[Any, ...]:
    """Draw a list of options of which several can be chosen, and return those that are.

    Of a choice, those that are not among `options` are left out; where none of them is, it becomes the default.
    """
    able = set(options)
    choices = list(_memory().choices.get(name, default))
    selection = [item for item in choices if item in able]
    if len(selection) < len(choices):
        refuse(name)
    if choices and not selection:
        selection = [item for item in default if item in able]
    if name in st.session_state:
        current = [item for item in st.session_state[name] or () if item in able]
        selection = current if name in _memory().mounted and (current or not st.session_state[name]) else selection
        if st.session_state[name] != selection:
            st.session_state[name] = selection
    _memory().mounted.add(name)
    return tuple(keep(name, tuple(st.multiselect(label, list(options), selection, key=name, **look))))


def draw_switch(name: str, label: str, *, default: bool | None = None, **look: Any) -> bool:
    """Draw a switch, and return whether it is on."""
    return bool(keep(name, st.toggle(label, **mount(name, default=default), **look)))


def draw_text(name: str, label: str, *, default: str = "", **look: Any) -> str:
    """Draw a field for a text, and return what is typed, without blanks around it."""
    return str(keep(name, st.text_input(label, **mount(name, default=default), **look)) or "").strip()


def publish(names: Iterable[str]) -> None:
    """Write the choices into the address; method parameters that are at their default stay out."""
    texts = {name: write_texts(value(name)) for name in names if value(name) not in (None, "", ()) and _told(name)}
    current = {name: tuple(st.query_params.get_all(name)) for name in st.query_params}
    foreign = {name: raw for name, raw in current.items() if name not in DEFAULTS and not name.startswith("p.")}
    target = {**foreign, **texts}
    if current != target:
        st.query_params.from_dict({name: list(raw) for name, raw in target.items()})


def link(page_address: str) -> str:
    """Return the address that shows this page with every choice; it names columns and settings, and holds no data."""
    pairs = [
        (name, text)
        for name, item in _memory().choices.items()
        if item is not None and _told(name)
        for text in write_texts(item)
    ]
    return f"{page_address}?{urlencode(pairs)}" if pairs else page_address


def _went_back_or_forward() -> bool:
    """Return whether this run follows the browser's history; any other address is one that a page wrote, maybe late."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _told(name: str) -> bool:
    return name in DEFAULTS or (name.startswith("p.") and value(name) != _memory().defaults.get(name))


def _memory() -> _Memory:
    try:  # a page asks thousands of times, and each look into the session's state takes its time
        memory: _Memory = st.session_state["memory"]
    except KeyError:
        memory = st.session_state["memory"] = _Memory()
    return memory


def write_texts(item: Any) -> tuple[str, ...]:
    """Return a choice as an address has it; several texts of a choice of several."""
    if isinstance(item, list | tuple):
        return tuple(str(part) for part in item)
    return (f"{item:.{count_digits(item)}g}" if isinstance(item, float) else str(item),)


def count_digits(number: float) -> int:
    """Return how many significant digits show a number as it is: six, or as many more as it takes.

    >>> count_digits(0.5), count_digits(0.12345678), count_digits(0.1 + 0.2)
    (6, 8, 17)
    """
    return next((digits for digits in range(6, 17) if float(f"{number:.{digits}g}") == number), 17)


def _parse(name: str, raw: tuple[str, ...]) -> Any:
    return raw if isinstance(DEFAULTS.get(name), tuple) else raw[-1]


def _like(text: Any, default: Any) -> Any:
    """Return `text`, which may be an address's text, as the kind of thing that `default` is; else ValueError.

    >>> _like("True", False), _like("3", 1), _like("0.5", 1.0)
    (True, 3, 0.5)
    """
    if not isinstance(text, str) or isinstance(default, str) or not isinstance(default, bool | int | float):
        return text
    if isinstance(default, bool):
        return ("False", "True").index(text) == 1
    number = float(text)
    if not abs(number) <= _LARGEST:
        raise ValueError(text)
    return type(default)(number)
