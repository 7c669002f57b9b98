"""The commands that train: find out what the store knows of a run, work on it, and return how it ended."""

from __future__ import annotations

import time
from collections.abc import Collection

from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.facts.aim import format_least_gap, format_too_fine
from fairpriv_core.facts.terminal import format_progress
from fairpriv_core.ledger.paid_schema import settle_schema
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.shared.responses import find_flips
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.plan import DatasetCache, calibrate_method, find_counts, fit_batch
from fairpriv_core.records.record import RAW, RunRecord, doubt_network
from fairpriv_core.records.source import is_published
from fairpriv_core.runs.children import use_one_thread
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Claim, LeaseLost
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import Reporter, count_text
from fairpriv_core.warnings import warn

_POLL_SECONDS = 0.2
Ended = tuple[RunRow, RunRecord | None]


def work_in_foreground(store: RunStore, key: str, reporter: Reporter, datasets: DatasetCache | None = None) -> RunRow:
    """Work on the queued run `key` until it ends, and return its row; where another process was faster, wait for it.

    `datasets` has its data where they were read before. A crash is tried again from the last checkpoint, as the
    supervisor does. Raises KeyboardInterrupt after handing the run back as paused.
    """
    use_one_thread()
    work = WorkStore(store.database)
    while (row := store.row(key)).status == "queued":
        for claim in work.claim(key):
            _hold(work, claim, reporter, datasets)
    if row.status in ("running", "stopping"):
        reporter.say(f"run {key} is at work in another process; waiting for it.")
    while row.status in ("queued", "running", "stopping"):
        time.sleep(_POLL_SECONDS)
        row = store.row(key)
    return row


def _hold(work: WorkStore, claim: Claim, reporter: Reporter, datasets: DatasetCache | None) -> None:
    going_on = f"fairpriv resume {claim.key} goes on from the last checkpoint."
    try:
        work_on(
            work,
            [claim],
            on_commit=lambda progress: reporter.show(format_progress(progress)),
            datasets=datasets,
        )
    except KeyboardInterrupt:
        try:
            work.hand_back([claim], "paused")
        except LeaseLost:
            reporter.say("the run had just ended.")
        else:
            reporter.say(f"paused; {going_on}")
        raise
    except FairprivError:
        reporter.say(going_on)
        raise


def train(config: RunConfig, reporter: Reporter, *, again: bool = False, said: Collection[str] | None = None) -> Ended:
    """Run `config` in the default store and return its row and record; a finished one is returned as it is stored.

    An interrupted run of the same config goes on from its last checkpoint. `again` makes a new attempt, with fresh
    noise and its own cost. Where the hyper-parameters that a person `said` are given, a small table gets a batch that
    suits it. Raises BadInput for what a person gave, KeyboardInterrupt where the run was paused.
    """
    with open_store() as store:
        config = settle_schema(store, store.files.settle(config))
        datasets = DatasetCache(lend=store.files.lend)
        if said is not None:
            config = _fit_batch(config, said, datasets, reporter)
            _report_without_gap(config, said, reporter)
            _report_how_read(config, datasets, reporter)
            _report_too_fine(config, datasets, reporter)
        row = None if again else store.find(config.key)
        if row is not None and row.status == "finished":
            reporter.say(f"run {row.key} is finished in this store, so nothing ran; --again makes a new attempt.")
            return row, store.record(row.key)
        if row is not None and row.status in ("paused", "lost"):
            return _go_on(store, row, reporter)
        _accept_risk(config, datasets, reporter)
        return _work(store, store.submit(config, again=again).key, reporter, datasets)


def _fit_batch(config: RunConfig, said: Collection[str], datasets: DatasetCache, reporter: Reporter) -> RunConfig:
    suited = fit_batch(config, said, datasets)
    if suited != config:
        usual, size = (method_to_json(item.method)["batch_size"] for item in (config, suited))
        rows = count_text(datasets.whole(config).n, "row")
        reporter.say(f"batch_size = {size}: the usual {usual} is too large for {rows}.")
    return suited


def _report_how_read(config: RunConfig, datasets: DatasetCache, reporter: Reporter) -> None:
    """Say which rows of a person's file are left out, and how its cells are read: for who launches alone."""
    if config.data.file is None:
        return
    data = datasets.whole(config)
    rows = data.rows_read or data.n
    for reason, count in data.left_out.items():
        reporter.say(f"{count:,} of {rows:,} rows are not used: {reason}.")
    for remark in data.remarks:
        reporter.say(remark)


def _report_without_gap(config: RunConfig, said: Collection[str], reporter: Reporter) -> None:
    """Say that no gap is aimed at, where a person set what the gap would replace and nothing of the gap itself."""
    declared, published = parameters(config.method), getattr(config.method, "variant", "proved") == "published"
    replaced = declared["gap_target"][0].replaces if "gap_target" in declared and not published else ()
    moved = [name for name in replaced if name in said]
    if moved and "gap_target" not in said:
        reporter.say(f"gap_target = none: you set {' and '.join(moved)}. With gap_target too, a gap is aimed at.")


def _report_too_fine(config: RunConfig, datasets: DatasetCache, reporter: Reporter) -> None:
    """Say that a gap that is aimed at is finer than the test rows, or the release, can show."""
    train, test = datasets.parts(config)
    notion, target = notions()[config.notion], getattr(config.method, "gap_target", None)
    method, noise = calibrate_method(config, train.n), find_flips(test) or 0.0
    for sentence in (
        format_too_fine(notion, target, tested=test.n, groups=test.groups, noise=noise),
        None if config.reuse else format_least_gap(method, notion, train, train.n),  # the noise is that run's
    ):
        if sentence is not None:
            reporter.say(sentence)


def _accept_risk(config: RunConfig, datasets: DatasetCache, reporter: Reporter) -> None:
    """Have it accepted before launch that a run may end at its noisy counts, and warn of a network that learns little.

    Which sizes rows have is raw.
    """
    train, _ = datasets.parts(config)
    for doubt in doubt_network(config.method, train):
        warn(doubt)
    counts = find_counts(config, calibrate_method(config, train.n), train)
    risk = None if counts is None else counts.format_risk(config.epsilon)
    if risk is not None:
        reporter.accept(risk if is_published(config.data.to_json()) else f"{risk} {RAW}")


def resume(key: str, reporter: Reporter) -> Ended:
    """Go on with an interrupted run from its last checkpoint, at once if its process on this host is gone."""
    with open_store() as store:
        row = store.row(key)
        if row.status == "finished":
            reporter.say(f"run {key} is finished, so nothing ran.")
            return row, store.record(key)
        if row.status in ("running", "stopping"):
            raise BadInput(f"run {key} is {row.status} in another process; pause or stop it first.", field="key")
        return _go_on(store, row, reporter)


def _go_on(store: RunStore, row: RunRow, reporter: Reporter) -> Ended:
    if row.status != "queued":
        store.request(row.key, "resume")
    reporter.say(f"run {row.key} goes on from step {row.step}.")
    return _work(store, row.key, reporter)


def _work(store: RunStore, key: str, reporter: Reporter, datasets: DatasetCache | None = None) -> Ended:
    row = work_in_foreground(store, key, reporter, datasets)
    record = store.record(key)
    if row.error_kind == "bad_input" and (record is None or not record.released):
        store.delete(key)
        raise BadInput(row.error or "the run's settings cannot be used.")
    return row, record
