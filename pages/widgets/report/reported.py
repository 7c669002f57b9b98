"""The report on chosen runs, as the page shows it and the files hold it."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.report.document import Audience
from fairpriv_core.report.forms import Report, open_report
from fairpriv_core.report.report_data import gather_report
from fairpriv_core.report.tables import TableRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.guard import attempt


def find_report(store: RunStore, rows: Sequence[TableRow], audience: Audience) -> Report | None:
    """Return the report on all seeds of `rows`; None after showing why there is none."""
    keys = [key for row in rows for key in row.keys]
    return attempt(lambda: open_report(gather_report(store, keys), audience))
