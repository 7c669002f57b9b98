"""What leaves the page: CSV, one offline HTML file, images."""

from __future__ import annotations

import csv
import io
import re
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from fairpriv_core.documents.document import Document, Section
from fairpriv_core.documents.html import write_html as write_report
from fairpriv_core.errors import BadInput
from fairpriv_core.figures import export
from fairpriv_core.figures.draw import CONFIG
from fairpriv_core.figures.export import Painter, to_html, to_image
from fairpriv_core.figures.figure import write_csv
from tests.e2e.steps import assert_keeps_to_itself
from tests.figures import samples

ROOT = Path(__file__).parents[2]
FIGURES = samples.every_figure()


def test_csv_has_intervals_units_and_bin_edges() -> None:
    row = next(csv.DictReader(io.StringIO(write_csv(FIGURES["trade_off"]))))
    assert float(row["low"]) < float(row["y"]) < float(row["high"])
    assert (row["x_axis"], row["y_axis"]) == ("Privacy budget ε", "Accuracy (%)")
    bins = list(csv.DictReader(io.StringIO(write_csv(FIGURES["clipping_gradient_norm"]))))
    assert [(row["x"], row["x_end"]) for row in bins[:2]] == [("0.0", "0.5"), ("0.5", "1.0")]


def test_every_drawing_for_a_browser_is_told_to_keep_to_itself() -> None:
    assert CONFIG["showSendToCloud"] is False
    for page in (
        to_html(FIGURES["trade_off"]),
        write_report(Document("t", "analyst", (Section("s", (FIGURES["trade_off"],)),))),
    ):
        own = page.replace(files("plotly").joinpath("package_data/plotly.min.js").read_text("utf-8"), "")
        calls = re.findall(r"Plotly\.(?:newPlot|react)\(", own)
        assert len(calls) == own.count('"showSendToCloud": false') == 1
    drawn = [path.name for path in (ROOT / "pages").rglob("*") if path.suffix in (".py", ".js") and draws(path)]
    assert drawn == ["charts.js"] and "font }, config)" in (ROOT / "pages/widgets/shared/charts.js").read_text()
    assert '"config": CONFIG' in (ROOT / "pages/widgets/shared/charts.py").read_text()


def draws(path: Path) -> bool:
    """Return whether a file of the pages hands a chart to a browser by itself."""
    return bool(
        re.search(r"(newPlot|\.react)\(|st\.(plotly|altair|vega|bokeh|line|bar|area|scatter)_", path.read_text())
    )


def test_an_exported_figure_has_no_button_that_sends_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "figure.html"
    path.write_text(to_html(FIGURES["trade_off"]), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator(".modebar-btn").first.wait_for(state="attached")
    assert_keeps_to_itself(page)
    page.close()


def test_images_from_several_threads(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    titles = {name: FIGURES[name].title for name in ("predicted_epsilon", "live_epsilon", "live_multipliers")}
    found: dict[str, str] = {}

    def work(name: str) -> None:
        found[name] = to_image(FIGURES[name], "svg").decode()

    threads = [threading.Thread(target=work, args=(name,)) for name in titles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for name, title in titles.items():
        assert title in found[name], "each thread gets its own figure"


def test_without_chromium_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    with pytest.raises(BadInput, match=r"needs Chromium.*apt install chromium.*HTML or CSV"):
        to_image(FIGURES["trade_off"], "png")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(BadInput, match="png, svg, pdf, got 'gif'"):
        to_image(FIGURES["trade_off"], "gif")  # type: ignore[arg-type]


class Flaky:
    """Stands in for Kaleido: fails as often as it is told to."""

    failures = 0
    opened = 0

    def __init__(self, **options: Any) -> None:
        self.options = options

    async def open(self) -> None:
        Flaky.opened += 1

    async def close(self) -> None:
        return

    async def calc_fig(self, figure: Any, opts: Any) -> bytes:
        if Flaky.failures > 0:
            Flaky.failures -= 1
            raise RuntimeError("the tab is gone")
        return b"image"


def test_a_dead_browser_is_replaced_once_and_then_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    painter = Painter(Flaky)
    monkeypatch.setattr(Flaky, "opened", 0)
    monkeypatch.setattr(Flaky, "failures", 1)
    assert painter.paint({}, {}, browser="x") == b"image"
    assert Flaky.opened == 2
    monkeypatch.setattr(Flaky, "failures", 2)
    with pytest.raises(BadInput, match="did not draw the image: RuntimeError the tab is gone"):
        painter.paint({}, {}, browser="x")
    assert painter.paint({}, {}, browser="x") == b"image", "the next image gets a new browser"


def test_a_browser_that_does_not_start_is_a_sentence() -> None:
    painter = Painter(lambda **_: (_ for _ in ()).throw(OSError("no such file")))
    with pytest.raises(BadInput, match="/nowhere did not start: OSError no such file"):
        painter.start("/nowhere")


def test_closing_ends_the_browser(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    to_image(FIGURES["predicted_epsilon"], "svg")
    warm = export._PAINTER._kaleido
    to_image(FIGURES["predicted_epsilon"], "svg")
    assert export._PAINTER._kaleido is warm is not None, "the browser stays warm"
    export._PAINTER.close()
    assert to_image(FIGURES["predicted_epsilon"], "svg").startswith(b"<svg"), "it starts again when needed"
