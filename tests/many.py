"""Finished runs on more than two labels, made up: ages of three groups, and digits that are their own groups.

Their records are whole, as a worker would have stored them; nothing was trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.noisy import measure_noisy
from fairpriv_core.notions.rates import count_cells, decide
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import calibrate_method
from fairpriv_core.records.record import draft_record, finished_record, plan_evaluation, with_evaluation
from fairpriv_core.runs.session import name_measured
from fairpriv_core.store.claim import Beginning, Ending, Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

AGES = ("young", "middle", "old")
DIGITS = tuple("0123456789")
_NOISE = 5.0


def make_ages(n: int = 1500) -> Dataset:
    """Return three labels and three groups that lean to one label each."""
    generator = np.random.default_rng(0)
    group = generator.integers(0, 3, n)
    y = (group + generator.integers(0, 3, n) * (generator.random(n) < 0.8)) % 3
    return _dataset(y, group, AGES, ("A", "B", "C"), sensitive="race")


def make_digits(n: int = 3000) -> Dataset:
    """Return ten labels that are the groups too; of 8 there are few."""
    y = np.random.default_rng(1).choice(10, n, p=[0.11] * 8 + [0.01, 0.11])
    return _dataset(y, y, DIGITS, DIGITS, sensitive="label")


def _dataset(
    y: np.ndarray, group: np.ndarray, labels: tuple[str, ...], groups: tuple[str, ...], *, sensitive: str
) -> Dataset:
    return Dataset(
        X=np.zeros((len(y), 4), dtype=np.float32),
        y=y.astype(np.int64),
        group=group.astype(np.int64),
        feature_names=("a", "b", "c", "d"),
        label_names=labels,
        group_names=groups,
        name="made up",
        sensitive=sensitive,
        digest="0" * 64,
    )


def draw_scores(data: Dataset, *, skill: float, seed: int, given_up: int | None = None) -> np.ndarray:
    """Return scores (n, l): the larger `skill`, the more often right; the class `given_up` is never decided."""
    score = np.random.default_rng(seed).random((data.n, data.labels)) + skill * np.eye(data.labels)[data.y]
    if given_up is not None:
        score[:, given_up] = 0.0
    return np.asarray(score / score.sum(axis=1, keepdims=True))


def ask(method: str, *, seed: int = 0, notion: str = "demographic_parity", paid: bool = False) -> RunConfig:
    """Return the config of a run; its data stand for the made-up ones."""
    raw: dict[str, Any] = {"method": {"name": method, "epochs": 3}, "epsilon": None if method == "none" else 1.0}
    raw |= {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": notion, "seed": seed}
    return build_config({**raw, "private_evaluation": paid})


def finish(
    store: RunStore, config: RunConfig, data: Dataset, *, skill: float = 0.6, given_up: int | None = None
) -> str:
    """Store a finished run of `config` with three epochs of curves; return its key."""
    work = WorkStore(store.database)
    [claim] = work.claim(store.submit(config, again=True).key)
    method = calibrate_method(config, data.n)
    evaluation = plan_evaluation(config, method, data.n)
    draft = draft_record(key=claim.key, config=config, method=method, train=data, test=data, evaluation=evaluation)
    scores = [draw_scores(data, skill=skill * at / 3, seed=config.seed, given_up=given_up) for at in (1, 2, 3)]
    found = [measure(data.y, score, data.group, data.group_names, label_names=data.label_names) for score in scores]
    curves = [(10 * at, name, each) for at, one in enumerate(found, 1) for name, each in name_measured(one).items()]
    record = finished_record(
        draft,
        method,
        events=with_evaluation(method.event(data.n), evaluation),
        metrics=found[-1],
        metrics_private=measure_privately(data, scores[-1]) if evaluation else None,
        steps=30,
        seconds=1.0,
    )
    work.begin([claim], [Beginning(draft, 30)])
    work.finish([claim], [Ending(record, Progress(30, 3, 1.0, record.epsilon, curves))])
    return claim.key


def measure_privately(data: Dataset, score: np.ndarray) -> dict[str, Any]:
    counts = count_cells(decide(score), data.y, data.group, data.groups, data.labels)
    noisy = counts + np.random.default_rng(5).normal(0, _NOISE, counts.shape)
    return measure_noisy(noisy, _NOISE, data.group_names, data.label_names)
