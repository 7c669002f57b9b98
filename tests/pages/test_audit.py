"""The Audit page: it asks a worker, waits, shows what attacks found in plain words, and the stored audits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.figures.audits import read_audit_results
from fairpriv_core.runs import preview
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.previews import Preview, name_request
from fairpriv_core.store.runs import RunStore, open_store
from tests.pages.shown import Open, buttons, charts, find_key, said, whole

ATTACKERS = ("LR", "MLP", "RF", "KNN")


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


def test_without_runs_the_stored_audits_are_shown(open_page: Open) -> None:
    page = open_page("audit", run="0123456789abcdef")
    assert not page.exception and "Train page" in said(page, "info")
    assert "that ε does not hold" in said(page, "markdown") and "one person's group" in said(page, "markdown")
    assert list(charts(page)) == ["audit_demonstration", "audit_catalogue"]


def test_a_click_asks_a_worker_once_and_the_page_waits_until_it_answers_or_is_cancelled(
    with_runs: Path, open_page: Open
) -> None:
    store = open_store()
    key = find_key(store, "pf_ld")
    page = open_page("audit", run=key)
    for then in ("cancelled", "failed"):
        page.button("do_audit").click().run()
        assert not page.exception and "Waiting for a worker" in said(page, "info")
        asked = store.previews.claim()
        assert asked == name_request({"audit": key, "runs": 1000, "seed": 0}) and store.previews.claim() is None
        assert "A worker is attacking" in said(open_page("audit", run=key), "info")
        if then == "cancelled":
            page.run()
            page.button("cancel_audit").click().run()
            assert store.previews.look(asked).status == "cancelled"
            assert not page.exception and "cancel_audit" not in {each.key for each in page.button}
    store.previews.finish(asked, error="the file <b> has changed.")
    assert "the file \\<b\\> has changed" in open_page("audit", run=key).error[0].value
    page = open_page("audit", run="0123456789abcdef")
    assert not page.exception and "0123456789abcdef" in said(page, "warning")
    assert page.selectbox("run_instead").value is None and "do_audit" not in buttons(page)
    page.selectbox("run_instead").set_value(key).run()
    assert page.selectbox("run").value == key and not page.warning


def test_an_audit_that_somebody_else_asked_for_is_not_offered_to_be_cancelled(with_runs: Path, open_page: Open) -> None:
    store = open_store()
    key = find_key(store, "pf_ld")
    RunStore(store.database, "somebody").previews.ask({"audit": key, "runs": 1000, "seed": 0})
    page = open_page("audit", run=key)
    assert "Waiting for a worker" in said(page, "info") and "Somebody else asked" in said(page, "caption")
    assert "cancel_audit" not in {each.key for each in page.button}


def test_an_audit_shows_bounds_shares_and_attacks_and_a_refuted_claim_is_a_warning(
    with_runs: Path, open_page: Open
) -> None:
    store = open_store()
    key = find_key(store, "pf_ld")
    audits = AuditStore(store.database)
    audits.keep(key, make_audit(key))
    page = whole(open_page("audit", run=key))
    assert not page.warning
    assert [item.label for item in page.metric] == [
        "Attacks show at least",
        "If only the noise can be wrong",
        "Proved: at most",
        "The paper's formula",
    ]
    assert set(page.dataframe[0].value["release"]) == {"counts", "dual", "sum"}
    drawn = charts(page)
    assert {"audit_bounds", "audit_membership", "audit_attribute"} <= set(drawn)
    assert all(chart["alt"] for chart in drawn.values())
    assert "Synthetic is public" in said(page, "caption") and "no proof" in said(page, "markdown")
    for flag, claim in (("refuted", "what is proved"), ("refuted_published", "paper's formula")):
        audits.keep(key, make_audit(key, **{flag: True}))
        [warning] = open_page("audit", run=key).warning
        assert "Refuted" in warning.value and claim in warning.value
    plain = find_key(store, "none")
    audits.keep(plain, {**make_audit(plain), "code": None})
    page = open_page("audit", run=plain)
    assert not page.exception and not page.metric and "not private" in said(page, "info"), "nothing to refute"


def test_a_worker_makes_the_audit_that_was_asked_for(with_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "live_with_parent", lambda: None)
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)
    store = open_store()
    key = find_key(store, "none")
    asked = store.previews.ask({"audit": key, "runs": 40, "seed": 0})
    assert store.previews.claim() == asked
    preview.run_preview(None, asked)
    assert store.previews.look(asked) == Preview("finished", {"audit": key})
    audit = AuditStore(store.database).find(key)
    assert audit is not None and audit["code"] is None
    assert [one["attacker"] for one in audit["model"]["membership"]["attackers"]] == list(ATTACKERS)
