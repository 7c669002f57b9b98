"""What is measured of finished runs beside their metrics, for the papers' figures: for the analyst.

Raw: a function of people's records and groups that no epsilon covers. On the training rows: how well four attackers
tell them from test rows (FairDP-A, Figure 3); how many of each group have a gradient that a run's bound clips (PF-LD,
Figure 4); how far its clipped and noised releases lie from the true ones (PF-LD, eq. 12 and 13); the bias and variance
term of DP-SGD (FairDP-A, eq. 4). On the test rows: how it trained (FairDP-A, Figures 4 to 6), and its gap where their
groups and labels are shifted (FairDP-C, Figures 6 and 9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairpriv_core.audit.inference import guessed_advantage
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import share_clipped
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import open_kernel
from fairpriv_core.engine.networks import require_shape
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.methods.fields import count_batch, surrogate_of
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.lagrangian import constraint_norms
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import count_decisions
from fairpriv_core.papers.clipping_errors import find_errors
from fairpriv_core.papers.excess_risk import find_excess_risk
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.runs import attach
from fairpriv_core.papers.shifts import even_parity_gap, worst_parity_gap
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.plan import DatasetCache, calibrate_method
from fairpriv_core.runs.audit import attack_membership
from fairpriv_core.store.runs import RunStore, open_store

Numbers = Mapping[str, object]


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"measured": `measure`} for {"measure": its name, "keys": of runs} of the store at `place`."""
    with open_store(place) as store:
        return {"measured": measure(store, request["measure"], request["keys"])}


def measure(store: RunStore, name: str, keys: Sequence[str]) -> dict[str, Numbers]:
    """Return what a measure finds of finished runs, by their keys. Raises BadInput for a run that has no model."""
    datasets = DatasetCache(lend=store.files.lend)
    return {key: MEASURES[name](store, key, datasets) for key in keys}


def with_measured(store: RunStore, name: str, runs: Sequence[PaperRun]) -> list[PaperRun]:
    """Return runs with what a measure finds of each under its name; "" measures nothing."""
    return attach(runs, name, measure(store, name, [run.key for run in runs])) if name else list(runs)


def measure_membership(store: RunStore, key: str, datasets: DatasetCache) -> dict[str, dict[str, float]]:
    """Return AUC and advantage, in [0, 1], by the attacker's name; at "chance" those that guessing has on average.

    Which records are attacked follows from the run's seed, so that runs of one seed and split are attacked on the same.
    Raises BadInput for a run that has no model.
    """
    config = build_config(store.row(key).config)
    attack = attack_membership(Model.read(partial(store.artifact, key)), *datasets.parts(config), seed=config.seed)
    attacks = {result.attacker: {"auc": result.auc, "advantage": result.advantage} for result in attack.attackers}
    return {**attacks, "chance": {"auc": 0.5, "advantage": guessed_advantage(attack.judged)}}


def measure_clipped(store: RunStore, key: str, datasets: DatasetCache) -> dict[str, float]:
    """Return the share in [0, 1] of each group's training rows that the run's C_p clips.

    The norm is that of the gradient of the notion's h at the trained model. Raises BadInput for a run that has no
    model.
    """
    row = store.row(key)
    config = build_config(row.config)
    train, _ = datasets.parts(config)
    kernel = _open(Model.read(partial(store.artifact, key)))
    target = surrogate_of(config.method, notions()[config.notion].target)
    norms = constraint_norms(0, target=target, kernel=kernel, feed=Feed([train]))
    bound = float(row.config["method"]["clip_primal"])
    return {name: share_clipped(norms[train.group == g], bound) for g, name in enumerate(train.group_names)}


def measure_errors(store: RunStore, key: str, datasets: DatasetCache) -> dict[str, float]:
    """Return the errors of Theorems 4 and 5 of PF-LD, and their bounds, at a run of the published variant.

    Raises BadInput for a run of another variant or without a model.
    """
    record, config = store.record(key), build_config(store.row(key).config)
    model = Model.read(partial(store.artifact, key))
    assert record is not None  # it has a model
    train, _ = datasets.parts(config)
    method = calibrate_method(config, train.n)
    multipliers = record.notes["multipliers"]
    return find_errors(
        method, notions()[config.notion], multipliers, kernel=_open(model), train=train, seed=config.seed
    )


def measure_excess_risk(store: RunStore, key: str, datasets: DatasetCache) -> dict[str, float]:
    """Return the excess risk of a run, Theorem 6's bound on it and that of an untrained model; see `find_excess_risk`.

    Raises BadInput for a run of settings that are not the theorem's, or without a model.
    """
    config, model = build_config(store.row(key).config), Model.read(partial(store.artifact, key))
    train, _ = datasets.parts(config)
    return find_excess_risk(calibrate_method(config, train.n), model.parameters, train)


def read_training(store: RunStore, key: str, _datasets: DatasetCache) -> dict[str, dict[str, float | None]]:
    """Return the accuracy and the gap of a run's notion, in [0, 1], at the ends of epochs, by their numbers as text.

    They are what the run stored while it trained: of one that trained with others after ten parts of its epochs.
    """
    row = store.row(key)
    names = {"test/accuracy": "accuracy", f"test/{row.config['notion']}_gap": "gap"}
    values: dict[str, dict[str, float | None]] = {name: {} for name in names.values()}
    for step, name, value in store.curves(key, names.__contains__):
        epoch = round(step * row.config["method"]["epochs"] / (row.steps or 1))
        values[names[name]][str(epoch)] = value
    return values


SHIFTS = (0, 5, 10, 20)  # percent of total variation


def measure_shifted(store: RunStore, key: str, _datasets: DatasetCache) -> dict[str, dict[str, float | None]]:
    """Return a finished run's demographic parity gaps in [0, 1] on shifted test rows, of two labels.

    They are those of two shifts, "worst" and "even", at each percent of SHIFTS as text.
    """
    record = store.record(key)
    assert record is not None and record.metrics is not None  # it is finished
    counts = count_decisions(record.metrics)
    shifts = {"worst": worst_parity_gap, "even": even_parity_gap}
    return {name: {str(shift): gap(counts, shift / 100.0) for shift in SHIFTS} for name, gap in shifts.items()}


_LIPSCHITZ = 1.0  # the paper's L
_CHUNK = 2048


def measure_bias_variance(store: RunStore, key: str, datasets: DatasetCache) -> dict[str, float]:
    """Return τ of a run with a clipping bound C and noise σ C, and its two parts, "clipping" and "noise".

    τ = 2 (1 + 1/(μ L)) |∇f| η + η² + σ² C² P / n², with η the mean over rows of how far a gradient's norm lies above C,
    n the batch size, P the number of parameters and L = 1. Raises BadInput for a run that has no model.
    """
    config = build_config(store.row(key).config)
    train, _ = datasets.parts(config)
    method: Any = calibrate_method(config, train.n)
    norms, mean = find_gradients(Model.read(partial(store.artifact, key)), train)
    excess = float(np.maximum(norms - method.clip_primal, 0.0).mean())
    slope = 2.0 * (1.0 + 1.0 / (method.learning_rate * _LIPSCHITZ))
    clipping = slope * float(np.linalg.norm(mean)) * excess + excess**2
    noise = (method.noise_primal * method.clip_primal / count_batch(method, train.n)) ** 2 * mean.size
    return {"tau": clipping + noise, "clipping": clipping, "noise": noise}


def _open(model: Model) -> Kernel:
    return open_kernel(require_shape(model.network), model.parameters.reshape(1, -1), "cpu")


def find_gradients(model: Model, train: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the norm of the loss's gradient at each row (n,) and the mean gradient (P,), float64."""
    kernel = _open(model)
    feed, norms, total = Feed([train]), [], np.zeros(model.parameters.size)
    for start in range(0, feed.n, _CHUNK):
        batch = feed.draw([np.arange(start, min(start + _CHUNK, feed.n))])
        passed = kernel.take(batch)
        records = Records(passed, batch)
        norms.append(loss_gradient_norms(records)[0].astype(np.float64))
        total += kernel.weighted_sum(passed, records.deviation, slice(None))[0]
    return np.concatenate(norms), total / feed.n


MEASURES: Mapping[str, Callable[[RunStore, str, DatasetCache], Numbers]] = {
    "bias_variance": measure_bias_variance,
    "clipped": measure_clipped,
    "errors": measure_errors,
    "excess_risk": measure_excess_risk,
    "membership": measure_membership,
    "shifted": measure_shifted,
    "training": read_training,
}
