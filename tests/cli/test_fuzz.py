"""Commands, configs and sweeps of random nonsense, with a fixed seed: what is refused ends in 2 and one sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fairpriv_core.cli.main import FAULT
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import sf_pate
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.sweeps.spec import MOST_COMBINATIONS, build_sweep, check_cells, expand, read_sweep_file
from tests.cli.commands import Call
from tests.nasty import TEXTS, find_faults

MANY = [200, pytest.param(2000, marks=pytest.mark.long)]
VALUES = [
    *(None, True, False, 0, -1, 1.5, 1e308, float("nan"), float("inf"), 10**30, 10**400, -0.0, [], {}, [[1]], {"a": 1}),
    *(
        "\ud800",
        "\x00",
        [None],
        {"name": "pf_ld"},
        {"name": None},
        {"name": ["a"]},
        {"name": {"x": 1}},
        "1",
        "x" * 1000,
    ),
]
WRITTEN = (
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "1979-05-27",
    "inf",
    "nan",
    "0xDEADBEEF",
    "'''x'''",
    "[[1],[2]]",
    "{a=1}",
)
WRITTEN = (*WRITTEN, "9" * 5000, f"0x{'f' * 5000}", "1e999", "[{a=1}]", "true", '"\\u0007"', "[1, 1.0]", "[{name = 1}]")
WHOLE_JSON = ("{" * 50_000, '{"a":' * 20_000, '{"config":[]}', '{"seed":' + "9" * 6000 + "}", "{}", '{"data":1,', "{}x")
WHOLE_TOML = (
    "a = " + "[" * 50_000,
    "a = " + "{a=" * 5000,
    "seed = " + "9" * 6000,
    "[a]\n[a]\n",
    "\x00",
    "x = 1e" + "9" * 50,
)
FIELDS = (
    "data",
    "notion",
    "method",
    "epsilon",
    "delta",
    "split",
    "seed",
    "replay_noise",
    "file_id",
    "reuse",
)
FIELDS = (*FIELDS, "private_evaluation", "share_samples", "nope", "")
OF_DATA = ("dataset", "file", "sensitive", "label", "positive", "rows", "group_ratio", "image", "unreadable", "x")
OPTIONS = (
    "epsilon",
    "delta",
    "seed",
    "rows",
    "group-ratio",
    "set",
    "split",
    "notion",
    "method",
    "reuse",
    "replay-noise",
)
OPTIONS = (
    *OPTIONS,
    "image",
    "unreadable",
    "label",
    "positive",
    "sensitive",
    "variant",
    "dataset",
    "csv",
    "config",
    "out",
)
ASKED = ["--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity", "--set", "epochs=1"]
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("export", "?"), ("export", "?", "--format", "?"), ("resume", "?"), ("predict", "?", "--csv", "?", "--out", "?")),
    *(("audit", "?", "--runs", "?", "--seed", "?"), ("certificate", "?"), ("ledger", "--dataset", "?", "--delta", "?")),
    *(("ledger", "--csv", "?"), ("ledger", "cap", "?", "--epsilon", "?", "--sensitive", "?"), ("confirm", "?"), ("?",)),
    *(("select", "?", "?", "--by", "raw", "--metric", "?"), ("papers", "run", "?"), ("runs", "?"), ("sweep", "?")),
    ("account", "--method", "dp_sgd", "--dataset-size", "?", "--groups", "?", "--epsilon", "?", "--set", "?"),
)
Make = Callable[[random.Random, Path], list[str]]


def make_options(rng: random.Random, folder: Path) -> list[str]:
    """Return a `train` with one to three options that are anything, a byte that is no UTF-8 among them."""
    method = rng.choice([*methods(), "none"])
    asked = ["train", *ASKED, "--method", method, *(["--epsilon", "1"] if rng.random() < 0.8 else [])]
    for option in rng.choices(OPTIONS, k=rng.randrange(1, 4)):
        text = rng.choice((*TEXTS, "\udcff"))
        name = rng.choice([*parameters(methods()[method]), "nope", ""])
        asked += [f"--{option}", f"{name}={text}" if option == "set" else text]
    return asked


def make_command(rng: random.Random, folder: Path) -> list[str]:
    """Return a command other than `train` whose arguments are anything."""
    return [rng.choice(TEXTS) if part == "?" else part for part in rng.choice(COMMANDS)]


def make_json(rng: random.Random, folder: Path) -> list[str]:
    """Return a `train` with a JSON file in which one to three settings are anything."""
    raw = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1}
    raw["method"] = {"name": rng.choice(list(methods())), "epochs": 1}
    for _ in range(rng.randrange(1, 4)):
        table = rng.choice([name for name in ("data", "method") if isinstance(raw.get(name), dict)] or [""])
        if table and rng.random() < 0.5:
            own = (*OF_DATA, "name", "epochs", "network", "clip")
            raw[table] = {**dict(raw[table]), rng.choice(own): rng.choice(VALUES)}
        else:
            raw[rng.choice(FIELDS)] = rng.choice(VALUES)
    text = rng.choice(WHOLE_JSON) if rng.random() < 0.15 else json.dumps(raw)
    return ["train", "--config", write(folder / "config.json", text)]


def make_toml(rng: random.Random, folder: Path) -> list[str]:
    """Return a `train` with a TOML file of settings that are anything."""
    given = {name or '""': rng.choice((*WRITTEN, '"x"', "1", "[]")) for name in rng.sample(FIELDS, rng.randrange(1, 5))}
    lines = [f"{name} = {text}" for name, text in given.items()]
    tables = {"data": 'dataset = "synthetic"\nsensitive = "group"', "method": 'name = "none"\nepochs = 1'}
    lines += [f"[{name}]\n{text}" for name, text in tables.items() if name not in given]
    text = rng.choice(WHOLE_TOML) if rng.random() < 0.15 else "\n".join(lines)
    return ["train", "--config", write(folder / "config.toml", text)]


def make_sweep(rng: random.Random, folder: Path) -> str:
    """Return the path of a sweep's file whose axes and options are anything."""
    names = (
        "seed",
        "epsilon",
        "method.epochs",
        "method",
        "notion",
        "data",
        "delta",
        "split",
        "sensitive",
        "rows",
        "nope",
    )
    values = ("[]", "[1]", "[1, 1]", "1", "[[]]", "[{}]", '["x"]', "[nan]", "[inf, -inf]", "[true]", '["1", 1]', '[""]')
    options = ("max_runs = 0", "max_runs = 1e9", 'invalid = "skip"', "invalid = 1", "share_samples = 1", "nope = 1")
    lines = ['notion = "demographic_parity"', "epsilon = 1", "[data]", 'dataset = "synthetic"', 'sensitive = "group"']
    lines += ["[method]", f'name = "{rng.choice(list(methods()))}"', "epochs = 1"]
    tables = rng.randrange(1, 3)
    for _ in range(tables):
        axes = {name: rng.choice((*values, *WRITTEN)) for name in rng.sample(names, rng.randrange(4))}
        lines += ["[axes]" if tables == 1 else "[[axes]]", *(f"{name} = {value}" for name, value in axes.items())]
    lines += ["[sweep]", *rng.sample(options, rng.randrange(3))]
    return write(folder / "sweep.toml", rng.choice(WHOLE_TOML) if rng.random() < 0.1 else "\n".join(lines))


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return str(path)


@pytest.mark.parametrize("make", [make_options, make_command, make_json, make_toml])
@pytest.mark.parametrize("count", MANY)
def test_nonsense_ends_in_one_sentence(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make, count: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sf_pate, "_MOST_ASKED", 100)  # a nonsense that trains it asks about all of Adult
    rng, faults = random.Random(count), []
    for _ in range(count):
        arguments = make(rng, tmp_path)
        said = call(*arguments)
        faults += [(fault, [each[:80] for each in arguments]) for fault in find_faults(said.code, said.err)]
    assert not faults


@pytest.mark.parametrize("count", MANY)
def test_a_sweep_of_nonsense_is_refused_in_one_sentence(tmp_path: Path, count: int) -> None:
    rng, faults = random.Random(count), []
    for _ in range(count):
        path = make_sweep(rng, tmp_path)
        try:
            sweep = build_sweep(read_sweep_file(path))
            check_cells(expand(sweep), sweep)
        except BadInput as error:
            faults += find_faults(2, f"Error: {error}")
    assert not faults


def test_combinations_are_counted_before_any_is_made() -> None:
    axes = {"seed": list(range(1000)), "epsilon": [1 + at / 100 for at in range(1000)], "delta": [0.1, 0.2]}
    raw = {"data": {"dataset": "synthetic", "sensitive": "group"}, "method": "pf_ld", "axes": axes}
    with pytest.raises(BadInput, match=f"at most {MOST_COMBINATIONS:,} combinations, got 2,000,000"):
        build_sweep({**raw, "notion": "demographic_parity"})


def test_a_fault_of_the_program_shows_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairpriv_core.cli import main as module

    def fail(**_: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(module.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == FAULT and "KeyError: 'a fault'" in capsys.readouterr().err
