"""The suite as it is declared in suite.toml: tasks with their splits, entries, notions, budgets and seeds."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from fairpriv_core.bench.made_up import write_table
from fairpriv_core.data.catalog import default_split
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.source import read_data

_PATH = Path(__file__).with_name("suite.toml")
_MADE_UP = {"label": "paid", "positive": "yes", "sensitive": "sex"}


@dataclass(frozen=True)
class Task:
    """A question on public data: a benchmark with label and sensitive attribute, or a kind of the made-up family.

    `splits` are the seals of the first seeds' test rows. `more` is a task beside the standard ones.
    """

    name: str
    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    made_up: str = ""
    splits: Sequence[str] = ()
    more: bool = False


@dataclass(frozen=True)
class Entry:
    """A method, its settings where they are not those that it ships with, and in how many trials they were found."""

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 1


@dataclass(frozen=True)
class Suite:
    """What is asked of every entry, by its version; a part of the suite has fewer tasks, entries or seeds."""

    version: str
    gap: float
    delta: float
    encoding: str
    epsilons: tuple[float, ...]
    notions: tuple[str, ...]
    seeds: tuple[int, ...]
    tasks: tuple[Task, ...]
    entries: tuple[Entry, ...]

    def find_task(self, name: str) -> Task:
        """Return a task by its name; BadInput for another, such as a person's own data."""
        for task in self.tasks:
            if task.name == name:
                return task
        names = ", ".join(task.name for task in self.tasks)
        raise BadInput(
            f"'{name}' is no task of the benchmark, which takes public data alone; choose from {names}.", field="task"
        )

    def find_entry(self, method: str) -> Entry:
        """Return a method's entry: its own, or as it ships; BadInput for what is no method."""
        if method not in methods():
            raise BadInput(f"unknown method '{method}'; choose from {', '.join(methods())}.", field="method")
        return next((entry for entry in self.entries if entry.method == method), Entry(method))

    def draw_seed(self, task: str, seed: int) -> int:
        """Return the seed of a run, which nobody chose: a digest of the suite's version, the task and its seed."""
        return int.from_bytes(hashlib.sha256(f"{self.version}/{task}/{seed}".encode()).digest()[:3], "big")

    def build_task_data(self, task: Task, seed: int, folder: Path) -> dict[str, object]:
        """Return the data of a config; a made-up table is written into `folder` first."""
        if not task.made_up:
            return {**task.data, "encoding": self.encoding}
        path = folder / f"{task.name}-{seed}.csv"
        if not path.exists():
            write_table(task.made_up, self.draw_seed(task.name, seed), path)
        return {"file": str(path), **_MADE_UP}

    def check_split(self, task: Task, seed: int, digest: str) -> None:
        """Raise BadInput where a seed's test rows are not those of the suite."""
        if seed < len(task.splits) and task.splits[seed] != digest:
            raise BadInput(f"the test rows of {task.name}, seed {seed}, are not those of suite {self.version}.")


@cache
def read_suite() -> Suite:
    """Return the whole suite."""
    declared = tomllib.loads(_PATH.read_text(encoding="utf-8"))
    del declared["smoke"]
    tasks = tuple(Task(**table) for table in declared.pop("tasks"))
    entries = tuple(Entry(**table) for table in declared.pop("entries"))
    lists = {name: tuple(value) for name, value in declared.items() if isinstance(value, list)}
    return Suite(**{**declared, **lists}, tasks=tasks, entries=entries)


class Smoke(TypedDict, total=False):
    """What the short form of the suite has in place of the suite's own."""

    tasks: list[str]
    notions: list[str]
    epsilons: list[float]


@cache
def read_smoke() -> Smoke:
    """Return the short form of the suite."""
    declared: Smoke = tomllib.loads(_PATH.read_text(encoding="utf-8"))["smoke"]
    return declared


def split_task(suite: Suite, task: Task, seed: int, folder: Path) -> tuple[Dataset, Dataset]:
    """Return the (train, test) rows of a task, each with its number in the table."""
    dataset = load_dataset(read_data(suite.build_task_data(task, seed, folder))).without_nulls()
    if dataset.row is None:
        dataset = replace(dataset, row=np.arange(dataset.n), rows_read=dataset.n)
    split = default_split(task.data.get("dataset"))
    return split_dataset(dataset, seed=suite.draw_seed(task.name, seed), split=split)


def seal_rows(test: Dataset) -> str:
    """Return 16 hex digits of a task's test rows: their labels and groups in order."""
    parts = (test.y, test.group)
    return hashlib.sha256(b"".join(np.asarray(part, dtype="<i8").tobytes() for part in parts)).hexdigest()[:16]
