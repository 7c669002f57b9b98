"""The one place where noise is added to what was computed from protected values. It counts its own releases.

Noise is float64 from an AES counter generator; sum and noise are rounded to a grid (grid.py). Timing is outside the
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.book import Book
from fairpriv_core.privacy.event import Gaussian, Laplace, RandomizedResponse, Relation, SampledGaussian
from fairpriv_core.privacy.grid import noise_scale, release_on_grid
from fairpriv_core.privacy.samplers import draw_largest, draw_responses, release_laplace
from fairpriv_core.privacy.step_noise import AT_ONCE

_SUM = "sampled_gaussian"
_FEW = 2048  # parameters up to which the noise of several models is added at once


class Mechanism(Book):
    """Adds noise for one model and counts what was released.

    `released` is what earlier attempts of the run have released; it is counted in. One mechanism a (randomness,
    model). A noise multiplier of 0 adds nothing, is counted as such, and no accountant gives it a finite epsilon.
    Mechanisms of one randomness that name the same `stream` have the same secret samples, each with noise of its own:
    what they release together is not what each says alone (see ledger.share_sample).
    """

    def sampled_gaussian(
        self,
        total: np.ndarray,
        *,
        radius: float,
        noise_multiplier: float,
        sampling_rate: float,
        relation: Relation,
        step: int,
        part: str = "",
    ) -> np.ndarray:
        """Release `total` (P,) with noise of standard deviation noise_multiplier * radius; returns a new (P,).

        It is float64, or rounded to float32 where `total` is float32.

        `total` is the sum over the step's secret sample of contributions that all lie in the ball of `radius`,
        relative to an absent record under either relation. With a `part` named, records of that part alone contribute;
        parts are disjoint, so their releases are counted in parallel. Raises BadInput for a parameter out of range,
        RunFailed for a total that is not finite, FairprivError for a repeated step or a sample that was drawn at a
        higher rate or is used up.
        """
        std = noise_scale(radius, noise_multiplier, "radius")
        self._count_sum(_once(float(noise_multiplier), float(sampling_rate), relation), step, part)
        return self._add_noise(_name_sum(part), step, np.asarray(total), std)

    @staticmethod
    def sum_together(
        mechanisms: Sequence[Mechanism],
        totals: np.ndarray,
        *,
        radii: Sequence[float],
        noise_multipliers: Sequence[float],
        sampling_rates: Sequence[float],
        relation: Relation,
        step: int,
    ) -> np.ndarray:
        """Release each row of `totals` (K, P) through its own mechanism, as `sampled_gaussian` does, but at once.

        A row of radius 0 is not released and comes back as zeros. Errors as for `sampled_gaussian`.
        """

        def release(k: int) -> np.ndarray:
            noise = {"radius": radii[k], "noise_multiplier": noise_multipliers[k], "sampling_rate": sampling_rates[k]}
            return mechanisms[k].sampled_gaussian(totals[k], relation=relation, step=step, part="", **noise)

        if len(mechanisms) == 1 and radii[0]:
            return release(0)[None]
        released, size = np.zeros_like(totals), totals.shape[1]
        chosen = [k for k, radius in enumerate(radii) if radius]
        observed = any(type(mechanisms[k]) is not Mechanism or not noise_multipliers[k] for k in chosen)
        if observed or size > _FEW:
            for k in chosen:
                released[k] = release(k)
        elif chosen:
            deviations = [noise_scale(radii[k], noise_multipliers[k], "radius") for k in chosen]
            for k in chosen:
                event = _once(float(noise_multipliers[k]), float(sampling_rates[k]), relation)
                mechanisms[k]._count_sum(event, step, "")
            noise = np.stack([piece for k in chosen for piece in mechanisms[k]._step_noise(_SUM, step, size)])
            released[chosen] = release_on_grid(totals[chosen], np.array(deviations)[:, None], noise)
        return released

    def gaussian(
        self, value: np.ndarray, *, shift: float, noise_multiplier: float, purpose: str, index: int
    ) -> np.ndarray:
        """Release `value` (P,), which one person moves by at most `shift` in L2 (the full shift); returns float64 (P,).

        The noise's standard deviation is noise_multiplier * shift. Errors as for `sampled_gaussian`.
        """
        std = noise_scale(shift, noise_multiplier, "shift")
        name = f"gaussian/{purpose}"
        self._advance(name, index)
        self._counter.add(Gaussian(float(noise_multiplier)))
        stream = self._randomness.stream(name, self._model, index)
        return release_on_grid(value, std, stream.standard_normal(np.size(value)))

    def laplace(self, value: np.ndarray, *, shift: float, scale: float, purpose: str, index: int) -> np.ndarray:
        """Release `value` (P,), which one person moves by at most `shift` in L1 (the full shift); returns float64 (P,).

        The noise is discrete Laplace on a fine grid, of scale scale * shift and what rounding to the grid asks for:
        pure epsilon 1 / scale (`samplers.release_laplace`). Errors as for `sampled_gaussian`.
        """
        noise_scale(shift, scale, "shift")
        name = f"laplace/{purpose}"
        self._advance(name, index)
        self._counter.add(Laplace(float(scale)))
        stream = self._randomness.stream(name, self._model, index)
        return release_laplace(stream, value, shift=float(shift), scale=float(scale))

    def randomized_response(
        self, values: np.ndarray, *, k: int, epsilon: float, purpose: str, index: int
    ) -> np.ndarray:
        """Release `values` (n,) in 0..k-1, one a person, by k-ary randomised response; returns int64 (n,).

        Each is kept with chance e^epsilon / (e^epsilon + k - 1) and otherwise any of the others (Kairouz et al., 2016).
        Raises BadInput for a parameter or value out of range, FairprivError for a repeated index.
        """
        checks.whole(low=2, k=k)
        checks.positive(epsilon=epsilon)
        truth = np.asarray(values, dtype=np.int64)
        if truth.size and not 0 <= truth.min() <= truth.max() < k:
            raise BadInput(f"values must lie in 0..{k - 1}, got {truth.min()} to {truth.max()}.")
        name = f"randomized_response/{purpose}"
        self._advance(name, index)
        self._counter.add(RandomizedResponse(float(epsilon)))
        stream = self._randomness.stream(name, self._model, index)
        return draw_responses(stream, truth, k=k, epsilon=epsilon)

    def noisy_max(self, scores: np.ndarray, *, shift: float, epsilon: float, purpose: str, index: int) -> int:
        """Release which of `scores` (m,) is the largest, of which one person moves each by at most `shift`.

        A place is drawn with a chance in proportion to exp(epsilon * score / (2 * shift)): the exponential mechanism
        (McSherry and Talwar, 2007), of pure `epsilon` for any number of scores, drawn exactly. Counted as the
        randomised response that bounds every such release. Raises BadInput for a parameter out of range or a score that
        is not finite, FairprivError for a repeated index.
        """
        checks.positive(shift=shift, epsilon=epsilon)
        truth = np.asarray(scores, dtype=np.float64)
        if truth.ndim != 1 or not truth.size or not np.isfinite(truth).all():
            raise BadInput(f"scores must be finite numbers in one row, got shape {truth.shape}.", field="scores")
        name = f"noisy_max/{purpose}"
        self._advance(name, index)
        self._counter.add(RandomizedResponse(float(epsilon)))
        stream = self._randomness.stream(name, self._model, index)
        return draw_largest(stream, truth, shift=float(shift), epsilon=float(epsilon))

    def _add_noise(self, name: str, step: int, total: np.ndarray, std: float) -> np.ndarray:
        """Return `total` (P,) with the step's noise: piece by piece, each drawn, added and rounded before the next."""
        released = np.empty(total.shape, dtype=np.float32 if total.dtype == np.float32 else np.float64)
        pieces = (slice(start, start + AT_ONCE) for start in range(0, total.size, AT_ONCE))
        for piece, noise in zip(pieces, self._step_noise(name, step, total.size), strict=True):
            released[piece] = release_on_grid(total[piece], std, noise)
        return released

    def _count_sum(self, event: SampledGaussian, step: int, part: str) -> None:
        """Take one sample of the epoch for one release, and count it, before any noise is added."""
        self._use_sample(event.sampling_rate, part)
        self._advance(_name_sum(part), step)
        self._counter.add(event, part)


def _name_sum(part: str) -> str:
    return f"{_SUM}/{part}" if part else _SUM


@lru_cache(maxsize=1024)
def _once(noise_multiplier: float, sampling_rate: float, relation: Relation) -> SampledGaussian:
    """Return one release as an event, checked once for each kind."""
    return SampledGaussian(noise_multiplier, sampling_rate, 1, relation)
