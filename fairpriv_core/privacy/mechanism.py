"""The one place where noise is added to what was computed from protected values. It counts its own releases.

Noise is float64 from an AES counter generator; sum and noise are rounded to a grid (noise.py). Timing is outside the
model.

Noise is tied to (purpose, step). A step that repeats would reveal the difference of its two values, so steps must rise
within each purpose; this holds across resumes too.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NoReturn, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.event import (
    Counted,
    Event,
    EventJson,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    Relation,
    SampledGaussian,
    from_json,
    merge,
    to_json,
)
from fairpriv_core.privacy.noise import (
    AT_ONCE,
    StepNoise,
    draw_largest,
    draw_poisson_samples,
    draw_responses,
    noise_scale,
    release_laplace,
    release_on_grid,
    thin_samples,
)
from fairpriv_core.privacy.randomness import Randomness

_WHOLE = ""
_SAMPLE = "sample"
_SUM = "sampled_gaussian"
_FEW = 2048  # parameters up to which the noise of several models is added at once


class ReleaseCounter:
    """Counts releases by their parameters; `released` is what was released before and is counted in."""

    def __init__(self, released: Events = ()) -> None:
        self._before = merge(released)
        self._counts: dict[str, dict[Event, int]] = {}
        self._latest: tuple[str, Event] | None = None
        self._again = 0  # releases like the latest that are not in _counts yet

    def add(self, event: Event, part: str = _WHOLE) -> None:
        """Count one release; one on a named part of the data is in parallel with those on the other parts."""
        if self._latest is not None and event is self._latest[1] and part == self._latest[0]:
            self._again += 1
            return
        self._settle()
        self._latest, self._again = (part, event), 1

    def _settle(self) -> None:
        if self._latest is not None and self._again:
            part, event = self._latest
            counts = self._counts.setdefault(part, {})
            counts[event] = counts.get(event, 0) + self._again
            self._again = 0

    @property
    def events(self) -> Events:
        """What was released so far: like releases together, those on parts as one `Parallel` of unlike branches."""
        self._settle()
        branches = tuple({_expand(counts): None for part, counts in sorted(self._counts.items()) if part != _WHOLE})
        parallel = (Parallel(branches),) if branches else ()
        return merge((*self._before, *_expand(self._counts.get(_WHOLE, {})), *parallel))

    def to_json(self) -> dict[str, list[EventJson]]:
        """Return the JSON form: what was counted for each part, and what came before."""
        self._settle()
        parts = {f"part/{part}": to_json(_expand(counts)) for part, counts in self._counts.items()}
        return {"before": to_json(self._before), **parts}

    @classmethod
    def from_json(cls, plain: Mapping[str, list[EventJson]]) -> Self:
        """Return the counter that `to_json` described."""
        counter = cls(from_json(plain["before"]))
        for name, items in plain.items():
            if name.startswith("part/"):
                counter._counts[name.removeprefix("part/")] = _collect(from_json(items))
        return counter


def _expand(counts: Mapping[Event, int]) -> Events:
    return tuple(
        part
        for event, count in counts.items()
        for part in ((replace(event, count=count),) if isinstance(event, Counted) else (event,) * count)
    )


def _collect(events: Events) -> dict[Event, int]:
    counts: dict[Event, int] = {}
    for event in events:
        once, count = (replace(event, count=1), event.count) if isinstance(event, Counted) else (event, 1)
        counts[once] = counts.get(once, 0) + count
    return counts


class MechanismState:
    """Samples, noise and count of one model; see `Mechanism`, which releases."""

    def __init__(
        self, randomness: Randomness, *, model: int = 0, released: Events = (), stream: int | None = None
    ) -> None:
        checks.whole(model=model)
        randomness.claim(f"model {model}")
        self._randomness = randomness
        self._model = model
        self._stream = stream
        self._counter = ReleaseCounter(released)
        self._last: dict[str, int] = {}
        self._drawn: tuple[float, int] | None = None  # rate of the latest samples, and how many there are
        self._used: dict[str, int] = {}  # of the latest samples, by part
        self._used_whole = 0
        self._noises: dict[tuple[str, int], StepNoise] = {}

    @property
    def events(self) -> Events:
        """What was released so far, earlier attempts included; like releases counted together."""
        return self._counter.events

    @property
    def secret(self) -> bool:
        """False in replay mode, where anyone who knows the seed can subtract the noise."""
        return self._randomness.secret

    @property
    def stream_name(self) -> str | None:
        """The name of the secret samples that other models use too; None where they are this model's own."""
        return None if self._stream is None else self._randomness.name_stream(self._stream)

    def sample(
        self, *, n: int, rate: float, epoch: int, steps: int, keep: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """Return the secret Poisson samples of `steps` steps: sorted int64 indices below n, each in with chance `rate`.

        With `keep` (n,), all in [0, 1], record i is in with chance rate * keep[i]; releases are counted at `rate`,
        which bounds everybody's. Epochs must rise; a resumed run may draw the epoch that it was in once more and gets
        the same samples. Never truncated or padded. The samples and their sizes are secret. BadInput for a value out
        of range.
        """
        n, steps, rate = operator.index(n), operator.index(steps), float(rate)
        checks.whole(low=1, n=n, steps=steps)
        checks.rate(sampling_rate=rate)
        self._advance(_SAMPLE, epoch)
        self._drawn, self._used, self._used_whole = (rate, steps), {}, 0
        index = (epoch, n, steps, *rate.as_integer_ratio())
        if self._stream is not None:
            return self._share_sample(index, rate=rate, keep=keep)
        stream = self._randomness.stream(_SAMPLE, self._model, *index)
        samples = draw_poisson_samples(stream, n=n, rate=rate, steps=steps)
        return samples if keep is None else thin_samples(stream, samples, _chances(keep, n))

    def state(self) -> dict[str, np.ndarray]:
        """Return the SECRET arrays that a checkpoint needs (names start with "mechanism_"); see `from_state`."""
        return {
            "mechanism_randomness": np.frombuffer(self._randomness.state(), dtype=np.uint8),
            "mechanism_model": np.array(self._model, dtype=np.int64),
            "mechanism_stream": np.array(-1 if self._stream is None else self._stream, dtype=np.int64),
            "mechanism_counted": _pack(self._counter.to_json()),
            "mechanism_last": _pack(self._last),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, np.ndarray]) -> Self:
        """Return the mechanism that `state` describes; other arrays of the checkpoint are ignored.

        It goes on with the same noise, so only on the same data, configuration and code (the caller has checked
        their hashes). Otherwise build a mechanism on fresh randomness and pass the old one's events as `released`.
        """
        return cls.from_states([state])[0]

    @classmethod
    def from_states(cls, states: Sequence[Mapping[str, np.ndarray]]) -> list[Self]:
        """Return the mechanisms that `states` describe, as `from_state`; those of one randomness share it again."""
        held: dict[bytes, Randomness] = {}
        return [cls._restore(state, held) for state in states]

    @classmethod
    def _restore(cls, state: Mapping[str, np.ndarray], held: dict[bytes, Randomness]) -> Self:
        master, stream = state["mechanism_randomness"].tobytes(), int(state["mechanism_stream"])
        shared = held.get(master) if stream >= 0 else None
        randomness = Randomness.from_state(master) if shared is None else shared
        if stream >= 0:
            held[master] = randomness
        mechanism = cls(randomness, model=int(state["mechanism_model"]), stream=None if stream < 0 else stream)
        mechanism._counter = ReleaseCounter.from_json(json.loads(state["mechanism_counted"].tobytes()))
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
        if operator.index(step) < 0:
            checks.whole(step=step)
        last = self._last.get(purpose, -1)
        if step <= last:
            raise FairprivError(f"step {step} of {purpose} comes after step {last}; its noise may be used only once.")
        self._last[purpose] = operator.index(step)

    def _share_sample(self, index: tuple[int, ...], *, rate: float, keep: np.ndarray | None) -> list[np.ndarray]:
        assert self._stream is not None
        if keep is not None:
            raise BadInput("samples that are thinned by group cannot be shared by several models.", field="keep")
        _, n, steps = index[:3]
        return self._randomness.share(
            self._stream, index, lambda stream: draw_poisson_samples(stream, n=n, rate=rate, steps=steps)
        )

    def _use_sample(self, sampling_rate: float, part: str) -> None:
        if self._drawn is None:  # the samples come from elsewhere (a test's mechanism)
            return
        rate, steps = self._drawn
        if sampling_rate < rate:
            raise FairprivError(f"the sample was drawn at rate {rate}, so it cannot be counted at {sampling_rate}.")
        of_parts = self._used.get(part, 0) if part else max(self._used.values(), default=0)
        if self._used_whole + of_parts >= steps:
            raise FairprivError("every sample of this epoch is used; a second release on one would be uncounted.")
        if part:
            self._used[part] = self._used.get(part, 0) + 1
        else:
            self._used_whole += 1

    def _step_noise(self, name: str, step: int, size: int) -> Iterator[np.ndarray]:
        """Yield the step's standard normals (size,) piece by piece; see `StepNoise`."""
        noise = self._noises.get((name, size))
        if noise is None:
            noise = StepNoise(size, lambda block: self._randomness.stream(name, self._model, block, size))
            self._noises[name, size] = noise
        return noise.pieces(step)


def _chances(keep: np.ndarray, n: int) -> np.ndarray:
    probabilities = np.asarray(keep, dtype=np.float64)
    if probabilities.shape != (n,) or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise BadInput(f"keep must be {n} chances from 0 to 1, got shape {probabilities.shape}.", field="keep")
    return probabilities


def _pack(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


class Mechanism(MechanismState):
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
        models = [k for k, radius in enumerate(radii) if radius]
        observed = any(type(mechanisms[k]) is not Mechanism or not noise_multipliers[k] for k in models)
        if observed or size > _FEW:
            for k in models:
                released[k] = release(k)
        elif models:
            deviations = [noise_scale(radii[k], noise_multipliers[k], "radius") for k in models]
            for k in models:
                event = _once(float(noise_multipliers[k]), float(sampling_rates[k]), relation)
                mechanisms[k]._count_sum(event, step, "")
            noise = np.stack([piece for k in models for piece in mechanisms[k]._step_noise(_SUM, step, size)])
            released[models] = release_on_grid(totals[models], np.array(deviations)[:, None], noise)
        return released

    def gaussian(
        self, value: np.ndarray, *, sensitivity: float, noise_multiplier: float, purpose: str, index: int
    ) -> np.ndarray:
        """Release `value` (P,), which one person moves by at most `sensitivity` in L2; returns float64 (P,).

        The noise's standard deviation is noise_multiplier * sensitivity. Errors as for `sampled_gaussian`.
        """
        std = noise_scale(sensitivity, noise_multiplier, "sensitivity")
        name = f"gaussian/{purpose}"
        self._advance(name, index)
        self._counter.add(Gaussian(float(noise_multiplier)))
        stream = self._randomness.stream(name, self._model, index)
        return release_on_grid(value, std, stream.standard_normal(np.size(value)))

    def laplace(self, value: np.ndarray, *, sensitivity: float, scale: float, purpose: str, index: int) -> np.ndarray:
        """Release `value` (P,), which one person moves by at most `sensitivity` in L1; returns float64 (P,).

        The noise is discrete Laplace on a fine grid, of scale scale * sensitivity and what rounding to the grid asks
        for: pure epsilon 1 / scale (`samplers.release_laplace`). Errors as for `sampled_gaussian`.
        """
        noise_scale(sensitivity, scale, "sensitivity")
        name = f"laplace/{purpose}"
        self._advance(name, index)
        self._counter.add(Laplace(float(scale)))
        stream = self._randomness.stream(name, self._model, index)
        return release_laplace(stream, value, sensitivity=float(sensitivity), scale=float(scale))

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

    def noisy_max(self, scores: np.ndarray, *, sensitivity: float, epsilon: float, purpose: str, index: int) -> int:
        """Release which of `scores` (m,) is the largest, of which one person moves each by at most `sensitivity`.

        A place is drawn with a chance in proportion to exp(epsilon * score / (2 * sensitivity)): the exponential
        mechanism (McSherry and Talwar, 2007), of pure `epsilon` for any number of scores, drawn exactly. Counted as the
        randomised response that bounds every such release. Raises BadInput for a parameter out of range or a score that
        is not finite, FairprivError for a repeated index.
        """
        checks.positive(sensitivity=sensitivity, epsilon=epsilon)
        truth = np.asarray(scores, dtype=np.float64)
        if truth.ndim != 1 or not truth.size or not np.isfinite(truth).all():
            raise BadInput(f"scores must be finite numbers in one row, got shape {truth.shape}.", field="scores")
        name = f"noisy_max/{purpose}"
        self._advance(name, index)
        self._counter.add(RandomizedResponse(float(epsilon)))
        stream = self._randomness.stream(name, self._model, index)
        return draw_largest(stream, truth, sensitivity=float(sensitivity), epsilon=float(epsilon))

    def _add_noise(self, name: str, step: int, total: np.ndarray, std: float) -> np.ndarray:
        """Return `total` (P,) with the step's noise: piece by piece, each drawn, added and rounded before the next."""
        released = np.empty(total.shape, dtype=np.float32 if total.dtype == np.float32 else np.float64)
        pieces = (slice(start, start + AT_ONCE) for start in range(0, total.size, AT_ONCE))
        for piece, noise in zip(pieces, self._step_noise(name, step, total.size), strict=True):
            release_on_grid(total[piece], std, noise, out=released[piece])
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
