"""Choosing one of several runs: free by what was released, paid for by noisy gaps, or unproved by raw numbers.

docs/ledger.md has the argument. A choice on raw numbers uses the protected values once more, without noise: whoever is
shown the chosen run is told something that no epsilon covers.

The noisy choice is report-noisy-max over gaps on one test split. A gap over exact group sizes moves by as much as one
over the smallest group, which is itself protected. So the sizes are released first, with noise, and stay the
denominators: a person then moves a gap by at most 1/d_a + 1/d_b (moved from group a to b) or 1/d_a (absent), whatever
the model decides of them. Of the gaps nothing leaves but which one is the smallest (`Mechanism.noisy_max`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import count_decisions
from fairpriv_core.notions.notion import Notion, format_undefined
from fairpriv_core.notions.rates import rates_of, sum_rate
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian, Parallel, RandomizedResponse, to_json
from fairpriv_core.privacy.ledger import LedgerEntry, compose
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import DEFAULT_DELTA
from fairpriv_core.records.ledger_entry import Posting, record_posting
from fairpriv_core.records.record import RunRecord, method_of
from fairpriv_core.records.source import find_answers, is_published
from fairpriv_core.store.ledger import Choice, ChoiceRequest
from fairpriv_core.store.runs import RunStore

WAYS = ("released", "noisy", "raw")
ACCURACY = "accuracy"
LEAST_ROWS = 30
_CHOICE = 0.8  # of epsilon goes to the choice, the rest to the sizes: these hardly need any
_QUESTION = ("label", "positive", "sensitive", "group_ratio", "rows", "person")  # what runs to choose from share
_NAMED = 3  # of the runs that a choice leaves out
_RAW = (
    "a run that raw numbers choose has no epsilon: choose with noise (--by noisy --epsilon 0.5) or by released numbers "
    "(--by released), or go on without an epsilon (--without-epsilon)."
)
_THRESHOLD = "The model's threshold was chosen by raw numbers of the test rows, which no epsilon covers."
_ROUNDING = 2.0**-40  # more than what float64 rounds off two gaps
Values = dict[str, float | None]  # by run
_SENSITIVITIES = {"attribute": math.sqrt(2.0), "record": 1.0}


@dataclass(frozen=True)
class Criterion:
    """What is wanted: the run with the smallest gap, or the highest accuracy, `by` one of WAYS.

    `metric` is a notion's gap or "accuracy"; None is the gap of the runs' own notion. `epsilon` is the price of a noisy
    choice, and of nothing else.
    """

    by: str
    metric: str | None = None
    epsilon: float | None = None
    delta: float = 1e-5


def select_run(store: RunStore, keys: Sequence[str], criterion: Criterion, *, without_epsilon: bool = False) -> Choice:
    """Choose one of the finished runs `keys`; return which, and what epsilon it has.

    `epsilon` (at `delta`) covers every candidate and the choice, for what they protect (the worst sensitive column);
    None with `epsilon_reason` where none is proved. The store states it beside the chosen run's own from then on; after
    a raw choice on own data it states none. Every choice is in the ledger, a free one at no cost; the same one once
    more is read from the store.

    On own data a choice by released or noisy numbers is among all that answer the question, for which one key stands,
    and the first one holds. One by raw numbers there has to be told that it goes on `without_epsilon`.

    Raises:
        BadInput: fewer than two runs, unfinished or unlike ones, a number that they do not have, some that are left
            out, a second choice among them, a raw one that was not told so, or beyond a cap.
        RunFailed: a group has too few noisy rows; its noisy size has been paid for.
    """
    keys = _complete(store, keys)
    candidates = _read(store, keys)
    metric = criterion.metric or notions()[candidates[0].record.config["notion"]].metric
    request: ChoiceRequest = {
        "keys": sorted(set(keys)),
        "by": criterion.by,
        "metric": metric,
        "epsilon": criterion.epsilon,
        "delta": criterion.delta,
    }
    choice = store.ledger.find_charge(request)
    if choice is not None:
        return cast(Choice, choice)
    free = criterion.by == "released" or _is_public(candidates, metric)
    if free or criterion.by == "noisy":
        _check_all_are_there(store, keys)
    if criterion.by == "noisy":
        return _choose_noisily(store, candidates, metric, criterion, request)
    if criterion.epsilon is not None:
        raise BadInput(
            f"epsilon is the price of a noisy choice; a choice by {criterion.by} numbers takes none.", field="epsilon"
        )
    values = _read_released(candidates, metric) if criterion.by == "released" else _read_raw(candidates, metric)
    index = _pick(values, metric)
    values_by_key = {candidate.record.key: value for candidate, value in zip(candidates, values, strict=True)}
    if free:
        return _charge_nothing(store, candidates, index, request, values_by_key)
    if not without_epsilon:
        raise BadInput(_RAW, field="by")
    return _charge_raw(store, [candidates[index]], candidates, request, values_by_key)


def choose_seen(store: RunStore, key: str, among: Sequence[str]) -> None:
    """Write down that a person chose the run `key` of `among` by numbers that were released; it costs nothing."""
    candidates = _read(store, [key, *among])
    keys = sorted({key, *among})
    _charge_nothing(store, candidates, 0, _request_by_sight(keys, "released"))


def take_epsilon(store: RunStore, keys: Sequence[str], among: Sequence[str]) -> None:
    """Write down that runs `keys` were chosen of `among` by raw numbers: they have no epsilon from then on.

    BadInput, and nothing is written, beyond a cap.
    """
    request = _request_by_sight(among, "raw")
    for key in keys:
        if store.owner not in (None, store.row(key).owner):
            raise BadInput(f"run {key} is someone else's: only they can take its epsilon.", field="key")
    records = store.records(keys)
    candidates = [_Candidate(record, record_posting(record)) for record in records.values()]
    for threat_model in dict.fromkeys(candidate.posting.entry.threat_model for candidate in candidates):
        alike = [candidate for candidate in candidates if candidate.posting.entry.threat_model == threat_model]
        _charge_raw(store, alike, alike, request)


def _request_by_sight(keys: Sequence[str], by: str) -> ChoiceRequest:
    """Return the request of a choice that a person made by what they saw."""
    return {"keys": list(keys), "by": by, "metric": None, "epsilon": None, "delta": DEFAULT_DELTA}


def choose_threshold(store: RunStore, key: str, threshold: float) -> str | None:
    """Write down that a threshold of run `key`'s model was chosen by raw numbers, which its ledger has no bound for.

    Returns why the model with it has no proved epsilon; None on rows that everybody has. BadInput, and nothing is
    written, beyond a cap.
    """
    record = store.record(key)
    if record is None or store.owner not in (None, store.row(key).owner):
        raise BadInput(f"run {key} is not yours or has no model: only its owner can choose a threshold.", field="key")
    if is_published(record.config["data"]):
        return None
    request = {"keys": [key], "by": "raw", "metric": None, "threshold": threshold}
    if store.ledger.find_charge(request) is None:
        posting = _posting([_Candidate(record, record_posting(record))], (), _THRESHOLD)
        result = {"request": request, "charge": posting.entry.key, "epsilon": None, "epsilon_reason": _THRESHOLD}
        store.ledger.pay(posting, result, store.payer)
    return _THRESHOLD


def _charge_nothing(
    store: RunStore, candidates: Sequence[_Candidate], index: int, request: ChoiceRequest, values: Values | None = None
) -> Choice:
    choice = _state(candidates, index, request, None, values)
    store.ledger.pay(_posting(candidates, (), None), choice, store.payer)
    return choice


def why_not(store: RunStore, key: str, by: str) -> str | None:
    """Return why `select_run` cannot choose among all on the question of `key` by released or noisy numbers.

    None where it can: what a noisy choice then costs is for a cap to say.
    """
    try:
        keys = _complete(store, [key])
        candidates = _read(store, keys)
        _check_all_are_there(store, keys)
        metric = notions()[candidates[0].record.config["notion"]].metric
        if by == "released":
            _read_released(candidates, metric)
        else:
            _check_noisy(candidates)
    except BadInput as error:
        return str(error)
    return None


def _complete(store: RunStore, keys: Sequence[str]) -> Sequence[str]:
    """Return `keys`; for one key on own data the keys of all that answer its question."""
    among = store.candidates(keys) if len(set(keys)) == 1 else ()
    return tuple(dict.fromkeys((*keys, *among[0].keys))) if among else keys


def _check_all_are_there(store: RunStore, keys: Sequence[str]) -> None:
    """Raise BadInput where `keys` on own data are not all that answer their question, or one was chosen already."""
    for among in store.candidates(keys):
        omitted = [key for key in among.keys if key not in keys]
        if omitted:
            some = ", ".join(omitted[:_NAMED]) + (" and others" if len(omitted) > _NAMED else "")
            raise BadInput(
                f"runs that answer the same question are left out ({some}), and their raw numbers were shown; name "
                "one run alone to choose among all.",
                field="keys",
            )
        if among.deleted:
            raise BadInput(
                f"run {among.deleted[0]} answered the same question and was deleted, so no choice is among all.",
                field="keys",
            )
        if among.held is not None and set(among.held["candidates"]) == among.all:
            raise BadInput(
                f"run {among.held['selected']} was chosen among these by {among.held['request']['by']} numbers, and "
                "that holds: whoever chooses again until it pleases has chosen by raw numbers.",
                field="keys",
            )


def _charge_raw(
    store: RunStore,
    winners: Sequence[_Candidate],
    candidates: Sequence[_Candidate],
    request: ChoiceRequest,
    values: Values | None = None,
) -> Choice:
    """Write down that `winners` were chosen among `candidates` by raw numbers; return the choice of the first."""
    numbers = (request["metric"] or "numbers").replace("_", " ")
    reason = (
        f"It was chosen among {len(request['keys'])} runs by raw {numbers}, computed on protected data; choose by "
        "released or noisy numbers for a proved epsilon."
    )
    posting = _posting(candidates, (), reason)
    choice = _state(candidates, candidates.index(winners[0]), request, posting.entry, values)
    withdrawn = [candidate.record.key for candidate in winners]
    choice = {**choice, "epsilon": None, "epsilon_reason": reason, "withdrawn": withdrawn}
    store.ledger.pay(posting, choice, store.payer)
    return choice


@dataclass(frozen=True)
class _Candidate:
    record: RunRecord
    posting: Posting

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.record.metrics or {}


def _read(store: RunStore, keys: Sequence[str]) -> list[_Candidate]:
    """Return the candidates in the order given; BadInput unless they are finished, on one data set and attribute."""
    if len(set(keys)) < 2:
        raise BadInput("a choice needs two runs or more; name their keys.", field="keys")
    candidates, records = [], store.records(keys)
    for key in dict.fromkeys(keys):
        record = records.get(key) or store.record(key)  # which says so where it is damaged
        if record is None or record.status != "finished":
            status = store.row(key).status if record is None else record.status
            raise BadInput(f"run {key} is {status}; only finished runs can be chosen from.", field="keys")
        candidates.append(_Candidate(record, record_posting(record)))
    if len({candidate.posting.entry.threat_model for candidate in candidates}) > 1:
        raise BadInput("these runs protect different things, so no one epsilon covers a choice.", field="keys")
    questions = [(item.posting.data, item.record.config["data"]) for item in candidates]
    if len({(data, *(config.get(name) for name in _QUESTION)) for data, config in questions}) > 1:
        raise BadInput("these runs differ in data, label or groups; choose among runs on the same.", field="keys")
    return candidates


def _read_released(candidates: Sequence[_Candidate], metric: str) -> list[float | None]:
    """Return each candidate's number as far as it has been released: what follows from it costs nothing."""
    if metric == ACCURACY and _is_public(candidates, metric):
        return [candidate.metrics.get(metric) for candidate in candidates]
    private = [candidate.record.metrics_private or {} for candidate in candidates]
    if all(metric in numbers for numbers in private):
        return [numbers[metric] for numbers in private]
    estimated = [candidate.record.notes.get("released_gaps", {}) for candidate in candidates]
    if all(metric in numbers for numbers in estimated):
        return [numbers[metric] for numbers in estimated]
    raise BadInput(
        f"{metric} has not been released by all of these runs; evaluate each privately, or choose --by noisy.",
        field="by",
    )


def _is_public(candidates: Sequence[_Candidate], metric: str) -> bool:
    """Return whether a number is nobody's secret: of rows that everybody has; or accuracy, which may be.

    It is where it depends on public features and labels and on the released models alone.
    """
    if all(is_published(candidate.record.config["data"]) for candidate in candidates):
        return True
    infos = [method_of(candidate.record).info for candidate in candidates]
    hidden = any(info.threat_model != "attribute" or info.needs_group_at_prediction for info in infos)
    return metric == ACCURACY and not hidden


def _read_raw(candidates: Sequence[_Candidate], metric: str) -> list[float | None]:
    metrics = [ACCURACY, *(notion.metric for notion in notions().values())]
    if metric not in metrics and metric not in candidates[0].metrics:
        raise BadInput(f"unknown metric '{metric}'; choose from {', '.join(metrics)}.", field="metric")
    lacking = next((candidate.record.key for candidate in candidates if metric not in candidate.metrics), None)
    if lacking is not None:
        raise BadInput(f"run {lacking} is older than {metric} and has none; run it again.", field="metric")
    return [candidate.metrics[metric] for candidate in candidates]


def _pick(values: Sequence[float | None], metric: str) -> int:
    indices = [index for index, value in enumerate(values) if value is not None]
    if not indices:
        raise BadInput(f"{metric} is undefined in all of these runs.", field="metric")
    best = max if metric == ACCURACY else min
    return best(indices, key=lambda index: values[index] or 0.0)


def _choose_noisily(
    store: RunStore, candidates: Sequence[_Candidate], metric: str, criterion: Criterion, request: ChoiceRequest
) -> Choice:
    notion = next((item for item in notions().values() if item.metric == metric), None)
    threat_model = candidates[0].posting.entry.threat_model
    if notion is None or threat_model is None or criterion.epsilon is None:
        raise BadInput("a noisy choice is by a notion's gap, among private runs, and needs --epsilon.", field="by")
    _check_noisy(candidates)
    events = plan_choice(epsilon=criterion.epsilon, delta=criterion.delta)
    store.ledger.check(_posting(candidates, events, None))
    mechanism = Mechanism(Randomness.fresh())
    counts = [count_decisions(candidate.metrics) for candidate in candidates]
    index = choose_noisily(counts, notion, threat_model=threat_model, planned=events, mechanism=mechanism)
    posting = _posting(candidates, mechanism.events, None)
    if index is None:
        store.ledger.pay(posting, {}, store.payer)
        raise RunFailed(
            "a group has fewer than 30 noisy rows, too few to choose by; what its noisy size costs is spent."
        )
    choice = _state(candidates, index, request, posting.entry)
    store.ledger.pay(posting, choice, store.payer)
    return choice


def _check_noisy(candidates: Sequence[_Candidate]) -> None:
    """Raise BadInput where candidates are tested on different people, or their groups are known by answers alone."""
    if any(find_answers(candidate.record.config["data"]) is not None for candidate in candidates):
        raise BadInput("randomised answers tell all that there is of groups: choose --by released.", field="by")
    if len({candidate.posting.entry.split for candidate in candidates}) > 1:
        raise BadInput("a noisy choice needs runs on one split: with the same seed, or --split official.", field="keys")


def _posting(candidates: Sequence[_Candidate], events: Events, unbounded: str | None) -> Posting:
    """Return the choice's line in the ledger: it read the test rows of its candidates."""
    first = candidates[0].posting
    clear = [candidate.posting.entry.clear for candidate in candidates]
    entry = replace(
        first.entry,
        key=f"selection-{secrets.token_hex(6)}",
        events=(Parallel(((), events), fixed=True),) if events else (),
        clear=None if None in clear else tuple(dict.fromkeys(name for columns in clear for name in columns or ())),
        unbounded=unbounded,
        reads_sensitive=True,
        shared={},
        stream=None,
    )
    return replace(first, what="selection", entry=entry)


def _state(
    candidates: Sequence[_Candidate],
    index: int,
    request: ChoiceRequest,
    choice: LedgerEntry | None,
    values: Values | None = None,
) -> Choice:
    """Return what holds of the chosen run: the epsilon of all candidates and the choice together."""
    delta = request["delta"]
    entries = [candidate.posting.entry for candidate in candidates] + ([] if choice is None else [choice])
    protected = (None,) if entries[0].threat_model == "record" else entries[0].sensitive
    totals = [compose(entries, column) for column in protected]
    costs = [total.epsilon(delta) for total in totals]
    worst = totals[costs.index(max(costs))]
    epsilon = max(costs) if math.isfinite(max(costs)) else None
    reason = next(iter(worst.unbounded), "No finite epsilon is proved for what was released.")
    statement = {
        "selected": candidates[index].record.key,
        "threat_model": entries[0].threat_model,
        "epsilon": epsilon,
        "epsilon_reason": None if epsilon is not None else f"{reason[0].upper()}{reason[1:]}",
        "delta": delta,
        "event": to_json(worst.events),
        "candidates": [candidate.record.key for candidate in candidates],
        **({} if values is None else {"values": values}),
        "request": request,
        "charge": None if choice is None else choice.key,
    }
    return cast(Choice, statement)


def plan_choice(*, epsilon: float, delta: float) -> Events:
    """Return what a choice within (epsilon, delta) will release: the sizes, and the choice."""
    choice = RandomizedResponse(_CHOICE * epsilon)
    noise = calibrate(lambda level: (Gaussian(level), choice), epsilon=epsilon, delta=delta)
    return (Gaussian(noise), choice)


def choose_noisily(
    candidates: Sequence[np.ndarray], notion: Notion, *, threat_model: str, planned: Events, mechanism: Mechanism
) -> int | None:
    """Return which of `candidates` (counts (k, l, l) on the same rows) has the smallest gap of `notion`, with noise.

    None where a group has fewer than 30 noisy rows to compare: the sizes have been released by then, and are counted
    by `mechanism`. `planned` is of `plan_choice`.
    """
    sizes, choice = planned
    if not isinstance(sizes, Gaussian) or not isinstance(choice, RandomizedResponse):
        raise BadInput("planned must come from plan_choice.")
    if not notion.is_of_means:
        raise BadInput(
            f"a noisy choice is by rates over groups that are the same for every run; {notion.title.lower()} has none.",
            field="metric",
        )
    exact = candidates[0].sum(axis=2)
    if not notion.conditions_among(exact.shape[1]):
        raise BadInput(format_undefined(notion, exact.shape[1]), field="by")
    noisy = mechanism.gaussian(
        exact.ravel().astype(np.float64),
        sensitivity=_SENSITIVITIES[threat_model],
        noise_multiplier=sizes.noise_multiplier,
        purpose="sizes",
        index=0,
    ).reshape(exact.shape)
    denominators = divide_by(noisy, notion)
    if denominators.min() < LEAST_ROWS:
        return None
    scores = np.array([-measure_gap(counts, notion, denominators) for counts in candidates])
    sensitivity = gap_sensitivity(denominators, threat_model) + _ROUNDING
    return mechanism.noisy_max(scores, sensitivity=sensitivity, epsilon=choice.epsilon, purpose="choice", index=0)


def divide_by(sizes: np.ndarray, notion: Notion) -> np.ndarray:
    """Return the denominators (conditions, k) of a notion's rates where group and label have `sizes` (k, l)."""
    counts: Any = np.zeros((*sizes.shape, sizes.shape[1]))
    counts[:, :, 0] = sizes
    return np.stack([sum_rate(rate, counts)[1] for rate in rates_of(notion, sizes.shape[1])])


def measure_gap(counts: np.ndarray, notion: Notion, denominators: np.ndarray) -> float:
    """Return the largest difference between two groups' rates over the given denominators (conditions, k)."""
    compared = rates_of(notion, counts.shape[-1])
    shares = [sum_rate(rate, counts)[0] / below for rate, below in zip(compared, denominators, strict=True)]
    return float(np.max([np.ptp(share) for share in shares]))


def gap_sensitivity(denominators: np.ndarray, threat_model: str) -> float:
    """Return how far one person moves a gap over fixed denominators (conditions, k)."""
    if threat_model == "record":
        return float((1.0 / denominators).max())
    pairs = [pair for below in denominators for pair in combinations(map(float, below), 2)]
    return max(1.0 / first + 1.0 / second for first, second in pairs)
