"""`fairpriv runs label` and `delete`: names in lists, controls spelled out, and no word of them in any export."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from fairpriv_core.documents.document import AUDIENCES
from fairpriv_core.documents.forms import forms_of, open_report
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store.runs import RunStore, open_store
from tests.cli.commands import Call
from tests.launched import config, finish, measured
from tests.trained import SYNTHETIC, train_once

SECRET = "Zq7secret"


def test_runs_are_named_tagged_pinned_archived_and_deleted(call: Call, local: RunStore) -> None:
    first, second = (
        finish(local, config(seed=seed), (Gaussian(2.0),), metrics=measured((0.3, 0.4))) for seed in (0, 1)
    )
    plain = call("runs")
    assert plain.out.splitlines()[0].split()[:3] == ["key", "status", "dataset"] and "name" not in plain.out
    said = call("runs", "label", first, "--name", "\x1b[31mred\u202e", "--tag", "a", "--tag", "b c", "--pin")
    assert said.code == 0 and r"\x1b[31mred\u202e" in said.out and "pinned" in said.out and "\x1b" not in said.out
    listed = call("runs")
    assert listed.out.splitlines()[1].startswith(first) and r"\x1b[31mred\u202e  a, b c" in listed.out
    assert [row["key"] for row in call("runs", "--json", "--tag", "b c").json["runs"]] == [first]
    assert call("runs", "--tag", "z").out.strip() == "no run to list"
    call("runs", "label", second, "--archive", "--note", "for later")
    hidden = call("runs", "--json")
    assert [row["key"] for row in hidden.json["runs"]] == [first] and "1 archived run left out" in hidden.err
    both = call("runs", "--json", "--archived").json["runs"]
    assert [(row["key"], row["note"], row["archived"]) for row in both][1] == (second, "for later", True)
    long = call("runs", "label", first, "--name", "x" * 81)
    assert long.code == 2 and "a run's name has at most 80 characters, got 81" in long.err
    found = call("runs", "label", first, "--no-tags", "--name", "", "--unpin", "--json").json
    assert found == {"key": first, "name": "", "tags": [], "note": "", "pinned": False, "archived": False}
    spent = call("ledger", "--dataset", "synthetic", "--sensitive", "group", "--json").json
    assert call("runs", "delete", second).out.strip().endswith("the ledger keeps what it released")
    after = call("ledger", "--dataset", "synthetic", "--sensitive", "group", "--json").json
    assert [row["key"] for row in call("runs", "--json", "--archived").json["runs"]] == [first]
    assert [item["epsilon"] for item in after["ledgers"][0]["protected"]] == [
        item["epsilon"] for item in spent["ledgers"][0]["protected"]
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("label", "nothing", "--name", "x"), "no run 'nothing'"),
        (("label", "nothing"), "nothing to change"),
        (("delete", "nothing"), "no run 'nothing'"),
    ],
)
def test_bad_input_is_a_sentence(call: Call, arguments: tuple[str, ...], message: str) -> None:
    said = call("runs", *arguments)
    assert (said.code, said.out) == (2, "") and message in said.err


def test_no_export_of_a_run_holds_a_word_of_its_label(call: Call, own_store: Path) -> None:
    key = train_once(own_store, *SYNTHETIC, "--method", "pf_ld", "--epsilon", "1", "--private-evaluation")["key"]
    call("runs", "label", key, "--name", SECRET, "--tag", SECRET, "--note", SECRET, "--pin")
    assert SECRET in call("runs").out
    with open_store() as store:
        data = gather_report(store, [key])
        made = [store.artifact(key, name) for name in ("model.safetensors", "model.json")]
    for audience in AUDIENCES:
        report = open_report(data, audience)
        for form in forms_of(report).values():
            if not form.browser:
                made += list_contents(form.make(report, lambda _: None))
    told = ((key,), (key, "--format", "csv"), (key, "--format", "toml"))
    made += [call("export", *arguments).out.encode() for arguments in told]
    made.append(json.dumps(call("ledger", "--dataset", "synthetic", "--json").json).encode())
    assert len(made) > 20 and not [content for content in made if SECRET.encode() in content]


def list_contents(content: bytes) -> list[bytes]:
    """Return a file, and where it is a ZIP what is in it."""
    if not content.startswith(b"PK"):
        return [content]
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return [content, *(packed.read(name) for name in packed.namelist())]
