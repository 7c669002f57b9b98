"""One table in the forms in which people have theirs, from upload to decisions on the next month: none loses a row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairpriv_core.data.own_file import read_columns
from fairpriv_core.data.table_schema import from_text
from fairpriv_core.errors import BadInput
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.files.table import Cells, to_codes
from tests.cli.commands import Call
from tests.offices import NO_OUTCOME, NO_SEX, OFFICES, Office, draw_rows, spell_otherwise
from tests.pages.shown import Open, said, upload, whole

ROWS = draw_rows()
KEPT = len(ROWS) - NO_SEX - NO_OUTCOME


@pytest.mark.parametrize("name", OFFICES)
def test_page_command_estimator_and_record_count_the_same_rows(
    name: str, open_page: Open, call: Call, tmp_path: Path
) -> None:
    office = OFFICES[name]
    path = office.write(tmp_path / office.file, ROWS)
    left_out = {f"no value of {office.sensitive}": NO_SEX, f"no value of {office.label}": NO_OUTCOME}
    asked = ("--label", office.label, "--positive", office.positive, "--sensitive", office.sensitive, "--json")
    asked += ("--notion", "demographic_parity", "--method", "none", "--set", "epochs=2")
    made = call("train", "--file", str(path), *asked, *office.options)
    record = made.json["data"]
    assert made.json["left_out"] == left_out and record["n_train"] + record["n_test"] == KEPT
    assert len(record["group_names"]) == len(record["label_names"]) == 2
    for reason, rows in left_out.items():
        assert f"{rows} of {len(ROWS)} rows are not used: {reason}." in made.err
    page = upload(open_page("data", source="file"), path.read_bytes(), office.file)
    page.selectbox("label").set_value(office.label).run()
    page.selectbox("positive").set_value(office.positive).run()
    page.multiselect("attributes").set_value([office.sensitive]).run()
    for key in office.buttons:
        page.button(key).click().run()
    told = said(whole(page))
    assert f"**{len(ROWS)}** rows were read, **{KEPT}** are used." in told
    for reason, rows in left_out.items():
        assert f"- {rows} rows: {reason}." in told
    count_by_estimator(path, office, made.json["config"]["data"]["schema"])
    decide_alike(call, made.json["key"], office, tmp_path)


def count_by_estimator(path: Path, office: Office, stated: str | None) -> None:
    """Check that a frame of the same cells has the same rows that lack a group, which are refused, and as many more."""
    table = read_columns(path, None if stated is None else from_text(stated)).table
    frame = pd.DataFrame({name: list_cells(table[name]) for name in (office.sensitive, office.label)})
    frame["x"] = range(len(frame))
    known = frame[frame[office.label].notna()]
    model = FairPrivateClassifier(method="none", epsilon=None, pos_label=office.positive, settings={"epochs": 1})
    with pytest.raises(BadInput, match=f"lacks the value of {NO_SEX} rows"):
        model.fit(known[["x"]], known[office.label], sensitive_features=known[office.sensitive])
    kept = known[known[office.sensitive].notna()]
    model.fit(kept[["x"]], kept[office.label], sensitive_features=kept[office.sensitive])
    assert model.record_["data"]["n_train"] == KEPT and len(model.groups_) == 2


def list_cells(column: Cells) -> list[str | None]:
    coded = to_codes(column)
    assert coded is not None
    return [None if code < 0 else coded.values[code] for code in coded.codes]


def decide_alike(call: Call, key: str, office: Office, folder: Path) -> None:
    """Check that a later month is decided on alike however it is spelled, and that its amounts are said to be read."""
    month = draw_rows(120, seed=1)
    decided = []
    for rows in (month, spell_otherwise(month)):
        path = office.write(folder / office.file, rows)
        told = call("predict", key, "--file", str(path), "--out", str(folder / "out.csv"))
        assert told.code == 0, told.err
        decided.append((folder / "out.csv").read_text())
    assert decided[0] == decided[1] and decided[0].count("\n") == 121
    assert "is read as the number" in told.err and "no known value" not in told.err
