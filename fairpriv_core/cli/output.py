"""How commands speak: one answer on standard output, sentences on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from fairpriv_core.errors import BadInput
from fairpriv_core.paths import read_path
from fairpriv_core.text import Reporter


@dataclass(frozen=True)
class Answer:
    """One command's answer; `failed` makes its exit code 1."""

    document: Mapping[str, Any]
    text: str
    failed: bool = False
    error: str | None = None


class Failed(Exception):
    """A run did not finish; what there is to say has been said."""


def print_answer(answer: Answer, as_json: bool) -> None:
    """Print an answer as text or as its JSON document."""
    click.echo(_to_json(answer) if as_json else answer.text)


def report(answer: Answer, out: str | None, as_json: bool) -> None:
    """Print an answer, and write its document to `out` where that is given; Failed where it tells of a failure."""
    if out is not None:
        write_out(out, _to_json(answer) + "\n")
    print_answer(answer, as_json)
    for warning in answer.document.get("warnings", []) if as_json else []:
        say(f"Warning: {warning}")
    if answer.failed:
        say(f"Error: {answer.error or answer.text.splitlines()[0]}")
        raise Failed


def _to_json(answer: Answer) -> str:
    return json.dumps(answer.document, indent=2, ensure_ascii=False, allow_nan=False)


def write_out(out: str, content: str | bytes) -> None:
    """Write a file; BadInput where it cannot be."""
    try:
        read_path(out, field="out").write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise BadInput(f"out cannot be written: {out} ({error.strerror}).", field="out") from error


def check_folder(out: str | None) -> None:
    """Refuse, before a long run rather than after it, a place that cannot be written."""
    if out is None:
        return
    path = read_path(out, field="out")
    if not path.parent.is_dir() or path.is_dir():
        raise BadInput(f"out must be a file in a folder that exists, got {out}.", field="out")


def open_reporter() -> Reporter:
    """Return how a command that takes long speaks: on a terminal alone lines replace each other, and it asks."""
    live = sys.stderr.isatty()

    def show(line: str) -> None:
        if live:
            click.echo(f"\r\033[K{line}", err=True, nl=False)

    def ask(risk: str) -> None:
        click.confirm(f"{risk} Go on?", abort=True, err=True)

    return Reporter(say, show, ask) if sys.stdin.isatty() else Reporter(say, show)


def say(text: str) -> None:
    """Say something on standard error."""
    click.echo(f"\r\033[K{text}" if sys.stderr.isatty() else text, err=True)
