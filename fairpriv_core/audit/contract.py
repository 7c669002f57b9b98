"""What every private or fair method must do, each part a function that ends in a sentence where a method breaks it.

The project's tests run these over its own catalogue, and `fairpriv check-plugin` over a method of another package: one
implementation, so that the two ask for the same. A part is tried on data that is made up (audit/trials.py); passing it
proves nothing of other data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from fairpriv_core.audit.attack import Train
from fairpriv_core.audit.observe import CHOICE, SUM, RecordingMechanism, Release
from fairpriv_core.audit.sensitivity import Noise, measure_noise, record_runs, replay_others
from fairpriv_core.audit.trials import (
    DELTA,
    Make,
    Watcher,
    make_alike,
    make_rows,
    make_three,
    train,
    with_everybody,
    with_group,
    with_row,
)
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.methods.base import FitsAlone, Method, MethodInfo, parameters
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.rates import TWO
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import merge
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

TARGETS = (0.5, 3.0)  # epsilons that calibration is asked for
_ROWS, _MANY = 2000, 10_000
_FEW = 120  # rows of a fit that is made again and again, in several batches an epoch
_CELL = 70  # rows for each cell of two groups, where a notion asks for so many of each label
_APART = 1e-4  # relative distance of a model that is trained with others from the same one alone
_ROUNDING = 1e-9
Checkpoint = Mapping[str, np.ndarray]
_BAD = (-1, float("nan"), 0)


class ContractBroken(FairprivError):
    """A method does not do what every method must."""


def ask(holds: bool, otherwise: str) -> None:
    """Raise ContractBroken with the sentence `otherwise` unless it `holds`."""
    if not holds:
        raise ContractBroken(otherwise)


def list_notions(method: Method, make: Make) -> list[str]:
    """Return the notions to try a method with: all that it takes of so many labels; off tables those it pursues."""
    catalogue, labels = notions(), make(n=50).labels
    names = [name for name in method.info.notions if labels == TWO or not catalogue[name].needs_positive]
    return names if make is make_rows or method.info.pursues_notion else names[:1]


@dataclass(frozen=True)
class RecordedFit:
    """A fit, what it was on, and what it released."""

    data: Dataset
    releases: list[Release]
    fitted: Fitted


def record(method: Method, make: Make, notion: str) -> RecordedFit:
    """Return a fit on so many rows that each cell has those that it needs."""
    data = make(n=900, groups=3) if method.info.threat_model == "attribute" else make(n=300)
    mechanism = RecordingMechanism(0)
    (fit,) = train(method, [data], [mechanism], notion=notion)
    return RecordedFit(data, mechanism.releases, fit)


def check_releases(method: Method, recorded: RecordedFit) -> None:
    """A fit releases what was announced, and its model is finite and gives each label a probability."""
    data, fit = recorded.data, recorded.fitted
    events, announced = set(merge(fit.events)), set(merge(method.event(data.n)))
    ask(events == announced, f"event() announces {_list(announced)}, and the mechanism counted {_list(events)}.")
    ask(fit.steps > 0, f"Fitted.steps must be > 0, got {fit.steps}.")
    ask(bool(np.isfinite(fit.parameters).all()), "a parameter of the trained model is not finite.")
    is_declared = method.info.needs_group_at_prediction or not fit.network.needs_group
    ask(is_declared, "predictions need the group, and info.needs_group_at_prediction does not say so.")
    by_group, needed = method.decides_by_group(), fit.network.needs_group
    ask(by_group == needed, f"decides_by_group() is {by_group}, and whether predictions need the group is {needed}.")
    chances = predict_proba(fit.network, fit.parameters, data.X, data.group)
    ask(
        chances.shape == (data.n, data.labels) and np.allclose(chances.sum(axis=1), 1.0),
        f"predictions must be a probability of each of {data.labels} labels; got an array of shape {chances.shape}.",
    )
    if isinstance(shape := fit.network, LayeredShape):
        outputs = 1 if method.info.max_labels == TWO else data.labels
        ask((shape.outputs, shape.labels) == (outputs, data.labels), f"the network must have {outputs} outputs.")


def check_single_epoch(method: Method) -> None:
    """A budget suffices for a single epoch, and what is released is then what was announced."""
    data = make_rows()
    changed: Any = method
    blank = dataclasses.replace(changed, epochs=1, **dict.fromkeys(list_noise(method)))
    once = blank.calibrated(epsilon=5.0, delta=DELTA, n_train=data.n)
    (fit,) = train(once, [data], [RecordingMechanism(0)])
    announced, events = set(merge(once.event(data.n))), set(merge(fit.events))
    ask(events == announced, f"in one epoch event() announces {_list(announced)}; counted is {_list(events)}.")


def check_settings(method: Method) -> None:
    """Hyper-parameters are declared, and one that is out of its range is refused when it is set."""
    changed: Any = method
    declared = set(parameters(method))
    fields = {item.name for item in dataclasses.fields(changed)}
    ask(declared == fields, f"fields must be declared by parameter(...): {', '.join(sorted(fields - declared))}.")
    for bad in _BAD if "learning_rate" in declared else ():
        try:
            dataclasses.replace(changed, learning_rate=bad)
        except BadInput as error:
            sentence = str(error)
            ask(
                "learning_rate must be" in sentence and f"got {bad}" in sentence,
                f"of learning_rate {bad} it says: {sentence}",
            )
        else:
            ask(False, f"learning_rate = {bad} is taken, and must be refused by BadInput.")


def check_calibration(method: Method, target: float) -> None:
    """Calibration meets its target, by the accounting of the variant."""
    changed: Any = method
    blank = dataclasses.replace(changed, **dict.fromkeys(list_noise(method)))
    calibrated = blank.calibrated(epsilon=target, delta=DELTA, n_train=_ROWS)
    if method.unproved_reason() is None:
        reached, lowest = epsilon(calibrated.event(_ROWS), DELTA), 0.99 * target
    else:
        claimed = calibrated.published_epsilon(_ROWS, DELTA)
        reached, lowest = (float("nan") if claimed is None else claimed), target * (1 - 1e-3)
    ask(
        lowest <= reached <= target,
        f"calibrated(epsilon={target:g}) must cost at most that and little less: {reached:g}.",
    )


def check_sensitivities_stated(method: Method) -> None:
    """Sensitivities are stated where something is hidden, and are positive numbers."""
    values = method.sensitivities(_MANY, 2)
    private = method.info.threat_model is not None
    ask(bool(values) == private, f"sensitivities() must name {'what is hidden' if private else 'nothing'}: {values}.")
    good = all(np.isfinite(value) and value > 0 for value in values.values())
    ask(good, f"sensitivities() must be finite numbers > 0, got {values}.")


def check_large_batch(method: Method) -> None:
    """A batch larger than the data is refused."""
    changed: Any = method
    expected = "batch_size must be at most the 200 training rows, got 1000."
    _must_refuse(dataclasses.replace(changed, batch_size=1000), make_rows(), expected)


def check_many_labels(method: Method) -> None:
    """More labels than it takes are refused."""
    limit = method.info.max_labels
    expected = f"method '{method.info.name}' takes at most {limit} labels, and 'small' has 3."
    _must_refuse(method, make_three(), expected)


def check_together(method: Method, make: Make, notion: str | None = None) -> None:
    """Models that are trained together are those that are trained alone, and have released the same."""
    method, rows = _repeat(method, make, notion)
    datasets = [make(n=rows, seed=seed) for seed in range(3)]
    together = train(method, datasets, [RecordingMechanism(seed) for seed in range(3)], notion=notion)
    for seed in (0, 2):
        (alone,) = train(method, [datasets[seed]], [RecordingMechanism(seed)], notion=notion)
        joint = together[seed]
        distance = float(np.linalg.norm(alone.parameters - joint.parameters) / np.linalg.norm(alone.parameters))
        ask(distance <= _APART, f"a model trained with others lies {distance:.2g} from the same one trained alone.")
        ask(alone.events == joint.events, "a model trained with others released something else than alone.")


def check_resume(method: Method, make: Make, notion: str | None = None) -> None:
    """A resumed fit gives the same bits: from each checkpoint to the next, and from some of them to the end."""
    method, rows = _repeat(method, make, notion)
    data, watcher = make(n=rows), Watcher(frozenset(range(method.steps(rows) + 1)))
    pursued = notions()[notion or method.info.notions[0]]

    def fit(mechanism: Mechanism, watcher: Watcher | Unwatched, start: Checkpoint | None = None) -> Fitted:
        return method.fit(data, Training(pursued, 0, mechanism, watcher, start))

    straight = fit(Mechanism(Randomness.replay(5)), watcher)
    checkpoints = watcher.checkpoints
    ask(bool(checkpoints), "a fit must hand its observer a checkpoint; it committed none.")
    for step, following in pairwise(checkpoints):
        resumed = Watcher(frozenset({following}), stop_at=following)
        try:
            fit(Mechanism.from_state(checkpoints[step]), resumed, checkpoints[step])
        except InterruptedError:
            pass
        else:
            ask(False, f"a fit that goes on from step {step} must come to step {following}, and did not.")
        for name, value in checkpoints[following].items():
            same = resumed.checkpoints[following][name].tobytes() == value.tobytes()
            ask(same, f"resumed from step {step}, '{name}' has other bits at step {following}.")
    for step in sorted({*list(checkpoints)[::5], max(checkpoints)}):
        mechanism = Mechanism.from_state(checkpoints[step])
        end = fit(mechanism, Unwatched(), checkpoints[step])
        ask(_list_results(end) == _list_results(straight), f"resumed from step {step}, a fit ends with other bits.")


def check_fresh_noise(method: Method) -> None:
    """The same public seed gives different noise, which does not go along with the first."""
    data = make_rows()
    mechanisms = [RecordingMechanism(seed) for seed in (0, 1)]
    train(method, [data, data], mechanisms)
    pairs = zip(mechanisms[0].releases, mechanisms[1].releases, strict=True)
    repeated = any(np.array_equal(a.out, b.out) for a, b in pairs if a.kind != CHOICE)
    ask(not repeated, "two runs of one public seed released the same: noise must come from the mechanism.")
    first, second = (_list_added(mechanism) for mechanism in mechanisms)
    if first.size:
        together = abs(float(np.corrcoef(first, second)[0, 1]))
        ask(together < 5 / np.sqrt(first.size), f"the noise of two runs goes together: correlation {together:.2f}.")


def check_replay(method: Method, make: Make, notion: str, recorded: RecordedFit) -> None:
    """All that leaves follows from the releases: with the protected values made garbage the same bits come out.

    Recorded releases are given out again, whatever goes in. Of a method that protects the attribute, the sensitive
    column is replaced; of one that protects records, every feature, label and group, but not the number of rows, nor
    features and groups of rows that it says are public.
    """
    is_record, data = method.info.threat_model == "record", recorded.data
    column = np.random.default_rng(1).integers(0, data.groups, data.n)
    garbage = with_group(make(n=data.n, seed=9) if is_record else data, column)  # groups of other sizes too
    public = method.public_rows(data.n, seed=0)
    if public is not None:
        garbage = dataclasses.replace(garbage, X=np.where(public[:, None], data.X, garbage.X))
        garbage = with_group(garbage, np.where(public, data.group, garbage.group))
    mechanism = RecordingMechanism(1, along=recorded.releases)
    (replayed,) = train(method, [garbage], [mechanism], notion=notion)
    what = "records" if is_record else "the sensitive column"
    bounds = [[(release.bound, release.scale) for release in run] for run in (recorded.releases, mechanism.releases)]
    ask(bounds[0] == bounds[1], f"what bounds a release follows from {what}.")
    same = _list_results(recorded.fitted) == _list_results(replayed)
    ask(same, f"something of {what} leaves beside the releases: with garbage in place the model or its notes differ.")


def check_nulls(method: Method, make: Make, notion: str) -> None:
    """A record without a label or a group keeps its place and adds nothing to any release, whatever else it holds."""
    data, garbage = make(n=300), make(n=300, seed=9)
    draw = np.random.default_rng(2)
    present = draw.random(data.n) < 0.8
    scales = np.where(draw.random(data.n) < 0.5, np.nan, 60.0).astype(np.float32)
    features = np.where(present[:, None], data.X, garbage.X * scales[:, None])
    group = draw.integers(0, data.groups, data.n)
    with_nulls = dataclasses.replace(data, present=present)
    with_garbage = dataclasses.replace(
        with_nulls,
        X=features,
        y=np.where(present, data.y, garbage.y),
        group=np.where(present, data.group, group),
        weight=None if data.weight is None else np.where(present, data.weight, scales),
    )
    mechanisms = [RecordingMechanism(3), RecordingMechanism(3)]
    pairs = zip((with_nulls, with_garbage), mechanisms, strict=True)
    fits = [train(method, [dataset], [mechanism], notion=notion)[0] for dataset, mechanism in pairs]
    for own, other in zip(*(mechanism.releases for mechanism in mechanisms), strict=True):
        same = own.value.tobytes() == other.value.tobytes()
        ask(same, f"a record without a group adds something to '{own.name or own.kind}'.")
    same = _list_results(fits[0]) == _list_results(fits[1])
    ask(same, "something of a record without a group leaves beside the releases.")


def check_groups(examples: Sequence[Method]) -> None:
    """Groups change what is trained where info.uses_groups says so, and nowhere else."""
    data = make_rows()
    regrouped = with_group(data, np.random.default_rng(1).integers(0, 2, data.n))
    matter = []
    for method in examples:
        (first,), (second,) = (train(method, [dataset], [RecordingMechanism(3)]) for dataset in (data, regrouped))
        matter.append(_list_results(first) != _list_results(second))
    uses_groups = examples[0].info.uses_groups
    does = "change" if any(matter) else "do not change"
    ask(any(matter) == uses_groups, f"info.uses_groups is {uses_groups}, and other groups {does} what is trained.")


def check_style(info: MethodInfo, others: Sequence[MethodInfo]) -> None:
    """No other method has its dash and marker, so that figures can tell it from them."""
    names = {(other.style.dash, other.style.marker): other.name for other in others if other.name != info.name}
    mine = (info.style.dash, info.style.marker)
    ask(mine not in names, f"method '{names.get(mine)}' has the dash '{mine[0]}' and the marker '{mine[1]}' already.")


def check_bounds(method: Method, data: Dataset, notion: str) -> dict[str, float]:
    """One person moves no release by more than the mechanism is told; return the largest share of each release's bound.

    A run is replayed on data that differ in one person, or in everybody (audit/sensitivity.py). What bounds a release
    follows from what was released before; in a secret sum an absent person adds nothing, and people add up.
    """
    replays = replay_others(
        Train(
            lambda datasets, mechanisms: train(method, datasets, mechanisms, notion=notion),
            isinstance(method, FitsAlone),
        ),
        data,
        whole_record=method.info.threat_model == "record",
        seed=0,
        public=method.public_rows(data.n, seed=0),
    )
    shares: dict[str, float] = {}
    for name, share in replays.list_shares():
        ask(
            share <= 1.0 + _ROUNDING, f"one person adds {share:.2f} times as much to '{name}' as the mechanism is told."
        )
        shares[name] = max(share, shares.get(name, 0.0))
    ask(bool(shares), "nothing was released through the mechanism.")
    reference, *bounds = replays.list_bounds()
    ask(all(run_bounds == reference for run_bounds in bounds), "what bounds a release follows from what is protected.")
    for nobody, together, parts in replays.list_sums():
        ask(not nobody.value.any(), f"'{nobody.name or nobody.kind}' is not 0 where nobody is in the sample.")
        same = np.allclose(together.value, parts, atol=1e-5 * together.bound)
        ask(same, f"'{nobody.name or nobody.kind}' of three people is not the sum of what each of them adds.")
    return shares


def check_rounding(method: Method, *, rows: int, models: int = 1, nulled: bool = True) -> None:
    """A row moves a sum over all `rows` by no more than the mechanism is told, whatever rounding adds.

    It is replaced, and `nulled` in place, among rows whose contributions point the same way (privacy/sums.py). A method
    that counts a row without a gradient nulls none by that; one that releases no sum has none to lose rows of.
    """
    method, data = with_everybody(method, rows), make_alike(rows)

    def sum_first(changed: Dataset) -> Release | None:
        mechanisms = [RecordingMechanism(seed) for seed in range(models)]
        train(method, [changed] * models, mechanisms)
        return next((release for release in mechanisms[-1].releases if release.kind == SUM), None)

    total = sum_first(data)
    if total is None:
        return
    ask(float(np.linalg.norm(total.value)) > 0.25 * rows * total.bound, "rows that are alike do not add up.")
    for row in (0, rows // 3, rows - 1):
        for value, people in ((-3.0, 2.0), (float("nan"), 1.0 if nulled else 2.0)):
            moved_total = sum_first(with_row(data, row, value))
            assert moved_total is not None
            moved = float(np.linalg.norm(total.value - moved_total.value)) / total.bound
            ask(moved_total.bound == total.bound, "what bounds a sum follows from what is protected.")
            ask(moved <= people, f"of {rows} rows one moves the sum by {moved:.4f} times what the mechanism is told.")


def check_noise(train: Train, data: Dataset, *, runs: int, seed: int) -> Noise | None:
    """The noise in what is released is as large as what is counted; return it, None where none is added."""
    noise = measure_noise(record_runs(train, data, runs=runs, seed=seed))
    if noise is not None:
        sentence = f"the noise is {noise.deviation:.3f} times what is counted ({noise.low:.3f} to {noise.high:.3f})."
        ask(noise.low <= 1.0 <= noise.high, sentence)
    return noise


def list_noise(method: Method) -> Iterator[str]:
    """Yield the fields that calibration may set."""
    yield from (
        parameter
        for parameter in parameters(method)
        if parameter.startswith("noise_") or parameter == method.info.calibrates
    )


def _repeat(method: Method, make: Make, notion: str | None) -> tuple[Method, int]:
    """Return how a fit is made again and again, and on how many rows: as many steps where its cells need more rows."""
    labels = make(n=50).labels
    if notions()[notion or method.info.notions[0]].conditions_among(labels) == (None,):
        return method, _FEW
    rows, changed = 2 * labels * _CELL, cast(Any, method)
    batch = getattr(method, "batch_size", None)
    return (method if batch is None else dataclasses.replace(changed, batch_size=batch * rows // _FEW)), rows


def _must_refuse(method: Method, data: Dataset, expected: str) -> None:
    try:
        train(method, [data], [RecordingMechanism(0)])
    except BadInput as error:
        ask(str(error) == expected, f"the refusal must say '{expected}' and says '{error}'.")
    else:
        ask(False, f"a fit must end in BadInput '{expected}', and it trained.")


def _list_results(fit: Fitted) -> tuple[object, ...]:
    """Return all that leaves a fit."""
    return fit.parameters.tobytes(), fit.network, fit.notes, fit.events, fit.steps


def _list_added(mechanism: RecordingMechanism) -> np.ndarray:
    """Return what was added to each release, over its bound; what is answered or chosen at random adds nothing."""
    adds = [release for release in mechanism.releases if release.bound and release.kind != CHOICE]
    added = [(add.out.ravel() - add.value) / add.bound for add in adds]
    return np.concatenate(added) if added else np.empty(0)


def _list(events: set[Any]) -> str:
    return ", ".join(sorted(map(str, events))) or "nothing"
