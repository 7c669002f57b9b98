"""The notebook of a report: nbformat 4, and names that stay data in its cells."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from fairpriv_core.documents.document import Audience
from fairpriv_core.documents.forms import open_report
from fairpriv_core.documents.notebook import write_notebook
from tests.documents.made_up import ADULT, PAID, RAW, Told, make_data, tell_run

GAP = "demographic_parity_gap"


def write(*runs: dict[str, Any], audience: Audience = "analyst") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_notebook(open_report(make_data(*runs), audience).chosen, audience))
    return found


def read_names(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return what the first code cell defines."""
    names: dict[str, Any] = {}
    exec("".join(notebook["cells"][1]["source"]), names)
    return names


def test_it_is_nbformat_4_and_its_code_is_python() -> None:
    notebook = write(tell_run())
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"]) == 5
    for cell in notebook["cells"]:
        wanted = {"cell_type", "id", "metadata", "source"}
        code = cell["cell_type"] == "code"
        assert set(cell) == (wanted | {"execution_count", "outputs"} if code else wanted)
        assert all(isinstance(line, str) for line in cell["source"])
        if code:
            ast.parse("".join(cell["source"]))


def test_texts_of_a_config_stay_data() -> None:
    told = tell_run(words={"label": "x = '''\"\"\"\\n'''; import os; os._exit(3)  # {}\n"})
    assert read_names(write(told))["CONFIGS"] == {"a" * 16: told.toml} and "os._exit(3)" in told.toml


@pytest.mark.parametrize(
    ("told", "audience", "numbers", "noisy", "exact"),
    [
        (tell_run(), "analyst", (RAW["accuracy"], RAW["gap"]), [], False),
        (tell_run(), "policy", (RAW["accuracy"], PAID["gap"]), [GAP], False),
        (tell_run(threat_model="record"), "policy", (PAID["accuracy"], PAID["gap"]), ["accuracy", GAP], False),
        (tell_run(paid=False), "policy", (RAW["accuracy"],), [], False),
        (tell_run(threat_model="record", paid=False), "policy", (), [], False),
        (
            tell_run(method="none", threat_model=None, epsilon=None, data=ADULT),
            "analyst",
            (RAW["accuracy"], RAW["gap"]),
            [],
            True,
        ),
        (tell_run(epsilon=None, replay_noise=3, data=ADULT), "analyst", (RAW["accuracy"], RAW["gap"]), [], True),
    ],
)
def test_it_compares_with_the_numbers_that_its_reader_may_see(
    told: Told, audience: Audience, numbers: tuple[float, ...], noisy: list[str], exact: bool
) -> None:
    found = read_names(write(told, audience=audience))["REPORT"]["a" * 16]
    assert (tuple(found["numbers"].values()), found["noisy"], found["exact"]) == (numbers, noisy, exact)
