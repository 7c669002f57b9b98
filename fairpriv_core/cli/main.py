"""The command line. With `--json`, one JSON document on standard output; messages go to standard error.

Exit codes: 0, 1 for a failed run, 2 for bad input, 70 for a fault of this program, which shows its traceback.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from fairpriv_core.cli.output import Failed, say
from fairpriv_core.errors import FairprivError
from fairpriv_core.text import to_sentence
from fairpriv_core.warnings import FairprivWarning

#: a fault of this program, as sysexits.h has it
FAULT = 70
# What each command is for, and where it is: a module of this folder and a name in it.
_COMMANDS = {
    "Begin": {"app": "app:app", "try": "app:try_command", "demo": "app:demo", "test": "selftest:selftest"},
    "Look up": {
        "datasets": "catalogue:datasets",
        "methods": "catalogue:methods_command",
        "notions": "catalogue:notions_command",
        "papers": "papers:papers",
        "confirm": "catalogue:confirm_command",
        "croissant": "catalogue:croissant_command",
    },
    "Train": {
        "randomize": "randomize:randomize_command",
        "schema": "schema:schema",
        "account": "runs:account_command",
        "train": "runs:train",
        "resume": "runs:resume",
        "sweep": "sweep:sweep",
    },
    "Use runs": {
        "runs": "runs:runs",
        "select": "ledger:select",
        "predict": "runs:predict",
        "export": "export:export",
    },
    "Check": {
        "ledger": "ledger:ledger",
        "audit": "audit:audit",
        "bench": "bench:bench",
        "certificate": "runs:certificate",
        "check": "runs:check",
        "health": "health:health",
    },
    "Extend": {"new": "new:new", "check-plugin": "plugin:check_plugin_command"},
}
_PLACES = {name: place for group in _COMMANDS.values() for name, place in group.items()}


class Commands(click.Group):
    """The commands, each loaded when it is asked for: together they take seconds."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None for a name that is none."""
        if cmd_name not in _PLACES:
            return None
        module, name = _PLACES[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"fairpriv_core.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by what they are for, each with its first sentence."""
        for title, group in _COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _read_sentence(place)) for name, place in group.items()])


def _read_sentence(place: str) -> str:
    """Return what a command's documentation says first, from its file: to load all commands takes a second."""
    module, name = place.split(":")
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
    [command] = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return (ast.get_docstring(command) or "").partition("\n")[0].partition(";")[0].removesuffix(".")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="fairpriv", prog_name="fairpriv")
def cli() -> None:
    """Train differentially private and fair classifiers, and see what each epsilon covers. For example:

    fairpriv train --method pf_ld --notion demographic_parity --epsilon 1
    """


@contextmanager
def _saying_warnings() -> Iterator[None]:
    """Say this package's warnings as sentences on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", FairprivWarning)
        show_other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, FairprivWarning):
                say(f"Warning: {message}")
            else:
                show_other(message, category, *where, **more)

        warnings.showwarning = show
        yield


def main() -> NoReturn:
    """Run the command line; every error that a person can cause is one sentence on standard error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _saying_warnings():
            cli.main(prog_name="fairpriv", standalone_mode=False)
        sys.stdout.flush()
        code = 0
    except FairprivError as error:
        say(f"Error: {error}")
        code = error.exit_code
    except click.ClickException as error:
        say(f"Error: {to_sentence(error.format_message())}")
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("stopped.")
        code = 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Failed:
        code = 1
    except Exception:
        traceback.print_exc()
        code = FAULT
    sys.exit(code)
