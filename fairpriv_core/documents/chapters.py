"""The chapters of a report: what was asked, what every ε promises, checks, caveats, settings, and how to repeat it.

They are put together for an analyst, who needs everything, or in plain words for whoever is handed the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.documents.card import build_card
from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.document import (
    DETAILS,
    Bullets,
    Cell,
    Code,
    Document,
    Part,
    Section,
    TablePart,
    Text,
)
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.documents.report_numbers import (
    build_classes,
    constant_rows,
    curve_figures,
    group_figures,
    group_rows,
    paid_rows,
    reference_rows,
    run_rows,
)
from fairpriv_core.documents.summary import build_summary
from fairpriv_core.facts import wording
from fairpriv_core.facts.run_facts import Audience, DataFacts
from fairpriv_core.facts.tables import REPLAYED
from fairpriv_core.figures.audits import (
    at_own_delta,
    attribute_bars,
    best_lower_bound,
    bound_bars,
    membership_bars,
)
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.figures import epsilon_dots
from fairpriv_core.figures.origin import Origin, find_origin
from fairpriv_core.grouping import group_by
from fairpriv_core.ledger.report import Spent
from fairpriv_core.records.audit import NOTHING_TO_GUESS, CodeAudit
from fairpriv_core.records.release import Kind
from fairpriv_core.text import at_least_text, delta_text, epsilon_text

_PICKED = "The choice of these runs: if somebody chose them by their raw numbers, no ε covers it."
_ALONE = "Each ε above is of one run alone. Someone who sees several runs on the same people learns more than from one."
_TOGETHER = "What the reported runs cost together:"
_LEDGER = (
    "What all runs on the same people have cost up to {day} (UTC), including those outside this report, queued or "
    "running:"
)
_GUESSED = "Other columns may give the protected attribute away; ε does not limit that."
_NOT_FAIR = (
    "ε does not say that the model is fair, nor that its decisions are right: it limits what the model reveals about "
    "one person."
)
_PRIVACY_HEAD = ("run", "protects", "budget asked for", "ε proved", "δ", "ε by the paper's or author's accounting")
_SEEDS = ("seed", "replay_noise")
_APPENDIX = "The rest is for people who check or repeat the runs. It uses technical terms."
_NOT_SHOWN = "A run without privacy and fairness is not shown: no ε covers its numbers."
_NO_GAP = (
    "No fairness number of {runs} may be shown: private evaluation was off. The page Run offers one where an ε can "
    "cover it, at its cost."
)


def build_question(settings: Sequence[Chosen[Kind]], *, plainly: bool) -> Section:
    """Return what was asked: each method and the fairness that it was to reach; `plainly`: without its own terms."""
    if plainly:
        table = TablePart(
            ("run", "method", "what it does"),
            tuple((setting.mark, setting.first.method.title, _format_plainly(setting)) for setting in settings),
        )
    else:
        methods = ((e.mark, e.first.method) for e in settings)
        rows = tuple((mark, method.title, method.summary, method.citation) for mark, method in methods)
        table = TablePart(("run", "method", "what it does", "source"), rows)
    parts: list[Part] = [table]
    for title, (setting, *_) in group_by(settings, lambda setting: setting.first.notion.title).items():
        notion = setting.first.notion
        parts.append(Text(f"{title} ({notion.citation}). {setting.first.asks}"))
        parts.append(Text(f"When it misleads: {notion.misleads}"))
    return Section("What was asked", tuple(parts))


def build_data(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return the data in words, once for each data set and sensitive attribute."""
    parts: list[Part] = []
    for setting, *_ in group_by(settings, _name_data).values():
        parts += [TablePart(("data", setting.first.data.title), _list_facts(setting))]
        parts += [Text(caveat, strong=True) for caveat in setting.first.data.caveats]
    return Section("The data", tuple(parts))


def build_privacy(settings: Sequence[Chosen[Kind]], beside: ReportData, *, plainly: bool) -> Section:
    """Return every ε with δ, what is protected and how it was accounted, in odds; and what all runs cost together.

    `plainly`: the proved ε alone with a line on what papers claim; an earlier chapter has the table and the dots.
    """
    rows = tuple(_list_privacy(setting) for setting in settings)
    parts: list[Part] = [] if plainly else [TablePart(_PRIVACY_HEAD, rows)]
    for setting in settings:
        epsilon = replace(setting.first.epsilon, claimed=None) if plainly else setting.first.epsilon
        parts.append(Text(f"{setting.mark}, {setting.first.method.title}: {epsilon.line} {epsilon.odds}"))
    if plainly:
        parts += [Text(sentence) for sentence in mark_runs(settings, _compare_claims)]
    else:
        parts += _draw_dots(settings)
    parts.append(Text(_ALONE, strong=True))
    if len({run.key for setting in settings for run in setting.runs}) > 1:
        parts += _list_totals(_TOGETHER, beside.together)
    return Section("What privacy promises", (*parts, *_list_totals(_LEDGER.format(day=beside.day), beside.ledger)))


def _build_protected(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return the proved ε of each run in a row, and the largest as dots."""
    head, *rows = ((row[0], row[1], *row[3:5]) for row in (_PRIVACY_HEAD, *map(_list_privacy, settings)))
    return Section("What is protected", (TablePart(tuple(map(str, head)), tuple(rows)), *_draw_dots(settings)))


def _draw_dots(settings: Sequence[Chosen[Kind]]) -> tuple[Part, ...]:
    """Return what the largest proved ε lets an attacker learn as dots; () where none is proved."""
    pairs = [(setting.first.epsilon.proved, setting.first.epsilon.sure) for setting in settings]
    proved = [(epsilon, sure) for epsilon, sure in pairs if epsilon is not None and sure is not None]
    return (epsilon_dots(*max(proved)),) if proved else ()


def build_limits(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return what no ε of these runs promises."""
    return Section("What is not promised", (Bullets((*mark_runs(settings, _list_limits), _NOT_FAIR, _PICKED)),))


def _list_limits(setting: Chosen[Kind]) -> tuple[str, ...]:
    if not setting.first.epsilon.is_covered:
        return ("Nothing is promised: no ε is proved.",)
    if setting.first.epsilon.threat_model != "attribute":
        return ()
    sensitive = setting.first.data.sensitive
    bound = "For everything else about a person, features and label, there is no bound."
    return f"Whole records: only {sensitive} is protected. {bound}", _GUESSED


def build_assumptions(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return what every ε takes as given, each sentence once with the runs that it is about."""
    return Section("What is assumed", (Bullets(mark_runs(settings, lambda setting: setting.first.assumptions)),))


def mark_runs(
    settings: Sequence[Chosen[Kind]], list_sentences: Callable[[Chosen[Kind]], Iterable[str]]
) -> tuple[str, ...]:
    """Return the sentences on runs, each once; one that is not about all runs begins with the marks of its own."""
    pairs = ((setting.mark, sentence) for setting in settings for sentence in dict.fromkeys(list_sentences(setting)))
    marks_by_sentence = group_by(pairs, lambda pair: pair[1])
    return tuple(
        sentence if len(own) == len(settings) else f"{', '.join(mark for mark, _ in own)}: {sentence}"
        for sentence, own in marks_by_sentence.items()
    )


def _name_data(setting: Chosen[Kind]) -> str:
    words = setting.first.data
    return f"{setting.row.dataset}:{setting.row.sensitive}:{words.label}:{words.positive}:{setting.row.data}"


def _list_facts(setting: Chosen[Kind]) -> tuple[tuple[Cell, ...], ...]:
    data, ratio = setting.first.data, setting.row.group_ratio
    more = f" and {len(data.groups) - 12} more" if len(data.groups) > 12 else ""
    return (
        ("what it is", data.summary),
        ("source", data.citation or "uploaded; it is not part of this report"),
        ("licence", data.licence or "not known to this software"),
        ("rows", f"{data.n_train:,} to train on and {data.n_test:,} to test on"),
        *((("rows used", wording.rows_text(setting.row.rows)),) if setting.row.rows else ()),
        *((("left out", wording.thinned_text(ratio)),) if ratio else ()),
        *((("encoding", wording.encoding_text(setting.row.encoding)),) if setting.row.encoding != ENCODINGS[0] else ()),
        ("what is predicted", _format_predicted(data)),
        ("sensitive attribute", f"{data.sensitive}: {'; '.join(data.groups[:12])}{more}"),
        ("predicted from", ", ".join(data.columns or ()) or "features that were made before"),
    )


def _format_predicted(data: DataFacts) -> str:
    if data.positive is None:
        return f"{data.label}, one of {len(data.labels)}: {'; '.join(data.labels)}"
    return f"{data.label}, and '{data.positive}' counts as positive"


def _format_plainly(setting: Chosen[Kind]) -> str:
    aims = (
        "Learns to decide rightly and to keep the gap small"
        if setting.first.method.pursues_notion
        else "Learns to decide rightly; fairness is only measured"
    )
    return f"{aims}. Protects {setting.first.epsilon.protects}."


def _compare_claims(setting: Chosen[Kind]) -> tuple[str, ...]:
    """Return a line on what a method's paper claims beside what is proved; () where it claims just that."""
    epsilon = setting.first.epsilon
    claimed, proved, author = epsilon.claimed, epsilon.proved, epsilon.author
    if claimed is None or epsilon_text(claimed) == epsilon_text(proved):
        return ()
    if proved is not None:
        size = "smaller" if claimed < proved else "larger"
        return (f"The method's paper computes a {size} number; we show the one that is proved.",)
    who = "The method's paper" if author is None else f"The author of {author}"
    return (f"{who} claims a number that is not proved; it is not shown.",)


def _list_privacy(setting: Chosen[Kind]) -> tuple[Cell, ...]:
    epsilon = setting.first.epsilon
    private = epsilon.threat_model is not None
    return (
        setting.mark,
        "nothing: its noise can be repeated" if setting.row.variant == REPLAYED else epsilon.protects,
        None if setting.row.epsilon is None else f"{setting.row.epsilon:g}",
        epsilon_text(epsilon.proved) if private else "not private",
        delta_text(epsilon.delta) if private else None,
        None if epsilon.claimed is None else epsilon_text(epsilon.claimed),
    )


def _list_totals(lead: str, totals: Sequence[Spent]) -> list[Part]:
    """Return a table of totals under a sentence, and why one has no bound; [] where there are none."""
    if not totals:
        return []
    table = TablePart(("data", "protects", "runs", "ε together", "δ"), tuple(map(_list_total, totals)))
    reasons = tuple(f"No bound for {_name_column(total.column)}: {total.reason}" for total in totals if total.reason)
    return [Text(lead), table, *((Bullets(reasons),) if reasons else ())]


def _list_total(total: Spent) -> tuple[Cell, ...]:
    epsilon = "no bound" if total.epsilon is None else epsilon_text(total.epsilon)
    return total.data, _name_column(total.column), total.runs, epsilon, delta_text(total.delta)


def _name_column(column: str | None) -> str:
    return "whole records" if column is None else column


def build_checks(settings: Sequence[Chosen[Kind]]) -> tuple[Section, ...]:
    """Return the chapters on runs that have an estimated bound of their gap, a certificate, or an audit."""
    sections = []
    for setting in settings:
        if setting.first.bounds:
            bounds = _build_seed_table(setting, setting.first.bounds, head=("estimated", "what was told"))
            sections.append(Section(f"Estimated bound of {setting.name}", (bounds,)))
        parts = [*_build_certificates(setting), *_build_audit(setting)]
        if parts:
            sections.append(Section(f"Certificate and audit of {setting.name}", tuple(parts)))
    return tuple(sections)


def _list_caveats(setting: Chosen[Kind]) -> list[str]:
    """Return a run's caveats without its assumptions, which have a chapter of their own."""
    return [sentence for sentence in setting.first.caveats if not sentence.startswith("Assumed: ")]


def build_settings(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return every setting of the runs side by side, the versions of the software, and the records' keys."""
    flat = {setting.mark: _flatten_config(setting) for setting in settings}
    names = dict.fromkeys(name for values in flat.values() for name in values)
    rows = [(name, *(_show(flat[mark].get(name)) for mark in flat)) for name in names]
    rows_with_values = tuple(row for row in rows if any(cell is not None for cell in row[1:]))
    versions = {setting.mark: ", ".join(map(" ".join, setting.first.versions.items())) for setting in settings}
    same = set(versions.values())
    words = [f"{text}" if len(same) == 1 else f"{mark}: {text}" for mark, text in versions.items()]
    keys = tuple(
        (setting.mark, ", ".join(setting.row.keys), ", ".join(map(str, setting.row.seeds))) for setting in settings
    )
    return Section(
        "Settings",
        (
            TablePart(("setting", *flat), rows_with_values, "A dash: not set, or not a setting of this method."),
            Text(f"Made with {'; '.join(dict.fromkeys(words))}."),
            TablePart(("run", "record keys", "seeds"), keys),
        ),
    )


def build_repeat(settings: Sequence[Chosen[Kind]]) -> Section:
    """Return how to repeat each run: its config, and what will be the same."""
    parts: list[Part] = [
        Text(
            "Each listing is the config of a run's first seed. Saved as run.toml, it repeats the run by the command "
            "fairpriv train --config run.toml: the same split, the same initialisation and the same public batches, "
            "under the same key."
        ),
        Text(
            f"{_format_sameness(settings)} In another store the repeated run is not in this one's ledger, and costs "
            "again."
        ),
    ]
    if any(setting.first.config["data"].get("file") for setting in settings):
        parts.append(Text("Data of one's own are not part of this report: name the file with --csv FILE."))
    for setting in settings:
        parts += [Text(f"{setting.name}, key {setting.row.keys[0]}"), Code(setting.first.toml)]
    return Section("How to repeat it", tuple(parts))


def _format_sameness(settings: Sequence[Chosen[Kind]]) -> str:
    exact = [e.mark for e in settings if e.row.threat_model is None]
    if len(exact) == len(settings):
        return "The numbers will be the very same on the same versions: no secret noise is drawn."
    sameness = "Noise is secret and drawn anew, so the numbers will be near these and not the same"
    if exact:
        return f"{sameness}, but for {', '.join(exact)}, which draws none."
    return f"{sameness}; only a run in replay mode repeats them exactly, and such a run protects nobody."


def _build_certificates(setting: Chosen[Kind]) -> list[Part]:
    certificates: Sequence[tuple[str, str]] = setting.first.certificates
    if not certificates:
        return []
    if len(certificates) == 1:  # why there is none
        return [Text(certificates[0][1])]
    return [_build_seed_table(setting, certificates, head=("certified", "what holds"))]


def _build_seed_table(setting: Chosen[Kind], rows: Sequence[tuple[str, str]], *, head: tuple[str, str]) -> TablePart:
    covered = setting.first.epsilon.is_covered
    source = "Made from noisy releases, which ε covers." if covered else ""
    own = "" if len(setting.row.seeds) == 1 else f"It is of the model of seed {setting.first.seed} alone."
    return TablePart(head, tuple(rows), f"{source} {own}".strip(), Origin("released" if covered else "raw"))


def _build_audit(setting: Chosen[Kind]) -> list[Part]:
    audit = setting.first.audit
    if audit is None:
        return []
    parts: list[Part] = []
    if audit["code"] is None:
        parts.append(Text("Audit: this method is not private, so there is no ε for an attack to test."))
    else:
        parts += [Text(_format_audit(audit["code"], audit["made"][:10])), bound_bars(audit["code"])]
    if audit["model"] is not None:
        origin = find_origin([setting.first.config["data"]], tell=False)
        parts.append(membership_bars(audit["model"]["membership"], origin))
        attribute = audit["model"]["attribute"]
        parts.append(Text(NOTHING_TO_GUESS) if attribute is None else attribute_bars(attribute, origin))
    return [replace(p, name=f"{p.name}_{setting.number}") if isinstance(p, FigureData) else p for p in parts]


def _format_audit(code: CodeAudit, day: str) -> str:
    attack, first = code["distinguishing"], at_own_delta(code["distinguishing"])
    lines = [
        f"Audit of {day}: attacks on this method with its noise, on {code['rows']:,} made-up rows, show "
        f"at least ε = {at_least_text(best_lower_bound(code))}"
    ]
    proved = first["epsilon"]
    lines.append("; nothing is proved." if proved is None else f"; proved is at most {epsilon_text(proved)}.")
    for refuted, claim in ((attack["refuted"], "what is proved"), (attack["refuted_published"], "the paper's formula")):
        if refuted:
            lines.append(f" Refuted: the attacks exceed {claim}, with {100 * attack['confidence']:g} % confidence.")
    return "".join(lines) + " A small lower bound means that these attacks found little."


def _flatten_config(setting: Chosen[Kind]) -> dict[str, object]:
    """Return the settings of a run as the method ran, noise included, with a file by its name alone."""
    run = setting.first
    config = {name: value for name, value in run.config.items() if name not in ("data", "method", *_SEEDS)}
    seeds = {"seeds": ", ".join(map(str, setting.row.seeds)), "replay_noise": run.config.get("replay_noise")}
    method = {("method" if name == "name" else name): value for name, value in run.calibrated.items()}
    return {**run.config["data"], **config, **seeds, **method, "steps": run.steps}


def _show(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return None if value is None else str(value)


def build_document(settings: Sequence[Chosen[Kind]], beside: ReportData, audience: Audience) -> Document:
    """Return the report on settings; they and the runs `beside` them hold what `audience` may see."""
    build = _build_analyst if audience == "analyst" else _build_policy
    origin = find_origin(setting.first.config["data"] for setting in settings)
    return Document(_name(settings), audience, build(settings, beside), origin)


def _build_analyst(settings: Sequence[Chosen[Kind]], beside: ReportData) -> tuple[Section, ...]:
    table = run_rows(settings)
    table = replace(table, rows=(*table.rows, *constant_rows(settings), *reference_rows(beside.references)))
    caveats = mark_runs(settings, _list_caveats)
    return (
        build_summary(settings, beside, paid=False),
        build_question(settings, plainly=False),
        build_data(settings),
        build_privacy(settings, beside, plainly=False),
        build_limits(settings),
        build_assumptions(settings),
        Section("What came out", (table,)),
        _build_groups(settings, paid=False),
        *build_classes(settings, paid=False),
        *_build_paid(settings),
        Section("While training", tuple(curve_figures(settings)) or (Text("These runs keep no curves."),)),
        *build_checks(settings),
        Section("Caveats", (Bullets(caveats) if caveats else Text("Nothing more."),)),
        build_settings(settings),
        build_repeat(settings),
        *(section for setting in settings for section in build_card(setting, paid=False)),
    )


def _build_policy(settings: Sequence[Chosen[Kind]], beside: ReportData) -> tuple[Section, ...]:
    always = "Curves while training, raw group sizes, and attacks on the trained models: no ε covers these numbers."
    return (
        build_summary(settings, beside, paid=True),
        _build_costs(settings, beside),
        _build_protected(settings),
        build_limits(settings),
        Section(DETAILS, ()),
        build_question(settings, plainly=True),
        build_data(settings),
        build_privacy(settings, beside, plainly=True),
        *_build_paid(settings),
        Section(
            "What is left out, and why",
            (Bullets((*mark_runs(settings, lambda setting: setting.first.missing), always)),),
        ),
        Section("Appendix", (Text(_APPENDIX),)),
        build_assumptions(settings),
        *build_checks(settings),
        *(section for setting in settings for section in build_card(setting, paid=True)),
        build_repeat(settings),
    )


def _build_costs(settings: Sequence[Chosen[Kind]], beside: ReportData) -> Section:
    """Return accuracy and gap as they may be published, what they are held against, and why a gap is missing."""
    table = paid_rows(settings)
    references = [reference for reference in beside.references if reference.accuracy is not None]
    parts: list[Part] = [replace(table, rows=(*table.rows, *constant_rows(settings), *reference_rows(references)))]
    if hidden := [reference for reference in beside.references if reference.accuracy is None]:
        keys = ", ".join(plain_run.key for plain_run in hidden)
        parts.append(Text(f"{_NOT_SHOWN} The store holds one, which an analyst can read: {keys}."))
    unpaid = [setting.mark for setting in settings if setting.first.missing and setting.first.epsilon.is_covered]
    if unpaid:
        parts.append(Text(_NO_GAP.format(runs=", ".join(unpaid)), strong=True))
    return Section("What it costs in accuracy, and how fair it is", tuple(parts))


def _build_groups(settings: Sequence[Chosen[Kind]], *, paid: bool) -> Section:
    """Return the groups of each run's first seed, in numbers and as bars."""
    parts: list[Part] = []
    for setting in settings:
        table = group_rows(setting, paid=paid)
        if table is not None:
            seeds = f", seed {setting.row.seeds[0]}" if len(setting.runs) > 1 else ""
            parts += [Text(f"{setting.name}{seeds}"), table]
    return Section("Groups" if not paid else "Groups, from noisy counts", (*parts, *group_figures(settings, paid=paid)))


def _build_paid(settings: Sequence[Chosen[Kind]]) -> tuple[Section, ...]:
    """Return what private evaluations say; () where no run has one."""
    section = _build_groups(settings, paid=True)
    return (section, *build_classes(settings, paid=True)) if section.parts else ()


def _name(settings: Sequence[Chosen[Kind]]) -> str:
    titles = dict.fromkeys(setting.first.data.title for setting in settings)
    runs = "one setting" if len(settings) == 1 else f"{len(settings)} settings"
    return f"Privacy and fairness of {runs}: {', '.join(titles)}"
