"""`fairpriv check`: what of the run store is damaged."""

from __future__ import annotations

from dataclasses import asdict

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, report
from fairpriv_core.store.check import check_store
from fairpriv_core.store.runs import open_store


@click.command()
@options.json
def check(as_json: bool) -> None:
    """Read all that the run store holds, and name what is damaged; changes nothing."""
    report(answer_check(), None, as_json)


def answer_check() -> Answer:
    """Check the default store."""
    with open_store() as store:
        found, where = check_store(store), store.database.where
    held = f"{found.runs:,} runs, {found.checkpoints:,} checkpoints and {found.files:,} files in {where}"
    if not found.damage:
        return Answer({"store": where, **asdict(found)}, f"{held}: nothing is damaged.")
    told = f"{held}: {len(found.damage):,} damaged."
    return Answer({"store": where, **asdict(found)}, "\n".join([told, *found.damage]), failed=True, error=told)
