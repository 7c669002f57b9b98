"""Keep results of the standard suite in the package: python -m examples.keep_bench FILE...

`fairpriv bench` makes the files; beside them their Croissant description and the static leaderboard are written.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from fairpriv_core.bench.lines import DESCRIBED, KEPT, describe_file, read_lines, write_lines
from fairpriv_core.documents.bench import write_bench_page

PAGE = Path(__file__).parent.parent / "docs" / "results" / "bench.html"
_CITATION = "The fairpriv contributors: fairpriv bench, suite {}, 2026."


def main() -> None:
    """Write the three files."""
    lines = read_lines(sys.argv[1:])
    write_lines(lines, KEPT)
    described = describe_file(KEPT, _CITATION.format(lines.suite.iloc[0]), datetime.now(UTC).date().isoformat())
    DESCRIBED.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(write_bench_page(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
