"""Ranges, bins and categories of a person's columns, measured with noise: a release of its own, paid for once.

Two sums over rows are released. The first holds, for each column of numbers, a histogram over powers of two, and for
each column of categories how many rows have each value that occurs. A row is in one place of each column, so it moves
the sum by at most the square root of their number. The second has the numbers in equal cells of the ranges that came of
the first. A value leaves by its name where its noisy count is above a threshold, which a value that one row alone has
passes with a chance of at most delta over all columns: the stability-based histogram (Korolova, Kenthapadi, Mishra and
Ntoulas, 2009; Karrer, Kifer, Wilkins and Zhang, 2022, for Gaussian noise).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from fairpriv_core.data.guess import MOST_CATEGORIES, sort_values
from fairpriv_core.data.own_file import read_columns
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.rows import assemble, draw_one_each, draw_row_numbers
from fairpriv_core.data.schema import shape_numbers
from fairpriv_core.data.table_schema import Payment, TableSchema, find_compared, from_text, list_open, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.dates import take_part
from fairpriv_core.files.spelling import canonical
from fairpriv_core.files.table import Cells, Codes, Table, count_rows, take_rows, to_codes, to_numbers
from fairpriv_core.privacy.ledger import LedgerEntry
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import Posting, call_data, identify_data
from fairpriv_core.records.paid import find_payment, price_payment
from fairpriv_core.store.runs import RunStore

_POWERS = 2.0 ** np.arange(-10, 41)  # smaller sizes count as 0, larger ones as the largest
_EDGES = np.concatenate([[-np.inf], -_POWERS[-2::-1], _POWERS[:-1], [np.inf]])
_ENDS = np.concatenate([-_POWERS[:0:-1], [-_POWERS[0], _POWERS[0]], _POWERS[1:]])  # of the same places, finite
_CELLS = 32
_TENTHS = np.arange(0.1, 0.95, 0.1)
_FALSE = 0.001  # the chance that an empty place of a column widens its range, often a hundredfold
_ROWS_FOR_BINS = 1_000
_ROUNDED = 0.99  # of delta: the mechanism's grid may lift a count by less than the rest
_FEW = 0.005  # of the rows, beyond each end of a range
_CLEAR = 4.0  # deviations that a tenth of the rows must have for bins to be told apart


def settle_schema(store: RunStore, config: RunConfig) -> RunConfig:
    """Return a config whose schema states what it asks to be measured; any other as it is.

    The measurement is charged to the ledger of the file, and made once: the same one is found again in the store.
    BadInput, and nothing is spent, where the run could not be made, or beyond a cap.
    """
    schema = None if config.data.schema is None else from_text(config.data.schema)
    if schema is None or not schema.is_open:
        return config
    config = store.files.settle(config)
    payment = find_payment(config.to_json(), config.method.info.threat_model)
    assert payment is not None
    spec = config.data
    compared = find_compared(schema, label=spec.label or "", sensitive=spec.sensitive)
    request = {
        "schema": spec.schema,
        "compared": sorted(compared),  # which are not measured, and the schema's text does not say
        "file": config.file_id,
        "person": spec.person,
        "rows": spec.rows,
        "noise": payment.noise,
        "delta": payment.delta,
    }
    charge = store.ledger.find_charge(request)
    if charge is None:
        charge = _measure(store, config, schema, payment, request)
    return replace(config, data=replace(spec, schema=charge["schema"]))


def _measure(
    store: RunStore, config: RunConfig, schema: TableSchema, payment: Payment, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure, charge and store what a config asks for; return the charge's result."""
    spec, compared = config.data, set(request["compared"])
    if spec.image is not None:
        raise BadInput("images have no ranges to measure; leave private_schema out.", field="private_schema")
    payment = replace(payment, release=draw_key())
    assemble(spec)  # what is wrong with the data costs nothing
    posting = _posting(config, payment)
    store.ledger.check(posting)
    rows = read_used_rows(spec, schema)
    measurement = measure_columns(rows, schema, payment, compared=compared, mechanism=Mechanism(Randomness.fresh()))
    result = {"request": request, "schema": to_text(measurement, compared=compared)}
    store.ledger.pay(posting, result, store.payer)
    return result


def draw_key() -> str:
    """Return what a new measurement is called, at random."""
    return f"schema-{secrets.token_hex(6)}"


def _posting(config: RunConfig, payment: Payment) -> Posting:
    data = config.to_json()["data"]
    entry = LedgerEntry(
        payment.release,
        "record",
        (),
        (),
        None,
        "",
        reads_sensitive=False,
        whole={payment.release: price_payment(payment)},
    )
    return Posting(identify_data(config.data.dataset, config.file_id), call_data(data), "schema", entry)


def read_used_rows(spec: DataSpec, schema: TableSchema) -> Table:
    """Return the rows that a config uses, one of each person where there are people, whatever they lack."""
    reading = read_columns(Path(spec.file or ""), schema, person=spec.person)
    table, n = reading.table, count_rows(reading.table)
    selected = np.arange(n) if spec.rows is None else draw_row_numbers(n, spec.rows)
    if spec.person is not None:
        coded = to_codes(table[spec.person])
        assert coded is not None
        selected = selected[draw_one_each(coded.codes.astype(np.int64)[selected])]
    return take_rows(table, selected)


def measure_columns(
    rows: Table, schema: TableSchema, payment: Payment, *, compared: set[str], mechanism: Mechanism
) -> TableSchema:
    """Return `schema` with what was open measured on `rows` by two releases of `mechanism`, but for columns `compared`.

    A column of categories none of which is frequent enough is left out.
    """
    open_columns = [column for column in list_open(schema) if column.name not in compared]
    numbers = [column for column in open_columns if column.is_quantity]
    lists = [column for column in open_columns if not column.is_quantity]
    value_counts = [_count_values(rows[column.name]) for column in lists]
    places = [_place(_take_numbers(column, rows), _EDGES) for column in numbers]
    first = _release([*places, *(counts for _, counts in value_counts)], payment, mechanism, index=0)
    deviation = payment.noise * math.sqrt(max(len(open_columns), 1))
    ranges = {
        column.name: _state_range(column, counts, deviation)
        for column, counts in zip(numbers, first[: len(numbers)], strict=True)
    }
    cells = [
        _place(_shape(ranges[column.name], _take_numbers(column, rows)), _grid(ranges[column.name]))
        for column in numbers
    ]
    second = _release(cells, payment, mechanism, index=1)
    deviation_within = payment.noise * math.sqrt(max(len(numbers), 1))
    ranges |= {
        column.name: _refine(ranges[column.name], counts, deviation_within)
        for column, counts in zip(numbers, second, strict=True)
    }
    threshold = 1.0 + deviation * -float(ndtri(_ROUNDED * payment.delta / max(len(lists), 1)))
    ranges |= {
        column.name: _name_values(column, values, counts, threshold)
        for column, (values, _), counts in zip(lists, value_counts, first[len(numbers) :], strict=True)
    }
    return TableSchema(tuple(ranges.get(column.name, column) for column in schema.columns), "paid", payment)


def _release(parts: Sequence[np.ndarray], payment: Payment, mechanism: Mechanism, *, index: int) -> list[np.ndarray]:
    """Return counts with noise; a row is in at most one place of each part."""
    if not parts:
        return []
    noisy = mechanism.gaussian(
        np.concatenate(parts).astype(np.float64),
        sensitivity=math.sqrt(len(parts)),
        noise_multiplier=payment.noise,
        purpose="schema",
        index=index,
    )
    return np.split(noisy, np.cumsum([len(part) for part in parts])[:-1])


def _take_numbers(column: Column, rows: Table) -> np.ndarray:
    values = rows[column.name]
    numbers = to_numbers(values if column.date is None else take_part(values, column.date)).astype(np.float64)
    return numbers[np.isfinite(numbers)]


def _count_values(column: Cells) -> tuple[list[str], np.ndarray]:
    """Return the values that occur, as they are compared, and how many rows have each."""
    coded: Codes | None = to_codes(column)
    assert coded is not None
    counts: dict[str, int] = {}
    for value, rows in zip(
        coded.values, np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.values)), strict=True
    ):
        counts[canonical(value)] = counts.get(canonical(value), 0) + int(rows)
    names = sorted(value for value, rows in counts.items() if value and rows)
    return names, np.array([counts[value] for value in names], dtype=np.int64)


def _place(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return how many values lie between rising edges; those beyond count in the first and last place."""
    inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(inside, minlength=len(edges) - 1)


def _passing(counts: np.ndarray, deviation: float) -> np.ndarray:
    """Return the places that hold rows for sure, rising; where none does, the fullest."""
    sure = np.flatnonzero(counts > -deviation * ndtri(_FALSE / len(counts)))
    return sure if len(sure) else np.array([np.argmax(counts)])


def _state_range(column: Column, counts: np.ndarray, deviation: float) -> Column:
    """Return a column with the range of the powers of two that hold rows, and whether it is as skewed as to be log."""
    places = _passing(counts, deviation)
    zero = len(counts) // 2
    low = 0.0 if places[0] == zero else float(_ENDS[places[0]])
    high = 0.0 if places[-1] == zero and low < 0 else float(_ENDS[places[-1] + 1])
    sizes = np.maximum(np.abs(_ENDS[:-1]), np.abs(_ENDS[1:]))
    order = np.argsort(sizes, kind="stable")
    rising = np.cumsum(np.maximum(counts[order], 0.0))
    median = float(sizes[order][min(int(np.searchsorted(rising, rising[-1] / 2)), len(order) - 1)])
    log = max(abs(low), abs(high)) > 20 * (1 + median) if column.log is None else column.log
    return replace(column, range=(low, high), log=log or None)


def _shape(column: Column, values: np.ndarray) -> np.ndarray:
    return shape_numbers(values, log=bool(column.log))


def _grid(column: Column) -> np.ndarray:
    """Return the edges of equal cells of a column's range, as it is shaped."""
    assert column.range is not None
    low, high = _shape(column, np.array(column.range))
    return np.linspace(low, high, _CELLS + 1)


def _refine(column: Column, counts: np.ndarray, deviation: float) -> Column:
    """Return a column with the range of nearly all rows, and edges between tenths of them where noise leaves any."""
    ends = _grid(column)
    ends = np.sign(ends) * np.expm1(np.abs(ends)) if column.log else ends
    small = _FEW * max(counts.sum(), 0.0)
    first = int(np.argmax(np.cumsum(counts) > small))
    last = _CELLS - 1 - int(np.argmax(np.cumsum(counts[::-1]) > small))
    low, high = _round_out(column, float(ends[min(first, last)]), float(ends[max(first, last) + 1]))
    rising = np.cumsum(np.maximum(counts, 0.0))
    clear = rising[-1] >= max(_ROWS_FOR_BINS, _CLEAR * deviation / _TENTHS[0])
    cuts = ends[1 + np.searchsorted(rising, _TENTHS * rising[-1])] if clear else np.zeros(0)
    between = {float(f"{cut:.3g}") if column.type == "number" else float(math.ceil(cut)) for cut in cuts}
    return replace(
        column, range=(low, high), edges=column.edges or tuple(sorted(cut for cut in between if low < cut < high))
    )


def _round_out(column: Column, low: float, high: float) -> tuple[float, float]:
    if column.type == "number":
        short = float(f"{low:.4g}"), float(f"{high:.4g}")
        return short if short[0] < short[1] else (low, high)
    return float(math.floor(low)), float(max(math.ceil(high), math.floor(low) + 1))


def _name_values(column: Column, values: list[str], counts: np.ndarray, threshold: float) -> Column:
    often = [int(place) for place in np.argsort(-counts, kind="stable")[:MOST_CATEGORIES] if counts[place] > threshold]
    if not often:
        return replace(column, role="left out")
    return replace(column, categories=sort_values([values[place] for place in often]))
