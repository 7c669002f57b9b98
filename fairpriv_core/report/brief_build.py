"""Puts a report together: all that an analyst needs, or what may be handed on in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.report.brief import NOTICES, Audience, Brief, Bullets, Part, Section, Text
from fairpriv_core.report.brief_checks import tell_caveats, tell_checks, tell_repeat, tell_settings
from fairpriv_core.report.brief_data import mark_runs, tell_assumptions, tell_data, tell_privacy, tell_question
from fairpriv_core.report.brief_numbers import (
    chosen_trade_off,
    curve_figures,
    group_figures,
    group_rows,
    paid_rows,
    run_rows,
)
from fairpriv_core.report.brief_runs import Chosen
from fairpriv_core.report.card import tell_card


def build_brief(chosen: Sequence[Chosen], together: Sequence[Mapping[str, Any]], audience: Audience) -> Brief:
    """Return the report on the chosen runs, which are already as `audience` may see them; `together` is their cost."""
    told = _tell_analyst if audience == "analyst" else _tell_policy
    cards = tuple(section for each in chosen for section in tell_card(each, paid=audience == "policy"))
    return Brief(_name(chosen), NOTICES[audience], (*told(chosen, together), *cards))


def _tell_analyst(chosen: Sequence[Chosen], together: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    return (
        tell_question(chosen),
        tell_data(chosen),
        tell_privacy(chosen, together),
        tell_assumptions(chosen),
        Section("What came out", (run_rows(chosen), *_one(chosen_trade_off(chosen, paid=False)))),
        _tell_groups(chosen, paid=False),
        *_tell_paid(chosen),
        Section("While training", tuple(curve_figures(chosen)) or (Text("These runs keep no curves."),)),
        *tell_checks(chosen),
        tell_caveats(chosen),
        tell_settings(chosen),
        tell_repeat(chosen),
    )


def _tell_policy(chosen: Sequence[Chosen], together: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    figure = chosen_trade_off(chosen, paid=True)
    missing: dict[str, list[str]] = {}
    for each in chosen:
        for reason in each.first["missing"]:
            missing.setdefault(reason, []).append(each.letter)
    always = "Curves while training, raw group sizes, and attacks on the trained models: nobody paid for these numbers."
    return (
        tell_question(chosen),
        tell_data(chosen),
        tell_privacy(chosen, together),
        Section("What it costs in accuracy, and how fair it is", (paid_rows(chosen), *_one(figure))),
        *_tell_paid(chosen),
        Section("What is left out, and why", (Bullets((*mark_runs(missing, len(chosen)), always)),)),
        tell_assumptions(chosen),
        *tell_checks(chosen),
        tell_repeat(chosen),
    )


def _tell_groups(chosen: Sequence[Chosen], *, paid: bool) -> Section:
    """Return the groups of each run's first seed, in numbers and as bars."""
    parts: list[Part] = []
    for each in chosen:
        table = group_rows(each, paid=paid)
        if table is not None:
            seeds = f", seed {each.row.seeds[0]}" if len(each.runs) > 1 else ""
            parts += [Text(f"{each.name}{seeds}"), table]
    return Section("Groups" if not paid else "Groups, from noisy counts", (*parts, *group_figures(chosen, paid=paid)))


def _tell_paid(chosen: Sequence[Chosen]) -> tuple[Section, ...]:
    """Return what private evaluations say; () where no run has one."""
    section = _tell_groups(chosen, paid=True)
    return (section,) if section.parts else ()


def _one(figure: Part | None) -> tuple[Part, ...]:
    return () if figure is None else (figure,)


def _name(chosen: Sequence[Chosen]) -> str:
    titles = dict.fromkeys(each.first["data"]["title"] for each in chosen)
    runs = "one setting" if len(chosen) == 1 else f"{len(chosen)} settings"
    return f"Privacy and fairness of {runs}: {', '.join(titles)}"
