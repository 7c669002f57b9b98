"""The audit of a stored run: what it answers, that it is stored, repeats and goes with the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from fairpriv_core.cli.main import cli
from fairpriv_core.cli.terminal import format_audit
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.jagielski_post import JagielskiPost
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.audit import AuditPlan, audit_method, audit_once, audit_run, proved, shorten, with_fields
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

Configure = Callable[..., RunConfig]
PLAN = AuditPlan(runs=40, changes=6, canaries=40, rows=800)

STORED = {
    "key": "0123456789abcdef",
    "made": "2026-11-20T10:00:00+00:00",
    "code": None,
    "model": {
        "membership": {
            "attackers": [{"attacker": "LR", "auc": 0.51, "advantage": 0.02}],
            "chance": 0.06,
            "limit": None,
        },
        "attribute": {"attackers": [{"attacker": "LR", "baseline": 0.7, "accuracy": 0.71}], "sensitive": "group"},
        "note": "raw",
    },
}


@pytest.fixture(autouse=True)
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the four attackers learn from few records, and methods train for few epochs."""
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)
    monkeypatch.setattr("fairpriv_core.runs.audit._EPOCHS", (2, 3))


def silent(_: str) -> None:
    """Say nothing."""


def finish(store: RunStore, config: RunConfig) -> str:
    work = WorkStore(store.database)
    [claim] = work.claim(store.submit(config).key)
    work_on(work, [claim])
    return claim.key


def test_an_audit_is_stored_with_the_run(local: RunStore, configure: Configure) -> None:
    key = finish(local, configure("pf_ld"))
    said: list[str] = []
    made = audit_once(local, key, PLAN, said.append, again=False)
    assert AuditStore(local.database).find(key) == made
    assert audit_once(local, key, PLAN, said.append, again=False) == made
    assert "nothing ran" in said[-1]
    code = made["code"]
    assert {one["release"] for one in code["reach"]} == {"counts", "dual", "sum"}
    assert all(one["largest"] <= 1.0 + 1e-9 for one in code["reach"])
    first = code["distinguishing"]["profile"][0]
    assert first["epsilon"] == pytest.approx(epsilon(from_json(code["event"]), 1e-5))
    assert 0.0 <= first["lower_bound"] <= first["epsilon"]
    assert code["one_run"]["lower_bound"] <= code["one_run"]["epsilon"]
    assert not code["distinguishing"]["refuted"]
    record = local.record(key)
    assert record is not None and made["run"]["epsilon"] == record.epsilon
    assert len(made["model"]["membership"]["attackers"]) == len(made["model"]["attribute"]["attackers"]) == 4
    told = format_audit(made)
    for words in (
        "lower bound",
        "99 % sure, corrected for 5 tests",
        "not refuted",
        "whole curve",
        "within",
        "epsilon does not cover",
    ):
        assert words in " ".join(told.split())
    local.delete(key)
    assert AuditStore(local.database).find(key) is None


def test_a_method_that_is_not_private_has_its_model_attacked_alone(local: RunStore, configure: Configure) -> None:
    made = audit_run(local, finish(local, configure("none")), PLAN, silent)
    assert made["code"] is None
    assert made["model"]["membership"]["limit"] is None
    assert "promises nothing" in format_audit(made)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_a_record_method_says_what_epsilon_allows_an_attacker(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairpriv_core.runs.audit.audit_method", lambda method, **told: {"new": True})
    key = finish(local, configure("dp_sgd"))
    AuditStore(local.database).keep(key, {"code": {"new": False}})
    made = audit_once(local, key, PLAN, silent, again=True)
    assert made["code"] == {"new": True}
    assert AuditStore(local.database).find(key) == made
    assert made["model"]["membership"]["limit"] == pytest.approx(0.462, abs=0.01)


def test_the_command_prints_a_stored_audit_as_one_document(local: RunStore, configure: Configure) -> None:
    key = local.submit(configure("none")).key
    AuditStore(local.database).keep(key, STORED)
    said = CliRunner().invoke(cli, ["audit", key, "--json"])
    assert (said.exit_code, json.loads(said.stdout)) == (0, STORED)
    assert "nothing ran" in said.stderr
    told = CliRunner().invoke(cli, ["audit", key]).stdout
    assert "LR 0.510 / 0.020" in told and "group named rightly: LR 0.710 (0.700)" in told
    assert CliRunner().invoke(cli, ["audit", key, "--runs", "3"]).exit_code == 2


def test_a_worker_that_is_still_at_it_keeps_its_claim(local: RunStore) -> None:
    asked = local.previews.ask({"audit": "0123456789abcdef", "runs": 1000, "seed": 0})
    assert local.previews.claim() == asked
    for status, extended in (("running", True), ("queued", False)):
        with local.database.write() as connection:
            connection.exec_driver_sql("update preview set lease_expires = 1, worker = 'elsewhere:1:1'")
        if extended:
            local.previews.extend(asked)
        local.previews.recover()
        assert local.previews.look(asked).status == status


def test_a_run_that_has_not_finished_is_refused(local: RunStore, configure: Configure) -> None:
    key = local.submit(configure("none")).key
    with pytest.raises(BadInput, match=r"is queued; only a finished run can be audited"):
        audit_run(local, key, PLAN, silent)
    with pytest.raises(BadInput, match="no run 'nobody'"):
        audit_once(local, "nobody", PLAN, silent, again=False)


def test_more_rows_are_tried_where_groups_are_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def audit(method: object, notion: str, delta: float, plan: AuditPlan, report: object) -> dict[str, int]:
        tried.append(plan.rows)
        if plan.rows < 1600:
            raise RunFailed("group A has 12 noisy records.")
        return {"rows": plan.rows}

    monkeypatch.setattr("fairpriv_core.runs.audit._audit", audit)
    method = PfLd(gap_target=None)
    told = {"notion": "demographic_parity", "delta": 1e-5, "report": silent}
    assert audit_method(method, plan=AuditPlan(rows=400), **told)["rows"] == 1600  # type: ignore[arg-type]
    assert tried == [400, 800, 1600]


def test_the_schedule_keeps_the_noise_and_a_telling_epsilon() -> None:
    method = PfLd(gap_target=None).calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    brief = shorten(method, 400, 1e-5)
    assert isinstance(brief, PfLd)
    assert (brief.noise_primal, brief.noise_dual) == (method.noise_primal, method.noise_dual)
    found = proved(brief, 400, 1e-5)
    assert found is not None and found <= 8.1
    assert proved(with_fields(brief, epochs=brief.epochs + 8), 400, 1e-5) > found  # type: ignore[operator]


def test_a_long_warm_up_does_not_leave_an_audit_without_releases() -> None:
    method = PfLd(epochs=60, warmup_epochs=40, gap_target=None).calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    brief = shorten(method, 400, 1e-5)
    assert isinstance(brief, PfLd) and brief.pursues


@pytest.mark.parametrize("given", [{"epochs": 1}, {"epochs": 3, "warmup_epochs": 3}, {"multiplier_max": 0.0}])
def test_a_method_that_pursues_nothing_is_audited_for_what_it_releases(given: dict[str, Any]) -> None:
    method = with_fields(PfLd(gap_target=None), **given).calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    plan = AuditPlan(runs=40, canaries=40, changes=2, together=20)
    found = audit_method(method, notion="demographic_parity", delta=1e-5, plan=plan, report=silent)
    assert found["event"] and not found["distinguishing"]["refuted"]


def test_a_field_that_a_method_has_not_is_left_out() -> None:
    method = JagielskiPost(noise_counts=0.5)
    assert with_fields(method, sampling_rate=0.4, epochs=3) == JagielskiPost(noise_counts=0.5, epochs=3)
