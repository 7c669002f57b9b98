"""The chapters on what was asked: the data in words, the methods, and what every ε promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairpriv_core.report import wording
from fairpriv_core.report.brief import Bullets, Cell, Part, Section, Table, Text
from fairpriv_core.report.brief_runs import Chosen, Told
from fairpriv_core.report.figures import epsilon_dots
from fairpriv_core.report.tables import REPLAYED

_PICKED = "Which runs are reported: if somebody picked them by their raw numbers, no ε covers that choice."
_ALONE = (
    "Each ε above is that of one run alone. Whoever sees several runs on the same people learns more than from any "
    "one of them. What these cost together; the ledger has all others too:"
)


def tell_question(chosen: Sequence[Chosen]) -> Section:
    """Return what was asked: each method and the fairness that it was to reach."""
    rows = [
        (each.letter, each.first["method"]["title"], each.first["method"]["summary"], each.first["method"]["citation"])
        for each in chosen
    ]
    notions = _once((each.first["notion"]["title"], each) for each in chosen)
    parts: list[Part] = [Table(("run", "method", "what it does", "source"), tuple(rows))]
    for title, each in notions.items():
        notion = each.first["notion"]
        parts.append(Text(f"{title} ({notion['citation']}). {notion['asks']}"))
        parts.append(Text(f"When it misleads: {notion['misleads']}"))
    return Section("What was asked", tuple(parts))


def tell_data(chosen: Sequence[Chosen]) -> Section:
    """Return the data in words, once for each data set and sensitive attribute."""
    parts: list[Part] = []
    for each in _once((_name_data(each), each) for each in chosen).values():
        parts += [Table(("data", each.first["data"]["title"]), _list_facts(each.first))]
        parts += [Text(caveat, strong=True) for caveat in each.first["data"]["caveats"]]
    return Section("The data", tuple(parts))


def tell_privacy(chosen: Sequence[Chosen], together: Sequence[Told]) -> Section:
    """Return every ε with δ, what is protected and how it was accounted, in odds; and what all runs cost together."""
    rows = tuple(_list_privacy(each) for each in chosen)
    parts: list[Part] = [
        Table(("run", "budget asked for", "ε proved", "ε by the paper's accounting", "δ", "protects"), rows)
    ]
    parts += [
        Text(f"{_call(each)}: {wording.epsilon_line(each.record)} {each.first['odds']['sentence']}") for each in chosen
    ]
    known = [(each.record["epsilon"], each.first["odds"]["sure"]) for each in chosen]
    proved = [(epsilon, sure) for epsilon, sure in known if epsilon is not None]
    if proved:
        parts.append(epsilon_dots(*max(proved)))
    if len({told["record"]["key"] for each in chosen for told in each.runs}) > 1 and together:
        parts += [
            Text(_ALONE),
            Table(("data", "protects", "runs", "ε together", "δ"), tuple(map(_list_total, together))),
        ]
        parts.append(Bullets(tuple(_explain_total(one) for one in together if one["reason"])))
    return Section("What privacy promises", tuple(part for part in parts if part != Bullets(())))


def tell_assumptions(chosen: Sequence[Chosen]) -> Section:
    """Return what every ε takes as given, each sentence once with the runs that it is about."""
    said: dict[str, list[str]] = {}
    for each in chosen:
        for sentence in each.record["assumptions"]:
            said.setdefault(sentence, []).append(each.letter)
    return Section("What is taken as given", (Bullets((*mark_runs(said, len(chosen)), _PICKED)),))


def mark_runs(said: dict[str, list[str]], count: int) -> tuple[str, ...]:
    """Return each sentence, with the letters of its runs where it is not about all `count` of them."""
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
    return f"{each.row.dataset}:{each.row.sensitive}:{each.first['data']['label']}:{each.first['data']['positive']}"


def _list_facts(told: Told) -> tuple[tuple[Cell, ...], ...]:
    words, data = told["data"], told["record"]["data"]
    groups = data["group_names"]
    more = f" and {len(groups) - 12} more" if len(groups) > 12 else ""
    return (
        ("what it is", words["summary"]),
        ("source", words["citation"] or "uploaded; it is not part of this report"),
        ("licence", words["licence"] or "not known to this software"),
        ("rows", f"{data['n_train']:,} to train on and {data['n_test']:,} to test on"),
        ("what is predicted", f"{words['label']}, and '{words['positive']}' counts as positive"),
        ("sensitive attribute", f"{data['sensitive']}: {'; '.join(groups[:12])}{more}"),
        ("predicted from", ", ".join(data["columns"] or ()) or "features that were made before"),
    )


def _call(each: Chosen) -> str:
    return f"{each.letter}, {each.first['method']['title']}"


def _list_privacy(each: Chosen) -> tuple[Cell, ...]:
    record = each.record
    private = record["threat_model"] is not None
    published = record["epsilon_published"]
    return (
        each.letter,
        None if each.row.epsilon is None else f"{each.row.epsilon:g}",
        wording.epsilon_text(record["epsilon"]) if private else "not private",
        None if published is None else wording.epsilon_text(published),
        wording.delta_text(record["delta"]) if private else None,
        "nothing: its noise can be repeated"
        if each.row.variant == REPLAYED
        else wording.protected(record["threat_model"]),
    )


def _list_total(one: Told) -> tuple[Cell, ...]:
    epsilon = "no bound" if one["epsilon"] is None else wording.epsilon_text(one["epsilon"])
    return one["data"], _name_column(one["column"]), one["runs"], epsilon, wording.delta_text(one["delta"])


def _explain_total(one: Told) -> str:
    return f"No bound for {_name_column(one['column'])}: {one['reason']}"


def _name_column(column: str | None) -> str:
    return "whole records" if column is None else column
