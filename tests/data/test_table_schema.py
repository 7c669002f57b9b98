"""Schemas of a person's own table: proposed, corrected, declared; dates, keys and people in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.guess import guess_column
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file, outline_data, propose_schema
from fairpriv_core.data.table_schema import (
    TableSchema,
    find_compared,
    from_text,
    name_roles,
    read_schema_file,
    to_text,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column, category
from fairpriv_core.files.dates import DatePart, guess_order, read_date, take_part
from fairpriv_core.files.forms import Stated
from fairpriv_core.files.read import read_table
from fairpriv_core.files.table import Codes, Numbers
from fairpriv_core.records.source import read_data
from tests.unprepared import UNPREPARED, write_stays, write_tickets

DECLARED = """
values_from = "declared"
[columns.sex]
role = "sensitive"
type = "category"
categories = ["f", "m"]
[columns.paid]
role = "label"
type = "category"
categories = ["no", "yes"]
[columns.age]
type = "whole number"
range = [0, 100]
"""


def ask(path: Path, schema: TableSchema, **asked: str) -> DataSpec:
    roles = name_roles(schema)
    compared = find_compared(schema, label=roles["label"], sensitive=roles["sensitive"])
    return read_data({"file": str(path), **roles, "schema": to_text(schema, compared=compared), **asked})


def test_a_schema_states_how_the_file_is_written_and_leaves_other_columns_to_a_guess(tmp_path: Path) -> None:
    path = tmp_path / "people.txt"
    path.write_text(
        "\n".join(["Made up;2025;;", *(f"{row.replace(',', ';')};{index % 7},5" for index, row in enumerate(ROWS))])
    )
    text = 'others = "guessed"\n[file]\nseparator = ";"\ndecimal = ","\nheader = 0\n'
    schema = read_schema_file(text + '[columns."column 3"]\ntype = "category"\n')
    assert schema.file == Stated(separator=";", decimal=",", header=0)
    assert schema == from_text(to_text(schema, compared=())) == read_schema_file(schema.to_toml("people.txt"))
    spec = DataSpec(
        file=str(path), label="column 2", positive="yes", sensitive="column 1", schema=to_text(schema, compared=())
    )
    data = load_dataset(spec)
    assert {name[:8] for name in data.feature_names} == {"column 3", "column 4"}
    assert set(data.group_names) == {"f", "m", "Made up"}
    assert any("with semicolons between values, decimal commas" in each for each in data.assumptions["record"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[file]\nseparator = ';;'\n", "separator ';;' of the file must be one sign or a word"),
        ("[file]\nencoding = 'utf-9'\n", "encoding 'utf-9' of the file must be one that Python knows"),
        ("[file]\nencoding = 'base64'\n", "encoding 'base64' of the file must be one that Python knows"),
        ("[file]\nheader = -1\n", "header '-1' of the file must be the number of a line"),
        ("[file]\ndecimal = ';'\n", "decimal ';' of the file must be"),
        ("[file]\nquote = 'x'\n", "file in the schema must be a table of encoding, separator"),
        ("values_from = 'declared'\n", "name all columns"),
    ],
)
def test_what_a_schema_states_of_the_file_makes_sense(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_schema_file(f"others = 'guessed'\n{text}")


def write(path: Path, rows: list[str], header: str = "sex,paid,age") -> Path:
    path.write_text("\n".join([header, *rows]))
    return path


ROWS = [f"{'fm'[row % 2]},{('no', 'yes')[row % 3 == 0]},{20 + row % 50}" for row in range(90)]


def test_groups_of_a_schema_put_other_values_together(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", [f"{'fmx'[row % 3]},{('no', 'yes')[row % 2]},{20 + row % 50}" for row in range(90)]
    )
    schema = read_schema_file(
        DECLARED.replace('categories = ["f", "m"]', 'categories = ["f", "m", "x"]\ngroups = ["f"]')
    )
    again = read_schema_file(schema.to_toml(path.name))
    found = load_dataset(ask(path, again))
    assert (found.group_names, found.sensitive) == (("f", "Other"), "sex=f")
    assert np.bincount(found.group).tolist() == [30, 60]
    with pytest.raises(BadInput, match="groups of column 'sex' in the schema must be left out: only a sensitive"):
        read_schema_file(schema.to_toml(path.name).replace('"sensitive"', '"feature"'))


@pytest.mark.parametrize("name", [name for name in UNPREPARED if name != "register"])
def test_what_is_proposed_of_an_unprepared_file_trains_as_it_is(name: str, tmp_path: Path) -> None:
    """The guessed label is what a person is after; what is proposed comes back from its text."""
    file, make, label, sensitive = UNPREPARED[name]
    path = make(tmp_path / file)
    proposed = propose_schema(path)
    again = read_schema_file(proposed.to_toml(path.name))
    assert again.values_from == "rows" and [each.role for each in again.columns] == [
        each.role for each in proposed.columns
    ]
    found = load_dataset(ask(path, again))
    assert name_roles(again)["label"] == label and found.sensitive == sensitive
    assert found.label_names[1] in ("YES", "ja", "Y", "resolved") and np.isfinite(found.X).all()
    assert not [each for each in found.feature_names if "nbr" in each.lower() or "comment" in each or "Lfd" in each]


def test_a_declared_range_is_what_numbers_are_scaled_by(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", [*ROWS, "f,yes,900"])
    found = load_dataset(ask(path, read_schema_file(DECLARED)))
    assert found.feature_names == ("age",) and found.X[-1, 0] == 2.0  # clipped at 100, centre 50, a scale of 25
    assert "declared in the schema, not learned from rows" in " ".join(found.assumptions["record"])
    assert "read from the file" not in " ".join(found.assumptions["record"])


def test_what_a_declared_schema_does_not_state_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", ROWS)
    for line, words in (
        ("range = [0, 100]", "column 'age' needs range"),
        ('categories = ["f", "m"]', "column 'sex' needs categories"),
    ):
        with pytest.raises(BadInput, match=words):
            load_dataset(ask(path, read_schema_file(DECLARED.replace(line, ""))))


def test_a_row_without_a_declared_value_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", [*ROWS, "x,yes,30", "f,perhaps,30"])
    found = load_dataset(ask(path, read_schema_file(DECLARED)))
    assert found.n == 92 and found.without_nulls().n == 90 and found.group_names == ("f", "m")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("whole number", "integer"), "type of column 'age' in the schema must be one of number, "),
        (("[0, 100]", "[100, 0]"), "range of column 'age' in the schema must be rising numbers"),
        (("[0, 100]", "[0]"), "range of column 'age' in the schema must be two rising numbers"),
        (('role = "label"', 'role = "target"'), "role of column 'paid' in the schema must be one of feature, label"),
        (('["no", "yes"]', '["1", "1.0"]'), "categories of column 'paid' in the schema must be different values"),
        (("range", "ranges"), "unknown key of column 'age' in the schema 'ranges'"),
        (('"declared"', '"nowhere"'), "values_from must be one of rows, declared, paid, got 'nowhere'"),
        (('role = "sensitive"', 'role = "label"'), "the schema names two columns as label, 'sex' and 'paid'"),
        (("[columns.age]", "[columns.height]"), "the schema names a column 'height', and the file has none"),
        (('type = "whole number"', 'type = "text"'), "role of column 'age' in the schema must be left out"),
        (("range = [0, 100]", "cut = [30]"), "cut of column 'age' in the schema must be left out"),
        (("range = [0, 100]", 'range = "all"'), "range of column 'age' in the schema must be rising numbers"),
        (("[columns.age]", "[columns.age"), "the schema is not valid TOML"),
    ],
)
def test_a_wrong_schema_is_refused_in_one_sentence(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", ROWS)
    with pytest.raises(BadInput) as refused:
        load_dataset(ask(path, read_schema_file(DECLARED.replace(*change))))
    assert words in str(refused.value) and "\n" not in str(refused.value).split(": Expected")[0]


def test_a_config_has_no_range_of_a_sensitive_column() -> None:
    """`fairpriv schema` proposed age as a feature, with the range of its rows; then it was made sensitive."""
    schema = read_schema_file(DECLARED.replace('"declared"', '"rows"'))
    text = to_text(schema, compared=find_compared(schema, label="paid", sensitive="sex+Age:40"))
    assert "range" not in text and from_text(text).find("feature")
    asked = {"file": "people.csv", "label": "paid", "sensitive": "age:40", "schema": to_text(schema, compared=())}
    assert "range" not in (read_data(asked).schema or "")
    assert "range" in (read_data({**asked, "sensitive": "sex"}).schema or "")


@pytest.mark.parametrize("sensitive", ["sex", "age:40"])
def test_types_that_were_read_from_the_rows_are_an_assumption(sensitive: str, tmp_path: Path) -> None:
    """One person's 30.5 makes an age a number that was a whole number, and a config states the type."""
    path = write(tmp_path / "people.csv", ROWS)
    for source, said in (("rows", True), ("declared", False)):
        found = load_dataset(ask(path, read_schema_file(DECLARED.replace("declared", source)), sensitive=sensitive))
        sentence = f"So are the types of {sensitive.partition(':')[0]} and paid in the schema."
        for told in found.assumptions.values():
            assert (sentence in " ".join(told)) == said


def test_one_row_of_each_person_is_used_and_no_other_depends_on_what_it_holds(tmp_path: Path) -> None:
    path = write_stays(tmp_path / "stays.csv", rows=1_000)
    spec = DataSpec(file=str(path), label="readmitted", sensitive="gender", person="patient_nbr")
    found, outline = load_dataset(spec), outline_data(spec)
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    people = [line[1] for line in lines]
    assert found.n == len(set(people)) < 1_000 and found.unit is None
    assert found.row is not None and len({people[row] for row in found.row}) == found.n
    assert dict(outline.rows_left_out) == {"another row of the same patient_nbr is used": 1_000 - found.n}
    assert "patient_nbr" not in found.feature_names
    assert "all rows of one patient_nbr together" in " ".join(found.assumptions["record"])
    person = next(each for each in people if people.count(each) > 1)
    changed = [[*line[:2], "?", "", "9", "", "", "", "", "", "NO"] if line[1] == person else line for line in lines]
    path.write_text("\n".join([path.read_text().splitlines()[0], *map(",".join, changed)]))
    replaced = load_dataset(spec)
    assert replaced.row is not None
    others = [row for row in found.row if people[row] != person]
    assert [row for row in replaced.row if people[row] != person] == others


def test_rows_of_one_person_are_never_on_both_sides(tmp_path: Path) -> None:
    path = write_stays(tmp_path / "stays.csv", rows=1_000)
    spec = DataSpec(file=str(path), label="readmitted", sensitive="gender", person="patient_nbr")
    people = [line.split(",")[1] for line in path.read_text().splitlines()[1:]]
    train, test = split_dataset(load_dataset(spec), seed=1)
    assert train.row is not None and test.row is not None
    assert not {people[row] for row in train.row} & {people[row] for row in test.row}


def test_a_person_who_is_not_there_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", ROWS)
    with pytest.raises(BadInput, match="unknown column 'who' in person"):
        load_dataset(DataSpec(file=str(path), label="paid", sensitive="sex", person="who"))
    with pytest.raises(BadInput, match="person is about a file of one's own"):
        DataSpec(dataset="adult", sensitive="sex", person="who")


def test_keys_codes_and_free_text_are_known_without_a_schema(tmp_path: Path) -> None:
    said = {each.name: each.said for each in inspect_file(write_stays(tmp_path / "stays.csv")).columns}
    assert (said["encounter_id"].role, said["patient_nbr"].role) == ("left out", "person")
    assert (said["diag_1"].type, said["diag_1"].reason) == ("code", "")
    assert (said["admission_type_id"].type, said["num_medications"].type) == ("code", "whole number")
    found = {each.name: each.said for each in inspect_file(write_tickets(tmp_path / "tickets.csv")).columns}
    assert {name for name, each in found.items() if each.role == "left out"} == {"ticket", "comment", "agent_note"}
    assert (found["opened_at"].type, found["opened_at"].part) == ("date", "month")


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (("2020-01-31", "1999-12-01T10:00:00Z"), "ymd"),
        (("31.12.1999", "01.02.2003"), "dmy"),
        (("01/02/2003", "03/04/2005"), "mdy"),
        (("01/02/2003", "13/04/2005"), "dmy"),
        (("20200131",), "ymd"),
        (("2020-02-30",), None),
        (("1-2-3",), None),
        ((), None),
    ],
)
def test_the_order_of_dates(values: tuple[str, ...], order: str | None) -> None:
    assert guess_order(values) == order


def test_parts_of_dates() -> None:
    column = Codes(np.array([0, 1, -1, 2]), ("2000-02-29", "1999-12-31 23:59", "soon"))

    def part(name: str, at: str = "") -> list[float | str | None]:
        found = take_part(column, DatePart(name, "ymd", at))
        if isinstance(found, Numbers):
            return [None if np.isnan(value) else float(value) for value in found.values]
        return [found.values[code] if code >= 0 else None for code in found.codes]

    assert part("year") == [2000, 1999, None, None]
    assert part("month") == ["2", "12", None, None]
    assert part("weekday") == ["Tuesday", "Friday", None, None]
    assert part("age", "2026-02-28") == [25, 26, None, None]
    assert read_date("1700-01-01", "ymd") is None


def test_a_year_is_asked_of_a_new_file_as_of_the_first(tmp_path: Path) -> None:
    """The date's part belongs to the encoder, so that prediction reads the same column alike."""
    path = write(
        tmp_path / "people.csv",
        [f"{row},{2000 + index % 20}-05-01" for index, row in enumerate(ROWS)],
        "sex,paid,age,on",
    )
    found: Dataset = load_dataset(DataSpec(file=str(path), label="paid", sensitive="sex"))
    assert "on (year)" in found.feature_names
    encoder = Encoder.from_json(found.encoder)
    assert encoder.schema[-1].date == DatePart("year", "ymd")
    table = read_table(path, read_as={"on": Column("", type="date")}).table
    assert np.array_equal(encoder.transform(table), found.X)


def test_a_short_key_column_is_no_key() -> None:
    """Codes that a name calls an id, few of them, are codes; amounts that all differ in few rows are amounts."""
    few = guess_column("discharge_disposition_id", Numbers(np.repeat(np.arange(1.0, 27), 40)))
    amounts = guess_column("salary", Numbers(np.arange(500.0) ** 2 + 7))
    assert (few.role, few.type) == ("feature", "code") and (amounts.role, amounts.type) == ("feature", "whole number")


def test_a_listed_value_is_found_behind_any_number_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one row more of other texts would decide what the rows behind it hold."""
    monkeypatch.setattr("fairpriv_core.files.growing.MOST_VALUES", 5)
    path = write(
        tmp_path / "people.csv",
        [f"v{row},1,f" for row in range(50)] + ["b,0,m", "b,1,m", "a,1,f", "v3,0,m", ",0,f"],
        "town,paid,sex",
    )
    found = read_table(path, read_as={"town": category("town", ("a", "b"))}).table["town"]
    assert isinstance(found, Codes)
    assert [found.values[code] if code >= 0 else None for code in found.codes[-5:]] == ["b", "b", "a", "v3", None]
    assert len(found.values) == 8


@pytest.mark.parametrize("held", ["0.5,0.5", "soon,3", "0.5,soon", ",", "1e300,1e300", "16777217,16777217"])
def test_no_cell_moves_what_another_row_holds_by_a_bit(held: str, tmp_path: Path) -> None:
    """Else a row moved every other one's gradient, and a sum of many by more than its own."""
    draw = np.random.default_rng(0)
    rows = [
        f"{'fm'[row % 2]},{('no', 'yes')[row % 3 == 0]},{draw.normal():.5f},{draw.integers(2**24, 10**8)}"
        for row in range(300)
    ]
    columns = "[columns.score]\nrange = [-3, 3]\n[columns.pay]\nrange = [0, 100000000]\n"
    schema = read_schema_file(DECLARED.partition("[columns.age]")[0] + columns)
    found = [
        load_dataset(ask(write(tmp_path / "people.csv", [*rows, f"m,yes,{last}"], "sex,paid,score,pay"), schema)).X
        for last in ("0.5,3", held)
    ]
    assert np.array_equal(found[0][:-1], found[1][:-1])


@pytest.mark.parametrize(
    ("read_as", "texts", "first"),
    [
        (Column("", type="text"), ["a", "b", "c", "d", "e", "f"], "alone"),
        (Column("", type="date"), [f"2020-01-0{day}" for day in range(1, 7)], "2021-12-31"),
        (Column("", type="date"), [f"2020-01-0{day}" for day in range(1, 7)], "soon"),
    ],
    ids=["texts", "days", "days after a text"],
)
def test_a_value_takes_no_place_of_another_rows(
    read_as: Column, texts: list[str], first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: a value of one row moves the count of no other by thousands, which no noise hides."""
    for limit in ("MOST_VALUES", "_MOST_DAYS"):
        monkeypatch.setattr(f"fairpriv_core.files.growing.{limit}", len(texts))
    path = write(tmp_path / "people.csv", [f"{text},1" for text in (first, *texts, *texts)], "on,paid")
    found = read_table(path, read_as={"on": read_as}).table["on"]
    assert isinstance(found, Codes)
    assert [found.values[code] for code in found.codes[1:]] == [*texts, *texts]
