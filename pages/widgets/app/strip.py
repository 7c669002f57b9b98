"""The strip that every page carries: what the ε of the shown runs is worth, where the page itself does not say it.

On a desktop that is one line above the title, on a phone it is folded; the ledger and the link stand beside the menu.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.wording import ACCOUNTED, protected
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods, name_accounting_of
from fairpriv_core.records.source import ConfigJson, name_unit
from fairpriv_core.store.rows import RunRow
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.access import find_row, find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.ledger import show_gauge
from pages.widgets.shared.person import find_person, show_person
from pages.widgets.shared.reference import name_unit_of
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.session import identify_file, read_spec
from pages.widgets.shared.state import get_refused, get_shown, link, value, write_texts

_OF_RUNS = ("Compare", "Present", "Report")  # pages whose choice "runs" is what they show
_OF_RUN = ("Run", "Audit")  # pages of one run
_TELLS = (*_OF_RUNS, "Explore", "Trade-offs", "Audit")  # pages whose own boxes leave something of an ε unsaid
_OF_NO_DATA = ("Start", "Papers", "Learn")  # what is chosen for the next run does not matter there
_FEW = 3
_MOST_FOLDED = 12  # letters, beside the name on a phone
_LONGEST = 60
Asked = tuple[ConfigJson, float | None]  # a run's config, and its ε


def hold_strip(page: str) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Return the strip's parts, still empty: they hold its place while the page below is drawn."""
    buttons = st.container(horizontal=True, horizontal_alignment="right", key="strip_buttons")
    return st.container(key="strip").empty() if page in _TELLS else st.empty(), buttons, st.empty()


def show_strip(page: str, line: DeltaGenerator, buttons: DeltaGenerator, faults: DeltaGenerator) -> None:
    """Draw the strip on the runs that a page shows, on Explore on the next run.

    What of its address the page could not take is said below it.
    """
    row = find_row(value("run"))
    requests, of_shown = _find_shown(page)
    if page == "Audit" and row is not None:
        requests = [_ask(row.config, row.epsilon, has_ended=row.ended)]
    parts = list_shown(requests) if requests else _list_choice_facts() if page == "Explore" else {}
    if parts:
        line.markdown(f":small[{_write(parts)}]")
    with buttons:
        if parts:
            _fold(parts)
        if row is not None and not row.ended and page not in ("Train", "Run"):
            with st.container(key="strip_run"):
                link_to("run", f"Run {row.status}")
        if page not in _OF_NO_DATA:
            _show_gauge_of(row if page in _OF_RUN else of_shown, value("data"))
        with st.popover("Copy link", icon=":material/link:", key="copy_link"):
            st.caption("Shows this page with the same choices. It names settings, columns and tags and holds no data.")
            st.code(link(st.context.url or ""), language=None, wrap_lines=True)
        if find_person().name:
            show_person()
    _show_refused(faults)


def _show_refused(place: DeltaGenerator) -> None:
    pairs = [(name, text) for name, item in get_refused().items() for text in write_texts(item)]
    if pairs:
        listing = " and ".join(f"{name} = {textwrap.shorten(text, _LONGEST, placeholder=' …')}" for name, text in pairs)
        place.warning(
            plain(f"The link asks for {listing}. That is not available here, so the page shows its usual choice."),
            icon=":material/link_off:",
        )


def _write(parts: Mapping[str, str]) -> str:
    return " &nbsp;·&nbsp; ".join(f"{plain(name)} **{plain(text)}**" for name, text in parts.items())


def _fold(parts: Mapping[str, str]) -> None:
    """Draw the same behind a button, which the rules of style.py show on a phone alone."""
    name, text = next(iter(parts.items()))
    short = text.partition(" (")[0]
    short = short if len(short) <= _MOST_FOLDED else "…"  # more would lie on the product's name
    with st.popover(f"{plain(name)} {plain(short)}", key="strip_folded"):
        st.markdown("  \n".join(f"{plain(name)} **{plain(text)}**" for name, text in parts.items()))


def _show_gauge_of(row: RunRow | None, reference: str) -> None:
    """Draw the ledger of the data of a run, or without a run of those that `reference` names; nothing without data."""
    store = find_store()
    if store is None:
        return
    try:
        spec = read_spec(reference, store) if row is None else DataSpec(**row.config["data"])
        file_id = identify_file(spec.file, store) if row is None else row.config.get("file_id")
    except FairprivError:
        return
    show_gauge(store, spec.to_json(), file_id, delta=value("delta"))


def _find_shown(page: str) -> tuple[list[Asked], RunRow | None]:
    """Return the config and ε of each run that a page shows, and one of the runs."""
    if page in _OF_RUNS:
        rows = [row for key in value("runs") if (row := find_row(key))]
        return [_ask(row.config, row.epsilon, has_ended=row.ended) for row in rows], rows[0] if rows else None
    alike = {(row.method, row.variant, row.epsilon, row.delta): row for row in get_shown()}
    requests = [_ask(json.loads(row.setting), row.epsilon, has_ended=True) for row in alike.values()]
    return requests, find_row(get_shown()[0].keys[0]) if requests else None


def _ask(config: ConfigJson, epsilon: float | None, *, has_ended: bool) -> Asked:
    """Return a run's config and ε; without an ε where none is proved any more, as after a choice by raw numbers."""
    unproved = has_ended and epsilon is None and _find_accounting(config["method"]) == "proved"
    return ({**config, "epsilon": None}, None) if unproved else (config, epsilon)


def list_shown(requests: Sequence[Asked]) -> dict[str, str]:
    """Return the ε of runs, and what it protects; where they differ, what each has."""
    facts = [_list_run_facts(*request) for request in requests]
    budgets, protects = ({fact[name]: None for fact in facts} for name in ("ε", "protects"))
    private = [text for text in protects if not text.startswith("nothing")]
    more = f" and {len(private) - _FEW} more" if len(private) > _FEW else ""
    return {
        "ε": next(iter(budgets)) if len(budgets) == 1 else _list_budgets(requests),
        "protects": "; ".join(private[:_FEW]) + more or "nothing",
    }


def _list_budgets(requests: Sequence[Asked]) -> str:
    """Return several budgets, of many the lowest and the highest, with their δ once."""
    private = [(budget, config) for config, epsilon in requests if (budget := _find_budget(config, epsilon))]
    budgets = sorted({budget for budget, _ in private})
    deltas = sorted({config["delta"] for _, config in private})
    accounting = _format_accounted({_find_accounting(config["method"]) for _, config in private})
    texts = [epsilon_text(budget) for budget in budgets]
    budgets_text = ", ".join(texts) if len(texts) <= _FEW else f"{texts[0]} to {texts[-1]}"
    without = "none, " if len(private) < len(requests) else ""
    return f"{without}{budgets_text} (δ = {' or '.join(map(delta_text, deltas))}, {accounting})" if private else "none"


def _find_accounting(method: Mapping[str, Any]) -> str:
    """Return how the ε of a private method is accounted, from its name and what else was asked of it."""
    return name_accounting_of(method["name"], method.get("variant"))


def _format_accounted(variants: Collection[str]) -> str:
    """Return how budgets were accounted, in the words that stand beside every ε."""
    return " or ".join(words for name, words in ACCOUNTED.items() if name in variants)


def _list_run_facts(config: ConfigJson, epsilon: float | None) -> dict[str, str]:
    if config.get("replay_noise") is not None:
        return {"ε": "none: its noise can be repeated", "protects": "nothing"}
    method, budget = config["method"], _find_budget(config, epsilon)
    threat = methods()[method["name"]].info.threat_model
    accounting = f"δ = {delta_text(config['delta'])}, {_format_accounted({_find_accounting(method)})}"
    text = "none is proved" if budget is None else f"{epsilon_text(budget)} ({accounting})"
    return {
        "ε": "none" if threat is None else text,
        "protects": protected(threat, name_unit(config["data"])),
    }


def _find_budget(config: ConfigJson, epsilon: float | None) -> float | None:
    """Return the ε of a run; None where none covers it."""
    private = methods()[config["method"]["name"]].info.threat_model is not None
    budget: float | None = epsilon if config["epsilon"] is None else config["epsilon"]
    return budget if private and config.get("replay_noise") is None else None


def _list_choice_facts() -> dict[str, str]:
    """Return the δ and the protection of the next run; its slider shows the ε."""
    name = value("method") if value("method") in methods() else DEFAULT_METHOD
    info = methods()[name].info
    if info.threat_model is None:
        return {"ε": "none", "protects": protected(None)}
    variant = value("variant") if value("variant") in info.variants else None
    accounting = _format_accounted({_find_accounting({"name": name, "variant": variant})})
    is_reused = value("reuse") != "new" and info.reuses
    cost = {"ε": _format_paid(value("reuse"))} if is_reused else {"δ": f"{delta_text(value('delta'))} ({accounting})"}
    return {**cost, "protects": protected(info.threat_model, name_unit_of(value("data")))}


def _format_paid(key: str) -> str:
    """Return what the release of the run called `key` cost."""
    row = find_row(key)
    return "spent by an earlier run" if row is None else f"{epsilon_text(row.epsilon)} (spent by an earlier run)"
