"""OneRelease without a curator: everybody answers for themselves, by randomised response, and that is all that is read.

Features and labels are public. Each person's sensitive attribute is flipped once, on their own device; nobody ever
holds the truth. The answers of all serve where OneRelease has its noisy sums: p(a | x, y) is fitted with the flips
inside (answer_estimate.py), and the decisions of a public score are moved by it (corrected_score.py). epsilon is the
response's own, pure; delta is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import EPSILON_OF_ANSWER
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style, parameter
from fairpriv_core.methods.shared.answer_estimate import read_answers
from fairpriv_core.methods.shared.corrected_score import move_decisions
from fairpriv_core.methods.shared.public_score import AUTOMATIC, LEARNERS, fit_score, learner_parameter
from fairpriv_core.methods.shared.responses import Answered, find_deviation, response_parameter
from fairpriv_core.notions.notion import Notion
from fairpriv_core.text import short_epsilon_text

_MOST_OFF = 0.1  # of a difference of two rates, one standard deviation
_DEVICES = "Each answer is drawn once, on a person's own device; where a file holds the truth, that is simulated."


@dataclass(frozen=True)
class OneReleaseLocal(Answered, FitsAlone):
    """Hyper-parameters of OneRelease on everybody's own answer."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="one_release_local",
        title="OneRelease, local",
        style=Style("ink", "dot", "star"),
        summary="Everybody flips their own attribute before it is read; decisions follow the estimate.",
        citation="this project; the answers are k-ary randomised response (Kairouz et al., 2016)",
        threat_model="attribute",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="response_epsilon",
        reads_answers=True,
    )

    learner: str = learner_parameter(AUTOMATIC)
    gap_target: float = parameter(
        0.04,
        "Gap aimed at",
        "Largest difference between any two groups, on the training rows as far as the answers show.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )
    multiplier_max: float = fields.shared("multiplier_max")
    score_bins: int = parameter(
        10,
        "Bins of the score",
        "Answers are counted within this many equally full bins of the score; 1 is none.",
        low=1,
        high=100,
        expert=True,
    )
    response_epsilon: float | None = response_parameter()

    def __post_init__(self) -> None:
        checks.one_of(LEARNERS, learner=self.learner)
        checks.unit(gap_target=self.gap_target)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.whole(low=1, high=100, score_bins=self.score_bins)
        if self.response_epsilon is not None:
            checks.positive(response_epsilon=self.response_epsilon)

    @property
    def clip(self) -> float | None:
        """Features are public: their norm bounds no release."""
        return None

    def steps(self, n_train: int) -> int:
        """Return 1: the answers."""
        return 1

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose answers are epsilon-differentially private with δ = 0, whatever `delta` allows."""
        if self.response_epsilon is not None:
            return self
        return replace(self, response_epsilon=min(epsilon, EPSILON_OF_ANSWER[1]))

    def require_possible(self, notion: Notion, *, n_train: int, groups: int) -> None:
        """Raise BadInput where flips hide by far more than a gap, on average over groups of one size."""
        epsilon = self.response()
        off = 2.0 * find_deviation(groups, epsilon, n_train)
        if off > _MOST_OFF:
            raise BadInput(
                f"at ε = {short_epsilon_text(epsilon)} answers of {n_train:,} people tell a gap of {groups} groups to "
                f"about ± {100.0 * off:.0f} points; take a larger ε or another method.",
                field="epsilon",
            )

    def idle_reason(self) -> str | None:
        """Why decisions stay where they are; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max})

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """No paper makes a claim."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (*fields.ATTRIBUTE_ASSUMED, _DEVICES)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where the answers leave a group of too few people, BadInput for images."""
        fields.check_labels(self.info, train)
        if train.image is not None:
            raise BadInput(f"method {self.info.name} takes tables, not images.", field="method")
        epsilon = self.response()  # what is missing is said before a score is fitted
        score = fit_score(self.learner, train, seed=training.seed)
        reading = read_answers(self, train, training, score=score.held_out, epsilon=epsilon)
        return move_decisions(self, train, training, score, reading=reading)
