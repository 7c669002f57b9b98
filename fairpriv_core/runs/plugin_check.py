"""What `fairpriv check-plugin` does: a plug-in put through what the project asks of its own catalogue, part by part.

A part that fails ends in its sentence and the others go on, whatever the plug-in raises. What passes was tried on data
that is made up, and is no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from fairpriv_core.audit import contract
from fairpriv_core.audit.canary import make_data
from fairpriv_core.audit.trials import (
    DELTA,
    HARD_ROWS,
    SHAPES,
    Make,
    Trial,
    list_examples,
    list_trials,
    make_hard,
    make_rows,
    strain,
    trains_network,
)
from fairpriv_core.data import catalog as data_catalog
from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec, Problem
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.methods import catalog as method_catalog
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.notions import catalog as notion_catalog
from fairpriv_core.notions.notion import Notion, explain
from fairpriv_core.plugins import DATA_SETS, METHODS, Plugin
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.runs.audit import AuditPlan, add_curve, audit_method, make_trainer, shorten
from fairpriv_core.text import at_least_text, epsilon_text

#: what passing means and what it does not, to stand under the parts
NOT_CHECKED = (
    "Nobody has read the code. All was tried on data that is made up: a leak that needs other data, or that is seldom, "
    "passes. Its ε stays its author's claim."
)
_ROWS, _ISOLATED, _NOISE_RUNS = 800, 2, 20
_HARD_OTHERS, _MANY = 240, 8_192  # rows of other networks than a table's, and of a sum that rounding may lose rows of
_TWO = ("no", "yes")
_GROUPS = ("A", "B")


@dataclass(frozen=True)
class Part:
    """One part of the check: what is asked, and what asks it, which raises where it does not hold."""

    title: str
    ask: Callable[[], object]


@dataclass(frozen=True)
class Finding:
    """How a part ended: `says` is "" where it passed, else the sentence that says what is wrong."""

    title: str
    passed: bool
    says: str = ""


def list_plugins() -> tuple[Plugin, ...]:
    """Return what other packages offer: methods, notions and data sets, those that are left out too."""
    return (*method_catalog.list_plugins(), *notion_catalog.list_plugins(), *data_catalog.list_plugins())


def find_plugin(name: str) -> Plugin:
    """Return the plug-in of that name; BadInput where none is installed, ContractBroken where it is left out."""
    plugins = list_plugins()
    for plugin in plugins:
        if plugin.name == name and plugin.fault is not None:
            raise contract.ContractBroken(plugin.fault)
    for plugin in plugins:
        if plugin.name == name:
            return plugin
    offered = ", ".join(dict.fromkeys(plugin.name for plugin in plugins)) or "none"
    raise BadInput(f"no installed package offers a plug-in '{name}'; offered: {offered}.", field="name")


def check_plugin(plugin: Plugin, *, runs: int, report: Callable[[Finding], None]) -> list[Finding]:
    """Return how each part of the check of `plugin` ended; `report` is told as they end.

    An attack on a method trains `runs` models on each of two data sets.
    """
    findings = []
    for part in list_parts(plugin, runs):
        findings.append(try_part(part))
        report(findings[-1])
    return findings


def try_part(part: Part) -> Finding:
    """Return how a part ends, whatever it raises."""
    try:
        part.ask()
    except FairprivError as error:
        return Finding(part.title, False, str(error))
    except Exception as error:  # other people's code may raise anything
        return Finding(part.title, False, str(FairprivError(f"it ended in {type(error).__name__}: {error}.")))
    return Finding(part.title, True)


def list_parts(plugin: Plugin, runs: int) -> Iterator[Part]:
    """Yield the parts; what is needed to list them is the first, so that a fault in it is said as any other."""
    if plugin.group == METHODS:
        examples: list[Method] = []
        yield Part("settings that train in a moment", lambda: examples.extend(list_examples(plugin.found)))
        if examples:
            yield from _list_method_parts(plugin.name, examples, runs)
    elif plugin.group == DATA_SETS:
        for sensitive in plugin.found.sensitive:
            yield Part(f"reads, encodes and splits by {sensitive}", partial(_read, plugin.found, sensitive))
    else:
        yield from _list_notion_parts(plugin.found)


def _list_method_parts(name: str, examples: list[Method], runs: int) -> Iterator[Part]:
    infos = [kind.info for kind in method_catalog.methods().values()]
    yield Part("figures can tell it from others", partial(contract.check_style, examples[0].info, infos))
    for number, method in enumerate(examples):
        for title, ask in _list_asks(method):
            yield Part(f"{title} ({name}-{number})", ask)
    for trial in list_trials(name, examples):
        for title, ask in _list_trial_asks(trial):
            yield Part(f"{title} ({trial.name})", ask)
    yield Part("groups matter where that is declared, and nowhere else", partial(contract.check_groups, examples))
    for number, method in enumerate(examples):
        if method.info.threat_model is not None and method.unproved_reason() is None:
            yield Part(f"there is as much noise as is counted ({name}-{number})", partial(_measure_noise, method))
            if method.info.threat_model == "record":
                ask = partial(contract.check_rounding, method, rows=_MANY, nulled=False)
                yield Part(f"rounding adds no more than is counted ({name}-{number})", ask)
            yield Part(f"attacks do not refute what is claimed ({name}-{number})", partial(_attack, method, runs))


def _list_asks(method: Method) -> Iterator[tuple[str, Callable[[], object]]]:
    declared, private = parameters(method), method.info.threat_model is not None
    yield "settings are checked", partial(contract.check_settings, method)
    yield "sensitivities are stated", partial(contract.check_sensitivities_stated, method)
    if private:
        for target in contract.TARGETS:
            yield f"calibration meets ε = {target:g}", partial(contract.check_calibration, method, target)
        yield "noise differs from run to run", partial(contract.check_fresh_noise, method)
    if private and "epochs" in declared:
        yield "a budget suffices for one epoch", partial(contract.check_single_epoch, method)
    if "batch_size" in declared and trains_network(method):
        yield "a batch larger than the data is refused", partial(contract.check_large_batch, method)
    if method.info.max_labels is not None:
        yield "more labels than it takes are refused", partial(contract.check_many_labels, method)


def _list_trial_asks(trial: Trial) -> Iterator[tuple[str, Callable[[], object]]]:
    method, make = trial.method, trial.make
    own = contract.list_notions(method, make)
    proved = method.info.threat_model is not None and method.unproved_reason() is None
    for place, notion in enumerate(own):
        yield f"releases what it announces, {notion}", partial(_release, method, make, notion)
        if proved and (not place or method.info.threat_model == "attribute"):
            yield f"nothing leaves but releases, {notion}", partial(_replay, method, make, notion)
            yield f"no record adds more than is counted, {notion}", partial(_bound, method, make, notion)
            if method.info.threat_model == "record":
                yield f"a null adds nothing, {notion}", partial(contract.check_nulls, method, make, notion)
    yield "models trained together are those trained alone", partial(contract.check_together, method, make)
    yield "goes on with the same bits", partial(contract.check_resume, method, make)


def _release(method: Method, make: Make, notion: str) -> None:
    contract.check_releases(method, contract.record(method, make, notion))


def _replay(method: Method, make: Make, notion: str) -> None:
    contract.check_replay(method, make, notion, contract.record(method, make, notion))


def _bound(method: Method, make: Make, notion: str) -> None:
    shapes, rows = (SHAPES, HARD_ROWS) if make is make_rows else (SHAPES[-2:], _HARD_OTHERS)
    for shape in shapes:
        contract.check_bounds(strain(method), make_hard(shape, make, rows), notion)


def _measure_noise(method: Method) -> None:
    data = make_data(rows=_ROWS, isolated=_ISOLATED, groups=len(_GROUPS), seed=0)
    train = make_trainer(shorten(method, data.n, DELTA), notion=method.info.notions[0], seed=0)
    contract.check_noise(train, data, runs=_NOISE_RUNS, seed=0)


def _attack(method: Method, runs: int) -> None:
    """Raise ContractBroken where an attack shows more than the releases' own ε, as it must not where bounds hold."""
    plan = AuditPlan(runs=runs)
    audit = audit_method(method, notion=method.info.notions[0], delta=DELTA, plan=plan, report=lambda _: None)
    events = from_json(audit["event"])
    bounds: list[tuple[float, Any]] = [(DELTA, audit["one_run"]["lower_bound"])]
    bounds += [(point["delta"], point["lower_bound"]) for point in audit["distinguishing"]["profile"]]
    for delta, low in bounds:
        claimed = epsilon(events, delta)
        contract.ask(
            low <= claimed,
            f"attacks show ε of at least {at_least_text(low)} at δ = {delta:g}, claimed is {epsilon_text(claimed)}.",
        )
    refuted = add_curve(audit["distinguishing"], events)["refuted"]
    contract.ask(not refuted, "attacks show more than the noise that is counted allows.")


def _list_notion_parts(notion: Notion) -> Iterator[Part]:
    def ask() -> None:
        sentences = explain(notion, _GROUPS, _TWO)
        contract.ask(
            "{" not in sentences and "A and B" in sentences, f"it must explain itself on two groups, got '{sentences}'."
        )

    yield Part("it explains itself", ask)
    for name, method in method_catalog.methods().items():
        own = method_catalog.find_plugin(name) is None
        if own and method.info.pursues(notion):
            yield Part(f"trains with {name}", partial(_train_with, method, notion))


def _train_with(kind: type[Method], notion: Notion) -> None:
    """Train the project's own method with a notion, and hold its releases and its protected values to the contract."""
    first = list_examples(kind)[0]
    recorded = contract.record(first, make_rows, notion.name)
    contract.check_releases(first, recorded)
    if kind.info.threat_model is not None:
        contract.check_replay(first, make_rows, notion.name, recorded)


def _read(problem: Problem, sensitive: str) -> None:
    """Read a data set whole; BadInput or DataUnavailable where that is not possible."""
    data = load_dataset(DataSpec(dataset=problem.name, sensitive=sensitive))
    again = load_dataset(DataSpec(dataset=problem.name, sensitive=sensitive))
    contract.ask(data.digest == again.digest, "two readings must give the same rows, and their digests differ.")
    train, test = split_dataset(data, seed=0, split=problem.split)
    contract.ask(min(train.n, test.n) > 0, f"both parts must have rows, got {train.n} and {test.n}.")
