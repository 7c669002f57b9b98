"""What tests of pages share: how a page's texts, entries and charts are read, and a table to upload."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import RunStore

Open = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("[a-z]*.py"))
HEADER = "age,sex,city,income\n"
_TEXTS = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success")
_ENTRIES = ("slider", "select_slider", "number_input", "text_input", "selectbox", "toggle", "checkbox", "button_group")


def whole(page: AppTest) -> AppTest:
    """Return a page that has come without a traceback and without an error."""
    faults = [str(each.value) for each in (*page.exception, *page.error)]
    assert not faults, faults
    return page


def said(page: AppTest, *kinds: str) -> str:
    """Return a page's texts, of all kinds or of some, without what keeps them from being markup."""
    return "\n".join(str(each.value) for kind in kinds or _TEXTS for each in page.get(kind)).replace("\\", "")


def keys_of(page: AppTest) -> set[str]:
    """Return the key of every entry on the page, but for what the downloads of its figures ask."""
    keys = {str(entry.key) for kind in _ENTRIES for entry in page.get(kind)}
    return {key for key in keys if not key.startswith(("plan_", "group_bars_"))}


def buttons(page: AppTest) -> dict[str, str]:
    """Return the key of each button that can be pressed, and its label."""
    return {str(each.key): each.label for each in page.button if not each.disabled}


def click(page: AppTest, label: str) -> AppTest:
    """Press the button that is called so."""
    next(each for each in page.button if each.label == label).click().run()
    assert not page.exception
    return page


def unfold(page: AppTest, *figures: str) -> AppTest:
    """Open the ways to save the figures that are called so."""
    for name in figures:
        page.session_state[f"{name}_save"] = True
    return whole(page.run())


def charts(page: AppTest) -> dict[str, dict[str, Any]]:
    """Return what each chart draws by its name: "figure", "alt", "config"."""
    drawn = [json.loads(each.proto.json) for each in page.get("bidi_component")]
    return {chart["figure"]["layout"]["uirevision"]: chart for chart in drawn}


def open_frame(page: str | None = None, **address: str) -> AppTest:
    """Open a page, or the first one, within the frame of all pages."""
    frame = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if page is not None:
        frame.switch_page(f"pages/{page}.py")
    for name, text in address.items():
        frame.query_params[name.replace("__", ".")] = text
    return frame.run()


def find_key(store: RunStore, method: str, seed: int = 0) -> str:
    """Return the key of a run."""
    keys = {(row.config["method"]["name"], row.config["seed"]): row.key for row in store.rows()}
    return keys[method, seed]


def address_of(page: AppTest, name: str) -> str:
    """Return what stands under a name in the page's address."""
    [text] = [page.query_params[name]] if isinstance(page.query_params[name], str) else page.query_params[name]
    return text


def make_csv(rows: int = 400, header: str = HEADER) -> bytes:
    """Return a table whose base rate differs between the sexes."""
    generator = np.random.default_rng(7)
    lines = []
    for _ in range(rows):
        sex = generator.choice(["f", "m"])
        high = generator.random() < (0.5 if sex == "m" else 0.2)
        lines.append(
            f"{generator.integers(18, 80)},{sex},{generator.choice(['X', 'Y'])},{'granted' if high else 'refused'}"
        )
    return (header + "\n".join(lines) + "\n").encode()


def upload(page: AppTest, content: bytes, name: str = "people.csv") -> AppTest:
    """Send a file to the page."""
    page.file_uploader[0].upload(name, content, "text/csv")
    return page.run()
