"""What a person can take away of a run that has ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from pages.widgets.run.outcome import offer_files

FILES = ["Record (JSON)", "Config (TOML)"]
MODEL = ["Model (model.npz)", "Model (model.safetensors)", "Model (model.json)"]


@pytest.mark.parametrize(
    ("dataset", "offered"),
    [("adult", FILES + MODEL), ("mnist_unbalanced", FILES + MODEL), ("utkface", FILES), ("utkface_128", FILES)],
)
def test_a_model_of_faces_is_not_handed_out(dataset: str, offered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(st, "download_button", lambda label, *_, **__: seen.append(label))
    config = {"data": {"dataset": dataset, "sensitive": "race"}}
    record: Any = SimpleNamespace(config=config, to_document=lambda: {"config": config}, to_text=lambda: "")
    store: Any = SimpleNamespace(artifact=lambda key, name: b"weights")
    row: Any = SimpleNamespace(key="0123456789abcdef")
    offer_files(store, row, record)
    assert seen == offered
