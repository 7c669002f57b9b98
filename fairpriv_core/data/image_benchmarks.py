"""The benchmarks of images: handwritten digits, their copy with a rare digit, and faces from a person's own folder.

The pixels are what Pillow makes of each JPEG: converted to grey (or left in colour), resized by its bilinear filter,
and nothing else. No face is stored by this project or leaves the process that reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairpriv_core.data.download import find_edition, find_local
from fairpriv_core.data.images import Pictures, Pixels, Target, decode_images, read_image_file
from fairpriv_core.data.problem import Label, Layout, Problem, Source
from fairpriv_core.errors import BadInput, DataUnavailable
from fairpriv_core.files.column import category
from fairpriv_core.files.table import Codes
from fairpriv_core.seeds import public_generator

DIGITS = tuple("0123456789")
#: of this digit's training images RARE_KEPT are kept, drawn with RARE_SEED
RARE, RARE_KEPT, RARE_SEED = 8, 500, 8
_MAGIC = {3: 2051, 1: 2049}
VARIABLE = "FAIRPRIV_UTKFACE"
ADDRESS = "https://susanqq.github.io/UTKFace/"
#: the nine classes of age are parted at these years, the two of age_binary at MIDDLE_AGE, those of age_36 at OLDER_AGE
AGE_EDGES = (10, 15, 20, 25, 30, 40, 50, 60)
MIDDLE_AGE, OLDER_AGE = 30, 36
AGES = ("under 10", "10 to 14", "15 to 19", "20 to 24", "25 to 29", "30 to 39", "40 to 49", "50 to 59", "60 or older")
HALVES, OLDER = ("under 30", "30 or older"), ("under 36", "36 or older")
GENDERS = ("male", "female")
RACES = ("White", "Black", "Asian", "Indian", "Others")
_OLDEST = 116
_MOST_NAMED = 5
_NAME = re.compile(r"(\d+)_(\d+)_(\d+)_\d+ ?\.?jpg\.chip\.jpg")
_PREPARED = Source(
    path="utkface/utkface_48x48_gray_15000.npz",
    url=ADDRESS,
    sha256="dff80b26346f7b97280d0e814eb065f83b6909f0e84a84b9b5c2eb0143bf5934",
    layout=Layout(),
)
_MNIST_FILES = (
    ("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
_LEFT_OUT = (
    "Which pictures are equal is taken as public, and so is which files were left out: their names give no race or "
    "unknown labels, or they cannot be read."
)
_RESEARCH = "The faces may be used for non-commercial research only, and their photographers keep all rights."


def read_unbalanced(problem: Problem, _: bool) -> Pictures:
    """Return all published images but those of the rare digit's training images that are not drawn."""
    files = find_edition(problem.editions)
    images = [read_idx(path, 3) for source, path in files if "images" in source.path]
    labels = [read_idx(path, 1) for source, path in files if "labels" in source.path]
    digits = np.concatenate(labels).astype(np.int64)
    test = np.arange(len(digits)) >= len(labels[0])
    selected = keep_rare(digits, test)
    sealed = hashlib.sha256("".join(source.sha256 for source, _ in files).encode())
    sealed.update(repr((RARE, RARE_KEPT, RARE_SEED)).encode())
    return Pictures(
        Pixels(np.concatenate(images)[:, None][selected]),
        {problem.labels[0].column.name: Codes(digits[selected], DIGITS)},
        sealed.hexdigest(),
        official_test=test[selected],
    )


def keep_rare(digits: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the positions that stay, rising; `digits` (n,) and `test` (n,), the mask of the published test images."""
    rare = np.flatnonzero((digits == RARE) & ~test)
    sample = public_generator(RARE_SEED, "mnist_unbalanced").permutation(rare)[:RARE_KEPT]
    return np.sort(np.concatenate([np.setdiff1d(np.arange(len(digits)), rare), sample]))


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Return the uint8 array of a gzipped idx file; DataUnavailable where it is none of `dimensions` dimensions."""
    with gzip.open(path) as file:
        content = file.read()
    head = np.frombuffer(content, dtype=">i4", count=1 + dimensions) if len(content) >= 4 + 4 * dimensions else [0]
    shape = tuple(int(size) for size in head[1:])
    if head[0] != _MAGIC[dimensions] or len(content) != 4 + 4 * dimensions + int(np.prod(shape)):
        raise DataUnavailable(f"{path} is no idx file of {dimensions} dimensions; delete it.", field="dataset")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


@dataclass(frozen=True)
class Faces:
    """Pixels, and age (years), gender and race (n,) of each face; `notes` say which files were left out."""

    pixels: Pixels
    age: np.ndarray
    gender: np.ndarray
    race: np.ndarray
    digest: str
    notes: tuple[str, ...] = ()


def read_small(_: Problem, skip: bool) -> Pictures:
    """Return the faces in grey, 48 × 48; errors as `read_folder`, and DataUnavailable where there are none."""
    folder = find_folder()
    prepared = None if folder is not None else find_local(_PREPARED)
    if prepared is not None:
        return _build_pictures(_read_prepared(prepared))
    return _build_pictures(read_folder(_need(folder), Target((48, 48), colour=False), skip=skip))


def read_large(_: Problem, skip: bool) -> Pictures:
    """Return the faces in colour, 128 × 128; errors alike."""
    return _build_pictures(read_folder(_need(find_folder()), Target((128, 128), colour=True), skip=skip))


def find_folder() -> Path | None:
    """Return the folder of the original files that the person names; None where they name none."""
    folder = os.environ.get(VARIABLE)
    return Path(folder).expanduser() if folder else None


def read_folder(folder: Path, target: Target, *, skip: bool) -> Faces:
    """Return the faces of a folder of original JPEG files in the order of their names.

    Files that name no race are left out. Raises BadInput for a folder without such files; for files whose name gives no
    or other labels and for those that cannot be read, unless these are to be skipped; for images of different sizes.
    """
    names = sorted(path.name for path in folder.glob("*.jpg")) if folder.is_dir() else []
    labels = {name: _read_name(name) for name in names}
    known = {name: persons for name, persons in labels.items() if persons is not None}
    if not known:
        raise BadInput(
            f"{VARIABLE} must name a folder of files like 26_1_2_20170116184024662.jpg.chip.jpg, got {folder}.",
            field="dataset",
        )
    notes = [_check_names([name for name in names if labels[name] is None], len(names), skip=skip)]
    listed = list(known)
    pixels, selected, caveat = decode_images(listed, lambda at: read_image_file(folder / listed[at]), target, skip=skip)
    age, gender, race = np.array([known[listed[at]] for at in selected]).T
    remarks = tuple(note for note in (*notes, caveat) if note)
    return Faces(pixels, age, gender, race, "", remarks)


def _need(folder: Path | None) -> Path:
    if folder is None:
        raise DataUnavailable(
            f"UTK-Face is not downloaded for you: get 'Aligned & Cropped Faces' from {ADDRESS}, unpack it and set "
            f"{VARIABLE} to the folder of its JPEG files.",
            field="dataset",
        )
    return folder


def _read_name(name: str) -> tuple[int, int, int] | None:
    """Return (age, gender, race) as a file's name gives them; None where it gives none, or others than there are."""
    match = _NAME.fullmatch(name)
    age, gender, race = (int(part) for part in match.groups()) if match else (-1, -1, -1)
    return (age, gender, race) if 0 <= age <= _OLDEST and 0 <= gender <= 1 and 0 <= race <= 4 else None


def _check_names(strange: Sequence[str], every: int, *, skip: bool) -> str:
    """Return what is said of files whose labels are unknown; files that lack only the race are left out silently."""
    lacking = [name for name in strange if re.fullmatch(r"\d+_[01]_\d{17}\.jpg\.chip\.jpg", name)]
    other = [name for name in strange if name not in lacking]
    if other and not skip:
        more = f" and {len(other) - _MOST_NAMED:,} more" if len(other) > _MOST_NAMED else ""
        raise BadInput(
            f"{len(other):,} of {every:,} files have labels outside the mapping (age 0 to {_OLDEST}, gender 0 or 1, "
            f"race 0 to 4): {', '.join(other[:_MOST_NAMED])}{more}; rename them, or leave them out with "
            "unreadable = skip.",
            field="unreadable",
        )
    counts = [(len(lacking), "gives no race"), (len(other), "gives labels outside the mapping")]
    files = " and ".join(f"{_count(number, 'file')} whose name {what}" for number, what in counts if number)
    return f"{files} {'was' if len(strange) == 1 else 'were'} left out." if strange else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _read_prepared(path: Path) -> Faces:
    """Return the faces of an array that was made like `read_small`'s, for tests: 15,000 of them."""
    with np.load(path, allow_pickle=False) as arrays:
        pixels = Pixels(arrays["pixels"][:, None])
        age, gender, race = (arrays[name].astype(np.int64) for name in ("age", "gender", "race"))
    note = f"These are {len(pixels):,} of the 23,705 faces, prepared for tests."
    return Faces(pixels, age, gender, race, _PREPARED.sha256, (note,))


def _build_pictures(faces: Faces) -> Pictures:
    """Return faces with the classes of their labels; equal ones are of one person, and are counted."""
    age = np.searchsorted(AGE_EDGES, faces.age, side="right")
    table = {
        "age": Codes(age, AGES),
        "age_binary": Codes((faces.age >= MIDDLE_AGE).astype(np.int64), HALVES),
        "age_36": Codes((faces.age >= OLDER_AGE).astype(np.int64), OLDER),
        "gender": Codes(faces.gender, GENDERS),
        "race": Codes(faces.race, RACES),
    }
    unit = faces.pixels.number_twins()
    labels = np.stack([faces.age, faces.gender, faces.race], axis=1)
    notes = faces.notes if unit is None else (*faces.notes, _count_twins(unit))
    sealed = faces.digest or _seal(faces.pixels, labels)
    return Pictures(faces.pixels, table, sealed, unit=unit, notes=notes, assumed=(_LEFT_OUT,))


def _count_twins(unit: np.ndarray) -> str:
    """Return how many pictures occur more than once; what their labels are is protected."""
    sizes = np.bincount(unit)
    twins = sizes[sizes > 1]
    occur = "occurs" if len(twins) == 1 else "occur"
    return (
        f"{_count(len(twins), 'picture')} {occur} more than once ({_count(int(twins.sum()), 'file')}); all are kept, "
        "and the split keeps each picture on one side."
    )


def _seal(pixels: Pixels, labels: np.ndarray) -> str:
    return hashlib.sha256(pixels.seal().encode() + labels.astype(np.int64).tobytes()).hexdigest()


MNIST_UNBALANCED = Problem(
    name="mnist_unbalanced",
    title="Unbalanced MNIST",
    summary="Which digit is it? 28 × 28 grey images, 54,649 for training with 500 of the digit 8, 10,000 for testing.",
    citation="LeCun, Bottou, Bengio & Haffner (1998); unbalanced as in Bagdasaryan, Poursaeed & Shmatikov (2019)",
    licence="CC BY-SA 3.0, as usually stated",
    labels=(Label(category("label", DIGITS), ""),),
    sensitive=("label",),
    schema=(),
    editions=(
        tuple(
            Source(
                path=f"mnist/{name}",
                url=f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",
                mirror=f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}",
                sha256=sha256,
                layout=Layout(kind="idx"),
                part="test" if name.startswith("t10k") else "train",
            )
            for name, sha256 in _MNIST_FILES
        ),
    ),
    pictures=read_unbalanced,
    image=(1, 28, 28),
    classes_are_groups=True,
    split="official",
    assumed=(
        f"Which {RARE_KEPT} training images of the digit {RARE} are kept is taken as public; they were drawn with the "
        f"constant seed {RARE_SEED}.",
    ),
    caveats=(
        f"The training images of the digit {RARE} are cut from 5,851 to {RARE_KEPT}, at random with the constant seed "
        f"{RARE_SEED}; the papers do not say which they kept. The test images are the published 10,000.",
    ),
)

UTKFACE = Problem(
    name="utkface",
    title="UTK-Face",
    summary="How old is a person, or of which gender? 23,705 faces, 48 × 48 grey, from a folder of your own.",
    citation="Zhang, Song & Qi (2017), Age progression/regression by conditional adversarial autoencoder",
    licence="non-commercial research only; the rights in the photos stay with their owners",
    labels=(
        Label(category("age", AGES), ""),
        Label(category("age_binary", HALVES), HALVES[1]),
        Label(category("age_36", OLDER), OLDER[1]),
        Label(category("gender", GENDERS), GENDERS[1]),
    ),
    sensitive=("race", "gender"),
    schema=(category("race", RACES),),
    pictures=read_small,
    split="people",
    image=(1, 48, 48),
    same=(("age", "age_binary", "age_36"),),
    terms=_RESEARCH,
    people="utkface",
    assumed=("Where ages are parted into classes is taken as public.",),
    caveats=(
        "Age, gender and race are what a program and its correctors took people to be, not what people say they are.",
        "Where the nine classes of age are parted is this project's choice: DP-FERMI speaks of nine and does not say.",
        "A face shows race and gender: where epsilon protects the sensitive attribute it takes the face as public.",
        "Whose face it is is not known: epsilon protects a row, not a person, who may be in several.",
    ),
)
UTKFACE_128 = replace(
    UTKFACE,
    name="utkface_128",
    title="UTK-Face in colour",
    summary="The same faces, 128 × 128 in colour, as DP-FERMI takes them: 21 times as many numbers for each.",
    pictures=read_large,
    image=(3, 128, 128),
)
