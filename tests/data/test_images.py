"""Images: a person's own from files or bytes, their pixels, and a sentence for each that cannot be used."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from fairpriv_core.data import images, mapped
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.images import Pixels
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import count_classes, inspect_file, outline_data
from fairpriv_core.data.reader_process import READER
from fairpriv_core.errors import BadInput

ROWS, HEIGHT, WIDTH = 60, 8, 9
KINDS, SEXES = ("cat", "dog", "fox"), ("f", "m")


def draw(row: int, colour: bool = False) -> np.ndarray:
    shape = (HEIGHT, WIDTH, 3) if colour else (HEIGHT, WIDTH)
    return np.random.default_rng(row).integers(0, 256, shape, dtype=np.uint8)


def write_folder(folder: Path, *, colour: bool = False, header: str = "file,kind,sex") -> Path:
    """Write images and the file that names them; return the file."""
    (folder / "pictures").mkdir()
    lines = [header]
    for row in range(ROWS):
        Image.fromarray(draw(row, colour)).save(folder / "pictures" / f"{row}.png")
        lines.append(f"pictures/{row}.png,{KINDS[row % 3]},{SEXES[row % 2]}")
    path = folder / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def load(path: Path, label: str = "kind", sensitive: str = "sex", image: str = "file", **more: str) -> Dataset:
    return load_dataset(DataSpec(file=str(path), label=label, sensitive=sensitive, image=image, **more))


def refuse(path: Path, **asked: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load(path, **asked)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    return caught.value


def test_pixels_come_row_by_row_over_255(tmp_path: Path) -> None:
    dataset = load(write_folder(tmp_path))
    assert dataset.image == (1, HEIGHT, WIDTH) and dataset.X.dtype == np.float32 and dataset.d == HEIGHT * WIDTH
    for row in range(ROWS):
        assert np.array_equal(dataset.X[row], draw(row).ravel() / np.float32(255))
    assert dataset.label_names == KINDS and dataset.group_names == SEXES
    assert list(dataset.y[:4]) == [0, 1, 2, 0] and list(dataset.group[:3]) == [0, 1, 0]
    assert dataset.feature_names == () and dataset.encoder == "" and dataset.features == HEIGHT * WIDTH
    said = " ".join(dataset.assumptions["record"])
    assert "divided by 255, a public constant" in said and "which of them are equal, and which cannot be read" in said


def test_colours_come_one_after_the_other(tmp_path: Path) -> None:
    dataset = load(write_folder(tmp_path, colour=True))
    assert dataset.image == (3, HEIGHT, WIDTH)
    assert np.array_equal(dataset.X[5], draw(5, colour=True).transpose(2, 0, 1).ravel() / np.float32(255))


@pytest.mark.parametrize("boxed", [False, True], ids=["bytes", "bytes beside a name"])
def test_a_parquet_file_may_hold_the_images(tmp_path: Path, boxed: bool) -> None:
    path = write_folder(tmp_path)
    held = [(tmp_path / "pictures" / f"{row}.png").read_bytes() for row in range(ROWS)]
    cells = [{"bytes": each, "path": None} for each in held] if boxed else held
    columns = {"file": cells, "kind": [KINDS[row % 3] for row in range(ROWS)], "sex": list(SEXES) * (ROWS // 2)}
    parquet.write_table(pa.table(columns), tmp_path / "list.parquet")
    found, named = load(tmp_path / "list.parquet"), load(path)
    assert np.array_equal(found.X, named.X) and np.array_equal(found.y, named.y) and found.caveats == ()
    report = inspect_file(tmp_path / "list.parquet")
    assert report.images == ("file",) and not report.errors and not report.warnings


def test_a_column_of_names_is_found(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    assert inspect_file(path).images == ("file",) and READER.inspect(path) == inspect_file(path)


def test_a_row_in_quotes_or_an_empty_line_moves_no_image(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    lines = path.read_text().splitlines()
    lines[2] = '"pictures/1.png","dog","m"'
    path.write_text("\n\n".join(lines[:5]) + "\n" + "\n".join(lines[5:]) + "\n")
    assert np.array_equal(load(path).X[10], draw(10).ravel() / np.float32(255))


def test_one_class_may_be_the_positive_one(tmp_path: Path) -> None:
    dataset = load(write_folder(tmp_path), positive="fox")
    assert dataset.label_names == ("not fox", "fox") and dataset.y.sum() == ROWS // 3


def test_the_digest_follows_the_pixels(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    before = load(path).digest
    assert load(path).digest == before
    Image.fromarray(255 - draw(7)).save(tmp_path / "pictures" / "7.png")
    assert load(path).digest != before


def test_equal_images_stay_on_one_side_of_the_split(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    for row in range(0, ROWS, 2):
        Image.fromarray(draw(row % 20)).save(tmp_path / "pictures" / f"{row}.png")
    dataset = load(path)
    assert dataset.unit is not None and dataset.people == 40
    train, test = split_dataset(dataset, seed=3, split="people")
    assert not {row.tobytes() for row in train.X} & {row.tobytes() for row in test.X}
    assert any("not a picture, which has up to 3" in said for said in dataset.assumptions["record"])


def test_what_is_large_is_mapped_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_folder(tmp_path)
    small = load(path)
    monkeypatch.setattr(mapped, "MAPPED_FROM", 1)
    large = load(path)
    assert isinstance(large.X.base, np.memmap) and np.array_equal(large.X, small.X) and large.digest == small.digest
    assert all(isinstance(part.X.base, np.memmap) for part in split_dataset(large, seed=0))


def test_an_outline_has_no_pixels(tmp_path: Path) -> None:
    spec = DataSpec(file=str(write_folder(tmp_path)), label="kind", sensitive="sex", image="file")
    outline = outline_data(spec)
    assert outline.revealing == () and outline.dataset.X.shape == (ROWS, 0)
    assert outline.dataset.features == HEIGHT * WIDTH
    apart = READER.outline(spec)
    assert apart.dataset.image == (1, HEIGHT, WIDTH) and apart.dataset.X.shape == (ROWS, 0)
    assert np.array_equal(count_classes(apart.dataset), [[10, 10, 10], [10, 10, 10]])


def test_images_of_two_sizes_are_refused_by_name(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    Image.new("L", (4, 5)).save(tmp_path / "pictures" / "9.png")
    said = str(refuse(path, unreadable="skip"))
    assert "pictures/0.png has 9 × 8 pixels, pictures/9.png has 4 × 5 pixels" in said


def test_unreadable_images_are_named_counted_and_left_out_only_if_asked(tmp_path: Path) -> None:
    path, pictures = write_folder(tmp_path), tmp_path / "pictures"
    for row in (3, 4):
        whole = (pictures / f"{row}.png").read_bytes()
        (pictures / f"{row}.png").write_bytes(whole[: len(whole) // 2] if row == 3 else b"no picture")
    (pictures / "5.png").unlink()
    error = refuse(path)
    assert error.field == "unreadable" and str(error).startswith("3 of 60 images cannot be read: pictures/3.png (trunc")
    assert "pictures/4.png (no image), pictures/5.png (no such file); mend them, or leave them out" in str(error)
    dataset = load(path, unreadable="skip")
    assert dataset.n == 57 and "3 of 60 images cannot be read and were left out." in dataset.caveats
    assert np.array_equal(dataset.X[3], draw(6).ravel() / np.float32(255)) and dataset.y[3] == 0
    for each in pictures.iterdir():
        each.write_bytes(b"")
    assert "none of 60 images can be read" in str(refuse(path, unreadable="skip"))


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", "link.png"])
def test_an_image_outside_the_folder_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    Image.fromarray(draw(0)).save(tmp_path / "secret.png")
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "secret.png")
    path = write_folder(tmp_path / "in")
    path.write_text(path.read_text().replace("pictures/8.png", name))
    assert "lies outside the folder of list.csv" in str(refuse(path, unreadable="skip"))


@pytest.mark.parametrize("kind", ["pipe", "loop", "long name", "postscript", "too large"])
def test_what_is_no_image_file_is_named_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path, odd = write_folder(tmp_path), tmp_path / "odd.png"
    name = "a" * 300 + ".png" if kind == "long name" else odd.name
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "loop":
        odd.symlink_to(odd)
    elif kind == "postscript":
        odd.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 8\n%%EndComments\nshowpage\n%%EOF\n")
    elif kind == "too large":
        Image.fromarray(draw(0)).save(odd)
        with odd.open("ab") as file:
            file.truncate(images.MOST_BYTES + 1)
    path.write_text(path.read_text() + f"{name},cat,f\n")
    assert str(refuse(path)).startswith(f"1 of {ROWS + 1} images cannot be read: {name[:50]}")


def test_pixels_are_counted_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_folder(tmp_path)
    monkeypatch.setattr(images, "MOST_PIXELS", ROWS * HEIGHT * WIDTH - 1)
    monkeypatch.setattr(images, "stack_blocks", None)  # where they would be written
    said = str(refuse(path))
    assert f"{ROWS} images like pictures/0.png, of 9 × 8 pixels, have {ROWS * HEIGHT * WIDTH:,} values" in said
    monkeypatch.undo()
    assert load(path).n == ROWS


def test_a_folder_is_told_what_it_lacks(tmp_path: Path) -> None:
    write_folder(tmp_path)
    assert "only a folder; give list.csv in it that names each image, its label" in str(refuse(tmp_path))
    assert "put a table into it" in str(refuse(tmp_path / "pictures"))


def test_wrong_columns_are_named(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    error = refuse(path, image="photo")
    assert error.field == "image" and "unknown column 'photo' in image; choose from file, kind, sex" in str(error)
    assert "'sex' cannot be both" in str(refuse(path, label="sex"))
    with pytest.raises(BadInput, match="image is about a file"):
        DataSpec(dataset="adult", sensitive="sex", image="x")
    with pytest.raises(BadInput, match="unreadable must be skip"):
        DataSpec(dataset="adult", sensitive="sex", unreadable="all")


def test_what_is_asked_of_images_is_said_and_read_back() -> None:
    spec = DataSpec(file="x.csv", label="y", sensitive="s", image="file", unreadable="skip")
    assert DataSpec(**spec.to_json()) == spec


def test_pixels_number_their_twins() -> None:
    values = np.arange(8, dtype=np.uint8).reshape(4, 1, 2, 1)
    assert Pixels(values).number_twins() is None
    assert list(Pixels(values[[0, 1, 0, 3]]).number_twins()) == [0, 1, 0, 2]
    assert Pixels(values).seal() != Pixels(values.reshape(4, 2, 1, 1)).seal()


def test_sixteen_bits_keep_their_upper_eight(tmp_path: Path) -> None:
    path, deep = write_folder(tmp_path), io.BytesIO()
    Image.fromarray(draw(0).astype(np.uint16) * 256 + 9).save(deep, "png")
    (tmp_path / "pictures" / "0.png").write_bytes(deep.getvalue())
    assert np.array_equal(load(path).X[0], draw(0).ravel() / np.float32(255))
