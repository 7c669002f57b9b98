"""`fairpriv randomize`, and training on what it writes: nobody who has both files has anybody's true value."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.facts import wording
from fairpriv_core.facts.compare import Compared, compare, fold_groups
from fairpriv_core.facts.measured import measure
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.facts.tables import run_table
from fairpriv_core.figures.comparison import compare_points
from fairpriv_core.stats import wilson_interval
from fairpriv_core.store.runs import open_store
from tests.cli.commands import Call
from tests.randomized import HEADER, draw_people, write_people

TRAIN = ("--notion", "demographic_parity", "--method", "one_release_local", "--set", "learner=linear")


def flip(call: Call, people: Path, *more: str) -> Any:
    said = call("randomize", str(people), "--column", "sex", "--values", "female,male", "--epsilon", "2", *more)
    assert said.code == 0, said.err
    return said


def sweep_seeds(call: Call, answers: Path) -> Any:
    sweep = answers.with_name("sweep.toml")
    data = f'[data]\nfile = "{answers}"\nlabel = "paid"\nsensitive = "sex"\n'
    method = f'[method]\nname = "{TRAIN[3]}"\nlearner = "linear"\n'
    sweep.write_text(f'notion = "{TRAIN[1]}"\n{data}{method}[axes]\nseed = [0, 1]\n')
    said = call("sweep", str(sweep), "--json")
    assert said.code == 0, said.err
    return said


def test_a_run_on_randomised_answers_has_one_event_and_no_raw_gap(call: Call, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 12_000)
    flip(call, people)
    answers = tmp_path / "people.randomized.csv"
    own = ("train", "--file", str(answers), "--label", "paid", "--sensitive", "sex")
    records = [json.loads(call(*own, *TRAIN, "--seed", seed, "--json").out) for seed in ("0", "1")]
    for record in records:
        assert record["event"] == [{"kind": "randomized_response", "epsilon": 2.0}] and record["released"] == []
        assert record["epsilon"] == pytest.approx(2.0, rel=1e-3)
        raw = [name for name in record["metrics"] if name.endswith(("_gap", "_ratio", "_population"))]
        assert raw and all(record["metrics"][name] is None for name in raw) and record["metrics"]["groups"] == []
        low, high = record["metrics_private"]["demographic_parity_gap_interval"]
        assert low <= record["metrics_private"]["demographic_parity_gap"] <= high
        assert any("relationship = husband" in sentence for sentence in record["assumptions"])
    key = records[0]["key"]
    for form in ("csv", "md", "html"):
        call("export", key, "--format", form, "--out", str(tmp_path / form))
        assert "computed on protected data without noise" not in (tmp_path / form).read_text(), form
    said = call(*own, *TRAIN, "--seed", "0")
    told = " ".join(said.out.split())
    assert "From randomised answers alone" in told and not re.search(r"\braw\b", told.lower()), told
    asked = ("--notion", "demographic_parity", "--method", "auto", "--protect", "attribute", "--json")
    advised = call(*own, *asked)
    assert advised.json["config"]["method"]["name"] == "one_release_local"
    assert "Groups are randomised answers here" in advised.err
    [spent] = call("ledger", "--file", str(answers), "--sensitive", "sex", "--json").json["ledgers"]
    [column] = [each for each in spent["protected"] if each["column"] == "sex"]
    assert column["event"] == [{"kind": "randomized_response", "epsilon": 2.0}], "one event for all runs"
    assert len(column["runs"]) == 3


def test_tables_and_comparisons_of_runs_tell_gaps_by_the_answers(call: Call, tmp_path: Path) -> None:
    flip(call, write_people(tmp_path / "people.csv", 6_000))
    own = ("train", "--file", str(tmp_path / "people.randomized.csv"), "--label", "paid", *TRAIN)
    for seed in ("0", "1"):
        call(*own, "--seed", seed)
    listed, said = call("runs", "--json").json["runs"], call("runs").out
    swept = sweep_seeds(call, Path(own[2]))
    with open_store() as store:
        [row] = run_table(store.each_brief())
        runs = [read_facts(record) for record in store.records(row.keys).values()]
    assert row.by_answers and [run.outcome.gap for run in runs] == [run.gap.value for run in runs if run.gap]
    assert {line["gap"] for line in listed} == {run.outcome.gap for run in runs} and "are estimates" in said
    assert swept.json["table"][0]["gap"] == pytest.approx(row.gap.mean)
    assert "are estimates" in call("sweep", str(tmp_path / "sweep.toml")).out
    measured = measure(runs)
    ends = measured.gap.low, measured.gap.high
    one_seed, rows = measure(runs[:1]).accuracy, runs[0].data.n_test
    assert measured.answered and one_seed.mean is not None
    assert (one_seed.low, one_seed.high) == pytest.approx(wilson_interval(round(one_seed.mean * rows), rows))
    assert (row.gap.mean, row.gap.low, row.gap.high) == pytest.approx((measured.gap.mean, *ends))
    one = Compared("A: OneRelease, local", row, runs)
    figure = compare_points([one])
    assert figure.x.title == "Demographic parity gap, by answers" and wording.BY_ANSWERS in figure.caption
    assert figure.origin.kind == "released"
    groups = fold_groups(runs, "positive_rate")
    assert [group["name"] for group in groups] == ["female", "male"]
    assert all(
        low < group["positive_rate"] < high for group in groups for low, high in [group["positive_rate_interval"]]
    )
    accuracy, gap = compare([one], one)
    assert accuracy.startswith("Accuracy: ") and "Seeds do not vary their flips" in gap


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ((), "method 'pf_ld' takes 'sex' as true, and it holds randomised answers; choose from one_release_local"),
        (("--sensitive", "town"), "column 'sex' holds randomised answers, so it can be the sensitive attribute alone"),
        (("--method", "one_release_local", "--epsilon", "1"), "epsilon must be 2 or more, or left out"),
        (("--method", "one_release_local", "--replay-noise", "3"), "replay_noise"),
        (("--method", "one_release_local", "--group-ratio", "0.5"), "group_ratio"),
    ],
)
def test_what_would_take_answers_as_true_is_refused_in_a_sentence(
    call: Call, tmp_path: Path, command: tuple[str, ...], sentence: str
) -> None:
    flip(call, write_people(tmp_path / "people.csv", 400))
    own = ("train", "--file", str(tmp_path / "people.randomized.csv"), "--label", "paid", "--sensitive", "sex")
    said = call(*own, "--notion", "demographic_parity", "--method", "pf_ld", *command)
    assert said.code == 2 and sentence in said.err.splitlines()[-1], said.err


def test_a_second_flip_is_refused_and_again_states_the_sum(call: Call, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 50)
    flip(call, people)
    first = (tmp_path / "people.randomized.csv").read_bytes()
    command = ("randomize", str(people), "--column", "sex", "--values", "female,male", "--epsilon", "2")
    for more in ((), ("--out", str(tmp_path / "other.csv"))):
        said = call(*command, *more)
        assert said.code == 2 and "flipped already" in said.err and "--again" in said.err
    assert (tmp_path / "people.randomized.csv").read_bytes() == first and not (tmp_path / "other.csv").exists()
    said = call(*command, "--again", "--json")
    assert said.code == 0 and said.json["epsilon_together"] == 4.0
    assert tomllib.loads((tmp_path / "people.randomized.csv.toml").read_text())["columns"]["sex"]["randomized"] == [
        2.0,
        2.0,
    ]
    answers = str(tmp_path / "people.randomized.csv")
    said = call("randomize", answers, *command[2:], "--again", "--out", str(tmp_path / "more.csv"))
    assert said.code == 2 and "holds answers already" in said.err, "to flip answers hides no more"


def test_answers_in_several_folders_add_up_and_copies_count_once(call: Call, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    people = write_people(folders[0] / "people.csv", 50)
    flip(call, people, "--out", str(folders[1] / "x.csv"))
    said = call("randomize", str(people), "--column", "sex", "--values", "female,male", "--epsilon", "2")
    assert said.code == 2 and "flipped already, with ε = 2" in said.err, "a copy of the note is beside the table"
    for place in (folders[1] / "x.csv", folders[1] / "x.csv.toml"):
        (folders[0] / place.name).write_bytes(place.read_bytes())
    elsewhere = folders[2] / "people.csv"
    elsewhere.write_bytes(people.read_bytes())
    flip(call, elsewhere)
    said = flip(call, people, "--again", "--json", "--out", str(folders[2] / "y.csv"))
    assert said.json["epsilon_together"] == 6.0, "once in x, once in people.randomized.csv, and now"
    assert tomllib.loads((folders[2] / "y.csv.toml").read_text())["columns"]["sex"]["randomized"] == [2.0, 2.0, 2.0]
    said = flip(call, people, "--again", "--json", "--out", str(folders[1] / "z.csv"))
    assert said.json["epsilon_together"] == 8.0


def test_one_person_who_is_asked_again_has_each_answer_counted(call: Call, tmp_path: Path) -> None:
    """Files of one row are the same where its answers are."""
    people = write_people(tmp_path / "people.csv", 1)
    flip(call, people, "--epsilon", "50")
    for asked in (2, 3, 4):
        said = flip(call, people, "--epsilon", "50", "--again", "--json", "--out", str(tmp_path / f"{asked}.csv"))
        assert said.json["epsilon_together"] == 50.0 * asked


def test_out_that_has_other_answers_is_refused_as_what_it_is(call: Call, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 50)
    flip(call, people)
    kept = (tmp_path / "people.randomized.csv").read_bytes()
    town = ("--column", "town", "--values", "a,b,c", "--epsilon", "1")
    said = call("randomize", str(people), *town)
    assert said.code == 2 and "has answers of another table or column" in said.err
    others = write_people(tmp_path / "others.csv", 50, seed=1)
    sex = ("--column", "sex", "--values", "female,male", "--epsilon", "1")
    said = call("randomize", str(others), *sex, "--again", "--out", str(tmp_path / "people.randomized.csv"))
    assert said.code == 2 and "has answers of another table or column" in said.err
    said = call("randomize", str(tmp_path / "people.randomized.csv"), *town, "--out", str(tmp_path / "more.csv"))
    assert said.code == 2 and "holds answers of 'sex' already; a table can hold those of one column" in said.err
    assert (tmp_path / "people.randomized.csv").read_bytes() == kept
    assert call("randomize", str(people), *town, "--out", str(tmp_path / "towns.csv")).code == 0


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("", "has a value that is none of female, male"),
        ("Zzyx", "has a value that is none of female, male"),
    ],
)
def test_a_value_that_is_not_declared_is_refused_and_not_repeated(
    call: Call, tmp_path: Path, cell: str, sentence: str
) -> None:
    people = tmp_path / "people.csv"
    people.write_text(f"sex,town\nfemale,a\n{cell},b\n")
    said = call("randomize", str(people), "--column", "sex", "--values", "female,male", "--epsilon", "1")
    assert said.code == 2 and sentence in said.err and "Zzyx" not in said.err + said.out
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["people.csv"], "nothing is written"
    said = call("randomize", str(people), "--column", "sex", "--values", "female,male,missing", "--epsilon", "1")
    assert (said.code == 0) is (cell == "")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("--column", "age"), "must name a column 'age', once"),
        (("--values", "female"), "two values or more"),
        (("--epsilon", "0"), "epsilon must be from 0.001 to 100, got 0."),
        (("--epsilon", "1000"), "epsilon must be from 0.001 to 100, got 1000"),
        (("--epsilon", "1e-20"), "epsilon must be from 0.001 to 100, got 1e-20"),
        (("--values", ""), "are not read from the rows"),
        (("--out", "people.csv"), "out must be another file"),
    ],
)
def test_what_cannot_be_flipped_is_one_sentence(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    people = write_people(tmp_path / "people.csv", 10)
    before = people.read_bytes()
    usual = ("--column", "sex", "--values", "female,male", "--epsilon", "1")
    said = call("randomize", "people.csv", *usual, *command)
    assert said.code == 2 and sentence in said.err and said.err.count("\n") == 1, said.err
    assert people.read_bytes() == before and list(tmp_path.glob("people*")) == [people]


def test_a_file_whose_first_line_is_a_person_is_refused_without_a_word_of_it(call: Call, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("a,45.1,female,yes\n")
    said = call("randomize", str(people), "--column", "sex", "--values", "female,male", "--epsilon", "1")
    assert said.code == 2 and "female" not in said.err + said.out and "45.1" not in said.err


def test_answers_that_were_changed_since_are_refused(call: Call, tmp_path: Path) -> None:
    flip(call, write_people(tmp_path / "people.csv", 400))
    answers = tmp_path / "people.randomized.csv"
    answers.write_text(answers.read_text().replace("\n", "\n", 1) + answers.read_text().splitlines()[-1] + "\n")
    said = call("train", "--file", str(answers), "--label", "paid", "--sensitive", "sex", *TRAIN)
    assert said.code == 2 and "is not the table that people.randomized.csv.toml is about" in said.err


def test_rows_that_were_flipped_on_devices_of_their_own_are_one_table(call: Call, tmp_path: Path) -> None:
    lines = write_people(tmp_path / "people.csv", 4_000).read_text().splitlines()
    files = []
    for part in range(4):
        folder = tmp_path / str(part)
        folder.mkdir()
        own = folder / f"own{part}.csv"
        own.write_text("\n".join([lines[0], *lines[1 + part :: 4]]) + "\n")
        flip(call, own)
        files += ["--file", str(folder / f"own{part}.randomized.csv")]
    own_rows = ("train", *files, "--label", "paid")
    said = call(*own_rows, *TRAIN, "--json")
    assert said.code == 0, said.err
    assert said.json["event"] == [{"kind": "randomized_response", "epsilon": 2.0}]
    assert said.json["data"]["n_train"] == 3_000
    (tmp_path / "1" / "own1.randomized.csv.toml").unlink()
    said = call(*own_rows, *TRAIN)
    assert said.code == 2 and "their notes on randomised answers differ" in said.err


def test_an_answer_that_may_be_false_is_not_said_to_be_true_for_certain(call: Call, tmp_path: Path) -> None:
    said = flip(call, write_people(tmp_path / "people.csv", 10), "--epsilon", "20")
    assert "true with a chance of 99.99 %" in said.out and "100" not in said.out


def write_visits(path: Path, people: int) -> Path:
    """Write three rows of each person."""
    lines = [line for at, line in enumerate(draw_people(people)) for line in [f"p{at},{line}"] * 3]
    path.write_text("\n".join([f"pid,{HEADER}", *lines]) + "\n")
    return path


def test_a_person_of_several_rows_gives_one_answer(call: Call, tmp_path: Path) -> None:
    flip(call, write_visits(tmp_path / "visits.csv", 4_000), "--person", "pid")
    answers = tmp_path / "visits.randomized.csv"
    given: dict[str, set[str]] = {}
    for row in csv.DictReader(answers.read_text().splitlines()):
        given.setdefault(row["pid"], set()).add(row["sex"])
    assert {len(each) for each in given.values()} == {1}
    train = ("train", "--file", str(answers), "--label", "paid", "--sensitive", "sex", *TRAIN, "--json")
    trained = call(*train, "--person", "pid")
    assert trained.code == 0, trained.err
    record = trained.json
    assert any(said.startswith("The sex of each pid was answered") for said in record["assumptions"])
    assert any("protect all rows of one pid together" in said for said in record["assumptions"])


def test_rows_that_were_flipped_one_by_one_protect_no_person(call: Call, tmp_path: Path) -> None:
    said = flip(call, write_visits(tmp_path / "visits.csv", 4_000))
    assert "sex of each row is flipped once" in said.out
    train = (
        "train",
        "--file",
        str(tmp_path / "visits.randomized.csv"),
        "--label",
        "paid",
        "--sensitive",
        "sex",
        *TRAIN,
    )
    refused = call(*train, "--person", "pid")
    assert refused.code == 2 and "rows of one pid have different answers of 'sex'" in refused.err, refused.err
    assert call(*train, "--person", "pid", "--rows", "4000").code == 2, "rows that are left out are known too"
    stated = call(*train, "--json").json["assumptions"]
    assert any(each.startswith("The sex of each row was answered") for each in stated)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("1,female\n1,male", "rows of one pid have different values of 'sex'"),
        ("1,female\n,male", "each row needs a value of 'pid'"),
    ],
)
def test_people_whose_one_answer_cannot_be_drawn_are_refused(
    call: Call, tmp_path: Path, rows: str, sentence: str
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(f"pid,sex\n{rows}\n")
    command = ("--column", "sex", "--values", "female,male", "--epsilon", "1", "--person", "pid")
    said = call("randomize", str(path), *command)
    assert said.code == 2 and sentence in said.err
    assert [each.name for each in tmp_path.iterdir()] == ["visits.csv"]


def test_a_column_alone_keeps_a_row_without_a_value(call: Call, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex\nfemale\n\nmale\n")
    command = ("randomize", str(people), "--column", "sex", "--epsilon", "1", "--values")
    said = call(*command, "female,male")
    assert said.code == 2 and "has a value that is none of" in said.err, "a row that is left out would tell"
    said = call(*command, "female,male,missing")
    assert said.code == 0 and len((tmp_path / "people.randomized.csv").read_text().splitlines()) == 4
