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


def build_card(setting: Chosen[Kind], *, paid: bool) -> tuple[Section, ...]:
    """Return the model card of one setting as sections: the nine of Mitchell et al. (2019), under a heading.

    `paid`: with the numbers alone that ε covers or that are public, as always where groups are randomised answers.
    """
    first, paid = setting.first, paid or setting.first.data.answered
    data, method, encoding = first.data, first.method, setting.row.encoding
    steps = "" if first.steps is None else f"{first.steps:,} steps on "  # not told where no ε covers them
    training = f"{steps}{data.n_train:,} rows{format_network(first.config)}"
    prediction = f"'{data.positive}' of {data.label}"
    if data.positive is None:
        prediction = f"which {data.label} it is, of {'; '.join(data.labels)}"
    caveats = [*data.caveats, first.notion.misleads, *first.caveats]
    parts: dict[str, tuple[Part, ...]] = {
        "Model details": (Text(f"{method.title}: {method.summary} {method.citation}. Key {first.key}; {training}."),),
        "Intended use": (Text(f"It predicts {prediction}. {_USE}"),),
        "Factors": (Text(f"Groups by {data.sensitive}: {'; '.join(data.groups)}."),),
        "Metrics": (Text(f"Accuracy, and the gap of {first.notion.title.lower()}. {first.asks}"),),
        "Evaluation data": (Text(f"{data.title}: {data.n_test:,} rows held out before training."),),
        "Training data": (
            Text(f"{data.title}: {data.n_train:,} rows. {data.summary}"),
            *((Text(f"Left out were {wording.thinned_text(ratio)}."),) if (ratio := setting.row.group_ratio) else ()),
            *((Text(f"Encoding {wording.encoding_text(encoding)}."),) if encoding != ENCODINGS[0] else ()),
            Text(f"Licence: {data.licence or 'not known to this software'}."),
        ),
        "Quantitative analyses": _build_numbers(setting, paid=paid),
        "Ethical considerations": (
            Text(f"{first.epsilon.line} {first.epsilon.odds}"),
            Text(_ETHICS),
        ),
        "Caveats and recommendations": (Bullets(tuple(dict.fromkeys(caveats))),),
    }
    head = Section(f"Model card of {setting.name}", (Text("In the form of Mitchell et al. (2019)."),))
    return head, *(Section(title, content, level=3) for title, content in parts.items())


def write_cards(settings: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return the model cards of the runs, one after the other, as Markdown."""
    return "\n".join(write_markdown(_write_card(setting, audience)) for setting in settings)


def _write_card(setting: Chosen[Kind], audience: Audience) -> Document:
    head, *sections = build_card(setting, paid=audience == "policy")
    return Document(head.title, audience, tuple(sections), find_origin([setting.first.config["data"]]))


def _build_numbers(setting: Chosen[Kind], *, paid: bool) -> tuple[Part, ...]:
    table = paid_rows((setting,)) if paid else run_rows((setting,))
    tables = [group_rows(setting, paid=paid), class_rows(setting, paid=paid)]
    reasons = tuple(Text(reason) for reason in setting.first.missing)
    return (table, *(part for part in tables if part is not None), *reasons)
