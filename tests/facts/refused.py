"""What mypy refuses: nothing here runs, and an error that mypy no longer finds is an unused `ignore`, which it reports.

Who asks for what may be handed on is given no run, setting or number that may be raw.
"""

from __future__ import annotations

from fairpriv_core.documents.chosen import Chosen, choose_runs
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.documents.story import build_story
from fairpriv_core.facts.measures import Fact, MeanFact, Measures, Open, fold
from fairpriv_core.facts.run_facts import RunFacts, for_audience
from fairpriv_core.facts.tables import Row, TableRow
from fairpriv_core.records.release import Kind


def hand_on(told: RunFacts[Open] | Measures[Open] | Fact[Open] | Row[Open] | MeanFact[Open]) -> None:
    """Take what may be handed on."""


def refuse(data: ReportData, run: RunFacts[Kind], setting: Chosen[Kind], row: TableRow) -> None:
    """Hand on what may be raw, in every way that there is; then what an audience may see."""
    hand_on(run)  # type: ignore[arg-type]
    hand_on(run.measures[0])  # type: ignore[arg-type]
    hand_on(Fact("raw", 0.5))  # type: ignore[arg-type]
    hand_on(row)  # type: ignore[arg-type]
    hand_on(row.gap)  # type: ignore[arg-type]
    hand_on(fold([0.5], "raw"))  # type: ignore[arg-type]
    build_story([setting], data)  # type: ignore[list-item]
    build_story(choose_runs(data, "analyst"), data)  # type: ignore[arg-type]
    for_policy = for_audience(run, "policy")
    hand_on(for_policy)
    hand_on(for_policy.measures[0])
    hand_on(Fact("released", 0.5))
    hand_on(choose_runs(data, "policy")[0].row)
    hand_on(choose_runs(data, "policy")[0].row.gap)
    build_story(choose_runs(data, "policy"), data)
