"""The strip that every page carries: the whole recipe in one line, the state of the run, and a link to this view."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods, name_accounting_of
from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.wording import ACCOUNTED, protected
from fairpriv_core.store.rows import RunRow
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.access import find_row, find_store
from pages.widgets.shared.ledger import show_gauge
from pages.widgets.shared.person import find_person, show_person
from pages.widgets.shared.reference import describe_reference, name_unit_of, write_config
from pages.widgets.shared.results import shown_results
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.session import identify_file, read_spec
from pages.widgets.shared.state import get_shown, link, value

_OF_RUNS = ("Compare", "Present", "Report")  # pages whose choice "runs" is what they show
_FEW = 3
Asked = tuple[Mapping[str, Any], float | None]  # a run's config, and its ε
_MEASURED = " (measured)"  # of a method that pursues no notion


def _show_gauge_of(row: RunRow | None, reference: str) -> None:
    """Draw what the data of the run, or without one those of a reference, have spent; nothing where there are none."""
    store = find_store()
    if store is None:
        return
    try:
        spec = read_spec(reference, store) if row is None else DataSpec(**row.config["data"])
        file_id = identify_file(spec.file, store) if row is None else row.config.get("file_id")
    except FairprivError:
        return
    show_gauge(store, spec.to_json(), file_id, delta=value("delta"))


def hold_strip() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the strip's two parts, still empty: they hold its place while the page below is drawn."""
    with st.container(key="strip"):
        left, right = st.columns([5, 3], vertical_alignment="center")
    return left, right


def show_strip(page: str, left: DeltaGenerator, right: DeltaGenerator) -> None:
    """Draw the strip: it tells of the runs that a page shows, elsewhere of what is chosen for the next one."""
    row = find_row(value("run"))
    shown, of_shown = _find_shown(page)
    if page == "Start":
        about, parts = "shown here: ", _tell_example()
    elif shown:
        about, parts = "shown here: ", tell_shown(shown)
    elif row is not None and page in ("Run", "Audit"):
        about, parts = "", _tell_run(*_ask(row.config, row.epsilon, ended=row.ended))
    else:  # what the other pages show is not what is chosen
        about, parts = "" if page in ("Data", "Train", "Run", "Audit") else "next run: ", _tell_choice()
    line = about + " &nbsp;·&nbsp; ".join(f"{plain(name)} **{plain(text)}**" for name, text in parts.items())
    of = "run" if page in ("Run", "Audit") else "last run"
    state = f" &nbsp;·&nbsp; {of} **{plain(row.status)}**" if row is not None else ""
    left.markdown(f":small[{line}{state}]")
    with right.container(horizontal=True, horizontal_alignment="right", key="strip_buttons"):
        reference = write_config(shown_results().data) if page == "Start" else value("data")
        _show_gauge_of(row if page in ("Run", "Audit") else of_shown, reference)
        with st.popover("Copy link", icon=":material/link:", key="copy_link"):
            st.caption("Shows this page with the same choices. It names settings, columns and tags and holds no data.")
            st.code(link(st.context.url or ""), language=None, wrap_lines=True)
        if find_person().name:
            show_person()


def _tell_example() -> dict[str, str]:
    """Return what the stored results of the first page are of."""
    results = shown_results()
    budgets = sorted({run.epsilon for run in results.outcomes if run.epsilon is not None})
    accounted = _say_accounted({str(run.variant) for run in results.outcomes if run.epsilon is not None})
    threats = dict.fromkeys(run.threat_model for run in results.outcomes if run.threat_model is not None)
    return {
        "data": describe_reference(write_config(results.data)),
        "notion": notions()[results.notion].title,
        "methods": str(len({run.method for run in results.outcomes})),
        "ε": f"{budgets[0]:g} to {budgets[-1]:g} (δ = {delta_text(results.delta)}, {accounted})",
        "protects": f"{' or '.join(protected(threat) for threat in threats)}, see the legend",
    }


def _find_shown(page: str) -> tuple[list[Asked], RunRow | None]:
    """Return what was asked of the runs that a page shows, each with its ε, and one of the runs."""
    if page in _OF_RUNS:
        found = [row for key in value("runs") if (row := find_row(key))]
        return [_ask(row.config, row.epsilon, ended=row.ended) for row in found], found[0] if found else None
    alike = {(row.method, row.variant, row.epsilon, row.delta): row for row in get_shown()}
    asked = [_ask(json.loads(row.setting), row.epsilon, ended=True) for row in alike.values()]
    return asked, find_row(get_shown()[0].keys[0]) if asked else None


def _ask(config: Mapping[str, Any], spent: float | None, *, ended: bool) -> Asked:
    """Return what was asked of a run, without its ε where none is proved any more, as after a choice by raw numbers."""
    unproved = ended and spent is None and _find_accounting(config["method"]) == "proved"
    return ({**config, "epsilon": None}, None) if unproved else (config, spent)


def tell_shown(asked: Sequence[Asked]) -> dict[str, str]:
    """Return what runs have in common, and where they differ what each has."""
    facts = [_tell_run(*each) for each in asked]
    facts = [{**each, "notion": each["notion"].removesuffix(_MEASURED)} for each in facts]
    found = {name: list(dict.fromkeys(each[name] for each in facts)) for name in facts[0]}
    private = [text for text in found["protects"] if not text.startswith("nothing")]
    told = {name: _list_few(texts) for name, texts in found.items()}
    budgets = found["ε"][0] if len(found["ε"]) == 1 else _list_budgets(asked)
    return {**told, "ε": budgets, "protects": _list_few(private) or "nothing"}


def _list_budgets(asked: Sequence[Asked]) -> str:
    """Return several budgets, of many the lowest and the highest, with their δ once."""
    private = [(budget, config) for config, epsilon in asked if (budget := _find_budget(config, epsilon))]
    budgets = sorted({budget for budget, _ in private})
    deltas = sorted({config["delta"] for _, config in private})
    accounted = _say_accounted({_find_accounting(config["method"]) for _, config in private})
    texts = [epsilon_text(budget) for budget in budgets]
    listed = ", ".join(texts) if len(texts) <= _FEW else f"{texts[0]} to {texts[-1]}"
    without = "none, " if len(private) < len(asked) else ""
    return f"{without}{listed} (δ = {' or '.join(map(delta_text, deltas))}, {accounted})" if private else "none"


def _find_accounting(method: Mapping[str, Any]) -> str:
    """Return how the ε of a private method is accounted, from its name and what else was asked of it."""
    return name_accounting_of(method["name"], method.get("variant"))


def _say_accounted(variants: Collection[str]) -> str:
    """Return how budgets were accounted, in the words that stand beside every ε."""
    return " or ".join(words for name, words in ACCOUNTED.items() if name in variants)


def _list_few(texts: Sequence[str]) -> str:
    more = len(texts) - _FEW
    return "; ".join(texts[:_FEW]) + (f" and {more} more" if more > 0 else "")


def _tell_choice() -> dict[str, str]:
    name = value("method") if value("method") in methods() else DEFAULT_METHOD
    paid = value("reuse") != "new" and bool(methods()[name].info.reuses)
    asked = {"name": name, "variant": value("variant") if value("variant") in methods()[name].info.variants else None}
    facts = _describe(
        data=value("data"), notion=value("notion"), method=asked, epsilon=value("epsilon"), delta=value("delta")
    )
    return {**facts, "ε": _tell_paid(value("reuse"))} if paid else facts


def _tell_paid(key: str) -> str:
    """Return what the release of the run called `key` cost."""
    row = find_row(key)
    return "spent by an earlier run" if row is None else f"{epsilon_text(row.epsilon)}, spent by an earlier run"


def _tell_run(config: Mapping[str, Any], epsilon: float | None) -> dict[str, str]:
    facts = _describe(
        data=write_config(config["data"]),
        notion=config["notion"],
        method=config["method"],
        epsilon=_find_budget(config, epsilon),
        delta=config["delta"],
    )
    replayed = config.get("replay_noise") is not None
    return {**facts, "ε": "none: its noise can be repeated", "protects": "nothing"} if replayed else facts


def _find_budget(config: Mapping[str, Any], epsilon: float | None) -> float | None:
    """Return the ε of a run; None where none covers it."""
    private = methods()[config["method"]["name"]].info.threat_model is not None
    asked: float | None = epsilon if config["epsilon"] is None else config["epsilon"]
    return asked if private and config.get("replay_noise") is None else None


def _describe(
    *, data: str, notion: str, method: Mapping[str, Any], epsilon: float | None, delta: float
) -> dict[str, str]:
    info = methods()[method["name"]].info
    title = notions()[notion].title if notion in notions() else notion
    accounted = _say_accounted({_find_accounting(method)})
    budget = "none is proved" if epsilon is None else f"{epsilon_text(epsilon)} (δ = {delta_text(delta)}, {accounted})"
    return {
        "data": describe_reference(data),
        "notion": title if info.pursues_notion else f"{title}{_MEASURED}",
        "method": info.title,
        "ε": "none" if info.threat_model is None else budget,
        "protects": protected(info.threat_model, name_unit_of(data)),
    }
