"""Work for a page that needs torch or data: curves, audits, sweeps, decisions. A child of the supervisor makes it."""

from __future__ import annotations

import logging
import sys
import traceback
from functools import partial
from importlib import import_module

from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.children import beating, live_with_parent
from fairpriv_core.runs.log import note, set_up_log
from fairpriv_core.store.database import Database
from fairpriv_core.store.previews import LEASE_SECONDS, PreviewStore

# imported in the child alone: they need torch, the supervisor does not
_CURVES = "fairpriv_core.methods.previews"
_MAKERS = {
    "audit": "fairpriv_core.runs.audit",
    "sweep": "fairpriv_core.sweeps.launch",
    "evaluate": "fairpriv_core.runs.evaluate",
    "decide": "fairpriv_core.runs.decide",
    "measure": "fairpriv_core.papers.measured",
}


def run_preview(place: str | None, key: str) -> None:
    """Compute the claimed preview `key` and store its result, or the sentence that says why there is none."""
    live_with_parent()
    set_up_log()
    store = PreviewStore(Database(place))
    try:
        with beating(partial(store.extend, key), every=LEASE_SECONDS / 6):
            request = store.request(key)
            module = next((module for name, module in _MAKERS.items() if name in request), _CURVES)
            compute = import_module(module).compute
            result = compute(request) if module == _CURVES else compute(place, request)
    except Exception as error:
        sentence = str(error)
        if not isinstance(error, FairprivError):
            traceback.print_exc(file=sys.stderr)
            sentence = f"the preview could not be made ({type(error).__name__}: {error})."
        store.finish(key, error=sentence)
        note("preview_ended", level=logging.WARNING, preview=key, status="failed", kind=type(error).__name__)
    else:
        store.finish(key, result=result)
        note("preview_ended", preview=key, status="finished")
