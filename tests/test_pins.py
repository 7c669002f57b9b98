"""No change of the code's shape changes what the methods' examples make of fixed noise."""

from __future__ import annotations

import json

import pytest

from fairpriv_core.methods.base import Method
from tests.pins import PATH, describe, examples

PINS = json.loads(PATH.read_text("utf-8"))


@pytest.mark.parametrize(("name", "method"), [pytest.param(name, method, id=name) for name, method in examples()])
def test_an_example_gives_what_is_pinned(name: str, method: Method) -> None:
    found, pinned = describe(method), PINS[name]
    assert found.pop("parameters") == pytest.approx(pinned.pop("parameters"), rel=1e-3, abs=1e-4)
    assert json.loads(json.dumps(found)) == pinned


def test_every_example_is_pinned() -> None:
    assert set(PINS) == {name for name, _ in examples()}
