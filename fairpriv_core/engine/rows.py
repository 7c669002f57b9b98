"""K training sets, and the records of one step as rules see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import with_bias
from fairpriv_core.engine.kernel import Pass, SeededPass
from fairpriv_core.engine.products import divide, expand
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.surrogates import output, sigmoid, softmax
from fairpriv_core.privacy.sums import MOST_ROWS

_CHUNK = 65536

Indices = Sequence[np.ndarray]  # row numbers of each of S streams; K / S models that follow each other share one


class Records:
    """What a rule may look at for each record of a step; every field is (K, B), or (1, B) of rows that all share.

    `code` is group * labels + label. `present` is a padding mask: 0 for nulls and for the rows that fill K samples up
    to one size, else 1; a row that is not present adds nothing to a sum or a count. Sums and `norms` are of the
    gradient of the logit; where a network has an output for each label, of the gradient of the loss. `deviation` is the
    derivative of the loss with respect to the logit, or 1, times the row's weight where rows have weights: a gradient
    is clipped with its weight in it, and no sum of weights divides anything.
    """

    def __init__(self, passed: Pass, drawn: Drawn, rows: slice = slice(None)) -> None:
        self.passed, self._drawn, self._rows = passed, drawn, rows
        self._indicators: dict[str, np.ndarray] = {}

    def part(self, rows: slice) -> Records:
        """Return the records in `rows` of a whole pass."""
        return self if rows == slice(None) else Records(self.passed, self._drawn, rows)

    def back(self, seeds: np.ndarray) -> Records:
        """Return the records of a whole pass with the gradients of sum_c seeds_c logits_c, `seeds` (K, B, l)."""
        assert isinstance(self.passed, SeededPass), "only networks with an output a label take seeds"
        return Records(self.passed.back(seeds), self._drawn)

    @cached_property
    def logits(self) -> np.ndarray:
        """The models' outputs (K, B); (K, B, l) of networks with an output a label."""
        return self.passed.logits[:, self._rows]

    @property
    def shape(self) -> tuple[int, int]:
        """(K, B)."""
        models, count = self.logits.shape[:2]
        return models, count

    @property
    def count(self) -> int:
        """The number of records B."""
        return int(self.logits.shape[1])

    @property
    def labels(self) -> int:
        """The number of labels l."""
        return self._drawn.labels

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The chance of each label (K, B, l) float64, of networks with an output a label."""
        return softmax(self.logits.astype(np.float64))

    @cached_property
    def probability(self) -> np.ndarray:
        """The chance of label 1 (K, B), of networks with one logit."""
        return sigmoid(self.logits)

    @property
    def loss(self) -> np.ndarray:
        """The cross-entropy (K, B)."""
        losses = self.passed.losses
        return output("loss", self.logits, self.label) if losses is None else losses[:, self._rows]

    @cached_property
    def norms(self) -> np.ndarray:
        """The L2 norm of the gradient of the logit, or of the loss."""
        return self.passed.norms[:, self._rows]

    @cached_property
    def label(self) -> np.ndarray:
        """The label, 0.0 to l - 1.0."""
        return expand(self._drawn.label[:, self._rows], len(self.logits))

    @cached_property
    def code(self) -> np.ndarray:
        """Group * labels + label."""
        return expand(self._drawn.code[:, self._rows], len(self.logits))

    @property
    def group(self) -> np.ndarray:
        """The group's index."""
        groups: np.ndarray = self.code // self.labels
        return groups

    @cached_property
    def deviation(self) -> np.ndarray:
        """The derivative of the cross-entropy (K, B): by the logit, chance of label 1 less the label; by itself, 1."""
        if self.passed.losses is not None:
            derivative = np.ones(self.shape, dtype=self.logits.dtype)
        else:
            derivative = self.probability - self.label
        if self._drawn.weight is not None:
            derivative *= expand(self._drawn.weight[:, self._rows], len(self.logits))
        return derivative

    @cached_property
    def present(self) -> np.ndarray:
        """1.0, or 0.0 for a row that adds nothing."""
        if self._drawn.present is None:
            return np.ones_like(self.label)
        return expand(self._drawn.present[:, self._rows], len(self.logits))

    def keep(self, weights: np.ndarray) -> np.ndarray:
        """Return `weights` (…, K, B), changed in place: 0 for rows that add nothing."""
        if self._drawn.present is not None:
            np.multiply(weights, self.present, out=weights)
        return weights

    def look_up(self, table: np.ndarray) -> np.ndarray:
        """Return each record's entry of `table` (K, codes) by its code: (K, B)."""
        streams = len(self._drawn.code)
        if len(table) == 1:
            only: np.ndarray = table[0].take(self.code)
            return only
        if streams == len(table):
            return np.take_along_axis(table, self.code, axis=1)
        values = np.matmul(divide(table, streams), self._indicate(table).transpose(0, 2, 1))
        entries: np.ndarray = values.reshape(len(table), -1)
        return entries

    def sum_by_code(self, values: np.ndarray, codes: int) -> np.ndarray:
        """Return the sums of `values` (K, B) over the present records of each code: (K, codes) float64."""
        streams = len(self._drawn.code)
        terms = values if self._drawn.present is None else values * self.present
        if streams == len(values):
            return np.array([np.bincount(own, weights, codes) for own, weights in zip(self.code, terms, strict=True)])
        exact = np.ascontiguousarray(terms, dtype=np.float64)
        sums = np.matmul(divide(exact, streams), self._indicate(np.empty((0, codes))))
        totals: np.ndarray = sums.reshape(len(values), codes)
        return totals

    def count_codes(self, codes: int) -> np.ndarray:
        """Return how many present records have each code: (K, codes) or, of shared rows, (1, codes)."""
        code, selected = self._drawn.code[:, self._rows], self._drawn.present
        if selected is None:
            counts = [np.bincount(own, minlength=codes) for own in code]
        else:
            counts = [np.bincount(own, mask, codes) for own, mask in zip(code, selected[:, self._rows], strict=True)]
        return expand(np.array(counts, dtype=np.float64), len(self.logits))

    def _indicate(self, table: np.ndarray) -> np.ndarray:
        """Return 1 for each record's code, else 0: (S, B, codes), for a product with `table` (K, codes)."""
        indicator = self._indicators.get(table.dtype.char)
        if indicator is None:
            indicator = np.eye(table.shape[1], dtype=table.dtype).take(self._drawn.code[:, self._rows], axis=0)
            self._indicators[table.dtype.char] = indicator
        return indicator


@dataclass
class Drawn:
    """Rows of S streams: `features` (S, B, d), and what else is asked for, (S, B).

    `rows` are their numbers in `columns`; `padding` is 0 for those that only pad, None where none does.
    """

    columns: Sequence[Columns]
    rows: Indices
    padding: np.ndarray | None = None

    @property
    def labels(self) -> int:
        """The number of labels l."""
        return self.columns[0].label_count

    @cached_property
    def features(self) -> np.ndarray:
        """The encoded features."""
        return self._gather("features")

    @cached_property
    def squares(self) -> np.ndarray:
        """`with_bias` of the features."""
        return self._gather("squares")

    @cached_property
    def label(self) -> np.ndarray:
        """0.0 to l - 1.0."""
        return self._gather("labels")

    @cached_property
    def code(self) -> np.ndarray:
        """Group * labels + label."""
        return self._gather("codes")

    @cached_property
    def present(self) -> np.ndarray | None:
        """1.0, or 0.0 for rows that only pad and for nulls; None where there are neither."""
        if not any(own.has_nulls for own in self.columns):
            return self.padding
        own = self._gather("present").astype(np.float32)
        return own if self.padding is None else own * self.padding

    @cached_property
    def weight(self) -> np.ndarray | None:
        """What each row's loss is multiplied by; None where all count alike."""
        return self._gather("weights") if any(own.has_weights for own in self.columns) else None

    def _gather(self, name: str) -> np.ndarray:
        if len(self.rows) == 1:
            gathered: np.ndarray = getattr(self.columns[0], name).take(self.rows[0], axis=0)[None]
            return gathered
        pairs = zip(self.columns, self.rows, strict=True)
        return np.stack([getattr(own, name).take(rows, axis=0) for own, rows in pairs])


class Columns:
    """A training set as the loop gathers from it; what a method does not look at is never made."""

    def __init__(self, train: Dataset) -> None:
        self._train, self.label_count = train, train.labels
        self.has_nulls, self.has_weights = train.present is not None, train.weight is not None
        self.features = np.ascontiguousarray(train.X)

    @cached_property
    def squares(self) -> np.ndarray:
        """`with_bias` of the features (n,)."""
        parts = np.array_split(self.features, -(-len(self.features) // _CHUNK))
        return np.concatenate([with_bias(rows) for rows in parts])

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels (n,), float32."""
        return self._train.y.astype(self.features.dtype)

    @cached_property
    def codes(self) -> np.ndarray:
        """Group * labels + label (n,)."""
        codes: np.ndarray = self._train.group * self.label_count + self._train.y
        return codes

    @cached_property
    def present(self) -> np.ndarray:
        """Whether each row has a label and a group (n,): a null keeps its place, and adds nothing."""
        present = self._train.present
        return np.ones(len(self.features), dtype=bool) if present is None else present

    @cached_property
    def weights(self) -> np.ndarray:
        """What each row's loss is multiplied by (n,)."""
        weight = self._train.weight
        return np.ones(len(self.features), dtype=np.float32) if weight is None else weight


class Feed:
    """K training sets of one size; gathers rows. A data set that several models train on is held once.

    Raises BadInput for more rows than sums keep their bound for.
    """

    def __init__(self, trains: Sequence[Dataset]) -> None:
        self.n = trains[0].n
        if self.n > MOST_ROWS:
            raise BadInput(f"training data must have at most {MOST_ROWS:,} rows, got {self.n:,}.", field="data")
        held = {id(train): Columns(train) for train in trains}
        self.columns = [held[id(train)] for train in trains]
        self.group_names = [train.group_names for train in trains]

    def draw(self, indices: Indices) -> Drawn:
        """Return the rows at `indices[s]` of stream s; as many models that follow each other share each of them.

        Shorter lists are padded and marked as not present.
        """
        columns = self.columns[:: len(self.columns) // len(indices)]
        longest = max(len(index) for index in indices)
        if all(len(index) == longest for index in indices):
            return Drawn(columns, indices)
        present = np.zeros((len(indices), longest), dtype=np.float32)
        padded = [np.zeros(longest, dtype=np.int64) for _ in indices]
        for present_rows, rows, index in zip(present, padded, indices, strict=True):
            present_rows[: len(index)], rows[: len(index)] = 1.0, index
        return Drawn(columns, padded, present)


def count_streams(items: Sequence[object]) -> int:
    """Return into how many runs of one length, of like items, a list falls: as many as it has items if it does not."""
    starts = [k for k, item in enumerate(items) if not k or item != items[k - 1]]
    length = len(items) // len(starts)
    return len(starts) if starts == list(range(0, len(items), length)) else len(items)


def join_samples(samples: Sequence[list[np.ndarray]]) -> list[Indices]:
    """Return [step][stream] from each model's samples of an epoch; models that share samples are one stream."""
    streams = count_streams([id(stream) for stream in samples])
    return [list(step) for step in zip(*samples[:: len(samples) // streams], strict=True)]
