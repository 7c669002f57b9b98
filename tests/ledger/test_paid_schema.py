"""A schema measured with noise: what leaves of it, what it costs, and that runs count it once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.profile import outline_data
from fairpriv_core.data.table_schema import (
    Payment,
    from_text,
    name_roles,
    pay_for,
    read_schema_file,
    to_text,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.table import Codes, Numbers, Table
from fairpriv_core.ledger.paid_schema import measure_columns, settle_schema
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Approximate, Gaussian, from_json
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.records.paid import plan_payment, price_payment
from fairpriv_core.records.plan import DatasetCache, plan_run
from fairpriv_core.store.runs import RunStore
from tests.methods.harness import RecordingMechanism
from tests.stores import ON_BOTH

ROWS = 3_000
SCHEMA = """
[columns.sex]
role = "sensitive"
type = "category"
categories = ["f", "m"]

[columns.granted]
role = "label"
type = "category"
categories = ["no", "yes"]

[columns.pay]
type = "number"
range = [1, 2]

[columns.age]
type = "whole number"

[columns.town]
type = "category"
"""
OPEN = read_schema_file(SCHEMA)
NOISELESS = Payment(release="schema-1", noise=1e-2, delta=1e-7)


def draw_rows(rows: int = ROWS) -> Table:
    draw = np.random.default_rng(3)
    return {
        "sex": Codes(draw.integers(0, 2, rows), ("f", "m")),
        "granted": Codes(draw.integers(0, 2, rows), ("no", "yes")),
        "pay": Numbers(np.exp(draw.normal(8, 1.5, rows))),
        "age": Numbers(draw.integers(18, 90, rows).astype(float)),
        "town": Codes(draw.integers(-1, 3, rows), ("Bern", "Graz", "Köln")),
    }


def measure(rows: Table, paid: Payment = NOISELESS, mechanism: RecordingMechanism | None = None) -> dict[str, Any]:
    asked, mechanism = pay_for(OPEN, 0.1), mechanism or RecordingMechanism()
    found = measure_columns(rows, asked, paid, compared={"sex", "granted"}, mechanism=mechanism)
    assert found.values_from == "paid" and found.paid == paid
    return {column.name: column for column in found.columns}


def write_file(folder: Path, rows: int = ROWS) -> Path:
    table, path = draw_rows(rows), folder / "people.csv"
    texts = [
        [*map(str, column.values.tolist())]
        if isinstance(column, Numbers)
        else ["" if code < 0 else column.values[code] for code in column.codes]
        for column in table.values()
    ]
    path.write_text("\n".join(",".join(row) for row in [tuple(table), *zip(*texts, strict=True)]))
    return path


def ask(path: Path, method: str | dict[str, Any] = "dp_sgd", share: float = 0.2, **given: Any) -> RunConfig:
    schema = pay_for(OPEN, share)
    data = {**name_roles(schema), "file": str(path), "schema": to_text(schema, compared={"sex", "granted"})}
    asked = {"data": data, "method": method, "notion": "demographic_parity", "epsilon": 1.0}
    return build_config({**asked, **given})


def test_with_little_noise_it_is_what_the_rows_hold() -> None:
    rows = draw_rows()
    found = measure(rows)
    pay, age = rows["pay"].values, rows["age"].values  # type: ignore[union-attr]
    assert found["pay"].log and not found["age"].log
    for name, values in (("pay", pay), ("age", age)):
        low, high = found[name].range
        assert np.mean(values < low) <= 0.006 and np.mean(values > high) <= 0.006
        assert high - low < 1.5 * np.ptp(values)
        shares = np.diff(np.searchsorted(np.sort(values), [*found[name].edges, np.inf]), prepend=0) / ROWS
        assert len(found[name].edges) >= 8 and shares.max() < 0.25
    assert found["town"].categories == ("Bern", "Graz", "Köln")
    assert found["sex"] == OPEN.columns[0] and found["granted"] == OPEN.columns[1]


@pytest.mark.parametrize("held", [(1e300, -1e300, 3), (-5.0, 1e-9, 0), (0.0, math.inf, 1)])
@pytest.mark.parametrize("rows", [60, 2_000])
def test_a_row_moves_each_sum_by_no_more_than_is_stated(held: tuple[float, float, int], rows: int) -> None:
    """Whatever it holds, against the row nulled in place; the second sum stands on what the first one released."""
    table: dict[str, Any] = draw_rows(rows)
    table["town"] = Codes(np.arange(rows) % 4, ("Bern", "Graz", "Köln", "Wien"))
    nulled = {**table, **{name: Numbers(table[name].values.copy()) for name in ("pay", "age")}}
    nulled["town"] = Codes(table["town"].codes.copy(), table["town"].values)
    table["pay"].values[0], table["age"].values[0], table["town"].codes[0] = held
    nulled["pay"].values[0], nulled["age"].values[0], nulled["town"].codes[0] = math.nan, math.nan, -1
    first = RecordingMechanism()
    measure(table, mechanism=first)
    second = RecordingMechanism(replayed=first.releases)
    measure(nulled, mechanism=second)
    for one, other, columns in zip(first.releases, second.releases, (3, 2), strict=True):
        assert one.bound == pytest.approx(math.sqrt(columns))
        assert 0 < np.linalg.norm(one.value - other.value) <= one.bound
    spent = epsilon(first.events, 1e-5)
    assert spent == pytest.approx(epsilon(price_payment(NOISELESS)[:1], 1e-5), rel=1e-4)


def test_a_value_that_one_row_has_leaves_as_rarely_as_is_stated() -> None:
    table: dict[str, Any] = draw_rows(40)
    table["town"] = Codes(np.where(np.arange(40) == 7, 1, 0), ("Bern", "Wien"))
    paid, draws = Payment(release="schema-1", noise=1.0, delta=0.2), 2_000
    named = sum("Wien" in measure(table, paid)["town"].categories for _ in range(draws))
    assert 0.15 * draws < named < (0.2 + 3 * math.sqrt(0.16 / draws)) * draws


def test_what_no_noise_lets_through_is_left_out_or_as_wide_as_the_fullest_place() -> None:
    found = measure(draw_rows(40), Payment(release="schema-1", noise=1e4, delta=1e-9))
    assert found["town"].role == "left out" and not found["pay"].edges
    assert all(low < high for low, high in (found["pay"].range, found["age"].range))


def test_the_same_releases_give_the_same_schema_whatever_the_rows_hold() -> None:
    first = RecordingMechanism()
    honest = measure(draw_rows(), Payment(release="schema-1", noise=3.0, delta=1e-7), first)
    garbage: dict[str, Any] = {
        **draw_rows(),
        "pay": Numbers(np.full(ROWS, 7.0)),
        "age": Numbers(np.full(ROWS, math.nan)),
    }
    replayed = RecordingMechanism(replayed=first.releases)
    assert measure(garbage, Payment(release="schema-1", noise=3.0, delta=1e-7), replayed) == honest


def test_a_run_states_the_schema_that_it_pays_for(store: RunStore, tmp_path: Path) -> None:
    """Epsilon is within the budget with the schema in it, and the ledger counts the schema once, for all rows."""
    path = write_file(tmp_path)
    plans = []
    for given in ({}, {"method": "pf_ld_record", "private_evaluation": True}):
        config = settle_schema(store, ask(path, **given))
        said = from_text(config.data.schema or "")
        assert said.values_from == "paid" and said.paid is not None and said.paid.release.startswith("schema-")
        plans.append(plan_run(config, config.key, datasets=DatasetCache(), find_record=store.source))
    price = price_payment(said.paid)
    assert price == price_payment(plan_payment(0.2, epsilon=1.0, delta=1e-5))
    postings = [record_posting(plan.draft) for plan in plans]
    for plan, posting in zip(plans, postings, strict=True):
        event = from_json(plan.draft.event)
        assert event[:2] == price and 0.98 < epsilon(event, 1e-5) == plan.draft.epsilon <= 1.0
        assert posting.entry.whole == {said.paid.release: price} and posting.entry.all_events == event
        told = " ".join(plan.draft.assumptions)
        assert "measured with noise, which epsilon counts" in told
        assert "(f; m) is as the schema states it" in told and "not learned" not in told  # from the rows or not
    (charge,) = store.ledger.lines(postings[0].data)
    assert charge.status == "charged" and charge.planned.all_events == price
    entries = [charge.planned, *(posting.entry for posting in postings)]
    assert compose(entries, None).events.count(price[0]) == 1
    once, apart = compose(entries, None).epsilon(1e-5), sum(epsilon(entry.all_events, 1e-5) for entry in entries)
    assert max(epsilon(entry.all_events, 1e-5) for entry in entries) < once < apart


@ON_BOTH
def test_the_same_measurement_is_paid_for_once(store: RunStore, tmp_path: Path) -> None:
    path = write_file(tmp_path)
    first, again = settle_schema(store, ask(path)), settle_schema(store, ask(path, "dp_fermi_record"))
    other = settle_schema(store, ask(path, share=0.3))
    assert first.data == again.data != other.data and settle_schema(store, first) == first
    data = first.file_id or ""
    assert [line.what for line in store.ledger.lines(data)] == ["schema", "schema"]


def test_another_question_of_the_same_file_is_measured_apart(store: RunStore, tmp_path: Path) -> None:
    """A column that is cut for its groups is not measured; asked of sex, it is a feature."""
    plain = 'values_from = "declared"\n' + SCHEMA.replace('role = "sensitive"', "")
    path, schema = write_file(tmp_path), pay_for(read_schema_file(plain), 0.2)
    data = {**name_roles(schema), "file": str(path), "positive": "yes"}
    asked = {"method": "dp_sgd", "notion": "demographic_parity", "epsilon": 1.0}
    for sensitive, columns in (("age:40", ["sex", "pay", "town"]), ("sex", ["pay", "age", "town"])):
        compared = {"granted", sensitive.partition(":")[0]}
        named = {**data, "sensitive": sensitive, "schema": to_text(schema, compared=compared)}
        config = settle_schema(store, build_config({**asked, "data": named}))
        plan = plan_run(config, config.key, datasets=DatasetCache(), find_record=store.source)
        assert plan.draft.data["columns"] == columns


def test_a_cap_refuses_it_and_nothing_is_stored(store: RunStore, tmp_path: Path) -> None:
    path = write_file(tmp_path)
    config = store.files.settle(ask(path))
    store.ledger.set_cap(config.file_id or "", None, Cap(0.1, 1e-5), where="people.csv")
    with pytest.raises(BadInput, match="cap on whole records is epsilon"):
        settle_schema(store, config)
    assert not store.ledger.lines(config.file_id or "")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"method": "pf_ld"}, "for methods that protect whole records; 'pf_ld' does not"),
        ({"method": "none", "epsilon": None}, "'none' does not"),
        (
            {"method": {"name": "dp_sgd", "noise_primal": 2.0}, "epsilon": None},
            "a share of epsilon, and this run has",
        ),
    ],
)
def test_a_run_that_cannot_pay_is_refused(
    store: RunStore, tmp_path: Path, given: dict[str, Any], sentence: str
) -> None:
    config = store.files.settle(ask(write_file(tmp_path), **given))
    with pytest.raises(BadInput, match=sentence):
        settle_schema(store, config)
    assert not store.ledger.lines(config.file_id or "")


def test_what_is_wrong_with_the_data_costs_nothing(store: RunStore, tmp_path: Path) -> None:
    config = ask(write_file(tmp_path))
    schema = pay_for(read_schema_file(SCHEMA.replace('categories = ["no", "yes"]', "")), 0.2)
    text = to_text(schema, compared={"sex", "granted"})
    bare = build_config({**config.to_json(), "data": {**config.to_json()["data"], "schema": text}})
    with pytest.raises(BadInput, match="column 'granted' needs categories"):
        settle_schema(store, bare)
    assert not store.ledger.lines(store.files.settle(bare).file_id or "")


def test_nothing_trains_on_a_schema_that_is_not_measured_yet(tmp_path: Path) -> None:
    config = ask(write_file(tmp_path))
    with pytest.raises(BadInput, match="still to be measured with noise"):
        DatasetCache().parts(config)
    seen = outline_data(config.data)  # for who holds the file
    assert any("measured with noise" in each for each in seen.dataset.assumptions["record"])
    assert {name for name, _ in seen.revealing} == {"pay", "age", "town"}


def test_the_schema_of_a_run_goes_through_its_file(store: RunStore, tmp_path: Path) -> None:
    said = from_text(settle_schema(store, ask(write_file(tmp_path))).data.schema or "")
    assert read_schema_file(said.to_toml("people.csv")) == said
    with pytest.raises(BadInput, match="measured already"):
        pay_for(said, 0.1)


@pytest.mark.parametrize("share", [0.0, 1.0, math.nan, -1.0])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="private_schema must lie strictly between 0 and 1"):
        pay_for(OPEN, share)


def test_what_a_declared_schema_states_is_not_measured() -> None:
    declared = pay_for(read_schema_file('values_from = "declared"\n' + SCHEMA), 0.1)
    assert declared.columns[2].range == (1.0, 2.0) and pay_for(OPEN, 0.1).columns[2].range is None


def test_a_price_is_a_share_of_the_budget() -> None:
    """Two sums with a fifth of mu squared: what is left for a run is a Gaussian with four fifths of it."""
    gaussian, rare = price_payment(plan_payment(0.2, epsilon=1.0, delta=1e-5))
    assert isinstance(gaussian, Gaussian) and rare == Approximate(0.01 * 1e-5)
    rest = Gaussian(gaussian.noise_multiplier / 2)  # mu squared is four times as large
    assert epsilon((gaussian, rest), 1e-5) == pytest.approx(1.0, rel=1e-3)
