"""Which functions a run passes, in the order of their first calls: `python -m tests.walked FOLDER` prints them as JSON.

A small CSV is trained on by the command, in a store in FOLDER, and the page Trade-offs is opened on it. In a process of
its own: what earlier tests have cached would not be called again.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from fairpriv_core.cli.main import cli

#: what a run loads besides, before anything is followed: following it takes longer than the run
LIBRARIES = ("torch", "dp_accounting", "pandas", "plotly.graph_objects", "scipy.stats", "scipy.optimize", "sklearn")
ROOT = Path(__file__).resolve().parents[1]
OPTIONS = (
    *("--label", "income", "--positive", "yes", "--sensitive", "sex", "--notion", "demographic_parity"),
    *("--method", "pf_ld", "--epsilon", "1", "--set", "epochs=2", "--set", "batch_size=64"),
    *("--set", "gap_target=none"),  # whether test rows can show a gap is asked before a run: not on its way
)


def write_people(path: Path, rows: int = 400) -> None:
    """Write a CSV of made-up people."""
    draw = np.random.default_rng(0)
    columns = (
        draw.integers(18, 80, rows),
        draw.choice(["a", "b"], rows),
        draw.choice(["F", "M"], rows),
        draw.choice(["no", "yes"], rows),
    )
    lines = ["age,job,sex,income", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    path.write_text("\n".join(lines), encoding="utf-8")


def follow(folder: Path) -> list[tuple[str, str]]:
    """Return (file, function) of everything of the project that is called, in the order of the first calls."""
    called: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.setdefault(frame.f_code)

    write_people(folder / "people.csv")
    os.environ["FAIRPRIV_STORE"] = str(folder / "runs.db")
    for library in LIBRARIES:
        import_module(library)
    threading.settrace(note)
    sys.settrace(note)
    trained = CliRunner().invoke(cli, ["train", "--csv", str(folder / "people.csv"), *OPTIONS])
    page = AppTest.from_file(str(ROOT / "pages" / "tradeoffs.py"), default_timeout=60).run()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    if trained.exit_code or page.exception:
        raise SystemExit(f"{trained.output}\n{page.exception}")
    found = [(Path(code.co_filename).resolve(), code.co_qualname) for code in called]
    return [(path.relative_to(ROOT).as_posix(), name) for path, name in found if path.is_relative_to(ROOT)]


if __name__ == "__main__":
    print(json.dumps(follow(Path(sys.argv[1]))))
