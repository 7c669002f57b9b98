"""A model card: what a model is for, how it was measured, and what to beware of (Mitchell et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.records.config import tell_network
from fairpriv_core.report import wording
from fairpriv_core.report.chosen import Chosen
from fairpriv_core.report.document import Audience, Bullets, Document, Part, Section, Text
from fairpriv_core.report.markdown import write_markdown
from fairpriv_core.report.public import as_public_report
from fairpriv_core.report.report_numbers import class_rows, group_rows, paid_rows, run_rows

_USE = (
    "For research into privacy and fairness, and for choosing among trade-offs. It was not made to decide about real "
    "people by itself, and nothing here shows that it would do that well."
)
_ETHICS = (
    "A classifier repeats its labels, and their errors too. A small gap in one notion of fairness says nothing about "
    "another: the same model may have a large one there."
)


def tell_card(chosen: Chosen, *, paid: bool) -> tuple[Section, ...]:
    """Return the model card of one setting as sections: the nine of Mitchell et al. (2019), under a heading.

    `paid`: with numbers that ε covers or that are public, and no others.
    """
    record, first = chosen.record, chosen.first
    data, words = record["data"], first.data
    method, encoding = first.method, chosen.row.encoding
    steps = "" if record["steps"] is None else f"{record['steps']:,} steps on "  # not told where no ε covers them
    trained = f"{steps}{data['n_train']:,} rows{tell_network(record['config'])}"
    named = f"'{words.positive}' of {words.label}"
    if words.positive is None:
        named = f"which {words.label} it is, of {'; '.join(data['label_names'])}"
    parts: dict[str, tuple[Part, ...]] = {
        "Model details": (
            Text(f"{method.title}: {method.summary} {method.citation}. Key {record['key']}; {trained}."),
        ),
        "Intended use": (Text(f"It predicts {named}. {_USE}"),),
        "Factors": (Text(f"Groups by {data['sensitive']}: {'; '.join(data['group_names'])}."),),
        "Metrics": (Text(f"Accuracy, and the gap of {first.notion.title.lower()}. {first.notion.asks}"),),
        "Evaluation data": (Text(f"{words.title}: {data['n_test']:,} rows held out before training."),),
        "Training data": (
            Text(f"{words.title}: {data['n_train']:,} rows. {words.summary}"),
            *((Text(f"Left out were {wording.thinned_text(chosen.group_ratio)}."),) if chosen.group_ratio else ()),
            *((Text(f"Encoding {wording.encoding_text(encoding)}."),) if encoding != ENCODINGS[0] else ()),
            Text(f"Licence: {words.licence or 'not known to this software'}."),
        ),
        "Quantitative analyses": _tell_numbers(chosen, paid=paid),
        "Ethical considerations": (
            Text(f"{wording.epsilon_line(record)} {first.odds.sentence}"),
            Text(_ETHICS),
        ),
        "Caveats and recommendations": (_tell_caveats(chosen),),
    }
    head = Section(f"Model card of {chosen.name}", (Text("In the form of Mitchell et al. (2019)."),))
    return head, *(Section(title, each, level=3) for title, each in parts.items())


def write_cards(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return the model cards of the runs, one after the other, as Markdown."""
    return "\n".join(write_markdown(_write_card(each, audience)) for each in chosen)


def _write_card(chosen: Chosen, audience: Audience) -> Document:
    head, *sections = tell_card(chosen, paid=audience == "policy")
    card = Document(head.title, audience, tuple(sections))
    return as_public_report(card, [chosen.record["config"]["data"]]) if audience == "analyst" else card


def _tell_numbers(chosen: Chosen, *, paid: bool) -> tuple[Part, ...]:
    table = paid_rows((chosen,)) if paid else run_rows((chosen,))
    tables = [group_rows(chosen, paid=paid), class_rows(chosen, paid=paid)]
    missing = tuple(Text(reason) for reason in chosen.first.missing)
    return (table, *(each for each in tables if each is not None), *missing)


def _tell_caveats(chosen: Chosen) -> Part:
    first = chosen.first
    said = [*first.data.caveats, first.notion.misleads, *wording.caveats(chosen.record, chosen.raw_text)]
    return Bullets(tuple(dict.fromkeys(said)))
