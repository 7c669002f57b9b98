"""A sweep's file as somebody pastes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import read_toml
from pages.widgets.shared.state import keep, mount

_EXAMPLE = """notion = "demographic_parity"

[data]
dataset = "adult"
sensitive = "sex"

[method]
name = "dp_fermi"
epochs = 20

[axes]
epsilon = [0.5, 1, 3, 9]
method.multiplier = [0.5, 1, 2]
seed = [0, 1, 2]"""


def paste_sweep() -> dict[str, Any]:
    """Draw the field and return the sweep that stands in it; BadInput for what is no TOML, or names a file."""
    text = st.text_area("The file", height=330, **mount("sweep.text", default=_EXAMPLE), help="As for fairpriv sweep.")
    raw = read_toml(str(keep("sweep.text", text)), what="this")
    refuse_files(raw)
    return raw


def refuse_files(raw: Any) -> None:
    """Raise BadInput where a pasted sweep names a file: whoever pastes it need not be who may read this machine."""
    if isinstance(raw, Mapping):
        if any(str(name).rpartition(".")[2] == "file" for name in raw):
            raise BadInput(
                "a pasted sweep is about a benchmark (dataset = …). For a file of your own choose it on the Data page "
                "and fill in the form, or run fairpriv sweep.",
                field="data",
            )
        for part in raw.values():
            refuse_files(part)
    if isinstance(raw, list):
        for part in raw:
            refuse_files(part)
