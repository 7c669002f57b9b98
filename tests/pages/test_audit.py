"""The Audit page: it asks a worker, waits, shows what attacks found in plain words, and the stored audits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.report.audits import read_audit_results
from fairpriv_core.runs import preview
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.runs import RunStore, open_store

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]
ATTACKERS = ("LR", "MLP", "RF", "KNN")


def find_run(store: RunStore, method: str) -> str:
    return next(row.key for row in store.rows() if row.config["method"]["name"] == method)


def make_audit(key: str, **found: Any) -> dict[str, Any]:
    """Return an audit as a worker stores it: the stored one of PF-LD, and made-up attacks on the model."""
    code = next(one for one in read_audit_results()["methods"] if one["name"] == "pf_ld")
    membership = [{"attacker": name, "auc": 0.51, "advantage": 0.02} for name in ATTACKERS]
    attribute = [{"attacker": name, "baseline": 0.7, "accuracy": 0.71} for name in ATTACKERS]
    return {
        "key": key,
        "made": "2026-11-20T10:00:00+00:00",
        "code": {**code, "distinguishing": {**code["distinguishing"], **found}},
        "model": {
            "membership": {"attackers": membership, "judged": 500, "chance": 0.06, "limit": 0.46},
            "attribute": {"attackers": attribute, "judged": 900, "majority": 0.6, "sensitive": "group"},
            "note": "raw",
        },
    }


def test_without_runs_the_stored_audits_are_shown(open_page: Open, charts_of: Charts) -> None:
    page = open_page("audit")
    assert not page.exception
    assert "Train page" in page.info[0].value
    told = " ".join(item.value for item in page.markdown)
    assert "that ε does not hold" in told and "one person's group" in told
    names = [chart["figure"]["layout"]["uirevision"] for chart in charts_of(page)]
    assert names == ["audit_demonstration", "audit_catalogue"]


def test_a_click_asks_a_worker_once_and_the_page_waits(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    page = open_page("audit", run=key)
    assert page.button("do_audit").label == "Audit this run"
    page.button("do_audit").click().run()
    assert "Waiting for a worker" in page.info[0].value
    asked = store.previews.claim()
    assert asked == name_request({"audit": key, "runs": 1000, "seed": 0})
    assert store.previews.claim() is None
    assert "A worker is attacking" in open_page("audit", run=key).info[0].value


def test_an_audit_can_be_cancelled_and_asked_for_again(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    asked = store.request_preview({"audit": key, "runs": 1000, "seed": 0})
    page = open_page("audit", run=key)
    page.button("cancel_audit").click().run()
    assert (store.preview(asked) or {})["status"] == "cancelled" and store.previews.claim() is None
    assert not page.exception and not [each for each in page.button if each.key == "cancel_audit"]
    page.button("do_audit").click().run()
    assert store.previews.claim() == asked


def test_an_audit_that_somebody_else_asked_for_is_not_offered_to_be_cancelled(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    RunStore(store.database, "somebody").request_preview({"audit": key, "runs": 1000, "seed": 0})
    page = open_page("audit", run=key)
    assert "Waiting for a worker" in page.info[0].value
    assert not [each for each in page.button if each.key == "cancel_audit"]
    assert any("Somebody else asked" in each.value for each in page.caption)


def test_a_failed_audit_says_why(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    asked = store.request_preview({"audit": key, "runs": 1000, "seed": 0})
    assert store.previews.claim() == asked
    store.previews.finish(asked, error="the file <b> has changed.")
    assert "the file \\<b\\> has changed" in open_page("audit", run=key).error[0].value


def test_an_audit_shows_bounds_shares_and_attacks(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    AuditStore(store.database).keep(key, make_audit(key))
    page = open_page("audit", run=key)
    assert not page.exception and not page.error and not page.warning
    labels = [item.label for item in page.metric]
    assert labels == [
        "Attacks show at least",
        "If only the noise can be wrong",
        "Proved: at most",
        "The paper's formula",
    ]
    assert set(page.dataframe[0].value["release"]) == {"counts", "dual", "sum"}
    charts = {chart["figure"]["layout"]["uirevision"]: chart["alt"] for chart in charts_of(page)}
    assert {"audit_bounds", "audit_membership", "audit_attribute"} <= set(charts) and all(charts.values())
    assert "Synthetic is public" in " ".join(item.value for item in page.caption)
    assert "no proof" in " ".join(item.value for item in page.markdown)


@pytest.mark.parametrize(("flag", "claim"), [("refuted", "what is proved"), ("refuted_published", "paper's formula")])
def test_a_refuted_claim_is_a_warning(with_runs: Path, open_page: Open, flag: str, claim: str) -> None:
    store = open_store()
    key = find_run(store, "pf_ld")
    AuditStore(store.database).keep(key, make_audit(key, **{flag: True}))
    (warning,) = open_page("audit", run=key).warning
    assert "Refuted" in warning.value and claim in warning.value


def test_a_method_that_is_not_private_has_nothing_to_refute(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_run(store, "none")
    AuditStore(store.database).keep(key, {**make_audit(key), "code": None})
    page = open_page("audit", run=key)
    assert not page.exception and not page.metric
    assert "not private" in page.info[0].value


def test_a_run_that_is_gone_gives_a_sentence(with_runs: Path, open_page: Open) -> None:
    page = open_page("audit", run="0123456789abcdef")
    assert not page.exception
    assert "another one is shown" in page.warning[0].value


def test_a_worker_makes_the_audit_that_was_asked_for(with_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "live_with_parent", lambda: None)
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)
    store = open_store()
    key = find_run(store, "none")
    asked = store.request_preview({"audit": key, "runs": 40, "seed": 0})
    assert store.previews.claim() == asked
    preview.run_preview(None, asked)
    assert store.preview(asked) == {"status": "finished", "result": {"audit": key}, "error": None}
    audit = AuditStore(store.database).find(key)
    assert audit is not None and audit["code"] is None
    assert [one["attacker"] for one in audit["model"]["membership"]["attackers"]] == list(ATTACKERS)
