"""Clone settings: Train opened with every setting of a run, and what of them is not on screen or was changed since."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairpriv_core.data.problem import DataJson
from fairpriv_core.facts.tables import parameter_diff
from fairpriv_core.facts.wording import value_text
from fairpriv_core.methods.base import Method, MethodInfo, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.parameters import read_method
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.rows import RunRow
from pages.widgets.shared.access import find_row
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.names import name_method
from pages.widgets.shared.reference import write_config
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import DEFAULTS, choose, forget, keep, refuse, value, write_texts
from pages.widgets.train.form import list_optional

_AIM = "gap_target"
_NETWORK = "network"  # has another default where rows are images
_SAME = ("file_id", "data.")
_MOST_TOLD = 5


def offer_clone(run: str, key: str, *, disabled: bool = False) -> None:
    """Draw the button that opens Train with the settings of the run `run`; `key` names the button."""
    icon, says = ":material/content_copy:", "Opens Train with every setting of the run."
    if st.button("Clone settings", key=key, icon=icon, help=says, disabled=disabled):
        row = find_row(run)
        address = None if row is None else attempt(lambda: write_settings(row.config))
        if row is not None and address is not None:
            forget("p.")
            keep("notion.of", address["data"])  # the notion is the run's, whatever suits its data
            for name, text in {**address, "cloned": row.key}.items():
                choose(name, text)
            go_to("train", **address, cloned=row.key)


def write_settings(config: ConfigJson) -> dict[str, str]:
    """Return the address of Train with every setting of a config's JSON that Train has.

    Raises:
        BadInput: the config names a method that is no more, or values that its method does not take.
    """
    method = read_method(config["method"])
    choices: dict[str, Any] = {
        "data": write_config(config["data"]),
        "notion": config["notion"],
        "method": method.info.name,
        "delta": config["delta"],
        "seed": config["seed"],
        **{"expert": True, "typed": False, "inverse": False},
        **_choose_budget(config, method.info),
        **_choose_parameters(method),
    }
    return {name: write_texts(item)[0] for name, item in choices.items()}


def _choose_budget(config: ConfigJson, info: MethodInfo) -> dict[str, Any]:
    if info.threat_model is None:
        return {}
    reuse = config.get("reuse")
    switch = "private_evaluation" if reuse is None else "reuse_evaluation"
    choices = {"reuse": reuse or DEFAULTS["reuse"], switch: bool(config.get("private_evaluation"))}
    return choices if config["epsilon"] is None else {**choices, "epsilon": config["epsilon"]}


def _choose_parameters(method: Method) -> dict[str, Any]:
    """Return the choices of the form, and of what stands beside it; those at the method's defaults are left out."""
    choices: dict[str, Any] = {}
    optional = list_optional(type(method))
    for name, (_, field) in parameters(method).items():
        setting = getattr(method, name)
        if name == _AIM:
            choices |= {"set_lambda": setting is None} | ({} if setting is None else {"gap": _write_points(setting)})
        elif name == "variant":
            choices["variant"] = setting
        elif setting is None and field.default is not None:
            choices[f"p.{name}.automatic"] = True
        elif setting is not None and (setting != field.default or name == _NETWORK):
            choices[f"p.{name}"] = ", ".join(map(str, setting)) if isinstance(setting, tuple) else setting
            choices |= {f"p.{name}.automatic": False} if name in optional and field.default is not None else {}
    return choices


def _write_points(share: float) -> float:
    """Return a gap in percentage points, of which Train makes the very same share.

    >>> _write_points(0.07), _write_points(0.07) / 100 == 0.07
    (7.0, True)
    """
    points = round(100 * share, 9)
    return points if points / 100 == share else 100 * share


def show_cloned(config: RunConfig) -> None:
    """Say which settings on screen are not those of the run that was cloned; nothing of another method or data."""
    row = find_row(value("cloned"))
    if row is None:
        refuse("cloned")
    if row is None or (row.config["method"]["name"], row.config["data"]) != _ask(config):
        return
    changes = _list_changes(config, row)
    words = f"Changed from the run you cloned: {changes}."
    st.caption(words if changes else "All settings are those of the run you cloned.")


def show_changes(config: RunConfig, row: RunRow) -> None:
    """Say which settings on screen are not those of the run beside them."""
    if config.key == row.config_key:
        return
    same = row.config["method"]["name"] == config.method.info.name
    changes = _list_changes(config, row) if same else plain(f"another method, {name_method(config.method.info.name)}")
    st.caption(f"Launch trains with {changes}." if changes else "Launch trains with other settings.")


def _list_changes(config: RunConfig, row: RunRow) -> str:
    differing = _compare(config, row)
    changes = [plain(f"{name} {now}, was {then}") for name, (now, then) in list(differing.items())[:_MOST_TOLD]]
    more = f"; and {len(differing) - len(changes)} more" if len(differing) > len(changes) else ""
    return "; ".join(changes) + more


def _ask(config: RunConfig) -> tuple[str, DataJson]:
    return config.method.info.name, config.data.to_json()


def _compare(config: RunConfig, row: RunRow) -> dict[str, tuple[str, str]]:
    """Return each setting that differs, by its title: as it is on screen, as it was."""
    if config.key == row.config_key:
        return {}
    declared = parameters(methods()[config.method.info.name])
    differences = {}
    for name, (now, then) in parameter_diff([config.to_json(), row.config]).items():
        own = name.removeprefix("method.")
        if not name.startswith(_SAME) and (now or then):
            title = declared[own][0].title if own in declared else own.replace("_", " ")
            differences[title] = (value_text(now), value_text(then))
    return differences
