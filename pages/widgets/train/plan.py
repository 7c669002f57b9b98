"""What a run will cost, before it is launched: noise, releases, ε over epochs, expected time. Cached, not stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from fairpriv_core.data.dataset import Dataset, drop_unprotected, split_dataset
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import why_unproved
from fairpriv_core.methods.cell_counts import Counts
from fairpriv_core.privacy import accountants
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.curve import epsilon_over
from fairpriv_core.privacy.event import EventJson
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.paid import price_schema
from fairpriv_core.records.plan import calibrate_method, check_settings, find_counts
from fairpriv_core.records.record import (
    RunRecord,
    announce_training,
    plan_evaluation,
    published_epsilon,
    with_evaluation,
)
from fairpriv_core.records.reuse import use_release

_POINTS = 24


@dataclass(frozen=True)
class LaunchPlan:
    """A run before it runs.

    Attributes:
        method: with its noise calibrated to the budget.
        n_train: rows that it trains on.
        steps: that it will make.
        releases: the JSON of what it will release.
        noise: each noise multiplier by its title.
        sensitivities: how far one person can move each kind of release, by what it is called.
        epochs, epsilon: the proved ε after each of some epochs; empty for a method that releases nothing.
        published: what the paper's own accounting claims at the end; None where it makes no claim.
        unproved: why no ε is proved; None where one is, or where the method is not private.
        at_once: whether ε is proved and each release is made once, so that more epochs cost nothing more.
        notes: by which the ledger knows a release that an earlier run has paid for.
        shape: the network that it trains.
        counts: raw sizes that it must find large enough beside noise; None where there are none.
    """

    method: Method
    n_train: int
    steps: int
    releases: list[EventJson]
    noise: dict[str, float]
    sensitivities: dict[str, float]
    epochs: tuple[float, ...]
    epsilon: tuple[float, ...]
    published: float | None
    unproved: str | None
    at_once: bool
    notes: Mapping[str, Any] = field(default_factory=dict)
    shape: Any = None
    counts: Counts | None = None


def make_plan(config: RunConfig, dataset: Dataset, source: RunRecord | None) -> LaunchPlan:
    """Return the plan of `config`; raises BadInput where the data and the settings do not go together.

    `source` is the JSON of the record of the run whose release the config uses, if it uses one.
    """
    dataset = drop_unprotected(dataset, config.method.info.threat_model)
    shape = check_settings(config, dataset)
    train = split_dataset(dataset, seed=config.seed, split=config.split)[0]
    bare_config = replace(config, seed=0)
    notes: dict[str, Any] = {}
    if source is not None:
        method, notes = use_release(config.method, source, config.to_json(), train.digest)
        bare_config = replace(bare_config, method=method, reuse=None)
    plan = _make(json.dumps(bare_config.to_json(), sort_keys=True), train.n, dataset.groups)
    return replace(plan, notes=notes, shape=shape, counts=find_counts(config, plan.method, train))


@st.cache_data(max_entries=256, show_spinner=False)
def _make(config_text: str, n_train: int, groups: int) -> LaunchPlan:
    config = build_config(json.loads(config_text))
    method = calibrate_method(config, n_train)
    private = method.info.threat_model is not None
    price = price_schema(config.to_json(), method.info.threat_model)
    training = announce_training(config, method, n_train)
    events = (*price, *training) if private else ()
    evaluation = plan_evaluation(config, method, n_train)
    releases = (*price, *with_evaluation(training, evaluation)) if private else ()
    epochs = int(getattr(method, "epochs", 1))
    ends = sorted({round(epochs * point / _POINTS) for point in range(_POINTS + 1)})
    unproved = why_unproved(method) if private else None
    proved = private and unproved is None
    curve = epsilon_over(events, [end / epochs for end in ends], config.delta) if proved else []
    if curve:  # what the record will state; the points before are for drawing, up to 1 % above
        curve[-1] = accountants.epsilon(releases, config.delta)
    return LaunchPlan(
        method=method,
        n_train=n_train,
        steps=method.steps(n_train),
        releases=events_of.to_json(releases),
        noise=_list_noise(method),
        sensitivities=method.sensitivities(n_train, groups),
        epochs=tuple(map(float, ends)) if proved else (),
        epsilon=tuple(curve),
        published=published_epsilon(method, n_train, config.delta),
        unproved=unproved,
        at_once=proved
        and not any(isinstance(event, events_of.Parallel) or getattr(event, "count", 1) > 1 for event in events),
    )


def _list_noise(method: Method) -> dict[str, float]:
    titles = {name: parameter.title for name, (parameter, _) in parameters(method).items() if name.startswith("noise_")}
    levels = {title: getattr(method, name) for name, title in titles.items()}
    return {title: float(level) for title, level in levels.items() if level is not None}
