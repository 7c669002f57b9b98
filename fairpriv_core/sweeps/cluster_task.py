"""What a worker of a cluster does: say whether it may work on a store's runs, and work on those of a task.

The scheduler loads this file too, as it reads every task; torch is loaded where there is training to do. The store is
the one that FAIRPRIV_STORE names where the worker runs: no task carries an address, which may hold a password.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.download import find_files
from fairpriv_core.errors import BadInput, FairprivError, StoreError
from fairpriv_core.records.record import library_versions
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.runs.children import use_one_thread
from fairpriv_core.store.carried import drop_left, find_bytes
from fairpriv_core.store.checkpoint import hash_code
from fairpriv_core.store.claim import Claim, LeaseLost
from fairpriv_core.store.database import Database, resolve
from fairpriv_core.store.uploads import FileStore
from fairpriv_core.store.work import WorkStore

_PATIENCE_SECONDS, _AGAIN_SECONDS = 3600.0, 1.0
#: (data set, file, id of its content) of each, one of the first two being None
DataNames = tuple[tuple[str | None, str | None, str | None], ...]


@dataclass(frozen=True)
class Terms:
    """What a worker must have in common with the process that asks it to work.

    Attributes:
        code: a SHA-256 of fairpriv's sources; `versions` of Python and of the libraries that numbers come from.
        store: `Database.identify` of the store; `where` names it to people, without a password.
        data: what is trained on.
    """

    code: str
    versions: Mapping[str, str]
    store: str
    where: str
    data: DataNames = ()

    @property
    def resource(self) -> str:
        """What Dask calls a place at a worker that meets these terms."""
        return f"fairpriv-{hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]}"


class Unfit(FairprivError):
    """A worker does not meet the terms any more; it has claimed nothing."""


def find_fault(terms: Terms) -> str | None:
    """Return why this process may not work, as what comes after "worker ... "; None where it may.

    One that may has loaded all that it needs: sources that change later change nothing until it is started again.
    """
    fault = _find_other_version(terms) or _find_other_store(terms) or _find_missing_data(terms)
    if fault is None:
        _load_trainer()
        with closing(Database()) as database:
            drop_left(database)
    return fault


def work_on_part(terms: Terms, work: Callable[[Any], Any], part: Any) -> Any:
    """Return what `work` makes of a part of something that needs no store; Unfit for other versions than its own."""
    fault = _find_other_version(terms)
    if fault is not None:
        raise Unfit(f"the process {os.getpid()} on {socket.gethostname()} {fault}")
    use_one_thread()
    return work(part)


def work_on_queued(terms: Terms, which: Mapping[str, Any]) -> int:
    """Claim the queued runs that `which` names (`WorkStore.claimable`), and work on them; return how many there were.

    Safe to call twice, or on two workers: whoever comes second finds nothing to claim. Raises Unfit, and StoreError or
    LeaseLost where an end could not be written.
    """
    fault = _find_other_version(terms) or _find_other_store(terms)
    if fault is not None:
        raise Unfit(f"the process {os.getpid()} on {socket.gethostname()} {fault}")
    with closing(Database()) as database:
        work = WorkStore(database)
        claims = work.claim(**which)
        if claims:
            _work_on(work, claims)
        return len(claims)


def _work_on(work: WorkStore, claims: Sequence[Claim]) -> None:
    """Work on claimed runs; where the store goes away, hand them back once it answers again.

    On this machine nobody else takes them for lost as long as this process lives.
    """
    try:
        _load_trainer()(work, claims)
    except StoreError:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not _hand_back(work, claims) and time.monotonic() < end:
            time.sleep(_AGAIN_SECONDS)
        raise


def _hand_back(work: WorkStore, claims: Sequence[Claim]) -> bool:
    """Return whether the store has taken back what is still held of claims."""
    try:
        for claim in claims:
            with suppress(LeaseLost):  # it has ended, or another has it
                work.hand_back([claim])
    except StoreError:
        return False
    return True


@cache
def read_versions() -> tuple[str, Mapping[str, str]]:
    """Return the SHA-256 of fairpriv's sources as this process found them, and the versions of what a result needs."""
    return hash_code(), library_versions()


def _load_trainer() -> Callable[..., None]:
    use_one_thread()
    work_on: Callable[..., None] = resolve_name("fairpriv_core.runs.worker:work_on")
    return work_on


def _find_other_version(terms: Terms) -> str | None:
    code, versions = read_versions()
    for name, version in terms.versions.items():
        if versions.get(name) != version:
            return f"has {name} {versions.get(name)} where this machine has {version}; install the same versions there."
    if code != terms.code:
        return f"has fairpriv's sources {code[:12]} where this machine has {terms.code[:12]}; install the same there."
    return None


def _find_other_store(terms: Terms) -> str | None:
    advice = f"set FAIRPRIV_STORE there to the URL of {terms.where}."
    if not os.environ.get("FAIRPRIV_STORE"):
        return f"has no FAIRPRIV_STORE; {advice}"
    try:
        if resolve(None).get_backend_name() == "sqlite":
            return f"has a SQLite file in FAIRPRIV_STORE; {advice}"
        database = Database()
    except FairprivError as error:
        return f"cannot open its run store: {error}"
    with closing(database):
        try:
            return None if database.identify() == terms.store else f"has another run store ({database.where}); {advice}"
        except FairprivError as error:
            return f"cannot read its run store: {error}"


def _find_missing_data(terms: Terms) -> str | None:
    for dataset, file, file_id in terms.data:
        if file is not None and not _has(file, file_id):
            what = "has another file at" if Path(file).is_file() else "cannot read"
            where = "must lie at the same path on every worker, or be uploaded to a dashboard of this store."
            return f"{what} {file}; a file of one's own {where}"
        if dataset is not None and problems()[dataset].editions:
            try:
                find_files(problems()[dataset])
            except FairprivError as error:
                return f"cannot have {dataset}: {error}"
    return None


def _has(file: str, file_id: str | None) -> bool:
    """Return whether the content `file_id` of the store lies at the path `file` here, or its bytes in the store."""
    with closing(Database()) as database, suppress(BadInput):
        if Path(file).is_file():
            return file_id in FileStore(database).find(file)
        return find_bytes(database, Path(file).stem) is not None
    return False


def name_data(config: ConfigJson) -> tuple[str | None, str | None, str | None]:
    """Return what `Terms.data` has of a run's config."""
    return config["data"].get("dataset"), config["data"].get("file"), config.get("file_id")
