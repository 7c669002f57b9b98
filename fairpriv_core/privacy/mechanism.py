"""The one place where noise is added to what was computed from protected values. It counts its own releases.

Floating point. Noise is float64 from an AES counter generator. Sum and noise are rounded to a grid whose
step is the power of two at or below std * 2**-20. The low bits of a float64 sum depend on the value that the noise
hides (Mironov, 2012); on the grid they are gone: a grid cell holds some 2**30 of the values that the noise can take,
whatever the value, and the rounding adds at most 2**-21 standard deviations of error. The grid depends on the
noise's scale alone, which is public. Timing is outside the model.

Noise is tied to (purpose, step). A step that repeats would reveal the difference of its two values, so steps must
rise within each purpose; this holds across resumes too.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NoReturn, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput, FairprivError, RunFailed
from fairpriv_core.privacy.event import (
    Events,
    Gaussian,
    Relation,
    SampledGaussian,
    from_json,
    merge,
    to_json,
)
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.privacy.sampling import draw_poisson_samples

_GRID_BITS = 20
_LARGEST = 2.0**52  # grid steps; beyond it float64 is coarser than the grid
_BLOCK_VALUES = 2**16  # normals drawn at a time (512 KiB), at most _BLOCK_STEPS steps' worth
_BLOCK_STEPS = 64
_SMALLEST_SCALE = 2.0**-900
_SUM = "sampled_gaussian"
_SAMPLE = "sample"


class Mechanism:
    """Adds noise for one model and counts what was released.

    `released` is what earlier attempts of the run have released; it is counted in. One mechanism a (randomness,
    model). A noise multiplier of 0 adds nothing, is counted as such, and no accountant gives it a finite epsilon.
    """

    def __init__(self, randomness: Randomness, *, model: int = 0, released: Events = ()) -> None:
        checks.whole(model=model)
        randomness.claim(f"model {model}")
        self._randomness = randomness
        self._model = model
        self._released = merge(released)
        self._counts: dict[SampledGaussian | Gaussian, int] = {}
        self._last: dict[str, int] = {}
        self._drawn: tuple[float, int] | None = None  # rate of the latest samples, how many of them are unused
        self._block: tuple[tuple[int, int], np.ndarray] | None = None

    @property
    def events(self) -> Events:
        """What was released so far, earlier attempts included; like releases counted together."""
        return merge(self._released + tuple(replace(event, count=count) for event, count in self._counts.items()))

    @property
    def secret(self) -> bool:
        """False in replay mode, where anyone who knows the seed can subtract the noise."""
        return self._randomness.secret

    def sample(self, *, n: int, rate: float, epoch: int, steps: int) -> list[np.ndarray]:
        """Return the secret Poisson samples of `steps` steps: sorted int64 indices below n, each in with chance `rate`.

        Epochs must rise; a resumed run may draw the epoch that it was in once more and gets the same samples. Never
        truncated or padded. The samples and their sizes are secret.
        """
        n, steps, rate = operator.index(n), operator.index(steps), float(rate)
        checks.whole(low=1, n=n, steps=steps)
        checks.rate(sampling_rate=rate)
        self._advance(_SAMPLE, epoch)
        stream = self._randomness.stream(_SAMPLE, self._model, epoch, n, steps, *rate.as_integer_ratio())
        self._drawn = (rate, steps)
        return draw_poisson_samples(stream, n=n, rate=rate, steps=steps)

    def sampled_gaussian(
        self,
        total: np.ndarray,
        *,
        radius: float,
        noise_multiplier: float,
        sampling_rate: float,
        relation: Relation,
        step: int,
    ) -> np.ndarray:
        """Release `total` (P,) with noise of standard deviation noise_multiplier * radius; returns float64 (P,).

        `total` is the sum over the step's secret sample of contributions that all lie in the ball of `radius`,
        relative to an absent record under either relation. Raises BadInput for a parameter out of range, RunFailed
        for a total that is not finite, FairprivError for a repeated step or a sample that was drawn at a higher rate
        or is used up.
        """
        std = _noise_scale(radius, noise_multiplier, "radius")
        event = _once(float(noise_multiplier), float(sampling_rate), relation)
        self._use_sample(sampling_rate)
        self._advance(_SUM, step)
        self._count(event)
        return _release(total, std, self._step_noise(step, np.size(total)))

    def gaussian(
        self, value: np.ndarray, *, shift: float, noise_multiplier: float, purpose: str, index: int
    ) -> np.ndarray:
        """Release `value` (P,), which one person moves by at most `shift` in L2 (the full shift); returns float64 (P,).

        The noise's standard deviation is noise_multiplier * shift. Errors as for `sampled_gaussian`.
        """
        std = _noise_scale(shift, noise_multiplier, "shift")
        name = f"gaussian/{purpose}"
        self._advance(name, index)
        self._count(Gaussian(float(noise_multiplier)))
        stream = self._randomness.stream(name, self._model, index)
        return _release(value, std, stream.standard_normal(np.size(value)))

    def state(self) -> dict[str, np.ndarray]:
        """Return the SECRET arrays that a checkpoint needs (names start with "mechanism_"); see `from_state`."""
        return {
            "mechanism_randomness": np.frombuffer(self._randomness.state(), dtype=np.uint8),
            "mechanism_model": np.array(self._model, dtype=np.int64),
            "mechanism_released": _pack(to_json(self.events)),
            "mechanism_last": _pack(self._last),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, np.ndarray]) -> Self:
        """Return the mechanism that `state` describes; other arrays of the checkpoint are ignored.

        It goes on with the same noise, so only on the same data, configuration and code (the caller has checked
        their hashes). Otherwise build a mechanism on fresh randomness and pass the old one's events as `released`.
        """
        mechanism = cls(
            Randomness.from_state(state["mechanism_randomness"].tobytes()),
            model=int(state["mechanism_model"]),
            released=from_json(json.loads(state["mechanism_released"].tobytes())),
        )
        mechanism._last = json.loads(state["mechanism_last"].tobytes())
        if _SAMPLE in mechanism._last:
            mechanism._last[_SAMPLE] -= 1  # the epoch that was under way is drawn again
        return mechanism

    def __repr__(self) -> str:
        return f"Mechanism({self._randomness!r}, model={self._model}, events={self.events!r})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a mechanism cannot be copied or pickled; a checkpoint holds its state().")

    def _advance(self, purpose: str, step: int) -> None:
        self._randomness.require_own_process()
        checks.whole(step=operator.index(step))
        last = self._last.get(purpose, -1)
        if step <= last:
            raise FairprivError(f"step {step} of {purpose} comes after step {last}; its noise may be used only once.")
        self._last[purpose] = operator.index(step)

    def _use_sample(self, sampling_rate: float) -> None:
        if self._drawn is None:  # the samples come from elsewhere (a test's mechanism)
            return
        rate, unused = self._drawn
        if sampling_rate < rate:
            raise FairprivError(f"the sample was drawn at rate {rate}, so it cannot be counted at {sampling_rate}.")
        if unused == 0:
            raise FairprivError("every sample of this epoch is used; a second release on one would be uncounted.")
        self._drawn = (rate, unused - 1)

    def _count(self, event: SampledGaussian | Gaussian) -> None:
        self._counts[event] = self._counts.get(event, 0) + 1

    def _step_noise(self, step: int, size: int) -> np.ndarray:
        """Return the step's standard normals (size,), a row of a block that is drawn at once."""
        steps = min(max(_BLOCK_VALUES // max(size, 1), 1), _BLOCK_STEPS)
        block, row = divmod(operator.index(step), steps)
        if self._block is None or self._block[0] != (block, size):
            stream = self._randomness.stream(_SUM, self._model, block, size)
            self._block = ((block, size), stream.standard_normal((steps, size)))
        noise: np.ndarray = self._block[1][row]
        return noise


def _noise_scale(bound: float, noise_multiplier: float, name: str) -> float:
    checks.positive(**{name: float(bound)})
    checks.not_negative(noise_multiplier=float(noise_multiplier))
    std = float(bound) * float(noise_multiplier)
    if noise_multiplier and not _SMALLEST_SCALE < std < 1 / _SMALLEST_SCALE:
        raise BadInput(f"{name} must give noise of a scale that float64 can hold, got {bound}.", field=name)
    return std


def _release(value: np.ndarray, std: float, noise: np.ndarray) -> np.ndarray:
    """Return value + std * noise, rounded to the grid; a new array of value's shape. In units of the grid meanwhile."""
    exact = np.asarray(value, dtype=np.float64)
    grid = math.ldexp(1.0, math.frexp(std)[1] - 1 - _GRID_BITS) if std else 1.0
    released: np.ndarray = noise.reshape(exact.shape) * (std / grid)
    released += exact * (1.0 / grid)
    if not np.abs(released).max(initial=0.0) < _LARGEST and (std or not np.isfinite(exact).all()):
        what = f"too large for noise of standard deviation {std:g}" if np.isfinite(exact).all() else "not finite"
        raise RunFailed(f"a sum over protected records is {what}; lower the learning rate or the clipping bound.")
    if std:
        np.rint(released, out=released)
        released *= grid
    return released


@lru_cache(maxsize=16)
def _once(noise_multiplier: float, sampling_rate: float, relation: Relation) -> SampledGaussian:
    """Return one release as an event, checked once for each kind."""
    return SampledGaussian(noise_multiplier, sampling_rate, 1, relation)


def _pack(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
