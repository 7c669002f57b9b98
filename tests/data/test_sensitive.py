"""How a person names the sensitive attribute."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.data.problem import Grouping
from fairpriv_core.data.roles import (
    Attribute,
    assign_groups,
    declare_grouping,
    guess_attributes,
    list_meant,
    name_groups,
    parse_sensitive,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import category, number
from fairpriv_core.files.table import Codes


def test_case_matters_only_between_columns_that_differ_by_it() -> None:
    assert parse_sensitive("sex+AGE:30", ["SEX", "Age"]) == (Attribute("SEX"), Attribute("Age", (30.0,)))
    assert parse_sensitive("sex", ["SEX", "sex"]) == (Attribute("sex"),)
    with pytest.raises(BadInput, match="unknown column 'Sex'"):
        parse_sensitive("Sex", ["SEX", "sex"])


def test_values_that_are_groups_are_named_with_an_equals_sign() -> None:
    columns = ["race", "age", "a=b"]
    race = Attribute("race", values=("White", "65+", "Black, other"))
    assert parse_sensitive('RACE=White, "65+","Black, other"+age:25', columns) == (race, Attribute("age", (25.0,)))
    assert parse_sensitive(f"{race}+a=b", columns) == (race, Attribute("a=b"))
    assert guess_attributes(f"{race}+age:25") == (race, Attribute("age", (25.0,)))
    assert "race" in list_meant(str(race))


@pytest.mark.parametrize("text", ["race=", "race=White,", "race=White, White", "race=1,1.0"])
def test_values_that_are_empty_or_twice_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match=f"the values in '{text}' must be different ones"):
        parse_sensitive(text, ["race"])


def test_all_other_values_are_one_group() -> None:
    race = category("race", ("White", "Black", "Asian", "Other"))
    grouping = declare_grouping(Attribute("race", values=("White", "Asian")), race, {})
    assert grouping == Grouping("race", values=("White", "Asian"), rest="Other")
    kept = declare_grouping(Attribute("race", values=("Other", "White")), race, {})
    assert name_groups(kept) == ("Other", "White", "All others")
    table = {"race": Codes(np.array([1, 0, -1, 3, 2]), race.categories)}
    assert assign_groups(table, [grouping], {"race": race}).tolist() == [2, 0, -1, 2, 1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Attribute("race", values=("Green",)), "'race' has no value 'Green'; choose from White, Black, Asian"),
        (Attribute("race", values=("Asian", "Black", "White")), "names every value, so none is left for the others"),
    ],
)
def test_groups_that_cannot_be_made_are_refused(asked: Attribute, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        declare_grouping(asked, category("race", ("White", "Black", "Asian")), {})
    with pytest.raises(BadInput, match="'age' is a numeric column, so no values of it are groups"):
        declare_grouping(Attribute("age", values=asked.values), number("age", 0.0, 99.0, 0.0, 1.0), {})
