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
    known, labels = notions(), make(n=50).labels
    taken = [name for name in method.info.notions if labels == TWO or not known[name].needs_positive]
    return taken if make is make_rows or method.info.pursues_notion else taken[:1]


@dataclass(frozen=True)
class Recorded:
    """A fit, what it was on, and what it released."""

    data: Dataset
    releases: list[Release]
    fitted: Fitted


def record(method: Method, make: Make, notion: str) -> Recorded:
    """Return a fit on so many rows that each cell has those that it needs."""
    data = make(n=900, groups=3) if method.info.threat_model == "attribute" else make(n=300)
    mechanism = RecordingMechanism(0)
    (fitted,) = train(method, [data], [mechanism], notion=notion)
    return Recorded(data, mechanism.releases, fitted)


def check_releases(method: Method, recorded: Recorded) -> None:
    """A fit releases what was announced, and its model is finite and gives each label a probability."""
    data, fitted = recorded.data, recorded.fitted
    counted, announced = set(merge(fitted.events)), set(merge(method.event(data.n)))
    ask(counted == announced, f"event() announces {_list(announced)}, and the mechanism counted {_list(counted)}.")
    ask(fitted.steps > 0, f"Fitted.steps must be > 0, got {fitted.steps}.")
    ask(bool(np.isfinite(fitted.parameters).all()), "a parameter of the trained model is not finite.")
    allowed = method.info.needs_group_at_prediction or not fitted.network.needs_group
    ask(allowed, "predictions need the group, and info.needs_group_at_prediction does not say so.")
    by_group, needed = method.decides_by_group(), fitted.network.needs_group
    ask(by_group == needed, f"decides_by_group() is {by_group}, and whether predictions need the group is {needed}.")
    chances = predict_proba(fitted.network, fitted.parameters, data.X, data.group)
    ask(
        chances.shape == (data.n, data.labels) and np.allclose(chances.sum(axis=1), 1.0),
        f"predictions must be a probability of each of {data.labels} labels; got an array of shape {chances.shape}.",
    )
    if isinstance(shape := fitted.network, LayeredShape):
        outputs = 1 if method.info.max_labels == TWO else data.labels
        ask((shape.outputs, shape.labels) == (outputs, data.labels), f"the network must have {outputs} outputs.")


def check_single_epoch(method: Method) -> None:
    """A budget suffices for a single epoch, and what is released is then what was announced."""
    data = make_rows()
    changed: Any = method
    blank = dataclasses.replace(changed, epochs=1, **dict.fromkeys(list_noise(method)))
    once = blank.calibrated(epsilon=5.0, delta=DELTA, n_train=data.n)
    (fitted,) = train(once, [data], [RecordingMechanism(0)])
    announced, counted = set(merge(once.event(data.n))), set(merge(fitted.events))
    ask(counted == announced, f"in one epoch event() announces {_list(announced)}; counted is {_list(counted)}.")


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
        reached, least = epsilon(calibrated.event(_ROWS), DELTA), 0.99 * target
    else:
        claimed = calibrated.published_epsilon(_ROWS, DELTA)
        reached, least = (float("nan") if claimed is None else claimed), target * (1 - 1e-3)
    ask(
        least <= reached <= target,
        f"calibrated(epsilon={target:g}) must cost at most that and little less: {reached:g}.",
    )


def check_sensitivities_stated(method: Method) -> None:
    """Sensitivities are stated where something is hidden, and are positive numbers."""
    stated = method.sensitivities(_MANY, 2)
    private = method.info.threat_model is not None
    ask(bool(stated) == private, f"sensitivities() must name {'what is hidden' if private else 'nothing'}: {stated}.")
    good = all(np.isfinite(each) and each > 0 for each in stated.values())
    ask(good, f"sensitivities() must be finite numbers > 0, got {stated}.")


def check_large_batch(method: Method) -> None:
    """A batch larger than the data is refused."""
    changed: Any = method
    expected = "batch_size must be at most the 200 training rows, got 1000."
    _must_refuse(dataclasses.replace(changed, batch_size=1000), make_rows(), expected)


def check_many_labels(method: Method) -> None:
    """More labels than it takes are refused."""
    most = method.info.max_labels
    expected = f"method '{method.info.name}' takes at most {most} labels, and 'small' has 3."
    _must_refuse(method, make_three(), expected)


def check_together(method: Method, make: Make, notion: str | None = None) -> None:
    """Models that are trained together are those that are trained alone, and have released the same."""
    method, rows = _repeat(method, make, notion)
    datasets = [make(n=rows, seed=seed) for seed in range(3)]
    together = train(method, datasets, [RecordingMechanism(seed) for seed in range(3)], notion=notion)
    for seed in (0, 2):
        (alone,) = train(method, [datasets[seed]], [RecordingMechanism(seed)], notion=notion)
        joint = together[seed]
        apart = float(np.linalg.norm(alone.parameters - joint.parameters) / np.linalg.norm(alone.parameters))
        ask(apart <= _APART, f"a model trained with others lies {apart:.2g} from the same one trained alone.")
        ask(alone.events == joint.events, "a model trained with others released something else than alone.")


def check_resume(method: Method, make: Make, notion: str | None = None) -> None:
    """A resumed fit gives the same bits: from each checkpoint to the next, and from some of them to the end."""
    method, rows = _repeat(method, make, notion)
    data, watcher = make(n=rows), Watcher(frozenset(range(method.steps(rows) + 1)))
    chosen = notions()[notion or method.info.notions[0]]

    def fit(mechanism: Mechanism, watcher: Watcher | Unwatched, start: Checkpoint | None = None) -> Fitted:
        return method.fit(data, Training(chosen, 0, mechanism, watcher, start))

    whole = fit(Mechanism(Randomness.replay(5)), watcher)
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
        ended = fit(mechanism, Unwatched(), checkpoints[step])
        ask(_list_results(ended) == _list_results(whole), f"resumed from step {step}, a fit ends with other bits.")


def check_fresh_noise(method: Method) -> None:
    """The same public seed gives different noise, which does not go along with the first."""
    data = make_rows()
    mechanisms = [RecordingMechanism(seed) for seed in (0, 1)]
    train(method, [data, data], mechanisms)
    pairs = zip(mechanisms[0].releases, mechanisms[1].releases, strict=True)
    repeated = any(np.array_equal(one.out, other.out) for one, other in pairs if one.kind != CHOICE)
    ask(not repeated, "two runs of one public seed released the same: noise must come from the mechanism.")
    first, second = (_list_added(mechanism) for mechanism in mechanisms)
    if first.size:
        together = abs(float(np.corrcoef(first, second)[0, 1]))
        ask(together < 5 / np.sqrt(first.size), f"the noise of two runs goes together: correlation {together:.2f}.")


def check_replay(method: Method, make: Make, notion: str, recorded: Recorded) -> None:
    """All that leaves follows from the releases: with the protected values made garbage the same bits come out.

    Recorded releases are given out again, whatever goes in. Of a method that protects the attribute, the sensitive
    column is replaced; of one that protects records, every feature, label and group, but not the number of rows, nor
    features and groups of rows that it says are public.
    """
    whole, data = method.info.threat_model == "record", recorded.data
    column = np.random.default_rng(1).integers(0, data.groups, data.n)
    garbage = with_group(make(n=data.n, seed=9) if whole else data, column)  # groups of other sizes too
    public = method.public_rows(data.n, seed=0)
    if public is not None:
        garbage = dataclasses.replace(garbage, X=np.where(public[:, None], data.X, garbage.X))
        garbage = with_group(garbage, np.where(public, data.group, garbage.group))
    mechanism = RecordingMechanism(1, along=recorded.releases)
    (replayed,) = train(method, [garbage], [mechanism], notion=notion)
    what = "records" if whole else "the sensitive column"
    bounds = [[(one.bound, one.scale) for one in run] for run in (recorded.releases, mechanism.releases)]
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
    held = dataclasses.replace(data, present=present)
    other = dataclasses.replace(
        held,
        X=features,
        y=np.where(present, data.y, garbage.y),
        group=np.where(present, data.group, group),
        weight=None if data.weight is None else np.where(present, data.weight, scales),
    )
    mechanisms = [RecordingMechanism(3), RecordingMechanism(3)]
    left = [train(method, [each], [one], notion=notion)[0] for each, one in zip((held, other), mechanisms, strict=True)]
    for own, same in zip(*(mechanism.releases for mechanism in mechanisms), strict=True):
        alike = own.value.tobytes() == same.value.tobytes()
        ask(alike, f"a record without a group adds something to '{own.name or own.kind}'.")
    ask(
        _list_results(left[0]) == _list_results(left[1]),
        "something of a record without a group leaves beside the releases.",
    )


def check_groups(examples: Sequence[Method]) -> None:
    """Groups change what is trained where info.uses_groups says so, and nowhere else."""
    data = make_rows()
    other = with_group(data, np.random.default_rng(1).integers(0, 2, data.n))
    matter = []
    for method in examples:
        (one,), (another,) = (train(method, [each], [RecordingMechanism(3)]) for each in (data, other))
        matter.append(_list_results(one) != _list_results(another))
    uses_groups = examples[0].info.uses_groups
    does = "change" if any(matter) else "do not change"
    ask(any(matter) == uses_groups, f"info.uses_groups is {uses_groups}, and other groups {does} what is trained.")


def check_style(info: MethodInfo, others: Sequence[MethodInfo]) -> None:
    """No other method has its dash and marker, so that figures can tell it from them."""
    taken = {(other.style.dash, other.style.marker): other.name for other in others if other.name != info.name}
    mine = (info.style.dash, info.style.marker)
    ask(mine not in taken, f"method '{taken.get(mine)}' has the dash '{mine[0]}' and the marker '{mine[1]}' already.")


def check_bounds(method: Method, data: Dataset, notion: str) -> dict[str, float]:
    """One person moves no release by more than the mechanism is told; return the largest share of each release's bound.

    A run is replayed on data that differ in one person, or in everybody (audit/sensitivity.py). What bounds a release
    follows from what was released before; in a secret sum an absent person adds nothing, and people add up.
    """
    found = replay_others(
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
    for name, share in found.list_shares():
        ask(
            share <= 1.0 + _ROUNDING, f"one person adds {share:.2f} times as much to '{name}' as the mechanism is told."
        )
        shares[name] = max(share, shares.get(name, 0.0))
    ask(bool(shares), "nothing was released through the mechanism.")
    reference, *others = found.list_told()
    ask(all(other == reference for other in others), "what bounds a release follows from what is protected.")
    for nobody, together, apart in found.list_sums():
        ask(not nobody.value.any(), f"'{nobody.name or nobody.kind}' is not 0 where nobody is in the sample.")
        same = np.allclose(together.value, apart, atol=1e-5 * together.bound)
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

    whole = sum_first(data)
    if whole is None:
        return
    ask(float(np.linalg.norm(whole.value)) > 0.25 * rows * whole.bound, "rows that are alike do not add up.")
    for row in (0, rows // 3, rows - 1):
        for value, people in ((-3.0, 2.0), (float("nan"), 1.0 if nulled else 2.0)):
            other = sum_first(with_row(data, row, value))
            assert other is not None
            moved = float(np.linalg.norm(whole.value - other.value)) / whole.bound
            ask(other.bound == whole.bound, "what bounds a sum follows from what is protected.")
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


def _list_results(fitted: Fitted) -> tuple[object, ...]:
    """Return all that leaves a fit."""
    return fitted.parameters.tobytes(), fitted.network, fitted.notes, fitted.events, fitted.steps


def _list_added(mechanism: RecordingMechanism) -> np.ndarray:
    """Return what was added to each release, over its bound; what is answered or chosen at random adds nothing."""
    adds = [release for release in mechanism.releases if release.bound and release.kind != CHOICE]
    added = [(add.out.ravel() - add.value) / add.bound for add in adds]
    return np.concatenate(added) if added else np.empty(0)


def _list(events: set[Any]) -> str:
    return ", ".join(sorted(map(str, events))) or "nothing"
