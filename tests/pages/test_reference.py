"""A reference reads back to the data that it was written for; lists, tables and the Data page tell what it says."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.table_schema import TableSchema, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.tables import parameter_diff, run_table, varied_settings
from fairpriv_core.facts.wording import THINNED
from fairpriv_core.files.column import Column
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store.runs import open_store
from pages.widgets.compare.differences import TITLES
from pages.widgets.shared.reference import list_reference, read_reference, write_reference
from pages.widgets.shared.run_table import key_data
from tests.launched import config, finish, measured
from tests.pages.shown import Open, said, whole

FILE = Path("/store/uploads/3fa94c0d12ab" + 52 * "0" + ".csv")
MOST = 8_000  # bytes of a request's first line that proxies let through
PLAIN, RATIO = "compas:race?encoding=plain", "synthetic:region?group_ratio=0.9"
names = some.text(some.characters(codec="utf-8"), min_size=1).filter(str.strip)
odd = some.text("?%&#+:=,;/ éß–x2F", min_size=1).filter(str.strip)
texts = names | odd


def find(digits: str) -> Path:
    assert digits == "3fa94c0d12ab"
    return FILE


@given(texts, texts, some.none() | texts, some.none() | some.floats(0.01, 1.0), some.none() | some.integers(2))
@example("is it? 100%", "a&b=c#d", "50%+", 0.3, 500)
@example("%3F", "%", "?", None, None)
def test_files_and_benchmarks_with_any_columns(
    sensitive: str, label: str, positive: str | None, ratio: float | None, rows: int | None
) -> None:
    spec = DataSpec(file=str(FILE), sensitive=sensitive, label=label, positive=positive, group_ratio=ratio, rows=rows)
    text = write_reference(spec)
    assert read_reference(text, find) == spec
    (linked,) = parse_qs(urlencode({"data": text}))["data"]
    assert read_reference(linked, find) == spec
    spec = DataSpec(dataset="adult", sensitive=sensitive)
    assert read_reference(write_reference(spec), find) == spec


@pytest.mark.parametrize(
    ("spec", "text", "listed"),
    [
        (DataSpec(dataset="adult", sensitive="sex"), "adult:sex", ""),
        (DataSpec(dataset="adult", sensitive="sex+race"), "adult:sex+race", ""),
        (DataSpec(dataset="adult", sensitive="age:25,60"), "adult:age:25,60", ""),
        (DataSpec(dataset="adult", sensitive="größe"), "adult:größe", ""),
        (
            DataSpec(dataset="compas", sensitive="race", encoding="binned"),
            "compas:race",
            "COMPAS: two year recid by race",
        ),
        (
            DataSpec(dataset="compas", sensitive="race", encoding="plain"),
            PLAIN,
            "COMPAS: two year recid by race · plain encoding",
        ),
        (
            DataSpec(dataset="synthetic", sensitive="region", group_ratio=0.9),
            RATIO,
            "label by region · group ratio 0.9",
        ),
        (
            DataSpec(dataset="synthetic", sensitive="region", group_ratio=0.9, rows=500),
            f"{RATIO}&rows=500",
            "label by region · group ratio 0.9 · 500 rows",
        ),
    ],
)
def test_a_reference_goes_both_ways_and_is_told_in_words(spec: DataSpec, text: str, listed: str) -> None:
    assert write_reference(spec) == text and list_reference(text).endswith(listed)
    read = read_reference(text, find)
    assert write_reference(read) == text and (read == spec or spec.encoding == "binned")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("compas:race?encoding=fine", "encoding must be one of binned, plain, got 'fine'"),
        ("synthetic:region?group_ratio=most", "group_ratio must be a number"),
    ],
)
def test_a_wrong_reference_is_a_sentence(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_reference(text, find)


def make_schema(columns: int) -> str:
    """Return the text of a schema of which each column states a range with bins, or categories."""
    stated = [
        Column(f"Measured quantity no. {place}", range=(0.25 * place, 10.5 * place + 3), edges=tuple(range(1, 10)))
        if place % 2
        else Column(f"Answer {place} (multiple choice)", type="category", categories=("ja", "nein", "weiß nicht"))
        for place in range(columns)
    ]
    return to_text(TableSchema(tuple(stated), "declared"), compared=())


def test_a_link_with_the_schema_of_forty_columns_passes_a_proxy_and_a_damaged_one_is_refused() -> None:
    spec = DataSpec(file="/x/30eeaa51541b39c9.csv", sensitive="Geschlecht", label="zufrieden", schema=make_schema(40))
    reference = write_reference(spec)
    plain = urlencode({"data": urlencode({"schema": spec.schema})})
    address = urlencode({"data": reference, "source": "file", "notion": "demographic_parity"})
    assert len(plain) > MOST and len(address) < MOST / 4
    assert read_reference(reference, Path).schema == spec.schema
    name = "file-30eeaa51541b:sex?label=a&"
    bomb = base64.urlsafe_b64encode(zlib.compress(b"{" * 30_000_000)).decode()
    for packed in ("abc", "%%%", bomb, base64.urlsafe_b64encode(zlib.compress(b"\xff")).decode()):
        with pytest.raises(BadInput, match="the schema in this link cannot be read; copy the link again"):
            read_reference(name + urlencode({"schema": packed}), Path)


def test_the_data_page_sets_an_encoding_where_there_are_two(open_page: Open, real_data: Path) -> None:
    page = open_page("data", data="compas:race")
    assert page.selectbox("encoding").value == "binned" and "**30** encoded" in said(page)
    page.selectbox("encoding").set_value("plain").run()
    assert whole(page).query_params["data"] == PLAIN and "**12** encoded features" in said(page)
    assert "Ranges of the features are this project's choice" in said(page)
    page = open_page("data", data=PLAIN)
    assert page.selectbox("encoding").value == "plain"
    page.selectbox("encoding").set_value("binned").run()
    assert not page.error and page.query_params["data"] == "compas:race"


def test_the_data_page_sets_which_rows_are_left_and_train_plans_with_them(open_page: Open) -> None:
    page = open_page("data", data="synthetic:region")
    assert "encoding" not in {each.key for each in page.selectbox}
    page.text_input("group_ratio").set_value("0.9").run()
    assert whole(page).query_params["data"] == RATIO
    assert "A run with seed 0 trains on" in said(page) and "Test rows stay as drawn" in said(page)
    for typed, words in (("most", "a number"), ("1.5", "must lie in (0, 1]"), ("0.01", "leaves no row out")):
        page.text_input("group_ratio").set_value(typed).run()
        assert not page.exception and words in said(page, "error")
    page = open_page("data", data=RATIO)
    assert page.text_input("group_ratio").value == "0.9"
    page.text_input("group_ratio").set_value("").run()
    assert not page.error and page.query_params["data"] == "synthetic:region"
    page = open_page("data", data="synthetic:region?rows=500")
    assert page.text_input("rows").value == "500" and "500" in said(page, "markdown")
    page.text_input("rows").set_value("some").run()
    assert not page.exception and "Rows must be a whole number" in said(page, "error")
    for typed, reference in (("600", "synthetic:region?rows=600"), ("", "synthetic:region")):
        page.text_input("rows").set_value(typed).run()
        assert not page.error and page.query_params["data"] == reference
    planned = [whole(open_page("train", data=data, method="dp_sgd")) for data in ("synthetic:region", RATIO)]
    assert len({said(page) + str([metric.value for metric in page.metric]) for page in planned}) == 2
    refused = open_page("train", data="synthetic:region?group_ratio=0.01")
    assert not refused.exception and "leaves no row out" in said(refused, "error")


@pytest.mark.parametrize(
    ("data", "field", "values"),
    [
        ({"dataset": "adult", "sensitive": "sex"}, "encoding", ("binned", "plain")),
        ({"dataset": "synthetic", "sensitive": "group"}, "group_ratio", (None, 0.8, 0.9)),
    ],
)
def test_lists_comparisons_and_tables_tell_runs_on_other_rows_or_encodings_apart(
    data: dict[str, Any], field: str, values: tuple[Any, ...], own_store: Path, open_page: Open
) -> None:
    with open_store(str(own_store)) as store:
        for at, value in enumerate(values):
            asked = config("dp_sgd", data=data if value is None else {**data, field: value})
            key = finish(store, asked, (Gaussian(10.0),), metrics=measured((0.5, 0.4)))
            told = said(open_page("compare"), "caption")
            assert f"{at + 1} setting" in told and (THINNED in told) == (field == "group_ratio" and at > 0)
        keys = [row.key for row in store.rows()][::-1]
        records = [record.to_json() for record in (store.record(each) for each in keys) if record is not None]
    assert keys[-1] == key
    rows, usual = run_table(records), f"{data['dataset']}:{data['sensitive']}"
    words = {"plain": " · plain encoding", 0.8: " · group ratio 0.8", 0.9: " · group ratio 0.9"}
    assert sorted(key_data(row) for row in rows) == sorted(f"{usual}{words.get(value, '')}" for value in values)
    assert set(parameter_diff([record["config"] for record in records])) == {f"data.{field}"} <= set(TITLES)
    differing = [varied_settings(rows)[row.keys[0]] for row in rows]
    assert field == "encoding" or {each[f"data.{field}"] for each in differing} == set(values)
