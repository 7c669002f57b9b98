"""Fair logistic regression by bounds on covariances with the distance from the boundary (Zafar et al., 2017a, 2017b).

Demographic parity bounds the covariance of a group and the signed distance (2017b), a convex problem. The other notions
bound that of a group and the distance by which rows are misclassified (2017a), by a convex-concave procedure.
docs/methods/reductions.md has both, and what could not be checked.

Each iteration takes the constraints' concave parts as linear at the current boundary, minimises the augmented
Lagrangian of the convex problem that is left, and moves its multipliers: the convex-concave procedure (Shen et al.,
2016), its problems solved one multiplier step at a time. At theta = 0 every constraint holds, so no slack is needed.
For demographic parity there is no concave part, and it is the method of multipliers on a convex problem.

With a gap aimed at, the share of the covariance that may stay is searched: the gap of decisions on the training rows
says which shares meet it. It does not fall with the share everywhere, so a few shares are tried before halving.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods.base import FitsAlone, MethodInfo, NotPrivate, Style, parameter
from fairpriv_core.methods.fields import check_gap_target, check_labels, gap_target, iterations
from fairpriv_core.notions.cells import NO_CELL, build_cells
from fairpriv_core.notions.notion import Notion

_TOLERANCE = 1e-3  # of the unconstrained model's largest covariance, and of a parameter from iteration to iteration
_PENALTY, _LARGEST_PENALTY = 0.1, 1e4
_FASTER = 0.5  # a violation that does not fall to this share of what it was raises the penalty
_MOST_STEPS = 500
_FIRST_TRIED = (0.0, 0.5, 0.25, 0.75)  # of the shares that may stay; 1, no constraint, is known before
_TRIED = 8  # shares at most, the remaining ones by halving


@dataclass(frozen=True)
class Zafar(NotPrivate, FitsAlone):
    """Logistic regression whose covariances are bounded by a share of those of the unconstrained one."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="zafar",
        title="Covariance constraints",
        style=Style("grey", "dashdot", "square"),
        summary="Logistic regression that bounds how group and distance from the boundary vary together; not private.",
        citation="Zafar et al. (2017), Fairness constraints; Fairness beyond disparate treatment and disparate impact",
        threat_model=None,
        pursued=("decisions", "errors"),
    )

    covariance_factor: float = parameter(
        0.1,
        "Covariance factor",
        "Share of the unconstrained model's covariance that may stay: 0 leaves none, 1 is no constraint.",
        low=0.0,
        high=1.0,
        fairer="less",
    )
    gap_target: float | None = gap_target(
        "of the shares of the covariance that meet it on the training rows the most accurate is taken, or that with "
        "the smallest gap",
        "the share that is set",
        replaces=("covariance_factor",),
    )
    iterations: int = iterations(
        40,
        "Problems solved at most, the unconstrained one included, for each share that is tried; it ends at the "
        "optimum.",
    )

    def __post_init__(self) -> None:
        checks.unit(covariance_factor=self.covariance_factor)
        check_gap_target(self.gap_target)
        checks.whole(low=1, high=1000, iterations=self.iterations)

    def steps(self, n_train: int) -> int:
        """Return how many problems are solved at most; the search ends earlier where it has found the optimum.

        With a gap aimed at that is the unconstrained one, and so many for each other share that is tried.
        """
        return self.iterations if self.gap_target is None else 1 + self.iterations * (_TRIED - 1)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model."""
        check_labels(self.info, train)
        return fit_constrained(self, train, training)


def fit_constrained(method: Zafar, train: Dataset, training: Training) -> Fitted:
    """Return the constrained model; a resumed fit goes on where the first was."""
    search = _Search(method, train, training)
    while not search.done:
        search.iterate()
    notes: dict[str, object] = {"covariances": dict(zip(search.names, search.covariances().tolist(), strict=True))}
    if method.gap_target is not None:
        notes["covariance_factor"] = search.tried.table[search.tried.best(method.gap_target), 0].item()
    parameters = search.parameters.astype(np.float32)
    return Fitted(search.network, parameters, training.mechanism.events, search.iteration, notes)


class _Search:
    """Parameters (d + 1,), the intercept last; a multiplier for each side of each cell's constraint (2 cells,)."""

    def __init__(self, method: Zafar, train: Dataset, training: Training) -> None:
        self._method, self._train, self._training = method, train, training
        self._covariance = BoundaryCovariance(train, training.notion)
        self._rows = np.column_stack([train.X, np.ones(train.n)]).astype(np.float64)
        self._held_back = np.append(np.ones(train.d), 0.0) / train.n  # |weights|^2 / 2n, as everywhere here
        curvature = self._rows.T @ self._rows / (4.0 * train.n) + np.diag(self._held_back + 1e-9)
        self._lower = np.linalg.cholesky(curvature)  # of the largest Hessian of the loss: the search's coordinates
        self.names = build_cells(training.notion, train.group_names).names
        self.network = NetworkShape(train.d)
        state = training.checkpoint or {}
        sides = np.zeros(2 * len(self.names))
        self.iteration = int(state.get("iteration", 0))
        self.parameters = np.asarray(state.get("parameters", np.zeros(train.d + 1)))
        self._multipliers = np.asarray(state.get("multipliers", sides))
        self._unconstrained = np.asarray(state.get("unconstrained", sides[: len(self.names)]))
        self._penalty = float(state.get("penalty", _PENALTY))
        self._violation, self._moved = float(state.get("violation", np.inf)), float(state.get("moved", np.inf))
        self._started = int(state.get("started", 0))
        self.tried = Tried(state.get("tried", np.zeros((0, 3))), state.get("models", np.zeros((0, train.d + 1))))

    @property
    def done(self) -> bool:
        """Whether the share is settled, and with a gap aimed at there is no other one to try."""
        target = self._method.gap_target
        return self._settled if target is None else self.tried.next(target) is None

    @property
    def _settled(self) -> bool:
        """Whether the constraints hold and nothing moves any more, or the share has no iterations left."""
        if self.iteration == 1 and self._method.gap_target is not None:
            return True  # the unconstrained model is that of the share 1
        settled = self.iteration > 1 and max(self._violation, self._moved) <= _TOLERANCE
        return settled or self.iteration - self._started >= self._method.iterations

    @property
    def _share(self) -> float:
        """The share of the unconstrained covariance that may stay now."""
        target = self._method.gap_target
        share = self._method.covariance_factor if target is None else self.tried.next(target)
        return 1.0 if share is None else share

    def covariances(self) -> np.ndarray:
        """Return each cell's covariance (cells,) on the training rows."""
        return self._covariance.measure(self._rows @ self.parameters)

    def iterate(self) -> None:
        """Solve one problem: first the unconstrained one, then those of the augmented Lagrangian."""
        before, violation = self.parameters, self._violation
        if self.iteration == 0:
            self.parameters = self._minimise(None)
            self._unconstrained = self.covariances()
        else:
            bound = self._covariance.convexify(self._rows @ self.parameters)
            self.parameters = self._minimise(bound)
            excess = self._excess(bound.value(self._rows @ self.parameters))
            self._multipliers = np.maximum(0.0, self._multipliers + self._penalty * excess)
            self._violation = float(self._exact_excess().max())
            if self._violation > max(_FASTER * violation, _TOLERANCE):
                self._penalty = min(4.0 * self._penalty, _LARGEST_PENALTY)
        self._moved = float(np.abs(self.parameters - before).max())
        self.iteration += 1
        if self._settled and self._method.gap_target is not None:
            self._finish_share(self._method.gap_target)
        self._report()

    def _finish_share(self, target: float) -> None:
        """Keep what the share came to, and start with the next; after the last one go back to the best."""
        metrics = evaluate(self.network, self.parameters.astype(np.float32), self._train)
        gap = metrics[self._training.notion.metric] or 0.0  # undefined: there is nothing to compare
        self.tried = self.tried.add((self._share, gap, metrics["accuracy"]), self.parameters)
        if self.tried.next(target) is None:
            self.parameters = self.tried.models[self.tried.best(target)]
        self._multipliers = np.zeros_like(self._multipliers)
        self._penalty, self._violation, self._moved = _PENALTY, np.inf, np.inf
        self._started = self.iteration

    def _minimise(self, bound: ConvexBound | None) -> np.ndarray:
        """Return the minimiser of the mean cross-entropy and the penalty, from the parameters of before."""
        from scipy.optimize import minimize

        label = self._train.y

        def value_and_derivative(point: np.ndarray) -> tuple[float, np.ndarray]:
            parameters = solve_triangular(self._lower, point, lower=True, trans="T")
            distance = self._rows @ parameters
            value = float((np.logaddexp(0.0, distance) - label * distance).mean())
            derivative = (expit(distance) - label) / self._train.n
            if bound is not None:
                factors = np.maximum(0.0, self._multipliers + self._penalty * self._excess(bound.value(distance)))
                value += float((factors**2).sum()) / (2.0 * self._penalty)
                derivative = derivative + bound.derivative(distance, factors / self._scale)
            value += 0.5 * float(self._held_back @ parameters**2)
            gradient = self._rows.T @ derivative + self._held_back * parameters
            return value, solve_triangular(self._lower, gradient, lower=True)

        options = {"maxiter": _MOST_STEPS, "gtol": 1e-6, "ftol": 1e-10}
        start = self._lower.T @ self.parameters
        minimum = minimize(value_and_derivative, start, jac=True, method="L-BFGS-B", options=options)
        solution: np.ndarray = solve_triangular(self._lower, minimum.x, lower=True, trans="T")
        return solution

    @property
    def _scale(self) -> float:
        """The unconstrained model's largest covariance: constraints are measured in it."""
        return max(float(np.abs(self._unconstrained).max()), 1e-12)

    def _excess(self, sides: np.ndarray) -> np.ndarray:
        """Return by how much `sides` (2 cells,) exceed the bounds on both sides, in units of the scale."""
        limits = self._share * np.abs(self._unconstrained)
        excess: np.ndarray = (sides - np.tile(limits, 2)) / self._scale
        return excess

    def _exact_excess(self) -> np.ndarray:
        covariances = self.covariances()
        return self._excess(np.concatenate([covariances, -covariances]))

    def _report(self) -> None:
        observer, mechanism = self._training.observer, self._training.mechanism
        curves = {
            f"covariance/{name}": float(value) for name, value in zip(self.names, self.covariances(), strict=True)
        }
        parameters = self.parameters.astype(np.float32)
        observer.show(Snapshot(self.iteration, self.iteration, self.network, parameters, curves, {}))
        if observer.due():
            state = {
                "iteration": np.array(self.iteration),
                "parameters": self.parameters,
                "multipliers": self._multipliers,
                "unconstrained": self._unconstrained,
                "penalty": np.array(self._penalty),
                "violation": np.array(self._violation),
                "moved": np.array(self._moved),
                "started": np.array(self._started),
                "tried": self.tried.table,
                "models": self.tried.models,
                **mechanism.state(),
            }
            observer.commit(step=self.iteration, events=mechanism.events, checkpoint=state)


@dataclass(frozen=True)
class Tried:
    """Shares tried so far, with what became of each on the training rows.

    `table` (m, 3) has a share, the gap of its decisions and their accuracy in each row, `models` (m, d + 1) the
    parameters.
    """

    table: np.ndarray
    models: np.ndarray

    def add(self, row: tuple[float, float, float], parameters: np.ndarray) -> Tried:
        """Return this with another share."""
        return Tried(np.vstack([self.table, row]), np.vstack([self.models, parameters]))

    def next(self, target: float) -> float | None:
        """Return the share to try next: no constraint, a few, then halves above the largest that meets the target.

        None where no constraint is needed, where none of the few meets it, or after _TRIED of them.
        """
        shares = self.table[:, 0]
        if not len(shares):
            return 1.0
        met = shares[self.table[:, 1] <= target]
        if len(shares) == _TRIED or 1.0 in met:
            return None
        left = [share for share in _FIRST_TRIED if share not in shares]
        if left or not len(met):
            return left[0] if left else None
        return float(met.max() + shares[shares > met.max()].min()) / 2.0

    def best(self, target: float) -> int:
        """Return the row of the most accurate share that meets the target; where none does, of the smallest gap."""
        gap, accuracy = self.table[:, 1], self.table[:, 2]
        met = gap <= target
        return int(np.where(met, accuracy, -1.0).argmax() if met.any() else gap.argmin())


class BoundaryCovariance:
    """For each cell of a notion, the mean over n of (1 in the group - the group's share) * u, in its population.

    u is the signed distance for demographic parity (2017b), otherwise what it is below 0 on the label's own
    side: 0 where a row is classified rightly (2017a). Distances (n,) are not divided by a norm.
    """

    def __init__(self, train: Dataset, notion: Notion) -> None:
        cells = build_cells(notion, train.group_names)
        self._linear = notion.target == "score" and notion.conditions == (None,)
        self._side = 2.0 * train.y - 1.0
        own = cells.of[train.group, train.y]
        weights = []
        for cell, label in enumerate(cells.label):
            inside = np.ones(train.n, bool) if label == NO_CELL else train.y == label
            members = (own == cell).astype(np.float64)
            weights.append(inside * (members - members.sum() / max(inside.sum(), 1)) / train.n)
        self._weights = np.array(weights)

    def measure(self, distance: np.ndarray) -> np.ndarray:
        """Return the covariance of each cell (cells,)."""
        values = distance if self._linear else np.minimum(0.0, self._side * distance)
        covariance: np.ndarray = self._weights @ values
        return covariance

    def convexify(self, distance: np.ndarray) -> ConvexBound:
        """Return a convex function above (covariance, -covariance), (2 cells,), that equals them at `distance`."""
        signed = np.concatenate([self._weights, -self._weights])
        if self._linear:
            return ConvexBound(signed, None, self._side)
        wrong = self._side * distance < 0
        # u is concave: where its weight is negative the product is convex, elsewhere it is taken as linear
        return ConvexBound(np.maximum(signed, 0.0) * (wrong * self._side), np.maximum(-signed, 0.0), self._side)


class ConvexBound:
    """linear @ distance + hinge @ (what each row is misclassified by), each (2 cells, n); no hinge: None."""

    def __init__(self, linear: np.ndarray, hinge: np.ndarray | None, side: np.ndarray) -> None:
        self._linear, self._hinge, self._side = linear, hinge, side

    def value(self, distance: np.ndarray) -> np.ndarray:
        """Return the bounds (2 cells,) at the distances (n,)."""
        bounds: np.ndarray = self._linear @ distance
        if self._hinge is not None:
            bounds += self._hinge @ np.maximum(0.0, -self._side * distance)
        return bounds

    def derivative(self, distance: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Return the derivative (n,) of factors (2 cells,) @ value by the distances."""
        derivative: np.ndarray = factors @ self._linear
        if self._hinge is not None:
            derivative -= (factors @ self._hinge) * self._side * (self._side * distance < 0)
        return derivative
