"""A numeric label that a person cuts in two, `score:150`: its values, what is public of it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset, load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import ColumnReport, inspect_file, list_labels, outline_data
from fairpriv_core.data.roles import Attribute, parse_label
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from tests.data.encoders import load_encoder

SCORES = [25 + (37 * row) % 322 for row in range(200)]
NAMES = ("score < 150", "score ≥ 150")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "people.csv"
    rows = [f"{'fm'[row % 2]},{row % 47},{'ab'[row % 2]},{score}" for row, score in enumerate(SCORES)]
    place.write_text("\n".join(["sex,age,kind,score", *rows]))
    return place


def load(path: Path, label: str, *, positive: str | None = None, sensitive: str = "sex") -> Dataset:
    return load_dataset(DataSpec(file=str(path), label=label, positive=positive, sensitive=sensitive))


def test_a_value_equal_to_the_edge_is_above_it_and_above_is_positive(path: Path) -> None:
    assert 150 in SCORES
    dataset = load(path, "score:150")
    assert dataset.label_names == NAMES
    assert dataset.y.tolist() == [int(score >= 150) for score in SCORES]
    assert "score" not in dataset.feature_names and "age" in dataset.feature_names
    assert load_encoder(DataSpec(file=str(path), label="score:150", sensitive="sex")).to_json() == dataset.encoder


@pytest.mark.parametrize("positive", NAMES)
def test_either_part_may_be_positive(path: Path, positive: str) -> None:
    dataset = load(path, "score:150.0", positive=positive)
    assert dataset.label_names[1] == positive
    assert dataset.y.sum() == sum((score >= 150) == (positive == NAMES[1]) for score in SCORES)


def test_where_it_is_cut_is_said_to_be_public_and_makes_other_data(path: Path) -> None:
    dataset = load(path, "score:150")
    said = "Where score is cut into the two labels (score < 150; score ≥ 150) is taken as public."
    assert said in dataset.assumptions["attribute"] and said in dataset.assumptions["record"]
    assert dataset.digest == load(path, "score:150.0").digest != load(path, "score:151").digest


def test_an_outline_has_the_same_labels(path: Path) -> None:
    spec = DataSpec(file=str(path), label="score:150", sensitive="age:20")
    assert outline_data(spec).dataset.y.tobytes() == load_dataset(spec).y.tobytes()


def test_an_edge_is_exact_and_rows_without_a_number_are_dropped(path: Path) -> None:
    path.write_text("sex,age,score\n" + "f,1,0.1\nm,2,0.7\nf,3,0.3\nm,4,\nf,5,0.9\n")
    dataset = load(path, "score:0.7").without_nulls()
    assert dataset.y.tolist() == [0, 1, 0, 1] and dataset.left_out == {"no value of score": 1}


def test_few_numbers_and_a_benchmarks_numbers_can_be_cut_too(path: Path) -> None:
    path.write_text("sex,age,grade\n" + "".join(f"{'fm'[row % 2]},{row},{row % 5}\n" for row in range(50)))
    assert load(path, "grade:3").y.tolist() == [int(row % 5 >= 3) for row in range(50)]
    synthetic = load_dataset(DataSpec(dataset="synthetic", sensitive="group"))
    number = next(name for name in synthetic.feature_names if " " not in name)
    cut = load_dataset(DataSpec(dataset="synthetic", sensitive="group", label=f"{number}:0.5"))
    assert cut.label_names == (f"{number} < 0.5", f"{number} ≥ 0.5") and cut.d < synthetic.d + 2


def test_a_name_with_a_colon_is_a_name(path: Path) -> None:
    path.write_text("sex,a,a:1\n" + "".join(f"{'fm'[row % 2]},{row},{'xy'[row % 3 > 0]}\n" for row in range(60)))
    assert load(path, "a:1").label_names == ("x", "y")
    assert parse_label("a:1", ["a", "a:1"]) == Attribute("a:1")
    assert parse_label("a:1:2", ["a", "a:1"]) == Attribute("a:1", (2.0,))


@pytest.mark.parametrize(
    ("label", "says"),
    [
        (
            "score",
            "label 'score' is a numeric column with too many values; say where to cut it in two, like score:150.",
        ),
        ("score:100,150", "a label is cut at one value, got '100,150'; write one number, like score:150."),
        ("score:high", "a label is cut at one value, got 'high'; write one number, like score:150."),
        ("score:", "a label is cut at one value, got ''; write one number, like score:150."),
        ("score:nan", "a label is cut at one value, got 'nan'; write one number, like score:150."),
        ("score:25", "label 'score' cannot be cut at 25: all of its values are on one side; cut it above its smallest"),
        ("score:346.5", "label 'score' cannot be cut at 346.5: all of its values are on one side; cut it above"),
        ("kind:3", "label 'kind' holds text, so it cannot be cut at 3; write it without ':3', or cut a numeric"),
        ("wage:3", "unknown label column 'wage:3'; choose from sex, age, kind, score."),
    ],
)
def test_a_cut_that_cannot_be_is_refused_in_a_sentence(path: Path, label: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(path, label)
    assert str(caught.value).startswith(says) and caught.value.field == "label"


@pytest.mark.parametrize("sensitive", ["sex", "score:100"])
def test_the_refusal_of_a_cut_tells_no_value_that_rows_have(path: Path, sensitive: str) -> None:
    said = set()
    for scores in (SCORES, [7 * score for score in SCORES]):
        path.write_text("\n".join(["sex,score", *(f"{'fm'[row % 2]},{score}" for row, score in enumerate(scores))]))
        with pytest.raises(BadInput, match="cannot be cut at 10: all of its values are on one side") as refused:
            load(path, "score:10", sensitive=sensitive)
        said.add(str(refused.value))
    assert len(said) == 1


def test_other_choices_beside_a_cut_label_are_checked(path: Path) -> None:
    with pytest.raises(BadInput, match="choose from score < 150, score ≥ 150"):
        load(path, "score:150", positive="yes")
    for sensitive in ("score", "score:100", "sex+score:100"):
        with pytest.raises(BadInput, match="'score' cannot be both the label and the sensitive attribute"):
            load(path, "score:150", sensitive=sensitive)


def _report(name: str, distinct: int, role: str = "feature", kind: str = "numbers") -> ColumnReport:
    return ColumnReport(Column(name, role), kind == "numbers", distinct, 0, ())


def test_categories_are_offered_before_numbers_and_no_row_numbers() -> None:
    columns = [
        _report("score", 99),
        _report("id", 200, "unused"),
        _report("kind", 3),
        _report("name", 70, kind="texts"),
    ]
    assert [column.name for column in list_labels(columns)] == ["kind", "score"]


@pytest.mark.parametrize(
    ("header", "kinds", "guess"),
    [
        ("sex,income,hired,score", (2, 40, 2, 40), "hired"),
        ("sex,income,paid,score", (2, 40, 2, 40), "paid"),
        ("age,target,sex,score", (40, 40, 2, 40), "target"),
        ("score,sex,weight,age", (40, 2, 41, 40), "weight"),
        ("income,sex,age", (2, 2, 40), "income"),
        ("sex,age", (2, 40), None),
    ],
)
def test_a_sensitive_column_is_never_guessed_as_label(
    tmp_path: Path, header: str, kinds: tuple[int, ...], guess: str | None
) -> None:
    generator = np.random.default_rng(1)
    place = tmp_path / "people.csv"
    rows = [",".join(str(generator.integers(0, kind)) for kind in kinds) for _ in range(400)]
    place.write_text("\n".join([header, *rows]))
    found = [column.name for column in inspect_file(place).columns if column.role == "label"]
    assert found == ([guess] if guess else [])
