"""Make the file of Adult that ships with the package, from the two files that UCI publishes (docs/catalogue.md).

    python examples/make_adult.py FOLDER        # the one that FAIRPRIV_DATA names

Every cell is as it is published, but for blanks around it; what is "?" there is missing. The column `part` says which
file a row is from. The same pyarrow writes the same bytes; `fairpriv_core/data/catalog.py` has their checksum.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import Source

ADULT = problems()["adult"]


def main() -> None:
    """Write the file, and print its checksum."""
    assert ADULT.shipped is not None
    write_table(read_published(Path(sys.argv[1])), ADULT.shipped.path)
    print(hashlib.sha256(ADULT.shipped.path.read_bytes()).hexdigest())


def read_published(folder: Path) -> pa.Table:
    """Return the rows of both files, one after the other: numbers, and texts as codes."""
    return pa.concat_tables([_read(folder / source.path, source) for source in ADULT.editions[0]]).unify_dictionaries()


def _read(path: Path, source: Source) -> pa.Table:
    content = path.read_bytes().replace(b", ", b",")
    options = csv.ReadOptions(column_names=source.layout.columns, skip_rows=source.layout.skip)
    convert = csv.ConvertOptions(null_values=["?"], strings_can_be_null=True, auto_dict_encode=True)
    table = csv.read_csv(pa.BufferReader(content), read_options=options, convert_options=convert)
    part = pa.array([source.part] * len(table)).dictionary_encode()
    return table.append_column("part", part)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as small as Parquet makes it."""
    parquet.write_table(table, path, compression="zstd", compression_level=19, write_statistics=False)


if __name__ == "__main__":
    main()
