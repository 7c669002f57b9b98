"""A run before it runs: its rows, whether its settings suit them, its calibrated method, and what it will release."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import cast

from fairpriv_core.data.dataset import Dataset, drop_unprotected, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.networks import AnyShape, count_known, estimate_memory, find_memory
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.methods.base import Method, MethodInfo
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.cell_counts import Counts, count_needed
from fairpriv_core.methods.fields import TrainsNetwork, count_batch, fit_batch_size
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import format_undefined
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events
from fairpriv_core.records.config import RunConfig, build_shape
from fairpriv_core.records.ledger_entry import Posting, record_posting
from fairpriv_core.records.paid import price_schema
from fairpriv_core.records.record import RunRecord, doubt_network, draft_record, plan_evaluation
from fairpriv_core.records.reuse import use_release
from fairpriv_core.records.source import find_answers, find_seed

Find = Callable[[str], RunRecord]
Lend = Callable[[str, str | None], AbstractContextManager[str]]
_GIB = 2**30
_DIVISOR = 1.25  # near what a budget is divided by for a method beside a paid schema


@dataclass(frozen=True)
class Plan:
    """A run that is about to train.

    `draft` is its record as far as it is known, `method` is ready to fit, `evaluation` is what its private evaluation
    will release, `source` the record whose release it uses or None.
    """

    config: RunConfig
    draft: RunRecord
    method: Method
    evaluation: Events
    train: Dataset
    test: Dataset
    source: RunRecord | None


def plan_run(config: RunConfig, key: str, *, datasets: DatasetCache, find_record: Find) -> Plan:
    """Return the plan of the run `key`; reads the data, from `datasets` where it is there. Errors as `execute`."""
    train, test = datasets.parts(config)
    source = None if config.reuse is None else find_record(config.reuse)
    notes: dict[str, object] = {}
    if source is None:
        method = calibrate_method(config, train.n)
        find_counts(config, method, train)
    else:
        method, notes = use_release(config.method, source, config.to_json(), train.digest)
    evaluation = plan_evaluation(config, method, train.n)
    draft = draft_record(key=key, config=config, method=method, train=train, test=test, evaluation=evaluation)
    return Plan(config, replace(draft, notes=notes), method, evaluation, train, test, source)


def with_doubts(plan: Plan) -> Plan:
    """Return `plan` with a warning of what is likely wrong with a person's own network, which is opened."""
    doubts = tuple(map(str, doubt_network(plan.method, plan.train)))
    return replace(plan, draft=replace(plan.draft, warnings=(*plan.draft.warnings, *doubts)))


def calibrate_method(config: RunConfig, n_train: int) -> Method:
    """Return the method with the noise that meets the budget; as it is where its noise is set by hand or absent.

    What a paid schema leaves of the budget is the method's.
    """
    target, delta = config.epsilon, config.delta
    if target is None:
        return config.method
    answers = find_answers(config.data.to_json())
    if answers is not None and config.method.info.reads_answers:
        return config.method.calibrated(epsilon=answers.randomized[-1], delta=delta, n_train=n_train)
    price = price_schema(config.to_json(), config.method.info.threat_model)

    def fit(divisor: float) -> Method:
        return config.method.calibrated(epsilon=target / divisor, delta=delta, n_train=n_train)

    if not price:
        return fit(1.0)

    def events_for(divisor: float) -> Events:
        return (*price, *fit(divisor).event(n_train))

    return fit(calibrate(events_for, epsilon=target, delta=delta, start=_DIVISOR))


def find_counts(config: RunConfig, method: Method, train: Dataset) -> Counts | None:
    """Return the sizes that a run of `method` (calibrated) must find large enough; None where there are none.

    BadInput where public numbers alone show that most runs would end there, with their epsilon spent, or that what is
    asked for cannot be.
    """
    if config.reuse is not None:
        return None
    notion = notions()[config.notion]
    method.require_possible(notion, n_train=train.n, groups=train.groups)
    counts = count_needed(method, notion, train)
    if counts is not None:
        counts.require_possible()
    return counts


def fit_batch(config: RunConfig, said: Collection[str], datasets: DatasetCache) -> RunConfig:
    """Return `config` with a batch that suits a small table, where the hyper-parameters that a person `said` allow.

    Reads the data. BadInput; DataUnavailable.
    """
    if fit_batch_size(config.method, 1, said) is None:
        return config
    fitting = fit_batch_size(config.method, datasets.whole(config).n * 3 // 4, said)
    return config if fitting is None else replace(config, method=replace(config.method, batch_size=fitting))


class DatasetCache:
    """Keeps in memory the data sets that were read, and their splits: of these no more than the last `splits`.

    `lend` takes a person's file and its id, and gives the path to read; it refuses a file that a config does not mean.
    """

    def __init__(self, *, lend: Lend = lambda file, file_id: nullcontext(file), splits: int | None = None) -> None:
        self._most, self._lend = splits, lend
        self._read: dict[tuple[DataSpec, str | None], Dataset | FairprivError] = {}
        self._present: dict[tuple[DataSpec, str | None], Dataset] = {}
        self._parts: dict[tuple[DataSpec, str | None, bool, str, int | None], tuple[Dataset, Dataset]] = {}

    def parts(self, config: RunConfig) -> tuple[Dataset, Dataset]:
        """Return (train, test) of a config. BadInput, for data that its method cannot train on too; DataUnavailable."""
        source = (config.data, config.file_id)
        dataset = self.whole(config)
        check_settings(config, dataset)
        is_drawn = not dataset.one_split or config.data.group_ratio is not None
        nulls = dataset.present is not None
        name = (*source, nulls, config.split, find_seed(config.to_json()) if is_drawn else None)
        if name not in self._parts:
            while self._most is not None and len(self._parts) >= self._most:
                del self._parts[next(iter(self._parts))]
            self._parts[name] = split_dataset(dataset, seed=config.seed, split=config.split)
        return self._parts[name]

    def whole(self, config: RunConfig) -> Dataset:
        """Return the data that the method of a config is given, before they are split. BadInput; DataUnavailable."""
        source = (config.data, config.file_id)
        if source not in self._read:
            self._read[source] = self._try(*source)
        dataset = self._read[source]
        if isinstance(dataset, FairprivError):
            raise dataset
        if config.method.info.threat_model == "record":
            return dataset
        if source not in self._present:
            self._present[source] = drop_unprotected(dataset, config.method.info.threat_model)
        return self._present[source]

    def _try(self, data: DataSpec, file_id: str | None) -> Dataset | FairprivError:
        try:
            if data.file is None:
                return load_dataset(data)
            with self._lend(data.file, file_id) as place:
                return load_dataset(replace(data, file=place))
        except FairprivError as error:  # tried once for all
            return error


def check_settings(config: RunConfig, data: Dataset) -> AnyShape:
    """Return the network that `config` trains on `data`, which may be without `X`; BadInput where it cannot."""
    check_method(config.method.info, data)
    check_notion(config.notion, config.method.info, data.labels)
    return check_network(config.method, data)


def check_method(info: MethodInfo, data: Dataset) -> None:
    """Raise BadInput where a method takes labels as public and these are the sensitive attribute, or are too many."""
    if data.answered is not None and not info.reads_answers:
        able = [name for name, kind in methods().items() if kind.info.reads_answers]
        raise BadInput(
            f"method '{info.name}' takes '{data.sensitive}' as true, and it holds randomised answers; choose from "
            f"{', '.join(able)}.",
            field="method",
        )
    if info.threat_model == "attribute" and data.classes_are_groups:
        raise BadInput(
            f"method '{info.name}' protects the sensitive attribute and takes labels as public; in '{data.name}' the "
            "label is the sensitive attribute, so choose a method that protects whole records.",
            field="method",
        )
    if info.max_labels is not None and data.labels > info.max_labels:
        able = [name for name, kind in methods().items() if kind.info.max_labels is None]
        raise BadInput(
            f"method '{info.name}' takes data with at most {info.max_labels} labels, and this has {data.labels}; "
            f"choose from {', '.join(able)}.",
            field="method",
        )


def check_notion(name: str, info: MethodInfo, labels: int) -> None:
    """Raise BadInput where a notion is undefined on data with so many `labels`."""
    if not notions()[name].conditions_among(labels):
        able = [notion for notion in info.notions if notions()[notion].conditions_among(labels)]
        raise BadInput(
            f"notion '{name}': {format_undefined(notions()[name], labels)[:-1]}; choose from {', '.join(able)}.",
            field="notion",
        )


def check_network(method: Method, data: Dataset) -> AnyShape:
    """Return a method's network; BadInput where it does not fit the rows, or would not fit into memory.

    One of a person's own is not opened here, as its code runs where runs train alone.
    """
    shape = build_shape(method, data)
    if count_known(shape) is None:
        return shape  # it is held against memory when it is opened
    n_drawn = (getattr(method, "sampling_rate", None) or 0.0) * data.n
    rows = count_batch(cast(TrainsNetwork, method), data.n) if hasattr(method, "batch_size") else int(n_drawn)
    needed = estimate_memory(shape, rows or 1)
    memory = find_memory()
    if memory is not None and needed > memory:
        raise BadInput(
            f"training this network, {shape.size:,} parameters on rows of {shape.inputs:,} values, would take about "
            f"{needed / _GIB:.1f} GiB of memory, and {memory / _GIB:.1f} GiB are here; take smaller rows, a smaller "
            "network or a smaller batch_size.",
            field="network" if hasattr(method, "network") else "method",
        )
    return shape


def plan_posting(config: RunConfig, *, find_record: Find, datasets: DatasetCache | None = None) -> Posting:
    """Return the ledger's line of a run of `config` under its key; reads the data, from `datasets` where it is there.

    `find_record` returns the record of the run whose release it uses. Errors as `execute`.
    """
    plan = plan_run(config, config.key, datasets=datasets or DatasetCache(), find_record=find_record)
    return record_posting(plan.draft)
