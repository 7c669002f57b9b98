"""The schema of a file in a link: short enough for proxies, read back as it was, and refused where it is damaged."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from urllib.parse import urlencode

import pytest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.table_schema import ColumnSchema, TableSchema, to_text
from fairpriv_core.errors import BadInput
from pages.widgets.shared.reference import read_reference, write_reference

MOST = 8_000  # bytes of a request's first line that proxies let through


def make_schema(columns: int) -> str:
    """Return the text of a schema of which each column states a range with bins, or categories."""
    said = [
        ColumnSchema(
            f"Measured quantity no. {place}", range=(0.25 * place, 10.5 * place + 3), edges=tuple(range(1, 10))
        )
        if place % 2
        else ColumnSchema(f"Answer {place} (multiple choice)", type="category", categories=("ja", "nein", "weiß nicht"))
        for place in range(columns)
    ]
    return to_text(TableSchema(tuple(said), "declared"), compared=())


def test_a_link_with_the_schema_of_forty_columns_passes_a_proxy() -> None:
    spec = DataSpec(file="/x/30eeaa51541b39c9.csv", sensitive="Geschlecht", label="zufrieden", schema=make_schema(40))
    reference = write_reference(spec)
    plain = urlencode({"data": urlencode({"schema": spec.schema})})
    address = urlencode({"data": reference, "source": "file", "notion": "demographic_parity"})
    assert len(plain) > MOST and len(address) < MOST / 4
    assert read_reference(reference, Path).schema == spec.schema


def test_an_earlier_link_is_read_and_a_damaged_one_refused() -> None:
    schema = make_schema(2)
    name = "file-30eeaa51541b:sex?label=a&"
    assert read_reference(name + urlencode({"schema": schema}), Path).schema == schema
    bomb = base64.urlsafe_b64encode(zlib.compress(b"{" * 30_000_000)).decode()
    for packed in ("abc", "%%%", bomb, base64.urlsafe_b64encode(zlib.compress(b"\xff")).decode()):
        with pytest.raises(BadInput, match="the schema in this link cannot be read; copy the link again"):
            read_reference(name + urlencode({"schema": packed}), Path)
