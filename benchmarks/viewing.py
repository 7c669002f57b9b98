"""Pages opened in a process of their own, as the one that serves them: CPU time of each view, and its memory.

    python -O benchmarks/viewing.py SMALL BIG PAGE …

SMALL and BIG are stores; the pages are opened on SMALL first, which loads what they are made of. Prints JSON. This file
imports no more than the pages do, so that the memory is theirs.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parent.parent
_PATIENCE = 300.0


def view_pages(small: str, big: str, pages: list[str]) -> list[dict[str, Any]]:
    """Return for each page the CPU seconds of a first view on `big`, of a second one and of a click, and MB so far."""
    os.environ["FAIRPRIV_STORE"] = small
    for page in pages:
        _open(page)
    os.environ["FAIRPRIV_STORE"] = big
    return [_view(page) for page in pages]


def _view(page: str) -> dict[str, Any]:
    first, _ = _time(lambda: _open(page))
    second, opened = _time(lambda: _open(page))
    click, _ = _time(lambda: _check(opened.run()))
    return {
        "page": page,
        "first_seconds": first,
        "second_seconds": second,
        "click_seconds": click,
        "peak_mb": read_peak(),
    }


def _open(page: str) -> AppTest:
    """Open a page in a session of its own; Start with the frame around it, as it is opened first."""
    place = ROOT / "app.py" if page == "start" else ROOT / "pages" / f"{page}.py"
    return _check(AppTest.from_file(str(place), default_timeout=_PATIENCE).run())


def _check(page: AppTest) -> AppTest:
    if page.exception or page.error:
        raise SystemExit(f"the page failed: {[item.value for item in (*page.exception, *page.error)]}")
    return page


def _time(action: Callable[[], AppTest]) -> tuple[float, AppTest]:
    begun = time.process_time()
    result = action()
    return round(time.process_time() - begun, 3), result


def read_peak() -> float:
    """Return the most memory that this process ever held, in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) * 1024 / 1e6, 1)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    logging.disable(logging.CRITICAL)
    print(json.dumps(view_pages(sys.argv[1], sys.argv[2], sys.argv[3:])))
