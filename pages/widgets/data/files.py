"""Choosing a file: one of a person's uploads, one that is shared with them, or one of the operator's data folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from fairpriv_core.data.folder import find_named, list_names
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.uploads import Upload
from pages.widgets.data.uploads import name_upload, offer_delete, offer_sharing, offer_upload
from pages.widgets.shared.demo import SENTENCE, is_demo
from pages.widgets.shared.guard import attempt, plain, sentence
from pages.widgets.shared.reference import write_file
from pages.widgets.shared.session import find_store
from pages.widgets.shared.state import forget, keep, mount_index


@dataclass(frozen=True)
class GivenFile:
    """A file that can be chosen: where it lies, what it is called, and its upload where it is one."""

    path: Path
    name: str
    upload: Upload | None = None


def choose_given_file() -> GivenFile | None:
    """Return the file that is chosen among the person's uploads, those shared with them, and the data folder's."""
    store = find_store()
    if store is None:
        return None
    if is_demo():
        st.info(plain(sentence(SENTENCE)), icon=":material/visibility:")
        return None
    offer_upload(store)
    given = {_name_choice(item): item for item in _list_files(store)}
    if not given:
        st.caption("Nothing uploaded yet. The first line of a CSV file names its columns.")
        return None
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        shown = st.selectbox(
            "File", list(given), **mount_index("file", given), format_func=lambda name: _describe(given[name], store)
        )
    chosen = given[keep("file", shown)]
    begin_file(str(chosen.path))
    if chosen.upload is not None and chosen.upload.owner == store.payer:
        with right:
            offer_delete(store, chosen.upload)
        offer_sharing(store, chosen.upload)
    return chosen


def begin_file(path: str, *, told: bool = False) -> None:
    """Start from the guesses about the file at `path` where another was shown; unless a link has `told` its roles."""
    before, st.session_state["roles_of"] = st.session_state.get("roles_of"), path
    if before not in (None, path) and not told:
        forget("label", "positive", "image", "unreadable", "attributes", "group_ratio", "rows", "label_edge.", "edges.")


def _list_files(store: RunStore) -> list[GivenFile]:
    uploads = attempt(lambda: store.uploads.visible(store.payer)) or []
    names = attempt(list_names) or []
    brought = [GivenFile(item.path, item.name, item) for item in uploads]
    return [*brought, *(GivenFile(find_named(name), name) for name in names)]


def _name_choice(given: GivenFile) -> str:
    """Return what the choice is called in the session: an upload by its id's start, another as in a reference."""
    return name_upload(given.upload) if given.upload is not None else write_file(str(given.path))


def _describe(given: GivenFile, store: RunStore) -> str:
    if given.upload is None:
        return f"{given.name} ({_size(given.path.stat().st_size)}, on this server)"
    shared = "" if given.upload.owner == store.payer else ", shared by someone else"
    return f"{given.name} ({_size(given.upload.bytes)}{shared})"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{math.ceil(count / 1e3)} kB"
