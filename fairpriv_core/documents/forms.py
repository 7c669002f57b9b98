"""The forms in which a report is taken away, in one list for the page and the command line."""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fairpriv_core.documents.card import write_cards
from fairpriv_core.documents.chapters import build_document
from fairpriv_core.documents.chosen import Chosen, choose_runs, cut_beside
from fairpriv_core.documents.document import Document, TablePart
from fairpriv_core.documents.html import write_html
from fairpriv_core.documents.notebook import write_notebook
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.documents.report_numbers import class_rows, group_rows, paid_rows, run_rows
from fairpriv_core.documents.slides import MIME as SLIDES_MIME
from fairpriv_core.documents.slides import can_write_slides, write_slides
from fairpriv_core.documents.story import Story, build_story
from fairpriv_core.documents.story_page import write_story
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.classes import has_classes
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.figures.export import ImageFormat, find_browser, sign_pdf, to_image
from fairpriv_core.figures.figure import write_csv, write_table
from fairpriv_core.records.release import Kind

_DATE = (1980, 1, 1, 0, 0, 0)
PRINT_SECONDS = 60.0
_PATIENCE = 10_000  # milliseconds of the page's own time in which its figures are drawn
NO_BROWSER = "A PDF needs Chromium on this machine: take the HTML file, and print it from your own browser."
#: the forms of a report's story
OF_STORY = ("story", "summary", "pptx")
Say = Callable[[str], None]


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP of `files` by name; folders in names stay, and nothing else of a path does."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            safe = "/".join(safe_name(part) for part in name.split("/"))
            archive.writestr(zipfile.ZipInfo(safe, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def safe_name(text: str) -> str:
    """Return a file's name without folders, of letters, digits, dot, dash and underscore, at most 80 long.

    >>> safe_name("../../a b.toml"), safe_name("")
    ('a_b.toml', 'file')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "_", plain).lstrip("._-")[-80:] or "file"


def list_tables(report: Report) -> dict[str, bytes]:
    """Return every table by the name of its file."""
    settings, audience = report.chosen, report.audience
    files = {"tables/runs.csv": write_runs(settings, audience).encode()}
    files["tables/groups.csv"] = write_groups(settings, audience).encode()
    if any(has_classes(setting.first.exact) or has_classes(setting.first.released) for setting in settings):
        files["tables/classes.csv"] = write_classes(settings, audience).encode()
    return files | {f"figures/{figure.name}.csv": write_csv(figure).encode() for figure in report.document.figures}


def write_runs(settings: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return the run table as CSV; of the audience "policy" only numbers that ε covers or that are public."""
    table = paid_rows(settings) if audience == "policy" else run_rows(settings)
    rows = [(*row, ", ".join(setting.row.keys)) for row, setting in zip(table.rows, settings, strict=True)]
    return write_table((*table.head, "keys", "note"), ((*row, table.text) for row in rows))


def write_groups(settings: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return the groups' results of each run's first seed as CSV."""
    paid = audience == "policy"
    return _write_rows([(setting, group_rows(setting, paid=paid)) for setting in settings], "group")


def write_classes(settings: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return how each class fares in each run's first seed as CSV, of runs with more than two labels."""
    return _write_rows([(setting, class_rows(setting, paid=audience == "policy")) for setting in settings], "class")


def _write_rows(tables: Sequence[tuple[Chosen[Kind], TablePart | None]], first: str) -> str:
    """Return tables of several runs under each other; a column that a run does not have is empty there."""
    pairs = [(setting, table) for setting, table in tables if table is not None]
    head = tuple(dict.fromkeys(name for _, table in pairs for name in table.head)) or (first,)
    each_row = (
        (setting, table, dict(zip(table.head, row, strict=True))) for setting, table in pairs for row in table.rows
    )
    rows = [(setting.name, *(cells.get(name) for name in head), table.text) for setting, table, cells in each_row]
    return write_table(("run", *head, "note"), rows)


def print_pdf(page: str) -> bytes:
    """Return `page`, an HTML document that needs no network, as PDF on A4.

    Raises:
        BadInput: no Chromium, or one that does not print within a minute.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="fairpriv-print-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        try:
            subprocess.run(_command(browser, source, target), check=True, capture_output=True, timeout=PRINT_SECONDS)
            return sign_pdf(target.read_bytes(), _read_title(page))
        except (OSError, subprocess.SubprocessError) as error:
            raise BadInput(f"the browser {browser} did not print the report: {type(error).__name__}.") from error


def _read_title(page: str) -> str:
    match = re.search("<title>(.*?)</title>", page, re.S)
    return "" if match is None else html.unescape(match[1])


def _command(browser: str, source: Path, target: Path) -> list[str]:
    command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-background-networking"]
    command += ["--no-first-run", f"--user-data-dir={source.parent}", f"--virtual-time-budget={_PATIENCE}"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium has none for root; the page is our own, without network
    return [*command, f"--print-to-pdf={target}", source.as_uri()]


@dataclass(frozen=True)
class Report:
    """A report as data: for whom, on which runs, what it says; `sweep` is the TOML of a sweep of just these runs.

    `story` is for stakeholders whatever the audience: its numbers are public or paid for.
    """

    audience: Audience
    chosen: tuple[Chosen[Kind], ...]
    document: Document
    story: Story
    sweep: str | None = None


@dataclass(frozen=True)
class Form:
    """One form: its title, the ending of its file, and how its bytes are made.

    `make` calls its second argument with its progress. `browser` marks a form that needs one, which takes seconds.
    """

    title: str
    ending: str
    mime: str
    make: Callable[[Report, Say], bytes]
    browser: bool = False


def open_report(data: ReportData, audience: Audience, *, choice: int = 1) -> Report:
    """Return the report on the runs of `data`; `choice` is the number of the one that its story says was chosen.

    Raises:
        BadInput: too many runs.
    """
    settings = choose_runs(data, audience)
    document = build_document(settings, cut_beside(data, audience), audience)
    story = build_story(choose_runs(data, "policy"), cut_beside(data, "policy"), choice)
    return Report(audience, settings, document, story, data.sweep)


def forms_of(report: Report) -> dict[str, Form]:
    """Return every form that `report` can take, by name; "figures" only where it has one, "pptx" with python-pptx."""
    configs = _list_configs(report)
    config = Form("Configs (ZIP of TOML)", "zip", "application/zip", lambda *_: pack(configs))
    if len(configs) == 1:
        (toml,) = configs.values()
        config = Form("Config (TOML)", "toml", "application/toml", lambda *_: toml)
    forms = {
        "html": Form("Report (HTML, one file)", "html", "text/html", lambda *_: write_html(report.document).encode()),
        "pdf": Form("Report (PDF)", "pdf", "application/pdf", _write_pdf, browser=True),
        "story": Form("Presentation (HTML, arrow keys)", "html", "text/html", _write_story),
        "summary": Form("Summary, one page (PDF)", "pdf", "application/pdf", _write_summary, browser=True),
        "pptx": Form("Slides (PowerPoint)", "pptx", SLIDES_MIME, lambda *_: write_slides(report.story)),
        "figures": Form("Figures (PNG, SVG, PDF)", "zip", "application/zip", _write_figures, browser=True),
        "tables": Form(
            "Tables and figures' numbers (CSV)", "zip", "application/zip", lambda *_: pack(list_tables(report))
        ),
        "toml": config,
        "ipynb": Form("Notebook that repeats the runs", "ipynb", "application/x-ipynb+json", _write_notebook),
        "md": Form("Model card (Markdown)", "md", "text/markdown", _write_card),
        "zip": Form("Everything (ZIP)", "zip", "application/zip", _write_all, browser=True),
    }
    absent = {"figures": not report.document.figures, "pptx": not can_write_slides()}
    return {name: form for name, form in forms.items() if not absent.get(name)}


def write_image(report: Report, image_format: ImageFormat) -> bytes:
    """Return the figure that sets the runs side by side as an image; BadInput where no figure can be shown."""
    figures = {figure.name: figure for figure in report.document.figures}
    if not figures:
        raise BadInput("this report has no figure: nothing of these runs may be drawn for this audience.")
    return to_image(figures.get("chosen_trade_off") or next(iter(figures.values())), image_format)


def _write_pdf(report: Report, say: Say) -> bytes:
    say("printing the report")
    return print_pdf(write_html(report.document))


def _write_story(report: Report, say: Say) -> bytes:
    return write_story(report.story).encode()


def _write_summary(report: Report, say: Say) -> bytes:
    say("printing the summary")
    return print_pdf(write_story(report.story, theme="light"))


def _write_figures(report: Report, say: Say) -> bytes:
    return pack(_draw_figures(report, say))


def _write_notebook(report: Report, say: Say) -> bytes:
    return write_notebook(report.chosen, report.audience).encode()


def _write_card(report: Report, say: Say) -> bytes:
    return write_cards(report.chosen, report.audience).encode()


def _write_all(report: Report, say: Say) -> bytes:
    """Return everything; what needs a browser that is not there is left out, and a README.txt says so."""
    page = write_html(report.document)
    files = {"report.html": page.encode(), **list_tables(report)}
    files |= {**_list_configs(report), "notebook.ipynb": _write_notebook(report, say)}
    files["model_card.md"] = _write_card(report, say)
    if len(report.chosen) == 1:  # of several nobody has said here which was chosen
        files["presentation.html"] = _write_story(report, say)
    try:
        find_browser()
    except BadInput as error:
        return pack({**files, "README.txt": f"No PDF and no images: {error}\n".encode()})
    say("printing the report")
    return pack({**files, "report.pdf": print_pdf(page), **_draw_figures(report, say)})


def _list_configs(report: Report) -> dict[str, bytes]:
    runs = (run for setting in report.chosen for run in setting.runs)
    configs = {f"configs/{run.key}.toml": run.toml.encode() for run in runs}
    return configs | ({} if report.sweep is None else {"sweep.toml": report.sweep.encode()})


def _draw_figures(report: Report, say: Say) -> dict[str, bytes]:
    files, figures = {}, report.document.figures
    for index, figure in enumerate(figures, start=1):
        say(f"drawing figure {index} of {len(figures)}")
        for image_format in get_args(ImageFormat):
            files[f"figures/{figure.name}.{image_format}"] = to_image(figure, image_format)
    return files
