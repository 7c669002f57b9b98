"""SF-PATE: teachers vote on the group, or fair teachers on the label (Tran, Zhu, Fioretto and Van Hentenryck, 2022).

Features and labels are public, as under the threat model they are; a teacher sees the groups of its own part alone.

After the method as it is known here, since the paper's text was not at hand. Single answers are mostly noise at small
epsilon, so a public model learns them first and then answers for every row: noise averages out. docs/methods/pate.md
says what else had to be read into it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.votes import TEACHING, Learner, Votes, deal, learn, train_teachers
from fairpriv_core.seeds import public_generator

GROUPS, LABELS = "groups", "labels"
_MOST_ASKED = 50_000
_READING = Plain(epochs=20, learning_rate=0.005)  # what learns the answers
_PARTS = 10  # batches an epoch of it, where answers are few


@dataclass(frozen=True)
class SfPate(Votes):
    """Teachers vote on training rows, whose features and labels are public; the student learns from all of these."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="sf_pate",
        title="SF-PATE",
        style=Style("green", "dashdot", "cross"),
        summary="Teachers on separate parts vote, with noise, on people's groups or on fair labels; a student learns "
        "from the answers.",
        citation="Tran, Zhu, Fioretto and Van Hentenryck (2022), SF-PATE: scalable, fair, and private aggregation of "
        "teacher ensembles",
        threat_model="attribute",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_votes",
    )
    FOUND_ON: ClassVar[str] = "Adult"

    vote: str = parameter(
        GROUPS,
        "Vote on",
        "Groups: teachers tell the group, and the student is trained by F-LD on what they told. Labels: teachers are "
        "trained by F-LD, and the student learns their labels beside the true ones.",
        choices=(GROUPS, LABELS),
    )
    queries: int | None = parameter(
        None,
        "Questions",
        f"Training rows that teachers are asked for, each at its price; empty: all of them, at most {_MOST_ASKED:,}.",
        low=1,
        high=10_000_000,
        log=True,
        expert=True,
    )
    gap_target: float = fields.gap_aimed_at("F-LD's multipliers grow above it and shrink below")
    vote_weight: float = parameter(
        3.0,
        "Weight of votes",
        "What a label of the teachers' counts beside the true one, where teachers vote on labels.",
        low=0.0,
        high=1000.0,
        log=True,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of((GROUPS, LABELS), vote=self.vote)
        if self.queries is not None:
            checks.whole(low=1, queries=self.queries)
        checks.unit(gap_target=self.gap_target)
        checks.not_negative(vote_weight=self.vote_weight)

    def asked(self, n_train: int) -> int:
        """Return how many rows are asked about."""
        return min(self.queries or _MOST_ASKED, n_train)

    def steps(self, n_train: int) -> int:
        """Return the questions and the student's steps, at most: where labels differ their rows stand there twice."""
        most = n_train if self.vote == GROUPS else 2 * n_train
        return self.asked(n_train) + self._learner().steps(most)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model."""
        fields.check_labels(self.info, train)
        on_groups = self.vote == GROUPS
        questions = ask_of_groups(train) if on_groups else replace(train, weight=None)
        order = public_generator(training.seed, "questions").permutation(train.n)[: self.asked(train.n)]
        teacher: Learner = Plain(**TEACHING) if on_groups else FLd(**TEACHING, gap_target=self.gap_target)
        parts = deal(np.arange(train.n), self.voters(train.n), training.seed)

        def teach() -> list[Fitted]:
            return train_teachers(teacher, questions, parts, training)

        answers = self.ask(questions.X[order], questions.labels, teach, train, training)
        labels_of_rows = read_answers(replace(questions.take(order), y=answers), questions, training)
        data = give_groups(train, labels_of_rows) if on_groups else join_labels(train, labels_of_rows, self.vote_weight)
        student = learn(self._learner(), data, answers, training)
        told_rows = dict(
            zip(questions.label_names, np.bincount(labels_of_rows, minlength=questions.labels).tolist(), strict=True)
        )
        return replace(student, notes={**student.notes, "teachers": len(parts), "rows_told": told_rows})

    def _learner(self) -> Learner:
        return FLd(**self.student, gap_target=self.gap_target) if self.vote == GROUPS else Plain(**self.student)


def ask_of_groups(train: Dataset) -> Dataset:
    """Return the rows with the label as more features, one for each but the first, and the group as what is told."""
    one_hot = np.eye(train.labels, dtype=np.float32)[train.y][:, 1:]
    names = (*train.feature_names, *train.label_names[1:])
    return replace(
        train,
        X=np.hstack([train.X, one_hot]),
        y=train.group,
        label_names=train.group_names,
        feature_names=names,
        image=None,
        weight=None,
    )


def read_answers(answered: Dataset, everyone: Dataset, training: Training) -> np.ndarray:
    """Return what a public model of the answers says of every row (n,)."""
    size = min(fields.USUAL_BATCH, max(answered.n // _PARTS, 1))
    model = replace(_READING, batch_size=size).fit(answered, replace(training, observer=Unwatched(), checkpoint=None))
    answers: np.ndarray = predict_proba(model.network, model.parameters, everyone.X).argmax(axis=1)
    return answers


def give_groups(train: Dataset, group: np.ndarray) -> Dataset:
    """Return the rows with the groups that were voted, and those groups alone that any row was told to be in."""
    present, index = np.unique(group, return_inverse=True)
    return replace(train, group=index, group_names=tuple(train.group_names[number] for number in present.tolist()))


def join_labels(train: Dataset, voted: np.ndarray, weight: float) -> Dataset:
    """Return the rows with their labels and, where the `voted` one (n,) differs, with that one too.

    A row counts once: of one that stands there twice the voted label has `weight` times the part of the true one.
    """
    unlike = np.flatnonzero(voted != train.y)
    rows = train.take(np.concatenate([np.arange(train.n), unlike]))
    y, share = rows.y.copy(), np.ones(rows.n, dtype=np.float32)
    y[train.n :] = voted[unlike]
    share[unlike] = 1.0 / (1.0 + weight)
    share[train.n :] = weight / (1.0 + weight)
    return replace(rows, y=y, weight=share)
