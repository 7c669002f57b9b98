"""The chapters on what was asked: the data in words, the methods, and what every ε promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairpriv_core.records.record import is_covered
from fairpriv_core.report import wording
from fairpriv_core.report.brief import Bullets, Cell, Part, Section, Table, Text
from fairpriv_core.report.brief_runs import Beside, Chosen, Told
from fairpriv_core.report.figures import epsilon_dots
from fairpriv_core.report.tables import REPLAYED
from fairpriv_core.text import delta_text, epsilon_text

_PICKED = "Which runs are reported: if somebody picked them by their raw numbers, no ε covers that choice."
_ALONE = (
    "Each ε above is that of one run alone. Whoever sees several runs on the same people learns more than from any "
    "one of them."
)
_TOGETHER = "What the reported runs cost together:"
_LEDGER = (
    "What all runs on the same people have cost up to {day} (UTC), those that are not in this report, wait or still "
    "run included:"
)
_GUESSED = (
    "Other columns may give the protected attribute away: what they tell of it about people in general, ε does not "
    "limit."
)
_NOT_FAIR = (
    "ε does not say that the model is fair, nor that its decisions are right: it says how little the model tells about "
    "one person."
)


def tell_question(chosen: Sequence[Chosen], *, plainly: bool) -> Section:
    """Return what was asked: each method and the fairness that it was to reach; `plainly`: without its own terms."""
    if plainly:
        table = Table(("run", "method", "what it does"), tuple((e.mark, _title(e), _say_plainly(e)) for e in chosen))
    else:
        told = ((e.mark, e.first["method"]) for e in chosen)
        rows = tuple((mark, method["title"], method["summary"], method["citation"]) for mark, method in told)
        table = Table(("run", "method", "what it does", "source"), rows)
    notions = _once((each.first["notion"]["title"], each) for each in chosen)
    parts: list[Part] = [table]
    for title, each in notions.items():
        notion = each.first["notion"]
        parts.append(Text(f"{title} ({notion['citation']}). {notion['asks']}"))
        parts.append(Text(f"When it misleads: {notion['misleads']}"))
    return Section("What was asked", tuple(parts))


def tell_data(chosen: Sequence[Chosen]) -> Section:
    """Return the data in words, once for each data set and sensitive attribute."""
    parts: list[Part] = []
    for each in _once((_name_data(each), each) for each in chosen).values():
        parts += [Table(("data", each.first["data"]["title"]), _list_facts(each))]
        parts += [Text(caveat, strong=True) for caveat in each.first["data"]["caveats"]]
    return Section("The data", tuple(parts))


def tell_privacy(chosen: Sequence[Chosen], beside: Beside, *, plainly: bool) -> Section:
    """Return every ε with δ, what is protected and how it was accounted, in odds; and what all runs cost together.

    `plainly`: the proved ε alone, with a line on what the methods' papers claim.
    """
    head = ("run", "protects", "budget asked for", "ε proved", "δ", "ε by the paper's accounting")
    rows = tuple(_list_privacy(each) for each in chosen)
    table = Table(head[:-1], tuple(row[:-1] for row in rows)) if plainly else Table(head, rows)
    parts: list[Part] = [table]
    for each in chosen:
        record = {**each.record, "epsilon_published": None} if plainly else each.record
        parts.append(
            Text(f"{each.mark}, {_title(each)}: {wording.epsilon_line(record)} {each.first['odds']['sentence']}")
        )
    if plainly:
        parts += [Text(sentence) for sentence in mark_runs(_compare_claims(chosen), len(chosen))]
    known = [(each.record["epsilon"], each.first["odds"]["sure"]) for each in chosen]
    proved = [(epsilon, sure) for epsilon, sure in known if epsilon is not None]
    if proved:
        parts.append(epsilon_dots(*max(proved)))
    parts.append(Text(_ALONE, strong=True))
    if len({told["record"]["key"] for each in chosen for told in each.runs}) > 1:
        parts += _list_totals(_TOGETHER, beside.together)
    return Section("What privacy promises", (*parts, *_list_totals(_LEDGER.format(day=beside.day), beside.ledger)))


def tell_limits(chosen: Sequence[Chosen]) -> Section:
    """Return what no ε of these runs promises."""
    said: dict[str, list[str]] = {}
    for each in chosen:
        if not is_covered(each.record):
            said.setdefault("Nothing is promised: no ε is proved.", []).append(each.mark)
        elif each.record["threat_model"] == "attribute":
            sentence = (
                f"Whole records: only {each.record['data']['sensitive']} is protected. For everything else about a "
                "person, features and label, there is no bound."
            )
            said.setdefault(sentence, []).append(each.mark)
            said.setdefault(_GUESSED, []).append(each.mark)
    return Section("What is not promised", (Bullets((*mark_runs(said, len(chosen)), _NOT_FAIR, _PICKED)),))


def tell_assumptions(chosen: Sequence[Chosen]) -> Section:
    """Return what every ε takes as given, each sentence once with the runs that it is about."""
    said: dict[str, list[str]] = {}
    for each in chosen:
        for sentence in each.record["assumptions"]:
            said.setdefault(sentence, []).append(each.mark)
    return Section("What is taken as given", (Bullets(mark_runs(said, len(chosen))),))


def mark_runs(said: dict[str, list[str]], count: int) -> tuple[str, ...]:
    """Return each sentence, with its runs where it is not about all `count` of them."""
    return tuple(
        sentence if len(set(marks)) == count else f"{', '.join(dict.fromkeys(marks))}: {sentence}"
        for sentence, marks in said.items()
    )


def _once(named: Iterable[tuple[str, Chosen]]) -> dict[str, Chosen]:
    found: dict[str, Chosen] = {}
    for name, each in named:
        found.setdefault(name, each)
    return found


def _name_data(each: Chosen) -> str:
    words = each.first["data"]
    return f"{each.row.dataset}:{each.row.sensitive}:{words['label']}:{words['positive']}:{each.row.data}"


def _list_facts(each: Chosen) -> tuple[tuple[Cell, ...], ...]:
    words, data = each.first["data"], each.record["data"]
    groups = data["group_names"]
    more = f" and {len(groups) - 12} more" if len(groups) > 12 else ""
    return (
        ("what it is", words["summary"]),
        ("source", words["citation"] or "uploaded; it is not part of this report"),
        ("licence", words["licence"] or "not known to this software"),
        ("rows", f"{data['n_train']:,} to train on and {data['n_test']:,} to test on"),
        *((("rows used", wording.few_text(each.row.rows)),) if each.row.rows else ()),
        *((("left out", wording.thinned_text(each.group_ratio)),) if each.group_ratio else ()),
        ("what is predicted", _say_predicted(words, data["label_names"])),
        ("sensitive attribute", f"{data['sensitive']}: {'; '.join(groups[:12])}{more}"),
        ("predicted from", ", ".join(data["columns"] or ()) or "features that were made before"),
    )


def _say_predicted(words: Told, labels: Sequence[str]) -> str:
    if words["positive"] is None:
        return f"{words['label']}, one of {len(labels)}: {'; '.join(labels)}"
    return f"{words['label']}, and '{words['positive']}' counts as positive"


def _title(each: Chosen) -> str:
    title: str = each.first["method"]["title"]
    return title


def _say_plainly(each: Chosen) -> str:
    aims = (
        "Learns to decide rightly and to keep the gap small"
        if each.first["method"]["pursues_notion"]
        else "Learns to decide rightly; fairness is only measured"
    )
    return f"{aims}. Protects {wording.protected(each.record['threat_model'])}."


def _compare_claims(chosen: Sequence[Chosen]) -> dict[str, list[str]]:
    """Return a line on what methods' papers claim beside what is proved, with the runs that it is about."""
    said: dict[str, list[str]] = {}
    for each in chosen:
        claimed, proved = each.record["epsilon_published"], each.record["epsilon"]
        if claimed is not None and epsilon_text(claimed) != epsilon_text(proved):
            line = "The method's paper claims a number that is not proved; it is not shown."
            if proved is not None:
                other = "smaller" if claimed < proved else "larger"
                line = f"The method's paper computes a {other} number; we show the one that is proved."
            said.setdefault(line, []).append(each.mark)
    return said


def _list_privacy(each: Chosen) -> tuple[Cell, ...]:
    record = each.record
    private = record["threat_model"] is not None
    published = record["epsilon_published"]
    return (
        each.mark,
        "nothing: its noise can be repeated"
        if each.row.variant == REPLAYED
        else wording.protected(record["threat_model"]),
        None if each.row.epsilon is None else f"{each.row.epsilon:g}",
        epsilon_text(record["epsilon"]) if private else "not private",
        delta_text(record["delta"]) if private else None,
        None if published is None else epsilon_text(published),
    )


def _list_totals(said: str, totals: Sequence[Told]) -> list[Part]:
    """Return a table of totals under a sentence, and why one has no bound; [] where there are none."""
    if not totals:
        return []
    table = Table(("data", "protects", "runs", "ε together", "δ"), tuple(map(_list_total, totals)))
    reasons = tuple(_explain_total(one) for one in totals if one["reason"])
    return [Text(said), table, *((Bullets(reasons),) if reasons else ())]


def _list_total(one: Told) -> tuple[Cell, ...]:
    epsilon = "no bound" if one["epsilon"] is None else epsilon_text(one["epsilon"])
    return one["data"], _name_column(one["column"]), one["runs"], epsilon, delta_text(one["delta"])


def _explain_total(one: Told) -> str:
    return f"No bound for {_name_column(one['column'])}: {one['reason']}"


def _name_column(column: str | None) -> str:
    return "whole records" if column is None else column
