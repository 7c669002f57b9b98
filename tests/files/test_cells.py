"""What cells say: spellings of one value, amounts, dates, words for nothing; alike from every kind of file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from fairpriv_core.cli.options import take_cells
from fairpriv_core.data.dataset import Dataset, load_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import propose_schema
from fairpriv_core.data.schema import read_schema
from fairpriv_core.data.table_schema import from_text, read_schema_file, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import category, number
from fairpriv_core.files.next_file import read_next
from fairpriv_core.files.read import digest_content, read_table
from fairpriv_core.files.spelling import MISSING, Spellings, guess_positive, parse_amount, suggest_merges
from fairpriv_core.files.table import Cells, Codes, Numbers, find_missing, to_codes

#: seen as numbers by people: what the cell says, with a point or a comma before decimals
AMOUNTS = {
    ("12,500", "."): 12500,
    ("1,234,567.5", "."): 1234567.5,
    ("1.234.567,5", ","): 1234567.5,
    ("1 234,5", ","): 1234.5,
    ("1'234.5", "."): 1234.5,
    ("€ 1.234,50", ","): 1234.5,
    ("USD -1.24", "."): -1.24,
    ("(980)", "."): -980,
    ("12 %", "."): 12,
    ("−5", "."): -5,
    (".5", "."): 0.5,
    ("1e5", ","): 100000,
}
NO_AMOUNTS = (("12,5", "."), ("12.5", ","), ("31.12.1999", ","), ("1,2345", "."), ("12,34,567", "."), ("1-2", "."))
NO_AMOUNTS = (*NO_AMOUNTS, ("", "."), ("nan", "."), ("1_000", "."), ("A1", "."), ("1 5", "."), ("€", "."))


@pytest.mark.parametrize(("text", "decimal"), AMOUNTS)
def test_an_amount_is_a_number(text: str, decimal: str) -> None:
    assert parse_amount(text, decimal) == AMOUNTS[text, decimal]


@pytest.mark.parametrize(("text", "decimal"), NO_AMOUNTS)
def test_what_is_no_amount_is_none(text: str, decimal: str) -> None:
    assert np.isnan(parse_amount(text, decimal))


@given(st.floats(-1e9, 1e9), st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", ".")]))
def test_a_number_survives_how_people_write_it(number: float, signs: tuple[str, str]) -> None:
    group, decimal = signs
    written = f"{number:,.3f}".replace(",", "_").replace(".", decimal).replace("_", group)
    assert parse_amount(f"$ {written}" if number >= 0 else written, decimal) == float(f"{number:.3f}")


def test_a_text_is_the_value_that_it_spells() -> None:
    found = Spellings(["Female", "male", "a", "A"], {"F": "Female", "w": "Female"})
    assert [found.find(text) for text in ("female ", "FEMALE", "f", "W", "Male", "x")] == [0, 0, 0, 0, 1, -1]
    assert (found.find("a"), found.find("A"), found.find("á")) == (2, 3, -1), "who lists both means two"
    assert Spellings(["1", "Cafe\u0301  au lait"]).find("CAFÉ AU LAIT") == 1 and Spellings(["1"]).find("1.0") == 0


def test_likely_pairs_are_offered_and_no_others() -> None:
    assert suggest_merges(["F", "Female", "M", "Male"]) == {"F": "Female", "M": "Male"}
    assert suggest_merges(["Self employed", "self-employed", "employed"]) == {"Self employed": "self-employed"}
    assert suggest_merges(["a", "apple", "avocado", "1", "10"]) == {}
    assert suggest_merges(["<=50K", ">50K", "A", "A*", "C", "C++", "≤ 3", "≥ 3"]) == {}


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (("approved", "rejected"), "approved"),
        (("Rejected", "granted"), "granted"),
        (("no", "other"), "other"),
        (("0", "1"), "1"),
        (("false", "true"), "true"),
        (("1", "2"), ""),
        (("a", "b"), ""),
        (("0", "2"), ""),
        (("yes", "granted"), ""),
        (("high", "low", "yes"), "yes"),
    ],
)
def test_the_positive_outcome_is_guessed_by_meaning_alone(values: tuple[str, ...], positive: str) -> None:
    assert guess_positive(values) == positive


def write(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def load(path: Path, *, schema: str | None = None, **asked: str) -> Dataset:
    return load_dataset(DataSpec(file=str(path), schema=schema, **{"label": "paid", "sensitive": "sex", **asked}))


def test_spellings_of_one_value_are_one_and_it_is_said(tmp_path: Path) -> None:
    words = {"yes": 60, "Yes": 30, "YES ": 10, "no": 80, "No": 20}
    rows = [f"{('m', 'f', 'f', 'F')[at % 4]},{at},{word}" for word, count in words.items() for at in range(count)]
    dataset = load(write(tmp_path / "people.csv", "sex,age,paid", rows))
    assert (dataset.label_names, dataset.group_names, dataset.n) == (("no", "yes"), ("f", "m"), 200)
    assert dataset.y.sum() == 100
    said = " ".join(dataset.remarks)
    assert "'yes', 'Yes', 'YES' are one value, 'yes', in 100 rows" in said and "'f', 'F' are one value" in said
    assert not any("yes" in each.lower() for each in (*dataset.caveats, *dataset.assumptions["record"][1:]))


def test_values_are_mapped_and_words_stand_for_nothing_as_their_owner_states(tmp_path: Path) -> None:
    sexes = ["F", "female", "M", "male", "Unknown", "NA", "F", "female", "M", "male", "unknown", "NA"]
    rows = [f"{sexes[at % 12]},{at % 50},{'NA' if at % 2 else 'no'}" for at in range(120)]
    path = write(tmp_path / "people.csv", "sex,age,paid", rows)
    stated = read_schema_file(
        'others = "guessed"\n[columns.sex]\nmissing_words = ["unknown", "NA"]\n'
        '[columns.sex.spellings]\nfemale = ["F"]\nmale = ["M"]\n[columns.paid]\nmissing_words = []\n'
    )
    text = to_text(stated, compared={"sex", "paid"})
    assert from_text(text) == stated
    dataset = load(path, schema=text, positive="NA")
    assert dataset.group_names == ("female", "male") and dataset.label_names == ("no", "NA")
    assert dataset.left_out == {"no value of sex": 40} and dataset.without_nulls().n == 80
    said = " ".join(dataset.remarks)
    assert "'NA', 'Unknown', 'unknown' stand for no value" in said
    assert "'female', 'F' are one value, 'female', in 40 rows" in said and "'male', 'M' are" in said
    alone = to_text(read_schema_file('others = "guessed"\n[columns.paid]\nmissing_words = []\n'), compared={"paid"})
    asked = load(path, schema=alone, positive="NA").remarks
    assert "column 'sex': 'Unknown' may stand for no value; --missing makes it so." in asked
    with pytest.raises(BadInput, match="only one value, 'no'"):
        load(path)
    declared = read_schema_file('[columns.sex]\ntype = "category"\ncategories = ["F", "female", "NA"]\n')
    assert read_table(path, read_as={"sex": declared.columns[0]}).table["sex"].codes[5] >= 0


def test_a_command_adds_words_for_no_value_and_can_take_all_away() -> None:
    said = {"missing_words": ("sex:unknown,k. A.", "sex:refused", "region:"), "spellings": ("sex:F,w=female",)}
    sex, region = take_cells(said)
    assert sex.missing_words == (*filter(None, MISSING), "unknown", "k. A.", "refused") and not said
    assert sex.spellings == (("female", ("F", "w")),) and region.missing_words == ()


def test_a_few_words_among_numbers_leave_them_numbers(tmp_path: Path) -> None:
    pays = ["None" if at % 40 == 0 else f'"$1,{at:03}"' for at in range(400)]
    rows = [f'{at},{pay},"{at},5",{at % 7}{"ab"[at % 2]}' for at, pay in enumerate(pays)]
    found = read_table(write(tmp_path / "pay.csv", "id,pay,hours,code", rows))
    pay, hours = found.table["pay"], found.table["hours"]
    assert isinstance(pay, Numbers) and pay.values[1] == 1001 and int(find_missing(pay).sum()) == 10
    assert isinstance(hours, Numbers) and hours.values[3] == 3.5
    assert isinstance(found.table["code"], Codes)
    assert "10 cells ('None') are no numbers and count as missing." in str(found.unread["pay"])
    assert str(found.amounts["hours"]) == "'0,5' is read as the number 0.5."


@pytest.mark.parametrize("written", ["%d/%m/%y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%d-%b-%y"])
def test_dates_are_read_as_people_write_them(tmp_path: Path, written: str) -> None:
    days = pd.date_range("1970-01-31", periods=300, freq="41D")
    rows = [f'"{day.strftime(written)}",{at % 5}' for at, day in enumerate(days)]
    said = propose_schema(write(tmp_path / "born.csv", "born,x", rows)).columns[0]
    assert (said.type, said.part, said.role) == ("date", "year", "feature")
    assert said.range == (1970, 2003)


CELLS = st.sampled_from(["a", "A", " b", "True", "false", "NA", "", "é", "E\u0301", "x y", "x  Y", "12", "1.0"])


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(3, 30))
    whole = st.integers(-(2**40), 2**40)
    numbers = st.one_of(st.none(), whole.map(float), st.integers(-(10**9), 10**9).map(lambda number: number / 1000))
    days = st.dates(min_value=pd.Timestamp("1900-01-01").date(), max_value=pd.Timestamp("2100-01-01").date())
    return pd.DataFrame(
        {
            "text": draw(st.lists(CELLS, min_size=n, max_size=n)),
            "flag": draw(st.lists(st.booleans(), min_size=n, max_size=n)),
            "number": np.array(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=float),
            "whole": draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n)),
            "day": pd.to_datetime(draw(st.lists(days, min_size=n, max_size=n))),
        }
    )


def spell(column: Cells) -> list[object]:
    if isinstance(column, Numbers):
        return [None if np.isnan(value) else float(value) for value in column.values]
    return [None if code < 0 else column.values[code] for code in column.codes]


@given(frames(), st.sampled_from([",", ";", "\t", "|"]))
@settings(max_examples=25)
def test_a_frame_is_the_same_table_from_every_kind_of_file(
    tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame, separator: str
) -> None:
    """Large strings and coded columns are what Polars and pandas write into Parquet."""
    folder = tmp_path_factory.mktemp("frame")
    frame.to_csv(folder / "plain.csv", index=False)
    frame.to_csv(folder / "dialect.csv.gz", index=False, sep=separator, encoding="utf-8-sig", lineterminator="\r\n")
    frame.to_parquet(folder / "plain.parquet", index=False)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    large = arrow.set_column(0, "text", arrow["text"].cast(pa.large_string()))
    parquet.write_table(large, folder / "large.parquet")
    frame.astype({"text": "category", "whole": "category"}).to_parquet(folder / "coded.parquet", index=False)
    with pd.ExcelWriter(folder / "book.xlsx", engine="xlsxwriter") as book:
        frame.to_excel(book, index=False, sheet_name="Data")
    files = sorted(folder.iterdir())
    tables = [{name: spell(column) for name, column in read_table(file).table.items()} for file in files]
    assert all(table == tables[0] for table in tables), [file.name for file in files]
    assert len({digest_content(file) for file in files}) == 1


COLUMNS = (
    number("pay", 0, 100, 50, 25),
    category("job", ("clerk", "cook"), (("chef", "cook"),)),
    category("group", ("true", "false"), missing=True),
)


def encode(path: Path) -> tuple[list[list[float]], tuple[str, ...]]:
    found = read_next(path, COLUMNS)
    return Encoder(COLUMNS).transform(found.table).tolist(), found.remarks


def test_a_further_file_is_read_as_the_model_knows_it(tmp_path: Path) -> None:
    rows, said = encode(write(tmp_path / "new.csv", "pay,job,group,other", ["€ 50,Clerk,TRUE,1", "75.0,CHEF,false,2"]))
    assert rows == [[0, 1, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0]]
    assert said == ("column 'pay': '€ 50' is read as the number 50.",)
    parquet.write_table(
        pa.table({"pay": [50, 75], "job": ["clerk", "cook"], "group": [True, False]}), tmp_path / "n.pq"
    )
    assert encode(tmp_path / "n.pq") == (rows, ())
    european = ['"1.050,5 €",cook,true', '"980,25 €",cook,true', "more,cook,true", ",cook,true"]
    found = read_next(write(tmp_path / "signs.csv", "pay,job,group", european), COLUMNS)
    assert isinstance(pay := found.table["pay"], Numbers) and pay.values[:2].tolist() == [1050.5, 980.25]
    assert found.remarks == (
        "column 'pay': 1 cell ('more') is no number and counts as missing; 1 cell is empty; "
        "2 cells lie beyond the numbers that the model was trained on; '1.050,5 €' is read as the number 1050.5.",
    )
    alone = read_next(write(tmp_path / "alone.csv", "pay", ["50", "75"]), COLUMNS[:1])
    assert Encoder(COLUMNS[:1]).transform(alone.table).tolist() == [[0], [1]], "a model may need one column alone"
    few = ['"1,050",cook,true', '"2,500",cook,true', '"2,5",cook,true']
    found = read_next(write(tmp_path / "few.csv", "pay,job,group", few), COLUMNS)
    assert isinstance(pay := found.table["pay"], Numbers) and pay.values[:2].tolist() == [1050, 2500]


def test_a_model_reads_the_file_that_it_was_trained_on_as_training_did(tmp_path: Path) -> None:
    """Numbers with a currency and decimal commas in a file of points, dates, codes and truth values too."""
    days = pd.date_range("1950-01-01", periods=300, freq="61D").strftime("%d %b %Y")
    rows = [f'"€ {at},5",{at / 7:.3f},{day},{at % 3 == 0},{"fm"[at % 2]},{at % 5 % 2}' for at, day in enumerate(days)]
    path = write(tmp_path / "people.csv", "pay,rate,born,member,sex,paid", rows)
    proposed = propose_schema(path)
    assert {column.name: column.decimal for column in proposed.columns if column.decimal} == {"pay": ","}
    for schema in (None, to_text(proposed, compared={"sex", "paid"})):
        dataset = load(path, schema=schema, positive="1")
        columns = read_schema(dataset.encoder)
        found = read_next(path, columns)
        assert [name for name in found.remarks if "no number" in name] == []
        assert np.array_equal(Encoder(columns).transform(found.table), dataset.X)


def test_what_a_model_cannot_use_is_counted_and_said(tmp_path: Path) -> None:
    lines = ["50,clerk,true", "much,baker,NA", ",cook,maybe", "more,Baker,"]
    _, said = encode(write(tmp_path / "new.csv", "pay,job,group", lines))
    assert said == (
        "column 'pay': 2 cells ('much', 'more') are no numbers and count as missing; 1 cell is empty.",
        "column 'job': 2 cells ('baker', 'Baker') are no known values.",
        "column 'group': 1 cell ('maybe') is no known value.",
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["much,clerk,true", "more,cook,false"], "column 'pay' of new.csv has no number: its cells say 'much', 'more'"),
        (["1,baker,true", ",,"], "column 'job' of new.csv has no known value: its cells say 'baker'"),
        ([",clerk,true", "NA,cook,true"], "column 'pay' of new.csv is empty"),
        (["1.5k,clerk,true"], "column 'pay' of new.csv has no number: its cells say '1.5k'"),
    ],
)
def test_a_column_that_says_nothing_is_refused(tmp_path: Path, lines: list[str], says: str) -> None:
    with pytest.raises(BadInput) as refused:
        encode(write(tmp_path / "new.csv", "pay,job,group", lines))
    assert str(refused.value).startswith(says)


def test_a_model_keeps_of_its_columns_what_was_stated_alone(tmp_path: Path) -> None:
    """Of the sensitive and the label column nothing, of features no spelling that only the rows have."""
    rows = [f"{('F', 'female', 'M')[at % 3]},{('car', 'Car', 'auto', 'bus')[at % 4]},{at},{at % 2}" for at in range(90)]
    path = write(tmp_path / "people.csv", "sex,use,age,paid", rows)
    stated = 'others = "guessed"\n[columns.use.spellings]\ncar = ["auto"]\n[columns.sex.spellings]\nfemale = ["F"]\n'
    dataset = load(path, schema=to_text(read_schema_file(stated), compared={"sex", "paid"}))
    use = next(column for column in read_schema(dataset.encoder) if column.name == "use")
    assert not use.is_quantity and use.recode == (("auto", "car"),) and use.categories == ("bus", "car")
    assert "Car" not in dataset.encoder and "sex" not in dataset.encoder and "paid" not in dataset.encoder
    assert json.loads(json.loads(dataset.grouping)["columns"])["columns"][0]["recode"] == [["F", "female"]]
    coded = to_codes(read_table(path).table["sex"])
    assert coded is not None and set(coded.values) == {"F", "female", "M"}
