"""The warm-up that the Train page's clipping curves come from: public values, and no group looked at."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.methods import previews
from fairpriv_core.methods.clipping_choice import POINTS, Warmup
from fairpriv_core.methods.pf_ld import PfLd
from tests.methods.harness import with_group

REQUEST = {
    "data": asdict(DataSpec(dataset="synthetic", sensitive="group")),
    "notion": "demographic_parity",
    "hidden_layers": 1,
    "width": 8,
    "seed": 0,
}


def test_a_warmup_gives_curves_over_both_bounds() -> None:
    warmup = Warmup(**previews.compute(REQUEST))
    assert len(warmup.norms) == len(warmup.outputs) == POINTS
    assert list(warmup.norms) == sorted(warmup.norms)
    assert warmup.norms[0] >= 0
    assert 0 <= warmup.outputs[0] <= warmup.outputs[-1] <= 1
    ready = PfLd(hidden_layers=1, width=8, gap_target=None).calibrated(epsilon=1.0, delta=1e-5, n_train=warmup.rows)
    for curve in ready.clipping_curves(warmup).values():
        assert curve.bounds[0] < curve.minimiser < curve.bounds[-1]


def test_a_warmup_does_not_look_at_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, load = previews.compute(REQUEST), previews.load_dataset

    def shuffled(spec: DataSpec) -> object:
        data = load(spec)
        return with_group(data, np.random.default_rng(0).permutation(data.group))

    monkeypatch.setattr(previews, "load_dataset", shuffled)
    assert previews.compute(REQUEST) == honest
