"""A person's own file: what its columns are taken for, what is said about that, which rows are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from pyarrow import parquet

from fairpriv_core.data.dataset import Dataset, drop_unprotected, load_dataset
from fairpriv_core.data.guess import guess_column, measure, measure_column
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file
from fairpriv_core.data.table_schema import find_compared, read_schema_file, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.table import Codes, Numbers


def load(path: Path, rows: list[str], *, header: str = "sex,age,paid", **asked: str) -> Dataset:
    path.write_text("\n".join([header, *rows]))
    return load_dataset(DataSpec(**{"file": str(path), "label": "paid", "sensitive": "sex", **asked}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


ROWS = [f"{'fm'[row % 2]},{20 + row % 47},{row % 5 > 2:d}" for row in range(100)]


def test_rows_labels_and_groups(path: Path) -> None:
    dataset = load(path, ROWS)
    assert (dataset.n, dataset.group_names, dataset.label_names) == (100, ("f", "m"), ("0", "1"))
    assert dataset.group.tolist() == [row % 2 for row in range(100)]
    assert dataset.y.tolist() == [int(row % 5 > 2) for row in range(100)]
    assert dataset.name == "people.csv" and set(dataset.encoder and dataset.feature_names) == {"age"}


def test_labels_of_many_digits_stay_apart_or_are_refused(path: Path) -> None:
    """From 2**53 on neighbours are one float: two of these three labels would be one."""
    codes = [12345678901234560, 12345678901234567, 12345678901234568]
    long = [f"{'fm'[row % 2]},{20 + row % 47},{codes[row % 3]}" for row in range(90)]
    with pytest.raises(BadInput, match=r"'paid' holds numbers from 9,007,199,254,740,992 on.*type is category"):
        load(path, long, positive=str(codes[1]))
    stated = {"paid": ("label", "category"), "sex": ("sensitive", "category"), "age": ("feature", "number")}
    text = "".join(f'[columns.{name}]\nrole = "{role}"\ntype = "{kind}"\n' for name, (role, kind) in stated.items())
    said = read_schema_file(text)
    schema = to_text(said, compared=find_compared(said, label="paid", sensitive="sex"))
    exact = load(path, long, positive=str(codes[1]), schema=schema)
    assert exact.y.tolist() == [int(row % 3 == 1) for row in range(90)] and exact.label_names[1] == str(codes[1])
    short = load(
        path,
        [f"{'fm'[row % 2]},{row},{1234567890123456 + row % 2}" for row in range(90)],
        positive=str(1234567890123456),
    )
    assert short.label_names == ("1234567890123457", "1234567890123456")


def test_what_was_read_from_the_file_is_said(path: Path) -> None:
    dataset = load(path, ROWS)
    assert dataset.assumptions["attribute"] == (
        "The list of groups of sex (f; m) is read from the file and taken as public.",
        "The file is read in the usual way: as its rows look or its owner states, which is taken as public.",
    )
    assert "how cells are spelled, were read from the file" in " ".join(dataset.assumptions["record"])
    cut = load(path, ROWS, sensitive="age:30,60")
    assert "declared, not learned from rows" in cut.assumptions["attribute"][0]


def test_a_caveat_quotes_no_cell_and_says_nothing_of_the_sensitive_column(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Data page's own reading of the file says where."""
    monkeypatch.setattr("fairpriv_core.files.read._BLOCK", 512)
    odd = [*ROWS, "m,Jane Doe,1"]
    plain = load(path, odd, sensitive="sex")
    assert plain.caveats[0] == "column 'age' has cells that are no numbers and count as missing."
    assert plain.feature_names[-1] == "age missing"
    assert not any("Jane" in said or "row" in said for said in plain.caveats)
    assert load(path, odd, sensitive="age:40").caveats == ()
    assert "'Jane Doe'" in " ".join(inspect_file(path).warnings)
    words = load(path, [*ROWS, *(f"m,{word},1" for word in ("Jane", "Joe", "Jim", "Jill"))], sensitive="sex")
    assert words.caveats[0] == "column 'age' is read as text because of one of its values."


def test_rows_without_a_group_or_label_are_dropped_or_nulls_in_their_places_and_counted(path: Path) -> None:
    dataset = load(path, [*ROWS, ",30,1", "NA,30,0", "f,30,", "m,?,1"])
    assert dataset.left_out == {"no value of sex": 2, "no value of paid": 1} and dataset.caveats == ()
    dropped = drop_unprotected(dataset, "attribute")
    assert dropped.n == 101 and dropped.assumptions["attribute"][1] == (
        "2 rows without a value of sex were dropped; which rows these are is taken as public."
    )
    assert drop_unprotected(dataset, "record").n == 104 and "dropped" not in " ".join(dataset.assumptions["record"])
    assert dataset.present is not None and np.flatnonzero(~dataset.present).tolist() == [100, 101, 102]
    assert not dataset.y[~dataset.present].any() and not dataset.group[~dataset.present].any()
    assert dataset.feature_names == ("age", "age missing")
    assert dropped.X[-1].tolist() == [0, 1]


def test_of_each_person_one_row_stays_whoever_lacks_a_group(path: Path) -> None:
    """Of a person without any a null stays; else one of those that have a label and a group is drawn, as ever."""
    stays = [f"{'fm'[row % 2]},{row % 47},{row % 2},p{row // 3}" for row in range(300)]

    def read(changed: Mapping[int, str]) -> Dataset:
        rows = [changed.get(row, line) for row, line in enumerate(stays)]
        path.write_text("\n".join(["sex,age,paid,who", *rows]) + "\n")
        return load_dataset(DataSpec(file=str(path), label="paid", sensitive="sex", person="who"))

    whole, lost = read({}), read({row: f",{row},1,p1" for row in (3, 4, 5)})
    assert whole.n == lost.n == 100 and whole.present is None
    assert lost.present is not None and np.flatnonzero(~lost.present).tolist() == [1]
    assert lost.row is not None and whole.row is not None
    assert [row for row in lost.row if row not in (3, 4, 5)] == [row for row in whole.row if row not in (3, 4, 5)]
    drawn = next(row for row in whole.row if row in (3, 4, 5))
    fewer = read({drawn: f",{drawn},1,p1"})
    assert fewer.n == 100 and fewer.present is None and lost.left_out["no value of sex"] == 3


def test_a_numeric_column_is_cut_at_edges(path: Path) -> None:
    dataset = load(path, ROWS, sensitive="age:30,60")
    ages = 20 + np.arange(100) % 47
    assert dataset.group_names == ("age < 30", "30 ≤ age < 60", "age ≥ 60")
    assert dataset.group.tolist() == [int(age >= 30) + int(age >= 60) for age in ages]
    assert not [name for name in dataset.feature_names if "age" in name]


def test_an_edge_belongs_to_the_upper_group_whatever_its_digits(path: Path) -> None:
    rows = [f"{0.1 * step:.1f},{step % 3},{step % 2}" for step in range(1, 10)]
    dataset = load(path, rows, header="score,age,paid", sensitive="score:0.3,0.7")
    assert dataset.group.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]


def test_crossed_groups(path: Path) -> None:
    dataset = load(path, ["f,1,a,1", "m,2,b,0", "f,1,b,1", "m,1,a,0"], header="sex,age,kind,paid", sensitive="sex+kind")
    assert dataset.group_names == ("f, a", "f, b", "m, a", "m, b")
    assert dataset.group.tolist() == [0, 3, 1, 2]
    assert dataset.feature_names == ("age = 1", "age = 2")


def test_names_that_look_like_the_grammar_are_names(path: Path) -> None:
    rows = [f"{'fm'[row % 2]},{row % 3},{row % 2}" for row in range(20)]
    dataset = load(path, rows, header="a+b:c,age,paid", sensitive="a+b:c")
    assert dataset.group_names == ("f", "m")


def test_the_number_of_groups_does_not_follow_the_edges(path: Path) -> None:
    dataset = load(path, ROWS, sensitive="age:30,60,900")
    assert dataset.groups == 4 and dataset.group.max() == 2


def test_positive_says_which_value_counts(path: Path) -> None:
    assert load(path, ROWS, positive="0.0").y.mean() == pytest.approx(0.6)
    rows = [f"f,{row},a" for row in range(4)] + [f"m,{row},{kind}" for row, kind in enumerate("bbcc")]
    dataset = load(path, rows, positive="b")
    assert dataset.label_names == ("not b", "b") and dataset.y.sum() == 2


def test_numbers_of_rows_names_and_constants_are_not_features(path: Path) -> None:
    rows = [f"{row},name {row},same,{line}" for row, line in enumerate([*ROWS, *ROWS])]
    dataset = load(path, rows, header="id,name,unit,sex,age,paid")
    assert dataset.feature_names == ("age",)
    assert [caveat.split("'")[1] for caveat in dataset.caveats] == ["id", "name", "unit"]


def test_the_path_is_not_part_of_the_digest_but_the_bytes_are(path: Path) -> None:
    one = load(path, ROWS)
    two = load(path.with_name("copy.csv"), ROWS)
    other = load(path, [*ROWS, "f,30,1"])
    assert one.digest == two.digest != other.digest


def test_parquet_gives_the_same_data(path: Path) -> None:
    written = load(path, ROWS)
    parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
    dataset = load_dataset(DataSpec(file=str(path.with_suffix(".parquet")), label="paid", sensitive="sex"))
    assert np.array_equal(dataset.X, written.X) and np.array_equal(dataset.y, written.y)
    assert dataset.group_names == written.group_names


def test_few_whole_numbers_are_codes_and_many_are_quantities() -> None:
    few, squares = Numbers(np.tile([3.0, 1.0, 2.0], 50)), Numbers(np.arange(200.0) ** 2)
    said, told = guess_column("c", few), guess_column("c", squares)
    codes, many = measure(said, few), measure(told, squares)
    assert (said.type, told.type) == ("code", "whole number")
    assert not codes.is_quantity and codes.categories == ("1", "2", "3")
    assert many.is_quantity and (many.low, many.high) == (0, 199.0**2)


def test_frequent_texts_are_told_apart() -> None:
    values = tuple(f"v{index}" for index in range(200))
    codes = np.repeat(np.arange(200), np.arange(1, 201))
    guess = guess_column("c", Codes(codes, values))
    column = measure(guess, Codes(codes, values))
    assert not column.is_quantity and len(column.categories) == 50
    assert "v199" in column.categories and "v0" not in column.categories
    assert guess.reason == "column 'c' has 200 values; the 50 most frequent are kept apart."
    assert guess.public == "column 'c' has more than 50 values; the 50 most frequent are kept apart."


@pytest.mark.parametrize("name", ["Postcode", "zip_code", "PLZ"])
def test_numbers_that_a_name_calls_codes_are_no_amounts(name: str) -> None:
    draw = np.random.default_rng(0)
    places = Numbers(np.array([10_115, 20_095, 50_667], dtype=np.float64)[draw.integers(0, 3, 5_000)])
    everywhere = Numbers(draw.integers(10_000, 90_000, 5_000).astype(np.float64))
    assert guess_column(name, places).type == "code" and guess_column("income", everywhere).type == "whole number"
    left = guess_column(name, everywhere)
    assert left.role == "left out" and "holds codes" in left.reason


def test_slips_in_texts_are_pointed_out() -> None:
    junk = guess_column("c", Codes(np.arange(11), (*map(str, range(10)), "oops")))
    commas = guess_column("c", Codes(np.arange(2), ("1,5", "2,5")))
    quote = guess_column("c", Codes(np.arange(2), ("a", "b\n1,2\n3,4\n5,6")))
    assert junk.reason == "column 'c' holds categories because of 'oops'; correct it to have numbers."
    assert "oops" not in junk.public
    assert "decimal commas" in commas.reason
    assert "is a quotation mark never closed?" in quote.reason


def test_a_skewed_column_is_put_on_a_logarithm() -> None:
    generator = np.random.default_rng(0)
    assert measure_column(Column("c"), Numbers(np.exp(3 * generator.normal(size=2_000)))).log
    assert not measure_column(Column("c"), Numbers(generator.normal(size=2_000))).log


def test_real_files_read_as_a_persons_own(real_data: Path) -> None:
    file = str(real_data / "credit_default" / "UCI_Credit_Card.csv")
    own = load_dataset(DataSpec(file=file, label="default.payment.next.month", sensitive="SEX"))
    benchmark = load_dataset(DataSpec(dataset="credit_default", sensitive="SEX"))
    assert own.group_names == ("1", "2") and benchmark.group_names == ("female", "male")
    assert np.array_equal(own.y, benchmark.y) and np.array_equal(own.group, 1 - benchmark.group)
    assert "ID" not in own.feature_names and own.caveats == ("column 'ID' numbers the rows and is not used.",)


def test_the_row_index_of_a_real_parquet_is_no_feature(real_data: Path) -> None:
    file = str(real_data / "acs_income" / "ACSIncome.test.parquet")
    dataset = load_dataset(DataSpec(file=file, label="PINCP", sensitive="SEX"))
    assert (dataset.n, int(dataset.y.sum())) == (332_900, 122_863)
    assert np.bincount(dataset.group).tolist() == [173_263, 159_637]
    assert not [name for name in dataset.feature_names if name.startswith("index")]
    assert dataset.caveats == ("column 'index' is the row index and is not used.",)
