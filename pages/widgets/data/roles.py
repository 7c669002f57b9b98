"""Choosing the data and what its columns mean: a benchmark's code book, or guesses about a file, to be confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from fairpriv_core.data.catalog import DEFAULT_DATA
from fairpriv_core.data.download import VARIABLE, confirm, is_confirmed
from fairpriv_core.data.encodings import name_encodings
from fairpriv_core.data.problem import DataSpec, Problem
from fairpriv_core.data.profile import ColumnReport, FileReport, list_labels
from fairpriv_core.data.roles import Attribute, list_meant, parse_label
from fairpriv_core.data.table_schema import TableSchema, write_statement
from fairpriv_core.files.spelling import guess_positive
from fairpriv_core.files.table import name_bins
from pages.widgets.data.cells import WRITTEN, get_stated, offer_merges, show_first
from pages.widgets.data.columns import choose_columns
from pages.widgets.data.files import GivenFile, begin_reading, choose_given_file, look_into
from pages.widgets.shared.demo import offered_problems
from pages.widgets.shared.person import find_person
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.state import (
    choose,
    draw_list,
    draw_several,
    draw_switch,
    draw_text,
    value,
)
from pages.widgets.shared.written import show_form

_NONE = ""
_ENCODED = {"binned": "binned: with bins that this project chose", "plain": "plain: without bins and logarithms"}
_FEW = 12


def ask_cut(name: str) -> str:
    """Return the label's text, such as `score:150`; "" while it is not said where to cut."""
    about = "One number; a value equal to it belongs to the upper part."
    edge = draw_text(f"label_edge.{name}", plain(f"Cut '{name}' at"), placeholder="a number", help=about)
    if not edge:
        st.info(plain(f"'{name}' is a number: say where to cut it in two."), icon=":material/content_cut:")
    return f"{name}:{edge}" if edge else ""


def name_labels(label: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the two values of a label that is cut; none where it is not said where, or not in one number."""
    attribute = attempt(lambda: parse_label(label, columns)) if label else None
    return () if attribute is None else name_bins(attribute.column, attribute.edges)


def choose_images(report: FileReport) -> tuple[str | None, str | None]:
    """Return the column that holds or names images and "skip" where asked; two None where the rows are no images."""
    if not report.images:
        return None, None
    options = [_NONE, *report.images]
    label = "Images: the column that holds them, or names their files"
    none = "none: the other columns are the features"
    image = draw_list("image", label, options, lambda name: name or none, report.images[0])
    return (image, ask_skip()) if image else (None, None)


def choose_person(report: FileReport, image: str | None) -> str | None:
    """Return the column that says whose a row is; None where no column has several rows of one, or none is chosen."""
    candidates = [column for column in report.columns if column.name != image and 1 < column.distinct < report.rows]
    options = [_NONE, *(column.name for column in candidates)]
    guess = next((column.name for column in candidates if column.role == "person"), _NONE)
    if guess == _NONE and not value("person"):
        return None
    label, none = "Person ID (one row per person is kept)", "No person ID: ε protects single rows"
    return draw_list("person", label, options, lambda name: name or none, guess) or None


def ask_skip() -> str | None:
    """Return "skip" where images that cannot be read are to be left out; None where they are refused."""
    return "skip" if draw_switch("unreadable", "Leave out images that cannot be read", default=False) else None


def ask_terms(problem: Problem) -> bool:
    """Return whether the benchmark may be read; where not, draw what is to be confirmed.

    On a server with sign-in nobody confirms for the others: its operator does.
    """
    if is_confirmed(problem):
        return True
    if find_person().name:
        words = f"{problem.terms} This server's operator confirms it with {VARIABLE}={problem.people or problem.name}."
        st.info(plain(words), icon=":material/gavel:")
        return False
    if not st.checkbox(plain(f"{problem.terms} I use them for nothing else."), key=f"confirm_{problem.name}"):
        return False
    attempt(lambda: confirm(problem))
    return is_confirmed(problem)


def choose_benchmark() -> DataSpec | None:
    """Return the benchmark, label and sensitive attributes that are chosen."""
    offers = offered_problems()
    default = DEFAULT_DATA["dataset"]
    problem = offers[draw_list("dataset", "Data set", offers, lambda name: offers[name].title, default)]
    st.caption(plain(f"{problem.summary} {problem.citation.rstrip('.')}. Licence: {problem.licence}."))
    if not ask_terms(problem):
        return None
    labels = {label.column.name: label for label in problem.labels}
    label = next(iter(labels))
    if len(labels) > 1:
        label = draw_list("label", "Label", labels)
    known_positive = labels[label].positive
    positive = _choose_positive(list(labels[label].column.categories), known_positive) if known_positive else None
    usual = label == next(iter(labels)) and (positive or "") == known_positive
    sensitive = _choose_benchmark_attributes(problem, label)
    skip = ask_skip() if problem.pictures is not None and not problem.editions else None
    if not sensitive:
        return None
    label_choice = (None, None) if usual else (label, positive)
    return DataSpec(
        dataset=problem.name,
        label=label_choice[0],
        positive=label_choice[1],
        sensitive=sensitive,
        unreadable=skip,
        encoding=_ask_encoding(problem),
    )


def _ask_encoding(problem: Problem) -> str:
    """Return how numbers become features; nothing is asked where there is one way."""
    options = name_encodings(problem)
    if len(options) == 1:
        return options[0]
    help_text = "No code book has these bins. Choose plain to compare with published results."
    return str(draw_list("encoding", "Encoding of numbers", options, _ENCODED.__getitem__, help=help_text))


def choose_file() -> DataSpec | None:
    """Return the file, label and sensitive attributes that are chosen; None while something is missing."""
    file = choose_given_file()
    if file is None:
        return None
    looked = attempt(lambda: _look(file))
    if looked is None:
        return None
    report, schema = looked
    above = st.container()
    spec = None if report.errors else _choose_roles(report, file.path)
    if not report.errors:
        offer_merges(report, () if spec is None else list_meant(f"{spec.label}+{spec.sensitive}"))
        show_first(report)
    gridded = spec is not None and spec.image is None
    reasons = {column.said.reason for column in report.columns} if gridded else set()
    sentences = () if report.form is None else report.form.sentences
    warnings = [warning for warning in report.warnings if warning not in reasons.union(sentences)]
    if warnings:
        above.warning("\n".join(f"- {plain(sentence(text))}" for text in warnings), icon=":material/info:")
    for error in report.errors:
        above.error(plain(sentence(error.replace(file.path.name, file.name))), icon=":material/error:")
    if spec is None:
        return None
    spec = replace(spec, schema=write_statement(schema))
    return attempt(lambda: choose_columns(report, spec, schema, name=file.name)) if gridded else spec


def _look(file: GivenFile) -> tuple[FileReport, TableSchema]:
    """Return the report on a file, and the statement of its form by which it was read; draw how to change that."""
    schema, uploaded = get_stated(), file.upload is not None
    begin_reading(schema.file)
    report = look_into(file.path, schema, uploaded=uploaded)
    show_form(report.form, schema.file, of=WRITTEN, is_wrong=bool(report.errors))
    return report, schema


def _choose_roles(report: FileReport, path: Path) -> DataSpec | None:
    """Return the file at `path` with its label, groups, images and people; None while something is missing."""
    st.markdown(f"**{report.rows:,}** rows. Confirm what the columns are.")
    image, skip = choose_images(report)
    person = choose_person(report, image)
    columns = [column for column in report.columns if column.name not in (image, person)]
    usable = {column.name: column for column in columns if column.distinct > 1}
    labels = {column.name: column for column in list_labels(columns)}
    if not labels:
        st.error("No column has two different values, so nothing can be predicted; check the file.")
        return None
    column = labels[_choose_column(labels)]
    label = ask_cut(column.name) if column.is_quantity else column.name
    values = name_labels(label, labels) if column.is_quantity else column.values
    classes = image is not None and len(values) > 2
    usual = values[-1] if column.is_quantity and values else guess_positive(values)
    positive = _choose_positive(list(values), usual) if values and not classes else None
    sensitive = _choose_file_attributes(usable, column.name)
    if (not positive and not classes) or not sensitive:
        return None
    return DataSpec(
        file=str(path),
        label=label,
        positive=positive,
        sensitive=sensitive,
        image=image,
        unreadable=skip,
        person=person,
    )


def _choose_column(labels: dict[str, ColumnReport]) -> str:
    """Return the column that is predicted; a cut one that a link tells, `score:150`, is taken apart."""
    name, _, edge = (value("label") or "").rpartition(":")
    if value("label") not in labels and name in labels:
        choose("label", name)
        choose(f"label_edge.{name}", edge)
    guess = next((name for name, column in labels.items() if column.role == "label"), None)
    return str(draw_list("label", "Label: what is predicted", labels, default=guess))


def _choose_positive(categories: Sequence[str], usual: str) -> str:
    options = list(categories)
    offers = options if usual else ["", *options]
    label = "Positive label: the outcome that counts as 1"
    help_text = "The one whose share is compared between groups: hired, granted, above the line."
    return str(draw_list("positive", label, offers, lambda value: value or "Choose one", usual, help=help_text))


def _choose_benchmark_attributes(problem: Problem, label: str) -> str:
    labels = {candidate.column.name for candidate in problem.labels} if problem.image is None else {label}
    labels -= {label} if problem.classes_are_groups else set()
    columns = {name: column for name, column in problem.columns.items() if name not in labels}
    suggested = problem.sensitive[0].split("+")
    edges = {grouping.column: grouping.edges for grouping in problem.groupings}
    first = list(dict.fromkeys(part for item in problem.sensitive for part in item.split("+")))
    options = [*(name for name in first if name in columns), *(name for name in columns if name not in first)]

    def ask_groups(name: str) -> str:
        column = columns[name]
        if not column.is_quantity:
            return name if name in edges else _ask_apart(name, column.categories)
        declared = edges.get(name, ())
        return name if declared and not _wants_edges(name, declared) else _ask_edges(name)

    return _choose_attributes(options, tuple(suggested), ask_groups)


def _choose_file_attributes(usable: dict[str, ColumnReport], label: str) -> str:
    options = [name for name in usable if name != label]
    guesses = [name for name in options if usable[name].role == "sensitive"]
    guesses.sort(key=lambda name: usable[name].distinct > _FEW)

    def ask_groups(name: str) -> str:
        return _ask_edges(name) if usable[name].is_quantity else _ask_apart(name, usable[name].values)

    return _choose_attributes(options, tuple(guesses[:1]), ask_groups)


def _choose_attributes(options: list[str], suggested: tuple[str, ...], ask_groups: Callable[[str], str]) -> str:
    """Return the sensitive text, such as `sex+age:25,60`; "" while nothing is chosen, or not said where to cut."""
    about = "Groups are compared by it; it is never a feature of the model."
    columns = draw_several("attributes", "Sensitive attribute (several are crossed)", options, suggested, help=about)
    if not columns:
        st.info("Choose at least one sensitive attribute to see its groups.", icon=":material/group:")
        return ""
    parts = [ask_groups(name) for name in columns]
    return "+".join(parts) if all(parts) else ""


def _wants_edges(name: str, declared: tuple[float, ...]) -> bool:
    listing = ", ".join(f"{edge:g}" for edge in declared)
    label = f"Cut '{name}' at other edges than {listing}"
    return draw_switch(f"cut.{name}", plain(label), default=False)


def _ask_apart(name: str, values: Sequence[str]) -> str:
    """Return the column with the values that are groups of their own, all others being one; alone where none is named.

    With two values there is nothing to put together, so nothing is asked.
    """
    if len(values) <= 2:
        return name
    names = draw_several(
        f"groups.{name}",
        plain(f"Groups of '{name}'"),
        values,
        placeholder="every value is a group",
        help="Choose the large ones; all other values become one group. A private run stops at too small a group.",
    )
    return str(Attribute(name, values=tuple(text for text in values if text in names)))


def _ask_edges(name: str) -> str:
    about = "Edges with commas between; a value equal to an edge belongs to the upper group."
    text = draw_text(f"edges.{name}", plain(f"Cut '{name}' into groups at"), placeholder="25, 60", help=about)
    edges = text.replace(" ", "")
    if not edges:
        st.info(
            plain(f"'{name}' is a number: say where to cut it into groups, such as 25, 60."), icon=":material/group:"
        )
        return ""
    return f"{name}:{edges}"
