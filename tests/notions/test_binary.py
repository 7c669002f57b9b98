"""With two labels nothing changed when there could be more: every number is the recorded one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.noisy import measure_noisy
from fairpriv_core.notions.rates import count_cells, decide
from tests.notions.binary import CASES, draw_case, read_recorded

#: logarithms and long sums may differ in the last bit from one processor to the next; shares of whole numbers may not
_ROUGH = ("ermi", "ermi_equalized_odds", "atkinson", "gini", "mean_log_deviation", "theil")


def assert_same(found: Any, recorded: Any, name: str = "") -> None:
    """Assert that all that was recorded is found; of reasons, that there is one."""
    if isinstance(recorded, dict):
        for key, value in recorded.items():
            assert_same(found[key], value, key)
    elif isinstance(recorded, list):
        assert len(found) == len(recorded), name
        for one, other in zip(found, recorded, strict=True):
            assert_same(one, other, name)
    elif isinstance(recorded, str) and " " in recorded:
        assert isinstance(found, str) and " " in found, name
    else:
        rough = isinstance(recorded, float) and name in _ROUGH
        assert type(found) is type(recorded) and found == (pytest.approx(recorded, rel=1e-12) if rough else recorded)


@pytest.mark.parametrize("name", CASES)
def test_raw_metrics_are_as_they_were(name: str) -> None:
    y, score, group, names, threshold = draw_case(name)
    recorded = read_recorded()[name]["raw"]
    assert_same(measure(y, score, group, names, threshold), recorded)
    both = np.stack([1 - score, score], axis=1)
    assert_same(measure(y, both, group, names, threshold, label_names=("no", "yes")), recorded)


@pytest.mark.parametrize("name", CASES)
def test_private_metrics_are_as_they_were(name: str) -> None:
    y, score, group, names, threshold = draw_case(name)
    counts = count_cells(decide(score, threshold), y, group, len(names))
    noisy = counts + np.random.default_rng(11).normal(0, 3, counts.shape).round(6)
    assert_same(measure_noisy(noisy, 3.0, names), read_recorded()[name]["noisy"])
