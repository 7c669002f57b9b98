"""Another threshold for a finished model: each group's right and wrong decisions on the test rows, which are raw.

Whoever takes the model with another threshold has chosen it by these numbers, so it has no proved epsilon.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.engine.predict import THRESHOLD
from fairpriv_core.errors import FairprivError
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.ledger.choice import foresee_choice, take_threshold
from fairpriv_core.notions.rates import TWO, count_cells
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.release import Kind
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.charts import mark_raw
from pages.widgets.shared.sentences import attempt, plain

_KEPT = "The run's model keeps its threshold of 0.5."
_COSTS = (
    "This choice looks at your rows. The model with it has no proved ε, and neither has this data set's ledger from "
    "then on. This cannot be undone."
)
_LOST = "Nor has the run: it is one of {runs} on the same question, and you saw the numbers of all."
_TAKEN = "threshold_taken"  # under this name stands which threshold of which run was taken, and at what cost
Scored = tuple[np.ndarray, np.ndarray, np.ndarray]  # of each test row: score of the positive label, label, group


def offer_threshold(store: RunStore, run: RunFacts[Kind], model: Model) -> None:
    """Draw the slider and what it comes to; nothing of a model that has no single threshold, or that a worker runs."""
    fixed = model.network.is_randomised or model.network.needs_group or model.network.runs_code
    if fixed or model.image is not None or len(model.label_names) != TWO:
        return
    box = st.expander("Move the threshold", key="threshold", icon=":material/tune:", on_change="rerun")
    if not box.open:
        return
    with box:
        scored = _score(str(store.database.url), run.key, store, model)
        if scored is None:
            st.caption("The rows of this run are not here any more.")
            return
        if not run.data.published:
            mark_raw()
        positive = model.label_names[1]
        threshold = st.slider(
            f"Decide {plain(positive)} above a score of", 0.0, 1.0, THRESHOLD, step=0.01, key="threshold_at"
        )
        _show(scored, threshold, run.data.groups, positive)
        st.caption(_KEPT)
        if threshold != THRESHOLD and store.database.writable:
            _offer(store, run, model, threshold)


def _offer(store: RunStore, run: RunFacts[Kind], model: Model, threshold: float) -> None:
    """Draw the way to take the model with a threshold; of a person's own rows it says first what that costs."""
    problem = problems().get(run.config["data"]["dataset"] or "")
    if problem is not None and problem.terms:
        return
    key, at, reason = st.session_state.get(_TAKEN, ("", None, None))
    if not run.data.published and (key, at) != (run.key, threshold):
        _ask_first(store, run.key, threshold)
        return
    reason = None if run.data.published else str(reason)
    if reason is not None:
        st.caption(plain(reason))
    make = partial(_pack, replace(model, threshold=threshold, unproved=reason))
    name = f"{run.key}-threshold-{threshold:g}.zip"
    icon = ":material/download:"
    st.download_button("Model with this threshold", make, name, "application/zip", key="get_threshold", icon=icon)


def _ask_first(store: RunStore, key: str, threshold: float) -> None:
    with st.popover("Take this threshold …", icon=":material/rule:", key="threshold_ways"):
        st.warning(_COSTS)
        for loss in foresee_choice(store, [key]):
            st.caption(_LOST.format(runs=f"{len(loss.among.all):,}"))
        reason = None
        if st.button("Take it without ε", key="take_threshold"):
            reason = attempt(lambda: take_threshold(store, key, threshold))
    if reason is not None:
        st.session_state[_TAKEN] = (key, threshold, reason)
        st.rerun()  # the whole page: its ledger has no bound now


def _pack(model: Model) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in model.write().items():
            archive.writestr(name, content)
    return packed.getvalue()


def _show(scored: Scored, threshold: float, groups: tuple[str, ...], positive: str) -> None:
    score, label, group = scored
    cells = count_cells((score > threshold).astype(np.int64), label, group, len(groups))
    right = np.trace(cells.sum(axis=0)) / max(1, cells.sum())
    st.markdown(f"**{100 * right:.1f} %** of all test rows are decided rightly.")
    table = [_build_row(name, counts, positive) for name, counts in zip(groups, cells, strict=True)]
    st.dataframe(table, key="threshold_table", hide_index=True, height="content", alt="Each group's decisions")


def _build_row(name: str, counts: np.ndarray, positive: str) -> dict[str, Any]:
    """Return a group's counts (label, decision) as a row of the table; a share of nobody is empty."""
    (true_negative, false_positive), (false_negative, true_positive) = counts.tolist()

    def share(part: int, total: int) -> float | None:
        return round(100 * part / total, 1) if total else None

    rows = int(counts.sum())
    return {
        "group": name,
        "rows": rows,
        "true positives": true_positive,
        "false positives": false_positive,
        "false negatives": false_negative,
        "true negatives": true_negative,
        f"decided {positive}, %": share(true_positive + false_positive, rows),
        "true positive rate, %": share(true_positive, true_positive + false_negative),
        "false positive rate, %": share(false_positive, false_positive + true_negative),
    }


@st.cache_resource(max_entries=4, show_spinner=False)
def _score(place: str, key: str, _store: RunStore, _model: Model) -> Scored | None:
    """Return a model's scores on its run's test rows; None where these cannot be had."""
    try:
        config: RunConfig = build_config(_store.row(key).config)
        _, test = DatasetCache(lend=partial(_store.files.lend, person=_store.payer)).parts(config)
    except FairprivError:
        return None
    return _model.score(test)[:, 1], test.y.astype(np.int64), test.group
