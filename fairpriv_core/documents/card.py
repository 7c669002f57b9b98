"""A model card: what a model is for, how it was measured, and what to beware of (Mitchell et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.document import Bullets, Document, Part, Section, Text
from fairpriv_core.documents.markdown import write_markdown
from fairpriv_core.documents.report_numbers import class_rows, group_rows, paid_rows, run_rows
from fairpriv_core.facts import wording
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.records.config import format_network
from fairpriv_core.records.release import Kind

_USE = (
    "For research into privacy and fairness, and for choosing among trade-offs. It was not made to decide about real "
    "people by itself, and nothing here shows that it would do that well."
)
_ETHICS = (
    "A classifier repeats its labels, and their errors too. A small gap in one notion of fairness says nothing about "
    "another: the same model may have a large one there."
)


def build_card(chosen: Chosen[Kind], *, paid: bool) -> tuple[Section, ...]:
    """Return the model card of one setting as sections: the nine of Mitchell et al. (2019), under a heading.

    `paid`: with numbers that ε covers or that are public, and no others. Beside randomised answers there are no others.
    """
    first, paid = chosen.first, paid or chosen.first.data.answered
    data, method, encoding = first.data, first.method, chosen.row.encoding
    steps = "" if first.steps is None else f"{first.steps:,} steps on "  # not told where no ε covers them
    trained = f"{steps}{data.n_train:,} rows{format_network(first.config)}"
    named = f"'{data.positive}' of {data.label}"
    if data.positive is None:
        named = f"which {data.label} it is, of {'; '.join(data.labels)}"
    parts: dict[str, tuple[Part, ...]] = {
        "Model details": (Text(f"{method.title}: {method.summary} {method.citation}. Key {first.key}; {trained}."),),
        "Intended use": (Text(f"It predicts {named}. {_USE}"),),
        "Factors": (Text(f"Groups by {data.sensitive}: {'; '.join(data.groups)}."),),
        "Metrics": (Text(f"Accuracy, and the gap of {first.notion.title.lower()}. {first.asks}"),),
        "Evaluation data": (Text(f"{data.title}: {data.n_test:,} rows held out before training."),),
        "Training data": (
            Text(f"{data.title}: {data.n_train:,} rows. {data.summary}"),
            *((Text(f"Left out were {wording.thinned_text(ratio)}."),) if (ratio := chosen.row.group_ratio) else ()),
            *((Text(f"Encoding {wording.encoding_text(encoding)}."),) if encoding != ENCODINGS[0] else ()),
            Text(f"Licence: {data.licence or 'not known to this software'}."),
        ),
        "Quantitative analyses": _build_numbers(chosen, paid=paid),
        "Ethical considerations": (
            Text(f"{first.epsilon.line} {first.epsilon.odds}"),
            Text(_ETHICS),
        ),
        "Caveats and recommendations": (_build_caveats(chosen),),
    }
    head = Section(f"Model card of {chosen.name}", (Text("In the form of Mitchell et al. (2019)."),))
    return head, *(Section(title, each, level=3) for title, each in parts.items())


def write_cards(chosen: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return the model cards of the runs, one after the other, as Markdown."""
    return "\n".join(write_markdown(_write_card(each, audience)) for each in chosen)


def _write_card(chosen: Chosen[Kind], audience: Audience) -> Document:
    head, *sections = build_card(chosen, paid=audience == "policy")
    return Document(head.title, audience, tuple(sections), find_origin([chosen.first.config["data"]]))


def _build_numbers(chosen: Chosen[Kind], *, paid: bool) -> tuple[Part, ...]:
    table = paid_rows((chosen,)) if paid else run_rows((chosen,))
    tables = [group_rows(chosen, paid=paid), class_rows(chosen, paid=paid)]
    missing = tuple(Text(reason) for reason in chosen.first.missing)
    return (table, *(each for each in tables if each is not None), *missing)


def _build_caveats(chosen: Chosen[Kind]) -> Part:
    first = chosen.first
    sentences = [*first.data.caveats, first.notion.misleads, *first.caveats]
    return Bullets(tuple(dict.fromkeys(sentences)))
