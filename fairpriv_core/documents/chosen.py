"""The runs of a report: seeds folded and numbered, and of them only what the audience may see.

The rows of a benchmark are public, and so is what is measured on them; of any other data only what ε covers is shown.

For the audience "policy" a run is copied field by field into a new one, so that what nobody thought of stays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Generic, Literal, overload

from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.measured import Measured, measure
from fairpriv_core.facts.measures import K, MeanFact, Open
from fairpriv_core.facts.run_facts import Audience, RunFacts, for_audience
from fairpriv_core.facts.tables import REPLAYED, Row, TableRow, fold_outcomes
from fairpriv_core.figures.styles import method_style
from fairpriv_core.records.release import Kind

_NOTHING: MeanFact[Open] = MeanFact(None, None, None, 0, "public")
MOST_SETTINGS = 26


@dataclass(frozen=True)
class Chosen(Generic[K]):
    """One setting of a report: its number there, its row of the run table, and the facts of each of its seeds."""

    number: int
    row: Row[K]
    runs: tuple[RunFacts[K], ...]

    @property
    def first(self) -> RunFacts[K]:
        """The facts of the first seed."""
        return self.runs[0]

    @property
    def mark(self) -> str:
        """How sentences and points name it: a word, since a group may be called by a letter."""
        return f"Run {self.number}"

    @property
    def accuracy_is_public(self) -> bool:
        """Whether its exact accuracy may be published."""
        return all(run.accuracy_is_public for run in self.runs)

    @property
    def name(self) -> str:
        """The method with its budget, as a legend names it."""
        if self.row.variant == REPLAYED:
            return f"{self.mark}: {method_style(self.row.method).title}, replayed noise"
        claim = " as published" if self.row.variant == "published" else ""
        budget = "" if self.row.epsilon is None else f", ε = {self.row.epsilon:g}{claim}"
        return f"{self.mark}: {method_style(self.row.method).title}{budget}"

    def measure(self, name: str = "") -> Measured:
        """Return the setting's accuracy, gap and groups; `name` is how a sentence calls it."""
        return measure(self.runs, name)


@overload
def choose_runs(data: ReportData, audience: Literal["policy"]) -> tuple[Chosen[Open], ...]: ...
@overload
def choose_runs(data: ReportData, audience: Audience) -> tuple[Chosen[Kind], ...]: ...
def choose_runs(data: ReportData, audience: Audience) -> Sequence[Chosen[Kind]]:
    """Return the runs of `data`, seeds folded, as `audience` may see them.

    Raises:
        BadInput: more settings than a report has room for.
    """
    by_key = {run.key: run for run in data.runs}
    rows = fold_outcomes([run.outcome for run in data.runs], {})
    if len(rows) > MOST_SETTINGS:
        raise BadInput(f"a report has room for {MOST_SETTINGS} settings, got {len(rows)}.", field="key")
    if audience == "policy":
        rows = tuple(map(_without_numbers, rows))
    settings = [tuple(for_audience(by_key[key], audience) for key in row.keys) for row in rows]
    return tuple(
        Chosen(number, row, runs) for number, (row, runs) in enumerate(zip(rows, settings, strict=True), start=1)
    )


def cut_beside(data: ReportData, audience: Audience) -> ReportData:
    """Return `data` without its runs, which `choose_runs` gives, and with its references as `audience` may see them."""
    return replace(data, runs=(), references=tuple(for_audience(run, audience) for run in data.references))


def _without_numbers(row: TableRow) -> TableRow:
    """Return a row without its measured numbers, which are read from its runs as the audience may see them."""
    name = PurePath(row.dataset).name
    return replace(row, accuracy=_NOTHING, gap=_NOTHING, constant=None, dataset=name, setting="")
