"""How rows are put into groups, as a stored model needs it: the groupings, and the columns that they are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from fairpriv_core.data.features import read_schema, write_schema
from fairpriv_core.data.problem import Categorical, Grouping
from fairpriv_core.data.sensitive import assign_groups, name_groups
from fairpriv_core.data.table import Table
from fairpriv_core.errors import BadInput


@dataclass(frozen=True)
class Groups:
    """Crossed groupings, and the column of each that lists values; one that is cut is known by its edges alone."""

    groupings: tuple[Grouping, ...]
    columns: tuple[Categorical, ...]

    def assign(self, table: Table) -> np.ndarray:
        """Return the group of each row, (n,) int64; BadInput where a column or a row's value is missing or unknown."""
        missing = [grouping.column for grouping in self.groupings if grouping.column not in table]
        if missing:
            raise BadInput(
                f"the model decides by group, so every row needs a value of {' and '.join(missing)}; "
                f"the file has only {', '.join(table)}.",
                field="file",
            )
        found = assign_groups(table, self.groupings, {column.name: column for column in self.columns})
        lost = np.flatnonzero(found < 0)
        if len(lost):
            asked = "; ".join(_say(grouping) for grouping in self.groupings)
            raise BadInput(
                f"row {lost[0] + 1} of the file is in no group that the model knows, so it cannot decide: {asked}.",
                field="file",
            )
        return found

    def to_json(self) -> str:
        """Return the groups as JSON; `from_json` gives equal ones. Nothing that was measured of a column is in it."""
        groupings = [asdict(grouping) for grouping in self.groupings]
        return json.dumps({"groupings": groupings, "columns": write_schema(self.columns)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | None) -> Groups:
        """Return the groups that `to_json` wrote; raises BadInput for any other text.

        Earlier versions also wrote what they measured of a column that is cut (range, mean, deciles): it is not read.
        """
        try:
            stored = json.loads(text or "")
            groupings = tuple(
                Grouping(each["column"], tuple(each["values"]), each["rest"], tuple(each["edges"]))
                for each in stored["groupings"]
            )
            columns = read_schema(stored["columns"])
            return cls(groupings, tuple(column for column in columns if isinstance(column, Categorical)))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"the model does not say which rows are in which group ({type(error).__name__}).") from error


def _say(grouping: Grouping) -> str:
    if grouping.edges:
        return f"{grouping.column} must be a number"
    return f"{grouping.column} must be one of {_list(name_groups(grouping))}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
