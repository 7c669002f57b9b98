"""Runs of another package's method: its ε is a claim wherever it stands, its code is part of what a run is bound to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core import plugins
from fairpriv_core.facts.epsilon import read_epsilon_facts
from fairpriv_core.methods.catalog import CLAIMED
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import build_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import session
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.claim import Progress
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.cli.commands import Call
from tests.pages.conftest import components_scanned_once, open_page, small_data
from tests.plugins.installed import PREFIX, Installer
from tests.plugins.test_catalogues import METHOD

__all__ = ["components_scanned_once", "open_page", "small_data"]
PACKAGE = f"{PREFIX}method 1.0"
ASKED = ("--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity", "--method", "good")
TRAIN = ("train", *ASKED, "--epsilon", "2", "--set", "epochs=2", "--json")
CLAIM = f"The author of {PACKAGE} claims ε = "


@pytest.fixture(autouse=True)
def installed(install: Installer) -> None:
    """Install a package with one method."""
    install.add(f"{PREFIX}method", METHOD, {plugins.METHODS: {"good": "Good"}})


def test_a_record_states_a_claim_and_whose_it_is(call: Call) -> None:
    said = call(*TRAIN)
    record = said.json
    assert said.code == 0 and record["status"] == "finished"
    assert record["epsilon"] is None and record["epsilon_reason"] == CLAIMED.format(PACKAGE)
    assert (record["author"], record["variant"], record["threat_model"]) == (PACKAGE, "published", "record")
    assert record["epsilon_published"] == epsilon(from_json(record["event"]), 1e-5) <= 2.0
    assert record["released"] == record["event"]
    assert record["versions"]["plug-in"] == PACKAGE and len(record["versions"]["plug-in sources"]) == 64
    assert read_epsilon_facts(RunRecord.from_json(record)).line.startswith(
        f"No proved ε: {CLAIMED.format(PACKAGE)} {CLAIM}"
    )
    told = call(*TRAIN[:-1], "--again").out
    assert "none. It is the claim of the method's author" in " ".join(told.split()) and ", proved" not in told
    accounted = call("account", "--method", "good", "--dataset-size", "2000", "--epsilon", "1", "--json").json
    assert (accounted["epsilon"], accounted["author"], accounted["variant"]) == (None, PACKAGE, "published")


def test_the_ledger_counts_it_as_unbounded(call: Call) -> None:
    call(*TRAIN)
    told = call("ledger", "--dataset", "synthetic").out
    assert "no bound" in told, told


def test_what_leaves_says_that_it_is_claimed(call: Call, tmp_path: Path) -> None:
    key = call(*TRAIN).json["key"]
    for form, says in (("md", CLAIM), ("html", CLAIM), ("story", "ε = 2 as published, not proved: the gap")):
        out = tmp_path / form
        assert call("export", key, "--format", form, "--out", str(out)).code == 0
        text = out.read_text("utf-8")
        assert says in text.replace("\\", "")
        assert "proved, protects" not in text.replace("not proved, protects", "")


def test_a_run_goes_on_with_the_sources_that_began_it_alone(
    install: Installer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    data = {"dataset": "synthetic", "sensitive": "group"}
    asked = {"data": data, "notion": "demographic_parity", "delta": 1e-5, "epsilon": 2.0, "seed": 0}
    config = build_config({**asked, "method": {"name": "good", "epochs": 3, "batch_size": 1600}})
    with open_store() as store:
        work, key = WorkStore(store.database), store.submit(config).key

        def pause(progress: Progress) -> None:
            if progress.step == 3:
                store.request(key, "pause")

        work_on(work, work.claim(key), on_commit=pause)
        assert store.row(key).status == "paused"
        source = next(tmp_path.rglob("things.py"))
        before = source.read_text()
        for changed, status in ((f"{before}\nx = 1\n", "paused"), (before, "finished")):
            source.write_text(changed)
            store.request(key, "resume")
            work_on(work, work.claim(key))
            assert store.row(key).status == status
            assert status == "finished" or "method changed since its checkpoint" in str(store.row(key).error)


def test_every_page_shows_it_also_when_its_package_is_gone(
    call: Call, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = call(*TRAIN).json["key"]

    def show(page: str) -> None:
        shown = open_page(page, run=key)
        assert not shown.exception, page
        kinds = ("markdown", "caption", "warning", "info")
        text = " ".join(str(each.value) for kind in kinds for each in shown.get(kind))
        assert "proved, protects" not in text.replace("not proved, protects", ""), page

    for page in ("train", "run", "compare", "report"):
        show(page)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [])
    plugins.forget()
    for page in ("start", "train", "run", "tradeoffs", "compare", "audit", "report", "present", "learn"):
        show(page)


def test_before_a_launch_the_page_says_whose_claim_it_is(open_page: Callable[..., AppTest]) -> None:
    page = open_page("train", data="synthetic:group", notion="demographic_parity", method="good", epsilon="2")
    assert not page.exception and not page.error
    said = " ".join(str(each.value) for each in page.warning).replace("\\", "")
    assert f"comes with package {PACKAGE}" in said and f"The author of {PACKAGE} claims" in said


def test_a_run_whose_method_is_gone_ends_in_a_sentence(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    key = call(*TRAIN).json["key"]
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [])
    plugins.forget()
    assert "unknown method 'good'" in call(*TRAIN, "--again").err
    assert call("runs").code == 0
    for command in (("export", key, "--format", "html"), ("audit", key)):
        said = call(*command)
        assert said.code in (0, 2) and len(said.err.strip().splitlines()) <= 2, said.err
