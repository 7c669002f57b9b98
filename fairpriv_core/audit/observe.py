"""The project's mechanism, observed: what went into each release, what bounds it, what came out; and runs replayed.

An attacker who knows a run's releases and all data but one value can run the method's own code again along those
releases, on any data set and any sample, and see what the mechanism would have been given: `ReplayingMechanism`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import FairprivError
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

SUM, GAUSSIAN, LAPLACE, RESPONSE, CHOICE = "sum", "gaussian", "laplace", "response", "choice"
_LEAST = 1e-6  # of a bound: the noise that a release without noise is taken to have


@dataclass(frozen=True)
class Release:
    """One release as the mechanism saw it.

    Attributes:
        kind: SUM, GAUSSIAN, LAPLACE, RESPONSE or CHOICE, the place of the largest of noisy scores.
        name: the purpose, or the part of a sum; `index`: the step within it.
        value: what went in, before the noise.
        bound: the ball's radius of a SUM, the whole sensitivity of a GAUSSIAN or LAPLACE, that of each score of a
            CHOICE, 0 for a RESPONSE.
        scale: the noise's standard deviation (SUM, GAUSSIAN) or scale (LAPLACE), epsilon of a RESPONSE; of a CHOICE
            what scores are divided by: its chances are in proportion to exp(score / scale).
        sampled: whether `value` is a sum over a secret sample; `rate` is then a record's chance to be in it, else 1.
        out: what was released.
    """

    kind: str
    name: str
    index: int
    value: np.ndarray
    bound: float
    scale: float
    out: np.ndarray
    sampled: bool = False
    rate: float = 1.0

    @property
    def noise_scale(self) -> float:
        """The noise's `scale`; of a release without noise next to none."""
        return max(self.scale, _LEAST * self.bound)


class _ObservedMechanism(Mechanism, ABC):
    """Describes each release before it is made; `_observe` says what comes out of it."""

    def __init__(self, randomness: Randomness) -> None:
        super().__init__(randomness)
        self.releases: list[Release] = []
        self._samples = False

    @abstractmethod
    def _observe(self, release: Release, draw: Callable[[], Any]) -> np.ndarray:
        """Keep `release`, whose `out` is what went in, and return what comes out; `draw` releases it with noise."""

    def sampled_gaussian(self, total: np.ndarray, **options: Any) -> np.ndarray:
        """Release a sum."""
        bound = float(options["radius"])
        rate = float(options["sampling_rate"]) if self._samples else 1.0
        scale = bound * float(options["noise_multiplier"])
        name, value = options.get("part", ""), _copy(total)
        release = Release(SUM, name, options["step"], value, bound, scale, total, self._samples, rate)
        return self._observe(release, partial(super().sampled_gaussian, total, **options))

    def gaussian(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release a function of all rows."""
        bound = float(options["sensitivity"])
        release = _describe(GAUSSIAN, value, bound, bound * float(options["noise_multiplier"]), options)
        return self._observe(release, partial(super().gaussian, value, **options))

    def laplace(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release a function of all rows."""
        bound = float(options["sensitivity"])
        release = _describe(LAPLACE, value, bound, bound * float(options["scale"]), options)
        return self._observe(release, partial(super().laplace, value, **options))

    def randomized_response(self, values: np.ndarray, **options: Any) -> np.ndarray:
        """Release a column."""
        release = _describe(RESPONSE, values, 0.0, float(options["epsilon"]), options)
        return self._observe(release, partial(super().randomized_response, values, **options))

    def noisy_max(self, scores: np.ndarray, **options: Any) -> int:
        """Release a choice."""
        checks.positive(epsilon=options["epsilon"])  # its noise is described before it is drawn
        bound = float(options["sensitivity"])
        release = _describe(CHOICE, scores, bound, 2.0 * bound / float(options["epsilon"]), options)
        return int(self._observe(replace(release, out=np.zeros(())), partial(super().noisy_max, scores, **options)))


class RecordingMechanism(_ObservedMechanism):
    """Keeps its releases.

    With `along` it gives out what an earlier run released, whatever goes in, and still draws and counts its own.
    FairprivError where the run then releases something else than the earlier one.
    """

    def __init__(self, seed: int, *, along: Sequence[Release] | None = None) -> None:
        super().__init__(Randomness.replay(seed))
        self._along = None if along is None else iter(along)

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the secret samples."""
        self._samples = True
        return super().sample(**asked)

    def _observe(self, release: Release, draw: Callable[[], Any]) -> np.ndarray:
        out = np.asarray(draw())
        out = out if self._along is None else _match(next(self._along, None), release).out
        self.releases.append(replace(release, out=out))
        return out.copy()


class ReplayEnded(Exception):
    """All of the earlier run's releases have been replayed: what is left of the fit changes nothing."""


class ReplayingMechanism(_ObservedMechanism):
    """Gives out an earlier run's releases, whatever goes in, and keeps what went in; adds no noise and counts nothing.

    Every secret sample is `forced`, or in turn each row of it where it has rows. FairprivError where the replayed run
    releases something else than the earlier one; with `stops`, ReplayEnded at the last release.
    """

    def __init__(self, earlier: Sequence[Release], forced: np.ndarray, *, stops: bool = False) -> None:
        super().__init__(Randomness.replay(0))
        self._earlier = iter(earlier)
        self._stop_at = len(earlier) if stops else None
        self._forced = cycle(np.atleast_2d(forced))

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the next forced sample for each step."""
        self._samples = True
        return list(islice(self._forced, int(asked["steps"])))

    def _observe(self, release: Release, draw: Callable[[], Any]) -> np.ndarray:
        earlier = _match(next(self._earlier, None), release)
        self.releases.append(release)
        if len(self.releases) == self._stop_at:
            raise ReplayEnded
        return earlier.out.copy()


def _match(old: Release | None, new: Release) -> Release:
    """Return the earlier release in place of a new one; FairprivError where they are not the same one."""
    if old is None or (old.kind, old.name, old.index) != (new.kind, new.name, new.index):
        sentence = "nothing more" if old is None else f"{old.kind} {old.name} {old.index}"
        raise FairprivError(f"the replayed run releases {new.kind} {new.name} {new.index}, the earlier one {sentence}.")
    return old


def _describe(kind: str, value: np.ndarray, bound: float, scale: float, options: dict[str, Any]) -> Release:
    return Release(kind, options["purpose"], options["index"], _copy(value), bound, scale, value)


def _copy(value: np.ndarray) -> np.ndarray:
    return np.array(value, dtype=np.float64).ravel()
