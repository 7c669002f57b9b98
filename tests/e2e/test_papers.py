"""The Papers page in a browser: a figure made earlier, what its claim is worth, its numbers as a file, and its cost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, choose, keyed, open_page, save


def test_a_figure_from_its_verdict_to_its_numbers_and_to_another_one(tab: Page, site: Any, tmp_path: Path) -> None:
    open_page(tab, site, "papers?paper=pf_ld&preset=pf_ld.figure4")
    expect(keyed(tab, "paper_3", CHART)).to_be_visible()
    expect(tab.get_by_text("“The share of gradients above C_p is very high")).to_be_visible()
    keyed(tab, "paper_runs", "button").click()
    expect(tab.locator("[data-testid=stPopoverBody]")).to_contain_text("Made from the runs")
    tab.keyboard.press("Escape")
    keyed(tab, "paper_2_save", "button").click()
    lines = save(tab, "paper_2_csv", tmp_path).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("figure,panel,series,x")
    assert len(lines) > 6 and not any("Do not publish" in line for line in lines)
    tab.keyboard.press("Escape")
    keyed(tab, "paper_set_save", "button").click()
    assert save(tab, "paper_set_svg", tmp_path).read_text(encoding="utf-8").count("<svg ") == 5
    keyed(tab, "paper_set_bibtex").click()
    assert "@misc{fairpriv," in save(tab, "paper_set_bib", tmp_path).read_text(encoding="utf-8")
    tab.keyboard.press("Escape")
    choose(tab, "preset", "Figure 1: accuracy and fairness")
    heading = tab.get_by_role("heading", name="Figure 1: accuracy and fairness")
    expect(heading).to_be_visible()
    expect(tab).to_have_url(re.compile(r"preset=pf_ld\.figure1"))
    tab.reload()
    expect(heading).to_be_visible()
