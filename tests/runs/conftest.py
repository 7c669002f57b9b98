"""What whole runs are made with: one thread, a browser that hands back what it is given, one identity of a file.

Reports come without the script that draws, the same 4.7 MB in each: packing it takes longer than the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from fairpriv_core.documents import forms
from fairpriv_core.store import uploads


@pytest.fixture
def browser_that_hands_back(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Train with one thread; but for tests with a real browser, let PDF and images hold what a browser is given."""
    torch.set_num_threads(1)
    if "chromium" in request.fixturenames:
        return

    def paint(drawing: Mapping[str, Any], options: Mapping[str, Any], *, browser: str) -> bytes:
        return json.dumps([drawing, options]).encode()

    monkeypatch.setattr("fairpriv_core.documents.html.read_library", lambda: "")
    monkeypatch.setattr("fairpriv_core.figures.export._PAINTER.paint", paint)
    monkeypatch.setattr("fairpriv_core.figures.export.find_browser", lambda: "a browser")
    monkeypatch.setattr(forms, "find_browser", lambda: "a browser")
    monkeypatch.setattr(forms, "print_pdf", str.encode)


@pytest.fixture
def one_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both stores draw the same id for a person's file: one at random tells nothing."""
    monkeypatch.setattr(uploads, "draw_id", lambda: "0" * 16)
