"""Whether an object declares a data set: a code book that encodes soundly, and a card that says where it comes from."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from fairpriv_core.data.problem import Label, Problem, Source
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column

_WORDS = ("title", "summary", "citation", "licence")
_TWO = 2


def check_problem(name: str, problem: Any) -> None:
    """Raise BadInput unless `problem` is a Problem called `name` that keeps these rules; its files are not read."""
    if not isinstance(problem, Problem):
        raise BadInput(f"a data set must be a Problem, got '{type(problem).__name__}'.")
    _require(problem.name == name, f"the problem's name must be the entry point's '{name}', got '{problem.name}'.")
    for word in _WORDS:
        _require(bool(str(getattr(problem, word)).strip()), f"{word} must be text, got none.")
    exclusive = bool(problem.editions or problem.pictures) != bool(problem.generate)
    _require(exclusive, "a data set has files (editions or pictures) or a generator (generate), and not both.")
    for source in (source for edition in problem.editions for source in edition):
        _check_source(source)
    for column_name, column in problem.columns.items():
        _require(column_name == column.name, f"column '{column_name}' must have its own name, got '{column.name}'.")
        _check_column(column)
    _require(bool(problem.labels), "labels must name what can be predicted, got none.")
    for label in problem.labels:
        _check_label(label, images=problem.image is not None)
    _check_roles(problem)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BadInput(otherwise)


def _check_source(source: Source) -> None:
    path = PurePosixPath(source.path)
    inside = not path.is_absolute() and ".." not in path.parts
    _require(inside, f"a source's path must stay in the data folder, got '{source.path}'.")
    _require(source.url.startswith("https://"), f"a source's url must begin with https://, got '{source.url}'.")
    second = source.mirror == "" or source.mirror.startswith("https://")
    _require(second, f"a source's mirror must begin with https://, got '{source.mirror}'.")
    known = re.fullmatch("[0-9a-f]{64}", source.sha256) is not None
    _require(known, f"a source's sha256 must have 64 hex digits, got '{source.sha256}'.")
    in_archive = (source.member is None) == (source.archive_sha256 is None)
    _require(in_archive, f"member and archive_sha256 of '{source.path}' must be given both or not at all.")


def _check_column(column: Column) -> None:
    name = f"column '{column.name}'"
    if column.is_quantity:
        _require(column.low < column.high, f"{name} must have low < high, got {column.low} and {column.high}.")
        _require(column.scale > 0, f"{name} must have scale > 0, got {column.scale}.")
        rising = list(column.edges) == sorted(set(column.edges))
        _require(rising, f"the edges of {name} must be rising numbers, got {column.edges}.")
        return
    distinct = len(set(column.categories)) == len(column.categories) > 1
    _require(distinct, f"{name} must have two or more categories, each once, got {column.categories}.")
    unknown = {category for _, category in column.recode} - set(column.categories)
    _require(not unknown, f"{name} recodes to what is no category of it: {', '.join(sorted(unknown))}.")


def _check_label(label: Label, *, images: bool) -> None:
    name, categories = f"label '{label.column.name}'", label.column.categories
    if images and len(categories) > _TWO:
        _require(label.positive == "", f"{name} of images has {len(categories)} values, so positive must be ''.")
        return
    _require(len(categories) == _TWO, f"{name} must have two values, got {len(categories)}.")
    known = label.positive in categories
    _require(known, f"positive of {name} must be one of {', '.join(categories)}, got '{label.positive}'.")
    last = label.above is None or label.positive == categories[1]
    _require(last, f"{name} is cut at {label.above}, so its second value must be the positive one.")


def _check_roles(problem: Problem) -> None:
    columns = problem.columns
    _require(bool(problem.sensitive), "sensitive must name a column whose groups are compared, got none.")
    names = {part.partition(":")[0] for text in problem.sensitive for part in text.split("+")}
    unknown = sorted(names - set(columns))
    _require(not unknown, f"sensitive names what is no column: {', '.join(unknown)}.")
    for grouping in problem.groupings:
        _require(grouping.column in columns, f"a grouping is of '{grouping.column}', which is no column.")
        exclusive = bool(grouping.edges) != bool(grouping.values)
        _require(exclusive, f"the grouping of '{grouping.column}' must have values or edges, and not both.")
    extra = {column.name for column in problem.extra} - set(columns)
    _require(problem.unit is None or problem.unit in extra, f"unit must be an extra column, got '{problem.unit}'.")
