"""FairPATE: a vote whose answers are not used where they would be unfair (Yaghini et al., 2023, arXiv 2302.09183).

Teachers learn labels from whole protected records. They are asked about a public part of the rows, in an order that is
public too; the student learns from answers that keep the groups' shares of each label close together.

After the method as it is known here, since the paper's text was not at hand (docs/methods/pate.md). An answer is judged
by the answers before it and by groups that are public: by nothing that was not released. Each question is paid for,
whether or not its answer is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.votes import TEACHING, Votes, deal, learn, train_teachers
from fairpriv_core.seeds import public_generator

_LEAST = 10  # answers of a group before any of it is judged
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FairPate(Votes):
    """Demographic parity of the answers; the student is plain training on those that are used."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fair_pate",
        title="FairPATE",
        style=Style("green", "longdash", "x"),
        summary="Teachers on separate parts label a public part by noisy votes; a student learns from the answers that "
        "keep demographic parity; protects whole records.",
        citation="Yaghini, Liu, Boenisch and Papernot (2023), Learning with impartiality to walk on the Pareto "
        "frontier of fairness, privacy, and utility",
        threat_model="record",
        pursued=("decisions",),
        only=("demographic_parity",),
        variants=("proved",),
        calibrates="noise_votes",
        max_labels=None,
        public_part=True,
    )
    FOUND_ON: ClassVar[str] = "Adult"
    LEAST_TOLD: ClassVar[float] = 60.0  # with 40, on tables of 5,000 rows, students were worse than one answer for all

    learning_rate: float = fields.shared("learning_rate", 0.005)
    public_share: float = parameter(
        0.2,
        "Public share",
        "Share of the training rows whose features and groups are taken as public: ε does not protect these.",
        low=0.001,
        high=0.9,
    )
    queries: int = parameter(
        1500,
        "Questions",
        "Public rows that teachers are asked for at most, each at its price.",
        low=1,
        high=10_000_000,
        log=True,
    )
    answers_gap: float = parameter(
        0.02,
        "Gap of answers",
        "Largest difference between two groups' shares of a label among the answers that the student learns from.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.shares(public_share=self.public_share)
        checks.whole(low=1, queries=self.queries)
        checks.unit(answers_gap=self.answers_gap)

    def taught(self, n_train: int) -> int:
        """Return how many rows are protected."""
        return n_train - self._count_public(n_train)

    def asked(self, n_train: int) -> int:
        """Return how many public rows are asked about."""
        return min(self.queries, self._count_public(n_train))

    def steps(self, n_train: int) -> int:
        """Return the questions and the student's steps, at most: some answers are not used."""
        return self.asked(n_train) + Plain(**self.student).steps(self.asked(n_train))

    def taken_as_given(self) -> tuple[str, ...]:
        """The public part beside what all take as public."""
        return (
            *fields.RECORD_ASSUMED,
            f"A share of {self.public_share:g} of the training rows, drawn by their numbers and the seed, is public: "
            "their features and groups are known to everyone, and epsilon does not protect them; their labels are not "
            "read. Another seed takes other rows, so runs of several seeds together protect the rows that none of them "
            "takes.",
        )

    def public_rows(self, n_train: int, seed: int) -> np.ndarray:
        """Return which rows (n,) are public, by a public draw on their number."""
        public = np.zeros(n_train, dtype=bool)
        public[self._draw_public(n_train, seed)] = True
        return public

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where no answer can be used."""
        protected = np.flatnonzero(~self.public_rows(train.n, training.seed))
        parts = deal(protected, self.voters(train.n), training.seed)
        pool = train.take(self._draw_public(train.n, training.seed)[: self.asked(train.n)])
        there = np.ones(pool.n, dtype=bool) if pool.present is None else pool.present
        questions = np.where(there[:, None], pool.X, np.float32(0.0))

        def teach() -> list[Fitted]:
            return train_teachers(Plain(**TEACHING), train, parts, training)

        answers = self.ask(questions, train.labels, teach, train, training)
        places = np.flatnonzero(there & choose_answers(answers, pool.group, there, gap=self.answers_gap))
        if not places.size:
            raise RunFailed("no row of the public part has a group, so the student has no answers to learn from.")
        learned = replace(pool.take(places), y=answers[places], present=None, weight=None)
        student = learn(Plain(**self.student), learned, answers, training)
        return replace(student, notes={"teachers": len(parts), "answers_used": int(places.size)})

    def _count_public(self, n_train: int) -> int:
        return min(max(round(self.public_share * n_train), 1), n_train - 1)

    def _draw_public(self, n_train: int, seed: int) -> np.ndarray:
        return public_generator(seed, "public part").permutation(n_train)[: self._count_public(n_train)]


def choose_answers(answers: np.ndarray, group: np.ndarray, there: np.ndarray, *, gap: float) -> np.ndarray:
    """Return which answers (Q,) are used, one after the other; of rows that are not `there` none.

    An answer is not used where, with it, two groups' shares of some label would differ by more than `gap` and by more
    than they do already. The first answers of a group are used unjudged: shares of a handful say little.
    """
    counts = np.zeros((int(group.max()) + 1, int(answers.max()) + 1))
    mask = np.zeros(len(answers), dtype=bool)
    for place in np.flatnonzero(there).tolist():
        cell = int(group[place]), int(answers[place])
        before = measure_gap(counts)
        counts[cell] += 1.0
        after = measure_gap(counts)
        mask[place] = counts[cell[0]].sum() <= _LEAST or after <= max(gap, before) + _ROUNDING
        counts[cell] -= not mask[place]
    return mask


def measure_gap(counts: np.ndarray) -> float:
    """Return the largest difference of a label's share between two groups of `counts` (k, l) that have any."""
    sizes = counts.sum(axis=1)
    shares = counts[sizes > 0] / sizes[sizes > 0, None]
    return float(np.ptp(shares, axis=0).max()) if len(shares) else 0.0
