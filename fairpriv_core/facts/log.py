"""What happened to a run and when, as sentences, from its row."""

from __future__ import annotations

import time

from fairpriv_core.store.rows import RunRow
from fairpriv_core.text import count_text

_ENDS = {"finished": "Finished", "cancelled": "Stopped by hand", "failed": "Failed"}


def format_log(row: RunRow) -> list[tuple[str, str]]:
    """Return (time in UTC, sentence) in order; "" for what has no time of its own."""
    which = f" as run {row.repeat} of these settings" if row.repeat > 1 else ""
    lines = [(_clock(row.created), f"Queued{which}.")]
    if row.started is not None:
        lines.append((_clock(row.started), "Taken up by a worker."))
    lines += [("", sentence) for sentence in _format_attempts(row)]
    lines += _format_now(row)
    if row.finished is not None and row.status in _ENDS:
        why = f": {row.error}" if row.error else "."
        words = f"{_ENDS[row.status]} at step {row.step:,}, after {row.seconds:.0f} s of training{why}"
        lines.append((_clock(row.finished), words))
    return lines


def _format_attempts(row: RunRow) -> list[str]:
    sentences = []
    if row.crashes:
        sentences.append(f"{count_text(row.crashes, 'process')} died on it since it last got further.")
    if row.host_deaths:
        sentences.append(f"Its machine went down {count_text(row.host_deaths, 'time')} since it last got further.")
    if row.attempt > 1:
        last = f"; the last time from step {row.resumed_from_step:,}" if row.resumed_from_step else ""
        sentences.append(f"Taken up {row.attempt} times in all{last}.")
    return sentences


def _format_now(row: RunRow) -> list[tuple[str, str]]:
    """Return what the run waits for or does."""
    if row.status == "paused":
        return [("", f"Paused at step {row.step:,}; it goes on from there when resumed.")]
    if row.status == "lost":
        return [(_clock(row.heartbeat), f"Last sign of life, at step {row.step:,}: its process is gone.")]
    if row.request and row.status in ("running", "stopping"):
        return [("", f"Told to {row.request}.")]
    return []


def _clock(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
