"""What a model says of one made-up person. The values are typed in, and no row of the data is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.roles import Groups
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.files.column import Column
from fairpriv_core.files.table import Cells, Codes, Numbers
from fairpriv_core.notions.rates import TWO, decide
from fairpriv_core.records.model import Model

Value = float | str | None
_WIDE = 1000.0


@dataclass(frozen=True)
class Answer:
    """The label that is decided and its score in [0, 1]; of one that draws lots the positive one, and its chance."""

    label: str
    score: float
    is_chance: bool


def list_columns(model: Model) -> tuple[Column, ...]:
    """Return the columns that a person is made of, those of the groups too where the model decides by them.

    () for a model of images, and for one of a person's own PyTorch module, whose code only a worker runs.
    """
    if model.image is not None or model.network.runs_code:
        return ()
    groups = Groups.from_json(model.grouping).read if model.network.needs_group else ()
    features = Encoder.from_json(model.encoder).schema
    names = {column.name for column in features}
    return (*features, *(column for column in groups if column.name not in names))


def usual_value(column: Column) -> Value:
    """Return a value to begin with, of what is declared alone; None where nothing is.

    It is the middle of a range, the low end of a wide one (amounts, most of which are small), or a list's first value.

    >>> usual_value(Column("age", range=(17.0, 90.0))), usual_value(Column("pay", type="category", categories=("low",)))
    (53.0, 'low')
    """
    if column.kind == "number" and math.isfinite(column.low) and math.isfinite(column.high):
        width = column.high - column.low
        middle = column.low + width / 2
        return float(column.low) if width > _WIDE else float(math.floor(middle)) if width >= TWO else middle
    return next(iter(column.values or column.groups), None)


def answer(model: Model, person: Mapping[str, Value]) -> Answer:
    """Return what `model` says of `person`, column -> value; a column that is None or is not there has none.

    Raises BadInput where the model decides by group and knows no group of such a person.
    """
    table = {column.name: _write_cell(column, person.get(column.name)) for column in list_columns(model)}
    group = Groups.from_json(model.grouping).assign(table) if model.network.needs_group else None
    scores = predict_proba(model.network, model.parameters, Encoder.from_json(model.encoder).transform(table), group)
    if model.network.is_randomised:
        return Answer(model.label_names[1], float(scores[0, 1]), is_chance=True)
    label = int(decide(scores)[0])
    return Answer(model.label_names[label], float(scores[0, label]), is_chance=False)


def _write_cell(column: Column, value: Value) -> Cells:
    if column.kind == "number":
        return Numbers(np.array([math.nan if value in (None, "") else float(value or 0.0)]))
    texts = () if value in (None, "") else (str(value),)
    return Codes(np.array([len(texts) - 1], dtype=np.int32), texts)
