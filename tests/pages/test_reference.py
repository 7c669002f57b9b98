"""A reference reads back to the data that it was written for, whatever columns and values are called."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from fairpriv_core.data.problem import DataSpec
from pages.widgets.shared.names import name_run
from pages.widgets.shared.reference import describe_reference, read_reference, write_reference

FILE = Path("/store/uploads/3fa94c0d12ab" + 52 * "0" + ".csv")
names = some.text(some.characters(codec="utf-8"), min_size=1).filter(str.strip)
odd = some.text("?%&#+:=,;/ éß–x2F", min_size=1).filter(str.strip)
texts = names | odd


def find(digits: str) -> Path:
    assert digits == "3fa94c0d12ab"
    return FILE


@given(texts, texts, some.none() | texts, some.none() | some.floats(0.01, 1.0), some.none() | some.integers(2))
@example("is it? 100%", "a&b=c#d", "50%+", 0.3, 500)
@example("%3F", "%", "?", None, None)
def test_files_with_any_columns(
    sensitive: str, label: str, positive: str | None, ratio: float | None, rows: int | None
) -> None:
    spec = DataSpec(file=str(FILE), sensitive=sensitive, label=label, positive=positive, group_ratio=ratio, rows=rows)
    text = write_reference(spec)
    assert read_reference(text, find) == spec
    (linked,) = parse_qs(urlencode({"data": text}))["data"]
    assert read_reference(linked, find) == spec


@given(texts)
def test_benchmarks_with_any_grammar(sensitive: str) -> None:
    spec = DataSpec(dataset="adult", sensitive=sensitive)
    assert read_reference(write_reference(spec), find) == spec


@pytest.mark.parametrize("sensitive", ["sex", "sex+race", "age:25,60", "größe"])
def test_what_needs_no_quoting_is_read_as_it_stands(sensitive: str) -> None:
    assert write_reference(DataSpec(dataset="adult", sensitive=sensitive)) == f"adult:{sensitive}"


def test_people_read_the_columns_own_name() -> None:
    config = {"method": {"name": "none"}, "data": {"dataset": "adult", "sensitive": "100%?"}, "epsilon": None}
    assert name_run(config).endswith("Adult: income by 100%?")
    assert describe_reference("adult:100%25%3F").endswith(" · 100%?")
