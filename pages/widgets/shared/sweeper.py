"""A sweep on a page: what it costs before anything starts, Launch, its progress, Cancel and Resume.

A worker plans and launches, the run table keeps what was launched: the page may be reloaded or left at any time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import streamlit as st

from fairpriv_core.facts.wording import cell_text
from fairpriv_core.plain import Json
from fairpriv_core.store.previews import Preview, name_request
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SkippedCell, SweepCost, SweepPreview, SweepStore, SweptEpsilon
from fairpriv_core.sweeps.launch import request_cost, request_launch
from fairpriv_core.text import count_text, delta_text, duration_text, epsilon_text
from pages.widgets.shared.polling import poll
from pages.widgets.shared.sentences import attempt, plain, sentence

_SHOWN = 5
_HELP = (
    "Results that you keep to yourself cost nothing. Once you release one, every run counts, since each may have led "
    "to the choice. So the ledger counts all launched runs."
)
_POLL_SECONDS = 1.0
_QUEUE_PATIENCE = 8.0
_SILENT_SECONDS, _SILENT_SHARE = 5.0, 0.1  # before that, and that share of the runs, it is not known how fast it goes
_REASONS = 3
_WAITING = ("queued", "running")
_ENDED = ("finished", "failed", "cancelled")
_WORDS = {"running": "training", "queued": "waiting"}
_CANCEL = "Finished runs and their points stay. The others are paused; Resume continues them."


def show_costs_of_sweep(cost: SweepCost) -> None:
    """Draw what `estimate_cost` told: number of runs, expected time, ε of all runs together and beside the ledger."""
    with st.container(horizontal=True, gap="medium"):
        st.metric("Runs", f"{cost['runs']:,}", width=110)
        st.metric("New", f"{cost['new']:,}", width=110, help="The others are stored and are not run again.")
        st.metric("Training time, nothing else running", _format_time(cost), width=280, help=_help_with_time(cost))
    lines = [_format_item(item) for item in cost["protected"] if item["protected"]]
    if lines:
        st.markdown("**If all results are released**", help=_HELP)
        st.markdown("\n".join(f"- {line}" for line in lines))
    else:
        st.markdown("No run of this sweep is private: no ε limits what its results reveal.")
    _show_shared(cost)
    _list_skipped(cost["skipped"])


def _format_time(cost: SweepCost) -> str:
    if not cost["new"] and not cost["unfinished"]:
        return "none left"
    return "unknown" if not cost["seconds"] else f"about {duration_text(cost['seconds'])}"


def _help_with_time(cost: SweepCost) -> str:
    untimed = f" {cost['untold']:,} runs are not included: their time is unknown." if cost["untold"] else ""
    cores = count_text(cost["workers"], "process")
    return f"Estimated from a few timed steps, with {cores}, plus seconds to start.{untimed}"


def _format_item(item: SweptEpsilon) -> str:
    what = "whole records" if item["column"] is None else plain(item["column"])
    head = f"**{what}** in {plain(item['data'])}"
    if item["epsilon"] is None:
        return f"{head}: no bound. {plain(sentence(item['reason'] or ''))}"
    parts = [f"**ε = {epsilon_text(item['epsilon'])}** together, at δ = {delta_text(item['delta'])}, by the ledger"]
    if item["most_alone"] is not None:
        parts.append(f"one run alone at most {epsilon_text(item['most_alone'])}")
    if item["epsilon_after"] != item["epsilon"]:
        after = "no bound" if item["epsilon_after"] is None else f"ε = {epsilon_text(item['epsilon_after'])}"
        parts.append(f"with all that was launched on this data before: {after}")
    return f"{head}: {'; '.join(parts)}"


def _show_shared(cost: SweepCost) -> None:
    if cost["share_samples"]:
        st.caption("Runs of one seed share their secret samples: for you alone, since releasing several costs more.")
    if cost["share_release"]:
        st.caption("Runs that share a release spend its ε once.")
    same = cost["combinations"] - cost["runs"] - len(cost["skipped"])
    if same:
        st.caption(f"{count_text(same, 'duplicate')} merged: {count_text(cost['runs'], 'run')}.")


def _list_skipped(skipped: Sequence[SkippedCell]) -> None:
    if not skipped:
        return
    count = "1 combination is" if len(skipped) == 1 else f"{len(skipped)} combinations are"
    st.markdown(f"{count} left out, since no run can have it:")
    for item in skipped[:_SHOWN]:
        st.markdown(f"- {plain(cell_text(item['cell']))}: {plain(sentence(str(item['reason'])))}")
    if len(skipped) > _SHOWN:
        st.caption(f"and {len(skipped) - _SHOWN} more")


@dataclass(frozen=True)
class _Sweep:
    """A sweep on a page: its raw form, the request for its cost, and the key of its widgets.

    Buttons that start or stop it have keys of its own, so that a click that arrives together with another sweep acts on
    neither.
    """

    store: RunStore
    raw: Json
    request: Json
    key: str

    @property
    def own_key(self) -> str:
        return f"{self.key}_{name_request(self.request)}"


@dataclass(frozen=True)
class _State:
    """The state of a sweep: a worker's answers, the number of runs by status, and of runs' worth of steps made."""

    preview: Preview
    launch: Preview = field(default_factory=Preview)
    counts: Mapping[str, int] = field(default_factory=dict)
    made: float = 0.0

    @property
    def asking(self) -> bool:
        return self.preview.waits

    @property
    def launching(self) -> bool:
        return self.launch.waits

    @property
    def training(self) -> bool:
        return any(self.counts.get(status) for status in _WAITING)

    @property
    def moving(self) -> bool:
        return self.asking or self.launching or self.training

    @property
    def estimate(self) -> SweepPreview | None:
        return cast("SweepPreview | None", self.preview.result)

    @property
    def missing(self) -> int:
        return len(self.estimate["keys"] if self.estimate else ()) - sum(self.counts.values())


def offer_sweep(store: RunStore, raw: Mapping[str, object], *, key: str) -> str | None:
    """Draw the sweep `raw` (as for `build_sweep`) under `key`: its cost on demand, then Launch, then its progress.

    What is wrong with it is said in a sentence. Nothing starts before its cost was shown. Another `raw` under the same
    key is another sweep; the same one is found again after a reload, in whatever state it is. Returns the name by which
    `SweepStore.launched` knows it; None where it is no sweep.
    """
    request = attempt(lambda: request_cost(raw, owner=store.payer))
    if request is None:
        return None
    sweep = _Sweep(store, raw, request, key)
    state = attempt(lambda: _look(sweep))
    with st.container(border=True, key=f"{key}_sweep"):
        if state is not None and state.moving:
            poll(_follow, sweep, every=_POLL_SECONDS)
        elif state is not None:
            st.session_state.pop(f"{sweep.own_key}_seen", None)
            _draw(sweep, state)
    return name_request(request)


def _follow(sweep: _Sweep) -> None:
    """Draw the sweep while it moves, then the whole page anew with its result."""
    state = attempt(lambda: _look(sweep))
    if state is not None and not state.moving:
        st.rerun()
    if state is not None:
        _draw(sweep, state)


def _look(sweep: _Sweep) -> _State:
    state = _State(sweep.store.previews.look(name_request(sweep.request)))
    if not state.estimate:
        return state
    launch = sweep.store.previews.look(name_request(_name_launch(sweep, state.estimate)))
    return _State(state.preview, launch, *SweepStore(sweep.store).progress(state.estimate["keys"]))


def _name_launch(sweep: _Sweep, estimate: SweepPreview) -> Json:
    return request_launch(sweep.raw, owner=sweep.store.payer, confirmed=estimate["cost"]["new"] > estimate["max_runs"])


def _draw(sweep: _Sweep, state: _State) -> None:
    if state.asking:
        st.info(
            "A worker is estimating the cost: it times a few steps of each kind of run. That takes seconds, or minutes "
            "for thousands of runs.",
            icon=":material/hourglass_empty:",
        )
        if st.button("Cancel", key=f"{sweep.own_key}_cancel_cost", icon=":material/stop:"):
            _do(partial(sweep.store.previews.cancel, name_request(sweep.request)))
    elif state.estimate:
        show_costs_of_sweep(_count_left(state, state.estimate))
        _offer_launch(sweep, state, state.estimate)
        if state.counts:
            _show_progress(sweep, state, state.estimate["keys"])
        _offer_cost(sweep, "Estimate again", kind="tertiary")
    else:
        if state.preview.error:
            st.error(plain(sentence(state.preview.error)), icon=":material/error:")
        _offer_cost(sweep, "Show runs, time and ε cost", kind="secondary")


def _count_left(state: _State, estimate: SweepPreview) -> SweepCost:
    """Return the cost that was told, with the runs that are new and not finished as they are by now."""
    going_on = sum(count for status, count in state.counts.items() if status not in _ENDED)
    return {**estimate["cost"], "new": state.missing, "unfinished": going_on}


def _offer_cost(sweep: _Sweep, label: str, *, kind: Any) -> None:
    if st.button(label, key=f"{sweep.key}_cost", type=kind, icon=":material/calculate:"):
        _do(partial(sweep.store.previews.ask, sweep.request, again=True))


def _offer_launch(sweep: _Sweep, state: _State, estimate: SweepPreview) -> None:
    if state.launching:
        st.info("Being launched: a worker puts the runs into the queue.", icon=":material/rocket_launch:")
        return
    if state.launch.error:
        st.error(plain(sentence(state.launch.error)), icon=":material/error:")
    if not state.missing:
        return
    if estimate["refusal"]:
        st.error(plain(sentence(estimate["refusal"])), icon=":material/block:")
        return
    is_large = estimate["cost"]["new"] > estimate["max_runs"]
    words = f"More than {estimate['max_runs']:,} runs: yes, start all {estimate['cost']['new']:,}"
    sure = not is_large or st.checkbox(words, key=f"{sweep.own_key}_sure")
    label = f"Launch {count_text(state.missing, 'run')}"
    icon, own = ":material/rocket_launch:", f"{sweep.own_key}_launch"
    if st.button(label, key=own, type="primary", icon=icon, disabled=not sure):
        _do(partial(sweep.store.previews.ask, _name_launch(sweep, estimate), again=True))


def _show_progress(sweep: _Sweep, state: _State, keys: list[str]) -> None:
    total = len(keys)
    n_ended = sum(state.counts.get(status, 0) for status in _ENDED)
    parts = [f"{count} {_WORDS.get(status, status)}" for status, count in state.counts.items()]
    remaining = _format_left(sweep, state, total)
    st.progress(min(1.0, state.made / total), text=f"{n_ended} of {total} ended: {', '.join(parts)}{remaining}")
    sweeps = SweepStore(sweep.store)
    with st.container(horizontal=True):
        own = sweep.own_key
        if state.training and st.button("Cancel", key=f"{own}_cancel", icon=":material/stop:", help=_CANCEL):
            _do(partial(sweeps.pause, keys, also_working=True))
        if state.counts.get("paused") and st.button("Resume", key=f"{own}_resume", icon=":material/play_arrow:"):
            _do(partial(sweeps.go_on, keys))
    if state.counts.get("paused") and not state.training:
        st.caption("Cancelled. Finished runs and their points stay, and their ε is spent. The rest is paused.")
    if state.counts.get("failed"):
        _list_reasons(sweeps, keys)


def _format_left(sweep: _Sweep, state: _State, total: int) -> str:
    """Return about how long it will take yet, by how fast it went since this page first saw it move."""
    if not state.training:
        return ""
    begun, at_first = st.session_state.setdefault(f"{sweep.own_key}_seen", (time.monotonic(), state.made))
    seconds, progress = time.monotonic() - begun, state.made - at_first
    if not progress and not state.counts.get("running") and seconds > _QUEUE_PATIENCE:
        return ". No worker has taken them yet: others may be ahead"
    if progress < max(2, _SILENT_SHARE * total) or seconds < _SILENT_SECONDS:
        return ""
    return f"; about {duration_text(seconds * (total - state.made) / progress)} left"


def _list_reasons(sweeps: SweepStore, keys: list[str]) -> None:
    rows = (attempt(lambda: sweeps.find(keys)) or {}).values()
    reasons = Counter(row.error or "" for row in rows if row.status == "failed")
    for reason, count in reasons.most_common(_REASONS):
        st.markdown(f"- {count:,} failed: {plain(sentence(reason))}")


def _do(action: Callable[[], object]) -> None:
    """Do what was clicked, and show what has come of it."""
    if attempt(lambda: (action(),)) is not None:
        st.rerun()
