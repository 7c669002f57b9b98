"""axe, the checker of accessibility, finds nothing on any page, at two widths, light and dark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.steps import open_page, submit, wait_for_runs

SIZES: dict[str, ViewportSize] = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
Found = dict[str, list[tuple[str, list[Any]]]]  # what axe found, by rule: pages, and places on them
_PLAIN = {"name": "none", "epochs": 3}
_FAIR = {"name": "pf_ld", "epochs": 3}


@pytest.fixture(scope="module")
def keys(site: Any) -> list[str]:
    """Return the keys of two finished runs, one of them fair and private."""
    made = [*submit(site, _PLAIN, seed=395, epsilon=None), *submit(site, _FAIR, seed=395)]
    wait_for_runs(site, made)
    return made


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(size: str, scheme: Literal["light", "dark"], tab: Page, site: Any, keys: list[str]) -> None:
    tab.set_viewport_size(SIZES[size])
    tab.emulate_media(color_scheme=scheme)
    several = urlencode({"runs": keys}, doseq=True)
    one = urlencode({"run": keys[1]})
    pages = ["", "data", "train", f"run?{one}", f"compare?{several}", "tradeoffs", "papers", f"audit?{one}"]
    found: Found = {}
    for page in [*pages, f"report?{several}", f"present?{several}", "learn"]:
        open_page(tab, site, page)
        tab.wait_for_load_state("networkidle")
        tab.wait_for_timeout(2000)
        expect(tab.get_by_text("not among the finished runs")).to_have_count(0)
        look(tab, page, found)
    assert not found, json.dumps(found, indent=1)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_in_what_is_exported(
    size: str, scheme: Literal["light", "dark"], tab: Page, site: Any, keys: list[str], tmp_path: Path
) -> None:
    tab.set_viewport_size(SIZES[size])
    tab.emulate_media(color_scheme=scheme)
    found: Found = {}
    for form in ("html", "story"):
        out = tmp_path / f"{form}.html"
        command = [sys.executable, "-m", "fairpriv_core", "export", *keys, "--format", form, "--out", str(out)]
        subprocess.run(command, env=site.environment, check=True, capture_output=True)
        tab.goto(out.as_uri())
        tab.wait_for_timeout(2000)
        look(tab, form, found)
    assert not found, json.dumps(found, indent=1)


def look(tab: Page, page: str, found: Found) -> None:
    """Add what axe finds on the page that is open, by rule."""
    for broken in Axe().run(tab).response["violations"]:
        places = [node["target"] for node in broken["nodes"]]
        found.setdefault(f"{broken['id']}: {broken['help']}", []).append((page, places[:3]))
