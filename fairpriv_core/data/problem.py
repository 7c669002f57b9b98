"""What a data set is, as data: its files, its code book, its label, its groups. Nothing here is learned from rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, TypedDict, cast

from fairpriv_core import checks
from fairpriv_core.data.images import Pictures
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.table import Table

#: how numbers of a benchmark become features, the usual one first: see `data/encodings.py`
ENCODINGS = ("binned", "plain")


class DataJson(TypedDict):
    """The JSON form of `DataSpec`."""

    dataset: str | None
    file: str | None
    label: str | None
    positive: str | None
    sensitive: str
    group_ratio: float | None
    rows: int | None
    image: str | None
    unreadable: str | None
    schema: str | None
    person: str | None
    encoding: str


@dataclass(frozen=True)
class DataSpec:
    """Which data, as a person said it: a benchmark by name, or the path of a table of their own.

    `sensitive` follows the grammar `column`, `column:edge,edge` (a numeric column cut into groups) and `a+b`
    (groups crossed). `label` is a column, or `column:edge`: numbers that are at least the edge, or below it. `label`
    and `positive` may be None for a benchmark; a file needs its `label`. With `group_ratio`, in (0, 1], training rows
    of every group that is larger than the smallest one over `group_ratio` are left out at random until it has that
    size; test rows stay as they are drawn. With `rows` that many rows are used, drawn with a constant seed whatever
    they hold, and the others are left alone. `image` is the column of a file that holds images or names them, None
    where its rows are no images; `unreadable` is "skip" to leave out images that cannot be read, None to refuse them.
    `schema` is what a person says of a file's columns, as `table_schema.to_text` writes it; `person` is the column that
    says whose a row is: of each person's rows one is used. `encoding` is one of ENCODINGS; of a file the schema says
    which bins there are.
    """

    dataset: str | None = None
    file: str | None = None
    label: str | None = None
    positive: str | None = None
    sensitive: str = ""
    group_ratio: float | None = None
    rows: int | None = None
    image: str | None = None
    unreadable: str | None = None
    schema: str | None = None
    person: str | None = None
    encoding: str = ENCODINGS[0]

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.file is None):
            raise BadInput("give either a dataset or a file, not both and not neither.", field="dataset")
        if self.file is not None and not self.label:
            raise BadInput("label must name the column of the file that is to be predicted, got none.", field="label")
        if not self.sensitive.strip():
            raise BadInput(
                "sensitive must name a column, like sex, age:25,60 or sex+race, got an empty text.", field="sensitive"
            )
        if self.group_ratio is not None:
            checks.rate(group_ratio=self.group_ratio)
        if self.rows is not None:
            checks.whole(low=2, rows=self.rows)
        for name in ("image", "schema", "person"):
            if getattr(self, name) is not None and self.file is None:
                raise BadInput(
                    f"{name} is about a file of one's own, got '{getattr(self, name)}' and no file.", field=name
                )
        if self.unreadable not in (None, "skip"):
            raise BadInput(f"unreadable must be skip, or be left out, got '{self.unreadable}'.", field="unreadable")

        checks.one_of(ENCODINGS, encoding=self.encoding)
        if self.encoding != ENCODINGS[0] and self.file is not None:
            raise BadInput(
                f"encoding is about a benchmark, got '{self.encoding}' and a file: the edges in its schema are its "
                "bins.",
                field="encoding",
            )

    def to_json(self) -> DataJson:
        """Return the JSON form, which says every field."""
        return cast(DataJson, {item.name: getattr(self, item.name) for item in fields(self)})


Schema = tuple[Column, ...]


@dataclass(frozen=True)
class Label:
    """A column that can be predicted; `positive` is the value that counts as 1.

    Only images may have more than two values and all of them predicted: `positive` is then "".

    With `above` the published file holds numbers: those above it are the column's second category, the others its
    first. With `edge` the rows do, as a person asked to cut them: those equal to it belong to the second category too.
    """

    column: Column
    positive: str
    above: float | None = None
    edge: float | None = None


@dataclass(frozen=True)
class Grouping:
    """The groups of a sensitive column: listed values and what the rest is called, or the edges of a numeric column."""

    column: str
    values: tuple[str, ...] = ()
    rest: str | None = None
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class Layout:
    """How a published file is written down.

    `columns` are its names where it has no header line; `skip` is the number of lines before the header (or, without
    one, before the rows); `rename` maps names of this edition to those of the code book.
    """

    separator: str = ","
    columns: tuple[str, ...] = ()
    skip: int = 0
    rename: tuple[tuple[str, str], ...] = ()
    kind: Literal["text", "workbook", "parquet", "idx"] = "text"


@dataclass(frozen=True)
class Source:
    """One published file: its place under the data folder, its address and checksum; `member` if it lies in a zip.

    `mirror` is a second public address, of the file itself, for when the first does not give it; "" where none is.
    """

    path: str
    url: str
    sha256: str
    layout: Layout
    member: str | None = None
    archive_sha256: str | None = None
    part: Literal["train", "test"] | None = None
    mirror: str = ""


@dataclass(frozen=True)
class Shipped:
    """One Parquet file of a package with the rows of a benchmark's first edition, each cell as it is published.

    Its column `part` says which of the edition's files a row is from, by their `part`.
    """

    path: Path
    sha256: str


@dataclass(frozen=True)
class Keep:
    """A published row filter: keep rows whose number lies in [low, high], and whose value is none of `without`."""

    column: str
    low: float | None = None
    high: float | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A benchmark as data. Groups, ranges and categories are declared, so nothing private decides the encoding.

    `editions` are alternatives, the first found is read; each is the files that make up the data. With `shipped` that
    file is always read in their place, and the data go by the checksums of the first edition. `labels` starts with
    the usual one. `same` lists columns that say the same thing: where one is sensitive, none of them is a feature.
    `keep` filters rows before anything else; `drop_missing` then drops rows with a missing value. `extra` are columns
    read for the filter alone, and for `unit`: one of them, which says whose each row is where people have several.
    `assumed` are sentences that an epsilon under the threat model `record` takes as given.

    `pictures` reads images of the size `image` (channels, height, width) in place of a table, and is told whether to
    skip those that cannot be read. `schema` then has the columns that may be sensitive, none a feature.
    `classes_are_groups`: the label may be the sensitive attribute too. `split` is taken unless another is named;
    "official" is then the only one. `terms` is what has to be confirmed before the data is read, "" for nothing; models
    of such data stay here. `coded` are the columns of numbers that are codes, whose bins are groups of the code book.
    `people` names whom the data is about where no file of its own does and another benchmark
    is about the same. `spoken` are pairs of a group, or a label, and how a sentence speaks of it: ("Female", "women"),
    (">50K", "predicted to earn above 50,000 dollars a year").
    """

    name: str
    title: str
    summary: str
    citation: str
    licence: str
    labels: tuple[Label, ...]
    sensitive: tuple[str, ...]
    schema: Schema
    groupings: tuple[Grouping, ...] = ()
    editions: tuple[tuple[Source, ...], ...] = ()
    generate: Callable[[], Table] | None = None
    keep: tuple[Keep, ...] = ()
    extra: Schema = ()
    same: tuple[tuple[str, ...], ...] = ()
    drop_missing: bool = False
    unit: str | None = None
    assumed: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    pictures: Callable[[Problem, bool], Pictures] | None = None
    image: tuple[int, int, int] | None = None
    classes_are_groups: bool = False
    split: str = "rows"
    terms: str = ""
    people: str = ""
    coded: tuple[str, ...] = ()
    spoken: tuple[tuple[str, str], ...] = ()
    shipped: Shipped | None = None

    @property
    def one_split(self) -> bool:
        """Whether the published split is the only one."""
        return self.split == "official"

    @property
    def columns(self) -> dict[str, Column]:
        """Every column that may be a feature, a label or a sensitive attribute, by name."""
        return {column.name: column for column in (*self.schema, *(label.column for label in self.labels))}
