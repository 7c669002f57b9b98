"""The project's mechanism, observed: what went into each release, what bounds it, what came out; and runs replayed.

An attacker who knows a run's releases and all data but one value can run the method's own code again along those
releases, on any data set and any sample, and see what the mechanism would have been given: `ReplayingMechanism`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.errors import FairprivError
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

SUM, GAUSSIAN, LAPLACE, RESPONSE = "sum", "gaussian", "laplace", "response"


@dataclass(frozen=True)
class Release:
    """One release as the mechanism saw it.

    Attributes:
        kind: SUM, GAUSSIAN, LAPLACE or RESPONSE.
        name: the purpose, or the part of a sum; `index`: the step within it.
        value: what went in, before the noise.
        bound: the ball's radius of a SUM, the whole sensitivity of a GAUSSIAN or LAPLACE, 0 for a RESPONSE.
        scale: the noise's standard deviation (SUM, GAUSSIAN) or scale (LAPLACE), epsilon of a RESPONSE.
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
    """Keeps its releases. The records in `absent` are null: no secret sample has them, so they contribute nothing."""

    def __init__(self, seed: int, *, absent: np.ndarray | None = None) -> None:
        super().__init__(Randomness.replay(seed))
        self.releases: list[Release] = []
        self._absent = absent
        self._samples = False

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the secret samples without the absent records."""
        self._samples = True
        drawn = super().sample(**asked)
        return drawn if self._absent is None else [one[~np.isin(one, self._absent)] for one in drawn]

    def sampled_gaussian(self, total: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a sum."""
        out = super().sampled_gaussian(total, **options)
        self.releases.append(_read_sum(total, out, options, secret=self._samples))
        return out.copy()

    def gaussian(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a function of all rows."""
        out = super().gaussian(value, **options)
        self.releases.append(_read_gaussian(value, out, options))
        return out.copy()

    def laplace(self, value: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a function of all rows."""
        out = super().laplace(value, **options)
        self.releases.append(_read_laplace(value, out, options))
        return out.copy()

    def randomized_response(self, values: np.ndarray, **options: Any) -> np.ndarray:
        """Release and keep a column."""
        out = super().randomized_response(values, **options)
        self.releases.append(_read_response(values, out, options))
        return out.copy()


class ReplayEnded(Exception):
    """All of the earlier run's releases have been replayed: what is left of the fit changes nothing."""


class ReplayingMechanism(Mechanism):
    """Gives out an earlier run's releases, whatever goes in, and keeps what went in; adds no noise and counts nothing.

    Every secret sample is `forced`. FairprivError where the replayed run releases something else than the earlier one;
    with `stops`, ReplayEnded at the last release.
    """

    def __init__(self, earlier: Sequence[Release], forced: np.ndarray, *, stops: bool = False) -> None:
        super().__init__(Randomness.replay(0))
        self.releases: list[Release] = []
        self._earlier = iter(earlier)
        self._stop_at = len(earlier) if stops else None
        self._forced = forced
        self._samples = False

    def sample(self, **asked: Any) -> list[np.ndarray]:
        """Return the forced sample for every step."""
        self._samples = True
        return [self._forced] * int(asked["steps"])

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

    def _replay(self, new: Release) -> np.ndarray:
        old = next(self._earlier, None)
        if old is None or (old.kind, old.name, old.index) != (new.kind, new.name, new.index):
            found = "nothing more" if old is None else f"{old.kind} {old.name} {old.index}"
            raise FairprivError(
                f"the replayed run releases {new.kind} {new.name} {new.index}, the earlier one {found}."
            )
        self.releases.append(new)
        if len(self.releases) == self._stop_at:
            raise ReplayEnded
        return old.out.copy()


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


def _copy(value: np.ndarray) -> np.ndarray:
    return np.array(value, dtype=np.float64).ravel()
