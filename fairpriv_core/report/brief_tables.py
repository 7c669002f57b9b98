"""A report's tables as CSV: the runs, their groups, and the numbers of every figure."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.report.brief import Audience, Brief
from fairpriv_core.report.brief_numbers import group_rows, paid_rows, run_rows
from fairpriv_core.report.brief_runs import Chosen
from fairpriv_core.report.rows import write_csv, write_lines


def list_tables(brief: Brief, chosen: Sequence[Chosen], audience: Audience) -> dict[str, bytes]:
    """Return every table by the name of its file."""
    files = {"tables/runs.csv": write_runs(chosen, audience).encode()}
    files["tables/groups.csv"] = write_groups(chosen, audience).encode()
    return files | {f"figures/{figure.name}.csv": write_csv(figure).encode() for figure in brief.figures}


def write_runs(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return the run table as CSV; of the audience "policy" only numbers that ε covers or that are public."""
    table = paid_rows(chosen) if audience == "policy" else run_rows(chosen)
    rows = [(*row, ", ".join(each.row.keys)) for row, each in zip(table.rows, chosen, strict=True)]
    return write_lines((*table.head, "keys", "note"), ((*row, table.note) for row in rows))


def write_groups(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return the groups' results of each run's first seed as CSV."""
    paid = audience == "policy"
    tables = [(each, group_rows(each, paid=paid)) for each in chosen]
    known = [(each, table) for each, table in tables if table is not None]
    head = known[0][1].head if known else ("group",)
    rows = [(each.name, *row, table.note) for each, table in known for row in table.rows]
    return write_lines(("run", *head, "note"), rows)
