"""Images in memory, and from image files to pixels of one size: what cannot be read is named and counted."""

from __future__ import annotations

import errno
import hashlib
import io
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from PIL import Image

from fairpriv_core.data.mapped import BYTES, stack_blocks
from fairpriv_core.errors import BadInput
from fairpriv_core.files.table import Table

#: a pixel is divided by it: public, and learned from no row
WHITE = 255
#: bytes of pixels, a channel one each, of all images of a data set together, equal ones counted too
MOST_PIXELS = 2_000_000_000
#: of one image's file
MOST_BYTES = 1 << 28
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")  # none that runs a program, as EPS does
_AT_ONCE = 1 << 10
_MOST_NAMED = 5
_BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning)
_GREY = ("1", "L", "LA", "I", "I;16", "F")


@dataclass(frozen=True)
class Pixels:
    """n images of one size: `values` (n, channels, height, width) uint8."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of each image."""
        _, channels, height, width = self.values.shape
        return channels, height, width

    def take(self, index: np.ndarray) -> Pixels:
        """Return the images that `index` (positions, or a mask) selects."""
        positions = np.flatnonzero(index) if index.dtype == np.bool_ else index
        whole = len(positions) == len(self) and bool((positions == np.arange(len(self))).all())
        return self if whole else Pixels(self.values[positions])

    def encode(self) -> np.ndarray:
        """Return the images row by row, (n, channels * height * width) float32 in [0, 1]; RunFailed without room."""
        flat = self.values.reshape(len(self), -1)
        starts = range(0, len(self), _AT_ONCE)
        blocks = (flat[start : start + _AT_ONCE] / np.float32(WHITE) for start in starts)
        return stack_blocks(blocks, rows=len(self), columns=flat.shape[1])

    def seal(self) -> str:
        """Return a SHA-256 of the pixels and of how they lie."""
        seal = hashlib.sha256(repr(self.values.shape).encode())
        for start in range(0, len(self), _AT_ONCE):
            seal.update(self.values[start : start + _AT_ONCE].tobytes())
        return seal.hexdigest()

    def number_twins(self) -> np.ndarray | None:
        """Return a number (n,) int64 that equal images share; None where no two are equal."""
        seen: dict[bytes, int] = {}
        digests = (hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in self.values)
        numbers = np.fromiter((seen.setdefault(name, len(seen)) for name in digests), np.int64, len(self))
        return None if len(seen) == len(self) else numbers


@dataclass(frozen=True)
class Pictures:
    """Images with a table of what is said of each. `digest` seals what both were read from.

    `official_test` and `unit` as in `RawTable`; `notes` are caveats that were found while reading, `assumed` what every
    epsilon takes as given.
    """

    pixels: Pixels
    table: Table
    digest: str
    official_test: np.ndarray | None = None
    unit: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What images are made into: (height, width) or None for their own size, grey or colour (None: as the first)."""

    size: tuple[int, int] | None = None
    colour: bool | None = None


@dataclass
class _Reading:
    """What is known while images are read: the first one's size, and those that cannot be read."""

    target: Target
    first: tuple[str, tuple[int, int]] | None = None
    colour: bool = False
    rows: int = 0
    selected: list[int] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def read(self, names: Sequence[str], find: Callable[[int], bytes]) -> Iterator[np.ndarray]:
        self.rows = len(names)
        for place, name in enumerate(names):
            pixels = self._decode(place, name, find)
            if pixels is not None:
                self.selected.append(place)
                yield pixels

    def _decode(self, place: int, name: str, find: Callable[[int], bytes]) -> np.ndarray | None:
        """Return one image as (1, values); None where it cannot be read.

        BadInput, before its pixels are read, for one of another size, and for more pixels in all than MOST_PIXELS.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                warnings.simplefilter("ignore", UserWarning)  # of what a file says beside its pixels
                image = Image.open(io.BytesIO(find(place)), formats=_FORMATS)
                colour = image.mode not in _GREY if self.target.colour is None else self.target.colour
                self._check_size(name, image.size, colour)
                image.load()
        except _BROKEN as error:
            self.broken.append(f"{name} ({_format_fault(error)})")
            return None
        if self.first is None:
            self.first, self.colour = (name, image.size), colour
        return _flatten(image, self.colour, self.target.size)

    def _check_size(self, name: str, size: tuple[int, int], colour: bool) -> None:
        if self.first is None:
            width, height = size if self.target.size is None else self.target.size
            pixels = self.rows * width * height * (3 if colour else 1)
            if pixels > MOST_PIXELS:
                raise BadInput(
                    f"{self.rows:,} images like {name}, of {size[0]:,} × {size[1]:,} pixels, have {pixels:,} values, "
                    f"and at most {MOST_PIXELS:,} are read; make them smaller, or use fewer.",
                    field="file",
                )
        elif size != self.first[1]:
            own, other = (f"{width} × {height} pixels" for width, height in (self.first[1], size))
            raise BadInput(
                f"images must be of one size: {self.first[0]} has {own}, {name} has {other}; make them alike first.",
                field="file",
            )


def read_image_file(path: Path) -> bytes:
    """Return an image file's bytes; OSError for what is no regular file or has more than MOST_BYTES."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise OSError(errno.EINVAL, "no regular file of at most 256 MB")
    return path.read_bytes()


def decode_images(
    names: Sequence[str], find: Callable[[int], bytes], target: Target, *, skip: bool
) -> tuple[Pixels, np.ndarray, str]:
    """Return the images that `find` gives the bytes of, the positions (m,) of those that could be read, and a caveat.

    The caveat is "" where all could be read. Raises BadInput for images of different sizes, for any that cannot be read
    unless those are to be skipped, and where none can be read.
    """
    reading = _Reading(target)
    images = reading.read(names, find)
    start = next(images, None)
    if start is None:
        raise BadInput(f"none of {len(names):,} images can be read: {_list(reading.broken)}.", field="file")
    height, width = target.size or (reading.first or ("", (0, 0)))[1][::-1]
    stacked = stack_blocks(chain([start], images), rows=len(names), columns=start.shape[1], kind=BYTES)
    if reading.broken and not skip:
        raise BadInput(
            f"{len(reading.broken):,} of {len(names):,} images cannot be read: {_list(reading.broken)}; "
            "mend them, or leave them out with unreadable = skip.",
            field="unreadable",
        )
    selected = np.array(reading.selected, dtype=np.int64)
    values = stacked[: len(selected)].reshape(len(selected), 3 if reading.colour else 1, height, width)
    n_broken = len(reading.broken)
    return (
        Pixels(values),
        selected,
        f"{n_broken:,} of {len(names):,} images cannot be read and were left out." if n_broken else "",
    )


def _flatten(image: Image.Image, colour: bool, size: tuple[int, int] | None) -> np.ndarray:
    """Return an image as (1, channels * height * width) uint8, channel by channel."""
    if image.mode.startswith(("I", "F")):  # 16 bits: the upper 8 of them
        image = Image.fromarray((np.asarray(image, dtype=np.float64) / 256).clip(0, 255).astype(np.uint8))
    image = image.convert("RGB" if colour else "L")
    if size is not None and image.size != size[::-1]:
        image = image.resize(size[::-1], Image.Resampling.BILINEAR)
    values = np.asarray(image)
    channels = values.transpose(2, 0, 1) if colour else values
    return channels.reshape(1, -1)


def _format_fault(error: Exception) -> str:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if "truncated" in text or "Truncated" in text or "broken data stream" in text:
        return "truncated"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return "too many pixels"
    return "no image" if "cannot identify" in text else "unreadable"


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
