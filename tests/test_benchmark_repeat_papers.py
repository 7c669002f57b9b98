"""Seeds that no kept result has reverse no verdict, as far as they were run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks import repeat_papers
from benchmarks.repeat_papers import SETTLED, list_kept, list_reversed, read_results
from fairpriv_core.errors import RunFailed
from fairpriv_core.papers.scoreboard import list_claims
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.runs import RunStore


def test_no_verdict_is_reversed_of_what_is_kept_today() -> None:
    results, kept = read_results(), list_kept()
    assert results and list_reversed(results) == []
    for name, found in results.items():
        preset, made = kept[name]
        today = [(each.text, each.status) for each in list_claims(preset, made.runs)]
        assert [(each["claim"], each["kept"]) for each in found] == today, name


def test_a_figure_of_which_a_run_has_not_ended_is_not_judged(
    monkeypatch: pytest.MonkeyPatch, local: RunStore, configure: Callable[..., RunConfig]
) -> None:
    row = local.submit(configure())
    monkeypatch.setattr(repeat_papers, "run_missing", lambda *_, **__: [row.config_key])
    with pytest.raises(RunFailed, match=f"1 of its runs have not ended, such as {row.key} .queued"):
        repeat_papers.repeat(*next(iter(list_kept().values())))


def test_reversed_is_what_was_settled_and_is_settled_otherwise() -> None:
    agrees, differs = SETTLED
    turned = {"claim": "it is fair", "kept": agrees, "repeated": differs}
    calm = [{**turned, "repeated": one} for one in (agrees, "open", "not_tested")] + [{**turned, "kept": "open"}]
    assert list_reversed({"made.figure1": [turned, *calm]}) == [("made.figure1", "it is fair")]
