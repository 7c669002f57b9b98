"""Keep results of the standard suite in the package: python -m examples.keep_bench FILE...

`fairpriv bench` makes the files; beside them the static leaderboard is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fairpriv_core.bench.lines import KEPT, read_lines, write_lines
from fairpriv_core.documents.bench import write_bench_page

PAGE = Path(__file__).parent.parent / "docs" / "results" / "bench.html"


def main() -> None:
    """Write both files."""
    lines = read_lines(sys.argv[1:])
    write_lines(lines, KEPT)
    PAGE.write_text(write_bench_page(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
