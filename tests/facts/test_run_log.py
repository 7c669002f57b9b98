"""What a run's log says, from its row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairpriv_core.facts.log import format_log
from fairpriv_core.store.rows import RunRow

ROW = RunRow(
    key="a1",
    config_key="a1",
    repeat=1,
    status="running",
    request=None,
    owner="local",
    config={},  # type: ignore[typeddict-item]
    step=1500,
    steps=None,
    epoch=0,
    epsilon=None,
    seconds=12.0,
    attempt=1,
    crashes=0,
    host_deaths=0,
    resumed_from_step=0,
    worker=None,
    created=0.0,
    started=2.0,
    finished=None,
    heartbeat=30.0,
    error=None,
    error_kind=None,
    chunk=None,
)


def tell(**changes: Any) -> list[tuple[str, str]]:
    return format_log(replace(ROW, **changes))


def test_a_run_is_queued_then_taken_up() -> None:
    assert tell() == [("1970-01-01 00:00:00", "Queued."), ("1970-01-01 00:00:02", "Taken up by a worker.")]
    assert tell(repeat=2, started=None) == [("1970-01-01 00:00:00", "Queued as run 2 of these settings.")]


def test_crashes_and_later_attempts_are_told_with_where_it_went_on() -> None:
    said = " ".join(sentence for _, sentence in tell(crashes=1, attempt=3, resumed_from_step=1200))
    assert "1 process died on it since it last got further." in said and "3 times" in said and "step 1,200" in said


def test_a_pause_a_request_and_a_loss_are_told() -> None:
    assert "Paused at step 1,500" in tell(status="paused")[-1][1]
    assert tell(request="stop")[-1][1] == "Told to stop."
    assert tell(status="lost")[-1] == ("1970-01-01 00:00:30", "Last sign of life, at step 1,500: its process is gone.")


def test_the_end_is_told_with_its_reason() -> None:
    assert tell(status="finished", finished=60.0)[-1][1] == "Finished at step 1,500, after 12 s of training."
    said = tell(status="failed", finished=60.0, error="Group A has 12 noisy records.")[-1][1]
    assert said.startswith("Failed at step 1,500") and said.endswith("Group A has 12 noisy records.")
