"""An epsilon is shown in one way: three significant digits, rounded so that what is said holds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairpriv_core.text import at_least_text, epsilon_text
from tests.syntax import read_sources

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"epsilon|lower_bound|eps\b")


SHOWN = {
    **{1.0049: "1.01", 0.9996: "1.00", 1.0016: "1.01", 12.34: "12.4", 123.4: "124", 99.96: "100", 0.3: "0.300"},
    **{4.0: "4.00", 1.1: "1.10", 0.0123: "0.0123", 1234.0: "1,240", 5e-4: "under 0.001", 0.0: "0.00"},
}


@pytest.mark.parametrize(("value", "shown"), SHOWN.items())
def test_three_digits_rounded_up(value: float, shown: str) -> None:
    assert epsilon_text(value) == shown


@given(some.floats(0.001, 1e6))
def test_what_is_shown_lies_on_the_safe_side_and_near(value: float) -> None:
    above, below = (float(show(value).replace(",", "")) for show in (epsilon_text, at_least_text))
    assert below <= value <= above
    assert above - below <= 0.0101 * value + 1e-12
    assert all(
        len(show(value).replace(",", "").replace(".", "").strip("0")) <= 3 for show in (epsilon_text, at_least_text)
    )


def test_no_other_place_formats_an_epsilon() -> None:
    """No format with a precision, no rounding and no general number of what is called so; `:g` shows what was typed."""
    found = [
        f"{source.path}:{node.lineno} {ast.unparse(node)}"
        for source in read_sources(ROOT, "fairpriv_core", "pages")
        for node in ast.walk(source.tree)
        if _formats(node)
    ]
    assert found == []


def _formats(node: ast.AST) -> bool:
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        spec = ast.unparse(node.format_spec)
        return "." in spec and bool(NAMED.search(ast.unparse(node.value)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        plain = bool(node.args) and isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript)
        return name in ("number", "round") and plain and bool(NAMED.search(ast.unparse(node.args[0])))
    return False
