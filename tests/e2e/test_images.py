"""Images of a person's own in a browser: from the upload to a trained network, and to what is told of it."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Page, expect
from pyarrow import parquet

from tests.e2e.steps import CHART, drop, keyed, open_page, start, wait_for_state

KINDS, SEXES = ("cat", "dog", "fox"), ("f", "m")


def make_pets(rows: int = 1500) -> bytes:
    """Return a Parquet file of small grey images with a bright row for each kind."""
    draw, cells = np.random.default_rng(0), []
    for row in range(rows):
        pixels = draw.integers(0, 90, (14, 14), dtype=np.uint8)
        pixels[4 * (row % 3) + 1] += 120
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "png")
        cells.append(buffer.getvalue())
    columns = {"picture": cells, "kind": [KINDS[row % 3] for row in range(rows)]}
    columns["sex"] = [SEXES[row // 3 % 2] for row in range(rows)]
    held = io.BytesIO()
    parquet.write_table(pa.table(columns), held)
    return held.getvalue()


@pytest.mark.long
def test_own_images_from_upload_to_a_trained_network(tab: Page, site: Any) -> None:
    open_page(tab, site, "data?source=file&expert=True&p.epochs=4")
    upload = FilePayload(name="pets.parquet", mimeType="application/octet-stream", buffer=make_pets())
    drop(tab, upload)
    expect(tab.get_by_text("images, 14 × 14 pixels in grey")).to_be_visible()
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "p.network", "input")).to_have_value(re.compile("2 convolutions"))
    expect(tab.get_by_text("Not in the list: methods that take two labels (here are 3).")).to_be_visible()
    start(tab)
    wait_for_state(tab, "finished")
    expect(keyed(tab, "run_class_bars", CHART)).to_contain_text("fox")
    expect(keyed(tab, "run_gradient_norm", CHART)).to_be_visible()
    assert not tab.locator("[data-testid=stImage]").count()
