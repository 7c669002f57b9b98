"""The ledger's gauge in the strip: what the data on this page have spent so far."""

from __future__ import annotations

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import FairprivError
from fairpriv_core.store.rows import RunRow
from pages.widgets.shared.door import find_store
from pages.widgets.shared.ledger import show_gauge
from pages.widgets.shared.session import identify_file, read_spec
from pages.widgets.shared.state import value


def show_gauge_of(row: RunRow | None) -> None:
    """Draw what the data of the run, or the chosen data, have spent; nothing where they cannot be had."""
    store = find_store()
    if store is None:
        return
    try:
        spec = read_spec(value("data"), store) if row is None else DataSpec(**row.config["data"])
        file_id = identify_file(spec.file, store) if row is None else row.config.get("file_id")
    except FairprivError:
        return
    show_gauge(store, spec.to_json(), file_id, delta=value("delta"))
