"""What goes wrong while a run trains: each rule reads curves, and names who described it.

A rule that reads protected rows has their kind: what it says names no number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.training import Histogram
from fairpriv_core.records.release import Kind, kind_of_curve

Curves = Mapping[str, tuple[Sequence[float], Sequence[float | None]]]  # name -> (steps, values)
_LATEST = 3  # looks in a row that have to agree
_SWINGS, _REVERSED = 8, 0.6  # moves of λ that are looked at, and the share of them that turn back
_FREE, _ALL = 0.01, 0.99  # shares of rows clipped that count as none and all
_LOUD = 0.05  # noise on a group's mean, as a share of all that the mean can be
_LOST = 10.0  # a loss, in nats
_CUTS_FEW = 0.99  # of the rows lie below the bound that is offered


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, what helps, and who described it; `bound` is a clipping bound that helps, of public rows.

    `kind` is that of what was read. `wrong` is False of what is worth knowing and may be right.
    """

    sentence: str
    source: str
    kind: Kind
    wrong: bool = True
    bound: float | None = None


def diagnose(curves: Curves, histograms: Mapping[str, Histogram], *, published: bool) -> list[Diagnosis]:
    """Return what the curves and the latest histograms of a run tell, the worst first.

    `histograms` are by quantity. `published`: everybody has the rows.
    """
    rules: tuple[Callable[[_Looks], Diagnosis | None], ...] = (
        _find_divergence,
        _find_worse_than_constant,
        _find_small_group,
        _find_swings,
        _find_idle_bound,
        _find_lost_lengths,
    )
    looks = _Looks(curves, histograms, published)
    return [diagnosis for rule in rules if (diagnosis := rule(looks)) is not None]


@dataclass(frozen=True)
class _Looks:
    curves: Curves
    histograms: Mapping[str, Histogram]
    published: bool

    def latest(self, name: str, count: int = _LATEST) -> list[float | None]:
        return list(self.curves.get(name, ((), ()))[1])[-count:]

    def named(self, prefix: str) -> list[str]:
        return [name for name in self.curves if name.startswith(prefix)]

    @property
    def adds_noise(self) -> bool:
        return "epsilon" in self.curves

    def kind(self, name: str) -> Kind:
        return "public" if self.published else kind_of_curve(name)


def _find_divergence(looks: _Looks) -> Diagnosis | None:
    """A loss that is far above that of a coin, ln 2; the store keeps one that is not finite as None."""
    losses = looks.latest("train/loss")
    if len(losses) < _LATEST or any(loss is not None and loss <= _LOST for loss in losses):
        return None
    sentence = "Training has diverged: the loss is far above that of tossing a coin. A smaller learning rate helps."
    source = "Bengio 2012, Practical recommendations for gradient-based training"
    return Diagnosis(sentence, source, looks.kind("train/loss"))


def _find_worse_than_constant(looks: _Looks) -> Diagnosis | None:
    accuracy, constant = looks.latest("test/accuracy"), looks.latest("test/constant_accuracy")
    pairs = [(own, base) for own, base in zip(accuracy, constant, strict=False) if own is not None and base]
    if len(pairs) < _LATEST or any(own >= base for own, base in pairs):
        return None
    remedy = " A larger ε, more rows or a smaller network help." if looks.adds_noise else ""
    sentence = f"The model is worse than one answer for all.{remedy}"
    return Diagnosis(sentence, "our own rule: three looks in a row below the most common label", looks.kind("test/"))


def _find_small_group(looks: _Looks) -> Diagnosis | None:
    """Noise drowns what is released of a group's mean: it grows as the group's noisy size shrinks."""
    for name in looks.named("noise/"):
        [noise] = looks.latest(name, 1)
        if noise is not None and noise > _LOUD:
            sentence = (
                f"'{name.partition('/')[2]}' is too small for its noise: what moves its λ is off by about "
                f"{100 * noise:.0f} points. Merge it with another group, or take a larger ε."
            )
            source = "Dwork and Roth 2014: noise on a mean grows as its group shrinks, here by its noisy count"
            return Diagnosis(sentence, source, looks.kind(name))
    return None


def _find_swings(looks: _Looks) -> Diagnosis | None:
    """A multiplier that turns back at most of its latest moves, by more than a tenth of its size."""
    for name in looks.named("multiplier/"):
        values = [value for value in looks.latest(name, _SWINGS + 1) if value is not None]
        moves = np.diff(values)
        size = max(map(abs, values), default=0.0)
        turns = np.sum((moves[1:] * moves[:-1] < 0) & (np.abs(moves[1:]) > 0.1 * size))
        if len(moves) == _SWINGS and turns >= _REVERSED * (_SWINGS - 1):
            sentence = "λ swings: fairness pulls to and fro, and accuracy with it. A smaller λ calms it."
            return Diagnosis(
                sentence,
                "Cotter, Jiang and Sridharan 2019: a Lagrangian's game may have no equilibrium",
                looks.kind(name),
            )
    return None


def _find_idle_bound(looks: _Looks) -> Diagnosis | None:
    """No gradient is clipped: noise, where there is any, grows with a bound that cuts nothing."""
    shares = [looks.latest(name, 1)[0] for name in looks.named("clipped/gradient_norm/")]
    if not shares or not looks.adds_noise or any(share is None or share > _FREE for share in shares):
        return None
    histogram = looks.histograms.get("gradient_norm")
    bound = _find_quantile(histogram, _CUTS_FEW) if histogram and looks.published else None
    sentence = "No gradient reaches the clipping bound, and noise grows with it. A smaller bound adds less noise."
    helps = bound if histogram and bound and histogram.bound and bound < histogram.bound else None
    return Diagnosis(
        sentence, "Abadi et al. 2016: noise is proportional to the bound", looks.kind("clipped/"), bound=helps
    )


def _find_lost_lengths(looks: _Looks) -> Diagnosis | None:
    """Every gradient is clipped, which strong noise may ask for: rows still point where they did."""
    shares = [looks.latest(name, 1)[0] for name in looks.named("clipped/gradient_norm/")]
    if not shares or any(share is None or share < _ALL for share in shares):
        return None
    sentence = "Every gradient is clipped: each row pulls equally hard, however wrong its answer is."
    return Diagnosis(
        sentence, "Bu et al. 2023: under strong noise that may be right", looks.kind("clipped/"), wrong=False
    )


def _find_quantile(histogram: Histogram, share: float) -> float | None:
    """Return the edge below which `share` of all rows lie; None where they lie in the last bin, which has no end."""
    counts = np.sum(list(histogram.counts.values()), axis=0)
    below = np.cumsum(counts) / max(1, np.sum(counts))
    place = int(np.searchsorted(below, share))
    return float(histogram.edges[place + 1]) if np.size(counts) and place < len(below) - 1 else None
