"""DP-FERMI on networks with an output a label, three labels and groups: at the mechanism during the real fit.

What `test_dp_fermi.py` asks of one logit. Runs are recorded, then replayed on other sensitive columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.methods import dp_fermi
from fairpriv_core.methods.cell_counts import release_counts
from fairpriv_core.methods.dp_fermi import DpFermi, FermiClassesRule
from fairpriv_core.methods.shared import penalty
from fairpriv_core.methods.shared.penalty import ClassConditions, Directions
from fairpriv_core.methods.shared.setting import Setting
from tests.methods.harness import RecordingMechanism, Release, make_images, make_three, train, with_group

METHOD = DpFermi(
    epochs=1,
    batch_size=100,
    sampling_rate=0.1,
    multiplier=3.0,
    clip_primal=0.05,
    dual_step=5.0,
    dual_norm=4.0,
    share_dual=0.3,
    noise_primal=1.0,
    noise_counts=1.0,
    width=6,
    gap_target=None,
)
DEEP = dataclasses.replace(METHOD, hidden_layers=1)
IMAGES = dataclasses.replace(METHOD, network="cnn_small", batch_size=60)
NOTIONS = ("demographic_parity", "equalized_odds")


def _table() -> Dataset:
    data = make_three(n=1200, groups=3)
    return with_group(data, np.random.default_rng(5).integers(0, 3, data.n))


def _tiny_groups() -> Dataset:
    data = _table()
    return with_group(data, np.digitize(np.arange(data.n), (150, 300)))


def _certain() -> Dataset:
    """Return rows with huge gradients, which the network is sure of: predictions at the corners."""
    data = _table()
    draw = np.random.default_rng(6).normal(size=data.X.shape).astype(np.float32)
    return dataclasses.replace(data, X=data.X + 1e4 * draw)


def _equal() -> Dataset:
    data = _table()
    return dataclasses.replace(data, X=np.full_like(data.X, 30.0))


def make_faces(n: int = 180) -> Dataset:
    """Return small images with three labels, in three groups of one size."""
    data = make_images(n=n)
    group = np.random.default_rng(5).permutation(n) % 3
    return dataclasses.replace(with_group(data, group), group_names=("A", "B", "C"))


SHAPES: dict[str, tuple[DpFermi, Callable[[], Dataset]]] = {
    "ordinary": (METHOD, _table),
    "tiny groups": (METHOD, _tiny_groups),
    "certain predictions": (METHOD, _certain),
    "equal gradients": (METHOD, _equal),
    "hidden layer": (DEEP, _table),
    "hidden layer, certain predictions": (DEEP, _certain),
}


def _contributions(method: DpFermi, data: Dataset, notion: str = "demographic_parity") -> np.ndarray:
    """Return the lengths of what single records, in each of the groups, add to a step's vector, over its radius."""
    base = RecordingMechanism()
    train(method, [data], [base], notion=notion)
    order = np.random.default_rng(3).permutation(data.n)
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step, k=k: order[[(epoch * 100 + step * 7 + k // 3 * 11) % data.n]],
            replayed=base.releases,
        )
        for k in range(9)
    ]
    columns = [with_group(data, np.full(data.n, k % 3)) for k in range(9)]
    train(method, columns, mechanisms, notion=notion)
    return np.array([float(np.linalg.norm(release.value)) / release.bound for release in _sums(*mechanisms)])


def _sums(*mechanisms: RecordingMechanism) -> list[Release]:
    return [release for mechanism in mechanisms for release in mechanism.releases if release.kind == "sum"]


def _neighbour(data: Dataset, row: int) -> Dataset:
    group = data.group.copy()
    group[row] = (group[row] + 1) % data.groups
    return with_group(data, group)


@pytest.mark.parametrize(("shape", "notion"), list(zip(SHAPES, cycle(NOTIONS))))
def test_each_contribution_lies_in_its_ball(shape: str, notion: str) -> None:
    method, make = SHAPES[shape]
    if notion == "equalized_odds" and shape == "tiny groups":
        method = dataclasses.replace(method, noise_counts=0.1)  # cells of about 40 rows
    lengths = _contributions(method, make(), notion)
    assert len(lengths) >= 100
    assert lengths.max() <= 1.0


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_each_contribution_of_a_convolutional_network_lies_in_its_ball(scale: float) -> None:
    data = make_faces(n=120)
    only_theta = dataclasses.replace(IMAGES, share_dual=0.01)
    lengths = _contributions(only_theta, dataclasses.replace(data, X=data.X * np.float32(scale)))
    assert 0.98 <= lengths.max() <= 1.0


def test_the_ball_is_not_needlessly_large() -> None:
    only_w = dataclasses.replace(METHOD, share_dual=0.99)
    assert _contributions(only_w, _certain()).max() >= 0.98
    only_theta = dataclasses.replace(METHOD, share_dual=0.01)
    assert _contributions(only_theta, _table()).max() >= 0.98


def test_an_absent_record_adds_nothing_and_sums_add_up() -> None:
    data, chosen = make_faces(), np.array([3, 77, 140])
    base = RecordingMechanism(forced=lambda epoch, step: chosen)
    train(IMAGES, [data], [base])
    forced = [np.zeros(0, dtype=np.int64), *chosen.reshape(3, 1)]
    parts = [RecordingMechanism(forced=lambda epoch, step, rows=rows: rows, replayed=base.releases) for rows in forced]
    train(IMAGES, [data] * 4, parts)
    alone = RecordingMechanism(forced=lambda epoch, step: forced[0], replayed=base.releases)
    train(IMAGES, [data], [alone])
    assert not any(release.value.any() for release in _sums(alone))
    for whole, nothing, *single in zip(*(_sums(mechanism) for mechanism in [base, *parts]), strict=True):
        assert not nothing.value.any()
        assert np.allclose(whole.value, sum(release.value for release in single), atol=1e-5)


def test_the_mutant_that_clips_each_entry_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each label's gradient of F clipped to L_theta by itself, then added up."""

    def entry_by_entry(rule: FermiClassesRule, sampled: Sampled, whole: Directions) -> np.ndarray:
        parts = []
        for label, unit in enumerate(np.eye(sampled.records.labels)):
            directions = np.broadcast_to(unit, whole.directions.shape)
            lengths = (whole.directions[..., label] * whole.lengths).astype(np.float32)
            parts.append(honest(rule, sampled, Directions(directions, lengths)).copy())
        return np.sum(parts, axis=0)

    honest = FermiClassesRule.sum_of_directions
    monkeypatch.setattr(FermiClassesRule, "sum_of_directions", entry_by_entry)
    assert _contributions(dataclasses.replace(METHOD, share_dual=0.01), _table()).max() > 1.2


def test_the_mutant_that_does_not_centre_theta_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def raw(rule: FermiClassesRule) -> None:
        honest(rule)
        derivatives = dp_fermi.group_directions(rule.w, rule.shares)
        rule.secret = Directions.of(rule.conditions.spread_groups(derivatives))

    honest = FermiClassesRule.set_tables
    monkeypatch.setattr(FermiClassesRule, "set_tables", raw)
    assert _contributions(dataclasses.replace(METHOD, share_dual=0.01), _tiny_groups()).max() > 1.2


@pytest.mark.parametrize("part", ["midpoint", "mean"])
def test_the_mutant_that_does_not_centre_w_is_caught(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raw(sums: np.ndarray, shares: np.ndarray) -> np.ndarray:
        pull: np.ndarray = 2.0 * sums / np.sqrt(shares)[..., None]
        return pull

    honest = ClassConditions.group_sums
    if part == "midpoint":
        monkeypatch.setattr(penalty, "derivative_of_w", raw)
    else:
        monkeypatch.setattr(
            ClassConditions, "group_sums", lambda self, records, centre: honest(self, records, centre=0 * centre)
        )
    assert _contributions(dataclasses.replace(METHOD, share_dual=0.99), _certain()).max() > 1.1


def test_the_mutant_without_clipping_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dp_fermi, "clip_factors", lambda norms, bound: np.ones_like(norms))
    assert _contributions(METHOD, _table()).max() > 1.5


def test_the_mutant_with_exact_sizes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(setting: Setting[Any], k: int) -> np.ndarray:
        release_counts(setting, k)
        return setting.cells.sizes(setting.trains[k].group, setting.trains[k].y)

    monkeypatch.setattr(dp_fermi, "release_counts", exact)
    data, base = make_faces(), RecordingMechanism()
    (honest,) = train(DEEP, [data], [base])
    (other,) = train(DEEP, [_neighbour(data, 0)], [RecordingMechanism(replayed=base.releases)])
    assert not np.array_equal(honest.parameters, other.parameters)


def test_the_mutant_that_samples_the_public_batch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FermiClassesRule, "samples", lambda rule, epoch, batches: [list(batch) for batch in batches])
    recorder = RecordingMechanism(forced=lambda epoch, step: np.zeros(0, dtype=np.int64))
    train(DEEP, [make_faces()], [recorder])
    assert any(release.value.any() for release in _sums(recorder))
