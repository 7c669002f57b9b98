"""What a mechanism has drawn and released: its secret samples, its noise, its count, and how they are checkpointed.

Noise is tied to (purpose, step). A step that repeats would reveal the difference of its two values, so steps must
rise within each purpose; this holds across resumes too.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.counter import Counter
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.privacy.sampling import draw_poisson_samples, thin_samples
from fairpriv_core.privacy.step_noise import StepNoise

_SAMPLE = "sample"


class Book:
    """Samples, noise and count of one model; see `Mechanism`, which releases."""

    def __init__(
        self, randomness: Randomness, *, model: int = 0, released: Events = (), stream: int | None = None
    ) -> None:
        checks.whole(model=model)
        randomness.claim(f"model {model}")
        self._randomness = randomness
        self._model = model
        self._stream = stream
        self._counter = Counter(released)
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
        drawn = draw_poisson_samples(stream, n=n, rate=rate, steps=steps)
        return drawn if keep is None else thin_samples(stream, drawn, _chances(keep, n))

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
        mechanism._counter = Counter.from_json(json.loads(state["mechanism_counted"].tobytes()))
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
    chances = np.asarray(keep, dtype=np.float64)
    if chances.shape != (n,) or not ((chances >= 0) & (chances <= 1)).all():
        raise BadInput(f"keep must be {n} chances from 0 to 1, got shape {chances.shape}.", field="keep")
    return chances


def _pack(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
