"""No default of a private method ends below the constant answer, as far as the kept runs go, or it is said first."""

from __future__ import annotations

from benchmarks.constant import PLAIN, is_below, list_data, list_unsaid, list_ways, read_results
from fairpriv_core.methods.catalog import REFERENCE_METHOD


def test_none_ends_below_the_constant_answer_unless_it_is_said_or_plain_training_does_too() -> None:
    results = read_results()
    wanted = {f"{name} · {way} · {data}" for data in list_data() for name, way, _ in list_ways()}
    assert wanted and wanted - set(results) == set(), "python -m benchmarks.constant run"
    assert list_unsaid(results) == []


def test_below_is_beyond_sampling_and_a_failed_run_is_below() -> None:
    line = {"accuracy": [0.70, 0.72], "constant": 0.72, "rows": 1000}
    assert not is_below(line) and is_below({**line, "rows": 100_000})
    assert is_below({**line, "accuracy": [0.9, None]})


def test_what_is_below_is_told_unless_plain_training_is_below_too() -> None:
    low = {"method": "pf_ld", "data": "made", "accuracy": [0.5], "constant": 0.7, "rows": 1000, "said": None}
    plain = {**low, "method": REFERENCE_METHOD, "way": PLAIN}
    assert list_unsaid({"pf_ld": low}) == [low]
    assert list_unsaid({"pf_ld": {**low, "said": "So much noise …"}}) == []
    assert list_unsaid({"none": plain, "pf_ld": low}) == []
