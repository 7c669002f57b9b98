"""What a workbook holds, found by what reads it: in a process of its own, which a few wrong bytes may end."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from python_calamine import CalamineWorkbook

from fairpriv_core.files.memory import limited_memory
from fairpriv_core.files.sheet_extent import CELL_BYTES


def _measure(path: str) -> Iterator[int]:
    """Yield how many bytes each row takes in memory, at least: by its cells, and by the texts in them."""
    with CalamineWorkbook.from_path(path) as book:
        for name in book.sheet_names:
            for row in book.get_sheet_by_name(name).iter_rows():
                yield CELL_BYTES * len(row) + sum(len(cell) for cell in row if isinstance(cell, str))


def main() -> None:
    """Print how many bytes the workbook named first takes, counted until they are more than the number named next."""
    path, limit = sys.argv[1], int(sys.argv[2])
    size = 0
    with limited_memory():
        for n_bytes in _measure(path):
            size += n_bytes
            if size > limit:
                break
    print(size)


if __name__ == "__main__":
    main()
