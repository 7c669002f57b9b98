"""A report on paper: the same page, printed to PDF by a headless browser."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from fairpriv_core.errors import BadInput
from fairpriv_core.report.export import find_browser

PRINT_SECONDS = 60.0
_PATIENCE = 10_000  # milliseconds of the page's own time in which its figures are drawn
NO_BROWSER = "A PDF needs Chromium on this machine: take the HTML file, and print it from your own browser."


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
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise BadInput(f"the browser {browser} did not print the report: {type(error).__name__}.") from error


def _command(browser: str, source: Path, target: Path) -> list[str]:
    command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-background-networking"]
    command += ["--no-first-run", f"--user-data-dir={source.parent}", f"--virtual-time-budget={_PATIENCE}"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium has none for root; the page is our own, without network
    return [*command, f"--print-to-pdf={target}", source.as_uri()]
