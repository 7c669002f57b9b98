"""Work for a page that needs torch or data: curves, audits, sweeps, decisions. A child of the supervisor makes it."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fairpriv_core.errors import FairprivError, StoreError
from fairpriv_core.runs.children import live_with_parent
from fairpriv_core.runs.log import note, set_up_log
from fairpriv_core.store.database import Database
from fairpriv_core.store.previews import LEASE_SECONDS, PreviewStore

# imported in the child alone: they need torch, the supervisor does not
_CURVES, _AUDITS = "fairpriv_core.methods.previews", "fairpriv_core.runs.audit"
_SWEEPS, _MEASURES = "fairpriv_core.sweeps.launch", "fairpriv_core.papers.measured"
_EVALUATIONS, _DECISIONS = "fairpriv_core.runs.evaluate", "fairpriv_core.runs.decide"


def run_preview(place: str | None, key: str) -> None:
    """Compute the claimed preview `key` and store its result, or the sentence that says why there is none."""
    live_with_parent()
    set_up_log()
    store = PreviewStore(Database(place))
    try:
        with _keep_lease(store, key):
            result = _make(place, store.request(key))
    except FairprivError as error:
        store.finish(key, error=str(error))
        note("preview_ended", level=logging.WARNING, preview=key, status="failed", kind=type(error).__name__)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        store.finish(key, error=f"the preview could not be made ({type(error).__name__}: {error}).")
        note("preview_ended", level=logging.WARNING, preview=key, status="failed", kind=type(error).__name__)
    else:
        store.finish(key, result=result)
        note("preview_ended", preview=key, status="finished")


def _make(place: str | None, request: Mapping[str, Any]) -> Mapping[str, Any]:
    if "audit" in request:
        made: Mapping[str, Any] = import_module(_AUDITS).compute(place, request)
    elif "sweep" in request:
        made = import_module(_SWEEPS).compute(place, request)
    elif "evaluate" in request:
        made = import_module(_EVALUATIONS).compute(place, request)
    elif "decide" in request:
        made = import_module(_DECISIONS).compute(place, request)
    elif "measure" in request:
        made = import_module(_MEASURES).compute(place, request)
    else:
        made = import_module(_CURVES).compute(request)
    return made


@contextmanager
def _keep_lease(store: PreviewStore, key: str) -> Iterator[None]:
    """Extend the preview's lease while it is being made."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(LEASE_SECONDS / 6):
            try:
                store.extend(key)
            except StoreError:
                continue

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
