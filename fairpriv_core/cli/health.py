"""`fairpriv health`: whether what a person launches here would be trained."""

from __future__ import annotations

from dataclasses import asdict

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, report
from fairpriv_core.store.health import look_after
from fairpriv_core.store.runs import open_store


@click.command()
@options.json
def health(as_json: bool) -> None:
    """Say whether the store, its disk and the process that trains are well; exit code 1 where one is not."""
    report(answer_health(), None, as_json)


def answer_health() -> Answer:
    """Look after the default store."""
    with open_store() as store:
        state, where = look_after(store), store.database.where
    waits = "" if state.oldest_waits is None else f" (the oldest for {state.oldest_waits:,.0f} s)"
    counts = f"{where}: {state.at_work:,} of its runs are at work, {state.waiting:,} wait{waits}"
    text = "\n".join([f"{counts}; its disk has {state.free_bytes / 1e9:,.1f} GB left.", *state.troubles])
    error = " ".join(state.troubles) or None
    return Answer({"store": where, **asdict(state)}, text, failed=bool(state.troubles), error=error)
