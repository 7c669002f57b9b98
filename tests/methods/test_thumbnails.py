"""What OneRelease's statistic knows of an image: means over blocks, of that image alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.shared import thumbnails
from fairpriv_core.methods.shared.group_statistic import build_features
from fairpriv_core.methods.shared.thumbnails import SIDE, shrink_images
from tests.methods.harness import make_images


def _draw(image: tuple[int, int, int], count: int = 5) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(count, int(np.prod(image)))).astype(np.float32)


def test_a_thumbnail_is_the_mean_of_each_block_and_of_the_channels() -> None:
    rows = _draw((3, 48, 24))
    blocks = rows.reshape(-1, 3, SIDE, 4, SIDE, 2).astype(np.float64).mean(axis=(1, 3, 5))
    assert np.allclose(shrink_images(rows, (3, 48, 24)), blocks.reshape(5, -1) - 0.5)


def test_every_pixel_counts_where_sides_do_not_divide() -> None:
    for image in [(1, 14, 17), (1, 28, 28), (3, 130, 125), (1, 12, 12)]:
        rows = _draw(image)
        found = shrink_images(rows, image)
        assert found.shape == (5, SIDE * SIDE)
        for pixel in (0, rows.shape[1] // 2, rows.shape[1] - 1):
            brighter = rows.copy()
            brighter[:, pixel] += 1.0
            moved = shrink_images(brighter, image) - found
            assert (np.count_nonzero(np.abs(moved) > 1e-9, axis=1) == 1).all()
        assert np.allclose(shrink_images(np.full_like(rows, 0.75), image), 0.25)


def test_a_smaller_image_keeps_its_pixels() -> None:
    rows = _draw((1, 8, 9))
    assert np.allclose(shrink_images(rows, (1, 8, 9)), rows - 0.5, atol=1e-7)


def test_an_image_s_thumbnail_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _draw((1, 20, 20))
    whole = shrink_images(rows, (1, 20, 20))
    assert np.array_equal(shrink_images(rows[3:4], (1, 20, 20))[0], whole[3])
    monkeypatch.setattr(thumbnails, "_NUMBERS", 1)
    assert np.array_equal(shrink_images(rows, (1, 20, 20)), whole)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_image_that_is_not_finite_says_nothing(value: float) -> None:
    data = make_images(n=100, labels=2)
    rows = data.X.copy()
    rows[7, 30] = value
    features = build_features(OneRelease(), dataclasses.replace(data, X=rows))
    assert features.rows.shape == (100, SIDE**2 + 11) and features.intercept == SIDE**2
    assert not features.rows[7].any()
    others = np.delete(features.rows, 7, axis=0)
    assert np.isfinite(others).all() and (np.linalg.norm(others, axis=1) <= 1.0).all() and others.any(axis=1).all()
