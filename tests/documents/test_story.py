"""The story for stakeholders: five steps on numbers that are public or paid for, as a page, a sheet and slides."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from fairpriv_core.documents.chosen import choose_runs, cut_beside
from fairpriv_core.documents.forms import OF_STORY, forms_of, open_report
from fairpriv_core.documents.slides import can_write_slides, write_slides
from fairpriv_core.documents.story import Bars, CostCurve, Crowd, Lists, Odds, Story, build_story
from fairpriv_core.documents.story_page import write_story
from tests.documents.made_up import ADULT, PAID, Told, make_data, make_record, tell, tell_run
from tests.documents.test_policy import find_raw

RUNS = (
    tell_run("a" * 16, method="none", threat_model=None, epsilon=None, paid=False, data=ADULT),
    tell_run("b" * 16, data=ADULT),
    tell_run("c" * 16, method="dp_sgd", threat_model="record", data=ADULT),
)


def story_of(*runs: Told, choice: int = 1) -> Story:
    """Return the story of runs that are told of."""
    data = make_data(*runs)
    return build_story(choose_runs(data, "policy"), cut_beside(data, "policy"), choice)


def test_it_has_five_steps_with_one_number_and_one_picture_each() -> None:
    people, gap, privacy, costs, choice = story_of(*RUNS, choice=2).steps
    assert (people.number, people.unit) == ("4,000", "people")
    assert people.picture == (Crowd("50 of 100: women", 50), Crowd("50 of 100: men", 50))
    assert gap.title == "The gap today" and gap.number == "27.4"
    assert isinstance(gap.picture, Bars)
    assert [(bar.label, round(bar.share)) for bar in gap.picture.bars] == [("women", 42), ("men", 42)]
    assert isinstance(privacy.picture, Odds) and privacy.picture.sure == 74 and privacy.number == "74"
    assert isinstance(costs.picture, CostCurve) and [line.name for line in costs.picture.lines] == [
        "PF-LD, ε = 1",
        "DP-SGD, ε = 1",
    ]
    assert choice.title == "What we chose: PF-LD, ε = 1" and isinstance(choice.picture, Lists)
    assert "Only sex is protected, nothing else of a person." in dict(choice.picture.lists)["What is not covered"]
    assert all(step.notes for step in (people, gap, privacy, costs, choice))


def test_no_raw_number_of_own_data_is_in_it() -> None:
    runs = [tell_run("a" * 16), tell_run("b" * 16, method="none", threat_model=None, epsilon=None, paid=False)]
    for choice in (1, 2):
        text = repr(story := story_of(*runs, choice=choice)) + write_story(story)
        assert find_raw(text) <= {"accuracy", "constant"}
    gap = story_of(*runs).steps[1]
    assert gap.title == "The gap" and gap.number == f"{100 * PAID['gap']:.1f}" and "may not be shown" in gap.notes[0]


def test_what_may_not_be_shown_is_said_and_not_drawn() -> None:
    people, gap, privacy, costs, choice = story_of(tell_run(epsilon=None, paid=False)).steps
    assert isinstance(people.picture, Lists) and any("may not be shown" in note for note in people.notes)
    assert isinstance(gap.picture, Lists) and "private evaluation was off" in gap.sentence
    assert isinstance(privacy.picture, Odds) and privacy.picture.sure == 100 and isinstance(costs.picture, Lists)
    assert {step.number for step in (gap, costs, choice)} == {""}
    assert isinstance(choice.picture, Lists) and "Nothing is protected" in choice.picture.lists[1][1][0]


def test_a_paid_run_without_fairness_is_the_gap_before() -> None:
    """Where as much is protected."""
    unfair = tell_run("b" * 16, method="dp_sgd", threat_model="record")
    whole = tell_run(method="pf_ld_record", threat_model="record")
    gap = story_of(whole, unfair).steps[1]
    assert gap.title == "The gap without fairness" and gap.sentence.startswith(
        "Without fairness (DP-SGD, ε = 1), the gap"
    )
    assert story_of(tell_run(), unfair).steps[1].title == "The gap"


def test_a_cost_is_told_in_right_answers_and_a_gain_is_called_so() -> None:
    said = {}
    for accuracy in (0.80, 0.86):
        record = make_record("b" * 16, data=ADULT)
        record["metrics"]["accuracy"] = accuracy
        fair = tell(record)
        costs = story_of(RUNS[0], fair, choice=2).steps[3]
        said[accuracy] = (costs.number, costs.unit)
    assert said[0.80] == ("3.7", "fewer right answers in 100 than without protection")
    assert said[0.86] == ("2.3", "more right answers in 100 than without protection")


def test_names_stay_text() -> None:
    words = {"group": "<img src=x onerror=alert(1)>", "label": "</script><b>", "positive": "<i>yes"}
    page = write_story(story_of(tell_run(words=words)))
    assert "<img" not in page and "<i>yes" not in page and "</script><b>" not in page and "&lt;img" in page


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Open the story from a disk, offline."""
    path = tmp_path / "story.html"
    path.write_text(write_story(story_of(*RUNS, choice=2)), encoding="utf-8")
    opened = browser.new_page(offline=True)
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def shown(page: Page) -> str:
    return page.locator(".step:visible h2").inner_text()


def test_arrow_keys_move_it_and_light_one_line_at_a_time(page: Page) -> None:
    titles = [shown(page)]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        titles.append(shown(page))
    assert titles == ["Who is decided about, and how", "The gap today", "What privacy means", "What it costs"]
    for lit in (1, 2):
        page.keyboard.press("ArrowRight")
        assert shown(page) == "What it costs"
        assert page.locator("g.line.on .mark").all_text_contents() == [str(lit)]
        assert page.locator("li.line:visible").count() == 1
    page.keyboard.press("ArrowRight")
    assert shown(page).startswith("What we chose")
    page.keyboard.press("ArrowRight")
    assert page.locator("#place").inner_text() == "5 of 5"
    page.keyboard.press("ArrowLeft")
    assert shown(page) == "What it costs" and page.locator("g.line.on").count() == 0


def test_notes_show_with_n_and_the_slider_moves_the_dots(page: Page) -> None:
    assert page.locator(".notes:visible").count() == 0
    page.keyboard.press("n")
    assert "The model learned from 3,000 people" in page.locator(".notes:visible").inner_text()
    page.locator("#on").click()
    page.locator("#on").click()
    before = page.locator("#odds .lit").count()
    page.locator("#slider").fill("0.7")
    assert (before, page.locator("#odds .lit").count()) == (24, 50)
    assert page.locator("#epsilon").inner_text() == "5.01" and page.locator("#sure").inner_text() == "100"


def test_the_summary_is_one_page(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    report = open_report(make_data(*RUNS), "policy", choice=2)
    content = forms_of(report)["summary"].make(report, lambda said: None)
    assert content.startswith(b"%PDF") and re.findall(rb"/Type /Pages\s*/Count (\d+)", content) == [b"1"]
    title = codecs.BOM_UTF16_BE + report.story.title.encode("utf-16-be")
    assert f"/Title <{title.hex()}>".encode() in content and b"Mozilla" not in content and b"Date" not in content


def test_its_forms_are_named_together() -> None:
    forms = forms_of(open_report(make_data(*RUNS), "analyst"))
    assert set(OF_STORY) - set(forms) <= {"pptx"}
    assert ("pptx" in forms) == can_write_slides()


def test_slides_have_shapes_and_notes() -> None:
    pptx = pytest.importorskip("pptx")
    story = story_of(*RUNS, choice=2)
    content = write_slides(story)
    opened = pptx.Presentation(io.BytesIO(content))
    slides = list(opened.slides)
    texts = [" ".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame) for slide in slides]
    assert len(slides) == 5 and "45" not in texts[0] and "4,000" in texts[0] and "What is not covered" in texts[4]
    assert any(shape.has_chart for shape in slides[3].shapes) and slides[0].notes_slide.notes_text_frame.text
    about, files = opened.core_properties, zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert (about.title, about.author, about.last_modified_by, about.created) == (story.title, "fairpriv", "", None)
    assert not {"docProps/app.xml", "docProps/thumbnail.jpeg"} & set(files)
