"""Data: a benchmark or a file of one's own; its label and sensitive attribute; who is in it, on raw counts."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import default_split
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import guess_attributes
from fairpriv_core.data.table_schema import UNSAID, from_text, take_statement
from fairpriv_core.files.spelling import show_number
from pages.widgets.data.cells import get_stated, put_stated
from pages.widgets.data.files import begin_file, begin_reading
from pages.widgets.data.groups import choose_fewer, show_counts, show_terms
from pages.widgets.data.roles import choose_benchmark, choose_file
from pages.widgets.shared.charts import show_origin
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.left_out import show_left_out
from pages.widgets.shared.reference import write_reference
from pages.widgets.shared.session import find_outline, find_spec
from pages.widgets.shared.state import choose, draw_buttons, enter, publish, refuse, value
from pages.widgets.shared.suitable import offer_default, settle_defaults

_SOURCES = {"benchmark": "A benchmark", "file": "Your own file"}


def show() -> None:
    """Draw the page."""
    enter("data")
    st.title("Data", anchor=False)
    data = value("data")
    is_new = data != st.session_state.get("data_shown")
    if is_new and not _follow_reference(data):
        return
    source = draw_buttons("source", "Where from", _SOURCES)
    spec = choose_file() if source == "file" else choose_benchmark()
    spec = None if spec is None else choose_fewer(spec)
    if spec is not None:
        if is_new and data.partition("?")[0] != write_reference(spec).partition("?")[0]:
            refuse("data")  # it names columns that are not there
        _show_description(spec)
    publish(("data", "source"))


def _follow_reference(reference: str) -> bool:
    """Set the page's widgets from a reference that was changed elsewhere: by a link, or by another page.

    Return whether there are such data; where not, that has been said, and no others are shown until they are chosen.
    """
    spec = find_spec(reference)
    if spec is None:
        offer_default(reference)
        return False
    st.session_state["data_shown"] = reference
    attributes = guess_attributes(spec.sensitive)
    if value("source") != "file" or spec.file is not None:
        choose("source", "benchmark" if spec.file is None else "file")
    name = "dataset" if spec.file is None else "file"
    choose(name, spec.dataset or reference.partition(":")[0].removeprefix("file-"))
    if spec.file is not None:
        begin_file(spec.file, from_link=True)
        schema = None if spec.schema is None else from_text(spec.schema)
        put_stated(UNSAID if schema is None else take_statement(schema))
        begin_reading(get_stated().file, from_link=True)
        choose("image", spec.image or "")
        choose("person", spec.person or "")
        choose("schema", spec.schema)
        choose("values_from", "rows" if schema is None else schema.values_from)
        if schema is not None and schema.paid is not None and schema.paid.share is not None:
            choose("schema_share", schema.paid.share)
    choose("label", spec.label)
    choose("positive", spec.positive)
    choose("unreadable", spec.unreadable is not None)
    choose("encoding", spec.encoding)
    choose("group_ratio", "" if spec.group_ratio is None else str(spec.group_ratio))
    choose("rows", "" if spec.rows is None else str(spec.rows))
    choose("attributes", tuple(attribute.column for attribute in attributes))
    for attribute in attributes:
        if attribute.edges:
            choose(f"edges.{attribute.column}", ",".join(map(show_number, attribute.edges)))
        choose(f"groups.{attribute.column}", attribute.values)
    return True


def _show_description(spec: DataSpec) -> None:
    outline = find_outline(spec)
    if outline is None:
        return
    dataset = outline.dataset
    reference = write_reference(spec)
    choose("data", reference)
    st.session_state["data_shown"] = reference
    settle_defaults(reference, dataset)
    show_origin(spec.to_json())
    show_counts(outline, spec, seed=value("seed"), split=default_split(spec.dataset))
    show_left_out(outline)
    show_terms(outline)
    if st.button("Train on this data", key="data_train", type="primary", icon=":material/tune:"):
        go_to("train")


show()
