"""`fairpriv schema FILE`: what the columns of a person's table seem to be, as a file to correct."""

from __future__ import annotations

import click

from fairpriv_core.cli.output import write_out
from fairpriv_core.data.profile import propose_schema
from fairpriv_core.paths import read_path


@click.command()
@click.argument("file")
@click.option("--out", help="Write the schema here; without it, it is printed.")
def schema(file: str, out: str | None) -> None:
    """Propose what the columns of a table of your own are, each guess with its reason; correct it, then train."""
    path = read_path(file)
    proposed = propose_schema(path).to_toml(path.name)
    if out is None:
        click.echo(proposed, nl=False)
    else:
        write_out(out, proposed)
