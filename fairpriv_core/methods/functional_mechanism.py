"""The functional mechanism: PFLR* and ADFC, logistic regression whose loss is a polynomial that is noised once.

The logistic loss to second order is -(y - 1/2) x'w + (x'w)^2 / 8, so that all the data say of w are the sums of the
coefficients of w_i and w_i w_j (Zhang et al., 2012). Beside them are those of the penalty lambda |sum_z (a_z - mean)
x_z'w|, the covariance of group and distance from the boundary. All are released as one vector; the model follows.

*Rows.* Each feature is divided by the largest size in its declared range, and a 1 is appended for the intercept: the
box [-1, 1]^d. A feature has a share t of the budget: it is multiplied by it. A row longer than R is shortened to R, in
the norm of the noise (L1 under Laplace, L2 under Gaussian). A row that is shortened is on the same side of w as before.

*Sensitivity.* Coefficients of w_i w_j, i < j, are x_i x_j / 4, and are released over 2^(1 - 1/p) in the norm p, so that
all of second order have the norm |x|^2 / 8. With U the largest |a - mean| a record has parts of at most R / 2, R^2 / 8
and lambda U R, reached together: their sum (p = 1), or the root of the sum of their squares (p = 2).

docs/methods/functional_mechanism.md has the argument, and what had to be read into the papers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.schema import name_features, shape_numbers
from fairpriv_core.engine.clipping import clip_factors
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style, parameter
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.sums import BLOCK, TOGETHER, add_products, sensitivity

MOST_FEATURES = 2000  # of which there are two million products
NOISES = ("gaussian", "laplace")
_AT_ONCE = 8 * BLOCK * TOGETHER  # rows; blocks stay at the same places
_NAMES = ("counts", "covariances", "coefficients")
_RIDGE = 1e-6  # of the largest eigenvalue: the least that another one may be where there is no noise


def _multiplier(default: float) -> Any:
    return parameter(
        default,
        "Multiplier λ",
        "Weight of the covariance of group and distance from the boundary; it is noised too. 0 trains for accuracy.",
        low=0.0,
        high=100.0,
        log=True,
        fairer="more",
    )


def _row_bound(default: float) -> Any:
    return parameter(
        default,
        "Row bound R",
        "Longer rows are shortened to it, in L1 under Laplace noise and in L2 under Gaussian noise.",
        low=0.1,
        high=1000.0,
        log=True,
    )


@dataclass(frozen=True)
class FunctionalMechanism(Private, FitsAlone):
    """Hyper-parameters of both. Shares are of mu^2, mu the Gaussian mechanism with the run's (epsilon, delta)."""

    FOUND_ON: ClassVar[str] = "Adult"

    multiplier: float = _multiplier(0.3)
    row_bound: float = _row_bound(2.0)
    group_share: float | None = parameter(
        None,
        "Declared share of the first group",
        "The mean ā of the penalty; other groups divide the rest equally. Empty: from noisy counts, paid first.",
        low=0.0,
        high=1.0,
        expert=True,
    )
    share_counts: float = fields.share_of_budget(0.05, "counts", "the groups' sizes, unless their shares are declared")
    noise_counts: float | None = fields.noise_multiplier("Count noise", "the counts' shift of 1")
    noise_coefficients: float | None = fields.noise_multiplier("Noise of coefficients", "what one record adds to all")

    def __post_init__(self) -> None:
        checks.not_negative(multiplier=self.multiplier)
        checks.positive(row_bound=self.row_bound)
        if self.group_share is not None:
            checks.unit(group_share=self.group_share)
        checks.shares(share_counts=self.share_counts)
        check_noises(self)

    @property
    @abstractmethod
    def laplace(self) -> bool:
        """Whether noise is Laplace's."""

    @property
    def order(self) -> int:
        """The norm p that sensitivities are in."""
        return 1 if self.laplace else 2

    def idle_reason(self) -> str | None:
        """Why covariances are not held down; None where they are."""
        return fields.format_idle({"multiplier": self.multiplier})

    def steps(self, n_train: int) -> int:
        """Return 1: the coefficients."""
        return 1

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The groups' sizes unless declared, of which a record is in one; the coefficients, groups as if equal."""
        counts_groups = self.multiplier > 0 and self.group_share is None
        share = "share_counts" if counts_groups else None
        bound = self.coefficient_bound(deviations(np.full(groups, 1.0 / groups)))
        return (
            Release("counts", 1.0, "noise_counts", share=share, needed=counts_groups, laplace=self.laplace),
            Release("coefficients", bound, "noise_coefficients", laplace=self.laplace),
        )

    def coefficient_bound(self, group_deviations: np.ndarray) -> float:
        """Return how far one record moves the coefficients, all of them, where groups have these (k, g)."""
        parts = (self.row_bound / 2, self.row_bound**2 / 8, self.multiplier * self.covariance_bound(group_deviations))
        return float(np.linalg.norm(parts, self.order))

    def covariance_bound(self, group_deviations: np.ndarray) -> float:
        """Return how far one record moves the covariances' coefficients."""
        return self.row_bound * float(np.linalg.norm(group_deviations, self.order, axis=1).max())

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given, a declared share among it."""
        declared = () if self.group_share is None else ("The share of the first group is declared, and public.",)
        return (*super().assumptions(), *declared)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; BadInput for more than two labels or MOST_FEATURES."""
        fields.check_labels(self.info, train)
        checks.whole(high=MOST_FEATURES, features=train.d)
        self.noise()  # what is missing is said before anything is released
        return release_and_solve(self, train, training)

    def share_features(self, train: Dataset, rows: Rows, given: Released) -> np.ndarray:
        """Return the share of the budget of each feature and the intercept (d + 1,), in (0, 1]."""
        return np.ones_like(rows.ranges)


@dataclass(frozen=True)
class Pflr(FunctionalMechanism):
    """Laplace noise and equal shares: pure epsilon."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="pflr",
        title="PFLR*",
        style=Style("green", "dash", "cross"),
        summary="Logistic regression from a noisy polynomial, with a penalty on the group's covariance; protects whole "
        "records.",
        citation="after Xu, Yuan and Wu (2019), Achieving differential privacy and fairness in logistic regression",
        threat_model="record",
        pursued=("decisions",),
        only=("demographic_parity",),
        variants=("proved",),
        calibrates="noise_coefficients",
    )

    FOUND_ON: ClassVar[str] = "Adult and Parkinson's"

    multiplier: float = _multiplier(0.5)
    row_bound: float = _row_bound(4.0)
    noise_counts: float | None = fields.laplace_scale("Count noise", "the counts' shift of 1")
    noise_coefficients: float | None = fields.laplace_scale("Noise of coefficients", "what one record adds to all")

    @property
    def laplace(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class Adfc(FunctionalMechanism):
    """Gaussian or Laplace noise; features that go with the group get a smaller share of the budget, so more noise."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="adfc",
        title="ADFC",
        style=Style("green", "solid", "x"),
        summary="As PFLR*, with more noise on features that go with the group; Gaussian or Laplace; protects whole "
        "records.",
        citation="after Ding et al. (2020), Differentially private and fair classification via calibrated functional "
        "mechanism",
        threat_model="record",
        pursued=("decisions",),
        only=("demographic_parity",),
        variants=("proved",),
        calibrates="noise_coefficients",
    )

    distribution: str = parameter(
        "gaussian", "Noise", "Laplace noise gives ε at δ = 0 too; Gaussian noise is smaller.", choices=NOISES
    )
    least_share: float = parameter(
        0.5,
        "Least share of a feature",
        "Share of the feature that goes with the group most, over that of one that does not; 1 gives all the same.",
        low=0.01,
        high=1.0,
    )
    declared_shares: tuple[str, ...] | None = parameter(
        None,
        "Declared shares",
        "Columns with their shares, such as age=0.5, and 1 for the rest; empty: from noisy covariances, paid first.",
        expert=True,
    )
    share_covariances: float = fields.share_of_budget(0.1, "covariances", "those that features get their shares by")
    noise_covariances: float | None = fields.noise_multiplier("Noise of covariances", "what one record adds to them")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(NOISES, distribution=self.distribution)
        checks.rate(least_share=self.least_share)
        checks.shares(share_counts=self.share_counts, share_covariances=self.share_covariances)
        read_shares(self.declared_shares or ())

    @property
    def laplace(self) -> bool:
        """Where it is chosen."""
        return self.distribution == "laplace"

    @property
    def measures(self) -> bool:
        """Whether features get their shares by noisy covariances; where no group matters all have the same."""
        return self.multiplier > 0 and self.least_share < 1 and not self.declared_shares

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """As of all, and between them the covariances where features get their shares by them."""
        counts, coefficients = super().releases(n_train, groups)
        bound = self.covariance_bound(deviations(np.full(groups, 1.0 / groups)))
        share = "share_covariances" if self.measures else None
        covariances = Release(
            "covariances", bound, "noise_covariances", share=share, needed=self.measures, laplace=self.laplace
        )
        return (counts, covariances, coefficients)

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given, declared shares among it."""
        declared = ("The features' shares of the budget are declared, and public.",) if self.declared_shares else ()
        return (*super().assumptions(), *declared)

    def share_features(self, train: Dataset, rows: Rows, given: Released) -> np.ndarray:
        """Return the declared shares, or those that fall with the noisy covariances, down to the least."""
        shares = np.ones_like(rows.ranges)
        if self.declared_shares:
            for column, share in read_shares(self.declared_shares).items():
                shares[rows.find_column(column)] = share
        elif self.measures:
            group, bound = given.deviations[train.group], sensitivity(self.covariance_bound(given.deviations))
            totals = given.release("covariances", lambda: rows.add_up(group.T).ravel(), bound)
            sizes = np.linalg.norm(totals.reshape(-1, len(shares))[:, :-1], axis=0)
            shares[:-1] -= (1.0 - self.least_share) * sizes / max(float(sizes.max()), 1e-300)
        return shares


def read_shares(declared: Sequence[str]) -> dict[str, float]:
    """Return the shares by column of texts such as age=0.5; BadInput for any other, or a share outside (0, 1]."""
    shares: dict[str, float] = {}
    for text in declared:
        column, equals, share = text.rpartition("=")
        try:
            shares[column.strip()] = float(share)
        except ValueError:
            equals = ""
        if not equals:
            raise BadInput(f"declared_shares must be such as age=0.5, got {text}.", field="declared_shares")
    checks.rate(**{f"declared_shares of {column}": share for column, share in shares.items()})
    return shares


def deviations(shares: np.ndarray) -> np.ndarray:
    """Return a - mean of each group (k, g): of two groups, a is 1 in the second; of more, each has an a of its own."""
    centred: np.ndarray = np.eye(len(shares)) - shares
    return centred[:, 1:] if len(shares) == LABELS else centred


class Released:
    """What was released so far, in this attempt or the one that it goes on from, and the groups' deviations (k, g)."""

    def __init__(self, method: FunctionalMechanism, train: Dataset, training: Training) -> None:
        self._method, self._train, self._training = method, train, training
        self._held = {name: value for name, value in (training.checkpoint or {}).items() if name in _NAMES}
        self.shares = self._share_groups()
        self.deviations = deviations(self.shares)

    def release(self, name: str, compute: Callable[[], np.ndarray], bound: float) -> np.ndarray:
        """Return the release `name` of what `compute` returns, which one record moves by at most `bound`."""
        if name not in self._held:
            self._held[name] = self._method.release(name, compute(), self._train, self._training, sensitivity=bound)
        return self._held[name]

    def commit(self) -> None:
        """Store all releases with what they cost."""
        mechanism = self._training.mechanism
        checkpoint = {**self._held, **mechanism.state()}
        self._training.observer.commit(step=1, events=mechanism.events, checkpoint=checkpoint)

    def _share_groups(self) -> np.ndarray:
        """Return the groups' shares (k,): declared, or of their noisy sizes; equal where no group matters."""
        groups, declared = self._train.groups, self._method.group_share
        if declared is not None:
            return np.array([declared, *[(1.0 - declared) / (groups - 1)] * (groups - 1)])
        if not self._method.multiplier:
            return np.full(groups, 1.0 / groups)
        sizes = np.maximum(self.release("counts", lambda: self._train.group_sizes, 1.0), 1.0)
        shares: np.ndarray = sizes / sizes.sum()
        return shares


class Rows:
    """The training rows in the box: divided by their ranges, with a 1 (n, d + 1); shortened where they are added up."""

    def __init__(self, method: FunctionalMechanism, train: Dataset) -> None:
        self._bound, self._order, self._train = method.row_bound, method.order, train
        self.ranges = np.append(read_ranges(train), 1.0)

    def find_column(self, column: str) -> np.ndarray:
        """Return which features and intercept (d + 1,) come from a column; BadInput where none does."""
        names = self._train.feature_names
        mask = np.array([*(name == column or name.startswith(f"{column} ") for name in names), False])
        if not mask.any():
            raise BadInput(f"declared_shares names '{column}', of which there is no feature.", field="declared_shares")
        return mask

    def add_up(self, weights: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
        """Return the sums (m, d + 1) of the rows by `weights` (m, n).

        With features' `shares` rows are multiplied by them, and the sum of x x' / 8 stands below.
        """
        size, train = len(self.ranges), self._train
        factors = 1.0 / self.ranges if shares is None else shares / self.ranges
        total = np.zeros((len(weights) + (0 if shares is None else size), size))
        for start in range(0, train.n, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            rows = self._shorten(part, factors)
            left = weights[:, part].astype(np.float32)
            left = left if shares is None else np.concatenate([left, rows.T / np.float32(8.0)])
            added = np.empty_like(total)
            add_products(left, rows, added)
            total += added
        return total

    def _shorten(self, part: slice, factors: np.ndarray) -> np.ndarray:
        """Return rows (m, d + 1) float32 of norm R at most; nulls, and rows that are not finite, are 0."""
        features = self._train.X[part].astype(np.float64)
        rows = np.column_stack([features, np.ones(len(features))]) * factors
        norms = np.linalg.norm(rows, self._order, axis=1)
        present = np.isfinite(norms) if self._train.present is None else np.isfinite(norms) & self._train.present[part]
        rows[~present], norms[~present] = 0.0, 1.0
        shortened: np.ndarray = (rows * clip_factors(norms, self._bound)[:, None]).astype(np.float32)
        return shortened


def read_ranges(train: Dataset) -> np.ndarray:
    """Return the largest size in each feature's declared range (d,); 1 for 0/1 features and where none is declared."""
    ranges = np.ones(train.d)
    if train.encoder:
        place = 0
        for column in Encoder.from_json(train.encoder).schema:
            ends = np.array([column.low, column.high])
            if column.is_quantity and np.isfinite(ends).all():
                largest = np.abs((shape_numbers(ends, log=bool(column.log)) - column.center) / column.scale).max()
                ranges[place] = largest if largest > 0 else 1.0
            place += len(name_features(column))
    return ranges


def release_and_solve(method: FunctionalMechanism, train: Dataset, training: Training) -> Fitted:
    """Return the model of the noisy polynomial; a resumed run has the releases of the first."""
    releases, rows = Released(method, train, training), Rows(method, train)
    shares = method.share_features(train, rows, releases)
    penalty = method.multiplier * releases.deviations[:, : None if method.multiplier else 0]
    bound = sensitivity(method.coefficient_bound(releases.deviations))

    def add_up() -> np.ndarray:
        weights = np.concatenate([0.5 - train.y[None], penalty[train.group].T])
        return pack(rows.add_up(weights, shares), method.order)

    vector = releases.release("coefficients", add_up, bound)
    releases.commit()
    deviation = method.noise() * bound * (np.sqrt(2.0) if method.laplace else 1.0)
    polynomial = Polynomial.unpack(vector, len(shares), method.order, deviation)
    point = polynomial.minimise()
    parameters = (point * shares / rows.ranges).astype(np.float32)
    notes: dict[str, object] = {
        "group_shares": dict(zip(train.group_names, releases.shares.tolist(), strict=True)),
        "covariances": (polynomial.penalty @ point / (max(method.multiplier, 1e-300) * train.n)).tolist(),
        "feature_shares": dict(zip(train.feature_names, shares.tolist(), strict=False)),
    }
    network = NetworkShape(train.d)
    training.observer.show(Snapshot(1, 1, network, parameters, {}, {}))
    return Fitted(network, parameters, training.mechanism.events, 1, notes)


def pack(total: np.ndarray, order: int) -> np.ndarray:
    """Return what is released of sums (m + D, D): the first m rows, and of x x' / 8 below them each pair once."""
    size = total.shape[1]
    first, square = total[:-size], total[-size:]
    pairs = np.triu_indices(size, 1)
    return np.concatenate([first.ravel(), square.diagonal(), square[pairs] * 2.0 ** (1.0 / order)])


@dataclass(frozen=True)
class Polynomial:
    """linear'w + w'hessian w / 2 + sum_g |penalty_g'w|, as released: `noise` is the deviation of a Hessian's entry."""

    linear: np.ndarray
    penalty: np.ndarray
    hessian: np.ndarray
    noise: float

    @classmethod
    def unpack(cls, vector: np.ndarray, size: int, order: int, deviation: float) -> Polynomial:
        """Return the polynomial in `size` unknowns of what `pack` made, with noise of this deviation."""
        pairs = np.triu_indices(size, 1)
        first, diagonal, above = np.split(vector, [len(vector) - size - len(pairs[0]), len(vector) - len(pairs[0])])
        hessian, weight = np.diag(2.0 * diagonal), 2.0 / 2.0 ** (1.0 / order)
        hessian[pairs] = weight * above
        hessian.T[pairs] = weight * above
        linear, *penalty = first.reshape(-1, size)
        return cls(linear, np.reshape(penalty, (-1, size)), hessian, weight * deviation)

    def minimise(self) -> np.ndarray:
        """Return the least point (D,), the Hessian's eigenvalues raised to the largest that its noise alone has.

        That is 2 sigma sqrt(D) (Wigner, 1958). By duality the point is that of linear + penalty's, s in [-1, 1], where
        the quadratic's least value is largest.
        """
        from scipy.optimize import lsq_linear

        values, vectors = np.linalg.eigh(self.hessian)
        floor = max(2.0 * self.noise * np.sqrt(len(values)), _RIDGE * float(np.abs(values).max()))
        half = vectors / np.sqrt(np.maximum(values, floor))  # half half' is the inverse
        slope = self.linear
        if len(self.penalty):
            sides = lsq_linear(half.T @ self.penalty.T, -half.T @ self.linear, (-1.0, 1.0), method="bvls").x
            slope = slope + sides @ self.penalty
        point: np.ndarray = -half @ (half.T @ slope)
        return point
