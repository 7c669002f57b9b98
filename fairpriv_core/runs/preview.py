"""Work for the Train page that needs torch or data: made by a child of the supervisor, kept in the store."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.children import live_with_parent
from fairpriv_core.runs.store_database import Database
from fairpriv_core.runs.store_previews import PreviewStore

_MAKER = "fairpriv_core.methods.previews"  # imported in the child alone: it needs torch, the supervisor does not


def run_preview(place: str | None, key: str) -> None:
    """Compute the claimed preview `key` and store its result, or the sentence that says why there is none."""
    live_with_parent()
    store = PreviewStore(Database(place))
    try:
        result = import_module(_MAKER).compute(store.request(key))
    except FairprivError as error:
        store.finish(key, error=str(error))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        store.finish(key, error=f"the preview could not be made ({type(error).__name__}: {error}).")
    else:
        store.finish(key, result=result)
