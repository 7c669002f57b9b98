"""A schema of a person's own table: what each column is for, what it holds and, where declared, its range or values.

As a file it is TOML, one table a column; in a config it is JSON, without the roles, which the config has beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, TypeGuard

from fairpriv_core import checks
from fairpriv_core.data.roles import MOST_GROUPS, Attribute, list_meant
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import EPSILON_OF_ANSWER, LISTS, OF_CELLS, ROLES, SEEMING, TYPES, Column
from fairpriv_core.files.dates import ORDERS, PARTS, read_date
from fairpriv_core.files.forms import UNSTATED, Stated, read_stated
from fairpriv_core.files.growing import MOST_VALUES
from fairpriv_core.files.spelling import canonical, show_number
from fairpriv_core.plain import check_plain, read_json, read_toml, write_toml

#: where ranges, bins and categories that a schema does not state come from; declared: nowhere, it states all; paid: the
#: rows, with noise that epsilon covers, and then it states all
SOURCES = ("rows", "declared", "paid")
#: what columns are that a schema does not name: guessed ones are as they seem
OTHERS = ("left out", "guessed")
MOST_COLUMNS = 5_000
_DEFAULTS: dict[str, object] = {"role": "feature", "type": "number"}
_OF_ENCODING = {"center", "scale", "special"}
_OF_VALUES = {"range", "edges", "log", "categories", "cut", "groups", "positive", "randomized"}
_OF_TYPES = {"type", "part", "order", "at", *_OF_VALUES}
_HEAD = """\
# The columns of {name}, as they seem to be. Change what is wrong; then: fairpriv train --file {name} --schema THIS_FILE
#   role: feature, label, sensitive, person (whose a row is) or left out
#   type: number, whole number, category, code (whole numbers that are names), date or text
#   range = [low, high] of numbers and of years; categories = [...]; missing = true gives missing values a feature
#   part = year, month, weekday or age (then also at = "YYYY-MM-DD") of a date; order = ymd, mdy or dmy
#   cut = [...] of a label or sensitive column; positive = the label's value that counts as 1
#   groups = [...] of a sensitive column: the values that are groups; all others are one more
#   randomized = [1.0] of a sensitive column whose cells are answers by randomised response, flipped with this epsilon
#   spellings = {{ female = ["F", "w"] }}: further texts of a value; case and blanks alone never tell values apart
#   missing_words = ["n/a", "unknown"]: what stands for no value; decimal = "," or "." of a column unlike its file
# others = "guessed" (above all tables): columns that are not named here are as they seem; else they are left out
#   [file] states how the file is written: encoding = "cp1252", separator = ";", decimal = ",", sheet = "Data", and
#   header = the number of the line that names the columns, 0 for none; what is not stated is found
# values_from = "rows": what is not stated is read from the rows. Write "declared" where all of it is stated, and known
# without the rows: then an epsilon that protects records takes no more as given than that. Or measure it with noise:
# fairpriv train --private-schema 0.1 pays with that share of epsilon.
"""


@dataclass(frozen=True)
class Payment:
    """How values that are measured with noise are paid for.

    Before: `share` is that of a run's epsilon, of its mu squared. After: `release` is what the ledger calls the
    measurement, two sums with the multiplier `noise`, and `delta` the chance that a rare value left.
    """

    share: float | None = None
    release: str = ""
    noise: float = 0.0
    delta: float = 0.0


@dataclass(frozen=True)
class TableSchema:
    """What is said of the columns of a table, in its order; `values_from` is one of SOURCES, `paid` for paid ones.

    `others` is one of OTHERS, `file` is what is stated of how the file is written.
    """

    columns: tuple[Column, ...]
    values_from: str = "rows"
    paid: Payment | None = None
    others: str = OTHERS[0]
    file: Stated = UNSTATED

    @property
    def is_open(self) -> bool:
        """Whether its values are still to be measured with noise."""
        return self.paid is not None and not self.paid.release

    def find(self, role: str) -> tuple[Column, ...]:
        """Return the columns of a role."""
        return tuple(column for column in self.columns if column.role == role)

    def to_toml(self, name: str) -> str:
        """Return the file's text for a table called `name`; `read_schema_file` reads it back."""
        columns = {
            column.name: {"role": column.role, "type": column.type, **write_column(column)} for column in self.columns
        }
        reasons = {column.name: column.reason for column in self.columns if column.reason}
        document = {key: {**said, "reason": reasons[key]} if key in reasons else said for key, said in columns.items()}
        return _HEAD.format(name=name) + "\n" + write_toml({**_state_source(self), "columns": document})


def read_schema_file(text: str) -> TableSchema:
    """Return the schema that a TOML text holds; BadInput, naming column and key, for anything else."""
    return _read_schema(read_toml(text, what="the schema"))


def from_text(text: str) -> TableSchema:
    """Return the schema in a config's text; BadInput for any other text."""
    return _read_schema(read_json(text, what="the schema"))


def name_as(schema: TableSchema, *, label: Attribute, positive: str, sensitive: Sequence[Attribute]) -> TableSchema:
    """Return the schema with these columns as its label and sensitive ones, without a range; none other is one."""
    roles = {attribute.column: ("sensitive", attribute) for attribute in sensitive} | {label.column: ("label", label)}
    columns = [
        replace(
            Column(column.name, roles[column.name][0], column.type),
            categories=() if roles[column.name][1].edges else column.categories,
            cut=roles[column.name][1].edges,
            groups=roles[column.name][1].values,
            randomized=column.randomized,
            positive=positive if column.name == label.column and not label.edges else "",
        )
        if column.name in roles
        else column
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(columns))


def to_text(schema: TableSchema, *, compared: Collection[str]) -> str:
    """Return the text for a config: what is used of a schema where the columns `compared` are label and sensitive.

    Of these it has type and categories alone: a range that was read from the rows is none of a record's business.
    """
    columns = {}
    for column in schema.columns:
        if column.name in compared:
            bare = Column(column.name, type=column.type, categories=column.categories, randomized=column.randomized)
            bare = bare.spelled_as(column)
            columns[column.name] = {"type": column.type, **write_column(bare)}
        elif column.role == "feature":
            columns[column.name] = {"type": column.type, **write_column(column)}
        elif schema.others == "guessed":
            columns[column.name] = {"role": "left out", "type": column.type}
    document = {**_state_source(schema), "columns": columns}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def find_compared(schema: TableSchema, *, label: str, sensitive: str) -> set[str]:
    """Return the columns of a schema that a DataSpec's `label` and `sensitive` could mean: see `parse_sensitive`."""
    meant = {name.casefold() for text in (label, sensitive) for name in list_meant(text)}
    return {column.name for column in schema.columns if column.name.casefold() in meant}


def name_roles(schema: TableSchema) -> dict[str, str]:
    """Return what a schema says of label, positive, sensitive and person, as the fields of a DataSpec."""
    label, person = schema.find("label"), schema.find("person")
    roles = {
        "label": "".join(map(_name_cut, label)),
        "positive": "".join(column.positive for column in label),
        "sensitive": "+".join(map(_name_cut, schema.find("sensitive"))),
        "person": "".join(column.name for column in person),
    }
    return {name: text for name, text in roles.items() if text}


def check_declared(schema: TableSchema, *, label: str, sensitive: Sequence[str], cut: Collection[str]) -> None:
    """Raise BadInput unless a schema states all that is used of its columns; those in `cut` need no values.

    Of one whose values are still to be measured that is label and sensitive columns alone.
    """
    known = {column.name: column for column in schema.columns}
    for name in (label, *sensitive):
        if name not in known:
            raise BadInput(f"the schema says nothing of '{name}'; a declared one states every column.", field="schema")
    for column in schema.columns:
        compared = column.name == label or column.name in sensitive
        if compared and column.name not in cut and not column.categories:
            raise _ask(column, "categories", 'the values that it may have, such as ["no", "yes"]')
        if compared or column.role != "feature" or schema.is_open:
            continue
        if column.is_quantity and column.range is None:
            raise _ask(column, "range", "its lowest and highest value, such as [0, 100]")
        if column.type in LISTS and not column.categories:
            raise _ask(column, "categories", 'the values that it may have, such as ["a", "b"]')


def _ask(column: Column, key: str, what: str) -> BadInput:
    return BadInput(
        f"this schema reads nothing from the rows, so its column '{column.name}' needs {key}: {what}.", field="schema"
    )


def list_open(schema: TableSchema) -> tuple[Column, ...]:
    """Return the features whose range or categories a schema does not state."""
    return tuple(
        column
        for column in schema.find("feature")
        if (column.range is None if column.is_quantity else column.type in LISTS and not column.categories)
    )


def pay_for(schema: TableSchema, share: float) -> TableSchema:
    """Return a schema whose values are to be measured with noise, for `share` of a run's epsilon.

    Of a declared one that is what it does not state. Of one that was read from the rows it is all that features have,
    since what it states may be what the rows hold. BadInput for values that are measured already, or a share outside
    (0, 1).
    """
    checks.open_unit(private_schema=share)
    if schema.paid is not None and schema.paid.release:
        raise BadInput("the values of this schema are measured already, so it takes no share.", field="private_schema")
    columns = schema.columns
    if schema.values_from == "rows":
        columns = tuple(forget_values(column) if column.role == "feature" else column for column in columns)
    return replace(schema, columns=columns, values_from="paid", paid=Payment(share=share))


def forget_values(column: Column) -> Column:
    """Return a column without its range, bins or categories."""
    return replace(column, range=None, edges=(), log=None, categories=())


def _state_source(schema: TableSchema) -> dict[str, object]:
    """Return what is said of the whole table: where values come from, how they are paid for, how it is written."""
    document: dict[str, object] = {"values_from": schema.values_from}
    document |= {"others": schema.others} if schema.others != OTHERS[0] else {}
    document |= {"file": schema.file.to_json()} if schema.file else {}
    if schema.paid is None:
        return document
    paid = {"share": schema.paid.share} if schema.paid.share is not None else _drop_empty({**vars(schema.paid)})
    return {**document, "paid": paid}


def state_file(schema: TableSchema, stated: Stated) -> TableSchema:
    """Return a schema with what is `stated` of the file's form, over what it says of it."""
    return replace(schema, file=replace(schema.file, **stated.to_json()))


def state_cells(schema: TableSchema, cells: Sequence[Column]) -> TableSchema:
    """Return a schema with the spellings and missing words that are stated of columns, over what it says of them.

    BadInput for a column that it leaves out.
    """
    by_name = {column.name: column for column in cells}
    unknown = [name for name in by_name if name not in {column.name for column in schema.columns}]
    if unknown and schema.others != "guessed":
        raise BadInput(f"the schema leaves out '{unknown[0]}', so nothing can be said of its cells.", field="schema")
    columns = [_over(column, by_name[column.name]) if column.name in by_name else column for column in schema.columns]
    return replace(schema, columns=(*columns, *(by_name[name] for name in unknown)))


def _over(column: Column, spec: Column) -> Column:
    words = column.missing_words if spec.missing_words is None else spec.missing_words
    return replace(column, spellings=spec.spellings or column.spellings, missing_words=words)


#: says nothing: each column is what it seems to be
UNSAID = TableSchema((), others="guessed")


def take_statement(schema: TableSchema) -> TableSchema:
    """Return of a schema what is stated of the file's form and cells, whatever columns are for and hold."""
    columns = (Column(column.name, type=SEEMING).spelled_as(column) for column in schema.columns)
    return replace(UNSAID, columns=tuple(column for column in columns if column.says_cells), file=schema.file)


def write_statement(said: TableSchema) -> str | None:
    """Return the text for a config of what is stated of form and cells alone; None for nothing."""
    return None if said == UNSAID else to_text(said, compared=())


def find_stated(text: str | None) -> Stated:
    """Return what the schema in a config's text states of how the file is written."""
    return UNSTATED if text is None else from_text(text).file


def _name_cut(column: Column) -> str:
    return str(Attribute(column.name, column.cut, column.groups))


def write_column(column: Column) -> dict[str, object]:
    """Return what is said of a column beside its name, role and type, as plain values; `read_column` reads it."""
    unstated = {"name", "role", "type", "reason", "public", *_OF_ENCODING}
    names = [item.name for item in fields(column) if item.name not in unstated]
    values = {name: getattr(column, name) for name in names}
    values["spellings"] = {value: list(texts) for value, texts in column.spellings}
    words = {} if column.missing_words is None else {"missing_words": list(column.missing_words)}
    return words | _drop_empty(
        {name: _list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    )


def _list(values: tuple[Any, ...]) -> list[Any]:
    """Return values as a list, whole numbers without a point."""
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]


def _drop_empty(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None and value not in ("", [], {})}


def _read_schema(raw: Mapping[str, Any]) -> TableSchema:
    checks.known_names("key of the schema", tuple(raw), ("values_from", "paid", "others", "file", "sealed", "columns"))
    _check_sealed(raw.get("sealed", {}))
    source, columns, others = raw.get("values_from", "rows"), raw.get("columns"), raw.get("others", OTHERS[0])
    checks.one_of(SOURCES, values_from=source)
    checks.one_of(OTHERS, others=others)
    if others == "guessed" and source != "rows":
        raise BadInput(
            f'others = "guessed" reads columns from the rows, and values_from is "{source}"; name all columns.',
            field="schema",
        )
    paid, stated = _read_payment(raw.get("paid"), source), read_stated(raw.get("file", {}))
    least, columns = (0, columns or {}) if others == "guessed" else (1, columns)
    if not isinstance(columns, Mapping) or not least <= len(columns) <= MOST_COLUMNS:
        raise BadInput(
            f"a schema needs a table for each column, such as [columns.age], of 1 to {MOST_COLUMNS:,} columns.",
            field="schema",
        )
    schema = TableSchema(tuple(read_column(name, said) for name, said in columns.items()), source, paid, others, stated)
    for role in ("label", "person"):
        if len(twice := schema.find(role)) > 1:
            raise BadInput(f"the schema names two columns as {role}, {_quote(twice)}; name one.", field="schema")
    return schema


def _check_sealed(sealed: Any) -> None:
    """Raise BadInput unless these are what a note on randomised answers says of its file and of earlier ones."""
    listed = list(sealed.values()) if isinstance(sealed, Mapping) else [None]
    texts = [text for item in listed for text in (item if isinstance(item, list) else [item])]
    if not isinstance(sealed, Mapping) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"sealed in the schema must be a table of texts, got {sealed}.", field="schema")
    checks.known_names("key of sealed in the schema", tuple(sealed), ("table", "others", "person", "earlier"))


def _read_payment(raw: Any, source: str) -> Payment | None:
    if source != "paid":
        if raw is not None:
            raise BadInput(f'paid goes with values_from = "paid", and the schema has "{source}".', field="schema")
        return None
    values = raw if isinstance(raw, Mapping) else {}
    checks.known_names("key of paid in the schema", tuple(values), [item.name for item in fields(Payment)])
    share, release = values.get("share"), values.get("release")
    if release is None and _is_finite(share):
        checks.open_unit(share=share)
        return Payment(share=float(share))
    noise, delta = values.get("noise"), values.get("delta")
    if share is None and isinstance(release, str) and _is_finite(noise) and _is_finite(delta):
        checks.positive(noise=noise)
        checks.open_unit(delta=delta)
        return Payment(None, release, float(noise), float(delta))
    raise BadInput(
        f"a schema whose values are measured with noise needs a table [paid] with share = 0.1 or the like, got {raw}.",
        field="schema",
    )


def _quote(columns: Sequence[Column]) -> str:
    return " and ".join(f"'{column.name}'" for column in columns[:2])


def read_column(name: str, raw: Any) -> Column:
    """Return what `raw`, a mapping as in the file, states of the column `name`; BadInput where it makes no sense."""
    if not isinstance(raw, Mapping):
        raise BadInput(f"column '{name}' of the schema must be a table, got {raw}.", field="schema")
    keys = tuple(item.name for item in fields(Column) if item.name not in {"name", "public", *_OF_ENCODING})
    checks.known_names(f"key of column '{name}' in the schema", tuple(raw), keys)
    check_plain(raw)
    keys = ("role", "type", "part", "order", "at", "decimal", "reason")
    usual = _DEFAULTS if _OF_TYPES & set(raw) or not set(OF_CELLS) & set(raw) else {**_DEFAULTS, "type": SEEMING}
    texts: dict[str, Any] = {key: raw.get(key, usual.get(key, "")) for key in keys}
    allowed_texts = {
        "role": ROLES,
        "type": (*TYPES, SEEMING),
        "part": ("", *PARTS),
        "order": ("", *ORDERS),
        "decimal": ("", ".", ","),
    }
    for key, choices in allowed_texts.items():
        if texts[key] not in choices:
            raise _refuse(name, key, f"one of {', '.join(filter(None, choices))}", texts[key])
    for key in ("log", "missing"):
        if raw.get(key) not in (None, True, False):
            raise _refuse(name, key, "true or false", raw[key])
    column = Column(
        name,
        range=_read_range(name, raw.get("range")),
        edges=_read_rising(name, "edges", raw.get("edges", ())),
        cut=_read_rising(name, "cut", raw.get("cut", ())),
        groups=_read_categories(name, "groups", raw.get("groups", ())),
        categories=_read_categories(name, "categories", raw.get("categories", ())),
        spellings=_read_spellings(name, raw.get("spellings", {})),
        missing_words=_read_words(name, raw.get("missing_words")),
        positive=_read_value(name, "positive", raw.get("positive", "")),
        randomized=_read_epsilons(name, raw.get("randomized", ())),
        log=raw.get("log"),
        missing=raw.get("missing"),
        **texts,
    )
    _check_column(column)
    return column


def _check_column(column: Column) -> None:
    """Raise BadInput where what is said of a column does not go together."""
    name = column.name
    if column.type == "text" and column.role == "feature":
        raise _refuse(name, "role", 'left out: free text is no feature; type = "category" keeps its values', "feature")
    unknown = [value for value, _ in column.spellings if column.categories and value not in column.categories]
    if unknown:
        raise _refuse(name, "spellings", f"of its categories {list(column.categories)}", unknown[0])
    if column.part == "age" and read_date(column.at, "ymd") is None:
        raise _refuse(name, "at", "the day on which the age is taken, such as 2026-01-01", column.at)
    if column.cut and column.role not in ("label", "sensitive"):
        raise _refuse(name, "cut", "left out: only a label or sensitive column is cut", list(column.cut))
    if column.role == "label" and len(column.cut) > 1:
        raise _refuse(name, "cut", "one number: a label is cut in two", list(column.cut))
    if column.groups and (column.role != "sensitive" or column.cut):
        raise _refuse(name, "groups", "left out: only a sensitive column without cut has groups", list(column.groups))
    if column.randomized and (len(column.categories) < 2 or column.type != "category" or column.cut or column.groups):
        raise _refuse(name, "randomized", "of a category column, with all its categories", list(column.randomized))
    if column.role == "sensitive" and not column.groups and len(column.categories) > MOST_GROUPS:
        raise _refuse(name, "categories", f"at most {MOST_GROUPS} groups", f"{len(column.categories)}")


def _refuse(name: str, key: str, right: str, value: Any) -> BadInput:
    return BadInput(f"{key} of column '{name}' in the schema must be {right}, got '{value}'.", field="schema")


def _read_range(name: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    numbers = _read_rising(name, "range", value)
    if len(numbers) != 2:
        raise _refuse(name, "range", "two rising numbers, such as [0, 100]", value)
    return numbers[0], numbers[1]


def _read_rising(name: str, key: str, value: Any) -> tuple[float, ...]:
    listed = value if isinstance(value, list | tuple) else None
    if listed is not None and all(_is_finite(number) for number in listed):
        numbers = tuple(map(float, listed))
        if all(low < high for low, high in pairwise(numbers)):
            return numbers
    raise _refuse(name, key, "rising numbers, such as [25, 60]", value)


def _read_epsilons(name: str, value: Any) -> tuple[float, ...]:
    low, high = EPSILON_OF_ANSWER
    if isinstance(value, list | tuple) and all(_is_finite(epsilon) and low <= epsilon <= high for epsilon in value):
        return tuple(map(float, value))
    raise _refuse(name, "randomized", f"the epsilon of each answer, from {low:g} to {high:g}, such as [1.0]", value)


def _is_finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _read_categories(name: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _refuse(name, key, 'a list, such as ["a", "b"]', value)
    texts = tuple(_read_value(name, key, category) for category in value)
    if len({canonical(text) for text in texts}) < len(texts) or not all(text.strip() for text in texts):
        raise _refuse(name, key, "different values, none of them empty", value)
    if len(texts) > MOST_VALUES:
        raise _refuse(name, key, f"at most {MOST_VALUES:,} values", f"{len(texts):,}")
    return texts


def _read_spellings(name: str, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return further texts of values; BadInput where a text is said to be two of them."""
    if not isinstance(value, Mapping):
        raise _refuse(name, "spellings", 'a table of values, such as { female = ["F", "w"] }', value)
    spellings = tuple((str(category), _read_categories(name, "spellings", texts)) for category, texts in value.items())
    texts = [canonical(text) for _, listed in spellings for text in listed]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise _refuse(name, "spellings", "texts of one value each", twice)
    return spellings


def _read_words(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise _refuse(name, "missing_words", 'a list, such as ["n/a", "unknown"]', value)
    return tuple(_read_value(name, "missing_words", word) for word in value)


def _read_value(name: str, key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refuse(name, key, 'text, such as "yes"', value)
    return value if isinstance(value, str) else show_number(value)
