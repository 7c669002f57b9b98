"""A run's audit on the page: asking for it, waiting for it, and what it found in plain words."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.problem import DataJson
from fairpriv_core.figures.audits import (
    ASSUMED,
    CURVE,
    at_own_delta,
    attribute_bars,
    best_lower_bound,
    bound_bars,
    catalogue_bars,
    curve_bound,
    demonstration_bars,
    membership_bars,
    read_audit_results,
)
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.privacy.explain import odds, odds_shown
from fairpriv_core.records.audit import (
    NOTHING_TO_GUESS,
    AuditResults,
    CodeAudit,
    Demonstration,
    Distinguishing,
    ModelAudit,
)
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import at_least_text, count_text, epsilon_text
from pages.widgets.shared.charts import show_figure, show_origin
from pages.widgets.shared.polling import look, poll
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import draw_list

_POLL_SECONDS = 1.0
_EFFORTS = {200: "a short look (200 runs on each data set)", 1000: "the usual (1,000)", 4000: "hard (4,000)"}


def show_stored() -> None:
    """Draw the stored demonstration and the catalogue's audits, and what makes them again."""
    results = _read()
    st.header("Can an audit catch a wrong ε?", anchor=False)
    _show_demonstration(results["demonstration"])
    st.header("Every private method, attacked", anchor=False)
    show_figure(catalogue_bars(results["methods"]), "audit_catalogue")
    with st.expander("How these audits were made", key="audit_made"):
        days = sorted(audit["made"] for audit in results["methods"])
        st.markdown(f"Made from {plain(days[0])} to {plain(days[-1])}. This makes them again, with the same numbers:")
        st.code(results["command"], language="sh")
        st.json(results["settings"], expanded=False)


def _show_demonstration(demonstration: Demonstration) -> None:
    published, proved = at_own_delta(demonstration["published"]), at_own_delta(demonstration["proved"])
    claimed, bound = epsilon_text(published["epsilon_published"]), at_least_text(published["lower_bound"])
    st.markdown(
        f"Yes. The paper states ε = {claimed} for PF-LD. On two tables that differ in **one person's group** attacks "
        f"show at least **{bound}**, with {100 * demonstration['published']['confidence']:g} % confidence. So that ε "
        f"does not hold. On our proved variant they show {at_least_text(proved['lower_bound'])}."
    )
    show_figure(demonstration_bars(demonstration), "audit_demonstration")
    with st.expander("The two tables and the settings", key="audit_pair"):
        st.markdown(plain(demonstration["pair"]))
        st.json(
            {"published": demonstration["published"]["method"], "proved": demonstration["proved"]["method"]},
            expanded=False,
        )


@st.cache_data
def _read() -> AuditResults:
    return read_audit_results()


def show_audit(store: RunStore, row: RunRow) -> None:
    """Draw the audit of a finished run, or offer to make it."""
    audit = attempt(lambda: AuditStore(store.database).find(row.key))
    _offer(store, row, again=audit is not None)
    if audit is not None:
        if audit["code"] is None:
            st.info("This method is not private: there is no ε for an attack to test.")
        else:
            _show_code(audit["code"], audit["made"][:10])
        if audit["model"] is not None:
            _show_model(audit["model"], row.config["data"])


def _offer(store: RunStore, row: RunRow, *, again: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="audit_offer"):
        runs = draw_list("audit_runs", "How hard to try", _EFFORTS, _EFFORTS.__getitem__, 1000, width=340)
        idle = not store.database.writable
        label = "Audit once more" if again else "Audit this run"
        clicked = st.button(label, key="do_audit", type="primary", icon=":material/policy:", disabled=idle)
    if clicked:
        attempt(lambda: store.previews.ask(_request(row, runs)))
    efforts = [runs, *(effort for effort in _EFFORTS if effort != runs)]
    for key in (name_request(_request(row, effort)) for effort in efforts):
        if look(store, key).waits:
            poll(_wait, store, key, every=_POLL_SECONDS)
            return
    answer = look(store, name_request(_request(row, runs)))
    if answer.error:
        st.error(plain(f"The audit could not be made: {answer.error}"), icon=":material/error:")


def _request(row: RunRow, runs: int) -> dict[str, object]:
    return {"audit": row.key, "runs": runs, "seed": 0}


def _wait(store: RunStore, key: str) -> None:
    """Say how far the audit is; once it is done draw the whole page, which then has the result."""
    answer = look(store, key)
    if not answer.waits:
        st.rerun()
    if answer.status == "queued":
        st.info("Waiting for a worker.", icon=":material/hourglass_empty:")
    else:
        st.info(
            "A worker is attacking: it trains this method many times on made-up data, then queries the model. "
            "This takes a minute or more. You may leave the page; the result is stored with the run.",
            icon=":material/policy:",
        )
    if not store.previews.is_own(key):
        st.caption("Somebody else asked for it first, so only they can cancel it.")
    elif st.button("Cancel", key="cancel_audit", icon=":material/stop:", disabled=not store.database.writable):
        attempt(lambda: store.previews.cancel(key))
        st.rerun()


def _show_code(code: CodeAudit, day: str) -> None:
    attack = code["distinguishing"]
    first = at_own_delta(attack)
    st.header("What do attacks on the method show?", anchor=False)
    with st.container(horizontal=True, gap="medium", key="audit_numbers"):
        st.metric("Attacks show at least", f"ε = {at_least_text(best_lower_bound(code))}", width=200)
        if (curve := curve_bound(attack)) is not None:
            st.metric(CURVE, f"ε = {at_least_text(curve)}", width=220, help=ASSUMED)
        of_these = "This is the ε of the attacked releases, on a few made-up rows. The run has its own."
        st.metric("Proved: at most", _claim(first["epsilon"]), width=200, help=of_these)
        hint = "The ε that the paper's accounting gives for the same noise. It need not hold."
        st.metric("The paper's formula", _claim(first["epsilon_published"]), width=200, help=hint)
    _judge(attack)
    _show_odds(best_lower_bound(code), first["epsilon"])
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(bound_bars(code), "audit_bounds")
    with right:
        _show_reach(code)
    epochs = f" and {count_text(code['method']['epochs'], 'epoch')}" if "epochs" in code["method"] else ""
    st.caption(
        f"The attacks ran this run's method, with its noise, on {code['rows']:,} made-up rows{epochs}, where leaks "
        "show best. The ε here is that of these releases, not of the run. "
        f"Made {plain(day)}, seed {code['plan']['seed']:d}."
    )


def _claim(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"ε = {epsilon_text(epsilon)}"


def _show_odds(bound: float, proved: float | None) -> None:
    """Say both ends as odds."""
    certain = proved is None or odds(proved) > 99
    limit = "near certainty" if certain else f"more than {odds(proved or 0.0)} %"
    st.markdown(
        "Someone guessing 50:50 about one person, who sees every release, can become at least "
        f"{odds_shown(bound)} % certain. The proof {'does not rule' if certain else 'rules'} out {limit}."
    )


def _judge(attack: Distinguishing) -> None:
    sure = f"{100 * attack['confidence']:g} %"
    for refuted, claim in ((attack["refuted"], "what is proved"), (attack["refuted_published"], "the paper's formula")):
        if refuted:
            st.warning(f"**Refuted:** the attacks exceed {claim}, with {sure} confidence.", icon=":material/gavel:")
    if not attack["refuted"] and at_own_delta(attack)["epsilon"] is not None:
        st.markdown(
            "The attacks stay within what is proved. That is no proof: other attacks, or more runs, may show more. "
            "A small lower bound means that these attacks found little."
        )


def _show_reach(code: CodeAudit) -> None:
    st.markdown("**What one person changes in each release**, as a share of what the accounting allows")
    rows = [
        {
            "release": release["release"],
            "share of the bound": f"{100 * release['largest']:.2f} %",
            "within": "yes" if release["largest"] <= 1 + 1e-9 else "NO",
            "measured": release["measured"],
        }
        for release in code["reach"]
    ]
    if rows:
        st.dataframe(rows, hide_index=True, key="audit_reach", alt="How much one person adds to each kind of release.")
    noise = code["noise"]
    if noise is not None:
        st.caption(
            f"The noise is {100 * noise['deviation']:.2f} % of what the accounting assumes "
            f"({100 * noise['low']:.2f} to {100 * noise['high']:.2f} %, measured on {noise['values']:,} values)."
        )


def _show_model(model: ModelAudit, data: DataJson) -> None:
    st.header("What do the trained model's answers reveal?", anchor=False)
    show_origin(data)
    left, right = st.columns(2, gap="medium")
    origin = find_origin([data], tell=False)
    with left:
        show_figure(membership_bars(model["membership"], origin), "audit_membership")
    with right:
        if model["attribute"] is None:
            st.info(NOTHING_TO_GUESS, icon=":material/info:")
        else:
            show_figure(attribute_bars(model["attribute"], origin), "audit_attribute")
