"""A report's runs as a Jupyter notebook (nbformat 4): it runs the configs again and sets the numbers side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.markdown import escape
from fairpriv_core.facts.run_facts import Audience, RunFacts
from fairpriv_core.records.release import Kind

_INTRODUCTION = """Each run's config is written to a file and trained once more by `fairpriv train`, in a store of its \
own (`repeat.db`, in this notebook's folder). Split, initialisation and public batches are the same, and so is the \
key. Noise is secret and drawn anew: only a run without noise, or one in replay mode, gives the very same numbers. \
What is trained here **costs ε again**, and the ledger of the first store does not know of it."""

_SET_UP = """import os, subprocess, sys
from pathlib import Path

os.environ["FAIRPRIV_STORE"] = str(Path("repeat.db").absolute())
FILE = None  # the path of a CSV or Parquet file, where the runs are on a file of your own


def train(key):
    \"\"\"Train the run that had this key once more and return its record.\"\"\"
    config = Path(f"{key}.toml")
    config.write_text(CONFIGS[key], encoding="utf-8")
    command = [sys.executable, "-m", "fairpriv_core", "train", "--config", str(config), "--json"]
    command += ["--csv", FILE] if FILE else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)"""

_TRAIN = """again = {key: train(key) for key in CONFIGS}
for key, record in again.items():
    assert record["key"] == key.partition("-")[0], "the config is not that of the run"
print(f"{len(again)} runs trained again, under the same keys")"""

_COMPARE = """for key, told in REPORT.items():
    for name, value in told["numbers"].items():
        now = again[key]["metrics_private" if name in told["noisy"] else "metrics"][name]
        both = value is not None and now is not None
        print(f"{key} {name}: {value} in the report, {now} now" + (f", {now - value:+.4f}" if both else ""))
        assert not told["exact"] or now == value, "this run draws no secret noise: its numbers should repeat\""""


def write_notebook(settings: Sequence[Chosen[Kind]], audience: Audience) -> str:
    """Return the notebook as JSON text; it holds configs and the numbers that `audience` may see."""
    every_run = [run for choice in settings for run in choice.runs]
    configs = {run.key: run.toml for run in every_run}
    numbers = {run.key: _list_numbers(run, audience) for run in every_run}
    names = ", ".join(escape(setting.name) for setting in settings)
    heading = f"# The runs of a report, once more\n\n{names}\n\n{_INTRODUCTION}"
    source = heading.splitlines(keepends=True)
    introduction: dict[str, object] = {"cell_type": "markdown", "metadata": {}, "source": source}
    cells = [
        introduction,
        _code(f"import json\n\nCONFIGS = {_literal(configs)}\nREPORT = {_literal(numbers)}"),
        _code(_SET_UP),
        _code(_TRAIN),
        _code(_COMPARE),
    ]
    numbered = [{**cell, "id": f"cell-{index}"} for index, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _list_numbers(run: RunFacts[Kind], audience: Audience) -> dict[str, object]:
    """Return a run's accuracy and own gap; `noisy` names those with noise, `exact` says whether they repeat."""
    numbers = (
        run.without_released() if audience == "analyst" else run
    )  # an analyst holds exact numbers against new ones
    facts = {name: numbers.read(name) for name in ("accuracy", run.notion.metric)}
    values = {name: None if fact is None else fact.value for name, fact in facts.items() if fact or numbers is not run}
    noisy = [name for name, fact in facts.items() if fact and fact.kind == "released"]
    repeats = run.epsilon.threat_model is None or run.epsilon.replayed
    return {"numbers": values, "noisy": noisy, "exact": repeats and not run.data.own_file}


def _literal(value: Any) -> str:
    """Return a Python expression for JSON data that stays data, whatever texts it holds."""
    return f"json.loads({json.dumps(value)!r})"


def _code(text: str) -> dict[str, object]:
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    return {**cell, "source": text.splitlines(keepends=True)}
