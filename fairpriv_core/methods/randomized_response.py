"""Randomised response on the sensitive attribute, then fair learning on the answers (Mozannar et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.equalise import equalise
from fairpriv_core.methods.shared.responses import Answered, Responses, release_responses, response_parameter
from fairpriv_core.notions.notion import Notion
from fairpriv_core.plain import freeze
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, RandomizedResponse
from fairpriv_core.seeds import public_generator

if TYPE_CHECKING:
    from fairpriv_core.methods.shared.exponentiated_gradient import Answers, Reduced

PROCEDURES = ("one_step", "two_step")
_LEAST = 1.0  # estimated rows of each cell in the half that this step has


@dataclass(frozen=True)
class ResponseReductions(Answered, FitsAlone):
    """Each person's attribute is answered once by k-ary randomised response; everything else uses the answers.

    The first step is the reduction of Agarwal et al. (2018) on the answers, its bounds corrected for the response. With
    the two-step procedure it takes half of the rows, and the other half serves to derive new decisions from its
    decisions and an answer of randomised response given at prediction (docs/methods/reductions.md).
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="randomized_response",
        title="Randomised response",
        style=Style("orange", "longdash", "diamond"),
        summary="Each person's attribute is randomised before anything is computed; a reduction corrects for it.",
        citation="Mozannar, Ohannessian and Srebro (2020), Fair learning with private demographic data",
        threat_model="attribute",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="response_epsilon",
        needs_group_at_prediction=True,  # after two steps
    )

    procedure: str = parameter(
        "one_step",
        "Procedure",
        "One step: predicts without the group. Two step: a second half of the rows serves to correct the decisions "
        "by group, which predicting then needs.",
        choices=PROCEDURES,
    )
    difference_bound: float = fields.difference_bound(0.005)
    iterations: int = fields.iterations(20, "Rounds of the search at most; it ends at the optimum.")
    response_epsilon: float | None = response_parameter()

    def __post_init__(self) -> None:
        checks.one_of(PROCEDURES, procedure=self.procedure)
        checks.unit(difference_bound=self.difference_bound)
        checks.whole(low=1, high=1000, iterations=self.iterations)
        if self.response_epsilon is not None:
            checks.positive(response_epsilon=self.response_epsilon)

    def steps(self, n_train: int) -> int:
        """Return how often the learner is asked at most, and one for the result; the search may end earlier."""
        return fields.ASKED_A_ROUND * self.iterations + 1

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the response's pure epsilon, which is what the paper claims."""
        return self.response()

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose response meets `epsilon`."""
        if self.response_epsilon is not None:
            return self

        def events_for(noise: float) -> Events:
            return (RandomizedResponse(1.0 / noise),)

        return replace(self, response_epsilon=1.0 / calibrate(events_for, epsilon=epsilon, delta=delta))

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given; and that predictions need the group, where they do."""
        return (*fields.ATTRIBUTE_ASSUMED, *([fields.GROUP_NEEDED] if self.decides_by_group() else []))

    def decides_by_group(self) -> bool:
        """Whether predictions need the group: after two steps."""
        return self.procedure == "two_step"

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where the answers leave a group of too few people."""
        fields.check_labels(self.info, train)
        return learn_from_answers(self, train, training)


def learn_from_answers(method: ResponseReductions, train: Dataset, training: Training) -> Fitted:
    """Return the model of one step, or of two; RunFailed where the answers leave a group of too few people."""
    from fairpriv_core.methods.shared.exponentiated_gradient import Answers

    responses = release_responses(train, training, method.response())
    require_rows(responses.estimate(1.0 - train.y, train.y), training.notion, train.group_names)
    answers = Answers(training, {"responses": responses.answers})
    if method.procedure == "one_step":
        only = _reduce(method, train, responses, training=training, answers=answers)
        return answers.finish(only.network, only.parameters, only.notes)
    shuffled = public_generator(training.seed, "two steps").permutation(train.n)
    first, second = np.sort(shuffled[: train.n // 2]), np.sort(shuffled[train.n // 2 :])
    base = _reduce(method, train.take(first), responses.take(first), training=training, answers=answers)
    bound = method.difference_bound
    table = derive(base, train.take(second), responses.take(second), notion=training.notion, difference_bound=bound)
    network = Derived(base.network, freeze(table.tolist()))
    return answers.finish(network, base.parameters, base.notes)


def _reduce(
    method: ResponseReductions, part: Dataset, responses: Responses, *, training: Training, answers: Answers
) -> Reduced:
    """Step 1: the reduction on answers, its bounds corrected."""
    from fairpriv_core.methods.shared.exponentiated_gradient import NotionMoment, reduce

    moment = NotionMoment(training.notion, method.difference_bound, responses.misreport)
    return reduce(part, responses.answers, moment, iterations=method.iterations, answers=answers)


def derive(
    base: Reduced, half: Dataset, responses: Responses, *, notion: Notion, difference_bound: float
) -> np.ndarray:
    """Return chances (k, 2) of a 1 by group and decision of `base`, from the rows of `half`, which it has not seen.

    The new decision is drawn from the old one and a fresh answer of randomised response, so that predicting needs no
    more of a person than training did. The chances by group are those by answer, mixed.
    """
    probabilities = predict_proba(base.network, base.parameters, half.X)
    columns = [among * share for among in (1.0 - half.y, half.y) for share in probabilities.T]
    counts = responses.estimate(*columns).reshape(half.groups, 2, 2)
    require_rows(counts.sum(axis=2), notion, half.group_names, floor=_LEAST)
    return equalise(counts.clip(min=0.0), notion, difference_bound=difference_bound, response=responses.matrix)
