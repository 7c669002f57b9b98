"""The suite at work: every entry on every task, written down as it goes, so that what is there is not made again.

A method's budgets and seeds on one task are trained in one loop. Plain training stands beside each split. Nothing is
left out: a fit that is refused, or ends without a model, is a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fairpriv_core.bench.lines import NAMES, OURS, Line, add_lines, build_lines, read_lines, score
from fairpriv_core.bench.made_up import find_best
from fairpriv_core.bench.suite import Entry, Suite, Task, seal_rows
from fairpriv_core.errors import BadInput, DataUnavailable, FairprivError
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.methods.catalog import REFERENCE_METHOD, find_plugin, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import DatasetCache, Plan, fit_batch, plan_run
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.execute import train_together
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.text import Reporter

#: by method: the bound, the ε proved and the day of its stored audit
Audits = Mapping[str, tuple[float, float | None, str]]
#: a task, a notion and an entry, with the budgets and seeds that are asked for
Part = tuple[Task, str, Entry, Sequence[tuple[float | None, int]]]
#: a task's name, with the lines of a part of it or why the task cannot be had
Made = tuple[str, pd.DataFrame | str]
#: gives parts to other processes, and yields what was made of each as it comes
Spread = Callable[[Callable[[Part], Made], Sequence[Part]], Iterable[Made]]


@dataclass
class Bench:
    """A part of the suite while it is run; a task's data and plain training are read and trained once."""

    suite: Suite
    audits: Audits
    folder: Path
    datasets: DatasetCache = field(default_factory=DatasetCache)
    plain: dict[int, np.ndarray] = field(default_factory=dict)

    def make_part(self, part: Part) -> Made:
        """Return the lines of a part, or why its task cannot be had."""
        try:
            return part[0].name, build_lines(self.make(*part))
        except DataUnavailable as error:
            return part[0].name, str(error)

    def make(self, task: Task, notion: str, entry: Entry, pairs: Sequence[tuple[float | None, int]]) -> list[Line]:
        """Return the lines of an entry on a task: one for each budget and seed that is asked for."""
        configs = [self._build(task, notion, entry, epsilon, seed) for epsilon, seed in pairs]
        lines = []
        for (epsilon, seed), config, record in zip(pairs, configs, train_fits(configs, self.datasets), strict=True):
            common = {"suite": self.suite.version, "task": task.name, "notion": notion, "seed": seed}
            own = {**common, "epsilon_asked": epsilon, **self._build_line(entry, config)}
            train, test = (part.without_nulls() for part in self.datasets.parts(config))
            split = seal_rows(test)
            self.suite.check_split(task, seed, split)
            own |= {"split": split, "n_train": train.n, "best": self.find_best_rule(task, seed)}
            if isinstance(record, RunRecord):
                counts = count_record(record)
                own |= score(counts, self.find_plain(task, seed), notion, self.suite)
                own |= {"epsilon": record.epsilon, "epsilon_claimed": record.epsilon_published}
                own |= {"seconds": record.seconds}
            lines.append({"failed": record if isinstance(record, str) else "", "reached": "unknown", **own})
        return lines

    def find_plain(self, task: Task, seed: int) -> np.ndarray:
        """Return plain training's counts on a split, which is trained once for all notions and entries."""
        if seed not in self.plain:
            config = self._build(task, self.suite.notions[0], Entry(REFERENCE_METHOD), None, seed)
            (record,) = train_fits([config], self.datasets)
            if isinstance(record, str):
                raise FairprivError(record)
            self.plain[seed] = count_record(record)
        return self.plain[seed]

    def _build(self, task: Task, notion: str, entry: Entry, epsilon: float | None, seed: int) -> RunConfig:
        settings = {"name": entry.method, **entry.settings}
        raw: dict[str, object] = {"notion": notion, "epsilon": epsilon, "delta": self.suite.delta, "method": settings}
        data = self.suite.build_task_data(task, seed, self.folder)
        config = build_config({**raw, "data": data, "seed": self.suite.draw_seed(task.name, seed)})
        if task.made_up:
            config = replace(config, file_id=f"{task.name}-{seed}")
        return fit_batch(config, settings, self.datasets)

    def _build_line(self, entry: Entry, config: RunConfig) -> Line:
        plugin = find_plugin(entry.method)
        bound, epsilon, day = self.audits.get(entry.method, (None, None, ""))
        return {
            "method": entry.method,
            "author": OURS if plugin is None else plugin.package,
            "kind": "run",
            "threat_model": config.method.info.threat_model or "",
            "by_group": config.method.decides_by_group(),
            "trials": entry.trials,
            "audit_bound": bound,
            "audit_epsilon": epsilon,
            "audit_date": day,
        }

    def find_best_rule(self, task: Task, seed: int) -> float | None:
        """Return the accuracy of the rule that knows the truth; None of tables that nobody made up."""
        return find_best(task.made_up, self.suite.draw_seed(task.name, seed)) if task.made_up else None


def make_part(suite: Suite, audits: Audits, part: Part) -> Made:
    """Return the lines of a part of the suite in whichever process this is."""
    with TemporaryDirectory() as folder:
        return Bench(suite, audits, Path(folder)).make_part(part)


def run_suite(
    suite: Suite, out: Path, audits: Audits, reporter: Reporter, spread: Spread | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Make every line of a part of the suite that `out` has not, here or where `spread` does, and write each entry's.

    Return the lines that are there at the end, and why each task is left out that cannot be had.
    """
    lines = read_lines([out] if out.exists() else [])
    for entry in suite.entries:
        tried = {*lines[lines.method == entry.method].trials} - {entry.trials}
        if tried:
            raise BadInput(
                f"{out.name} has {entry.method} with {max(tried)} trials, and this is {entry.trials}: name another "
                "file by --out.",
                field="trials",
            )
    left_out: dict[str, str] = {}
    parts = [*_list_missing(suite, lines)]
    working = _run_here(suite, audits, parts) if spread is None else spread(partial(make_part, suite, audits), parts)
    for task, outcome in working:
        if isinstance(outcome, str):
            left_out[task] = outcome
            continue
        lines = add_lines(outcome, out)
        reporter.say(f"{task}, {outcome.notion[0]}, {outcome.method[0]}: {len(outcome)} fits.")
    for task, why in left_out.items():
        reporter.say(f"{task} is left out: {why}")
    return lines, left_out


def _run_here(suite: Suite, audits: Audits, parts: Sequence[Part]) -> Iterator[Made]:
    with TemporaryDirectory() as folder:
        for _, own in groupby(parts, key=lambda part: part[0].name):
            yield from map(Bench(suite, audits, Path(folder)).make_part, own)


def _list_missing(suite: Suite, lines: pd.DataFrame) -> Iterator[Part]:
    """Yield of each task, notion and entry the budgets and seeds that are not there yet."""
    present = {tuple(row) for row in lines[[*NAMES]].fillna(0.0).itertuples(index=False)}
    for task, notion, entry in product(suite.tasks, suite.notions, suite.entries):
        info, plugin = methods()[entry.method].info, find_plugin(entry.method)
        if not info.takes(notions()[notion]):
            continue
        name = (entry.method, OURS if plugin is None else plugin.package, task.name, notion)
        budgets: Sequence[float | None] = suite.epsilons if info.threat_model else (None,)
        pairs = product(budgets, suite.seeds)
        pairs_to_run = [(epsilon, seed) for epsilon, seed in pairs if (*name, epsilon or 0.0, seed) not in present]
        if pairs_to_run:
            yield task, notion, entry, pairs_to_run


def train_fits(configs: Sequence[RunConfig], datasets: DatasetCache) -> list[RunRecord | str]:
    """Return each run's record, or why there is none; those that can be planned are trained in one loop."""
    journal = MemoryJournal()
    plans_or_reasons = [_plan(config, journal, datasets) for config in configs]
    plans = [plan for plan in plans_or_reasons if isinstance(plan, Plan)]
    records = iter(_train(plans, journal))
    return [plan if isinstance(plan, str) else next(records) for plan in plans_or_reasons]


def _plan(config: RunConfig, journal: MemoryJournal, datasets: DatasetCache) -> Plan | str:
    try:
        return plan_run(config, config.key, datasets=datasets, find_record=journal.find_record)
    except DataUnavailable:
        raise
    except FairprivError as error:
        return str(error)


def _train(plans: Sequence[Plan], journal: MemoryJournal) -> list[RunRecord | str]:
    """Train in one loop; where that ends for one of them, each alone."""
    if not plans:
        return []
    try:
        return [outcome.record for outcome in train_together(plans, journal.begin(plans), journal)]
    except FairprivError as error:
        if len(plans) == 1:
            return [str(error)]
    return [record for plan in plans for record in _train([plan], journal)]


def count_record(record: RunRecord) -> np.ndarray:
    """Return a run's counts (k, l, l) over group, label and decision on its test rows."""
    exact = read_facts(record).exact
    assert exact is not None
    return exact.table[0]
