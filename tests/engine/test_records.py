"""What rules see of the records of a step: groups and labels behind one code, however many labels there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.rows import Columns, Feed, Records
from fairpriv_core.engine.training import Training
from fairpriv_core.methods.dpsgd_f import DpsgdF, DpsgdFRule
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive, FairDpRule
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, Watcher, make_data

ROWS = np.arange(0, 90, 2)


def with_labels(labels: int) -> Dataset:
    """Return a small data set of three groups and so many labels."""
    data = make_data(n=90, groups=3)
    names = tuple(f"label {label}" for label in range(labels))
    return replace(data, y=np.arange(data.n) * 7 % labels, label_names=names)


def look(data: Dataset, models: int = 2) -> Records:
    """Return the records of one step of `models` models on `ROWS`."""
    shape, feed = NetworkShape(data.d, 0, 1), Feed([data] * models)
    drawn = feed.draw([ROWS])
    kernel = Kernel(shape, np.stack([shape.initial(seed) for seed in range(models)]))
    return Records(kernel.run(drawn.features, drawn.squares), drawn)


def rule_of(kind: Any, method: Any, data: Dataset) -> Any:
    training = Training(notions()["demographic_parity"], 0, RecordingMechanism(), Watcher())
    return kind(Setting([method] * 2, [data] * 2, [training] * 2))


def test_a_code_is_group_and_label() -> None:
    for labels in [2, 3, 9]:
        data, records = with_labels(labels), look(with_labels(labels))
        assert (records.labels, Columns(data).label_count) == (labels, labels)
        assert Columns(data).codes.tolist() == (data.group * labels + data.y).tolist()
        assert np.array_equal(np.broadcast_to(records.group, (2, len(ROWS)))[1], data.group[ROWS])
        assert np.array_equal(np.broadcast_to(records.label, (2, len(ROWS)))[0], data.y[ROWS])
        counts = records.count_codes(3 * labels)[0].reshape(3, labels)
        for group, label in np.ndindex(3, labels):
            assert counts[group, label] == np.sum((data.group[ROWS] == group) & (data.y[ROWS] == label))


@pytest.mark.parametrize("clip_by", ["group", "class"])
def test_adaptive_bounds_are_by_group_or_by_class(clip_by: str) -> None:
    data = with_labels(4)
    rule = rule_of(FairDpRule, FairDpAdaptive(clip_by=clip_by, noise_primal=1.0, batch_size=30), data)
    kinds = np.broadcast_to(rule.kinds_of(look(data)), (2, len(ROWS)))[0]
    own = data.group if clip_by == "group" else data.y
    assert np.array_equal(kinds, own[ROWS])
    assert rule.arrays["clip_kinds"].shape == (2, 3 if clip_by == "group" else 4)
    names = data.group_names if clip_by == "group" else data.label_names
    assert list(rule.scalars(0)) == [f"clip/{name}" for name in names]
    histogram = rule.statistics(look(data)).reshape(2, len(names), -1)
    assert histogram.sum(axis=2)[0].tolist() == np.bincount(own[ROWS], minlength=len(names)).tolist()


def test_bounds_of_groups_count_each_group_whatever_its_labels() -> None:
    data = with_labels(5)
    rule = rule_of(DpsgdFRule, DpsgdF(noise_primal=1.0, batch_size=30), data)
    counts = rule.statistics(look(data)).reshape(2, 3, 2)
    assert counts.sum(axis=2)[0].tolist() == np.bincount(data.group[ROWS], minlength=3).tolist()
    rule.arrays["clip_groups"][:] = [[0.1, 0.2, 0.3]] * 2
    records = look(data)
    sampled: Any = type("Sampled", (), {"records": records})()
    lengths = np.abs(rule.weights(sampled)) * records.norms
    bounds = np.array([0.1, 0.2, 0.3])[data.group[ROWS]]
    assert (lengths <= bounds).all() and (lengths > 0.9 * bounds).mean() > 0.5
