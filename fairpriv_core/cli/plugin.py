"""`fairpriv check-plugin NAME`: a method, notion or data set of another package, held to what ours must keep."""

from __future__ import annotations

from dataclasses import asdict

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, Failed, print_answer, say
from fairpriv_core.plugins import METHODS
from fairpriv_core.runs.plugin_check import NOT_CHECKED, Finding, check_plugin, find_plugin
from fairpriv_core.text import count_text

_RUNS = 400


@click.command("check-plugin")
@click.argument("name")
@click.option(
    "--runs", type=click.IntRange(min=40), default=_RUNS, help="Models that an attack trains on each of two data sets."
)
@options.json
def check_plugin_command(name: str, runs: int, as_json: bool) -> None:
    """Check the plug-in NAME: a method, notion or data set of another package.

    A method goes through the contract of the project's own, brute-force sensitivity, garbage replay and the audit.
    """
    plugin = find_plugin(name)
    say(f"{plugin.title}, {plugin.reference}")
    findings = check_plugin(plugin, runs=runs, report=_print_finding)
    failed = [finding for finding in findings if not finding.passed]
    summary = f"{count_text(len(findings), 'part')} tried, {len(failed)} failed."
    text = f"{summary} {NOT_CHECKED}" if plugin.group == METHODS else summary
    plain = {"name": plugin.name, "kind": plugin.kind, "package": plugin.package, "reference": plugin.reference}
    parts = [asdict(finding) for finding in findings]
    print_answer(Answer({**plain, "passed": not failed, "parts": parts, "says": text}, text), as_json)
    if failed:
        raise Failed


def _print_finding(finding: Finding) -> None:
    say(f"ok   {finding.title}" if finding.passed else f"FAIL {finding.title}: {finding.says}")
