"""A data set as a method is given it: encoded features, label, group. And how it is loaded and split."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairpriv_core.checks import one_of
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.mapped import select_rows
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import Groups
from fairpriv_core.data.rows import LabelledTable, assemble, assume_undersampled, undersample_groups
from fairpriv_core.data.schema import name_features, write_schema
from fairpriv_core.data.table_schema import from_text
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

SPLITS = ("rows", "stratified", "people", "official")
TEST_SHARE = 0.25
_OF_EACH_ROW = ("y", "group", "official_test", "unit", "row", "present", "weight")
_SPLIT_ASSUMED = (
    "Which rows are training rows is assumed public: the split is stratified by the label, so it depends on all labels."
)


@dataclass(frozen=True)
class Dataset:
    """n records, d features, k groups, l labels; immutable, and `X` never holds the sensitive attribute.

    `X` (n, d) float32; `y` (n,) int64 in 0..l-1, of two labels 1 is the positive one; `group` (n,) int64 in 0..k-1.
    `digest` is the SHA-256 of the files' bytes and of what was asked of them. `assumptions` maps a threat model
    ("attribute", "record") to sentences: what an epsilon on this data takes as public, and which rows were dropped.
    `caveats` are for every reader of a result. `official_test` (n,) bool marks the published test rows, or is None.
    `encoder` is the JSON of the encoder that made `X`, `grouping` that of the groups. `unit` (n,) int64 says whose
    each row is, or is None where everyone has one. `image` is (channels, height, width) where a row is an image,
    its pixels over 255 in that order; such data have no `encoder` and no names of features. `one_split` says that
    the published split is the only one, `classes_are_groups` that one column is label and sensitive attribute, whatever
    rows hold. `row` (n,) int64 has the rows' numbers among the `rows_read` there were, None where all are used.
    `group_ratio` is what `split_dataset` thins the training part to, or None. `left_out` says how many rows of a
    person's file are not used for which reason, and `remarks` how its cells were read: raw, for its owner alone.
    `present` (n,) bool is False for a row that lacks a label or a group: its `y` and `group` are 0, and under `record`
    it is the null of the threat model, which keeps its place and adds nothing to any release. None where none lacks
    any. A method that does not protect records is given the rows `without_nulls`. `weight` (n,) float32 is what each
    row's loss is multiplied by, part of its record; None where all count alike. `answered` is the epsilon of the
    randomised response by which everybody's `group` was answered before it was read; None where `group` is true.
    """

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    group_names: tuple[str, ...]
    name: str
    sensitive: str
    digest: str
    assumptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    official_test: np.ndarray | None = None
    caveats: tuple[str, ...] = ()
    encoder: str = ""
    grouping: str = ""
    unit: np.ndarray | None = None
    group_ratio: float | None = None
    image: tuple[int, int, int] | None = None
    one_split: bool = False
    classes_are_groups: bool = False
    row: np.ndarray | None = None
    rows_read: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    present: np.ndarray | None = None
    weight: np.ndarray | None = None
    answered: float | None = None

    @property
    def n(self) -> int:
        """The number of records, nulls among them."""
        return len(self.y)

    @property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """The (group, label) of each record that has both."""
        return (self.group, self.y) if self.present is None else (self.group[self.present], self.y[self.present])

    @property
    def group_sizes(self) -> np.ndarray:
        """How many records each group has (k,), float64: exact, so sensitive."""
        return np.bincount(self.members[0], minlength=self.groups).astype(np.float64)

    @property
    def people(self) -> int:
        """The number of people whom the records are about."""
        return self.n if self.unit is None else len(np.unique(self.unit))

    @property
    def d(self) -> int:
        """The number of encoded features."""
        return int(self.X.shape[1])

    @property
    def features(self) -> int:
        """The number of encoded features, also where `X` is left out."""
        return len(self.feature_names) if self.image is None else math.prod(self.image)

    @property
    def groups(self) -> int:
        """The number of declared groups; some may be empty."""
        return len(self.group_names)

    @property
    def labels(self) -> int:
        """The number of labels."""
        return len(self.label_names)

    def take(self, index: np.ndarray) -> Dataset:
        """Return the records that `index` (positions, or a mask) selects."""
        by_row = {name: getattr(self, name) for name in _OF_EACH_ROW}
        selected: dict[str, Any] = {name: None if values is None else values[index] for name, values in by_row.items()}
        return replace(self, X=select_rows(self.X, index), **selected)

    def without_nulls(self) -> Dataset:
        """Return the records that have a label and a group."""
        return self if self.present is None else replace(self.take(self.present), present=None)


def drop_unprotected(dataset: Dataset, threat_model: str | None) -> Dataset:
    """Return the rows that a method of `threat_model` is given: where records are protected, nulls in their places."""
    return dataset if threat_model == "record" else dataset.without_nulls()


def load_dataset(spec: DataSpec) -> Dataset:
    """Return the data that `spec` names, encoded; raises BadInput, or DataUnavailable for a file that cannot be had."""
    if spec.schema is not None and from_text(spec.schema).is_open:
        raise BadInput(
            "the values of this schema are still to be measured with noise: train one run with fairpriv train or "
            "Launch, and go on with its settings.",
            field="schema",
        )
    rows = assemble(spec)
    if rows.raw_table.pixels is not None:
        return build_dataset(rows, spec, rows.raw_table.pixels.encode())
    return build_dataset(rows, spec, Encoder(rows.plan.features).transform(rows.raw_table.table))


def build_dataset(rows: LabelledTable, spec: DataSpec, X: np.ndarray) -> Dataset:
    """Return the rows of `spec` with `X` as what is made of them."""
    declared, features = rows.raw_table.declared, rows.plan.features
    compared = [declared.columns[grouping.column] for grouping in rows.plan.groupings]
    listed = tuple(column for column in compared if not column.is_quantity)
    answers = declared.answers
    return Dataset(
        X=X,
        y=rows.y,
        group=rows.group,
        feature_names=tuple(name for column in features for name in name_features(column)),
        label_names=rows.plan.label_names,
        group_names=rows.plan.group_names,
        name=rows.raw_table.name,
        sensitive=spec.sensitive,
        digest=rows.digest,
        assumptions=rows.assumptions,
        official_test=rows.raw_table.official_test,
        caveats=rows.caveats,
        encoder=write_schema(features) if declared.image is None else "",
        grouping=Groups(rows.plan.groupings, listed).to_json(),
        unit=rows.raw_table.unit,
        group_ratio=spec.group_ratio,
        image=declared.image,
        one_split=rows.raw_table.one_split,
        row=rows.row,
        rows_read=rows.read,
        left_out=rows.left_out if spec.file else {},
        present=rows.present,
        remarks=rows.raw_table.remarks,
        answered=None if answers is None else answers.randomized[-1],
        classes_are_groups=[grouping.column for grouping in rows.plan.groupings] == [rows.plan.label.name],
    )


def split_dataset(dataset: Dataset, *, seed: int, split: str = "rows") -> tuple[Dataset, Dataset]:
    """Return (train, test): 75/25 at random by the rows' numbers ("rows"), by the label ("stratified") or by whose the
    rows are ("people"), or the published split ("official").

    The sensitive attribute is not looked at: under the threat model `attribute` the split is public. Under `record`
    one changed label moves other rows between the parts of a stratified split, so that it is given is an assumption of
    the train part. By numbers no row's side depends on what any row holds: a row that lacks a label keeps its number.
    By people, all rows of one are on one side, and labels are not looked at either. BadInput for a split that the data
    do not have.

    Data with a `group_ratio` have their training part thinned to it after that, row by row: this looks at the sensitive
    attribute, and so is an assumption under both threat models. The test part does not depend on the ratio.
    """
    _check_split(dataset, split)
    if dataset.official_test is not None and (split == "official" or dataset.one_split):
        is_test = dataset.official_test
    elif split == "people":
        assert dataset.unit is not None
        is_test = _draw_units(dataset.unit, public_generator(seed, "split"))
    elif split == "rows":
        is_test = _draw_rows(dataset, public_generator(seed, "split"))
    else:
        strata = dataset.y if dataset.present is None else np.where(dataset.present, dataset.y, dataset.labels)
        is_test = _draw_test(strata, dataset.labels + (dataset.present is not None), public_generator(seed, "split"))
        dataset = _assume(dataset, _SPLIT_ASSUMED, ("record",))
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    ratio = dataset.group_ratio
    if ratio is not None:
        generator = public_generator(seed, "group ratio")
        there = np.ones(len(train), bool) if dataset.present is None else dataset.present[train]
        members = train[there]
        members_left = members[undersample_groups(dataset.group[members], ratio, dataset.groups, generator)]
        train = np.sort(np.concatenate([members_left, train[~there]]))
        dataset = _assume(dataset, assume_undersampled(ratio), ("attribute", "record"))
    return dataset.take(train), dataset.take(test)


def _check_split(dataset: Dataset, split: str) -> None:
    if dataset.one_split:
        if split != "official":
            raise BadInput(f"'{dataset.name}' has its published split alone; use split official.", field="split")
        return
    one_of(SPLITS, split=split)
    if split == "official" and dataset.official_test is None:
        raise BadInput(f"'{dataset.name}' has no published split; use split rows.", field="split")
    if split == "people" and dataset.unit is None:
        raise BadInput(
            f"nothing says whose the rows of '{dataset.name}' are, so they cannot be split by people; "
            "name the column that says it (person), or use split rows.",
            field="split",
        )


def _assume(dataset: Dataset, sentence: str, threat_models: tuple[str, ...]) -> Dataset:
    sentences = dataset.assumptions
    more = {model: (*sentences.get(model, ()), sentence) for model in threat_models}
    return replace(dataset, assumptions={**sentences, **more})


def _draw_test(y: np.ndarray, labels: int, generator: np.random.Generator) -> np.ndarray:
    """Return a mask (n,) of ceil(n / 4) rows; each label's share is exact up to one row (largest remainder)."""
    counts = np.bincount(y, minlength=labels)
    exact = counts * TEST_SHARE
    sizes = np.floor(exact).astype(np.int64)
    short = math.ceil(len(y) * TEST_SHARE) - int(sizes.sum())
    sizes[np.argsort(sizes - exact, kind="stable")[:short]] += 1
    mask = np.zeros(len(y), dtype=bool)
    for label, size in enumerate(sizes):
        mask[generator.permutation(np.flatnonzero(y == label))[:size]] = True
    return mask


def _draw_rows(dataset: Dataset, generator: np.random.Generator) -> np.ndarray:
    """Return a mask (n,) of the rows whose numbers are among a quarter, rounded up, of all numbers that were read."""
    count = dataset.n if dataset.row is None else dataset.rows_read
    is_test = np.zeros(count, dtype=bool)
    is_test[generator.permutation(count)[: math.ceil(count * TEST_SHARE)]] = True
    mask: np.ndarray = is_test if dataset.row is None else is_test[dataset.row]
    return mask


def _draw_units(unit: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a mask (n,) of all rows of a quarter of the units, rounded up."""
    units = np.unique(unit)
    return np.isin(unit, generator.permutation(units)[: math.ceil(len(units) * TEST_SHARE)])
