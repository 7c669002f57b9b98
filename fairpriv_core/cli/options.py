"""Options that several commands have."""

from __future__ import annotations

import click

FILE = (
    "Your own table in place of a data set: CSV, Excel (.xlsx) or Parquet; a CSV also as .gz, or several in one .zip."
)
FILES = f"{FILE} Given several times: CSV files with the same columns, which are one table."
SENSITIVE = (
    "The sensitive attribute: a column, column:edge,edge to cut numbers, column=value,value to make all others one "
    "group, a+b to cross two."
)
json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
out = click.option("--out", help="Write the record here too.")
variant = click.option("--variant", help="proved (default) or published, where the method has both.")
set = click.option(
    "--set",
    "assignments",
    metavar="KEY=VALUE",
    multiple=True,
    help="A hyper-parameter; repeatable. `fairpriv methods NAME` has all.",
)
epsilon = click.option("--epsilon", help="The privacy budget, > 0; a private method needs it.")
delta = click.option("--delta", help="In (0, 1); default 1e-5.")
ledger_delta = click.option("--delta", type=float, help="In (0, 1); default 1e-5.")
