"""A further file for a run's model: given here, decided on by a worker, taken away and deleted."""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.files.forms import Form, Stated, read_stated
from fairpriv_core.records.model import DESCRIPTION
from fairpriv_core.store.carried import LIMIT_BYTES
from fairpriv_core.store.decisions import Asked
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import count_text
from pages.widgets.shared.polling import await_answer, look, poll
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.uploader import offer_uploader, spell
from pages.widgets.shared.written import get_form, put_form, show_form

_POLL_SECONDS = 1.0
_WORK = "A worker reads the file and decides on its rows."
_FORM, _FORM_OF = "next", "next_of"  # what is stated of the file goes by that name, and which file it is stated of
_KEPT = (
    "This machine keeps the file and its decisions until you press Done or decide on another file, and for one day at "
    "most. Only you can see them."
)
_RAW = "Raw, for the analyst: these are rows of your file, each with its decision. Do not publish."


def offer_decisions(store: RunStore, row: RunRow) -> None:
    """Draw the place for a file, and what the run's model decided; nothing where the run left no model.

    Whoever may look at the run may use its model: decisions leave, the model does not.
    """
    if not store.database.writable or not _has_model(store, row.key):
        return
    question = attempt(store.decisions.asked)
    is_here = question is not None and question.decide == row.key
    box = st.expander(
        "Decide on a new file", expanded=is_here, key="run_decide", icon=":material/rule:", on_change="rerun"
    )
    if not box.open:
        return
    with box:
        was_refused = offer_uploader(partial(_take, store, row.key), key="decide", help=_KEPT)
        if question is None or not is_here:
            st.caption("The model decides on each row of a file with its columns. " + _KEPT)
        elif not was_refused:
            _show(store, question)


def _has_model(store: RunStore, key: str) -> bool:
    try:
        return bool(store.artifact(key, DESCRIPTION))
    except FairprivError:
        return False


def _take(store: RunStore, key: str, source: IO[bytes], name: str) -> tuple[str, ...]:
    """Store a file in place of the last one, and ask a worker to decide on it."""
    question = store.decisions.put(source, name, run=key, limit_bytes=LIMIT_BYTES)
    store.previews.ask(question.request)
    return ()


def _show(store: RunStore, question: Asked) -> None:
    """Draw how far the decisions are, what was found or why there are none, and the button that deletes it all."""
    progress = look(store, name_request(question.request))
    answer = attempt(lambda: store.decisions.found(question))
    st.caption(f"**{plain(question.name)}** · {_KEPT}")
    if (question.form if answer is None else answer["form"]) is not None:
        _ask_form(store, question, (answer or vars(question))["form"], is_wrong="refused" in (answer or {}))
    if progress.waits:
        poll(await_answer, store, name_request(question.request), _WORK, every=_POLL_SECONDS)
    elif answer is None:
        _show_refused(progress.error or "the file is gone; give it again.")
    elif "refused" in answer:
        _show_refused(_name(str(answer["refused"]), question), question.name)
    else:
        _show_found(store, question, answer)
    end = partial(_end, store, question)
    st.button(
        "Done", key="decide_done", icon=":material/delete:", help="Deletes the file and its decisions", on_click=end
    )


def _ask_form(store: RunStore, question: Asked, form: dict[str, Any], *, is_wrong: bool) -> None:
    """Let it be stated how the file is written; whatever is stated anew, a worker reads it again."""
    statement = read_stated(question.stated)
    if st.session_state.get(_FORM_OF) != question.upload:
        st.session_state[_FORM_OF] = question.upload
        put_form(statement, of=_FORM)
    attempt(lambda: show_form(_read_form(form), statement, of=_FORM, is_wrong=is_wrong))
    now = get_form(of=_FORM)
    if now != statement and attempt(lambda: _read_again(store, question, now, form)) is not None:
        st.rerun()


def _read_form(document: dict[str, Any]) -> Form:
    fields: dict[str, Any] = {
        name: tuple(entry) if isinstance(entry, list) else entry for name, entry in document.items()
    }
    return Form(**fields)


def _read_again(store: RunStore, question: Asked, statement: Stated, form: dict[str, Any]) -> Asked:
    store.previews.cancel(name_request(question.request))
    again = store.decisions.restate(question, statement, form)
    store.previews.ask(again.request)
    return again


def _show_refused(fault: str, *names: str) -> None:
    st.error(plain(spell(fault, names)), icon=":material/error:")


def _end(store: RunStore, question: Asked) -> None:
    attempt(lambda: store.previews.cancel(name_request(question.request)))
    attempt(store.decisions.drop)


def _name(text: str, question: Asked) -> str:
    """Return a sentence with the name that the file came with, in place of the one it has in the store."""
    return text.replace(question.stored, question.name)


def _show_found(store: RunStore, question: Asked, answer: dict[str, Any]) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in answer["decided"].items())
    st.markdown(f"**{count_text(answer['rows'], 'row')}**: {plain(counts)}")
    in_box = () if answer["form"] is None else _read_form(answer["form"]).sentences  # what the form's box says
    remarks = [str(remark) for remark in answer["remarks"] if remark not in in_box]
    if remarks:
        st.markdown("\n".join(f"- {plain(sentence(_name(remark, question)))}" for remark in remarks))
    columns, rows = answer["first"]["columns"], answer["first"]["rows"]
    share = f"Probability of {answer['positive']}" if answer["positive"] else "Probability"
    heads = [*columns, *(head if head not in columns else f"{head} (model)" for head in (share, "Decision"))]
    table = [{"#": place, **dict(zip(heads, row, strict=True))} for place, row in enumerate(rows, start=1)]
    alt = "The first rows as the model uses them, each with its probability and its decision."
    st.dataframe(table, key="decide_table", hide_index=True, height="content", alt=alt)
    st.caption(
        f"The first {count_text(len(rows), 'row')}, as the model uses them. A cell that it cannot use is empty. {_RAW}"
    )
    st.download_button(
        "Download decisions (CSV)",
        lambda: store.decisions.decisions(question),
        f"{question.decide}-decisions.csv",
        "text/csv",
        key="get_decisions",
        on_click="ignore",
        icon=":material/download:",
    )
