"""What a report tells of finished runs, gathered from the store: everything, for the analyst."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fairpriv_core.errors import BadInput
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.figures.live import is_overlaid
from fairpriv_core.grouping import group_by
from fairpriv_core.ledger.launch import Effect, foresee_launch, read_page
from fairpriv_core.ledger.report import Spent, add_up
from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.records.ledger_entry import call_data, identify_data, list_record_sensitive
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.stored import format_stored, read_stored_runs
from fairpriv_core.runs.plain_run import find_plain_runs, find_stored_plain_run, name_rows
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.runs import RunStore
from fairpriv_core.sweeps.spec import write_sweep


@dataclass(frozen=True)
class ReportData:
    """All that a report tells: of each run, and of what stands beside them.

    `together` is what all of them spent, for each thing that is protected; `ledger` what everything on the same people
    has spent and will, as the ledger's gauge says it, on `day` (UTC). `references` are runs without privacy and
    fairness on the same questions. `sweep` is the TOML of the sweep that trains exactly these runs; None where they are
    none. `origins` says of what comes with this software where it is from.
    """

    runs: tuple[RunFacts[Kind], ...]
    together: tuple[Spent, ...]
    ledger: tuple[Spent, ...]
    day: str
    references: tuple[RunFacts[Kind], ...]
    sweep: str | None = None
    origins: tuple[str, ...] = ()


def read_spent(store: RunStore, data: str, delta: float) -> Sequence[Effect]:
    """Return what the data set `data` (by `identify_data`) has spent of each thing that is protected."""
    return foresee_launch(read_page(store, data), None, delta=delta)


def gather_report(
    store: RunStore, keys: Sequence[str], *, find_spent: Callable[[RunStore, str, float], Sequence[Effect]] = read_spent
) -> ReportData:
    """Return what a report on the finished runs `keys` tells, in their order.

    `find_spent` is asked for what `read_spent` returns, which takes seconds where a data set has thousands of runs.

    Raises:
        BadInput: no key is given, or a run is unknown or has not finished.
        Damaged: a run's record is not what was written.
    """
    unique_keys = list(dict.fromkeys(store.row(key).key for key in keys))
    if not unique_keys:
        raise BadInput("name the key of one finished run or more.", field="key")
    records_by_key = store.records(unique_keys)
    for key in unique_keys:
        record = records_by_key.get(key) or store.record(key)  # which says so where it is damaged
        if record is None or record.status != "finished":
            status = store.row(key).status if record is None else record.status
            raise BadInput(f"run {key} is {status}: only finished runs can be reported.", field="key")
    records = [records_by_key[key] for key in unique_keys]
    audits = AuditStore(store.database)
    runs = [
        read_facts(record, curves=store.curves(record.key, is_overlaid), audit=audits.find(record.key))
        for record in records
    ]
    plain = find_plain_runs(store, [record.config for record in records])
    data = _put_together(records, runs, plain)
    return replace(data, ledger=tuple(_read_ledger(store, records, find_spent)))


def gather_stored(epsilon: float | None = None) -> ReportData:
    """Return what a report tells of the private runs that come with this software, at one ε or all.

    They are counted in no ledger.
    """
    private = [record for record in read_stored_runs().records if record.threat_model is not None]
    records = [record for record in private if epsilon in (None, record.config["epsilon"])]
    plain = [find_stored_plain_run(record.config) for record in records]
    data = _put_together(records, [read_facts(record) for record in records], plain)
    return replace(data, origins=(format_stored("These runs and plain training are", records),))


def _put_together(
    records: Sequence[RunRecord], runs: Sequence[RunFacts[Kind]], plain: Sequence[RunRecord | None]
) -> ReportData:
    """Return the data of a report on runs, without the ledger."""
    beside = _find_references(records, plain)
    origin = format_stored("Plain training is", [plain_run for _, plain_run in beside])
    return ReportData(
        runs=tuple(runs),
        together=tuple(add_up(records)),
        ledger=(),
        day=datetime.now(UTC).date().isoformat(),
        references=tuple(read_facts(plain_run).asking(notion) for notion, plain_run in beside),
        sweep=write_sweep([record.config for record in records]),
        origins=(origin,) if origin else (),
    )


def _read_ledger(
    store: RunStore, records: Sequence[RunRecord], find_spent: Callable[[RunStore, str, float], Sequence[Effect]]
) -> Iterator[Spent]:
    """Yield the ledger's totals for the people of `records`: whole records, and the attributes that these runs name.

    Each is at the smallest δ of the runs on the same people.
    """
    pages = group_by(
        records, lambda record: identify_data(record.config["data"]["dataset"], record.config.get("file_id"))
    )
    for data, about in pages.items():
        delta, name = min(record.delta for record in about), call_data(about[0].config["data"])
        columns = {None, *(column for record in about for column in list_record_sensitive(record))}
        for effect in find_spent(store, data, delta):
            if not effect.runs or effect.column not in columns:
                continue
            bounded = math.isfinite(effect.planned)
            reason = None if bounded else effect.reason or "No finite epsilon is proved for the releases."
            yield Spent(name, effect.column, effect.runs, effect.planned if bounded else None, reason, delta)


def _find_references(records: Sequence[RunRecord], plain: Sequence[RunRecord | None]) -> list[tuple[str, RunRecord]]:
    """Return runs of plain training on the rows of `records` with the notions that these ask, each once.

    `plain` has one for each of `records`, or None. Where `records` have plain training on the rows themselves, none is
    needed.
    """
    rows = {name_rows(record.config) for record in records if record.config["method"]["name"] == REFERENCE_METHOD}
    references: dict[tuple[str, str], RunRecord] = {}
    for record, plain_run in zip(records, plain, strict=True):
        alike = plain_run is not None and plain_run.config["data"] == record.config["data"]
        if plain_run is not None and alike and name_rows(record.config) not in rows:
            references.setdefault((record.config["notion"], plain_run.key), plain_run)
    return [(notion, plain_run) for (notion, _), plain_run in references.items()]
