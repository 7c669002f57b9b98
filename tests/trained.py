"""Runs that are trained once for all tests of a file, by commands, in a store of their own: they are read alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairpriv_core.cli.main import cli

#: options of `fairpriv train` on made-up rows
SYNTHETIC = ("--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity", "--set", "epochs=2")


def train_once(place: Path, *options: str) -> dict[str, Any]:
    """Train a run in the store at `place` with these options of `fairpriv train`, and return its record."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRPRIV_STORE", str(place))
        said = CliRunner().invoke(cli, ["train", *options, "--json"])
    assert said.exit_code == 0, said.output
    record: dict[str, Any] = json.loads(said.stdout)
    return record
