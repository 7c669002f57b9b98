"""Single columns and rows of a CSV or Parquet file as they are written: texts, and bytes such as those of images."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from fairpriv_core.data.faults import check_file, explain, read_header
from fairpriv_core.errors import BadInput


def read_cells(path: Path, column: str) -> list[Any]:
    """Return one column of a CSV or Parquet file that can be read: texts, bytes, or None where nothing is written.

    Raises BadInput for a file without that column.
    """
    check_file(path)
    if not _is_parquet(path):
        header, rows = _read_text(path)
        place = _find(column, header)
        return [row[place].strip() or None if place < len(row) else None for row in rows if row]
    try:
        _find(column, parquet.read_schema(path).names)
        return [_plain(cell) for cell in parquet.read_table(path, columns=[column]).column(column).to_pylist()]
    except (pa.ArrowException, OSError) as error:
        raise explain(error, path, (), row=None) from error


def read_first_row(path: Path) -> dict[str, Any]:
    """Return the first row of a file that can be read, by column; without columns that have no name."""
    if not _is_parquet(path):
        header, rows = _read_text(path)
        return {name: cell for name, cell in zip(header, next(rows, []), strict=False) if name}
    batch = next(parquet.ParquetFile(path).iter_batches(batch_size=1), None)
    found = {} if batch is None else batch.to_pylist()[0]
    return {name: _plain(cell) for name, cell in found.items()}


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _read_text(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Return the header of a CSV file and its rows, empty lines among them."""
    blank, header = read_header(path)

    def read() -> Iterator[list[str]]:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            for _ in range(blank + 1):
                next(rows)
            yield from rows

    return header, read()


def _find(column: str, known: Sequence[str]) -> int:
    if column not in known:
        raise BadInput(f"unknown column '{column}' in image; choose from {', '.join(known)}.", field="image")
    return list(known).index(column)


def _plain(cell: Any) -> Any:
    """Return a cell; of one that has bytes beside a name, as Hugging Face writes images, the bytes."""
    return cell["bytes"] if isinstance(cell, dict) and "bytes" in cell else cell
