"""Words for numbers: epsilon with everything that belongs beside it, units, and the caveats of a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import ENCODINGS, DataJson
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.source import is_read_from_rows
from fairpriv_core.text import number_text

PAID = "From noisy counts that ε covers. Whiskers: 95 % interval over the noise and the sampling of the test rows."
ESTIMATED = "Estimated from randomised answers. Whiskers: 95 % interval over the flips and the sampling of test rows."
DECIDED = "decided/"  # and a class's name: the share of a group that is decided for it
#: beside an epsilon of a method with a public part
PUBLIC_PART = "It does not cover the rows that the run took as public: their features and groups are taken as known."
THINNED = "It assumes that the rows left out for a group ratio are public, although they depend on everyone's group."
ONE_SEED = "One seed: no interval can be given."
#: beside gaps that randomised answers tell
BY_ANSWERS = (
    "Gaps of runs on randomised answers are estimates. Their 95 % intervals cover the flips and the sampling of test "
    "rows."
)
LEARNED = (
    "The guarantee assumes that the columns' ranges, bins and categories are public. Here they come from your rows."
)
_SYMBOL = re.compile(r" ([^\W\d_](?:_[^\W\d_]+|[₁₂])?)$")  # at the end of a parameter's title: "C_p", "λ"
_PROTECTED = {
    ("attribute", "person"): "the sensitive attribute of each person",
    ("record", "person"): "the whole record of each person",
    ("attribute", "row"): "the sensitive attribute of each row",
    ("record", "row"): "each whole row",
}


def protected(threat_model: str | None, unit: str = "person") -> str:
    """Return what an epsilon of `threat_model` protects of a "person" or "row": see `records.source.name_unit`."""
    return "nothing: the method is not private" if threat_model is None else _PROTECTED[threat_model, unit]


def format_one_seed(*, by_answers: bool) -> str:
    """Return the sentence on the intervals of one seed: none, but for a gap by answers."""
    return f"One seed: accuracy has no interval. {BY_ANSWERS}" if by_answers else ONE_SEED


def format_given(data: DataJson, threat_model: str | None, method: str) -> str:
    """Return the sentences that stand beside an epsilon of a method on a config's `data`, each after a blank, or ""."""
    thinned = "" if data.get("group_ratio") is None else f" {THINNED}"
    thinned += f" {PUBLIC_PART}" if methods()[method].info.public_part else ""
    return thinned + (f" {LEARNED}" if is_read_from_rows(data, threat_model) else "")


def data_title(data: DataJson) -> str:
    """Return a config's data as a title: what is predicted, by which sensitive attribute.

    >>> data_title({"dataset": "adult", "sensitive": "sex+race"})
    'Adult: income by sex and race'
    >>> data_title({"file": "people.csv", "label": "is_hired", "sensitive": "age:25"})
    'people.csv: is hired by age cut at 25'
    >>> data_title({"file": "people.csv", "label": "hired", "positive": "yes", "sensitive": "sex"})
    'people.csv: hired = yes by sex'
    """
    problem = problems().get(data.get("dataset") or "")
    name = str(data.get("file") or data.get("dataset")).rpartition("/")[2] if problem is None else problem.title
    label = data.get("label") or ("" if problem is None else problem.labels[0].column.name)
    column, positive = str(label).partition(":")[0], str(data.get("positive") or "")
    numbered = ":" in str(label) and positive.startswith(column)
    prediction = positive if numbered else _name_column(str(label)) + (f" = {positive}" if positive else "")
    groups = " and ".join(_name_column(part) for part in str(data["sensitive"]).split("+"))
    return f"{name.partition(' (')[0]}: {prediction} by {groups}"


def rows_suffix(data: DataJson) -> str:
    """Return what follows the title of a config's data: group ratio, rows and encoding, where they are not as usual.

    >>> rows_suffix({"group_ratio": 0.8, "rows": 1500}), rows_suffix({"encoding": "plain"})
    (' · group ratio 0.8 · 1,500 rows', ' · plain encoding')
    """
    ratio = "" if data.get("group_ratio") is None else f" · group ratio {data['group_ratio']:g}"
    rows = "" if data.get("rows") is None else f" · {data['rows']:,} rows"
    encoding = data.get("encoding") or ENCODINGS[0]
    return f"{ratio}{rows}{'' if encoding == ENCODINGS[0] else f' · {encoding} encoding'}"


def setting_text(method: str, name: str, value: Any) -> str:
    """Return a setting of a config in short words, by its name there; a parameter that has a symbol by that.

    >>> setting_text("pf_ld", "method.clip_primal", 0.5), setting_text("pf_ld", "method.epochs", 50)
    ('C_p = 0.5', 'epochs 50')
    >>> setting_text("none", "data.rows", 500), setting_text("none", "split", None)
    ('rows 500', 'split –')
    """
    own = name.rpartition(".")[2]
    parameters_by_name = parameters(methods()[method]) if method in methods() and not name.startswith("data.") else {}
    title = parameters_by_name[own][0].title if own in parameters_by_name else own.replace("_", " ")
    symbol = _SYMBOL.search(title)
    return f"{symbol[1]} = {value_text(value)}" if symbol else f"{title[0].lower()}{title[1:]} {value_text(value)}"


def value_text(value: Any) -> str:
    """Return a setting's value as text; of a table its name, and what it sets.

    >>> value_text(0.5), value_text(None), value_text(True), value_text([64, 32])
    ('0.5', '–', 'yes', '64, 32')
    >>> value_text({"name": "pf_ld", "epochs": 2}), value_text({"width": 64})
    ('pf_ld (epochs 2)', 'width 64')
    """
    if isinstance(value, Mapping):
        settings = ", ".join(f"{name} {value_text(part)}" for name, part in value.items() if name != "name")
        return f"{value['name']} ({settings})" if settings and "name" in value else str(value.get("name", settings))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(value_text, value))
    return "–" if value is None else str(value)


def cell_text(values: Mapping[str, object]) -> str:
    """Return a combination of a sweep in words.

    >>> cell_text({"epsilon": 1.0, "seed": 0})
    'epsilon = 1, seed = 0'
    """
    return ", ".join(f"{axis} = {value_text(value)}" for axis, value in values.items())


def _name_column(text: str) -> str:
    """Return a column, and the edges that cut it, in words."""
    name, _, edges = text.partition(":")
    cut = f" cut at {' and '.join(edges.split(','))}" if edges else ""
    return name.replace("_", " ") + cut


#: how an ε was accounted, in the words that stand beside every ε
ACCOUNTED = {"proved": "proved", "published": "as published, not proved"}


def share_text(part: Mapping[str, Any], name: str) -> str:
    """Return a share of a record's group or class in per cent, with its interval in brackets where it has one.

    >>> share_text({"accuracy": 0.5, "accuracy_interval": [0.4, 0.6]}, "accuracy"), share_text({}, "accuracy")
    ('50.00 (40.00 to 60.00)', '–')
    """
    if part.get(name) is None:
        return "–"
    ends = part.get(f"{name}_interval")
    spread = "" if ends is None else f" ({number_text(100 * ends[0])} to {number_text(100 * ends[1])})"
    return f"{number_text(100 * part[name])}{spread}"


def rows_text(rows: int) -> str:
    """Return how many rows are used in place of all, and how they are drawn."""
    return f"{rows:,}, drawn at random with a constant seed, whatever they hold"


def encoding_text(encoding: str) -> str:
    """Return how numbers become features, where it is not in the usual way.

    >>> encoding_text("plain")
    'plain: each number is one feature, without bins and logarithms'
    """
    return f"{encoding}: each number is one feature, without bins and logarithms"


def thinned_text(ratio: float) -> str:
    """Return what was left out of the training rows to reach a group ratio."""
    return (
        "training rows of larger groups, drawn at random, until the smallest group's size over theirs was at least "
        f"about {ratio:g}"
    )


def protection_suffix(threat_model: str | None) -> str:
    """Return the words that mark a series by what its ε protects."""
    return {"attribute": "protects the attribute", "record": "protects the record", None: "not private"}[threat_model]


def metric_title(name: str) -> str:
    """Return a metric's name as a title.

    >>> metric_title("demographic_parity_gap"), metric_title("roc_auc"), metric_title("decided/old")
    ('Demographic parity gap', 'ROC-AUC', "Decided 'old'")
    """
    if name.startswith(DECIDED):
        return f"Decided '{name.removeprefix(DECIDED)}'"
    special = {"roc_auc": "ROC-AUC", "ermi": "ERMI", "ermi_equalized_odds": "ERMI given the label"}
    return special.get(name) or name.replace("_", " ").capitalize()
