"""What a step of DP-FERMI releases: one vector that holds theta's sum and W's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.privacy.event import Relation

JACOBIAN = math.sqrt(2.0)  # the rows of F's Jacobian are dh and -dh: its Frobenius norm is this times |dh|


@dataclass(frozen=True)
class Pairs:
    """K models' two sums over one sample each: `theta` (K, P) and `w` (K, conditions, k, l).

    The bounds (K,) are on the L2 norm of what one record adds to a sum (theta's may be 0: the sum is 0 then).
    """

    theta: np.ndarray
    theta_bound: np.ndarray
    w: np.ndarray
    w_bound: np.ndarray


class StepRelease:
    """Releases the pairs of every step with the noise of each model's method; models of multiplier 0 release nothing.

    Each sum is scaled to the root of its share of the budget, so a record adds at most 1 to the vector: a multiplier
    sigma on the whole is sigma / sqrt(share) on each part (docs/methods/dp_fermi.md).
    """

    def __init__(self, setting: Setting[DpFermi], relation: Relation) -> None:
        self._setting = setting
        self._relation: Relation = relation
        pursued = [method.multiplier > 0 for method in setting.methods]
        self._radii = [float(each) for each in pursued]
        self._noises = [
            method.noise("noise_primal") if each else 0.0 for method, each in zip(setting.methods, pursued, strict=True)
        ]
        shares = np.array([method.share_of_w for method in setting.methods])
        self._of_w, self._of_theta = np.sqrt(shares), np.sqrt(1.0 - shares)

    def release(self, pairs: Pairs, *, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return both sums of each model with noise: one sampled Gaussian on the vector that holds them."""
        theta_unit, w_unit = (pairs.theta_bound / self._of_theta)[:, None], (pairs.w_bound / self._of_w)[:, None]
        theta = pairs.theta / np.where(theta_unit > 0, theta_unit, np.inf)
        w = pairs.w.reshape(len(theta), -1) / w_unit
        noisy = self._setting.release_sums(
            np.concatenate([theta, w], axis=1),
            radii=self._radii,
            noise_multipliers=self._noises,
            sampling_rates=self._setting.rates,
            relation=self._relation,
            step=step,
        )
        size = theta.shape[1]
        return noisy[:, :size] * theta_unit, (noisy[:, size:] * w_unit).reshape(pairs.w.shape)
