"""The project's mechanism, observed: what went into each release, what bounds it, what came out; and runs replayed.

An attacker who knows a run's releases and all data but one value can run the method's own code again along those
releases, on any data set and any sample, and see what the mechanism would have been given: `ReplayingMechanism`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from fairpriv_core.errors import FairprivError
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

SUM, GAUSSIAN, LAPLACE, RESPONSE, CHOICE = "sum", "gaussian", "laplace", "response", "choice"


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


class RecordingMechanism(Mechanism):
    """Keeps its releases.

    With `along` it gives out what an earlier run released, whatever goes in, and still draws and counts its own.
    FairprivError where the run then releases something else than the earlier one.
    """

    def __init__(self, seed: int, *, along: Sequence[Release] | None = None) -> None:
        super().__init__(Randomness.replay(seed))
        self.releases: list[Release] = []
        self._along = None if along is None else iter(along)
        self._samples = False

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the secret samples."""
        self._samples = True
        return super().sample(**asked)

    def sampled_gaussian(self, total: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a sum."""
        out = super().sampled_gaussian(total, **options)
        return self._keep(_read_sum(total, out, options, secret=self._samples))

    def gaussian(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a function of all rows."""
        return self._keep(_read_gaussian(value, super().gaussian(value, **options), options))

    def laplace(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a function of all rows."""
        return self._keep(_read_laplace(value, super().laplace(value, **options), options))

    def randomized_response(self, values: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a column."""
        return self._keep(_read_response(values, super().randomized_response(values, **options), options))

    def noisy_max(self, scores: np.ndarray, **options: Any) -> int:
        """Release and keep a choice."""
        return int(self._keep(_read_choice(scores, np.array(super().noisy_max(scores, **options)), options)))

    def _keep(self, own: Release) -> np.ndarray:
        kept = own if self._along is None else replace(own, out=_match(next(self._along, None), own).out)
        self.releases.append(kept)
        return kept.out.copy()


class ReplayEnded(Exception):
    """All of the earlier run's releases have been replayed: what is left of the fit changes nothing."""


class ReplayingMechanism(Mechanism):
    """Gives out an earlier run's releases, whatever goes in, and keeps what went in; adds no noise and counts nothing.

    Every secret sample is `forced`, or in turn each row of it where it has rows. FairprivError where the replayed run
    releases something else than the earlier one; with `stops`, ReplayEnded at the last release.
    """

    def __init__(self, earlier: Sequence[Release], forced: np.ndarray, *, stops: bool = False) -> None:
        super().__init__(Randomness.replay(0))
        self.releases: list[Release] = []
        self._earlier = iter(earlier)
        self._stop_at = len(earlier) if stops else None
        self._forced = cycle(np.atleast_2d(forced))
        self._samples = False

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the next forced sample for each step."""
        self._samples = True
        return list(islice(self._forced, int(asked["steps"])))

    def sampled_gaussian(self, total: np.ndarray, **options: Any) -> np.ndarray:
        """Return the earlier release."""
        return self._replay(_read_sum(total, total, options, secret=self._samples))

    def gaussian(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Return the earlier release."""
        return self._replay(_read_gaussian(value, value, options))

    def laplace(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Return the earlier release."""
        return self._replay(_read_laplace(value, value, options))

    def randomized_response(self, values: np.ndarray, **options: Any) -> np.ndarray:
        """Return the earlier release."""
        return self._replay(_read_response(values, values, options))

    def noisy_max(self, scores: np.ndarray, **options: Any) -> int:
        """Return the earlier release."""
        return int(self._replay(_read_choice(scores, np.zeros(()), options)))

    def _replay(self, new: Release) -> np.ndarray:
        old = _match(next(self._earlier, None), new)
        self.releases.append(new)
        if len(self.releases) == self._stop_at:
            raise ReplayEnded
        return old.out.copy()


def _match(old: Release | None, new: Release) -> Release:
    """Return the earlier release in place of a new one; FairprivError where they are not the same one."""
    if old is None or (old.kind, old.name, old.index) != (new.kind, new.name, new.index):
        sentence = "nothing more" if old is None else f"{old.kind} {old.name} {old.index}"
        raise FairprivError(f"the replayed run releases {new.kind} {new.name} {new.index}, the earlier one {sentence}.")
    return old


def _read_sum(total: np.ndarray, out: np.ndarray, options: dict[str, Any], *, secret: bool) -> Release:
    bound = float(options["radius"])
    rate = float(options["sampling_rate"]) if secret else 1.0
    scale = bound * float(options["noise_multiplier"])
    return Release(SUM, options.get("part", ""), options["step"], _copy(total), bound, scale, out, secret, rate)


def _read_gaussian(value: np.ndarray, out: np.ndarray, options: dict[str, Any]) -> Release:
    bound = float(options["sensitivity"])
    scale = bound * float(options["noise_multiplier"])
    return Release(GAUSSIAN, options["purpose"], options["index"], _copy(value), bound, scale, out)


def _read_laplace(value: np.ndarray, out: np.ndarray, options: dict[str, Any]) -> Release:
    bound = float(options["sensitivity"])
    return Release(
        LAPLACE, options["purpose"], options["index"], _copy(value), bound, bound * float(options["scale"]), out
    )


def _read_response(values: np.ndarray, out: np.ndarray, options: dict[str, Any]) -> Release:
    return Release(RESPONSE, options["purpose"], options["index"], _copy(values), 0.0, float(options["epsilon"]), out)


def _read_choice(scores: np.ndarray, out: np.ndarray, options: dict[str, Any]) -> Release:
    bound = float(options["sensitivity"])
    scale = 2.0 * bound / float(options["epsilon"])
    return Release(CHOICE, options["purpose"], options["index"], _copy(scores), bound, scale, out)


def _copy(value: np.ndarray) -> np.ndarray:
    return np.array(value, dtype=np.float64).ravel()
