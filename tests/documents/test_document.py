"""Reports as data and as files: what they hold, and that names which somebody wrote stay text everywhere."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from fairpriv_core.documents import forms
from fairpriv_core.documents.document import AUDIENCES, Audience, Code, Document, Section, TablePart, Text, list_parts
from fairpriv_core.documents.forms import Report, forms_of, open_report, pack, safe_name, write_image
from fairpriv_core.documents.html import write_html
from fairpriv_core.documents.markdown import escape, write_markdown
from fairpriv_core.errors import BadInput
from fairpriv_core.figures import export
from fairpriv_core.figures.draw import draw
from tests.documents.made_up import RAW, make_data, tell_run
from tests.documents.test_policy import read_form

NASTY = {
    "group": "<script>alert(1)</script>",
    "column": '<img src=x onerror="alert(2)">',
    "label": "=cmd|'/C calc'!A0",
    "positive": "a|b `*c*` </script><b>",
    "sensitive": "@sum(1)\n# no heading",
}


class Tags(HTMLParser):
    """Counts the tags of a page, and notes what would be fetched or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.fetched: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.fetched += [
            text or "" for name, text in attrs if name in ("src", "href") and not (text or "").startswith("#")
        ]
        self.fetched += [name for name, _ in attrs if name.startswith("on")]


def report_on(*runs: dict[str, object], audience: Audience = "analyst") -> Report:
    return open_report(make_data(*runs), audience)


def make(report: Report, name: str) -> bytes:
    return forms_of(report)[name].make(report, lambda said: None)


def titles(report: Report) -> list[str]:
    return [section.title for section in report.document.sections]


def test_a_report_holds_everything_that_belongs_to_a_result() -> None:
    report = report_on(tell_run())
    text = read_form(report, "html")
    assert titles(report)[:14] == [
        "In short",
        "What was asked",
        "The data",
        "What privacy promises",
        "What is not promised",
        "What is assumed",
        "What came out",
        "Groups",
        "Groups, from noisy counts",
        "While training",
        "Certificate and audit of Run 1: PF-LD, ε = 1",
        "Caveats",
        "Settings",
        "How to repeat it",
    ]
    for said in (
        "3,000 to train on and 1,000 to test on",
        "CC BY 4.0",
        "sex: Female; Male",
        "δ = 1 in 100,000",
        "the sensitive attribute of each row",
        "the paper&#x27;s accounting states 0.92",
        "at most 74 % certain",
        "The list of groups is public.",
        "at most 12.34 percentage points",
        "python 3.11",
        "a" * 16,
        "same initialisation",
        "replay mode",
    ):
        assert said in text, said


def test_seeds_are_folded_and_every_key_is_named() -> None:
    report = report_on(tell_run("a" * 16), tell_run("b" * 16, seed=1), tell_run("c" * 16, split="official"))
    assert [each.row.keys for each in report.chosen] == [("a" * 16, "b" * 16), ("c" * 16,)]
    text = read_form(report, "html")
    assert f"{'a' * 16}, {'b' * 16}" in text
    assert forms_of(report)["toml"].ending == "zip"
    with zipfile.ZipFile(io.BytesIO(make(report, "toml"))) as archive:
        assert archive.namelist() == [f"configs/{key * 16}.toml" for key in "abc"]


def test_a_certificate_says_whose_model_it_is_about_and_one_that_is_gone_says_why() -> None:
    several = report_on(tell_run("a" * 16), tell_run("b" * 16, seed=1))
    assert "It is of the model of seed 0 alone." in read_form(several, "html")
    gone = replace(tell_run(), certificates=[("withdrawn", "The certificates were withdrawn.")])
    text = read_form(report_on(gone), "html")
    assert "The certificates were withdrawn." in text and "noisy counts of test rows" not in text


def test_an_estimated_bound_stands_under_no_heading_of_a_certificate() -> None:
    bounds = [("demographic parity gap", "at most 5.21 percentage points"), ("not proved", "found on other tables")]
    report = report_on(replace(tell_run(), certificates=[], audit=None, bounds=bounds))
    found = next(each for each in report.document.sections if "5.21" in repr(each))
    assert found.title == "Estimated bound of Run 1: PF-LD, ε = 1" and "certifi" not in repr(found)
    assert not [title for title in titles(report) if title.startswith("Certificate")]


def test_the_card_has_the_nine_parts_of_mitchell_and_others() -> None:
    card = read_form(report_on(tell_run()), "md")
    assert re.findall(r"^### (.*)$", card, re.MULTILINE) == [
        "Model details",
        "Intended use",
        "Factors",
        "Metrics",
        "Evaluation data",
        "Training data",
        "Quantitative analyses",
        "Ethical considerations",
        "Caveats and recommendations",
    ]
    assert f"{100 * RAW['positive_rate']:.2f}" in card and "Do not publish" in card


def test_the_page_holds_its_library_once_and_fetches_nothing() -> None:
    page = write_html(report_on(tell_run()).document)
    found = Tags(page)
    assert page.count("plotly.js v") <= 1 and page.count("Plotly.newPlot(place") == 1
    assert not found.fetched
    assert found.tags["figure"] == len(report_on(tell_run()).document.figures) > 3
    assert "default-src 'none'" in page[:800]


def test_a_keyboard_reaches_what_scrolls_and_a_reader_the_main_part() -> None:
    page = write_html(report_on(tell_run()).document)
    tables = Tags(page).tags["table"]
    assert page.count("<main>") == 1 and tables > 3
    places = re.findall(r'<div class="wide" tabindex="0" role="group" aria-label="[^"]+"><table>', page)
    assert len(places) == tables


@pytest.mark.parametrize("audience", AUDIENCES)
def test_names_stay_text(audience: Audience) -> None:
    report = report_on(tell_run(words=NASTY), audience=audience)
    found = Tags(read_form(report, "html"))
    plain = Tags(read_form(report_on(tell_run(), audience=audience), "html"))
    assert found.tags == plain.tags and not found.fetched
    card = read_form(report, "md")
    assert "<script" not in card.replace("\\<", "") and "<img" not in card.replace("\\<", "")
    assert "\n# no heading" not in card and not re.search(r"(?<!\\)`\*c", card)
    for figure in report.document.figures:
        drawing = draw(figure)
        drawing["layout"].pop("meta")  # the text alternative: never drawn
        assert "<script" not in json.dumps(drawing) and "<img" not in json.dumps(drawing)


def test_formulas_in_names_are_defused_in_tables() -> None:
    report = report_on(tell_run(words={"group": "=1+1"}))
    with zipfile.ZipFile(io.BytesIO(make(report, "tables"))) as archive:
        assert {"tables/runs.csv", "tables/groups.csv", "figures/groups_positive_rate.csv"} <= set(archive.namelist())
        rows = [row for name in archive.namelist() for row in csv.reader(io.StringIO(archive.read(name).decode()))]
    cells = {cell for row in rows for cell in row}
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_images_take_names_as_text(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    drawn = export.to_image(report_on(tell_run(words=NASTY)).document.figures[2], "svg").decode()
    assert "alert(1)" in drawn and "<script" not in drawn


def test_names_in_a_zip_cannot_leave_their_folder() -> None:
    content = pack({"../../etc/passwd": b"1", "/srv/x": b"2", "a\\..\\b": b"3", "figures/é <x>.csv": b"4"})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
    assert not any(name.startswith("/") or ".." in name.split("/") or "\\" in name for name in names), names
    assert names[-1] == "figures/e_x_.csv"
    assert content == pack({"../../etc/passwd": b"1", "/srv/x": b"2", "a\\..\\b": b"3", "figures/é <x>.csv": b"4"})
    assert safe_name("...") == "file" and len(safe_name("x" * 300)) == 80


def test_everything_without_a_browser_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "")
    monkeypatch.setenv("PATH", "")
    report = report_on(tell_run())
    with zipfile.ZipFile(io.BytesIO(make(report, "zip"))) as archive:
        assert "Chromium" in archive.read("README.txt").decode()
        assert {"report.html", "notebook.ipynb", "model_card.md"} <= set(archive.namelist())
    for name in ("pdf", "figures"):
        with pytest.raises(BadInput, match="Chromium"):
            make(report, name)


def test_a_browser_that_does_not_print_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/bin/false")
    with pytest.raises(BadInput, match="did not print"):
        forms.print_pdf("<p>x</p>")


def test_the_pdf_is_printed_from_the_page(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    printed = make(report_on(tell_run(), audience="policy"), "pdf")
    assert printed.startswith(b"%PDF") and len(printed) > 50_000
    assert printed.count(b"/Type /Page\n") > 2


def test_an_image_of_no_figure_is_refused() -> None:
    report = report_on(tell_run(method="none", threat_model=None, epsilon=None, paid=False), audience="policy")
    report.chosen[0].first.audit["code"] = None  # a method that is not private is not attacked
    empty = Report("policy", report.chosen, Document("t", "analyst", ()), report.story)
    with pytest.raises(BadInput, match="no figure"):
        write_image(empty, "png")


def test_markdown_escapes_and_fences_what_would_be_markup() -> None:
    document = Document(
        "# t",
        "analyst",
        (Section("s", (Text("*a*", strong=True), Code("x = '```'"), TablePart(("h|",), ((1.234,),)))),),
    )
    text = write_markdown(document)
    assert "# \\# t" in text and "**\\*a\\***" in text and "````toml\nx = '```'\n````" in text
    assert "| h\\| |" in text and "| 1.23 |" in text
    assert escape("a\n# b") == "a \\# b"


def test_no_more_settings_than_there_is_room_for() -> None:
    runs = [tell_run(f"{index:016}", split=str(index)) for index in range(27)]
    with pytest.raises(BadInput, match="room for 26"):
        report_on(*runs)


def test_every_form_has_its_parts(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    report, said = report_on(tell_run(paid=False, method="none", threat_model=None, epsilon=None)), list[str]()
    assert json.loads(make(report, "ipynb"))["nbformat"] == 4
    assert list(list_parts(report.document))
    two = replace(report, document=Document("t", "analyst", (Section("s", report.document.figures[:2]),)))
    with zipfile.ZipFile(io.BytesIO(forms_of(two)["figures"].make(two, said.append))) as archive:
        images = archive.namelist()
    assert len(images) == 6 and {name[-3:] for name in images} == {"png", "svg", "pdf"}
    assert said == ["drawing figure 1 of 2", "drawing figure 2 of 2"]
    monkeypatch.setattr(forms, "_draw_figures", lambda *_: dict.fromkeys(images, b""))
    with zipfile.ZipFile(io.BytesIO(make(two, "zip"))) as archive:
        assert archive.read("report.pdf").startswith(b"%PDF")
        assert set(images) < set(archive.namelist()) and "README.txt" not in archive.namelist()


def test_runs_that_are_a_sweep_take_its_file_along(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER_PATH", "PATH"):
        monkeypatch.setenv(name, "")  # all but what a browser prints
    data = make_data(tell_run("a" * 16), tell_run("b" * 16, seed=1))
    sweep = "[axes]\nseed = [0, 1]\n"
    for name in ("toml", "zip"):
        report = open_report(replace(data, sweep=sweep), "analyst")
        with zipfile.ZipFile(io.BytesIO(make(report, name))) as archive:
            assert archive.read("sweep.toml").decode() == sweep
    with zipfile.ZipFile(io.BytesIO(make(open_report(data, "analyst"), "toml"))) as archive:
        assert "sweep.toml" not in archive.namelist()
