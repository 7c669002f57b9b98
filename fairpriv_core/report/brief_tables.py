"""A report's tables as CSV: the runs, their groups, and the numbers of every figure."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.report.brief import Audience, Brief, Table
from fairpriv_core.report.brief_classes import class_rows
from fairpriv_core.report.brief_numbers import group_rows, paid_rows, run_rows
from fairpriv_core.report.brief_runs import Chosen
from fairpriv_core.report.classes import has_classes
from fairpriv_core.report.rows import write_csv, write_table


def list_tables(brief: Brief, chosen: Sequence[Chosen], audience: Audience) -> dict[str, bytes]:
    """Return every table by the name of its file."""
    files = {"tables/runs.csv": write_runs(chosen, audience).encode()}
    files["tables/groups.csv"] = write_groups(chosen, audience).encode()
    if any(
        has_classes(each.record.get("metrics")) or has_classes(each.record.get("metrics_private")) for each in chosen
    ):
        files["tables/classes.csv"] = write_classes(chosen, audience).encode()
    return files | {f"figures/{figure.name}.csv": write_csv(figure).encode() for figure in brief.figures}


def write_runs(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return the run table as CSV; of the audience "policy" only numbers that ε covers or that are public."""
    table = paid_rows(chosen) if audience == "policy" else run_rows(chosen)
    rows = [(*row, ", ".join(each.row.keys)) for row, each in zip(table.rows, chosen, strict=True)]
    return write_table((*table.head, "keys", "note"), ((*row, table.note) for row in rows))


def write_groups(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return the groups' results of each run's first seed as CSV."""
    paid = audience == "policy"
    return _write_all([(each, group_rows(each, paid=paid)) for each in chosen], "group")


def write_classes(chosen: Sequence[Chosen], audience: Audience) -> str:
    """Return how each class fares in each run's first seed as CSV, of runs with more than two labels."""
    return _write_all([(each, class_rows(each, paid=audience == "policy")) for each in chosen], "class")


def _write_all(tables: Sequence[tuple[Chosen, Table | None]], first: str) -> str:
    """Return tables of several runs under each other; a column that a run does not have is empty there."""
    known = [(each, table) for each, table in tables if table is not None]
    head = tuple(dict.fromkeys(name for _, table in known for name in table.head)) or (first,)
    each_row = ((each, table, dict(zip(table.head, row, strict=True))) for each, table in known for row in table.rows)
    rows = [(each.name, *(cells.get(name) for name in head), table.note) for each, table, cells in each_row]
    return write_table(("run", *head, "note"), rows)
