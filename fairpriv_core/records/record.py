"""What a run leaves behind: JSON only, complete enough to repeat it and to recompute its epsilon.

A record states epsilon with what it covers, or the reason why there is none, and the versions that it depends on.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import metadata
from typing import Any, Literal, TypedDict

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.roles import Groups
from fairpriv_core.data.schema import read_schema
from fairpriv_core.engine.modules import ModuleShape, hash_sources, is_module
from fairpriv_core.engine.networks import count_known
from fairpriv_core.engine.training import CPU, find_device
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import find_plugin, name_accounting, why_unproved
from fairpriv_core.methods.fields import network_of
from fairpriv_core.methods.shared.votes import Votes
from fairpriv_core.notions.metrics import violation
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.accountants import epsilon as proved_epsilon
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import EventJson, Events, Gaussian, Parallel
from fairpriv_core.privacy.explain import warn_of_delta
from fairpriv_core.records.config import RunConfig, build_shape
from fairpriv_core.records.forecast import (
    format_little_signal,
    format_much_noise,
    measure_noise,
    measure_signal,
)
from fairpriv_core.records.paid import price_schema
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.records.source import ConfigJson, find_answers, is_published, name_unit, without_folders
from fairpriv_core.text import drop_folders
from fairpriv_core.warnings import FairprivWarning, PrivacyWarning, TrainingWarning

SPLIT_ASSUMED = (
    "The private evaluation is on test rows and training on the others. Which rows are which is assumed public, and "
    "epsilon is the larger of the two costs."
)
RAW = "Raw, for the analyst: computed on protected data without noise and not covered by ε. Do not publish."
#: below a list of runs without a page's room
RAW_OF_OWN = (
    "gaps of your own rows are raw, and accuracy too unless epsilon takes features and labels as public: for the "
    "analyst, do not publish"
)
RAW_BUT_ACCURACY = (
    "Gaps and groups' rates are raw, for the analyst: computed on protected data without noise and not covered by ε. "
    "Do not publish them. Accuracy may be published: it follows from the released model and from features and labels, "
    "which ε takes as public."
)
ANSWERED = (
    "Accuracy may be published: it follows from the released model and from features and labels, which ε takes as "
    "public. Nobody's group is known, so there is no raw gap: metrics_private has what randomised answers tell."
)
SHARED_SAMPLES_ASSUMED = (
    "The run's secret samples are also those of other runs of its sweep: epsilon is of this run alone, and of several "
    "that are released much more (see the ledger)."
)
_IN_BRIEF = (
    "threat_model",
    "variant",
    "epsilon",
    "epsilon_published",
    "epsilon_reason",
    "epsilon_if_secret",
    "delta",
    "seconds",
)
CHOICE = "choice"  # under this name a record's notes say among how many its run was chosen, and what covers them all
CERTIFICATE_OF_CHOSEN = (
    "The certificate of this run was withdrawn: the run was chosen by numbers of the very test rows that it rests on."
)
PLANNED_SENTENCE = (
    "The run was stopped by hand while raw curves could be watched: epsilon and event are those of its planned length."
)
FAILED_SENTENCE = "The run broke off by itself: epsilon and event are those planned; the ledger counts what left."
#: of a person's own network; its name goes in
NETWORK_ASSUMED = (
    "Network {} gives each record an output and a gradient that depend on that record alone, and breaks off on none, "
    "which was tried on made-up rows; the parameters that it was built with are public."
)
_LIBRARIES = ("fairpriv", "numpy", "torch", "opacus", "scikit-learn", "dp-accounting", "randomgen")


def plan_evaluation(config: RunConfig, method: Method, n_train: int) -> Events:
    """Return what the evaluation of a run of `method` (calibrated) will release; () where none is made.

    One is made where it is asked for, and where the method certifies the exported model from it. Its noise meets the
    run's epsilon, what a paid schema costs included, or, where noise is set by hand, training's proved epsilon. Raises
    BadInput where that one is not finite and an evaluation is asked for.
    """
    if not config.private_evaluation and certified_failure(method) is None:
        return ()
    target, price = config.epsilon, price_schema(config.to_json(), method.info.threat_model)
    if target is None:
        events = (*price, *method.event(n_train))
        target = math.inf if why_unproved(method) else proved_epsilon(events, config.delta)
    if not 0 < target < math.inf:
        if not config.private_evaluation:
            return ()
        raise BadInput(
            f"private_evaluation takes its noise from a finite epsilon > 0, and this run's is {target:g}; set epsilon.",
            field="private_evaluation",
        )
    noise = calibrate(lambda level: (*price, Gaussian(level)), epsilon=target, delta=config.delta)
    return (Gaussian(noise),)


def announce_training(config: RunConfig, method: Method, n_train: int) -> Events:
    """Return what training of `method` (calibrated) will release: nothing more where it reads randomised answers."""
    return () if find_answers(config.data.to_json()) is not None else method.event(n_train)


def certified_failure(method: Method) -> float | None:
    """Return the chance that the certificate of a run of `method` may fail with; None where it makes none."""
    return getattr(method, "certified_failure", None) if method.info.certifies else None


def with_evaluation(training: Events, evaluation: Events) -> Events:
    """Return what a run releases in all: the two are on disjoint rows, which nothing protected decides."""
    return (Parallel((training, evaluation), fixed=True),) if evaluation else training


class DataFacts(TypedDict, total=False):
    """What a record says of the data of its run; one that is planned has its columns alone."""

    name: str
    sensitive: str
    sensitive_columns: list[str]
    digest: str
    n_train: int
    n_test: int
    features: int
    image: list[int]
    columns: list[str] | None
    group_names: list[str]
    label_names: list[str]
    caveats: list[str]


@dataclass(frozen=True)
class RunRecord:
    """One run. Shares and gaps are in [0, 1]; what is undefined is None and a reason stands beside it.

    Attributes:
        key, status: the run's name in its store; "running", "finished", "failed" or "cancelled".
        config: `RunConfig.to_json()`; with it the run can be repeated.
        threat_model, variant: what epsilon protects and how it was accounted; None for a method that is not private.
        epsilon: proved, by privacy loss distributions, of `event`; None with `epsilon_reason`.
        epsilon_published: what the paper's own accounting claims for the same noise, rate and steps; of a method of
            another package what its author claims.
        author: the package, with its version, that such a method comes from; None for the project's own.
        epsilon_if_secret: in replay mode, what epsilon would be had the noise been secret.
        event: what epsilon accounts for, a paid schema included.
        released: what the mechanism counted (less, if the run was cut short).
        calibrated: the method as it ran, noise multipliers included.
        steps: made; `seconds`: spent training in all attempts, of runs that train together an equal share each;
            `resumed_from_step`: 0 if never interrupted.
        metrics: of `notions/metrics.py` on the test split; None unless finished. `metrics_are_raw` and its sentence.
        metrics_private: of `notions/noisy.py`, from noisy counts that epsilon covers; None unless asked for, or needed
            for a certificate.
        data: name, rows, columns, names, caveats, of a benchmark its digest. `notes`: what the method exports besides
            its model.
        left_out: of a person's file how many rows were not used for which reason; raw, in no export for policy.
    """

    key: str
    status: str
    config: ConfigJson
    threat_model: Literal["attribute", "record"] | None
    variant: str | None
    epsilon: float | None
    epsilon_published: float | None
    epsilon_reason: str | None
    epsilon_if_secret: float | None
    delta: float
    event: list[EventJson]
    released: list[EventJson]
    assumptions: tuple[str, ...]
    calibrated: Mapping[str, Any]
    data: DataFacts
    versions: Mapping[str, str]
    steps: int = 0
    seconds: float = 0.0
    resumed_from_step: int = 0
    metrics: Mapping[str, Any] | None = None
    metrics_are_raw: bool = True
    metrics_note: str = RAW
    metrics_private: Mapping[str, Any] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    author: str | None = None

    @property
    def is_covered(self) -> bool:
        """Whether a proved ε stands for the run: without one nothing that depends on protected values is covered."""
        return self.threat_model is not None and self.epsilon is not None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        plain = asdict(self)
        return {**plain, "assumptions": list(self.assumptions), "warnings": list(self.warnings)}

    @property
    def gap(self) -> float | None:
        """The gap of the run's own notion; where groups are randomised answers their estimate. None without one."""
        metrics = self.metrics if find_answers(self.config["data"]) is None else self.metrics_private
        return None if metrics is None else violation(self.config["notion"], metrics)

    def to_document(self) -> dict[str, Any]:
        """Return what leaves the store: as `to_json`, with a person's file, and every other path, by its name alone."""
        error = None if self.error is None else drop_folders(self.error, self.config["data"].get("file"))
        return {**self.to_json(), "config": without_folders(self.config), "error": error}

    def to_brief(self) -> dict[str, object] | None:
        """Return what tables and charts over thousands of runs need, as JSON; None unless finished.

        `metrics` keeps the single numbers of the whole test split: accuracies, rates, gaps, inequality indices; where
        groups are randomised answers, `metrics_private` its own notion's gap with the interval. Key and config are left
        out: the store's row has them.
        """
        if self.status != "finished":
            return None
        metrics = self.metrics or {}
        single = {name: value for name, value in metrics.items() if not isinstance(value, (Mapping, list))}
        brief = {**{name: getattr(self, name) for name in _IN_BRIEF}, "metrics": single}
        if find_answers(self.config["data"]) is not None and self.metrics_private is not None:
            gap = f"{self.config['notion']}_gap"
            interval = {name: self.metrics_private.get(name) for name in (gap, f"{gap}_interval")}
            brief["metrics_private"] = interval
        return brief

    def to_text(self) -> str:
        """Return the JSON document that commands print and export."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> RunRecord:
        """Return the record that `to_json` wrote; digests of rows that are nobody's but the person's stay behind."""
        values = {item.name: plain[item.name] for item in fields(RunRecord) if item.name in plain}
        if values["data"].get("digest") and not is_published(values["config"]["data"]):
            values["data"] = {**values["data"], "digest": ""}
        lists = {"assumptions": tuple(plain["assumptions"]), "warnings": tuple(plain["warnings"])}
        return RunRecord(**{**values, **lists})


def draft_record(
    *, key: str, config: RunConfig, method: Method, train: Dataset, test: Dataset, evaluation: Events = ()
) -> RunRecord:
    """Return the record of a run that is about to train `method` (calibrated): its event is the announced one.

    `evaluation` is what its private evaluation will release on the test rows.
    """
    assumed = (*train.assumptions.get(method.info.threat_model or "", ()), *_assume_of_network(method))
    if config.share_samples:
        assumed = (*assumed, SHARED_SAMPLES_ASSUMED)
    device = {} if find_device() == CPU else {"device": find_device()}
    draft = RunRecord(
        key=key,
        status="running",
        config=config.to_json(),
        threat_model=method.info.threat_model,
        variant=name_accounting(method),
        epsilon=None,
        epsilon_published=published_epsilon(method, train.n, config.delta),
        epsilon_reason=None,
        epsilon_if_secret=None,
        delta=config.delta,
        event=[],
        released=[],
        assumptions=(*assumed, *method.assumptions(), *((SPLIT_ASSUMED,) if evaluation else ())),
        calibrated=method_to_json(method),
        data=_summarise_data(config, train, test),
        left_out=dict(train.left_out),
        versions={**library_versions(), **name_plugin(method), **name_sources(network_of(method)), **device},
        warnings=tuple(map(str, list_warnings(config, method, train))),
        author=name_author(method),
    )
    return _state(draft, method, with_evaluation(announce_training(config, method, train.n), evaluation))


def finished_record(
    draft: RunRecord, method: Method, *, events: Events, metrics: Mapping[str, Any] | None, **rest: Any
) -> RunRecord:
    """Return the record of a run that came to its end; `events` is what the mechanism counted."""
    draft = _state(draft, method, events)
    public = accuracy_is_public(draft.threat_model, draft.epsilon, uses_group=method.info.needs_group_at_prediction)
    answered = find_answers(draft.config["data"]) is not None
    note = ANSWERED if answered else RAW_BUT_ACCURACY if public else RAW
    released = events_of.to_json(events)
    record = replace(draft, metrics=metrics, metrics_are_raw=not answered, metrics_note=note)
    return replace(record, status="finished", released=released, **rest)


def failed_record(draft: RunRecord, *, released: Events, error: str, **spent: Any) -> RunRecord:
    """Return the record of a run that broke off by itself: where it did depends on the data, so it states its plan.

    `released` is what ledgers and caps count.
    """
    counts = events_of.to_json(released)
    warnings = (*draft.warnings, FAILED_SENTENCE) if draft.event else draft.warnings
    return replace(draft, status="failed", released=counts, error=error, warnings=warnings, **spent)


def cancelled_record(draft: RunRecord, *, released: Events, steps: int, seconds: float) -> RunRecord:
    """Return the record of a run that a person stopped: `draft` already states the planned length's epsilon."""
    counts = events_of.to_json(released)
    warnings = (*draft.warnings, PLANNED_SENTENCE) if draft.event else draft.warnings
    return replace(draft, status="cancelled", released=counts, steps=steps, seconds=seconds, warnings=warnings)


def evaluated_record(record: RunRecord, evaluation: Events, numbers: Mapping[str, object]) -> RunRecord:
    """Return the record of a finished run with the private evaluation that was made later; it released `evaluation`."""
    released = with_evaluation(events_of.from_json(record.released), evaluation)
    statement = _state(record, method_of(record), released)
    assumed = (*record.assumptions, SPLIT_ASSUMED)
    return replace(statement, released=events_of.to_json(released), metrics_private=numbers, assumptions=assumed)


def withdrawn_record(record: RunRecord, reason: str) -> RunRecord:
    """Return the record of a run that was chosen by raw numbers: no epsilon is proved for it any more."""
    notes = _withdraw_certificates(record.notes)
    return replace(record, epsilon=None, epsilon_reason=reason, metrics_note=RAW, notes=notes)


def chosen_record(record: RunRecord, cost: str) -> RunRecord:
    """Return the record of a run that was chosen by released or noisy numbers; `cost` is what that has cost."""
    notes = _withdraw_certificates(record.notes)
    return replace(record, notes={**notes, CHOICE: cost})


def accuracy_is_public(threat_model: str | None, epsilon: float | None, *, uses_group: bool) -> bool:
    """Return whether a run's exact accuracy follows from its released model and from what its ε takes as public.

    It does where only the sensitive attribute is protected and predictions do not use it (`uses_group`): features and
    labels are public there. Gaps and groups' rates never do. Without a proved `epsilon` nothing is covered.
    """
    return threat_model == "attribute" and epsilon is not None and not uses_group


def _withdraw_certificates(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record's notes with its certificates withdrawn, once; what they stated is kept."""
    certificates = notes.get("certificates")
    if not certificates or "withdrawn" in certificates:
        return notes
    return {**notes, "certificates": {"withdrawn": CERTIFICATE_OF_CHOSEN, "stated": certificates}}


def method_of(record: RunRecord) -> Method:
    """Return the method as it ran, noise multipliers included."""
    return read_method(record.calibrated)


def _state(record: RunRecord, method: Method, events: Events) -> RunRecord:
    """Return `record` with `events`, and what its schema cost, as its event; and what may be said about its epsilon."""
    events = (*price_schema(record.config, record.threat_model), *events)
    statement = state_epsilon(method, events, delta=record.delta, replay_noise=record.config["replay_noise"])
    return replace(record, event=events_of.to_json(events), **asdict(statement))


def _summarise_data(config: RunConfig, train: Dataset, test: Dataset) -> DataFacts:
    facts: DataFacts = {
        "name": train.name,
        "sensitive": train.sensitive,
        "sensitive_columns": list_sensitive_columns(train),
        "digest": train.digest if is_published(config.data.to_json()) else "",
        "n_train": train.n,
        "n_test": test.n,
        "features": train.d,
        "columns": list_columns(train),
        "group_names": list(train.group_names),
        "label_names": list(train.label_names),
        "caveats": list(train.caveats),
    }
    return facts if train.image is None else {**facts, "image": list(train.image)}


def list_sensitive_columns(train: Dataset) -> list[str]:
    """Return the columns that the groups are made of, as they were found in the data; [] where they are in memory."""
    return [grouping.column for grouping in Groups.from_json(train.grouping).groupings] if train.grouping else []


def list_columns(train: Dataset) -> list[str] | None:
    """Return the columns that the features are made of, "pixels" for images; None where they were made before."""
    if train.image is not None:
        return ["pixels"]
    return [column.name for column in read_schema(train.encoder)] if train.encoder else None


def _assume_of_network(method: Method) -> tuple[str, ...]:
    """Return what an epsilon takes as given of a person's own network."""
    network = network_of(method)
    private = method.info.threat_model is not None
    return (NETWORK_ASSUMED.format(network),) if private and is_module(network) else ()


def name_sources(network: str) -> dict[str, str]:
    """Return a SHA-256 of the sources of a person's own network.

    {} for the project's own; BadInput where its package is not installed.
    """
    return {"network": hash_sources(network)} if is_module(network) else {}


def name_plugin(method: Method) -> dict[str, str]:
    """Return the package, with its version, of a method that is not the project's own, and a SHA-256 of its sources.

    {} for one of the project's own.
    """
    plugin = find_plugin(method.info.name)
    return {} if plugin is None else {"plug-in": plugin.package, "plug-in sources": hash_sources(plugin.reference)}


def list_warnings(config: RunConfig, method: Method, train: Dataset) -> list[FairprivWarning]:
    """Return what settings and the number of rows alone warn of before a run of `method` (calibrated)."""
    private, size = method.info.threat_model is not None, count_known(build_shape(method, train))
    sentences = [
        (TrainingWarning, method.idle_reason()),
        (PrivacyWarning, warn_of_delta(config.delta, train.n) if private else None),
        (TrainingWarning, forecast(config, method, n_train=train.n, groups=train.groups, parameters=size)),
    ]
    return [kind(sentence) for kind, sentence in sentences if sentence is not None]


def doubt_network(method: Method, train: Dataset) -> list[FairprivWarning]:
    """Return what is likely wrong with the network that `method` trains; it opens one of a person's own."""
    shape = build_shape(method, train)
    doubt = shape.doubt if isinstance(shape, ModuleShape) else None
    return [] if doubt is None else [TrainingWarning(doubt)]


def forecast(config: RunConfig, method: Method, *, n_train: int, groups: int, parameters: int | None) -> str | None:
    """Return a sentence where a run of `method` (calibrated) can learn next to nothing, else None.

    None, too, where the run uses an earlier release, where the number of parameters is not known, and for votes: single
    answers may be noise, and `Votes.require_possible` refuses where all of them are.
    """
    if config.reuse is not None or method.info.threat_model is None or isinstance(method, Votes):
        return None
    events = method.event(n_train)
    if method.info.threat_model == "attribute":
        noise = measure_noise(events, n_train=n_train, groups=groups)
        unit = name_unit(config.data.to_json())
        return format_much_noise(noise, n_train=n_train, groups=groups, unit=unit, epsilon=config.epsilon)
    if parameters is None:
        return None
    signal = measure_signal(events, n_train=n_train, parameters=parameters)
    return format_little_signal(signal, n_train=n_train, epsilon=config.epsilon, delta=config.delta)


@dataclass(frozen=True)
class Statement:
    """Either `epsilon`, or None with `epsilon_reason`; `epsilon_if_secret` has the value of a replayed run."""

    epsilon: float | None = None
    epsilon_reason: str | None = None
    epsilon_if_secret: float | None = None


def state_epsilon(method: Method, events: Events, *, delta: float, replay_noise: int | None = None) -> Statement:
    """Return what holds for `method` having released `events`, by privacy loss distributions."""
    if method.info.threat_model is None:
        return Statement(epsilon_reason=f"Method '{method.info.name}' is not private: it adds no noise.")
    unproved = why_unproved(method)
    if unproved is not None:
        return Statement(epsilon_reason=unproved)
    value = proved_epsilon(events, delta) if events else 0.0
    if not math.isfinite(value):
        return Statement(epsilon_reason="No finite epsilon is proved for what is released: it has next to no noise.")
    if replay_noise is not None:
        reason = f"The noise can be repeated from replay_noise = {replay_noise}, so it protects nobody."
        return Statement(epsilon_reason=reason, epsilon_if_secret=value)
    return Statement(epsilon=value)


def name_author(method: Method) -> str | None:
    """Return the package, with its version, that a method comes from; None for one of the project's own."""
    plugin = find_plugin(method.info.name)
    return None if plugin is None else plugin.package


def published_epsilon(method: Method, n_train: int, delta: float) -> float | None:
    """Return what the paper's own accounting claims; None where it claims nothing finite.

    Of another package's method that has no reason against it: what is proved of the releases that it announces, were
    their bounds what its author says.
    """
    if name_author(method) is not None and method.unproved_reason() is None and method.info.threat_model is not None:
        claim: float | None = proved_epsilon(method.event(n_train), delta)
    else:
        claim = method.published_epsilon(n_train, delta)
    return claim if claim is not None and math.isfinite(claim) else None


@cache
def library_versions() -> Mapping[str, str]:
    """Return name -> version of Python and of the libraries that numbers come from."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
