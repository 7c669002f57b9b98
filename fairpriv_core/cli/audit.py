"""`fairpriv audit`: attacks on a run."""

from __future__ import annotations

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, print_answer, say
from fairpriv_core.cli.terminal import format_audit
from fairpriv_core.runs.audit import AuditPlan, Report, audit_once
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
    print_answer(answer_audit(key, plan, say, again=again), as_json)


def answer_audit(key: str, plan: AuditPlan, report: Report, *, again: bool) -> Answer:
    """Audit a run, or tell what its stored audit found."""
    with open_store() as store:
        audit_report = audit_once(store, store.row(key).key, plan, report, again=again)
    return Answer(audit_report, format_audit(audit_report))
