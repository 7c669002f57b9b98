"""One answer a person, by k-ary randomised response: all that is read of the sensitive attribute.

Whoever collects the answers never sees the attribute. The truth is answered with chance e^epsilon / (e^epsilon + k - 1)
(Kairouz et al., 2016); an answer is drawn once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Training
from fairpriv_core.files.column import EPSILON_OF_ANSWER
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import parameter
from fairpriv_core.notions.noisy import Flips, measure_noisy
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.event import Events, RandomizedResponse


def response_parameter() -> float | None:
    """Declare the response's own epsilon, which calibration sets."""
    declared: float | None = parameter(
        None,
        "ε of the response",
        "The truth is e^ε times as likely as any other answer; empty: set from ε.",
        low=EPSILON_OF_ANSWER[0],
        high=EPSILON_OF_ANSWER[1],
        log=True,
        expert=True,
    )
    return declared


class Answered:
    """Mixin of a method all of whose release is each person's answer; `info.calibrates` is `response_epsilon`."""

    response_epsilon: float | None

    def response(self) -> float:
        """The response's epsilon; BadInput before calibration."""
        return fields.known_noise(response_epsilon=self.response_epsilon)

    def event(self, n_train: int) -> Events:
        """Return the one response."""
        return (RandomizedResponse(self.response()),)

    def count_deviation(self) -> float | None:
        """Sizes are estimated from the answers."""
        return 0.0

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return 1: a person's attribute moves their own answer alone."""
        return {"answers": 1.0}

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None


@dataclass(frozen=True)
class Responses:
    """Answers (n,) in 0..groups-1; `misreport` is the chance of each answer that is not the truth."""

    answers: np.ndarray
    groups: int
    misreport: float

    @property
    def matrix(self) -> np.ndarray:
        """P(answer = z | group = a) as (k, k), a row for each group."""
        truthful = 1.0 - self.groups * self.misreport
        return np.full((self.groups, self.groups), self.misreport) + truthful * np.eye(self.groups)

    def take(self, rows: np.ndarray) -> Responses:
        """Return the answers of `rows`."""
        return replace(self, answers=self.answers[rows])

    def count(self) -> np.ndarray:
        """Return how much each row counts in each group (n, k): on average over flips 1 in its own, 0 in others."""
        centred: np.ndarray = np.eye(self.groups)[self.answers] - self.misreport
        return centred / (1.0 - self.groups * self.misreport)

    def estimate(self, *columns: np.ndarray) -> np.ndarray:
        """Return unbiased estimates (k, len(columns)) of each column's sum by group; they may be negative.

        E[sum by answer z] = m sum_a s_a + (1 - k m) s_z, the response's matrix, which is solved for s.
        """
        by_answer = np.stack(
            [np.bincount(self.answers, weights=column, minlength=self.groups) for column in columns], axis=1
        )
        unbiased: np.ndarray = by_answer - self.misreport * by_answer.sum(axis=0)
        return unbiased / (1.0 - self.groups * self.misreport)


def find_misreport(groups: int, epsilon: float) -> float:
    """Return the chance of each answer that is not the truth."""
    return 1.0 / (math.exp(epsilon) + groups - 1.0)


def find_deviation(groups: int, epsilon: float, rows: int) -> float:
    """Return how far flips move a group's rate of 1/2 as told by `Responses.count`, its standard deviation.

    For groups of one size: each row counts with a deviation of sqrt((1 - 1/k) / k) / (1 - k m), half of the rows in the
    numerator, a k-th of them in the denominator.
    """
    truthful = 1.0 - groups * find_misreport(groups, epsilon)
    return groups * math.sqrt((1.0 - 1.0 / groups) / groups / (2.0 * rows)) / truthful


def find_flips(data: Dataset) -> Flips | None:
    """Return what randomised answers leave in doubt of the groups of data; None where groups are true."""
    return None if data.answered is None else Flips(find_misreport(data.groups, data.answered))


def measure_answers(data: Dataset, decided: np.ndarray) -> dict[str, Any]:
    """Return a record's `metrics_private` of decisions (n,) on data whose groups are randomised answers: estimates."""
    flips = find_flips(data)
    assert flips is not None
    counts = flips.undo(count_cells(decided, data.y, data.group, data.groups, data.labels))
    return measure_noisy(counts, flips, data.group_names, data.label_names)


def release_responses(train: Dataset, training: Training, epsilon: float) -> Responses:
    """Return each row's answer by k-ary randomised response, drawn once: a resumed run has those of the first.

    Where people answered before they were read, `epsilon` is that of their answers, and nothing is drawn.
    """
    misreport = find_misreport(train.groups, epsilon)
    if train.answered is not None:
        return Responses(train.group, train.groups, misreport)
    if training.checkpoint is not None:
        return Responses(np.asarray(training.checkpoint["responses"]), train.groups, misreport)
    mechanism = training.mechanism
    answers = mechanism.randomized_response(train.group, k=train.groups, epsilon=epsilon, purpose="group", index=0)
    checkpoint = {"responses": answers, **mechanism.state()}
    training.observer.commit(step=0, events=mechanism.events, checkpoint=checkpoint)
    return Responses(answers, train.groups, misreport)
