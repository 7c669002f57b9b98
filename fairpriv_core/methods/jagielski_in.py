"""A game between a private learner and a private auditor (Jagielski et al., 2019, DP-oracle-learner).

As implemented, for T rounds (docs/methods/reductions.md has the proof of epsilon and what differs from the paper):

* once, Laplace-noised counts of rows by group and label; they are constants from then on;
* the learner answers with the linear rule that costs least: a regression of each row's cost on its features, in which
  what depends on groups is one vector, released with Gaussian noise. The paper's learner draws from all decisions that
  a class allows by the exponential mechanism, which cannot be run for more than a few rows;
* the auditor releases each group's mean of decisions (or of errors) with Laplace noise, and raises the multipliers
  of violated constraints by exponentiated gradient. The code published with the paper adds no such noise.

The result draws one of the T rules for each row, or is one answer for all where that is more often right on the
public labels: at a small epsilon noise can leave nothing of the rules. The paper has equalized odds against one chosen
group; here every notion is offered, against everyone, whose mean is public. The paper's full text was not at hand: step
sizes and bounds are ours, and no printed number could be reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.models import Mixture, mix
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells, build_cells
from fairpriv_core.privacy.sums import on_grid

COUNTS_MOVED = 2.0  # in L1: a person who changes group leaves one of the counts and joins another
_TRUTH = np.array([0.0, 1.0])  # a label's own value
_ROUNDS, _GROWTH = 40, 0.6  # rounds from ε = 1 on; below it as this power of ε, by docs/methods/defaults.md
_UNSHORTENED = 0.95  # the share of rows whose length stands; longer ones are shortened to theirs, which is public
_CHUNK = 16384


@dataclass(frozen=True)
class JagielskiIn(Private, FitsAlone):
    """Hyper-parameters of the game.

    `share_dual` and `share_counts` split the budget: shares of mu^2, mu the Gaussian mechanism with the run's (epsilon,
    delta); a Laplace release of scale b counts as 1 / b^2 there. The learner gets what is left.
    The paper's claim is for another learner; none is shown.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="jagielski_in",
        title="DP oracle learner",
        style=Style("orange", "dashdot", "x"),
        summary="A private learner plays against a private auditor of the notion; protects the sensitive attribute.",
        citation="Jagielski et al. (2019), Differentially private fair learning, DP-oracle-learner",
        threat_model="attribute",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_primal",
    )
    FOUND_ON: ClassVar[str] = "Adult, Bank, COMPAS, credit default and synthetic data"

    rounds: int | None = parameter(
        None,
        "Rounds",
        "Rounds of the game; each gives one of the rules that are drawn from, and releases. "
        f"Empty: {_ROUNDS}, and fewer at ε below 1, some 10 at 0.1.",
        low=2,
        high=1000,
        log=True,
    )
    difference_bound: float = fields.difference_bound(0.005, fairer=None)
    gap_target: float | None = fields.gap_target(
        "the auditor raises the price of each two groups that are further apart",
        "the bound on the gap",
        replaces=("difference_bound",),
    )
    multiplier_max: float = parameter(
        2.0,
        "Largest price B",
        "What all constraints together may add to the cost of one decision; an error costs 1.",
        low=0.01,
        high=50.0,
        log=True,
        fairer="more",
    )
    dual_step: float = parameter(
        2.0,
        "Dual step η",
        "By how much a violation of 1 raises the logarithm of its multiplier in a round.",
        low=0.01,
        high=50.0,
        log=True,
        expert=True,
    )
    ridge: float = parameter(
        100.0,
        "Ridge",
        "What is added to the squares of the features: rows that a coefficient is held back by.",
        low=0.01,
        high=1e5,
        log=True,
        expert=True,
        unit="rows",
    )
    noise_primal: float | None = fields.noise_multiplier("Learner's noise σ", "the shift of the regression's vector")
    noise_dual: float | None = fields.laplace_scale("Auditor's noise", "the shift of the means")
    noise_counts: float | None = fields.laplace_scale("Count noise", "the counts' shift of 2")
    share_dual: float = fields.share_of_budget(0.1, "auditor", "the auditor")
    share_counts: float = fields.shared("share_counts")

    def __post_init__(self) -> None:
        checks.whole(low=2, high=1000, rounds=self.count_rounds())
        checks.unit(difference_bound=self.difference_bound)
        fields.check_gap_target(self.gap_target)
        checks.positive(multiplier_max=self.multiplier_max, dual_step=self.dual_step, ridge=self.ridge)
        checks.shares(share_dual=self.share_dual, share_counts=self.share_counts)
        check_noises(self)

    def count_rounds(self) -> int:
        """Return the rounds; left empty and not calibrated, as many as from ε = 1 on."""
        return _ROUNDS if self.rounds is None else self.rounds

    def steps(self, n_train: int) -> int:
        """Return the number of rounds."""
        return self.count_rounds()

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The counts, and all rounds but one: the first answer and the last violations need no release.

        Counts and means move in L1, the means as the true group sizes are, which are protected: n / groups stands in.
        The regression's vector moves as the cost of one's own decision does, by B at most.
        """
        times, inverse_size = self.count_rounds() - 1, groups / n_train
        return (
            Release("counts", COUNTS_MOVED, "noise_counts", share="share_counts", laplace=True),
            Release("means", inverse_size, "noise_dual", "step", times, "share_dual", laplace=True, purpose="auditor"),
            Release("cost of a decision", self.multiplier_max, "noise_primal", "step", times, purpose="learner"),
        )

    def count_deviation(self) -> float | None:
        """Sizes are read off the counts by label."""
        return 0.0

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with rounds and every noise set that are not set by hand, so that `epsilon` holds."""
        rounds = max(round(_ROUNDS * min(epsilon, 1.0) ** _GROWTH), 2) if self.rounds is None else self.rounds
        known = replace(self, rounds=rounds)
        return super(JagielskiIn, known).calibrated(epsilon=epsilon, delta=delta, n_train=n_train)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where a group has too few noisy rows."""
        fields.check_labels(self.info, train)
        return play(self, train, training)


def play(method: JagielskiIn, train: Dataset, training: Training) -> Fitted:
    """Return the mixture of all rounds' rules; a resumed game goes on with the rounds of the first."""
    game = _Game(method, train, training)
    while len(game.rules) < method.count_rounds():
        game.play_round()
    network, parameters = game.settle()
    return Fitted(network, parameters, training.mechanism.events, method.count_rounds(), game.notes())


class _Game:
    """A multiplier for each side of each constraint, as logarithms (2, constraints), and the rules found so far.

    A constraint is |compared @ violations| <= bound, `_compared` (constraints, cells): a cell and everyone, or with a
    gap aimed at two cells among the same people.
    """

    def __init__(self, method: JagielskiIn, train: Dataset, training: Training) -> None:
        self._method, self._train, self._training = method, train, training
        self._cells = build_cells(training.notion, train.group_names)
        self._cell = self._cells.of[train.group, train.y]
        self._people = np.maximum(self._cells.conditions @ np.bincount(train.y, minlength=LABELS), 1.0)
        # a decision of 1 instead of 0 adds this, by label, to the quantity whose means are compared
        self._derivative = 1.0 - 2.0 * _TRUTH if training.notion.target == "loss" else np.ones(LABELS)
        self._oracle = LinearOracle(train, method.ridge)
        self._compared, self._bound = np.eye(self._cells.count), method.difference_bound
        if method.gap_target is not None:
            self._compared, self._bound = compare_cells(self._cells), method.gap_target
        checkpoint = training.checkpoint or {}
        self.rules: list[np.ndarray] = list(checkpoint.get("rules", ()))
        self._logarithms = checkpoint.get("logarithms", np.zeros((2, len(self._compared))))
        self._gives_one_answer = False
        self._violations = checkpoint.get("violations", np.zeros(self._cells.count))
        self._table = checkpoint["counts"] if checkpoint else self._release_counts()
        self._sizes = require_rows(self._table.reshape(-1, LABELS), training.notion, train.group_names)

    def play_round(self) -> None:
        """The learner answers the multipliers; the auditor answers the learner, except in the last round."""
        index = len(self.rules)
        self.rules.append(self._respond(self._multipliers(), index))
        if index + 1 < self._method.count_rounds():
            self._violations = self._audit(self.rules[-1], index)
            differences = self._compared @ self._violations
            signed = np.stack([differences, -differences])
            self._logarithms = self._logarithms + self._method.dual_step * (signed - self._bound)
        self._report()

    def mixture(self) -> tuple[Mixture, np.ndarray]:
        """Return (network, parameters) of the classifier that draws one of the rules so far."""
        return mix(self.rules, np.ones(len(self.rules)))

    def settle(self) -> tuple[Mixture, np.ndarray]:
        """Return the mixture; where it is less often right on the training rows, one answer for all, without a gap.

        Features and labels are public, so the comparison is post-processing.
        """
        right = float(np.mean([np.mean(self._oracle.decide(rule) == self._train.y) for rule in self.rules]))
        share = float(self._train.y.mean())
        self._gives_one_answer = right < max(share, 1.0 - share)
        if self._gives_one_answer:
            same = np.zeros(self._train.d + 1, dtype=np.float32)
            same[-1] = 1.0 if share > 0.5 else -1.0
            return mix([same], np.ones(1))
        return self.mixture()

    def notes(self) -> dict[str, object]:
        """Return what else is exported, all of it from releases."""
        names = self._cells.names
        return {
            "multipliers": dict(zip(names, self._multipliers().tolist(), strict=True)),
            "noisy_counts": dict(zip(names, self._sizes.tolist(), strict=True)),
            "gives_one_answer": self._gives_one_answer,
        }

    def _multipliers(self) -> np.ndarray:
        """Return each cell's multiplier (cells,), of all constraints together: B d / n times e^t / (1 + sum of e^t).

        d is the size of a constraint's smallest cell. Within the simplex of what all constraints may add to the cost of
        one decision; see docs/methods/reductions.md. A constraint's sides are taken together first: where they are
        alike, as before the first answer, multipliers are 0 to the bit and nothing is released.
        """
        largest = max(float(self._logarithms.max()), 0.0)
        weights = np.exp(self._logarithms - largest)
        shares = weights / (np.exp(-largest) + weights.sum())
        sizes = np.where(self._compared != 0, self._sizes, np.inf).min(axis=1)
        signed = self._method.multiplier_max * (shares[0] - shares[1]) * sizes / self._train.n
        multipliers: np.ndarray = signed @ self._compared
        return multipliers

    def _costs(self, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return n times what a decision 1 costs: by label, for everyone (2,); by group and label, less that (k, 2)."""
        n = self._train.n
        per_row = np.append(multipliers / self._sizes, 0.0)[self._cells.of]  # NO_CELL takes the appended zero
        by_cell = n * self._derivative * per_row
        everyone = n * self._derivative * ((multipliers / self._people) @ self._cells.conditions)
        midrange = (by_cell.max(axis=0) + by_cell.min(axis=0)) / 2.0
        return (1.0 - 2.0 * _TRUTH) - everyone + midrange, by_cell - midrange

    def _respond(self, multipliers: np.ndarray, index: int) -> np.ndarray:
        """Release the regression's group term and return the rule that follows; nothing where groups cost the same."""
        public, centred = self._costs(multipliers)
        spread = float((centred.max(axis=0) - centred.min(axis=0)).max())
        released = np.zeros(self._train.d + 1)
        if spread > 0:
            term, moved = self._oracle.group_term(centred), self._oracle.radius * spread
            released = self._release("cost of a decision", term, sensitivity=moved, index=index)
        return self._oracle.answer(public, released)

    def _audit(self, rule: np.ndarray, index: int) -> np.ndarray:
        """Release the cells' means of the decision, or of the error; return their differences from everyone's."""
        values = self._oracle.decide(rule)
        if self._training.notion.target == "loss":
            values = np.abs(values - self._train.y)
        inside = self._cell != NO_CELL
        sums = np.bincount(self._cell[inside], weights=values[inside] - 0.5, minlength=self._cells.count)
        moved = 0.5 * self._largest_move()
        released = self._release("means", sums / self._sizes, sensitivity=moved, index=index)
        by_label = np.bincount(self._train.y, weights=values, minlength=LABELS)
        everyone = (self._cells.conditions @ by_label) / self._people
        violations: np.ndarray = released + 0.5 - everyone
        return violations

    def _largest_move(self) -> float:
        """Return max 1/d_i + 1/d_j over two cells that a person may move between: those among the same people."""
        labels = self._cells.label
        return max(float(np.sort(1.0 / self._sizes[labels == among])[-2:].sum()) for among in np.unique(labels))

    def _release_counts(self) -> np.ndarray:
        code = self._train.group * LABELS + self._train.y
        return self._release("counts", np.bincount(code, minlength=self._train.groups * LABELS).astype(np.float64))

    def _release(self, name: str, value: np.ndarray, **how: Any) -> np.ndarray:
        return self._method.release(name, value, self._train, self._training, **how)

    def _report(self) -> None:
        """Show the game so far; commit where that is due."""
        played, observer, mechanism = len(self.rules), self._training.observer, self._training.mechanism
        network, parameters = self.mixture()
        curves = self._cells.name_curves(multiplier=self._multipliers(), violation=self._violations)
        observer.show(Snapshot(played, played, network, parameters, curves, {}))
        if observer.due():
            state = {
                "rules": np.stack(self.rules),
                "logarithms": self._logarithms,
                "violations": self._violations,
                "counts": self._table,
                **mechanism.state(),
            }
            observer.commit(step=played, events=mechanism.events, checkpoint=state)


def compare_cells(cells: Cells) -> np.ndarray:
    """Return a row (cells,) for every two cells among the same people: 1 at one, -1 at the other."""
    pairs = [(i, j) for i, j in combinations(range(cells.count), 2) if cells.label[i] == cells.label[j]]
    unit = np.eye(cells.count)
    return np.array([unit[i] - unit[j] for i, j in pairs])


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
        self.radius = float(np.quantile(lengths, _UNSHORTENED))
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
