"""How a person's file is written: what was found, and what its owner states instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import streamlit as st

from fairpriv_core.errors import BadInput
from fairpriv_core.files.characters import ENCODINGS, name_encoding
from fairpriv_core.files.forms import Form, Stated, read_stated
from fairpriv_core.files.several import SEPARATORS
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import ahead, choose, draw_list, draw_text

_NAMES = tuple(item.name for item in fields(Stated))
_DECIMALS = {".": "a point, 1.5", ",": "a comma, 1,5"}


def put_form(statement: Stated, *, of: str) -> None:
    """Set the widgets to a statement; `of` names the file, as their keys do."""
    for name, text in vars(statement).items():
        choose(f"{of}.{name}", "" if text is None else str(text))


def get_form(*, of: str) -> Stated:
    """Return what is stated of the form; what is typed and makes no sense counts as not stated."""
    texts = {name: str(ahead(f"{of}.{name}", "") or "").strip() for name in _NAMES}
    header = texts.pop("header")
    texts |= {} if _is_sign(texts["separator"]) else {"separator": ""}
    return read_stated(texts | ({"header": int(header)} if header.isascii() and header.isdigit() else {}))


def _is_sign(separator: str) -> bool:
    try:
        read_stated({"separator": separator})
    except BadInput:
        return False
    return True


def show_form(form: Form | None, statement: Stated, *, of: str, is_wrong: bool) -> None:
    """Draw what was found of a file's `form`, and let it be stated; open where it is unusual, stated or wrong."""
    if form is None or form.packing == "parquet":
        return
    is_text, has_lines = form.packing != "workbook", not form.notation
    remarks = ("The file cannot be read like this. State what is different.",) if is_wrong else form.sentences
    is_open = bool(remarks or statement)
    key = f"{of}_open" if is_open else of  # of one key a browser keeps what it was for the file before
    with st.expander("How the file is read", key=key, expanded=is_open, icon=":material/table:"):
        for remark in remarks:
            st.caption(plain(remark))
        left, right = st.columns(2)
        if is_text:
            with left:
                encoding = name_encoding(form.encoding) or "UTF-8"
                _ask(f"{of}.encoding", "Encoding", ENCODINGS, statement.encoding, encoding)
        if is_text and has_lines:
            with right:
                encoding = SEPARATORS.get(form.separator, form.separator)
                _ask(f"{of}.separator", "Between values", SEPARATORS, statement.separator, encoding, can_type=True)
        if form.sheet or form.others:
            sheets = {name: name for name in sorted({form.sheet, *form.others})}
            with left:
                _ask(f"{of}.sheet", "Sheet", sheets, statement.sheet, form.sheet)
        if has_lines:
            with left:
                _ask(f"{of}.decimal", "Before decimals", _DECIMALS, statement.decimal, _DECIMALS[form.decimal])
            with right:
                _ask_header(of, form)


def _ask(
    name: str, label: str, options: Mapping[str, str], entry: str, default: str, *, can_type: bool = False
) -> None:
    """Draw a list of what can be stated, or typed; the first entry leaves it at the `default`, as found."""
    titles = {"": "as found", **options}
    titles |= {entry: entry} if entry not in titles else {}
    titles[""] = titles[""] if entry else f"as found: {default}"
    about = "Not in the list? Type the sign." if can_type else None
    draw_list(name, label, titles, lambda text: titles.get(text, text), "", accept_new_options=can_type, help=about)


def _ask_header(of: str, form: Form) -> None:
    header = draw_text(
        f"{of}.header",
        "Line that names the columns",
        placeholder=f"as found: {form.header or 'none'}",
        help="Its number, from 1. Type 0 where no line names them: then they are called column 1, column 2 and so on.",
    )
    if header and not (header.isascii() and header.isdigit()):
        raise BadInput(f"the line that names the columns must be a number, such as 1, or 0 for none, got '{header}'.")
