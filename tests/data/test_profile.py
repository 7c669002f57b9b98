"""What the Data page shows: groups with intervals, features that give the group away, guesses about a file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file, outline_data, profile_groups


def test_groups_add_up() -> None:
    dataset = load_dataset(DataSpec(dataset="synthetic", sensitive="group+region"))
    profiles = profile_groups(dataset)
    assert [profile.name for profile in profiles] == list(dataset.group_names)
    assert sum(profile.size for profile in profiles) == dataset.n
    assert sum(profile.positives for profile in profiles) == dataset.y.sum()
    assert sum(profile.share for profile in profiles) == pytest.approx(1)
    for index, profile in enumerate(profiles):
        assert profile.base_rate == pytest.approx(dataset.y[dataset.group == index].mean())
        assert profile.low < profile.base_rate < profile.high and profile.flag == ""


def test_small_and_empty_groups_are_flagged(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    ages = [10] * 20 + [40] * 60 + [70] * 150
    path.write_text("age,kind,paid\n" + "".join(f"{age},{row % 3},{row % 2}\n" for row, age in enumerate(ages)))
    dataset = load_dataset(DataSpec(file=str(path), label="paid", sensitive="age:25,60,90"))
    flags = {profile.name: profile.flag for profile in profile_groups(dataset)}
    assert list(flags.values()) == ["fewer than 30 records", "fewer than 100 records", "", "no records"]
    assert profile_groups(dataset)[3].base_rate is None


def test_an_outline_is_the_data_without_their_features() -> None:
    spec = DataSpec(dataset="synthetic", sensitive="group+region")
    outline, dataset = outline_data(spec).dataset, load_dataset(spec)
    assert outline.X.shape == (dataset.n, 0)
    assert outline.y.tobytes() == dataset.y.tobytes() and outline.group.tobytes() == dataset.group.tobytes()
    assert profile_groups(outline) == profile_groups(dataset)
    for field in fields(dataset):
        if field.name not in ("X", "y", "group"):
            assert getattr(outline, field.name) == getattr(dataset, field.name)
    assert [part.n for part in split_dataset(outline, seed=1)] == [part.n for part in split_dataset(dataset, seed=1)]


def test_features_that_give_sex_away_on_adult() -> None:
    found = dict(outline_data(DataSpec(dataset="adult", sensitive="sex")).revealing)
    assert next(iter(found)) == "relationship" and found["relationship"] > 0.85
    assert len(found) == 12 and all(0.5 <= area <= 1 for area in found.values())


def test_the_area_agrees_with_scikit_learn_and_sees_any_direction(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    group = generator.integers(0, 2, 5_000)
    level = generator.integers(0, 5, 5_000) - 2 * group
    folded = np.where(group == 1, generator.normal(0, 0.2, 5_000), generator.normal(0, 3, 5_000))
    copy = np.where(group == 1, "x", "y")
    rows = zip(group, level, folded, copy, generator.normal(size=5_000), generator.integers(0, 2, 5_000), strict=True)
    path = tmp_path / "people.csv"
    path.write_text("g,level,folded,copy,noise,paid\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    found = dict(outline_data(DataSpec(file=str(path), label="paid", sensitive="g")).revealing)
    assert found["level"] == pytest.approx(roc_auc_score(group, -level), abs=0.01)
    assert found["copy"] == 1 and found["folded"] > 0.85 and found["noise"] < 0.53
    assert list(found) == sorted(found, key=lambda name: -found[name])


def test_a_file_is_looked_into(real_data: Path) -> None:
    report = inspect_file(real_data / "credit_default" / "UCI_Credit_Card.csv")
    columns = {column.name: column for column in report.columns}
    assert report.rows == 30_000 and report.errors == ()
    assert report.warnings == ("column 'ID' numbers the rows and is not used.",)
    assert columns["ID"].role == "left out" and columns["BILL_AMT1"].role == "feature"
    assert columns["SEX"].role == columns["AGE"].role == "sensitive"
    assert columns["default.payment.next.month"].role == "label"
    assert columns["EDUCATION"].values == ("0", "1", "2", "3", "4", "5", "6")


def test_a_report_counts_missing_values_and_sorts_texts(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,kind,paid\nm,b,1\nf,,0\n,a,1\n")
    columns = {column.name: column for column in inspect_file(path).columns}
    assert (columns["sex"].missing, columns["sex"].values, columns["sex"].said.type) == (1, ("f", "m"), "category")
    assert (columns["paid"].distinct, columns["paid"].numeric) == (2, True)


def test_an_all_missing_column_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,gone,paid\nm,,1\nf,,0\n")
    report = inspect_file(path)
    gone = report.columns[1].said
    assert report.errors == () and (gone.role, gone.reason) == (
        "left out",
        "column 'gone' has no value at all and is not used.",
    )
