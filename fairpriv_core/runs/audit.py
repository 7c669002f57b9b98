"""The audit of a stored run: its method's code with its noise, and its model. Stored with the run.

The method's code is audited on data that are made up (audit/canary.py), so nobody's privacy is at stake and everything
may be shown. Noise multipliers are the method's own; the schedule is one that shows leaks best (few steps, 40 % of the
rows in a sample, a step length that keeps the canary's gradient at its bound). Epsilon is that of exactly the audited
event. The model is audited with the people it was trained on, by membership and attribute inference: for the analyst.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import numpy as np

from fairpriv_core.audit.attack import Pair, Train, distinguish
from fairpriv_core.audit.canary import choose_pair, list_pairs, make_data, plant_canaries
from fairpriv_core.audit.inference import (
    MembershipInference,
    advantage_limit,
    draw_judged,
    infer_attribute,
    infer_membership,
    stack_answers,
)
from fairpriv_core.audit.lower_bound import Test, build_tests, lower_bound, noise_bound, one_run_bound, with_noise
from fairpriv_core.audit.one_run import guess_coins
from fairpriv_core.audit.sensitivity import measure_noise, measure_shapes, record_runs
from fairpriv_core.data.dataset import Dataset, drop_unprotected, load_dataset, split_dataset
from fairpriv_core.data.rows import match_groups
from fairpriv_core.engine.networks import MLP
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.base import FitsAlone, Method
from fairpriv_core.methods.catalog import why_unproved
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.rates import TWO
from fairpriv_core.privacy.accountants import coarse_epsilon, epsilon
from fairpriv_core.privacy.event import Events, Parallel, SampledGaussian, to_json
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.audit import (
    Attribute,
    Audit,
    Bound,
    CodeAudit,
    Distinguishing,
    MeasuredNoise,
    Membership,
    ModelAudit,
    OneRun,
    Reach,
)
from fairpriv_core.records.config import build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.record import RunRecord, library_versions, method_of, published_epsilon
from fairpriv_core.seeds import public_generator
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.runs import RunStore, open_store

PROFILE = (1e-3, 1e-2, 1e-1)  # deltas, beside the run's own, at which the accountant is held against the attack
_MOST_ROWS = 6400
_ISOLATED = 6
_NOISE_RUNS = 40
_FEWER = 10
_SLOW = 4  # a method without steps, or that trains one model at a time, gets this part of the runs
Report = Callable[[str], None]
_EPOCHS = (2, 3, 4, 6, 8, 12)
_TELLING = 8.0  # an epsilon that a thousand runs can come near to
_RATE = 0.4
_STEP_LENGTH = 1e-5
_ROUNDS = 2
RAW_ATTACKS = "Computed on the records that the model was trained on, for the analyst: epsilon does not cover it."
_MOST = 4000  # records of a kind that attackers learn from and are judged on
_MOST_PIXELS = 1024


def audit_run(store: RunStore, key: str, plan: AuditPlan, report: Report) -> Audit:
    """Audit the finished run `key`, store what was found in place of an earlier audit, and return it.

    `code` is None for a method that is not private. Raises BadInput where the run has not finished or its data are
    gone, RunFailed where its method cannot be trained on the audit's data.
    """
    record = store.record(key)
    if record is None or record.status != "finished":
        raise BadInput(f"run {key} is {store.row(key).status}; only a finished run can be audited.", field="key")
    report("attacking the trained model")
    model = Model.read(partial(store.artifact, key))
    method, notion = method_of(record), record.config["notion"]
    code = None  # where nothing is promised there is nothing to hold it to
    store.files.check(record.config["data"]["file"], record.config.get("file_id"))
    answers = audit_model(record, model, seed=plan.seed)
    if method.info.threat_model is not None:
        code = audit_method(method, notion=notion, delta=record.delta, plan=plan, report=report)
    document = {
        "key": key,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": library_versions(),
        "run": {name: getattr(record, name) for name in ("threat_model", "epsilon", "epsilon_published", "delta")},
        "model": answers,
        "code": code,
    }
    audit: Audit = json.loads(json.dumps(document, allow_nan=False))
    AuditStore(store.database).keep(key, audit)
    return audit


def audit_once(store: RunStore, key: str, plan: AuditPlan, report: Report, *, again: bool) -> Audit:
    """Return the stored audit of run `key`; where there is none, or with `again`, make it. Errors as `audit_run`."""
    audit = None if again else AuditStore(store.database).find(key)
    if audit is None:
        return audit_run(store, key, plan, report)
    report(f"the audit of {audit['made']} is stored, so nothing ran; --again makes a new one")
    return audit


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Do the audit that a page asked for, `{"audit": key, "runs", "seed"}`; return where its result is."""
    with open_store(place) as store:
        plan = AuditPlan(runs=request["runs"], seed=request["seed"])
        audit_run(store, request["audit"], plan, lambda _: None)
    return {"audit": request["audit"]}


@dataclass(frozen=True)
class AuditPlan:
    """How much is tried.

    Attributes:
        runs: trained on each of the two data sets; three quarters of them are counted.
        confidence: of all lower bounds of one kind together.
        among: how many audits share the error, where several are read together.
        rows: of the canary data; they double where a method finds its groups too small.
        canaries: beside them, in one run; a tenth for a method that is slow to replay.
        changes: changed records tried for each shape of data.
        together: models trained in one loop.
        seed: public; an audit with the same seed, code and libraries gives the same numbers.
    """

    runs: int = 1000
    confidence: float = 0.99
    among: int = 1
    rows: int = 400
    canaries: int = 1000
    changes: int = 48
    together: int = 200
    seed: int = 0


def audit_method(method: Method, *, notion: str, delta: float, plan: AuditPlan, report: Report) -> CodeAudit:
    """Return the audit of a private `method` (its noise set); RunFailed where the data cannot train it."""
    rows = plan.rows
    while True:
        try:
            return _audit(method, notion, delta, replace(plan, rows=rows), report)
        except RunFailed:
            if rows >= _MOST_ROWS:
                raise
            rows *= 2


def _audit(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> CodeAudit:
    short = shorten(method, plan.rows, delta)
    canaries = plan.canaries // _FEWER if _is_slow(short, plan.rows) else plan.canaries
    reach, noise = _measure(short, notion, plan, report)
    return {
        "method": method_to_json(short),
        "notion": notion,
        "threat_model": method.info.threat_model,
        "rows": plan.rows,
        "event": to_json(short.event(plan.rows)),
        "delta": delta,
        "plan": asdict(plan),
        "reach": reach,
        "noise": noise,
        "one_run": _guess(method, notion, delta, replace(plan, canaries=canaries), report),
        "distinguishing": _distinguish(short, notion, delta, plan, report),
    }


def _measure(method: Method, notion: str, plan: AuditPlan, report: Report) -> tuple[list[Reach], MeasuredNoise | None]:
    report("measuring what single records add")
    train = make_trainer(method, notion=notion, seed=plan.seed)
    data = make_data(rows=plan.rows, isolated=_ISOLATED, groups=2, seed=plan.seed)
    public = method.public_rows(plan.rows, plan.seed)
    first = 0 if public is None else int(public.sum())
    how: dict[str, Any] = {"whole_record": _nulls(method), "seed": plan.seed, "first": first}
    reach = measure_shapes(train, data, changes=plan.changes, **how)
    noise = measure_noise(record_runs(train, data, runs=_NOISE_RUNS, seed=plan.seed))
    deviation = None if noise is None else cast(MeasuredNoise, asdict(noise))
    return [cast(Reach, asdict(release)) for release in reach], deviation


def _guess(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> OneRun:
    report(f"guessing the coins of {plan.canaries:,} canaries in one run")
    canaries, rows = plan.canaries, plan.rows + plan.canaries
    short = shorten(method, rows, delta)
    train = make_trainer(short, notion=notion, seed=plan.seed)
    data = plant_canaries(make_data(rows=rows, isolated=canaries, groups=2, seed=plan.seed), canaries)
    coins = guess_coins(train, data, canaries, nulled=_nulls(method), seed=plan.seed, together=plan.together)
    alone = 1.0 - (1.0 - plan.confidence) / plan.among
    bound = one_run_bound(**asdict(coins), delta=delta, confidence=alone)
    statement = {"lower_bound": bound, "epsilon": proved(short, rows, delta), "confidence": plan.confidence}
    return cast(OneRun, {"rows": rows, **asdict(coins), **statement})


def _distinguish(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> Distinguishing:
    train = make_trainer(method, notion=notion, seed=plan.seed)
    data = make_data(rows=plan.rows, isolated=_ISOLATED, groups=2, seed=plan.seed)
    pair = choose_pair(train, list_pairs(data, nulled=_nulls(method)), seed=plan.seed)
    runs = plan.runs // _SLOW if _is_slow(method, plan.rows) else plan.runs
    return attack_pair(method, pair, notion=notion, delta=delta, plan=replace(plan, runs=runs), report=report)


def _is_slow(method: Method, rows: int) -> bool:
    """Return whether replaying `method` takes its time: without steps, or one model at a time."""
    samples = any(isinstance(event, SampledGaussian | Parallel) for event in method.event(rows))
    return isinstance(method, FitsAlone) or not samples


def attack_pair(
    method: Method, pair: Pair, *, notion: str, delta: float, plan: AuditPlan, report: Report
) -> Distinguishing:
    """Return what attacks on `plan.runs` runs of `method`, as it is, on each data set of `pair` found."""

    def tell(n_done: int) -> None:
        report(f"{n_done} of {plan.runs} runs on each data set")

    train, rows = make_trainer(method, notion=notion, seed=plan.seed), pair.first.n
    scores = distinguish(train, pair, runs=plan.runs, seed=plan.seed + 1, together=plan.together, report=tell)
    deltas = tuple(sorted({delta, *(at_delta for at_delta in PROFILE if at_delta > delta)}))
    among = (len(deltas) + 1) * plan.among  # thresholds, of which each delta and the whole curve choose one
    tests = build_tests(scores, deltas, alpha=(1.0 - plan.confidence) / among)
    profile: list[Bound] = [
        {
            "delta": at_delta,
            "lower_bound": lower_bound(tests, at_delta, confidence=plan.confidence, among=among),
            "epsilon": proved(method, rows, at_delta),
            "epsilon_published": published_epsilon(method, rows, at_delta) if at_delta == delta else None,
        }
        for at_delta in deltas
    ]
    attack: Distinguishing = {
        "runs": plan.runs,
        "confidence": plan.confidence,
        "among": among,
        "tests": [asdict(test) for test in tests],
        "profile": profile,
        "refuted": _refuted([(at["lower_bound"], at["epsilon"]) for at in profile]),
        "refuted_published": _refuted([(at["lower_bound"], at["epsilon_published"]) for at in profile]),
    }
    return attack if profile[0]["epsilon"] is None else add_curve(attack, method.event(rows))


def add_curve(attack: Distinguishing, events: Events) -> Distinguishing:
    """Return what a distinguishing `attack` found, with what its tests say of the whole curve of `events`.

    `noise` is how much noise at most, over what is counted, fits the tests (None: any), and `lower_bound_curve` in the
    profile the epsilon of that much. Below 1 the counted epsilon is refuted, whatever one assumes.
    """
    tests = [Test(**test) for test in attack["tests"]]
    noise = noise_bound(tests, events, confidence=attack["confidence"], among=attack["among"])
    profile: list[Bound] = [
        {**at, "lower_bound_curve": 0.0 if noise is None else epsilon(with_noise(events, noise), at["delta"])}
        for at in attack["profile"]
    ]
    refuted = attack["refuted"] or (noise is not None and noise < 1.0)
    return {**attack, "profile": profile, "noise": noise, "refuted": refuted}


def _nulls(method: Method) -> bool:
    return method.info.threat_model == "record"


def _refuted(bounds: Sequence[tuple[float, float | None]]) -> bool | None:
    """Return whether a bound exceeds the epsilon beside it; None where none has one."""
    comparisons = [bound > epsilon for bound, epsilon in bounds if epsilon is not None]
    return any(comparisons) if comparisons else None


def shorten(method: Method, rows: int, delta: float) -> Method:
    """Return the method with 40 % of the rows a step, steps so short that gradients stay, and as many epochs as tell.

    That is the most of 3, 4, 6, 8 or 12 whose epsilon stays at 8 or below; 2 where none does. A search for a mixture
    gets two rounds, a warm-up none. The made-up rows are a table, so the network is an mlp, whatever the run's is. A
    method that pursues nothing gets no epochs more: with them it would release what its noise was not set for.
    """
    if hasattr(method, "batch_size"):  # an empty one would follow the number of rows
        method = cast(Method, replace(cast(Any, method), batch_size=round(_RATE * rows)))
    short = with_fields(method, sampling_rate=_RATE, learning_rate=_STEP_LENGTH, iterations=_ROUNDS, network=MLP)
    if method.idle_reason() is not None:
        return with_fields(short, epochs=min(getattr(method, "epochs", 1), _EPOCHS[0]))
    short = with_fields(short, warmup_epochs=0)
    choices = [with_fields(short, epochs=count) for count in _EPOCHS]
    telling = [choice for choice in choices[1:] if 0 < coarse_epsilon(choice.event(rows), delta) <= _TELLING]
    return telling[-1] if telling else choices[0]


def with_fields(method: Method, **values: Any) -> Method:
    """Return a copy with those of `values` that the method has a field for; what is empty stays empty."""
    names = {item.name for item in fields(method)}
    changes = {name: value for name, value in values.items() if name in names and getattr(method, name) is not None}
    return cast(Method, replace(cast(Any, method), **changes))


def make_trainer(method: Method, *, notion: str, seed: int) -> Train:
    """Return a function that trains `method` once for each data set and mechanism.

    What is attacked stands last in a data set: the first rows take the places of those that the method has as public.
    """

    def fit(data: Sequence[Dataset], mechanisms: Sequence[Mechanism]) -> list[Fitted]:
        trainings = [Training(notions()[notion], seed, mechanism, Unwatched()) for mechanism in mechanisms]
        public = method.public_rows(data[0].n, seed)
        if public is not None:
            places = np.empty(len(public), dtype=np.int64)
            places[np.argsort(~public, kind="stable")] = np.arange(len(public))
            data = [dataset.take(places) for dataset in data]
        return method.fit_many([method] * len(data), data, trainings)

    return Train(fit, alone=isinstance(method, FitsAlone))


def proved(method: Method, rows: int, delta: float) -> float | None:
    """Return the epsilon that is proved of the method's event on `rows` rows; None where none is."""
    private = method.info.threat_model is not None and why_unproved(method) is None
    return epsilon(method.event(rows), delta) if private else None


def audit_model(record: RunRecord, model: Model, *, seed: int) -> ModelAudit:
    """Return what four attack models find out from the answers of a run's model.

    Members are the run's training rows, the others its test rows. `attribute` is None where the label, which attackers
    know, is the attribute, and where only randomised answers are known of it. Raises BadInput or DataUnavailable where
    the run's data are no longer what they were.
    """
    config = build_config(record.config)
    dataset = drop_unprotected(load_dataset(config.data), record.threat_model)
    train, test = (part.without_nulls() for part in split_dataset(dataset, seed=config.seed, split=config.split))
    membership = attack_membership(model, train, test, seed=seed)
    limit = None
    if record.threat_model == "record" and record.epsilon is not None:
        limit = advantage_limit(record.epsilon, record.delta)
    hidden = train.answered is not None
    hidden |= train.label_names == train.group_names and np.array_equal(train.y, train.group)
    return {
        "membership": cast(Membership, {**asdict(membership), "limit": limit}),
        "attribute": None if hidden else attack_attribute(model, train, seed=seed),
        "note": RAW_ATTACKS,
    }


def attack_membership(model: Model, train: Dataset, test: Dataset, *, seed: int) -> MembershipInference:
    """Return how well four attack models tell training rows from test rows by the answers of `model`.

    Where larger groups of the training rows were thinned, so are those of the test rows here: else whoever is of a
    larger group would count as found out. So they are where the published split has its groups in unlike shares.
    """
    if train.group_ratio is not None or train.one_split:
        test = test.take(match_groups(test.group, train.group, public_generator(seed, "membership by group")))
    return infer_membership(_see(model, train), _see(model, test), limit=_MOST, seed=seed)


def attack_attribute(model: Model, train: Dataset, *, seed: int) -> Attribute:
    """Return how often four attack models name a training row's group.

    They know its features, of large images every so many pixels, and its label.
    """
    part = train.take(draw_judged(train.n, limit=2 * _MOST, seed=seed))
    binary = part.labels == TWO
    features = part.X[:, :: math.ceil(part.d / _MOST_PIXELS)] if part.image is not None else part.X
    facts = np.hstack([features, part.y[:, None] if binary else np.eye(part.labels)[part.y]])
    answers = _see(model, part)[:, : TWO if binary else 2 * part.labels]  # probabilities and logits
    guesses = asdict(infer_attribute(facts, answers, part.group, seed=seed))
    return cast(Attribute, {**guesses, "sensitive": train.sensitive})


def _see(model: Model, part: Dataset) -> np.ndarray:
    """Return what an attacker sees of each row (n, f): the model's scores of the labels, and what follows from them."""
    score = model.score(part)
    return stack_answers(score[:, 1] if part.labels == TWO else score, part.y)
