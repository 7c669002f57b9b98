"""Fair logistic regression by bounds on covariances with the distance from the boundary (Zafar et al., 2017a, 2017b).

Demographic parity bounds the covariance of a group and the signed distance (2017b), a convex problem. The other notions
bound that of a group and the distance by which rows are misclassified (2017a), by a convex-concave procedure.
docs/methods/reductions.md has both, and what could not be checked.

Each iteration takes the constraints' concave parts as linear at the current boundary, minimises the augmented
Lagrangian of the convex problem that is left, and moves its multipliers: the convex-concave procedure (Shen et al.,
2016), its problems solved one multiplier step at a time. At theta = 0 every constraint holds, so no slack is needed.
For demographic parity there is no concave part, and it is the method of multipliers on a convex problem.
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
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods.base import FitsAlone, MethodInfo, NotPrivate, Style, parameter
from fairpriv_core.methods.fields import iterations
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import NO_CELL, build_cells
from fairpriv_core.notions.notion import Notion

_TOLERANCE = 1e-3  # of the unconstrained model's largest covariance, and of a parameter from iteration to iteration
_PENALTY, _LARGEST_PENALTY = 0.1, 1e4
_FASTER = 0.5  # a violation that does not fall to this share of what it was raises the penalty
_MOST_STEPS = 500


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
        notions=tuple(notions()),
    )

    covariance_factor: float = parameter(
        0.1,
        "Covariance factor",
        "Share of the unconstrained model's covariance that may stay: 0 leaves none, 1 is no constraint.",
        low=0.0,
        high=1.0,
        fairer="less",
    )
    iterations: int = iterations(40, "Problems solved at most, the unconstrained one included; it ends at the optimum.")

    def __post_init__(self) -> None:
        checks.unit(covariance_factor=self.covariance_factor)
        checks.whole(low=1, high=1000, iterations=self.iterations)

    def steps(self, n_train: int) -> int:
        """Return how many problems are solved at most; the search ends earlier where it has found the optimum."""
        return self.iterations

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model."""

        return fit_constrained(self, train, training)


def fit_constrained(method: Zafar, train: Dataset, training: Training) -> Fitted:
    """Return the constrained model; a resumed fit goes on where the first was."""
    search = _Search(method, train, training)
    while not search.done:
        search.iterate()
    notes = {"covariances": dict(zip(search.names, search.covariances().tolist(), strict=True))}
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
        self.network = NetworkShape(train.d).to_json()
        held = training.checkpoint or {}
        sides = np.zeros(2 * len(self.names))
        self.iteration = int(held.get("iteration", 0))
        self.parameters = np.asarray(held.get("parameters", np.zeros(train.d + 1)))
        self._multipliers = np.asarray(held.get("multipliers", sides))
        self._unconstrained = np.asarray(held.get("unconstrained", sides[: len(self.names)]))
        self._penalty = float(held.get("penalty", _PENALTY))
        self._violation, self._moved = float(held.get("violation", np.inf)), float(held.get("moved", np.inf))

    @property
    def done(self) -> bool:
        """Whether the constraints hold and nothing moves any more, or there are no iterations left."""
        settled = self.iteration > 1 and max(self._violation, self._moved) <= _TOLERANCE
        return settled or self.iteration >= self._method.iterations

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
        self._report()

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
        found = minimize(value_and_derivative, start, jac=True, method="L-BFGS-B", options=options)
        solution: np.ndarray = solve_triangular(self._lower, found.x, lower=True, trans="T")
        return solution

    @property
    def _scale(self) -> float:
        """The unconstrained model's largest covariance: constraints are measured in it."""
        return max(float(np.abs(self._unconstrained).max()), 1e-12)

    def _excess(self, sides: np.ndarray) -> np.ndarray:
        """Return by how much `sides` (2 cells,) exceed the bounds on both sides, in units of the scale."""
        allowed = self._method.covariance_factor * np.abs(self._unconstrained)
        excess: np.ndarray = (sides - np.tile(allowed, 2)) / self._scale
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
                **mechanism.state(),
            }
            observer.commit(step=self.iteration, events=mechanism.events, checkpoint=state)


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
