"""Every benchmark of the catalogue keeps the rules, whether or not its files are here."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fairpriv_core.data.catalog import DEFAULT_DATA, problems
from fairpriv_core.data.declaration import check_problem
from fairpriv_core.data.gather import declare
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import make_plan
from fairpriv_core.errors import BadInput
from tests.data.encoders import load_encoder

OFFERED = [(name, sensitive) for name, problem in problems().items() for sensitive in problem.sensitive]


def test_the_named_benchmarks_are_there() -> None:
    first, made_up, *published = problems()
    assert (DEFAULT_DATA["dataset"], DEFAULT_DATA["sensitive"]) == (first, problems()[first].sensitive[0])
    assert (first, made_up) == ("adult", "synthetic")
    tables = [
        "bank",
        "bank_no_duration",
        "compas",
        "credit_default",
        "dutch_census",
        "parkinsons",
        "acs_income",
    ]
    known = [*tables, "mnist_unbalanced", "utkface", "utkface_128"]
    assert [name for name in published if name in known] == known


@pytest.mark.parametrize(("name", "sensitive"), OFFERED)
def test_no_sensitive_column_is_a_feature(name: str, sensitive: str) -> None:
    encoder = load_encoder(DataSpec(dataset=name, sensitive=sensitive))
    hidden = set(sensitive.split("+"))
    assert not hidden & set(encoder.sources)
    for feature in encoder.feature_names:
        assert not [column for column in hidden if re.match(rf"{re.escape(column)}\b(?!-)", feature)], feature


def test_every_benchmark_keeps_the_rules_that_those_of_other_packages_do() -> None:
    for name, problem in problems().items():
        check_problem(name, problem)
    [[digits, *_]] = problems()["mnist_unbalanced"].editions
    insecure = replace(problems()["adult"], editions=((replace(digits, mirror="http://a.org/a"),),))
    with pytest.raises(BadInput, match="a source's mirror must begin with https://"):
        check_problem("adult", insecure)


def test_where_two_columns_say_the_same_both_are_hidden() -> None:
    adult = load_encoder(DataSpec(dataset="adult", sensitive="education"))
    compas = load_encoder(DataSpec(dataset="compas", sensitive="age:25,45"))
    assert not {"education", "education-num"} & set(adult.sources)
    assert not {"age", "age_cat"} & set(compas.sources)


def test_another_column_can_be_the_label() -> None:
    spec = DataSpec(dataset="adult", label="marital-status", positive="Divorced", sensitive="sex")
    plan = make_plan(spec, declare(spec))
    assert plan.label_names == ("not Divorced", "Divorced")
    assert "marital-status" not in {column.name for column in plan.features}
    spec = DataSpec(dataset="compas", label="is_violent_recid", sensitive="race")
    plan = make_plan(spec, declare(spec))
    assert plan.label_names == ("0", "1")
    assert not {"two_year_recid", "is_violent_recid"} & {column.name for column in plan.features}


def test_positive_compares_numbers_as_numbers() -> None:
    for positive in ("1", "1.0", " 1 "):
        spec = DataSpec(dataset="credit_default", positive=positive, sensitive="SEX")
        assert make_plan(spec, declare(spec)).positive == "1"
    spec = DataSpec(dataset="credit_default", positive="0", sensitive="SEX")
    assert make_plan(spec, declare(spec)).label_names == ("1", "0")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (DataSpec(dataset="adlt", sensitive="sex"), "unknown dataset 'adlt'; choose from adult, synthetic"),
        (
            DataSpec(dataset="adult", sensitive="gender"),
            "unknown column 'gender' in sensitive; choose from age, workcl",
        ),
        (DataSpec(dataset="adult", sensitive="sex+"), "unknown column '' in sensitive"),
        (DataSpec(dataset="adult", sensitive="age"), "'age' is a numeric column; say where to cut it, like age:25,60"),
        (DataSpec(dataset="adult", sensitive="sex:3"), "'sex' holds text, so it cannot be cut at 3"),
        (DataSpec(dataset="adult", sensitive="age:60,25"), "the edges in 'age:60,25' must be rising numbers"),
        (DataSpec(dataset="adult", sensitive="age:nan"), "must be rising numbers"),
        (DataSpec(dataset="adult", sensitive="age:"), "must be rising numbers"),
        (DataSpec(dataset="adult", sensitive="sex+sex"), "names a column twice in 'sex+sex'"),
        (
            DataSpec(dataset="adult", sensitive="income"),
            "'income' cannot be both the label and the sensitive attribute",
        ),
        (DataSpec(dataset="adult", label="wage", sensitive="sex"), "unknown label column 'wage'; choose from age"),
        (DataSpec(dataset="adult", label="age", sensitive="sex"), "label 'age' is a numeric column with too many"),
        (DataSpec(dataset="adult", label="race", sensitive="sex"), "label 'race' has 5 values"),
        (
            DataSpec(dataset="adult", positive="rich", sensitive="sex"),
            "positive 'rich' does not occur in 'income'; choose",
        ),
        (DataSpec(dataset="adult", sensitive="native-country+race"), "has 123 groups; at most 50 can be compared"),
    ],
)
def test_a_choice_that_is_none_is_refused_by_name(spec: DataSpec, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_plan(spec, declare(spec))
    assert says in str(caught.value)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sensitive": "sex"}, "either a dataset or a file"),
        ({"dataset": "adult", "file": "x.csv", "label": "y", "sensitive": "sex"}, "either a dataset or a file"),
        ({"file": "x.csv", "sensitive": "sex"}, "label must name the column"),
        ({"dataset": "adult", "sensitive": " "}, "sensitive must name a column"),
    ],
)
def test_a_spec_is_checked_when_built(given: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        DataSpec(**given)
