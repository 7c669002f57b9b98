"""Teachers that each learned from a part of the rows, and their noisy votes (Papernot et al., 2018).

The rows are dealt to K teachers. Each question is put to all of them: the histogram of their votes gets Gaussian noise,
and the label with the most noisy votes is the answer (GNMax). Whatever learns from answers is post-processing.

Why epsilon holds. A neighbour has one person's row changed or null *in its place* (docs/privacy.md). Which teacher a
row is dealt to follows from its number, the number of rows and the public seed, never from what any row holds. So no
other row changes its teacher, its place there, or any batch: of K teachers one may differ, and of each histogram one
vote may move from one label to another. That is a move of sqrt(2) in L2, whatever that teacher learned. Each question
asked is one Gaussian over the full shift, answered well or not, used or not; questions are as many as public numbers
say. Under removal of a row from the *file* the rows behind it would move up and be dealt anew: this is not the
relation, here as elsewhere.

No teacher can fail: one that did would end the run, which everybody sees. Features are cut to a public range and Adam
bounds each step, so that no parameter of a teacher overflows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Observer, Snapshot, Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, parameter
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.notions.notion import Notion
from fairpriv_core.privacy.event import Events
from fairpriv_core.seeds import public_generator

ONE_VOTE = math.sqrt(2.0)  # how far one vote that moves from one label to another moves the histogram, in L2
TEACHING: dict[str, Any] = {"epochs": 20, "learning_rate": 0.05}  # of some hundred rows
_BATCH = 32  # of a teacher, whose part may have fewer rows
_ROWS, _LEAST_ROWS = 80, 10  # for each teacher, where their number is not set
_FEW, _MOST = 60, 400  # teachers: below so few each has fewer rows
_LARGEST = 1000.0  # of a teacher's feature
_UNASKED = -1

Learner = Plain | FLd


@dataclass(frozen=True)
class Votes(Private, FitsAlone):
    """Hyper-parameters of a vote, and of the student that learns from it."""

    LEAST_TOLD: ClassVar[float] = 30.0  # exact answers that all noisy ones must be worth, where so many are asked for

    teachers: int | None = parameter(
        None,
        "Teachers",
        f"Models that vote, each trained on its own part of the rows; empty: one for each {_ROWS} rows, at most "
        f"{_MOST}, and {_FEW} where each then has {_LEAST_ROWS} rows. More of them drown out more noise; each knows "
        "less.",
        low=2,
        high=10_000,
        log=True,
    )
    epochs: int = parameter(20, "Epochs", "The student's passes over its rows; they release nothing.", low=1, high=1000)
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    noise_votes: float | None = fields.noise_multiplier("Noise of votes", "one vote's move, √2")

    def __post_init__(self) -> None:
        checks.whole(low=1, epochs=self.epochs)
        if self.teachers is not None:
            checks.whole(low=2, teachers=self.teachers)
        fields.check_layers(self)
        check_noises(self)

    @property
    def student(self) -> dict[str, Any]:
        """The settings that its learner takes over."""
        names = ("epochs", "learning_rate", "optimizer", "hidden_layers", "width")
        return {"batch_size": None, **{name: getattr(self, name) for name in names}}  # as few rows as suit so many

    @abstractmethod
    def asked(self, n_train: int) -> int:
        """Return how many questions are asked: a public number."""

    def taught(self, n_train: int) -> int:
        """Return how many rows are dealt to teachers."""
        return n_train

    def voters(self, n_train: int) -> int:
        """Return the number of teachers."""
        rows = self.taught(n_train)
        usual = min(max(rows // _ROWS, min(rows // _LEAST_ROWS, _FEW), 2), _MOST)
        return min(self.teachers or usual, max(rows, 1))

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """One histogram a question."""
        return (Release("votes", ONE_VOTE, "noise_votes", times=self.asked(n_train)),)

    def require_possible(self, notion: Notion, *, n_train: int, groups: int) -> None:
        """Raise BadInput where all answers tell next to nothing even if no two teachers ever disagree.

        The lead of K votes then stands beside noise of 2 sigma, the deviation of a difference of two noisy counts. An
        answer that is right with chance p tells of a mean over rows as much as (2p - 1)^2 exact ones.
        """
        asked, voters, noise = self.asked(n_train), self.voters(n_train), self.noise()
        worth = asked * math.erf(voters / (2.0 * math.sqrt(2.0) * noise)) ** 2 if noise else math.inf
        needed = min(self.LEAST_TOLD, asked / 2.0)  # of few questions, noise may take half
        if worth < needed:
            raise BadInput(
                f"epsilon is too small for {asked:,} questions to {voters} teachers: all noisy answers together tell "
                f"as much as {worth:.0f} exact ones at best, and {needed:.0f} are needed; take a larger epsilon, "
                "more rows or more teachers.",
                field="epsilon",
            )

    def ask(
        self, questions: np.ndarray, labels: int, teach: Callable[[], list[Fitted]], train: Dataset, training: Training
    ) -> np.ndarray:
        """Return the noisy answer (Q,) to each of the `questions` (Q, d), in 0..labels-1; a resumed run asks the rest.

        A question that is not finite is put as zeros: what teachers say of it is theirs all the same.
        """
        state = training.checkpoint
        answers = np.full(len(questions), _UNASKED, np.int16) if state is None else np.array(state["answers"])
        first = int((answers != _UNASKED).sum())
        if first == len(answers):
            return answers.astype(np.int64)
        votes = count_votes(teach(), questions, labels)
        mechanism, observer = training.mechanism, training.observer
        for place in range(first, len(answers)):
            answers[place] = self.release("votes", votes[place], train, training, index=place).argmax()
            if observer.due():
                checkpoint = {"answers": answers.copy(), **mechanism.state()}
                observer.commit(step=place + 1, events=mechanism.events, checkpoint=checkpoint)
        return answers.astype(np.int64)


def deal(rows: np.ndarray, teachers: int, seed: int) -> list[np.ndarray]:
    """Return the rows of each teacher, equally many: of shorter parts the first row stands there twice.

    Rows are dealt by a public draw on how many there are.
    """
    shuffled = rows[public_generator(seed, "teachers").permutation(len(rows))]
    parts = [np.sort(shuffled[start::teachers]) for start in range(teachers)]
    return [np.resize(part, -(-len(rows) // teachers)) for part in parts]


def train_teachers(learner: Learner, data: Dataset, parts: Sequence[np.ndarray], training: Training) -> list[Fitted]:
    """Return a model of each of the `parts` of `data`, all trained in one loop; nulls weigh nothing.

    What one teacher learns depends on its own part, on public numbers and on the seed.
    """
    present = data.present
    absent = np.zeros(data.n, dtype=bool) if present is None else ~present
    known = replace(
        data,
        X=np.where(absent[:, None], np.float32(0.0), cut(data.X)),
        y=np.where(absent, 0, data.y),
        weight=None if present is None else present.astype(np.float32),
        present=None,
    )
    alone = replace(training, observer=Unwatched(), checkpoint=None)
    taught = [known.take(part) for part in parts]
    short = replace(learner, batch_size=min(_BATCH, len(parts[0])))
    return type(learner).fit_many([short] * len(taught), taught, [alone] * len(taught))


def cut(features: np.ndarray) -> np.ndarray:
    """Return features within a public range, what is no number as 0."""
    within: np.ndarray = np.nan_to_num(features, nan=0.0).clip(-_LARGEST, _LARGEST).astype(np.float32)
    return within


def count_votes(teachers: Sequence[Fitted], questions: np.ndarray, labels: int) -> np.ndarray:
    """Return how many teachers give each question each label: (Q, labels), exact."""
    votes, places, rows = np.zeros((len(questions), labels)), np.arange(len(questions)), cut(questions)
    for teacher in teachers:
        votes[places, predict_proba(teacher.network, teacher.parameters, rows).argmax(axis=1)] += 1.0
    return votes


@dataclass(frozen=True)
class AfterVotes:
    """A run's observer while the student learns: steps follow the questions, and checkpoints hold the answers too."""

    observer: Observer
    answers: np.ndarray

    def watches(self, epoch: int) -> bool:
        """The run says."""
        return self.observer.watches(epoch)

    def due(self) -> bool:
        """The run says."""
        return self.observer.due()

    def show(self, snapshot: Snapshot) -> None:
        """Show the student."""
        self.observer.show(replace(snapshot, step=len(self.answers) + snapshot.step))

    def commit(self, *, step: int, events: Events, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Store the student's progress beside the answers."""
        held = {**checkpoint, "answers": self.answers.astype(np.int16)}
        self.observer.commit(step=len(self.answers) + step, events=events, checkpoint=held)


def learn(learner: Learner, data: Dataset, answers: np.ndarray, training: Training) -> Fitted:
    """Return the student that `learner` makes of `data`, which follow from `answers` and what is public."""
    checkpoint = training.checkpoint
    begun = checkpoint if checkpoint is not None and "parameters" in checkpoint else None
    following = replace(training, observer=AfterVotes(training.observer, answers), checkpoint=begun)
    student = learner.fit(data, following)
    return replace(student, steps=len(answers) + student.steps)
