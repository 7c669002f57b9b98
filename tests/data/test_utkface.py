"""UTK-Face: the prepared array and a folder of original files give the same pixels; nothing is read unconfirmed."""

from __future__ import annotations

import csv
import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairpriv_core.cli.catalogue import confirm_terms
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.download import confirm, is_confirmed
from fairpriv_core.data.image_benchmarks import AGE_EDGES, AGES
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput, DataUnavailable
from fairpriv_core.records.config import build_config
from fairpriv_core.records.plan import DatasetCache, plan_run
from fairpriv_core.records.record import RunRecord

STAMP = "20170109{:09d}"


@pytest.fixture(autouse=True)
def confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirm for the test alone, away from the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRPRIV_CONFIRMED", "utkface")
    monkeypatch.delenv("FAIRPRIV_UTKFACE", raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that looks like the original one; its pictures are noise."""
    place = tmp_path / "UTKFace"
    place.mkdir()
    generator = np.random.default_rng(0)
    for row in range(40):
        name = f"{3 * row}_{row % 2}_{row % 5}_{STAMP.format(row)}.jpg.chip.jpg" if row < 39 else "x"
        if row < 39:
            Image.fromarray(generator.integers(0, 256, (200, 200, 3), dtype=np.uint8)).save(place / name)
    monkeypatch.setenv("FAIRPRIV_UTKFACE", str(place))
    return place


def load(name: str = "utkface", sensitive: str = "race", **more: str) -> Dataset:
    return load_dataset(DataSpec(dataset=name, sensitive=sensitive, **more))


def copy_first(folder: Path, name: str) -> None:
    (folder / name).write_bytes(next(iter(sorted(folder.iterdir()))).read_bytes())


@pytest.fixture(scope="module")
def prepared(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Return the prepared array, whose unpacking takes 4 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("FAIRPRIV_CONFIRMED", "utkface")
        patch.delenv("FAIRPRIV_UTKFACE", raising=False)
        return load()


def test_the_prepared_array_has_its_known_counts(prepared: Dataset) -> None:
    faces = prepared
    assert (faces.n, faces.image, faces.label_names) == (15_000, (1, 48, 48), AGES)
    assert list(np.bincount(faces.group)) == [6_344, 2_861, 2_159, 2_571, 1_065]
    assert list(np.bincount(faces.y)) == [1_944, 389, 606, 1_437, 3_189, 2_859, 1_400, 1_446, 1_730]
    assert faces.people == 14_753 and any("237 pictures occur more than once (484 files)" in s for s in faces.caveats)
    train, test = split_dataset(faces, seed=1, split="people")
    assert not set(train.unit) & set(test.unit) and train.n + test.n == 15_000


def test_a_folder_gives_the_prepared_pixels(
    real_data: Path, prepared: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(real_data / "utkface" / "utkface_original_jpeg_600.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.setenv("FAIRPRIV_UTKFACE", str(tmp_path / "UTKFace"))
    with np.load(real_data / "utkface" / "utkface_48x48_gray_15000.npz") as stored:
        rows = {name.decode(): row for row, name in enumerate(stored["file"])}
    with gzip.open(real_data / "utkface" / "utkface_index.csv.gz", "rt") as index:
        known = {row["file"]: row for row in csv.DictReader(index)}
    names = sorted(path.name for path in (tmp_path / "UTKFace").iterdir())
    used = [name for name in names if known[name]["race"]]
    faces = load(label="gender")
    assert (len(names), faces.n) == (600, 597) and "3 files whose name gives no race were left out." in faces.caveats
    assert [int(known[name]["race"]) for name in used] == faces.group.tolist()
    assert [int(known[name]["gender"]) for name in used] == faces.y.tolist()
    found = [(row, prepared.X[rows[name]]) for name, row in zip(used, faces.X, strict=True) if name in rows]
    assert len(found) == 595
    assert all(np.array_equal(row, pixels) for row, pixels in found)
    shades = np.rint(255 * faces.X)
    assert (shades.min(), shades.max()) == (0, 255) and np.array_equal(faces.X, shades / np.float32(255))


def test_ages_are_parted_at_the_stated_years(folder: Path) -> None:
    faces = load()
    years = sorted(3 * row for row in range(39))
    assert np.array_equal(np.sort(faces.y), np.searchsorted(AGE_EDGES, years, side="right"))
    binary = load(label="age_binary")
    assert binary.label_names == ("under 30", "30 or older") and binary.y.sum() == sum(age >= 30 for age in years)
    older = load(label="age_36")
    assert older.label_names == ("under 36", "36 or older") and older.y.sum() == sum(age >= 36 for age in years)


def test_the_large_size_is_in_colour(folder: Path) -> None:
    faces = load("utkface_128", sensitive="gender", label="age_binary")
    assert faces.image == (3, 128, 128) and faces.d == 49_152 and faces.group_names == ("male", "female")


def test_groups_may_be_another_label_but_not_the_predicted_one(folder: Path) -> None:
    assert load(sensitive="gender").groups == 2 and load(sensitive="gender+race").groups == 10
    for label in ("gender", "age_binary", "age_36"):
        with pytest.raises(BadInput, match=f"'{label}' cannot be both"):
            load(label=label, sensitive="gender" if label == "gender" else "age")


def test_odd_names_are_read_and_those_without_a_race_left_out(folder: Path) -> None:
    for name in (
        "24_0_1_20170116220224657 .jpg.chip.jpg",
        "55_0_0_20170116232725357jpg.chip.jpg",
        "61_1_20170109142408075.jpg.chip.jpg",
    ):
        copy_first(folder, name)
    faces = load()
    assert faces.n == 41 and "1 file whose name gives no race was left out." in faces.caveats
    assert any("1 picture occurs more than once (3 files); all are kept" in s for s in faces.caveats)
    for assumed in faces.assumptions.values():
        assert any("which files were left out: their names give no race" in each for each in assumed)


def test_what_leaves_of_a_folder_of_ones_own_does_not_follow_from_a_protected_value(folder: Path) -> None:
    """No digest of pixels and labels, which would confirm a guess of a race; no count of twins whose races differ."""
    asked = {"dataset": "utkface", "label": "age_36", "sensitive": "race"}
    method = {"name": "dp_sgd", "batch_size": 20}
    config = build_config({"data": asked, "method": method, "notion": "demographic_parity", "epsilon": 1})
    left = []
    for race in (0, 3):
        twin = f"0_0_{race}_20170109142408075.jpg.chip.jpg"
        copy_first(folder, twin)
        plan = plan_run(config, config.key, datasets=DatasetCache(), find_record=lambda _: {})
        left.append(plan.draft.to_json())
        (folder / twin).unlink()
    assert left[0] == left[1] and left[0]["data"]["digest"] == ""
    assert "occurs more than once" in " ".join(left[0]["data"]["caveats"])
    earlier = {**left[0], "data": {**left[0]["data"], "digest": "d" * 64}}
    assert RunRecord.from_json(earlier).data["digest"] == ""


def test_labels_outside_the_mapping_are_named_and_left_out_only_if_asked(folder: Path) -> None:
    copy_first(folder, "30_3_1_20170109142408075.jpg.chip.jpg")
    copy_first(folder, "30_0_7_20170109142408075.jpg.chip.jpg")
    copy_first(folder, "holiday.jpg")
    with pytest.raises(BadInput, match=r"3 of 42 files have labels outside the mapping .*: 30_0_7_.*holiday\.jpg; "):
        load()
    assert load(unreadable="skip").n == 39


def test_a_truncated_file_is_named(folder: Path) -> None:
    name = "0_0_0_" + STAMP.format(0) + ".jpg.chip.jpg"
    (folder / name).write_bytes((folder / name).read_bytes()[:3_000])
    with pytest.raises(BadInput, match=rf"1 of 39 images cannot be read: {name} \(truncated\)"):
        load()
    assert load(unreadable="skip").n == 38


def test_without_faces_it_says_where_they_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRPRIV_DATA", raising=False)
    with pytest.raises(DataUnavailable, match=r"UTK-Face is not downloaded for you: get .* FAIRPRIV_UTKFACE"):
        load()
    monkeypatch.setenv("FAIRPRIV_UTKFACE", str(tmp_path))
    with pytest.raises(BadInput, match="must name a folder of files like"):
        load()


def test_nothing_is_read_before_the_terms_are_confirmed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRPRIV_CONFIRMED")
    with pytest.raises(BadInput, match=r"non-commercial research only.*fairpriv confirm utkface") as caught:
        load()
    assert caught.value.field == "terms"
    assert confirm_terms("utkface_128").startswith("confirmed: The faces may be used for non-commercial research only")
    assert is_confirmed(problems()["utkface"]) and load().n == 39
    with pytest.raises(BadInput, match="'adult' asks for no confirmation; utkface, utkface_128 do"):
        confirm_terms("adult")


def test_a_confirmation_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRPRIV_CONFIRMED")
    problem = problems()["utkface"]
    assert not is_confirmed(problem)
    confirm(problem)
    assert is_confirmed(problem) and is_confirmed(problems()["utkface_128"])
