"""What a change of the code's shape must not change, pinned: what every method's examples make of fixed noise, what
every sample figure draws, what every command says of itself, and what a config's and a record's JSON hold.

python -m tests.pins write     write tests/pins.json anew, after a change that is meant to change results
python -m tests.pins bits      print a digest of all bits for each example and figure, to compare on one machine
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from fairpriv_core.cli.main import cli
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import to_json
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.report.draw import draw
from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.styles import THEMES
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import RecordingMechanism, Watcher, make_data
from tests.report import samples

PATH = Path(__file__).with_suffix(".json")
DIGITS = 9  # on which two machines agree
Json = dict[str, Any]
#: what is asked of runs whose records differ in what they hold
RUNS: dict[str, Json] = {
    "not private": {"method": {"name": "none", "epochs": 2}, "epsilon": None},
    "by group, evaluated": {"method": {"name": "pf_ld", "epochs": 2}, "private_evaluation": True},
    "by record": {"method": {"name": "dp_sgd", "epochs": 2}},
    "certified": {"method": {"name": "fairdp_certified", "epochs": 2}},
    "a frontier": {"method": {"name": "one_release", "epochs": 2}},
}


def examples() -> Iterator[tuple[str, Method]]:
    """Yield the name and the method of every example of the contract."""
    for name, each in EXAMPLES.items():
        yield from ((f"{name}-{number}", method) for number, method in enumerate(each))


def fit(method: Method) -> Fitted:
    """Train on the contract's data with noise that is always the same."""
    notion = notions()[method.info.notions[0]]
    return method.fit(make_data(), Training(notion, 0, RecordingMechanism(seed=1), Watcher()))


def describe(method: Method) -> Json:
    """Return what is pinned: names, releases and steps exactly, numbers as well as two machines agree on them."""
    fitted, notion = fit(method), method.info.notions[0]
    config = RunConfig(DataSpec(dataset="adult", sensitive="sex"), notion, method, epsilon=None)
    parameters = np.asarray(fitted.parameters, dtype=np.float64)
    return {
        "key": config.key,
        "method": method_to_json(method),
        "event": to_json(fitted.events),
        "steps": fitted.steps,
        "network": sorted(fitted.network),
        "notes": sorted(fitted.notes),
        "parameters": [parameters.size, float(np.linalg.norm(parameters)), *parameters[:3].tolist()],
    }


def digest(method: Method) -> str:
    """Return the SHA-256 of all that a fit gives, to the bit."""
    fitted = fit(method)
    told = json.dumps([fitted.network, fitted.notes, to_json(fitted.events)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode() + np.ascontiguousarray(fitted.parameters).tobytes()).hexdigest()


def draw_bits(figure: FigureData, digits: int | None = None) -> str:
    """Return the SHA-256 of a figure as drawn in both themes with its caption; `digits` rounds its numbers."""
    drawn: Any = [draw(figure, theme=theme, caption=True) for theme in THEMES]
    told = json.dumps(drawn if digits is None else _round(drawn, digits), sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def describe_commands() -> dict[str, list[str]]:
    """Return the lines of each command's --help, by the command's name: "papers run"."""
    found = {}
    waiting: list[tuple[str, click.Command]] = [("", cli)]
    while waiting:
        name, command = waiting.pop()
        context = click.Context(
            command,
            info_name=f"fairpriv {name}".strip(),
            terminal_width=120,
            max_content_width=120,
            help_option_names=["-h", "--help"],
        )
        found[name] = command.get_help(context).splitlines()
        if isinstance(command, click.Group):
            below = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
            waiting += [(f"{name} {each}".strip(), one) for each, one in below if one is not None]
    return dict(sorted(found.items()))


def describe_record(asked: Json) -> dict[str, str]:
    """Return what a small run's config and record hold: the kind of value at each path of their JSON."""
    given = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "replay_noise": 1}
    config = build_config({**given, "epsilon": 2.0, **asked})
    with TemporaryDirectory() as folder, open_store(str(Path(folder) / "runs.db")) as store:
        row, work = store.submit(config), WorkStore(store.database)
        work_on(work, work.claim(row.key))
        record = store.record(row.key)
    assert record is not None and record.status == "finished", record and record.error
    return dict(_list_kinds({"config": config.to_json(), "record": record.to_json()}, ""))


def _list_kinds(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each path in a JSON value with the kind of what is there; of a list its first item's."""
    yield path, type(value).__name__
    below = value if isinstance(value, dict) else {"*": value[0]} if isinstance(value, list) and value else {}
    for name, each in below.items():
        yield from _list_kinds(each, f"{path}/{name}")


def collect() -> Json:
    """Return all that is pinned."""
    return {
        "examples": {name: describe(method) for name, method in examples()},
        "figures": {name: draw_bits(figure, DIGITS) for name, figure in samples.every_figure().items()},
        "commands": describe_commands(),
        "records": {name: describe_record(asked) for name, asked in RUNS.items()},
    }


def _round(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {name: _round(each, digits) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_round(each, digits) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def main() -> None:
    """Do what the first argument says."""
    if sys.argv[1:] == ["write"]:
        PATH.write_text(json.dumps(collect(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    elif sys.argv[1:] == ["bits"]:
        print("\n".join(f"{name} {digest(method)}" for name, method in examples()))
        print("\n".join(f"{name} {draw_bits(figure)}" for name, figure in samples.every_figure().items()))
    else:
        sys.exit("say write or bits.")


if __name__ == "__main__":
    main()
