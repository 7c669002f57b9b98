"""The forms in which a report is taken away, in one list for the page and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from fairpriv_core.errors import BadInput
from fairpriv_core.report.brief import Audience, Brief
from fairpriv_core.report.brief_build import build_brief
from fairpriv_core.report.brief_html import write_html
from fairpriv_core.report.brief_print import print_pdf
from fairpriv_core.report.brief_runs import Chosen, choose_runs, read_beside
from fairpriv_core.report.brief_tables import list_tables
from fairpriv_core.report.bundle import pack
from fairpriv_core.report.card import write_cards
from fairpriv_core.report.export import ImageFormat, find_browser, to_image
from fairpriv_core.report.notebook import write_notebook

Say = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """A report as data: for whom, on which runs, what it says; `sweep` is the TOML of a sweep of just these runs."""

    audience: Audience
    chosen: tuple[Chosen, ...]
    brief: Brief
    sweep: str | None = None


@dataclass(frozen=True)
class Form:
    """One form: its title, the ending of its file, and how its bytes are made.

    `make` is told where to say how far it is. `browser` marks what needs one, and takes seconds.
    """

    title: str
    ending: str
    mime: str
    make: Callable[[Report, Say], bytes]
    browser: bool = False


def open_report(handout: Mapping[str, Any], audience: Audience) -> Report:
    """Return the report on the runs of `handout` (see report/handout.py); BadInput for too many runs."""
    chosen = choose_runs(handout, audience)
    return Report(audience, chosen, build_brief(chosen, read_beside(handout, audience), audience), handout.get("sweep"))


def forms_of(report: Report) -> dict[str, Form]:
    """Return every form that `report` can take, by name; "figures" only where it has one."""
    configs = _list_configs(report)
    several = len(configs) > 1
    config = Form("Configs (ZIP of TOML)" if several else "Config (TOML)", "zip", "application/zip", _write_configs)
    if not several:
        config = Form("Config (TOML)", "toml", "application/toml", _write_config)
    forms = {
        "html": Form("Report (HTML, one file)", "html", "text/html", _write_html),
        "pdf": Form("Report (PDF)", "pdf", "application/pdf", _write_pdf, browser=True),
        "figures": Form("Figures (PNG, SVG, PDF)", "zip", "application/zip", _write_figures, browser=True),
        "tables": Form("Tables and figures' numbers (CSV)", "zip", "application/zip", _write_tables),
        "toml": config,
        "ipynb": Form("Notebook that repeats the runs", "ipynb", "application/x-ipynb+json", _write_notebook),
        "md": Form("Model card (Markdown)", "md", "text/markdown", _write_card),
        "zip": Form("Everything (ZIP)", "zip", "application/zip", _write_all, browser=True),
    }
    return {name: form for name, form in forms.items() if name != "figures" or report.brief.figures}


def write_image(report: Report, image_format: ImageFormat) -> bytes:
    """Return the figure that sets the runs side by side as an image; BadInput where no figure can be shown."""
    figures = {figure.name: figure for figure in report.brief.figures}
    if not figures:
        raise BadInput("this report has no figure: nothing of these runs may be drawn for this audience.")
    return to_image(figures.get("chosen_trade_off") or next(iter(figures.values())), image_format)


def _write_html(report: Report, say: Say) -> bytes:
    return write_html(report.brief).encode()


def _write_pdf(report: Report, say: Say) -> bytes:
    say("printing the report")
    return print_pdf(write_html(report.brief))


def _write_figures(report: Report, say: Say) -> bytes:
    return pack(_draw_figures(report, say))


def _write_tables(report: Report, say: Say) -> bytes:
    return pack(list_tables(report.brief, report.chosen, report.audience))


def _write_config(report: Report, say: Say) -> bytes:
    return next(iter(_list_configs(report).values()))


def _write_configs(report: Report, say: Say) -> bytes:
    return pack(_list_configs(report))


def _write_notebook(report: Report, say: Say) -> bytes:
    return write_notebook(report.chosen, report.audience).encode()


def _write_card(report: Report, say: Say) -> bytes:
    return write_cards(report.chosen, report.audience).encode()


def _write_all(report: Report, say: Say) -> bytes:
    """Return everything; what needs a browser that is not there is left out, and a README.txt says so."""
    page = write_html(report.brief)
    files = {"report.html": page.encode(), **list_tables(report.brief, report.chosen, report.audience)}
    files |= {**_list_configs(report), "notebook.ipynb": _write_notebook(report, say)}
    files["model_card.md"] = _write_card(report, say)
    try:
        find_browser()
    except BadInput as error:
        return pack({**files, "README.txt": f"No PDF and no images: {error}\n".encode()})
    say("printing the report")
    return pack({**files, "report.pdf": print_pdf(page), **_draw_figures(report, say)})


def _list_configs(report: Report) -> dict[str, bytes]:
    runs = (run for each in report.chosen for run in each.runs)
    configs = {f"configs/{run['record']['key']}.toml": run["config"].encode() for run in runs}
    return configs | ({} if report.sweep is None else {"sweep.toml": report.sweep.encode()})


def _draw_figures(report: Report, say: Say) -> dict[str, bytes]:
    files, figures = {}, report.brief.figures
    for index, figure in enumerate(figures, start=1):
        say(f"drawing figure {index} of {len(figures)}")
        for image_format in get_args(ImageFormat):
            files[f"figures/{figure.name}.{image_format}"] = to_image(figure, image_format)
    return files
