"""DP-FERMI's lambda that follows a gap: what it reads, where it ends, and what it costs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.shared.penalty_weight import LARGEST, largest_difference, shift_of_decisions
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import merge
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

SHORT: dict[str, Any] = {"epochs": 4, "batch_size": 50, "noise_primal": 0.5, "noise_counts": 0.5, "noise_gap": 0.7}
ATTRIBUTE = DpFermi(**SHORT, gap_target=0.02)
RECORD = DpFermiRecord(**SHORT, gap_target=0.02)
BOTH = pytest.mark.parametrize("method", [ATTRIBUTE, RECORD], ids=["attribute", "record"])


def _ordinary(groups: int, labels: int = 2) -> Dataset:
    data, draw = make_data(n=240 * groups, groups=groups), np.random.default_rng(5)
    names = {} if labels == 2 else {"label_names": tuple(f"label {number}" for number in range(labels))}
    y = data.y if labels == 2 else np.digitize(data.X[:, 0], [-0.5, 0.5]).astype(np.int64)
    return dataclasses.replace(with_group(data, draw.integers(0, groups, data.n)), y=y, **names)


def test_one_person_moves_decisions_among_three_labels_by_their_shift() -> None:
    found = contract.check_bounds(ATTRIBUTE, _ordinary(2, labels=3), "equalized_odds")
    assert found["decisions"] == pytest.approx(1.0)
    assert shift_of_decisions(3, 2) == pytest.approx(np.linalg.norm([2, -1, -1, 2, -1, -1]))


@BOTH
def test_lambda_that_is_back_at_0_is_counted_and_pulls_nothing(method: DpFermi | DpFermiRecord) -> None:
    """A target that everything meets: what the run says that it cost must not follow from what was released."""
    quiet = dataclasses.replace(method, gap_target=1.0, epochs=6, noise_gap=0.01)
    data = _ordinary(2)
    (fitted,) = train(quiet, [data], [RecordingMechanism()])
    assert set(fitted.notes["multipliers"].values()) == {0.0}  # type: ignore[attr-defined]
    assert set(merge(fitted.events)) == set(merge(quiet.event(data.n)))


def test_lambda_stays_within_its_range() -> None:
    data = _ordinary(2)
    greedy = dataclasses.replace(ATTRIBUTE, gap_target=0.0, epochs=8, noise_gap=300.0)
    (fitted,) = train(greedy, [data], [RecordingMechanism()])
    assert np.isfinite(fitted.parameters).all()
    assert 0 < _weight_after(greedy, data) <= LARGEST


def _weight_after(method: DpFermi, data: Dataset) -> float:
    """Return lambda of the last epoch, from a cell's multiplier, W and the shares that are exported."""
    (fitted,) = train(method, [data], [RecordingMechanism()])
    notes: Any = fitted.notes
    name = next(iter(notes["multipliers"]))
    w, share = np.array(notes["adversary"])[0, 0], notes["group_shares"][name]
    return float(-notes["multipliers"][name] / (2.0 * (w[1] - w[0]) / np.sqrt(share) * share))


def test_the_noise_is_deducted_from_the_difference() -> None:
    """On average squares are those of the exact shares, whatever the noise."""
    draw, exact, deviations = np.random.default_rng(3), np.array([0.3, 0.5]), np.array([0.1, 0.05])
    found = []
    for _ in range(4000):
        noisy = exact + deviations * draw.normal(size=2)
        found.append((noisy[0] - noisy[1]) ** 2 - (deviations**2).sum())
        shares = np.stack([1.0 - noisy, noisy], axis=1)
        gap = largest_difference(shares, deviations**2, np.array([-1, -1]))
        assert gap == pytest.approx(np.sqrt(max(found[-1], 0.0)))
    assert np.mean(found) == pytest.approx(0.04, abs=0.004)
    apart = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert largest_difference(apart, np.zeros(2), np.array([0, 1])) == 0.0


@pytest.mark.parametrize("kind", [DpFermi, DpFermiRecord])
def test_calibration_pays_for_decisions(kind: Any) -> None:
    ready = kind(gap_target=0.04).calibrated(epsilon=1.0, delta=1e-5, n_train=20000)
    plain = kind(gap_target=None).calibrated(epsilon=1.0, delta=1e-5, n_train=20000)
    assert plain.noise_gap is None and ready.noise_gap > 0
    assert ready.noise_primal > plain.noise_primal and ready.noise_counts == plain.noise_counts


@pytest.mark.parametrize("kind", [DpFermi, DpFermiRecord])
def test_assumptions_name_the_data_that_settings_were_chosen_on(kind: Any) -> None:
    assert (
        "The shipped settings were chosen on Adult, COMPAS and synthetic data;"
        in kind(gap_target=None).assumptions()[-1]
    )
    assert "chosen on Adult, Bank, COMPAS and synthetic data;" in kind(gap_target=0.04).assumptions()[-1]


@pytest.mark.parametrize("kind", [DpFermi, DpFermiRecord])
def test_what_cannot_be_used_is_said_in_a_sentence(kind: Any) -> None:
    with pytest.raises(BadInput, match=r"gap_target must lie in \[0, 1\], got 1\.2\."):
        kind(gap_target=1.2)
    with pytest.raises(BadInput, match=r"share_counts \+ share_gap must stay below 1, got 1\."):
        kind(share_counts=0.5, share_gap=0.5)
    with pytest.raises(BadInput, match=r"noise_gap is not set; give epsilon, or set noise_gap by hand\."):
        kind(gap_target=0.1, noise_counts=1.0, noise_primal=1.0).event(20000)


def test_the_published_variant_aims_at_no_gap() -> None:
    with pytest.raises(BadInput, match="gap_target must be none for the published variant"):
        DpFermi(variant="published", gap_target=0.04)


def test_notions_are_those_that_decisions_are_counted_for() -> None:
    assert all(notions()[name].compares == "decisions" for name in (*DpFermi.info.notions, *DpFermiRecord.info.notions))
