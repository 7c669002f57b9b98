"""A report on the page: its preview, part by part, and the forms in which it is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from fairpriv_core.documents.document import DETAILS, Bullets, Code, Document, Part, TablePart
from fairpriv_core.documents.forms import NO_BROWSER, OF_STORY, Form, Report, forms_of, open_report
from fairpriv_core.documents.html import write_report_table
from fairpriv_core.documents.report_data import gather_report, gather_stored
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.figures.export import find_browser
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import hold_numbers
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.ledger import find_spent
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import DEFAULTS

_MADE = "report_made"
_USUAL = DEFAULTS["epsilon"]


def find_report(store: RunStore, keys: Sequence[str], audience: Audience, choice: int = 1) -> Report | None:
    """Return the report on the runs `keys`; None after showing why there is none.

    `choice` is the number, from 1, of the setting that its story says was chosen.
    """
    return attempt(lambda: open_report(gather_report(store, keys, find_spent=find_spent), audience, choice=choice))


@st.cache_resource(show_spinner=False)
def find_stored_report(audience: Audience) -> Report:
    """Return the report on the run at the usual ε that comes with this software."""
    return open_report(gather_stored(_USUAL), audience)


@st.cache_resource(show_spinner=False)
def find_stored_story() -> Report:
    """Return the report on the runs that come with this software, whose story says that the usual ε was chosen."""
    data = gather_stored()
    budgets = list(dict.fromkeys(run.config["epsilon"] for run in data.runs))
    return open_report(data, "policy", choice=1 + budgets.index(_USUAL))


def show_where_stored() -> None:
    """Say that what is shown comes with this software, and how to have a run of one's own here."""
    with st.container(horizontal=True, vertical_alignment="center", key="report_stored"):
        st.caption("No run of yours is chosen. This is a stored one on Adult, which is public.")
        link_to("train", "Train your own")


def offer_forms(report: Report, *, of_story: bool = False, without: Sequence[str] = ()) -> None:
    """Draw a button for each form of the report, or of its story alone; but for those `without`.

    What takes a browser is made on a first click and saved with a second.
    """
    own_forms = {name: form for name, form in forms_of(report).items() if name not in without}
    forms = {name: form for name, form in own_forms.items() if (name in OF_STORY) is of_story}
    slow = {name: form for name, form in forms.items() if form.browser}
    with st.container(horizontal=True, key="report_forms"):
        for name, form in forms.items():
            if name not in slow:
                _offer_quick(report, name, form)
    if not _has_browser():
        st.caption(NO_BROWSER)
        with st.container(horizontal=True, key="report_slow"):
            for name in forms.keys() & {"zip"}:  # it leaves out what needs a browser
                _offer_quick(report, name, forms[name])
        return
    with st.container(horizontal=True, key="report_slow"):
        clicked = [name for name, form in slow.items() if _offer_slow(report, name, form)]
    for name in clicked:
        _make(report, name, slow[name])


def show_document(document: Document) -> None:
    """Draw the report as it will be, chapter by chapter."""
    st.caption(document.notice)
    place = st.container()
    for number, section in enumerate(document.sections):
        if section.title == DETAILS:
            place = st.expander(DETAILS, key="report_details")
            continue
        with place:
            st.markdown(f"{'#' * section.level} {_line(section.title)}")
            for index, part in enumerate(section.parts):
                _show_part(part, f"report_{number}_{index}")


def _show_part(part: Part, key: str) -> None:
    if isinstance(part, FigureData):
        show_figure(part, key)
    elif isinstance(part, TablePart):
        st.html(write_report_table(part))
        if part.text:
            st.caption(_line(part.text))
    elif isinstance(part, Bullets):
        st.markdown("\n".join(f"- {_line(item)}" for item in part.items))
    elif isinstance(part, Code):
        st.code(part.text, language="toml")
    else:
        text = _line(part.text)
        st.markdown(f"**{text}**" if part.strong else text)


def _line(text: str) -> str:
    """Return a text on one line, as text: a name that somebody wrote may hold a line's end."""
    return plain(hold_numbers(" ".join(text.split())))


def _offer_quick(report: Report, name: str, form: Form) -> None:
    st.download_button(
        form.title,
        data=partial(form.make, report, lambda _: None),  # its button shows its own progress
        file_name=_name_file(report, name, form),
        mime=form.mime,
        key=f"report_{name}",
        on_click="ignore",
        icon=":material/download:",
    )


def _offer_slow(report: Report, name: str, form: Form) -> bool:
    """Draw the button of a form that takes a browser; return whether it is to be made now."""
    entry = st.session_state.get(_MADE, {}).get(name)
    if entry is None or entry[0] != _seal(report):
        return st.button(form.title, key=f"report_{name}", icon=":material/print:")
    st.download_button(
        f"Save: {plain(form.title)}",
        data=entry[1],
        file_name=_name_file(report, name, form),
        mime=form.mime,
        key=f"report_save_{name}",
        on_click="ignore",
        icon=":material/download:",
        type="primary",
    )
    return False


def _make(report: Report, name: str, form: Form) -> None:
    """Make a form's bytes, saying how far it is, and draw the page again, which then offers them."""
    with st.status(f"{plain(form.title)}: a browser on this machine draws it, some seconds.") as status:
        content = attempt(
            lambda: form.make(report, lambda progress: status.update(label=f"{form.title}: {progress} …"))
        )
    if content is not None:
        st.session_state[_MADE] = {**st.session_state.get(_MADE, {}), name: (_seal(report), content)}
        st.rerun()


def _seal(report: Report) -> int:
    return hash((report.document, report.story))


def _name_file(report: Report, name: str, form: Form) -> str:
    titles = {"md": "model-card", "ipynb": "notebook", "story": "presentation", "pptx": "slides"}
    part = "report" if name in ("html", "pdf", "zip") else titles.get(name, name)
    return f"fairpriv-{part}-{report.audience}-{report.chosen[0].row.keys[0]}.{form.ending}"


def _has_browser() -> bool:
    try:
        find_browser()
    except FairprivError:
        return False
    return True
