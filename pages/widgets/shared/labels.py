"""What a person calls runs, wherever runs are listed: names first, pinned ones first, archived ones on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import streamlit as st

from fairpriv_core.store.labels import RunLabel
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt
from pages.widgets.shared.state import (
    choose,
    draw_list,
    draw_several,
    draw_switch,
    value,
)

Labels = Mapping[str, RunLabel]
_TAG = "only.tag"


class Archivable(Protocol):
    """A row of a list that may have been archived."""

    @property
    def archived(self) -> bool:
        """Whether lists leave it out."""


A = TypeVar("A", bound=Archivable)


def list_runs(store: RunStore, *, limit: int) -> tuple[list[RunRow], Labels] | None:
    """Draw the filters that labels allow; return the newest runs that pass, pinned ones first, and all labels.

    None after showing why they cannot be read.
    """
    labels = attempt(store.labels)
    if labels is None:
        return None
    tags, archived = list_tags(label.tags for label in labels.values()), any(item.archived for item in labels.values())
    if tags or archived:
        with st.popover("Filter runs", icon=":material/filter_list:", key="filter_runs"):
            choose_tags(tags)
            offer_archived(archived)
    rows = attempt(lambda: store.browse(limit=limit, archived=value("archived")))
    required = {tag for tag in value(_TAG) if tag in tags}
    return None if rows is None else ([row for row in rows if required <= {*_find(labels, row.key).tags}], labels)


def choose_run(labels: Mapping[str, str], *, first: str | None = None, bare: bool = False) -> str:
    """Draw the list of runs by their `labels` and return the chosen one's key, at first that of `first`.

    Where a link names a run that is not among them, no other is shown until one is chosen: "" until then.
    """
    keys, linked_key = list(labels), value("run")
    looks: Any = {"label_visibility": "collapsed" if bare else "visible"}
    if not linked_key or linked_key in labels:
        return str(draw_list("run", "Run", keys, labels.__getitem__, first or keys[0], **looks))
    looks |= {"format_func": labels.__getitem__, "placeholder": "Choose another run"}
    instead = st.selectbox("Run", keys, index=None, key="run_instead", **looks)
    if instead is not None:
        choose("run", instead)
        st.rerun()
    return ""


def name_run(labels: Labels, key: str, described: str) -> str:
    """Return a run as a list names it: its own name, its description, and its tags, so that a search finds these."""
    label = _find(labels, key)
    state = ["archived"] if label.archived else []
    return " · ".join([*([label.name] if label.name else []), described, *label.tags, *state])


def list_tags(tag_lists: Iterable[Sequence[str]]) -> list[str]:
    """Return all tags by the alphabet."""
    return sorted({tag for tags in tag_lists for tag in tags}, key=str.casefold)


def choose_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Draw the filter by tag where there are `tags`, and return those that a row must have."""
    return draw_several(_TAG, "Tags", tags, placeholder="all") if tags else ()


def leave_out_archived(rows: Sequence[A]) -> tuple[A, ...]:
    """Draw the switch where a row is archived, and return those to list."""
    with_archived = offer_archived(any(row.archived for row in rows))
    return tuple(row for row in rows if with_archived or not row.archived)


def offer_archived(there_are: bool) -> bool:
    """Draw the switch, where there are archived runs, and return whether they are listed."""
    return there_are and draw_switch("archived", "Show archived runs")


def _find(labels: Labels, key: str) -> RunLabel:
    return labels.get(key, RunLabel())
