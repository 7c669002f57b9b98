"""Images that a person's own file holds or names in one of its columns."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from fairpriv_core.data.images import Pixels, Target, decode_images, read_image_file
from fairpriv_core.data.schema import RawTable
from fairpriv_core.errors import BadInput
from fairpriv_core.files.faults import check_file, explain
from fairpriv_core.files.forms import UNSTATED, Form, Stated, find_form, list_rows
from fairpriv_core.files.several import open_parts
from fairpriv_core.files.table import count_rows, take_rows
from fairpriv_core.paths import read_path

_LEARNED = (
    "Which values the label and the sensitive attribute have, the images' size and whether they are grey were read "
    "from the files and are taken as public. So are the number of images, which of them are equal, and which cannot be "
    "read. Pixels are divided by 255, a public constant."
)
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")


def read_cells(path: Path, column: str, stated: Stated = UNSTATED) -> list[Any]:
    """Return one column of a file that can be read: texts, bytes, or None where nothing is written.

    Raises BadInput for a file without that column.
    """
    check_file(path)
    form = find_form(path, stated=stated)
    if form.packing != "parquet":
        place = _find(column, form.names)
        return [row[place].strip() or None if place < len(row) else None for row in list_rows(path, form)]
    try:
        with open_parts(path) as parts:
            _find(column, parts.schema.names)
            return [_plain(cell) for cell in parts.to_table(columns=[column]).column(column).to_pylist()]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise explain(error, path, (), row=None) from error


def read_first_row(path: Path, form: Form | None = None) -> dict[str, object]:
    """Return the first row of a file that can be read, by column, of the `form` where it is known.

    Columns without a name are left out.
    """
    form = form or find_form(path)
    if form.packing != "parquet":
        rows = list_rows(path, form)
        return {name: cell for name, cell in zip(form.names, next(rows, []), strict=False) if name}
    try:
        with open_parts(path) as parts:
            head = parts.head(1).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise explain(error, path, (), row=None) from error
    return {name: _plain(cell) for name, cell in (head[0] if head else {}).items()}


def _find(column: str, columns: Sequence[str]) -> int:
    if column not in columns:
        raise BadInput(f"unknown column '{column}' in image; choose from {', '.join(columns)}.", field="image")
    return list(columns).index(column)


def _plain(cell: Any) -> Any:
    """Return a cell; of one that has bytes beside a name, as Hugging Face writes images, the bytes."""
    return cell["bytes"] if isinstance(cell, dict) and "bytes" in cell else cell


@dataclass(frozen=True)
class _Cells:
    """The cells of the image column: bytes, or names of files relative to `folder`."""

    cells: Sequence[Any]
    folder: Path
    source: str

    def name(self, place: int) -> str:
        """Return what an image is called in a sentence."""
        cell = self.cells[place]
        return cell if isinstance(cell, str) else f"row {place + 1}"

    def find(self, place: int) -> bytes:
        """Return an image's bytes; OSError where there is no such file, BadInput for one outside the folder."""
        cell = self.cells[place]
        if isinstance(cell, bytes):
            return cell
        if not isinstance(cell, str):
            raise FileNotFoundError(f"{self.name(place)} names no image")
        try:
            path = read_path(str(self.folder / cell))
        except BadInput as error:
            raise OSError(errno.EINVAL, str(error)) from error
        if PurePath(cell).is_absolute() or not path.resolve().is_relative_to(self.folder.resolve()):
            raise BadInput(
                f"'{cell}' lies outside the folder of {self.source}; name images relative to that folder.", field="file"
            )
        return read_image_file(path)


def attach_images(rows: RawTable, path: Path, column: str, *, skip: bool, stated: Stated = UNSTATED) -> RawTable:
    """Return `rows`, read from the file at `path`, with the images that their `column` holds or names.

    Rows whose image cannot be read are left out if they are to be skipped; BadInput otherwise, and for images of
    different sizes or outside the file's folder.
    """
    cells = _Cells(read_cells(path, column, stated), path.parent, path.name)
    if len(cells.cells) != count_rows(rows.table):
        raise BadInput(
            f"{path.name}: column '{column}' has other rows than the rest; save the file anew.", field="file"
        )
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, selected, caveat = decode_images(names, cells.find, Target(), skip=skip)
    declared = replace(rows.declared, schema=(), assumed=(_LEARNED,), image=pixels.shape)
    return replace(
        rows,
        table=take_rows(rows.table, selected),
        declared=declared,
        digest=hashlib.sha256(f"{rows.digest} {pixels.seal()}".encode()).hexdigest(),
        caveats=(*rows.caveats, *((caveat,) if caveat else ())),
        unit=pixels.number_twins(),
        unit_name="picture",
        pixels=pixels,
    )


def read_images(path: Path, shape: tuple[int, int, int]) -> Pixels:
    """Return the images that a file holds or names, for a model of images of `shape`.

    Raises BadInput where no column or more than one has images, one cannot be read, or their size is another.
    """
    columns = find_image_columns(path)
    if len(columns) != 1:
        listing = " and ".join(columns) if columns else "none"
        raise BadInput(f"the model needs one column of images, and {path.name} has {listing}.", field="file")
    cells = _Cells(read_cells(path, columns[0]), path.parent, path.name)
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, _, _ = decode_images(names, cells.find, Target(colour=shape[0] > 1), skip=False)
    if pixels.shape != shape:
        size, got = (f"{width} × {height} pixels" for _, height, width in (shape, pixels.shape))
        raise BadInput(f"the model was trained on images of {size}, {path.name} has {got}.", field="file")
    return pixels


def find_image_columns(path: Path, form: Form | None = None) -> tuple[str, ...]:
    """Return the columns of a readable file, of the `form` where it is known, whose first row holds or names images."""
    first = read_first_row(path, form)
    return tuple(name for name, cell in first.items() if isinstance(cell, bytes) or _names_image(cell))


def _names_image(cell: object) -> bool:
    return isinstance(cell, str) and cell.strip().lower().endswith(_ENDINGS)
