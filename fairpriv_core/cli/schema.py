"""`fairpriv schema FILE`: what the columns of a person's table seem to be, as a file to correct."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import say, write_out
from fairpriv_core.cli.request import name_table
from fairpriv_core.data.profile import propose_schema
from fairpriv_core.data.table_schema import UNSAID
from fairpriv_core.files.read import format_form
from fairpriv_core.paths import read_path


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@options.stated
@click.option("--out", metavar="FILE", help="Write the schema here. Default: to standard output.")
def schema(files: tuple[str, ...], out: str | None, **given: Any) -> None:
    """Propose what the columns of a table of your own are, each guess with its reason; correct it, then train.

    Several CSV files with the same columns are one table, and so is a folder of Parquet files.
    """
    path, stated = read_path(name_table(files) or ""), options.take_stated(given)
    for remark in format_form(path, stated):
        say(remark)
    proposed = propose_schema(path, replace(UNSAID, file=stated)).to_toml(
        " --file ".join(read_path(file).name for file in files)
    )
    if out is None:
        click.echo(proposed, nl=False)
    else:
        write_out(out, proposed)
