"""The project's rules on imports, names and sizes, read from the syntax tree (rule 20: the rules are tests)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from tests.syntax import Import, Source, count_lines, count_positional, measure_depth, read_sources

ROOT = Path(__file__).parent.parent
CODE = read_sources(ROOT, "fairpriv_core", "pages", "app.py", "benchmarks", "examples")
TESTS = read_sources(ROOT, "tests")

BASE = ("errors", "checks", "grouping", "paths", "plain", "plugins", "seeds", "stats", "text", "warnings")
LOWER = (*BASE, "files", "data", "notions", "privacy")
# The rooms of a run, each of which may import those before it.
_LATER = (
    "methods",
    "audit",
    "records",
    "store",
    "ledger",
    "facts",
    "runs",
    "sweeps",
    "papers",
    "bench",
    "figures",
    "documents",
    "cli",
)
# Which rooms of fairpriv_core a room may import from, besides itself. Rooms not named here may import any.
ROOMS: dict[str, tuple[str, ...]] = {
    "errors": ("text",),
    "checks": ("errors",),
    "paths": ("errors",),
    "grouping": (),
    "plain": ("errors",),
    "plugins": ("errors", "text"),
    "seeds": ("errors",),
    "stats": (),
    "text": ("warnings",),
    "warnings": (),
    "files": BASE,
    "data": (*BASE, "files"),
    "notions": BASE,
    "privacy": BASE,
    "engine": LOWER,
    **{room: (*LOWER, "engine", *_LATER[:place]) for place, room in enumerate(_LATER)},
}
# Which files may import an outside library. Libraries not named here may be imported anywhere.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "click": ("fairpriv_core/cli/*",),
    "dask": ("fairpriv_core/sweeps/cluster.py",),
    "distributed": ("fairpriv_core/sweeps/cluster.py",),
    "dp_accounting": ("fairpriv_core/privacy/*", "benchmarks/*"),
    "fairlearn": ("fairpriv_core/methods/*", "fairpriv_core/audit/*"),
    "kaleido": ("fairpriv_core/figures/*",),
    "PIL": ("fairpriv_core/data/*", "examples/*"),
    "mlflow": ("fairpriv_core/documents/tracking.py",),
    "onnx": ("fairpriv_core/records/onnx_file.py",),
    "opacus": ("fairpriv_core/engine/torch/*", "benchmarks/*", "examples/own_network.py"),
    "plotly": ("fairpriv_core/figures/draw.py",),
    "pptx": ("fairpriv_core/documents/slides.py",),
    "pooch": ("fairpriv_core/data/*",),
    "psycopg": ("fairpriv_core/store/*",),
    "pyarrow": (
        "fairpriv_core/bench/lines.py",
        "fairpriv_core/files/*",
        "fairpriv_core/data/*",
        "fairpriv_core/papers/results.py",
        "benchmarks/scale.py",
        "examples/make_adult.py",
        "examples/make_papers_results.py",
        "examples/make_results.py",
    ),
    "python_calamine": ("fairpriv_core/files/*", "fairpriv_core/data/*"),
    "randomgen": ("fairpriv_core/privacy/*",),
    "sklearn": (
        "fairpriv_core/data/*",
        "fairpriv_core/methods/*",
        "fairpriv_core/audit/*",
        "fairpriv_core/estimator.py",
        "examples/own_network.py",  # its digits
    ),
    "sqlalchemy": ("fairpriv_core/store/*",),
    "streamlit": ("app.py", "pages/*", "benchmarks/soak.py", "benchmarks/viewing.py"),
    "threadpoolctl": ("fairpriv_core/engine/loop.py", "fairpriv_core/methods/shared/public_score.py"),
    "torch": (
        "fairpriv_core/engine/torch/*",
        "fairpriv_core/privacy/normals.py",
        "benchmarks/*",
        "examples/own_network.py",
    ),
}
# What may be loaded inside a function, where it is first used: it takes up to a second, and most commands never do.
LATE = (
    "dp_accounting",
    "mlflow",
    "onnx",
    "pooch",
    "pptx",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.stats",
    "sklearn",
    "fairpriv_core.methods.shared.exponentiated_gradient",
)
# Commands that train nothing.
QUIET = (["methods"], ["account", "--method", "pf_ld", "--dataset-size", "9000", "--epsilon", "1"], ["runs"])
LIMITS = {"lines in a file": 600, "lines": 40, "nested blocks": 3, "positional arguments": 5}
# What may be larger: (path, what, function or '') -> the reason.
EXCEPTIONS: dict[tuple[str, str, str], str] = {}
# Texts of (file, text) that are a method's name by chance -> what they are there.
OTHER_THINGS: dict[tuple[str, str], str] = {
    ("fairpriv_core/privacy/event.py", "randomized_response"): "a kind of release",
    ("fairpriv_core/records/parameters.py", "none"): "how a person writes a missing value",
}
# Where a record's JSON may be read by these keys; elsewhere RunRecord, RunFacts and PaperRun have what it says.
RECORD_KEYS = ("config", "metrics")
READS_RECORDS = ("fairpriv_core/records/", "fairpriv_core/store/", "fairpriv_core/facts/")
# What may be read by such a key besides -> what it is there.
OTHER_KEYS: dict[str, str] = {
    "fairpriv_core/papers/results.py": "a column of the committed results",
}
WORD = "none"  # a method's name and an English word: a text is taken for the method where something is compared with it


def find_forbidden_imports(source: Source) -> Iterator[str]:
    room = source.path.removeprefix("fairpriv_core/").removesuffix(".py").split("/")[0]
    for item in source.imports:
        where = f"{source.path}:{item.line} imports {item.module}"
        allowed = LIBRARIES.get(item.module.split(".")[0])
        if allowed is not None and not any(fnmatch(source.path, pattern) for pattern in allowed):
            yield f"{where}; only {', '.join(allowed)} may."
        if item.module.startswith("."):
            yield f"{where}; imports are written in full."
        if item.function and not item.module.startswith(LATE):
            yield f"{where} inside {item.function}; imports stand at the top."
        yield from (
            f"{where}.{name}, which is private there."
            for name in item.names
            if name.startswith("_") and item.module != "__future__"
        )
        if source.path.startswith("fairpriv_core/") and room in ROOMS:
            yield from (
                f"{where}; {room} may not import {other}."
                for other in _own_modules(item)
                if not _may_import(room, other)
            )


def find_oversize(source: Source) -> Iterator[tuple[str, str, int]]:
    """Yield (what, function or '', size) for each size over its limit."""
    sizes = [("lines in a file", "", source.text.count("\n"))]
    for function in source.functions:
        sizes.append(("lines", function.name, count_lines(function)))
        sizes.append(("nested blocks", function.name, measure_depth(function)))
        sizes.append(("positional arguments", function.name, count_positional(function)))
    yield from (size for size in sizes if size[2] > LIMITS[size[0]])


def find_names(source: Source, names: frozenset[str]) -> Iterator[str]:
    """Yield each text of the code that is one of `names`, which belong to a catalogue."""
    compared = [node for node in ast.walk(source.tree) if isinstance(node, ast.Compare)]
    inside = {id(part) for node in compared for part in ast.walk(node)}
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Constant) or node.value not in names or (source.path, node.value) in OTHER_THINGS:
            continue
        if node.value != WORD or id(node) in inside:
            yield f"{source.path}:{node.lineno} names '{node.value}'; the catalogue declares what it is or can do."


def find_record_keys(source: Source) -> Iterator[str]:
    """Yield each reading of a record's JSON by a key: `record["config"]`, `found.get("metrics")`."""
    if source.path.startswith(READS_RECORDS) or source.path in OTHER_KEYS:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript):
            key: ast.expr | None = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            key = node.args[0] if node.args else None
        else:
            continue
        if isinstance(key, ast.Constant) and key.value in RECORD_KEYS:
            yield f"{source.path}:{node.lineno} reads '{key.value}' by its key; RunRecord or RunFacts has it."


def _own_modules(item: Import) -> list[str]:
    """Return what `item` imports of fairpriv_core, without that prefix: `data.dataset`."""
    if item.module == "fairpriv_core":
        return list(item.names)
    return [item.module.removeprefix("fairpriv_core.")] if item.module.startswith("fairpriv_core.") else []


def _may_import(room: str, module: str) -> bool:
    return any(module == allowed or module.startswith(f"{allowed}.") for allowed in (room, *ROOMS[room]))


def assert_none(found: Iterable[str]) -> None:
    """Fail with one line for each thing that was found."""
    lines = list(found)
    assert not lines, "\n" + "\n".join(lines)


def test_the_import_table_holds() -> None:
    assert_none(line for source in CODE for line in find_forbidden_imports(source))


def test_tests_import_no_private_name() -> None:
    """A file whose text shows no such name in an import need not be parsed."""
    shown = re.compile(r"^\s*from \S+ import (\([^)]*\b_\w|[^\n(]*\b_\w)", re.MULTILINE)
    assert shown.search("from a import b, _c") and shown.search("from a import (\n    b,\n    _C,\n)")
    named = [source for source in TESTS if shown.search(source.text)]
    assert_none(line for source in named for line in find_forbidden_imports(source) if "private" in line)


def test_no_import_cycles() -> None:
    modules = {source.module for source in CODE}
    graph = {
        source.module: {
            target
            for item in source.imports
            for target in (item.module, *(f"{item.module}.{name}" for name in item.names))
            if target in modules
        }
        for source in CODE
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_sizes_are_within_their_limits() -> None:
    found = {(source.path, what, name): size for source in CODE for what, name, size in find_oversize(source)}
    assert_none(f"{key} is {size}, limit {LIMITS[key[1]]}" for key, size in found.items() if key not in EXCEPTIONS)
    assert_none(f"nothing needs the exception {key} any more" for key in EXCEPTIONS if key not in found)


def test_test_files_are_within_their_limit() -> None:
    sizes = {source.path: source.text.count("\n") for source in TESTS}
    assert_none(f"{path} has {size} lines" for path, size in sizes.items() if size > LIMITS["lines in a file"])


def test_packages_are_empty_and_no_file_is_a_drawer() -> None:
    drawers = ("utils", "util", "helpers", "misc", "common")
    written = [source.path for source in CODE if source.path.endswith("__init__.py") and source.text.strip()]
    assert written == ["fairpriv_core/__init__.py"], "the front door, which imports what it is asked for"
    assert_none(source.path for source in CODE if Path(source.path).stem in drawers)


def test_no_records_json_is_read_by_key_outside_its_rooms() -> None:
    product = [source for source in CODE if source.path.startswith(("fairpriv_core/", "pages/", "app.py"))]
    assert_none(line for source in product for line in find_record_keys(source))


def test_no_method_and_no_notion_is_told_by_its_name() -> None:
    measured = ("fairpriv_core/papers/", "fairpriv_core/methods/", "benchmarks/", "examples/")
    outside = [source for source in CODE if not source.path.startswith((*measured, "fairpriv_core/notions/catalog.py"))]
    known = [*methods(), *notions(), *(notion.metric for notion in notions().values())]
    assert_none(line for source in outside for line in find_names(source, frozenset(known)))


def test_fragments_are_made_in_one_place() -> None:
    """A fragment within one that polls breaks the page of a slow browser; polling.py makes none."""
    made = [source.path for source in CODE if source.path.startswith("pages/") and "st.fragment" in source.text]
    assert made == ["pages/widgets/shared/polling.py"]


def test_what_is_a_methods_name_by_chance_is_still_there() -> None:
    texts = {(each.path, node.value) for each in CODE for node in ast.walk(each.tree) if isinstance(node, ast.Constant)}
    assert_none(f"nothing needs {each} any more" for each in OTHER_THINGS if each not in texts)


def test_what_pages_and_commands_import_loads_neither_torch_nor_what_is_loaded_late() -> None:
    """Nor do commands that train nothing load torch as they run."""
    told = tuple(f"fairpriv_core/{room}/" for room in ("facts", "figures", "documents"))
    pages = [source for source in CODE if source.path.startswith(("pages/", "app.py", *told))]
    named = {f"fairpriv_core.{module}" for source in pages for item in source.imports for module in _own_modules(item)}
    named |= {"fairpriv_core.methods.catalog", "fairpriv_core.records.config", "fairpriv_core.store.runs"}
    named |= {f"fairpriv_core.privacy.{name}" for name in ("event", "accountants", "calibrate")}
    shown = (*told, "fairpriv_core/cli/")
    named |= {source.module for source in CODE if source.path.startswith(shown)}
    script = f"import importlib, sys\nfor name in {sorted(named)}: importlib.import_module(name)\n"
    script += "from fairpriv_core.methods.catalog import methods\nmethods()\n"
    script += f"print(sorted(sys.modules.keys() & {sorted({'torch', 'opacus', 'streamlit', *LATE})}))\n"
    script += f"from fairpriv_core.cli.main import cli\nfor each in {QUIET}: cli.main(each, standalone_mode=False)\n"
    script += "print(sorted(sys.modules.keys() & {'torch', 'opacus', 'streamlit'}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    first, *_, last = run.stdout.splitlines() or [""]
    assert (first, last, run.returncode) == ("[]", "[]", 0), run.stderr


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("fairpriv_core/data/a.py", "from fairpriv_core.notions.rates import gap", "data may not import notions.rates"),
        ("fairpriv_core/data/a.py", "from fairpriv_core import privacy", "data may not import privacy"),
        ("fairpriv_core/store/a.py", "import fairpriv_core.runs.execute", "store may not import runs.execute"),
        ("fairpriv_core/runs/config.py", "import torch.nn", "imports torch.nn; only"),
        ("fairpriv_core/runs/a.py", "import streamlit as st", "only app.py, pages/*, benchmarks/soak.py, "),
        ("pages/run.py", "import plotly.graph_objects as go", "only fairpriv_core/figures/draw.py may"),
        ("pages/run.py", "from fairpriv_core.store.runs import _connect", "private"),
        ("fairpriv_core/engine/a.py", "from . import kernel", "in full"),
        ("fairpriv_core/engine/a.py", "def fit():\n    import json", "inside fit"),
        ("fairpriv_core/methods/a.py", "def train():\n    import json", "inside train"),
    ],
)
def test_a_forbidden_import_is_found(path: str, text: str, says: str) -> None:
    found = list(find_forbidden_imports(Source(path, text)))
    assert len(found) == 1
    assert says in found[0]


def test_an_allowed_import_is_not_found() -> None:
    text = """
import fairlearn
from fairpriv_core.privacy.event import Event
from fairpriv_core.engine.kernel import step
"""
    assert not list(find_forbidden_imports(Source("fairpriv_core/methods/a.py", text)))


def test_a_record_that_is_read_by_key_is_found() -> None:
    text = 'a = record["config"]["seed"]\nb = found.get("metrics", {})\nc = record.config\nd = {"config": config}\n'
    assert len(list(find_record_keys(Source("pages/run.py", text)))) == 2
    assert not list(find_record_keys(Source("fairpriv_core/facts/a.py", text)))


def test_an_oversize_function_is_found() -> None:
    deep = """
def f(a, b, c, d, e, g):
    if a:
        pass
    elif b:
        for c in d:
            with e:
                while g:
                    pass
"""
    long = "def h(*, a, b, c, d, e, f):\n    '''Two\n    lines.'''\n" + "    a = 1\n" * 40
    found = set(find_oversize(Source("fairpriv_core/a.py", deep + long)))
    assert found == {("nested blocks", "f", 4), ("positional arguments", "f", 6), ("lines", "h", 41)}


def test_a_method_told_by_its_name_is_found() -> None:
    source = Source("pages/train.py", "x = method in ('none', 'pf_ld')\ny = {'dp_sgd': 'as pf_ld'}\n")
    assert len(list(find_names(source, frozenset({"pf_ld", "dp_sgd", "none"})))) == 3
    word = Source("pages/train.py", "x = {'shown': 'none'}\n")
    assert not list(find_names(word, frozenset({"none"})))
    event = Source("fairpriv_core/privacy/event.py", "kinds = {'randomized_response': 1}")
    assert not list(find_names(event, frozenset({"randomized_response"})))
