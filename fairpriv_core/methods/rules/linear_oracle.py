"""The linear rule of least cost, by a regression of costs on features: what depends on groups is one vector."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.sums import on_grid

_KEPT = 0.95  # the share of rows whose length stands; longer ones are shortened to theirs, which is public
_CHUNK = 16384


class LinearOracle:
    """For a cost of each row's decision 1 that is public but for a term by (group, label).

    With x the features and a 1, G = sum of x x' + ridge and L L' = G, the regression's coefficients are L'^-1 of the
    sum of cost times L^-1 x. `radius` bounds |L^-1 x| in the group term, in which longer rows are shortened.
    """

    def __init__(self, train: Dataset, ridge: float) -> None:
        self._train = train
        gram = ridge * np.eye(train.d + 1)
        for rows, _ in self._chunks():
            gram += rows.T @ rows
        self._lower = np.linalg.cholesky(gram)
        lengths = np.concatenate([np.linalg.norm(self._whiten(rows), axis=1) for rows, _ in self._chunks()])
        self.radius = float(np.quantile(lengths, _KEPT))
        factors = np.minimum(1.0, self.radius * (1.0 - MARGIN) / lengths)
        self._by_label = np.zeros((LABELS, train.d + 1))
        self._by_cell = np.zeros((train.groups * LABELS, train.d + 1))
        for rows, where in self._chunks():
            whitened, label = self._whiten(rows), train.y[where]
            self._by_label += np.eye(LABELS)[label].T @ whitened
            cell = np.eye(len(self._by_cell))[train.group[where] * LABELS + label]
            self._by_cell += cell.T @ on_grid(whitened * factors[where, None], self.radius)

    def group_term(self, costs: np.ndarray) -> np.ndarray:
        """Return the sum (d + 1,) over rows of their `costs` (k, 2) by group and label, times L^-1 x: sensitive.

        One person who changes group moves it by at most `radius` times the difference of their two costs.
        """
        term: np.ndarray = costs.reshape(-1) @ self._by_cell
        return term

    def answer(self, public: np.ndarray, group_term: np.ndarray) -> np.ndarray:
        """Return the parameters (d + 1,), float32, of the rule that says 1 where the regressed cost is below 0.

        `public` (2,) are the costs by label, `group_term` (d + 1,) what was released of the rest.
        """
        total = public @ self._by_label + group_term
        coefficients = solve_triangular(self._lower, total, lower=True, trans="T")
        return np.asarray(-coefficients, dtype=np.float32)

    def decide(self, parameters: np.ndarray) -> np.ndarray:
        """Return the rule's decisions (n,) on the training rows, 0 or 1."""
        decided: np.ndarray = (self._train.X @ parameters[:-1] + parameters[-1] > 0).astype(np.float64)
        return decided

    def _whiten(self, rows: np.ndarray) -> np.ndarray:
        whitened: np.ndarray = solve_triangular(self._lower, rows.T, lower=True).T
        return whitened

    def _chunks(self) -> Iterator[tuple[np.ndarray, slice]]:
        for start in range(0, self._train.n, _CHUNK):
            rows = self._train.X[start : start + _CHUNK].astype(np.float64)
            yield np.column_stack([rows, np.ones(len(rows))]), slice(start, start + len(rows))
