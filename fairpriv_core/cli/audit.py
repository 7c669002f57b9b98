"""`fairpriv audit`: attacks on a run."""

from __future__ import annotations

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, print_answer, say
from fairpriv_core.cli.terminal import format_audit
from fairpriv_core.runs.audit import AuditPlan, audit_once
from fairpriv_core.store.runs import open_store


@click.command()
@click.argument("key")
@click.option("--runs", type=click.IntRange(min=40), default=1000, help="Trained on each data set.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="An audit with it repeats.")
@click.option("--again", is_flag=True, help="Audit once more a run that has been audited.")
@options.json
def audit(key: str, runs: int, seed: int, again: bool, as_json: bool) -> None:
    """Attack a run's method and model: lower bounds on epsilon, membership and attribute inference."""
    plan = AuditPlan(runs=runs, seed=seed)
    with open_store() as store:
        findings = audit_once(store, store.row(key).key, plan, say, again=again)
    print_answer(Answer(findings, format_audit(findings)), as_json)
