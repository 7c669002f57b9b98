"""Whole runs on a file of one's own, replayed on garbage: of a column, or a row, nothing leaves but by releases.

See `test_whole_runs`. Under a declared or paid schema not even what columns hold follows one row.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.table_schema import name_roles, pay_for, read_schema_file, to_text
from fairpriv_core.ledger import paid_schema
from fairpriv_core.methods.base import Method
from fairpriv_core.records import release
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.store.runs import open_store
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import RecordingMechanism, Release
from tests.runs.test_whole_runs import FOR_GROUPS, FOR_RECORDS, ROWS, Left, ask, assert_same, export, run_whole

pytestmark = pytest.mark.usefixtures("browser_that_hands_back", "one_identity")


def write_people(path: Path, age: Sequence[object], *, changed: Mapping[int, str] | None = None) -> Path:
    """Write a file of a person's own, whose row `i` reads `changed[i]` in place of its own text; return `path`."""
    draw = np.random.default_rng(3)
    income, hours = draw.normal(size=ROWS), draw.integers(1, 60, ROWS)
    paid = np.where(income + 0.5 * draw.normal(size=ROWS) > 0, "yes", "no")
    lines = [f"{a:.3f},{b},{c},{d}" for a, b, c, d in zip(income, hours, age, paid, strict=True)]
    lines = [(changed or {}).get(row, line) for row, line in enumerate(lines)]
    path.write_text("\n".join(["income,hours,age,paid", *lines]) + "\n")
    return path


@pytest.mark.parametrize("name", ["jagielski_post", pytest.param("pf_ld", marks=pytest.mark.long)])
def test_a_column_of_ones_own_that_is_cut_leaves_its_edges_alone(name: str, tmp_path: Path) -> None:
    draw, path = np.random.default_rng(4), tmp_path / "people.csv"
    ages = draw.integers(18, 80, ROWS)
    write_people(path, ages.tolist())
    config = ask(EXAMPLES[name][0], {"file": str(path), "label": "paid", "sensitive": "age:40"})
    honest, tape = run_whole(config, tmp_path / "honest.db")
    for place, garbage in enumerate(([97] * ROWS, draw.normal(0, 1e6, ROWS).tolist(), [f"4{a}e-1" for a in ages])):
        write_people(path, garbage)
        replayed, _ = run_whole(config, tmp_path / f"replayed{place}.db", tape)
        assert_same(honest, replayed)


def holds(exported: Mapping[str, bytes], text: str) -> bool:
    """Return whether one of the files says `text`."""
    return any(text.encode() in content for content in exported.values())


@pytest.mark.parametrize("changed", [5, 390])
def test_one_row_of_a_file_of_ones_own_leaves_no_trace(changed: int, tmp_path: Path) -> None:
    """Its values stay within what is assumed of the columns: ranges, means and lists are read from the file."""
    path = tmp_path / "people.csv"
    ages = np.random.default_rng(4).integers(18, 80, ROWS).tolist()
    odd = {7: "0.5,lots,30,no"}
    write_people(path, ages, changed=odd | {changed: "0.5,20,19,yes"})
    config = ask(EXAMPLES["dp_sgd"][0], {"file": str(path), "label": "paid", "sensitive": "age:40"})
    honest, tape = run_whole(config, tmp_path / "honest.db")
    caveat = "has cells that are no numbers and count as missing"  # a predicate of rows: it comes and goes with one
    assert caveat in json.dumps(honest.record["data"]["caveats"]) and holds(export(honest.data, "analyst"), caveat)
    assert not holds(export(honest.data, "policy"), caveat)
    encoder = json.loads(honest.model["model.json"])["encoder"]
    write_people(path, ages, changed=odd | {changed: "0.5,20,79,no"})
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    assert json.loads(replayed.model["model.json"])["encoder"] == encoder
    assert_same(honest, replayed)


@pytest.mark.parametrize("name", ["dp_is_sgd", "one_release_record"])
def test_who_lacks_a_group_or_a_label_leaves_no_trace(name: str, tmp_path: Path) -> None:
    """Nor does that a row does: training and test rows stay as many, with as many steps and sampled at one rate."""
    path, left, tape = tmp_path / "people.csv", [], None
    ages = np.random.default_rng(4).integers(18, 80, ROWS).tolist()
    config = ask(EXAMPLES[name][0], {"file": str(path), "label": "paid", "sensitive": "age:40"})
    for place, changed in enumerate(({}, {5: "0.5,20,,yes", 390: "0.5,20,19,"}, {5: "0.5,20,19,", 6: "0.5,20,,"})):
        write_people(path, ages, changed={5: "0.5,20,19,yes", 6: "0.5,20,20,no", 390: "0.5,20,19,yes"} | changed)
        found, releases = run_whole(config, tmp_path / f"{place}.db", tape)
        left, tape = [*left, found], tape or releases
        assert found.record["data"]["n_train"] + found.record["data"]["n_test"] == ROWS
    for replayed in left[1:]:
        assert_left_the_same(left[0], replayed, "a value that is missing")


_SCHEMA = """
values_from = "declared"

[columns.sex]
role = "sensitive"
type = "category"
categories = ["f", "m"]

[columns.paid]
role = "label"
type = "category"
categories = ["no", "yes"]

[columns.score]
type = "number"
range = [-3, 3]

[columns.town]
type = "category"
categories = ["a", "b"]

[columns.seen]
type = "date"
part = "month"
order = "ymd"

[columns.visits]
type = "whole number"
range = [0, 9]
missing = true

[columns.born]
type = "date"
part = "year"
order = "ymd"
range = [1940, 2005]

[columns.id]
role = "person"
type = "code"
"""


_STATED = ("range = [-3, 3]", 'categories = ["a", "b"]', "range = [0, 9]", "range = [1940, 2005]")
_OPEN = functools.reduce(lambda text, stated: text.replace(stated, ""), _STATED, _SCHEMA)
_USUAL = "0.5,a,2020-06-15,3,1970-05-01"
_EXTREMES = (
    "1e30,a,2020-01-31,-7,1066-10-14",
    "oops,never heard of,soon,many,later",
    ",,,,",
    '"1,5",b,31.12.1999,2.5,2999-01-01',
)


class _Padded(RecordingMechanism):
    """Replays the counts of the values that the honest rows have; of one that no row had before, a count of 0."""

    def gaussian(self, value: np.ndarray, **how: Any) -> np.ndarray:
        out = super().gaussian(value, **how)
        return np.concatenate([out, np.zeros(len(value) - len(out))])


def settle_replayed(config: RunConfig, place: Path, tape: list[Release] | None) -> tuple[RunConfig, list[Release]]:
    """Return a config with its schema measured, and the releases of that; `tape` replays others."""
    mechanism = _Padded(replayed=tape)
    with pytest.MonkeyPatch.context() as patch, open_store(str(place)) as store:
        patch.setattr(paid_schema, "Mechanism", lambda _: mechanism)
        patch.setattr(paid_schema, "draw_key", lambda: "schema-1")
        return paid_schema.settle_schema(store, config), mechanism.releases


def write_persons(path: Path, held: str, *, sexes: int = 0) -> None:
    """Write rows with the columns of the schema; three of them are one person's, all of which read `held`.

    `sexes` is a seed of the others' sex, 0: they alternate.
    """
    draw = np.random.default_rng(6)
    sex = np.random.default_rng(sexes).integers(0, 2, ROWS) if sexes else np.arange(ROWS) % 2
    paid = ["no" if draw.random() < 0.5 else "yes" for _ in range(ROWS)]
    lines = [
        f"{'fm'[sex[row]]},{paid[row]},p{row},{draw.normal():.3f},{'ab'[row % 2]},2020-0{row % 9 + 1}-15,"
        f"{row % 10 if row % 7 else ''},{1940 + row % 60}-03-01"
        for row in range(ROWS)
    ]
    theirs = [f"{sex},{answer},p0,{held}" for sex, answer in (("f", "no"), ("m", "yes"), ("m", "no"))]
    path.write_text("\n".join(["sex,paid,id,score,town,seen,visits,born", *theirs, *lines[1:]]))


def ask_under_schema(method: Method, path: Path, *, paid: bool = False) -> RunConfig:
    """Return the config of a run on a file under the declared schema, or one that is measured within epsilon."""
    schema = pay_for(read_schema_file(_OPEN), 0.2) if paid else read_schema_file(_SCHEMA)
    text = to_text(schema, compared={"sex", "paid"})
    config = ask(method, {**name_roles(schema), "file": str(path), "schema": text})
    if not paid:
        return config
    asked = config.to_json()
    settings = {name: value for name, value in asked["method"].items() if not name.startswith("noise")}
    return build_config({**asked, "method": settings, "epsilon": 3.0})


def assert_one_person_leaves_nothing(method: Method, source: str, extremes: Sequence[str], folder: Path) -> None:
    """Make a run, and replay it and the measurement of its schema for each of what one person's rows may hold."""
    path, left = folder / "people.csv", []
    tape = measured = None
    for place, held in enumerate((_USUAL, *extremes)):
        write_persons(path, held)
        config, store = ask_under_schema(method, path, paid=source == "paid"), folder / f"{place}.db"
        if source == "paid":
            config, releases = settle_replayed(config, store, measured)
            measured = measured or releases
        found, releases = run_whole(config, store, tape)
        left, tape = [*left, found], tape or releases
    for extreme, replayed in zip(extremes, left[1:], strict=True):
        assert_left_the_same(left[0], replayed, extreme)


def assert_left_the_same(honest: Left, replayed: Left, extreme: str) -> None:
    """Assert that two runs left the same bytes, but for what is raw."""
    assert honest.listed == replayed.listed and honest.model == replayed.model, extreme
    for piece in release.RECORD:
        if piece.kind not in ("raw", "time"):
            same = json.dumps(honest.record[piece.name]) == json.dumps(replayed.record[piece.name])
            assert same, f"{piece.name} under {extreme}"
    assert export(honest.data, "policy") == export(replayed.data, "policy"), extreme


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("declared", "dp_sgd"),
        ("paid", "pf_ld_record"),
        pytest.param("declared", "pf_ld_record", marks=pytest.mark.long),
        pytest.param("paid", "dp_sgd", marks=pytest.mark.long),
    ],
)
def test_under_a_declared_or_paid_schema_the_extreme_rows_of_one_person_leave_nothing(
    name: str, source: str, tmp_path: Path
) -> None:
    """What a file's columns hold is not learned from it, or with noise: no range, list or type follows one person.

    Three of the rows are one person's, and all of them are changed, whichever of them is used.
    """
    assert_one_person_leaves_nothing(EXAMPLES[name][0], source, _EXTREMES, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("source", ["declared", "paid"])
@pytest.mark.parametrize("method", FOR_RECORDS)
def test_of_every_method_the_extreme_rows_of_one_person_leave_nothing(
    method: Method, source: str, tmp_path: Path
) -> None:
    assert_one_person_leaves_nothing(method, source, _EXTREMES[1:2], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("method", FOR_GROUPS)
def test_of_every_method_nothing_of_peoples_groups_leaves_under_a_schema(method: Method, tmp_path: Path) -> None:
    path, left = tmp_path / "people.csv", []
    tape = None
    for place, sexes in enumerate((0, 1)):
        write_persons(path, _USUAL, sexes=sexes)
        config = ask_under_schema(method, path)
        found, releases = run_whole(config, tmp_path / f"{place}.db", tape)
        left, tape = [*left, found], tape or releases
    assert_same(*left)
