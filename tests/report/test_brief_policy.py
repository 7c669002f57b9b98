"""What policy is shown: no raw number in any form of a report, and a reason for each that is left out."""

from __future__ import annotations

import io
import re
import zipfile
from importlib.resources import files

import pytest

from fairpriv_core.report.brief import Audience, Bullets
from fairpriv_core.report.brief_forms import Report, forms_of, open_report, write_image
from fairpriv_core.report.brief_numbers import read_paid
from fairpriv_core.report.brief_tables import write_runs
from tests.report.handouts import PAID, RAW, SIZE, make_handout, tell_run

LIBRARY = files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
NOISY = ("html", "tables", "toml", "ipynb", "md")


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


def report_on(*runs: dict[str, object], audience: Audience = "policy") -> Report:
    """Return a report on runs that are told of."""
    return open_report(make_handout(*runs), audience)


def test_no_raw_number_reaches_policy_in_any_form() -> None:
    runs = [
        tell_run("a" * 16),
        tell_run("b" * 16, method="dp_sgd", threat_model="record"),
        tell_run("c" * 16, method="dp_sgd", threat_model="record", paid=False, delta=1e-6),
        tell_run("d" * 16, method="none", threat_model=None, epsilon=None, paid=False),
        tell_run("e" * 16, method="pf_ld", epsilon=None, split="official"),
        tell_run("f" * 16, method="pf_ld", epsilon=None, replay_noise=3),
    ]
    text = read_all(report_on(*runs))
    assert not find_raw(text)
    assert f"{100 * PAID['gap']:.2f}" in text and f"{100 * PAID['accuracy']:.2f}" in text


def test_the_search_finds_raw_numbers_where_they_are() -> None:
    found = find_raw(read_all(report_on(tell_run(), audience="analyst")))
    assert found >= {"accuracy", "gap", "positive_rate", "curve", "curve_gap", "advantage", "inferred", "low", "size"}


def test_images_for_policy_hold_no_raw_number(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    drawn = write_image(report_on(tell_run()), "svg").decode()
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
    looking["method"]["needs_group_at_prediction"] = True
    shown = {}
    for name, told in {**cases, "looks at the attribute": looking}.items():
        chosen = report_on(told).chosen[0]
        shown[name] = read_paid(chosen.first, "accuracy"), read_paid(chosen.first, "demographic_parity_gap")
    assert shown.pop("attribute") == (RAW["accuracy"], None)
    assert set(shown.values()) == {(None, None)}


def test_public_accuracy_without_a_paid_gap_stands_over_epsilon() -> None:
    report = report_on(tell_run(paid=False))
    text = read_all(report)
    assert find_raw(text) == {"accuracy"}
    figure = next(each for each in report.brief.figures if each.name == "chosen_trade_off")
    assert figure.x.title == "Privacy budget ε" and not figure.raw


def test_what_is_left_out_is_said_with_its_reason() -> None:
    report = report_on(
        tell_run("a" * 16), tell_run("b" * 16, threat_model="record", method="dp_sgd", paid=False, delta=1e-6)
    )
    section = next(each for each in report.brief.sections if each.title.startswith("What is left out"))
    listed = next(part for part in section.parts if isinstance(part, Bullets)).items
    assert any(item.startswith("B: It was launched without a private evaluation") for item in listed)
    assert any(item.startswith("B: Its accuracy depends on what it protects") for item in listed)
    assert not any(item.startswith("A: ") for item in listed)


def test_only_the_analyst_sees_curves_and_attacks_on_the_model() -> None:
    names = {
        audience: {figure.name for figure in report_on(tell_run(), audience=audience).brief.figures}
        for audience in ("analyst", "policy")
    }
    assert names["analyst"] > {"overlay_accuracy", "audit_membership_A", "audit_attribute_A", "audit_bounds_A"}
    assert names["policy"] == {"epsilon_dots", "chosen_trade_off", "groups_paid_positive_rate", "audit_bounds_A"}
    assert not any(figure.raw for figure in report_on(tell_run()).brief.figures)


def test_a_files_place_is_not_told() -> None:
    data = {
        "dataset": None,
        "file": "/srv/janedoe/secret/people.csv",
        "label": "y",
        "positive": None,
        "sensitive": "s",
    }
    told = tell_run(data=data)
    told["config"] = 'seed = 0\n\n[data]\nfile = "/srv/janedoe/secret/people.csv"\n'
    text = read_all(report_on(told))
    assert "janedoe" not in text and 'file = "people.csv"' in text
