"""What policy is shown: no raw number in any form of a report, and a reason for each that is left out."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from fairpriv_core.documents.document import (
    AUDIENCES,
    DETAILS,
    NOTICES,
    Audience,
    Bullets,
    Document,
    Part,
    Section,
    TablePart,
    show_cell,
)
from fairpriv_core.documents.forms import Report, forms_of, open_report, write_image, write_runs
from fairpriv_core.documents.markdown import escape, write_markdown
from fairpriv_core.figures.draw import draw
from fairpriv_core.figures.figure import Axis, FigureData
from fairpriv_core.figures.origin import ALL_RAW
from fairpriv_core.records import record
from tests.documents.made_up import ADULT, PAID, RAW, SIZE, Told, make_data, make_record, tell, tell_run

LIBRARY = files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
NOISY = ("html", "tables", "toml", "ipynb", "md")
#: what is public of a run that protects the sensitive attribute alone and does not look at it to predict
PUBLIC = {"accuracy", "constant"}


def read_form(report: Report, name: str) -> str:
    """Return a form as text: without the drawing library, and of a ZIP every member."""
    content = forms_of(report)[name].make(report, lambda said: None)
    if content[:2] != b"PK":
        return content.decode().replace(LIBRARY, "")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "\n".join(archive.read(member).decode() for member in archive.namelist())


def read_all(report: Report) -> str:
    """Return every form that holds text, and the report as data."""
    return "\n".join(
        [*(read_form(report, name) for name in NOISY), write_runs(report.chosen, report.audience), repr(report)]
    )


def find_raw(text: str, *, but: tuple[str, ...] = ()) -> set[str]:
    """Return the names of raw numbers that stand in `text`, as a share, in per cent, long or rounded."""
    found = {
        name
        for name, value in RAW.items()
        for shown in (f"{value:.4f}", f"{value:.5f}"[:-1], f"{100 * value:.2f}", f"{100 * value:.4f}"[:-2])
        if name not in but and re.search(rf"(?<!\d){re.escape(shown)}", text)
    }
    return found | ({"size"} if re.search(rf"{SIZE}|{SIZE:,}", text) else set())


def report_on(*runs: Told, audience: Audience = "policy") -> Report:
    """Return a report on runs that are told of."""
    return open_report(make_data(*runs), audience)


def make_six() -> list[dict[str, Any]]:
    """Return the records of runs that are paid for or not, with a proved ε or without one."""
    return [
        make_record("a" * 16),
        make_record("b" * 16, method="dp_sgd", threat_model="record"),
        make_record("c" * 16, method="dp_sgd", threat_model="record", paid=False, delta=1e-6),
        make_record("d" * 16, method="none", threat_model=None, epsilon=None, paid=False),
        make_record("e" * 16, method="pf_ld", epsilon=None, split="official"),
        make_record("f" * 16, method="pf_ld", epsilon=None, replay_noise=3),
    ]


def test_no_raw_number_reaches_policy_in_any_form() -> None:
    first, *records = make_six()
    for index, own in enumerate(records):
        own["metrics"] |= {"accuracy": 0.59371 + index / 100, "constant_accuracy": 0.69371 + index / 100}
    text = read_all(report_on(*map(tell, (first, *records))))
    assert find_raw(text) == PUBLIC
    assert not re.search(r"0\.[56]\d371|[56]\d\.37", text)
    assert f"{100 * PAID['gap']:.2f}" in text and f"{100 * PAID['accuracy']:.2f}" in text


def test_of_a_public_data_set_policy_sees_exact_numbers_and_what_they_were_without_fairness() -> None:
    runs = [
        tell_run("a" * 16, data=ADULT, paid=False),
        tell_run("b" * 16, data=ADULT, method="dp_sgd", epsilon=None, paid=False),
    ]
    found = make_data(*runs)
    plain = replace(found.references[0], config={**runs[0].config, "epsilon": None})
    text = read_all(open_report(replace(found, references=(plain,)), "policy"))
    shown = find_raw(text)
    assert shown >= {"accuracy", "gap", "reference_gap"} and not shown & {"curve", "membership", "inferred"}
    assert "No fairness number" not in text and "is public data" in text


def test_six_settings_take_at_most_600_words_before_the_details() -> None:
    document = report_on(*map(tell, make_six())).document
    first = [section.title for section in document.sections].index(DETAILS)
    said = [document.title, document.notice, *(section.title for section in document.sections[:first])]
    said += [text for section in document.sections[:first] for part in section.parts for text in read_part(part)]
    assert 200 < len(" ".join(said).split()) <= 600


def test_the_details_are_folded_on_the_screen() -> None:
    text = read_form(report_on(tell_run()), "html")
    assert text.index("In short") < text.index('<details class="more">') < text.index("What was asked")
    assert 'class="more"' not in read_form(report_on(tell_run(), audience="analyst"), "html")


def test_the_search_finds_raw_numbers_where_they_are() -> None:
    found = find_raw(read_all(report_on(tell_run(), audience="analyst")))
    assert found >= {"accuracy", "gap", "positive_rate", "curve", "curve_gap", "advantage", "inferred", "low", "size"}


def test_images_for_policy_hold_no_raw_number(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    drawn = write_image(report_on(tell_run(threat_model="record", method="dp_sgd")), "svg").decode()
    assert not find_raw(drawn) and "Demographic parity gap" in drawn


def test_accuracy_is_public_only_where_the_attribute_alone_is_protected_and_unused() -> None:
    cases = {
        "attribute": tell_run(paid=False),
        "record": tell_run(threat_model="record", method="dp_sgd", paid=False),
        "unproved": tell_run(epsilon=None, paid=False),
        "replayed": tell_run(epsilon=None, paid=True, replay_noise=1),
        "not private": tell_run(method="none", threat_model=None, epsilon=None, paid=False),
    }
    looking = tell_run(method="jagielski_post", paid=False)
    shown = {}
    for name, told in {**cases, "looks at the attribute": looking}.items():
        first = report_on(told).chosen[0].first
        shown[name] = first.accuracy and first.accuracy.value, first.gap
    assert shown.pop("attribute") == (RAW["accuracy"], None)
    assert set(shown.values()) == {(None, None)}


def test_public_accuracy_without_a_paid_gap_stands_over_epsilon() -> None:
    report = report_on(tell_run(paid=False))
    text = read_all(report)
    assert find_raw(text) == PUBLIC
    figure = next(each for each in report.document.figures if each.name == "chosen_trade_off")
    assert figure.x.title == "Privacy budget ε" and not figure.raw
    paid = next(each for each in report_on(tell_run()).document.figures if each.name == "chosen_trade_off")
    assert paid.x.with_zero and draw(paid)["layout"]["xaxis"]["range"][0] < 0


def test_what_is_left_out_is_said_with_its_reason() -> None:
    report = report_on(
        tell_run("a" * 16), tell_run("b" * 16, threat_model="record", method="dp_sgd", paid=False, delta=1e-6)
    )
    section = next(each for each in report.document.sections if each.title.startswith("What is left out"))
    listed = next(part for part in section.parts if isinstance(part, Bullets)).items
    assert any(item.startswith("Run 2: Launched without a private evaluation") for item in listed)
    assert any(item.startswith("Run 2: Accuracy depends on protected data") for item in listed)
    assert not any(item.startswith("Run 1: ") for item in listed)


def test_only_the_analyst_sees_curves_and_attacks_on_the_model() -> None:
    names = {
        audience: {figure.name for figure in report_on(tell_run(), audience=audience).document.figures}
        for audience in ("analyst", "policy")
    }
    assert names["analyst"] > {"overlay_accuracy", "audit_membership_1", "audit_attribute_1", "audit_bounds_1"}
    assert names["policy"] == {"epsilon_dots", "chosen_trade_off", "groups_paid_positive_rate", "audit_bounds_1"}
    assert not any(figure.raw for figure in report_on(tell_run()).document.figures)


def test_a_files_place_is_not_told() -> None:
    data = {
        "dataset": None,
        "file": "/srv/janedoe/secret/people.csv",
        "label": "y",
        "positive": None,
        "sensitive": "s",
    }
    text = read_all(report_on(tell_run(data=data)))
    assert "janedoe" not in text and 'file = "people.csv"' in text


def list_texts(report: Report, title: str) -> list[str]:
    """Return the sentences and cells of one section."""
    section = next(each for each in report.document.sections if each.title == title)
    return [text for part in section.parts if not isinstance(part, FigureData) for text in read_part(part)]


def read_part(part: Part) -> list[str]:
    """Return the sentences and rows of one part, of a figure its caption."""
    if isinstance(part, Bullets):
        return list(part.items)
    if isinstance(part, TablePart):
        return [*(" ".join(map(show_cell, row)) for row in part.rows), part.text]
    return [part.text]


COSTS = "What it costs in accuracy, and how fair it is"


def test_accuracies_are_exact_where_public_and_say_so_where_they_carry_noise() -> None:
    twins = [
        tell_run("a" * 16),
        tell_run("b" * 16, paid=False),
        tell_run("c" * 16, method="dp_sgd", threat_model="record"),
    ]
    first, second, third, *_ = list_texts(report_on(*twins), COSTS)
    exact, noisy = f"{100 * RAW['accuracy']:.2f} 2.29", f"{100 * PAID['accuracy']:.2f} with noise"
    assert exact in first and exact in second and noisy in third
    assert "with noise" not in second and first.count("with noise") == 1


def test_the_analyst_is_warned_of_what_may_not_be_published_and_of_nothing_else() -> None:
    public, protected = tell_run("a" * 16), tell_run("b" * 16, method="dp_sgd", threat_model="record")
    for runs, said in (
        ([public], record.RAW_BUT_ACCURACY),
        ([protected], record.RAW),
        ([public, protected], "But the accuracy of Run 1 may be published"),
    ):
        report = report_on(*runs, audience="analyst")
        assert said in list_texts(report, "What came out")[-1]
        figure = next(each for each in report.document.figures if each.name == "chosen_trade_off")
        assert said in figure.text
    text = read_form(report_on(public, audience="analyst"), "md")
    assert "Accuracy may be published" in text
    assert text.count(escape(record.RAW)) == 1  # below the groups' rates, of which it is true


def test_a_report_on_rows_that_everybody_has_says_once_whose_they_are() -> None:
    """To the analyst, and in no figure or table; runs on one's own rows beside them keep their marks."""
    report = report_on(tell_run(data=ADULT), audience="analyst")
    text = read_form(report, "md").replace("\\", "")
    assert text.count("Adult (census income) is public.") == 1 and "publish" not in text
    assert report.document.figures and not any(each.raw for each in report.document.figures)
    both = report_on(tell_run(data=ADULT), tell_run("b" * 16), audience="analyst")
    assert "Do not publish" in both.document.notice and any(each.raw for each in both.document.figures)


def test_what_all_runs_on_the_people_have_cost_stands_in_a_report_on_one() -> None:
    for audience in AUDIENCES:
        said = list_texts(report_on(tell_run(), audience=audience), "What privacy promises")
        assert any(text.startswith("Each ε above is of one run alone.") for text in said)
        assert any("up to 2026-01-05 (UTC)" in text for text in said)
        assert "adult sex 41 7.31 1 in 100,000" in said
        assert "adult whole records 41 no bound 1 in 100,000" in said
        assert "No bound for whole records: run x has none." in said


def test_what_is_not_promised_is_said() -> None:
    runs = [tell_run(), tell_run("b" * 16, method="dp_sgd", threat_model="record"), tell_run("c" * 16, epsilon=None)]
    said = list_texts(report_on(*runs), "What is not promised")
    assert said[0].startswith("Run 1: Whole records: only sex is protected.")
    assert said[1].startswith("Run 1: Other columns may give the protected attribute away")
    assert said[2] == "Run 3: Nothing is promised: no ε is proved."
    assert "does not say that the model is fair" in said[3] and "The choice of these runs" in said[4]


def test_accuracy_has_something_to_be_held_against_and_a_missing_gap_its_reason() -> None:
    runs = [tell_run(), tell_run("b" * 16, method="dp_sgd", threat_model="record", paid=False)]
    report = report_on(*runs)
    said = list_texts(report, COSTS)
    assert f"always the same answer (Run 1) {100 * RAW['constant']:.2f} – – – –" in said
    assert any(text.startswith("A run without privacy and fairness is not shown") for text in said)
    assert any(text.startswith("No fairness number of Run 2 may be shown") for text in said)
    figure = next(each for each in report.document.figures if each.name == "chosen_trade_off")
    assert [mark.value for mark in figure.references] == [pytest.approx(100 * RAW["constant"], abs=0.01)]
    assert "Not drawn, since they lack a number that this needs: Run 2." in figure.caption
    assert not any("always the same" in text for text in list_texts(report_on(runs[1]), COSTS))
    shown = list_texts(report_on(runs[0], audience="analyst"), "What came out")
    assert any("for reference" in text and f"{100 * RAW['reference_gap']:.2f}" in text for text in shown)


def test_an_exact_accuracy_has_whiskers_over_the_test_rows() -> None:
    for paid in (False, True):
        [figure] = [each for each in report_on(tell_run(paid=paid)).document.figures if each.name == "chosen_trade_off"]
        assert "Whiskers: 95 %" in figure.caption and bool(figure.series[0].x_low) is paid
        assert figure.series[0].low[0] == pytest.approx(81.3, abs=0.1)


def test_the_methods_own_terms_and_listings_stand_in_the_appendix() -> None:
    told = tell_run()
    own = replace(told.method, summary="Lagrangian duality", citation="Tran, eq. 8")
    told = replace(told, method=own, assumptions=("A neighbouring data set differs.",))
    report = report_on(told)
    places = [section.title for section in report.document.sections]
    before = report.document.sections[: places.index("Appendix")]
    after = places[places.index("Appendix") :]
    text = write_markdown(replace(report.document, sections=before))
    for term in ("Lagrangian", "eq. 8", "accounting", "neighbouring", "```"):
        assert term not in text, term
    assert "The method's paper computes a smaller number; we show the one that is proved" in text.replace("\\", "")
    assert after[-1] == "How to repeat it" and "What is assumed" in after
    assert "their sum need not be 1,000" in text


def test_a_report_for_policy_takes_no_raw_part_wherever_it_comes_from() -> None:
    figure = FigureData("one", "One", Axis("x"), (), (), "Shown.", "Said.", origin=ALL_RAW)
    for part in (figure, TablePart(("x",), (), origin=ALL_RAW)):
        assert Document("Of one", "analyst", (Section("One", (part,)),)).notice == NOTICES["analyst"]
        with pytest.raises(ValueError, match="holds 1 raw"):
            Document("Of one", "policy", (Section("One", (part,)),))
