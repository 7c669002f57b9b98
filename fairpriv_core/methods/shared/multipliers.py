"""How multipliers follow the violations v_i = mu(P_i) - mu(G_i): towards equality, or to a gap that is accepted.

*Equality* is the paper's: lambda_i rises by s_i v_i (Tran, Fioretto and Van Hentenryck, 2021, Algorithm 1).

*A gap aimed at*, gamma. Cells among the same people differ by at most gamma where some c has |v_i - c| <= gamma / 2 for
all of them: the middle between the largest and the smallest is one. Give each side of each cell a multiplier; the two
sides are never at work together, so let lambda_i be their difference. The Lagrangian of these constraints is then

    J + sum_i lambda_i (v_i - c) - gamma / 2 |lambda_i|,    and sum_i lambda_i = 0, since c is free.

A dual step is one of proximal ascent on it (Rockafellar, 1976). Among multipliers that add up to 0 within +-lambda_max
it takes those at which

    sum_i lambda_i v_i - gamma / 2 |lambda_i| - (lambda_i - old_i)^2 / (2 s_i)

is largest: lambda_i = clip(shrink(old_i + s_i (v_i - c), s_i gamma / 2), +-lambda_max), where shrink(z, t) is
sign(z) max(|z| - t, 0) and c is the number at which they add up to 0. So two groups' multipliers grow while they differ
by more than gamma, and shrink towards 0 while they differ by less. Multipliers stay where they are if and only if the
cells lie in a band of width gamma, those with lambda_i > 0 at its upper edge, those with lambda_i < 0 at its lower one,
and those at +-lambda_max there or beyond: the conditions of Karush, Kuhn and Tucker.

It is a proxy: v is of decisions, 0 or 1, which are what is reported, and training follows the soft h, which has a
gradient (Cotter, Jiang and Sridharan, 2019, Two-player games for efficient non-convex constrained optimization). A step
reads v and the old multipliers alone, so it costs no privacy where those were released.

Steps s_i are then REACH over the number of epochs, on average over the cells: a violation that stays moves multipliers
as far whatever the number of epochs is, and with more of them noise is averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fairpriv_core.notions.surrogates import Surrogate, decided, output

REACH = 30.0  # two groups that stay 0.1 beyond the gap aimed at have multipliers of +-1.5 in the end

Output = Callable[[Surrogate, np.ndarray, np.ndarray], np.ndarray]  # of target, logits and labels: h of each record


class Dual(Protocol):
    """The hyper-parameters of a dual step."""

    @property
    def epochs(self) -> int: ...
    @property
    def dual_step(self) -> float: ...
    @property
    def multiplier_max(self) -> float: ...
    @property
    def gap_target(self) -> float | None: ...


class BoundedDual(Dual, Protocol):
    """The hyper-parameters of a dual step whose outputs are clipped."""

    @property
    def clip_dual(self) -> float: ...


def measured(method: Dual) -> Output:
    """Return the h whose means a dual step compares: what is decided where a gap is aimed at, else the soft h."""
    return output if method.gap_target is None else decided


def dual_bound(method: BoundedDual) -> float:
    """Return the largest h that a dual step sees: C_d, or 1 where h is what is decided."""
    return method.clip_dual if method.gap_target is None else 1.0


def move_multipliers(
    multipliers: np.ndarray, violations: np.ndarray, *, among: np.ndarray, shares: np.ndarray, method: Dual
) -> np.ndarray:
    """Return the signed multipliers (cells,) after a dual step on the cells' violations (cells,).

    `among` (cells,) says which people a cell is among. Steps are in proportion to `shares` (cells,) > 0: for equality
    dual_step times them.
    """
    if method.gap_target is None:
        raised: np.ndarray = multipliers + method.dual_step * shares * violations
        return raised.clip(-method.multiplier_max, method.multiplier_max)
    steps = spread_steps(REACH / method.epochs, among=among, shares=shares)
    aim = {"gap_target": method.gap_target, "largest": method.multiplier_max}
    return ascend(multipliers, violations, among=among, steps=steps, **aim)


def spread_steps(step: float, *, among: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return step lengths (cells,) in proportion to `shares` (cells,), `step` on average among the same people."""
    steps = np.empty(len(shares))
    for people in np.unique(among):
        inside = among == people
        steps[inside] = step * shares[inside] / shares[inside].mean()
    return steps


def ascend(
    multipliers: np.ndarray,
    violations: np.ndarray,
    *,
    among: np.ndarray,
    steps: np.ndarray,
    gap_target: float,
    largest: float,
) -> np.ndarray:
    """Return the multipliers (cells,) after one proximal step of lengths `steps` (cells,) towards a gap aimed at."""
    moved = multipliers.copy()
    for people in np.unique(among):
        inside = among == people
        raised = multipliers[inside] + steps[inside] * violations[inside]
        moved[inside] = _balance(raised, steps[inside], gap_target / 2.0, largest)
    return moved


def _balance(raised: np.ndarray, steps: np.ndarray, half: float, largest: float) -> np.ndarray:
    """Return clip(shrink(raised_i - steps_i c, steps_i half), +-largest) (cells,), c such that they add up to 0.

    Their sum is piecewise linear in c and never rises, from all at +largest to all at -largest: c is found exactly.
    """

    def at(centres: np.ndarray | float) -> np.ndarray:
        free = raised - np.multiply.outer(centres, steps)
        shrunk: np.ndarray = np.sign(free) * np.maximum(np.abs(free) - steps * half, 0.0)
        return shrunk.clip(-largest, largest)

    edges = np.stack([half * steps, half * steps + largest])
    bends = np.sort(((raised + np.concatenate([edges, -edges])) / steps).ravel())
    return at(float(np.interp(0.0, -at(bends).sum(axis=1), bends)))
