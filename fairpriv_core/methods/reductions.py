"""Reductions: fair, not private, by a game between a learner and the constraints (Agarwal et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, NotPrivate, Style


@dataclass(frozen=True)
class Reductions(NotPrivate, FitsAlone):
    """fairlearn's ExponentiatedGradient over logistic regressions; the answer draws one of several for each row.

    With a gap aimed at every two groups' difference is bounded by it, otherwise each group's from everyone.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="reductions",
        title="Reductions",
        style=Style("grey", "dash", "diamond"),
        summary="Finds the most accurate randomised classifier within a bound on the gap; not private.",
        citation="Agarwal et al. (2018), A reductions approach to fair classification, Algorithm 1",
        threat_model=None,
        pursued=("decisions", "errors"),
    )

    difference_bound: float = fields.difference_bound(0.005)
    gap_target: float | None = fields.gap_target(
        "the search bounds each two groups' difference by it", "the bound on the gap", replaces=("difference_bound",)
    )
    iterations: int = fields.iterations(20, "Rounds of the search at most; it ends at the optimum.")

    def __post_init__(self) -> None:
        checks.unit(difference_bound=self.difference_bound)
        fields.check_gap_target(self.gap_target)
        checks.whole(low=1, high=1000, iterations=self.iterations)

    def steps(self, n_train: int) -> int:
        """Return how often the learner is asked at most, and one for the result; the search may end earlier."""
        return fields.ASKED_A_ROUND * self.iterations + 1

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model."""
        fields.check_labels(self.info, train)
        from fairpriv_core.methods.shared.exponentiated_gradient import Answers, NotionMoment, PairMoment, reduce

        answers = Answers(training, {})
        moment: NotionMoment | PairMoment = NotionMoment(training.notion, self.difference_bound)
        if self.gap_target is not None:
            moment = PairMoment(training.notion, self.gap_target)
        reduced = reduce(train, train.group, moment, iterations=self.iterations, answers=answers)
        return answers.finish(reduced.network, reduced.parameters, reduced.notes)
