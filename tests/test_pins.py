"""No change of the code's shape changes what examples give, figures draw, commands say and records hold."""

from __future__ import annotations

import json

import pytest

from fairpriv_core.methods.base import Method
from tests.pins import DIGITS, PATH, RUNS, describe, describe_commands, describe_record, draw_bits, examples
from tests.report import samples

PINS = json.loads(PATH.read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "method"), [pytest.param(*each, id=each[0]) for each in examples() if each[0] in PINS["examples"]]
)
def test_an_example_gives_what_is_pinned(name: str, method: Method) -> None:
    found, pinned = describe(method), PINS["examples"][name]
    assert found.pop("parameters") == pytest.approx(pinned.pop("parameters"), rel=1e-3, abs=1e-4)
    assert json.loads(json.dumps(found)) == pinned


def test_what_is_pinned_is_there() -> None:
    assert set(PINS["examples"]) <= {name for name, _ in examples()}


def test_every_figure_is_drawn_as_pinned() -> None:
    assert {name: draw_bits(figure, DIGITS) for name, figure in samples.every_figure().items()} == PINS["figures"]


def test_every_command_says_what_is_pinned() -> None:
    assert describe_commands() == PINS["commands"]


@pytest.mark.parametrize("name", RUNS)
def test_a_record_holds_what_is_pinned(name: str) -> None:
    assert describe_record(RUNS[name]) == PINS["records"][name]
