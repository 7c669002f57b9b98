"""A person's own images: a CSV or Parquet file that names one in each row, or a Parquet file that holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from fairpriv_core.data.cells import read_cells, read_first_row
from fairpriv_core.data.decode import Target, decode_images
from fairpriv_core.data.material import Material
from fairpriv_core.data.pixels import Pixels
from fairpriv_core.data.table import count_rows, take_rows
from fairpriv_core.errors import BadInput

_LEARNED = (
    "Which values the label and the sensitive attribute have, the images' size and whether they are grey were read "
    "from the files and are taken as public, and so is the number of images. Pixels are divided by 255, a public "
    "constant."
)

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")


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
        path = self.folder / cell
        if PurePath(cell).is_absolute() or not path.resolve().is_relative_to(self.folder.resolve()):
            raise BadInput(
                f"'{cell}' lies outside the folder of {self.source}; name images relative to that folder.", field="file"
            )
        return path.read_bytes()


def attach_images(rows: Material, path: Path, column: str, *, skip: bool) -> Material:
    """Return `rows`, read from the file at `path`, with the images that their `column` holds or names.

    Rows whose image cannot be read are left out if they are to be skipped; BadInput otherwise, and for images of
    different sizes or outside the file's folder.
    """
    cells = _Cells(read_cells(path, column), path.parent, path.name)
    if len(cells.cells) != count_rows(rows.table):
        raise BadInput(
            f"{path.name}: column '{column}' has other rows than the rest; save the file anew.", field="file"
        )
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, kept, lost = decode_images(names, cells.find, Target(), skip=skip)
    declared = replace(rows.declared, schema=(), assumed=(_LEARNED,), image=pixels.shape)
    return replace(
        rows,
        table=take_rows(rows.table, kept),
        declared=declared,
        digest=hashlib.sha256(f"{rows.digest} {pixels.seal()}".encode()).hexdigest(),
        caveats=(*rows.caveats, *((lost,) if lost else ())),
        unit=pixels.number_twins(),
        unit_name="picture",
        pixels=pixels,
    )


def read_images(path: Path, shape: tuple[int, int, int]) -> Pixels:
    """Return the images that a CSV or Parquet file holds or names, for a model of images of `shape`.

    Raises BadInput where no column or more than one has images, one cannot be read, or their size is another.
    """
    columns = find_image_columns(path)
    if len(columns) != 1:
        found = " and ".join(columns) if columns else "none"
        raise BadInput(f"the model needs one column of images, and {path.name} has {found}.", field="file")
    cells = _Cells(read_cells(path, columns[0]), path.parent, path.name)
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, _, _ = decode_images(names, cells.find, Target(colour=shape[0] > 1), skip=False)
    if pixels.shape != shape:
        wanted, got = (f"{width} × {height} pixels" for _, height, width in (shape, pixels.shape))
        raise BadInput(f"the model was trained on images of {wanted}, {path.name} has {got}.", field="file")
    return pixels


def find_image_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a readable CSV or Parquet file whose first row holds an image or names one."""
    first = read_first_row(path)
    return tuple(name for name, cell in first.items() if isinstance(cell, bytes) or _names_image(cell))


def _names_image(cell: object) -> bool:
    return isinstance(cell, str) and cell.strip().lower().endswith(_ENDINGS)
