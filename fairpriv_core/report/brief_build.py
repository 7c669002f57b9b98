"""Puts a report together: all that an analyst needs, or what may be handed on in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairpriv_core.records.record import is_covered
from fairpriv_core.report.brief import NOTICES, Audience, Brief, Bullets, Part, Section, Text
from fairpriv_core.report.brief_checks import tell_caveats, tell_checks, tell_repeat, tell_settings
from fairpriv_core.report.brief_classes import tell_classes
from fairpriv_core.report.brief_data import (
    mark_runs,
    tell_assumptions,
    tell_data,
    tell_limits,
    tell_privacy,
    tell_question,
)
from fairpriv_core.report.brief_numbers import (
    chosen_trade_off,
    constant_rows,
    curve_figures,
    group_figures,
    group_rows,
    paid_rows,
    reference_rows,
    run_rows,
)
from fairpriv_core.report.brief_runs import Beside, Chosen
from fairpriv_core.report.card import tell_card

_APPENDIX = "From here on: for whoever checks the runs or repeats them. It uses the methods' own terms."
_NOT_SHOWN = "A run without privacy and fairness is not shown: no ε covers its numbers."
_NO_GAP = (
    "No fairness number of {runs} may be shown: launched without a private evaluation. To have one, launch again with "
    "private evaluation: the switch on Train, or fairpriv train with --private-evaluation. A run's ε is the same with "
    "it; but another run costs its own ε, in the ledger too."
)


def build_brief(chosen: Sequence[Chosen], beside: Beside, audience: Audience) -> Brief:
    """Return the report on the chosen runs; they and what stands `beside` them are as `audience` may see them."""
    told = _tell_analyst if audience == "analyst" else _tell_policy
    return Brief(_name(chosen), NOTICES[audience], told(chosen, beside))


def _tell_analyst(chosen: Sequence[Chosen], beside: Beside) -> tuple[Section, ...]:
    table = run_rows(chosen)
    table = replace(table, rows=(*table.rows, *constant_rows(chosen), *reference_rows(beside.references)))
    return (
        tell_question(chosen, plainly=False),
        tell_data(chosen),
        tell_privacy(chosen, beside, plainly=False),
        tell_limits(chosen),
        tell_assumptions(chosen),
        Section("What came out", (table, *_one(chosen_trade_off(chosen, paid=False)))),
        _tell_groups(chosen, paid=False),
        *tell_classes(chosen, paid=False),
        *_tell_paid(chosen),
        Section("While training", tuple(curve_figures(chosen)) or (Text("These runs keep no curves."),)),
        *tell_checks(chosen),
        tell_caveats(chosen),
        tell_settings(chosen),
        tell_repeat(chosen),
        *_tell_cards(chosen, paid=False),
    )


def _tell_policy(chosen: Sequence[Chosen], beside: Beside) -> tuple[Section, ...]:
    missing: dict[str, list[str]] = {}
    for each in chosen:
        for reason in each.first["missing"]:
            missing.setdefault(reason, []).append(each.mark)
    always = "Curves while training, raw group sizes, and attacks on the trained models: nobody paid for these numbers."
    return (
        tell_question(chosen, plainly=True),
        tell_data(chosen),
        tell_privacy(chosen, beside, plainly=True),
        tell_limits(chosen),
        _tell_costs(chosen, beside),
        *_tell_paid(chosen),
        Section("What is left out, and why", (Bullets((*mark_runs(missing, len(chosen)), always)),)),
        Section("Appendix", (Text(_APPENDIX),)),
        tell_assumptions(chosen),
        *tell_checks(chosen),
        *_tell_cards(chosen, paid=True),
        tell_repeat(chosen),
    )


def _tell_costs(chosen: Sequence[Chosen], beside: Beside) -> Section:
    """Return accuracy and gap as they may be published, what they are held against, and why a gap is missing."""
    table = paid_rows(chosen)
    parts: list[Part] = [replace(table, rows=(*table.rows, *constant_rows(chosen)))]
    if beside.references:
        keys = ", ".join(each.key for each in beside.references)
        parts.append(Text(f"{_NOT_SHOWN} The store holds one, which an analyst can read: {keys}."))
    unpaid = [each.mark for each in chosen if is_covered(each.record) and not each.record["metrics_private"]]
    if unpaid:
        parts.append(Text(_NO_GAP.format(runs=", ".join(unpaid)), strong=True))
    parts += _one(chosen_trade_off(chosen, paid=True))
    return Section("What it costs in accuracy, and how fair it is", tuple(parts))


def _tell_cards(chosen: Sequence[Chosen], *, paid: bool) -> tuple[Section, ...]:
    return tuple(section for each in chosen for section in tell_card(each, paid=paid))


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
    return (section, *tell_classes(chosen, paid=True)) if section.parts else ()


def _one(figure: Part | None) -> tuple[Part, ...]:
    return () if figure is None else (figure,)


def _name(chosen: Sequence[Chosen]) -> str:
    titles = dict.fromkeys(each.first["data"]["title"] for each in chosen)
    runs = "one setting" if len(chosen) == 1 else f"{len(chosen)} settings"
    return f"Privacy and fairness of {runs}: {', '.join(titles)}"
