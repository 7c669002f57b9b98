"""What there is to tell of a finished run, read from its record once; and the part of it that an audience may see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Literal, overload

from fairpriv_core.data.catalog import problems
from fairpriv_core.facts.certificates import format_bounds, format_certificates
from fairpriv_core.facts.epsilon import EpsilonFacts, read_epsilon_facts
from fairpriv_core.facts.measures import Fact, K, Measures, Open, find_kinds
from fairpriv_core.facts.tables import Outcome, read_outcome
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion, explain
from fairpriv_core.plain import Json, write_toml
from fairpriv_core.records.audit import ShownAudit
from fairpriv_core.records.parameters import format_group_needed
from fairpriv_core.records.record import RAW, RAW_BUT_ACCURACY, RunRecord, accuracy_is_public
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import ConfigJson, find_answers, is_published, name_unit

Audience = Literal["analyst", "policy"]
Curves = Sequence[tuple[int, str, float | None]]
_CELL = re.compile(r" because of '.*'( in row [^.]*)?\.$", re.DOTALL)
_OF_EVERYBODY = ("accuracy", "constant_accuracy")


@dataclass(frozen=True)
class DataFacts:
    """The data of a run in words and sizes.

    `positive` is None where there are more than two labels; of an own file nothing is cited. `published` are rows that
    everybody has, `answered` those whose groups are randomised answers; `unit` is a "person", or a "row" where people
    may have several.
    """

    name: str
    title: str
    summary: str
    citation: str | None
    licence: str | None
    label: str
    positive: str | None
    caveats: tuple[str, ...]
    own_file: bool
    published: bool
    answered: bool
    unit: str
    sensitive: str
    sensitive_columns: tuple[str, ...]
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    columns: tuple[str, ...] | None
    n_train: int
    n_test: int
    is_image: bool


@dataclass(frozen=True)
class RunFacts(Generic[K]):
    """What is told of one finished run.

    Attributes:
        config: as JSON, with a person's file by its name alone.
        method, calibrated: what trained it, and how it ran, noise multipliers included.
        asks: which fairness was asked for, on its own groups and label.
        measures: its numbers by kind, those that most people may see first.
        steps: None where no ε covers them.
        curves: (step, name, value) as they are drawn. audit: the stored one's JSON.
        certificates: (name, sentence). bounds: the same of its gap's estimated bound, which certifies nothing.
        missing: why numbers are kept from the audience, a sentence each.
    """

    key: str
    config: ConfigJson
    data: DataFacts
    method: MethodInfo
    calibrated: Json
    notion: Notion
    asks: str
    epsilon: EpsilonFacts
    measures: tuple[Measures[K], ...]
    accuracy_is_public: bool
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    versions: Mapping[str, str]
    steps: int | None
    certificates: Sequence[tuple[str, str]] = ()
    bounds: Sequence[tuple[str, str]] = ()
    curves: Curves = ()
    audit: ShownAudit | None = None
    missing: tuple[str, ...] = ()

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.config["seed"])

    @property
    def gap_target(self) -> float | None:
        """The gap that it was asked for; None where it was asked for none."""
        method = self.config["method"]
        target: float | None = None if method.get("constraint") == "false_negatives" else method.get("gap_target")
        return target

    @property
    def toml(self) -> str:
        """The config as a file, which repeats the run."""
        return write_toml(self.config)

    @property
    def question(self) -> str:
        """A key that is the same for two runs whose gaps can be compared: data, notion and split."""
        return repr([self.config["data"], self.config["notion"], self.config["split"]])

    @property
    def exact(self) -> Measures[K] | None:
        """The numbers measured on the test rows without noise, the fullest there are; None without any."""
        exact = [measures for measures in self.measures if measures.kind != "released"]
        return exact[-1] if exact else None

    @property
    def released(self) -> Measures[K] | None:
        """What the private evaluation says, where an ε covers it."""
        return next((measures for measures in self.measures if measures.kind == "released"), None)

    def read(self, name: str) -> Fact[K] | None:
        """Return a number from where most people may see it; None where it may not be told, or is undefined."""
        return next((fact for measures in self.measures if (fact := measures.read(name)) is not None), None)

    def read_exact(self, name: str) -> Fact[K] | None:
        """Return a number as its test rows say it, without noise, from where most people may see it."""
        return self.without_released().read(name)

    @property
    def accuracy(self) -> Fact[K] | None:
        """The share of test rows that are decided rightly."""
        return self.read("accuracy")

    @property
    def gap(self) -> Fact[K] | None:
        """The gap of its notion."""
        return self.read(self.notion.metric)

    @property
    def outcome(self) -> Outcome:
        """The run as a line of the run table, by its exact numbers."""
        epsilon = self.epsilon
        exact = self.exact
        return read_outcome(
            {
                "key": self.key,
                "config": self.config,
                "threat_model": epsilon.threat_model,
                "variant": epsilon.variant,
                "epsilon": epsilon.proved,
                "delta": epsilon.delta,
                "metrics": None if exact is None else exact.found,
                "metrics_private": None if self.released is None else self.released.found,
            }
        )

    @property
    def raw_text(self) -> str:
        """What must be said with its exact numbers; "" where everybody has its rows, or none looks at groups."""
        if self.data.published or self.data.answered:
            return ""
        return RAW_BUT_ACCURACY if self.accuracy_is_public else RAW

    @property
    def caveats(self) -> tuple[str, ...]:
        """The sentences that must go with its numbers: that they are raw, why there is no ε, warnings, assumptions.

        That predictions need the group stands first among them.
        """
        group_remark = format_group_needed(self.config)
        sentences = [] if group_remark is None else [group_remark]
        sentences += [self.raw_text] if any(measures.kind == "raw" for measures in self.measures) else []
        sentences += [self.epsilon.reason] if self.epsilon.proved is None and self.epsilon.reason else []
        sentences += self.warnings
        return (*sentences, *(f"Assumed: {sentence}" for sentence in self.assumptions if sentence != group_remark))

    def without_released(self) -> RunFacts[K]:
        """Return the run by its exact numbers alone."""
        return replace(self, measures=tuple(measures for measures in self.measures if measures.kind != "released"))

    def asking(self, name: str) -> RunFacts[K]:
        """Return a run that pursues no notion as one that was asked for the notion `name`."""
        notion = notions()[name]
        asks = explain(notion, self.data.groups, self.data.labels)
        return replace(self, config={**self.config, "notion": name}, notion=notion, asks=asks)


def read_facts(record: RunRecord, *, curves: Curves = (), audit: ShownAudit | None = None) -> RunFacts[Kind]:
    """Return all facts of a finished run, as its analyst may see them."""
    document = record.to_document()
    info, notion = methods()[document["config"]["method"]["name"]].info, notions()[document["config"]["notion"]]
    public = accuracy_is_public(record.threat_model, record.epsilon, uses_group=info.needs_group_at_prediction)
    epsilon, data = read_epsilon_facts(record), _read_data(record)
    return RunFacts(
        key=record.key,
        config=document["config"],
        data=data,
        method=info,
        calibrated=record.calibrated,
        notion=notion,
        asks=explain(notion, data.groups, data.labels),
        epsilon=epsilon,
        measures=tuple(_list_measures(document, epsilon)),
        accuracy_is_public=public,
        assumptions=record.assumptions,
        warnings=record.warnings,
        versions=record.versions,
        steps=record.steps,
        certificates=format_certificates(record),
        bounds=format_bounds(record),
        curves=curves,
        audit=audit,
    )


@overload
def for_audience(facts: RunFacts[Kind], audience: Literal["policy"]) -> RunFacts[Open]: ...
@overload
def for_audience(facts: RunFacts[Kind], audience: Audience) -> RunFacts[Kind]: ...
def for_audience(facts: RunFacts[Kind], audience: Audience) -> RunFacts[Kind] | RunFacts[Open]:
    """Return what an audience may see: an analyst all, policy what is public or what ε covers, and nothing besides."""
    if audience == "analyst":
        return facts
    covered, audit = facts.epsilon.is_covered, facts.audit
    return RunFacts(
        key=facts.key,
        config=facts.config,
        data=replace(facts.data, caveats=() if facts.data.own_file else facts.data.caveats),
        method=facts.method,
        calibrated=facts.calibrated,
        notion=facts.notion,
        asks=facts.asks,
        epsilon=facts.epsilon,
        measures=tuple(Measures(own.kind, own.found) for own in facts.measures if own.kind in ("public", "released")),
        accuracy_is_public=facts.accuracy_is_public,
        assumptions=facts.assumptions,
        warnings=facts.warnings,
        versions=facts.versions,
        steps=facts.steps if covered else None,
        certificates=facts.certificates if covered else (),
        bounds=facts.bounds if covered else (),
        audit=None if audit is None else {"made": audit["made"], "code": audit["code"], "model": None},
        missing=_format_missing(facts),
    )


def _list_measures(record: Json, epsilon: EpsilonFacts) -> list[Measures[Kind]]:
    """Return a record's numbers by kind, those that most people may see first."""
    exact: Json = record["metrics"] or {}
    of_accuracy, of_gaps = find_kinds(record)
    measures: list[Measures[Kind]] = []
    if of_gaps == "public":
        measures.append(Measures("public", exact))
    elif of_accuracy == "public":
        measures.append(Measures("public", {name: exact.get(name) for name in _OF_EVERYBODY}))
    if epsilon.is_covered and record["metrics_private"] is not None:
        measures.append(Measures("released", record["metrics_private"]))
    if exact and of_gaps == "raw":
        measures.append(Measures("raw", exact))
    return measures


def _format_missing(facts: RunFacts[Kind]) -> tuple[str, ...]:
    """Return why numbers of a run are kept from policy, a sentence each; () where its rows are everybody's."""
    if facts.data.published:
        return ()
    if not facts.epsilon.is_covered:
        return ("No ε is proved, so none covers what was measured: no number is shown.",)
    if facts.released is not None:
        return ()
    unpaid = (
        "Launched without a private evaluation, so ε covers no fairness number: gaps and groups' rates are left out."
    )
    exact = "Accuracy depends on protected data, and no ε covers it: it is left out."
    return (unpaid,) if facts.accuracy_is_public else (unpaid, exact)


def _read_data(record: RunRecord) -> DataFacts:
    """Return the facts of the data; caveats of a person's own file come without the cell that they quote."""
    config_data = record.config["data"]
    data = record.data
    labels = tuple(data["label_names"])
    problem = problems().get(config_data["dataset"] or "")
    if problem is None:
        title, summary = f"an own file, {Path(str(config_data['file'])).name[:24]}", "A file of its user's own."
        citation, licence, label = None, None, config_data["label"] or ""
    else:
        title, summary, citation, licence = problem.title, problem.summary, problem.citation, problem.licence
        label = config_data["label"] or problem.labels[0].column.name
    return DataFacts(
        name=data["name"],
        title=title,
        summary=summary,
        citation=citation,
        licence=licence,
        label=label,
        positive=labels[-1] if len(labels) == 2 else None,
        caveats=tuple(_CELL.sub(" because of one of its values.", caveat) for caveat in data["caveats"]),
        own_file=problem is None,
        published=is_published(config_data),
        answered=find_answers(config_data) is not None,
        unit=name_unit(config_data),
        sensitive=data["sensitive"],
        sensitive_columns=tuple(data.get("sensitive_columns") or ()),
        groups=tuple(data["group_names"]),
        labels=labels,
        columns=None if data["columns"] is None else tuple(data["columns"]),
        n_train=data["n_train"],
        n_test=data["n_test"],
        is_image=data.get("image") is not None,
    )
