"""Golden results, pinned: what every method's examples give under fixed noise, what small whole runs come to, what
sample figures draw, and which options commands take. Of sentences nothing is pinned, and what is new need not be.

python -m tests.pins write     write tests/pins.json anew, after a change that is meant to change results; refused while
                               another road to these results, or to what they rest on, ends elsewhere
python -m tests.pins bits      write what bits the examples have on machines like this one to tests/bits.json
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import pytest
import scipy
import sklearn
from threadpoolctl import threadpool_info

from fairpriv_core.cli.main import cli
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.styles import THEMES
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import to_json
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig, build_config, draws_samples
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.figures import samples
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import make_data

NAMED = "FAIRPRIV_PINS"  # names the file while what is to be written is tried
PATH = Path(os.environ.get(NAMED, Path(__file__).with_suffix(".json")))
DIGITS = 9  # on which two machines agree where nothing is trained
_OF_FLOAT32 = 7
BITS = Path(__file__).with_name("bits.json")  # of every example's parameters, to the last bit, by machine
NEAR = {"rel": 1e-3, "abs": 1e-4}  # as well as two machines agree on what is trained
APART = 1e-4  # relative distance of models that are the same but for the order of float32 sums
#: the other roads: one model and several, resumed, without multipliers, by Opacus, by the written-out objective
ROADS = [
    "tests/test_pins.py",
    "tests/methods/test_contract.py",
    "tests/methods/test_many.py",
    *(f"tests/methods/test_{name}reductions.py" for name in ("", "dp_sgd_", "pf_ld_record_")),
    *(f"tests/methods/test_dp_fermi_{name}reductions.py" for name in ("", "classes_")),
]
_PLAIN = bool | int | float | str | None
_MOST = 100  # numbers of a model that are pinned
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


def can_share(method: Method) -> bool:
    """Return whether models of a method may have the same secret samples: dp_is_sgd thins its own by group."""
    return draws_samples(method) and method.info.name != "dp_is_sgd"


def fit(method: Method, models: tuple[int, ...] = (0,)) -> list[Fitted]:
    """Train on the contract's data with noise that is always the same for the same model, with others or alone."""
    notion, randomness = notions()[method.info.notions[0]], Randomness.replay(1)
    stream = 0 if can_share(method) else None
    mechanisms = [Mechanism(randomness, model=model, stream=stream) for model in models]
    trainings = [Training(notion, 0, mechanism, Unwatched()) for mechanism in mechanisms]
    return type(method).fit_many([method] * len(models), [make_data()] * len(models), trainings)


def describe(method: Method, fitted: Fitted) -> Json:
    """Return what is pinned of a fit: releases and steps exactly, the model, and how long what it notes is."""
    config = RunConfig(DataSpec(dataset="adult", sensitive="sex"), method.info.notions[0], method, epsilon=None)
    parameters = np.asarray(fitted.parameters, dtype=np.float64)
    told = {name: list(_numbers(value)) for name, value in fitted.notes.items()}
    return {
        "key": config.key,
        "event": to_json(fitted.events),
        "steps": fitted.steps,
        "size": parameters.size,
        "parameters": [_round(each, _OF_FLOAT32) for each in parameters[:_MOST].tolist()],
        "norm": _round(float(np.linalg.norm(parameters)), _OF_FLOAT32),
        "notes": {name: _round(float(np.linalg.norm(each)), _OF_FLOAT32) for name, each in told.items()},
    }


def digest_bits() -> dict[str, str]:
    """Return a digest of the bits of each example's parameters, trained alone."""
    each = {name: np.asarray(fit(method)[0].parameters) for name, method in examples()}
    return {name: hashlib.sha256(str(bits.dtype).encode() + bits.tobytes()).hexdigest() for name, bits in each.items()}


def name_machine() -> str:
    """Return what two machines have in common that compute the same bits: how their libraries add and multiply."""
    own = [each for each in threadpool_info() if each["user_api"] == "blas" and "numpy" in each["filepath"]]
    chosen = [f"{each['internal_api']} {each['version']} {each.get('architecture')}" for each in own]
    units = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return "; ".join([versions, *chosen, " ".join(units), _name_processor()])


def _name_processor() -> str:
    """Return which processor this is: how large its caches are decides how products are cut; "" where nothing says."""
    said = Path("/proc/cpuinfo")
    lines = said.read_text("utf-8").partition("\n\n")[0].splitlines() if said.exists() else []
    parts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return " ".join(parts[name] for name in ("model name", "cpu family", "model", "stepping") if name in parts)


def write_bits() -> None:
    """Write the digests of machines like this one."""
    known = json.loads(BITS.read_text("utf-8")) if BITS.exists() else {}
    BITS.write_text(json.dumps({**known, name_machine(): digest_bits()}, indent=1) + "\n", "utf-8")


def draw_bits(figure: FigureData) -> str:
    """Return the SHA-256 of a figure as drawn in both themes, whatever its sentences say."""
    unsaid = replace(figure, title="A title", caption="What a caption says, in two rows. " * 5)
    drawn = [draw(unsaid, theme=theme, caption=True) for theme in THEMES]
    told = _change(drawn, lambda each: "" if isinstance(each, str) and " " in each else _round(each, DIGITS))
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def list_commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield the name of each command, "papers run", with the command and its context."""
    waiting: list[tuple[str, click.Command]] = [("", cli)]
    while waiting:
        name, command = waiting.pop()
        context = click.Context(command, info_name=f"fairpriv {name}".strip())
        yield name, command, context
        if isinstance(command, click.Group):
            below = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
            waiting += [(f"{name} {each}".strip(), one) for each, one in below if one is not None]


def list_commands_help() -> dict[str, Json]:
    """Return what each command takes, with its defaults, by the command's name."""
    found: dict[str, Json] = {}
    for name, command, context in list_commands():
        taken = {option: each.get_default(context) for each in command.params for option in each.opts}
        found[name] = {option: value if isinstance(value, _PLAIN) else None for option, value in taken.items()}
    return dict(sorted(found.items()))


def run_to_json(asked: Json) -> Json:
    """Return what a small whole run comes to: its record's numbers, and in place of what it says that it says it."""
    given = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "replay_noise": 1}
    config = build_config({**given, "epsilon": 2.0, **asked})
    with TemporaryDirectory() as folder, open_store(str(Path(folder) / "runs.db")) as store:
        row, work = store.submit(config), WorkStore(store.database)
        work_on(work, work.claim(row.key))
        record = store.record(row.key)
    assert record is not None and record.status == "finished", record and record.error
    held = record.to_json()
    told = {name: value for name, value in held.items() if name not in ("config", "versions", "seconds")}
    told = _change(told, lambda each: "" if isinstance(each, str) else _round(each, 5), most=1)
    return {**told, "key": record.key, "event": held["event"], "settings": dict.fromkeys(held["config"]["method"], "")}


def list_unlike(found: Any, pinned: Any, path: str = "") -> Iterator[str]:
    """Yield each path at which what is pinned is not found; what is found beside it is new, and right."""
    if isinstance(pinned, dict) and isinstance(found, dict):
        for name, each in pinned.items():
            yield from list_unlike(found[name], each, f"{path}/{name}") if name in found else [f"{path}/{name} is gone"]
    elif isinstance(pinned, list) and isinstance(found, list) and len(found) == len(pinned):
        for place, pair in enumerate(zip(found, pinned, strict=True)):
            yield from list_unlike(*pair, f"{path}/{place}")
    elif found != (pytest.approx(pinned, **NEAR) if type(pinned) is type(found) is float else pinned):
        yield f"{path} is {found}, not {pinned}"


def measure_apart(found: Fitted, pinned: Mapping[str, Any]) -> float:
    """Return how far a model lies from the pinned one, over the pinned one's length."""
    numbers = np.asarray(found.parameters, dtype=np.float64)
    assert numbers.size == pinned["size"]
    apart = np.linalg.norm(numbers[:_MOST] - pinned["parameters"])
    return float(max(apart, abs(np.linalg.norm(numbers) - pinned["norm"])) / pinned["norm"])


def collect() -> Json:
    """Return all that is pinned."""
    return {
        "examples": {name: describe(method, *fit(method)) for name, method in examples()},
        "runs": {name: run_to_json(asked) for name, asked in RUNS.items()},
        "figures": {name: draw_bits(figure) for name, figure in samples.every_figure().items()},
        "commands": list_commands_help(),
    }


def write(path: Path = PATH) -> None:
    """Write what is collected to `path`; SystemExit, and no change, while another road to it ends elsewhere."""
    with TemporaryDirectory() as folder:
        tried = Path(folder) / path.name
        tried.write_text(_list_lines(collect()), "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *ROADS]
        proof = subprocess.run(command, env={**os.environ, NAMED: str(tried)}, cwd=PATH.parent.parent)
        if proof.returncode:
            sys.exit(f"{path.name} stays as it was: another road ends elsewhere, as the tests above say.")
        path.write_text(tried.read_text("utf-8"), "utf-8")


def _list_lines(collected: Json) -> str:
    """Return JSON with an entry a line."""
    kinds = []
    for kind, held in collected.items():
        entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in held.items())
        kinds.append(f"{json.dumps(kind)}: {{\n{entries}\n}}")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in a JSON value, in order."""
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    elif isinstance(value, int | float | np.number):
        yield float(value)


def _change(value: Any, leaf: Callable[[Any], Any], most: int | None = None) -> Any:
    """Return a JSON value with `leaf` of each text and number, and of each list its `most` first items."""
    if isinstance(value, dict):
        return {name: _change(each, leaf, most) for name, each in value.items()}
    return [_change(each, leaf, most) for each in value[:most]] if isinstance(value, list | tuple) else leaf(value)


def _round(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    asked: dict[str, Callable[[], None]] = {"write": write, "bits": write_bits}
    sys.exit(asked[sys.argv[1]]() if sys.argv[1:] and sys.argv[1] in asked else "say write, or bits.")
