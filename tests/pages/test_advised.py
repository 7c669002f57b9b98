"""Recommended on Train: two questions, no answer taken for granted, and the run that follows names who chose."""

from __future__ import annotations

from fairpriv_core.records.advice import ADVISER
from fairpriv_core.records.parameters import read_method
from fairpriv_core.store.runs import open_store
from tests.pages.shown import Open, buttons, said


def test_nothing_is_recommended_before_the_person_says_what_must_stay_secret(open_page: Open) -> None:
    page = open_page("train", method="auto")
    assert "launch" not in buttons(page) and "a method is recommended" in said(page)
    for protect in ("attribute", "record"):
        page.button_group("protect").set_value(protect).run()
        assert not page.exception and "Recommended: " in said(page)
        page.button("launch").click().run()
        config = open_store().rows()[0].config
        assert config["adviser"] == ADVISER
        assert read_method(config["method"]).info.threat_model == protect
    page.toggle("by_group").set_value(True).run()
    assert not page.exception and "If the group may be known" not in said(page)
    page.selectbox("method").set_value("pf_ld").run()
    page.button("launch").click().run()
    assert "adviser" not in open_store().rows()[0].config
