"""How a person names the sensitive attribute."""

from __future__ import annotations

import pytest

from fairpriv_core.data.roles import Attribute, parse_sensitive
from fairpriv_core.errors import BadInput


def test_case_matters_only_between_columns_that_differ_by_it() -> None:
    assert parse_sensitive("sex+AGE:30", ["SEX", "Age"]) == (Attribute("SEX"), Attribute("Age", (30.0,)))
    assert parse_sensitive("sex", ["SEX", "sex"]) == (Attribute("sex"),)
    with pytest.raises(BadInput, match="unknown column 'Sex'"):
        parse_sensitive("Sex", ["SEX", "sex"])
