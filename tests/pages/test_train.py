"""The Train page: only the chosen method's parameters, sentences at the field, and one run for many clicks."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.cli.request import read_request
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.methods import previews
from fairpriv_core.methods.base import list_sliders, parameters
from fairpriv_core.methods.catalog import DEFAULT_METHOD, methods
from fairpriv_core.methods.clipping_choice import ClippingCurve
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.advice import ADVISER
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.evidence import Size
from fairpriv_core.records.parameters import read_method
from fairpriv_core.records.plan import DatasetCache, fit_batch
from fairpriv_core.runs.foreground import train
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.spec import build_sweep, expand
from fairpriv_core.text import Reporter
from pages.widgets.run import panels
from pages.widgets.train.clipping import write_sparkline
from pages.widgets.train.clone import write_settings
from tests.pages.shown import Open, buttons, charts, keys_of, said, whole

WRONG: tuple[tuple[str, float, str], ...] = (
    ("epsilon", 0.0, "Epsilon must be a finite number > 0, got 0"),
    ("epsilon", -1.0, "got -1"),
    ("delta", 0.0, "Delta must lie strictly between 0 and 1"),
    ("delta", 1.0, "Delta must lie strictly between 0 and 1"),
    ("p.clip_primal", 0.0, "clip_primal must be a finite number > 0, got 0"),
    ("p.multiplier_max", -1.0, "multiplier_max must be a finite number >= 0, got -1"),
    ("p.batch_size", 100000, "batch_size must be at most the 6000 training rows, got 100000"),
    ("seed", -1, "Seed must be a whole number"),
)


def launch(page: AppTest) -> dict[str, Any]:
    """Launch what is on screen; return the config of the newest run."""
    page.button("launch").click().run()
    assert not page.exception
    return dict(open_store().rows()[0].config)


def test_expert_mode_has_exactly_the_parameters_of_each_method(open_page: Open) -> None:
    page = open_page("train", expert="True")
    for name, kind in methods().items():
        page.selectbox("method").set_value(name).run()
        assert not page.exception and kind.info.summary in page.selectbox("method").help.replace("\\", "")
        shown = {key.removeprefix("p.") for key in keys_of(page) if key.startswith("p.")}
        offered = {setting for setting, (item, _) in parameters(kind).items() if len(item.choices) != 1}
        of_images = {"network"}  # the data are a table
        found = {key.removesuffix(".automatic") for key in shown}
        assert found == offered - {"variant", "gap_target"} - of_images, name
        assert ("gap_target" in offered) == ("gap" in keys_of(page)), name
        assert not kind.info.pursues_notion or any(each.fairer for each, _ in parameters(kind).values()), name


def test_simple_mode_asks_for_twelve_things_at_most_and_keeps_the_gap(open_page: Open) -> None:
    page = open_page("train", gap="6")
    for name in (*methods(), "pf_ld"):
        page.selectbox("method").set_value(name).run()
        assert not page.exception and 4 <= len(keys_of(page)) <= 12 and not page.metric, name
        assert ("epsilon" in keys_of(page)) is (methods()[name].info.threat_model is not None), name
        assert "gap" not in keys_of(page) or page.slider("gap").value == 6.0
    assert "gap" in keys_of(page)


def test_a_method_has_the_same_settings_at_every_door(offered: list[RunConfig], open_page: Open) -> None:
    data = {"dataset": "synthetic", "sensitive": "group", "rows": 1000}
    page = open_page("train", data="synthetic:group?rows=1000", epsilon="2")
    for name, kind in methods().items():
        page.selectbox("method").set_value(name).run()
        notion = page.selectbox("notion").value
        asked = {**data, "notion": notion, "method": name} | ({"epsilon": 2.0} if kind.info.threat_model else {})
        config, said_of = read_request(asked)
        command = fit_batch(config, said_of, DatasetCache())
        sweep = {"data": data, "notion": notion, "method": name, "axes": {"epsilon": [asked.get("epsilon")]}}
        [cell] = expand(build_sweep(sweep), fit=partial(fit_batch, datasets=DatasetCache()))
        estimator = FairPrivateClassifier(method=name, notion=notion, epsilon=asked.get("epsilon"))
        estimator._network = None  # as `fit` finds it without a module
        doors = {
            "command": command,
            "sweep": cell.config,
            "estimator": estimator._build_config(750, lambda: Size(750, 2)),
        }
        assert offered[-1].method.info.name == name
        for door, found in doors.items():
            assert found is not None and found.method == offered[-1].method, (name, door)
        assert command == cell.config == offered[-1], name


def test_a_notion_and_a_budget_are_explained_on_the_data(open_page: Open) -> None:
    page = open_page("train", expert="True")
    explained = []
    for method in (DEFAULT_METHOD, "dp_sgd"):
        page.selectbox("method").set_value(method).run()
        left = [each.title.lower() for each in notions().values() if each.name not in methods()[method].info.notions]
        assert all(title in (page.selectbox("notion").help or "") for title in left if title != "worst group's loss")
        for name in methods()[method].info.notions:
            page.selectbox("notion").set_value(name).run()
            [asks] = [each for each in page.markdown if "A and B" in each.value]
            assert "0 is ideal" in asks.value + asks.help, name
            explained.append(name)
    assert {*explained} == {name for name, notion in notions().items() if not notion.is_level}
    page.selectbox("method").set_value(DEFAULT_METHOD).run()
    noise = float(page.metric[0].value)
    assert "at most 74 % certain" in said(page, "markdown") and not page.warning
    page.slider("p.hidden_layers").set_value(2).run()
    page.select_slider("epsilon").set_value(9.0).run()
    assert "almost no guarantee" in said(page, "warning") and float(page.metric[0].value) < noise
    assert page.slider("p.hidden_layers").value == 2, "other entries stay when one moves"


def test_a_value_out_of_range_gives_one_sentence_after_its_field_and_no_launch(open_page: Open) -> None:
    page = open_page("train", expert="True", typed="True", set_lambda="True")
    for key, number, words in WRONG:
        usual = page.number_input(key).value
        page.number_input(key).set_value(number).run()
        assert not page.exception and page.button("launch").disabled
        [error] = page.error
        assert words in error.value.replace("\\", "")
        order = [(item.type, getattr(item, "key", None)) for item in page.main]
        place = order.index(("number_input", key))
        assert "error" in [kind for kind, _ in order[place : place + 6]], key
        page.number_input(key).set_value(usual)
    page.number_input("delta").set_value(0.01).run()
    assert not page.error and "is not below 1/n" in said(page, "warning")
    page.text_input("p.sampling_rate").set_value("1.5").run()
    assert "sampling_rate must lie in (0, 1], got 1.5" in said(page, "error")
    page.text_input("p.sampling_rate").set_value("0.1").run()
    assert not page.error and not page.button("launch").disabled
    page.button("aim_again").click().run()
    page.number_input("gap").set_value(150.0).run()
    [error] = page.error
    assert "No plan: a choice is refused" in said(page, "caption")
    assert "gap\\_target must lie in" in error.value and "got 1.5" in error.value and page.button("launch").disabled


def test_launch_takes_what_is_on_screen_and_shows_its_run_beside_the_settings(open_page: Open) -> None:
    asked = {"expert": "True", "typed": "True", "epsilon": "2.5", "p__epochs": "7", "p__clip_primal": "0.4"}
    page = open_page("train", **asked)
    config = launch(page)
    for shown in (page, open_page("train", **asked)):
        assert shown.button("launch").disabled and {"do_pause", "do_stop", "open_run"} <= buttons(shown).keys()
        assert any("waiting for a worker" in each.proto.text for each in shown.get("progress"))
    page.number_input("p.epochs").set_value(8).run()
    assert "Launch trains with Epochs 8, was 7." in said(page, "caption") and "do_stop" in buttons(page)
    page.number_input("delta").set_value(2.0).run()
    assert len(page.error) == 1 and "do_stop" in buttons(page), "a refused setting leaves the run where it is"
    page.number_input("delta").set_value(1e-5).run()
    page.selectbox("notion").set_value("equalized_odds").run()
    assert "do_stop" not in buttons(page) and not page.button("launch").disabled, "a run on another question"
    assert len(open_store().rows()) == 1
    assert (config["epsilon"], config["method"]["epochs"], config["method"]["clip_primal"]) == (2.5, 7, 0.4)
    by_hand = {"p__noise_primal": "4", "p__noise_dual": "30", "p__noise_counts": "20"}
    assert launch(whole(open_page("train", expert="True", **by_hand)))["epsilon"] is None, "noise set by hand"
    page = open_page("train", method="none", data="synthetic:group?rows=1000")
    assert "not private" in said(page, "info")
    assert launch(page)["method"]["batch_size"] == 10, "1,500 steps on few rows"


def test_sliders_stand_in_sight_and_whoever_moves_one_that_a_gap_replaces_aims_at_none(open_page: Open) -> None:
    page = open_page("train", gap="7.5")
    page.slider("gap").set_value(6.0).run()
    assert page.query_params["gap"] == "6"
    sliders = {"epsilon", "gap", "p.multiplier_max", "p.clip_primal", "p.clip_dual"}
    assert sliders <= keys_of(page) and page.select_slider("p.clip_dual").disabled, "decisions are summed"
    method = launch(page)["method"]
    assert (method["gap_target"], method["multiplier_max"]) == (0.06, 5.0)
    assert open_page("train", gap="6", expert="True").button("launch").disabled, "expert mode changes nothing"
    page.slider("p.multiplier_max").set_value(3.0).run()
    assert page.slider("gap").disabled and "You set λ. The gap is not aimed at." in said(page, "caption")
    page.button("use_outputs").click().run()
    page.select_slider("p.clip_dual").set_value(20.0).run()
    assert "You set λ and C" in said(page, "caption") and not page.exception
    method = launch(page)["method"]
    wanted = {"gap_target": None, "multiplier_max": 3.0, "surrogate": "logit", "clip_dual": 20.0}
    assert {name: method[name] for name in wanted} == wanted
    page.button("aim_again").click().run()
    assert (page.slider("gap").value, page.slider("p.multiplier_max").value) == (6.0, 5.0)
    assert not page.slider("gap").disabled and page.select_slider("p.clip_dual").disabled


def test_a_slider_at_its_default_follows_the_method_and_what_it_aims_at(open_page: Open) -> None:
    page = open_page("train", expert="True", variant="published")
    assert "gap" not in keys_of(page) and page.slider("p.multiplier_max").value == 2.0, "it pursues equality"
    page.segmented_control("variant").set_value("proved").run()
    assert page.slider("p.multiplier_max").value == 5.0
    page.select_slider("epsilon").set_value(2.0).run()
    page.selectbox("method").set_value("dp_sgd").run()
    assert page.select_slider("p.clip_primal").value == 1.0
    page.select_slider("p.clip_primal").set_value(10.0).run()
    page.selectbox("method").set_value("pf_ld").run()
    assert page.select_slider("p.clip_primal").value == 10.0, "what was chosen stays"


@pytest.mark.parametrize("name", [name for name, kind in methods().items() if "gap_target" in parameters(kind)])
def test_what_a_gap_replaces_is_in_sight_and_set_by_a_move(name: str, open_page: Open) -> None:
    page = open_page("train", method=name, gap="6")
    aim = parameters(methods()[name])["gap_target"][0]
    moved = next((each for each in list_sliders(methods()[name]) if each in aim.replaces), None)
    assert launch(page)["method"]["gap_target"] == 0.06
    if moved is None:
        assert not page.slider("gap").disabled and "aim_again" not in {each.key for each in page.button}
        return
    [slider] = [each for each in (*page.slider, *page.select_slider) if each.key == f"p.{moved}"]
    wanted = slider.options[1] if slider.options else slider.max
    slider.set_value(wanted).run()
    method = launch(page)["method"]
    assert (method["gap_target"], method[moved]) == (None, float(wanted)) and page.slider("gap").disabled


def test_curves_of_settings_left_behind_are_not_made(open_page: Open) -> None:
    page = open_page("train", expert="True")
    with open_store() as store:
        first = store.previews.claim()
        assert first is not None
        page.number_input("seed").set_value(7).run()
        assert store.previews.look(first).status == "cancelled"
        second = store.previews.claim()
        assert second not in (None, first) and store.previews.request(str(second))["seed"] == 7
        page.number_input("seed").set_value(0).run()
        assert store.previews.claim() == first and store.previews.look(str(second)).status == "cancelled"


def test_the_minimum_of_a_curve_becomes_the_bound_and_nothing_else_moves(open_page: Open) -> None:
    open_page("train", expert="True")
    with open_store() as store:
        asked = store.previews.claim()
        assert asked is not None
        store.previews.finish(asked, result=previews.compute(store.previews.request(asked)))
    shown = {"expert": "True", "set_lambda": "True"}
    page = open_page("train", epsilon="2.5", **shown, p__epochs="7", p__multiplier_max="3")
    before = {name: page.session_state["memory"].choices[name] for name in ("epsilon", "p.epochs", "p.clip_dual")}
    button = page.button("use_clip_primal")
    assert "costs no ε" in button.help
    best = float(button.label.rpartition("C_p = ")[2])
    [over] = [chart["figure"] for chart in charts(page).values() if "error over C_p" in chart["alt"]]
    [marked] = [note["text"] for note in over["layout"]["annotations"] if note["text"].startswith("minimum")]
    button.click().run()
    assert not page.exception and page.select_slider("p.clip_primal").value == best
    assert "use_clip_primal" not in {each.key for each in page.button}
    [told] = [item.value.replace("\\", "") for item in page.caption if "is chosen already" in item.value]
    assert told.startswith(f"C_p = {best:g} is") and told.endswith(f", {marked.rpartition(' ')[2]}.")
    assert {name: page.session_state["memory"].choices[name] for name in before} == before
    method = launch(page)["method"]
    assert (method["clip_primal"], method["epochs"]) == (best, 7)


def test_a_link_to_something_unknown_falls_back_and_unknown_data_gives_a_sentence(open_page: Open) -> None:
    page = whole(open_page("train", method="magic", notion="luck", epsilon="many", variant="other"))
    assert page.selectbox("method").value == "pf_ld" and page.select_slider("epsilon").value == 1.0
    page = open_page("train", data="martians:antennae")
    assert not page.exception and "martians" in said(page, "error")
    page.button("use_default_data").click().run()
    assert page.selectbox("data").value == "synthetic:group" and page.button("launch") and not page.error
    assert "antennae" in said(open_page("train", data="synthetic:antennae"), "error")


def test_a_release_that_is_paid_for_can_be_trained_on_again(open_page: Open) -> None:
    asked = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity"}
    config = build_config({**asked, "method": {"name": "one_release", "epochs": 1}, "epsilon": 0.5})
    row, _ = train(config, Reporter(say=lambda _: None, show=lambda _: None))
    page = open_page("train", method="one_release")
    assert "released with ε = 0.5 for Demographic parity: costs nothing more" in page.selectbox("reuse").options
    page.selectbox("reuse").set_value(row.key).run()
    assert not page.exception and "epsilon" not in keys_of(page) and "spent ε = 0.500." in said(page, "caption")
    launched = launch(page)
    assert launched["reuse"] == row.key and launched["epsilon"] is None
    assert "reuse" not in keys_of(open_page("train", method="pf_ld"))


@pytest.mark.parametrize(
    ("given", "words", "is_offered"),
    [
        ({"method": "pf_ld", "expert": "True", "p__epochs": "1"}, "With 1 epoch no fairness is pursued", True),
        ({"method": "pf_ld", "expert": "True", "p__epochs": "3"}, "", True),
        ({"method": "dp_sgd", "data": "synthetic:group?rows=1000"}, "", True),
        (
            {"method": "dp_sgd", "data": "synthetic:group?rows=200", "epsilon": "0.05"},
            "next to nothing to learn",
            False,
        ),
        (
            {"method": "jagielski_in", "data": "synthetic:group?rows=1000", "epsilon": "0.1"},
            "next to nothing to learn of 2 groups",
            False,
        ),
        (
            {"method": "pf_ld", "data": "synthetic:group?rows=60", "epsilon": "0.5"},
            "45 training rows are too few for 2 counts",
            False,
        ),
    ],
)
def test_settings_that_pursue_or_learn_nothing_are_said_and_offered_to_experts_alone(
    given: dict[str, str], words: str, is_offered: bool, open_page: Open
) -> None:
    page = open_page("train", **given)
    told = said(page, "caption", "warning", "error")
    warned = ("no fairness is pursued", "next to nothing to learn", "are too few")
    assert words in told and any(each in told for each in warned) is bool(words)
    doomed = "too few for" in words  # for experts too: most runs would spend their ε for nothing
    assert page.button("launch").disabled is not is_offered
    assert ("Expert mode launches them" in told) is not (is_offered or doomed)
    if not is_offered:
        fits = {"p__batch_size": "8" if doomed else "50"}
        assert open_page("train", **given, expert="True", **fits).button("launch").disabled is doomed
    elif "rows=1000" in given.get("data", ""):
        assert "1,500 steps" in " ".join(item.help or "" for item in page.caption)


def test_what_accuracy_others_lost_is_said_of_a_method_that_pursues_no_notion(open_page: Open) -> None:
    for method, has_gaps in (("dp_sgd", False), ("pf_ld", True)):
        told = said(open_page("train", method=method, data="synthetic:group?rows=4000"), "markdown")
        assert "Nine in ten runs of this method lost" in told and ("Their gaps were" in told) is has_gaps


def test_a_group_that_noise_may_hide_is_told_before_launch(open_page: Open) -> None:
    def told(**given: str) -> list[str]:
        page = open_page("train", **{"method": "pf_ld", "expert": "True", **given})
        assert not page.exception
        return [item.value for item in page.warning if "their count gets noise" in item.value]

    [text] = told(epsilon="0.01")
    page = open_page("train", method="pf_ld", epsilon="0.01")
    assert page.button("launch").disabled and "Accept the risk" in said(page, "caption")
    [accept] = page.checkbox
    assert "ε = 0.0100" in accept.label
    accept.check().run()
    assert launch(page)["epsilon"] == 0.01
    assert re.search(r"Group '[AB]' is small \([\d,]+ training rows; their count gets noise of about [\d,]+\)", text)
    assert re.search(r"about 1 of \d+ runs will fail at the count", text)
    assert "do not publish" not in text.lower(), "everybody has these rows"
    assert told(epsilon="1") == []
    for method in ("dp_sgd", "jagielski_in"):  # no sizes, and sizes that are read off another release
        assert told(epsilon="0.01", method=method) == []


@pytest.mark.parametrize("published", [True, False])
def test_a_bound_that_cuts_nothing_is_said_and_a_smaller_one_offered_where_everybody_has_the_rows(
    published: bool, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 2.0}
    wide = {"name": "pf_ld", "epochs": 3, "clip_primal": 100.0}
    config = build_config({**asked, "method": wide})
    train(config, Reporter(say=lambda _: None, show=lambda _: None))
    monkeypatch.setattr(panels, "is_published", lambda data: published)
    page = open_page(
        "train", **{name.replace(".", "__"): text for name, text in write_settings(config.to_json()).items()}
    )
    assert "No gradient reaches the clipping bound" in said(page, "caption")
    assert ("try_bound" in buttons(page)) is published
    page.selectbox("method").set_value("jagielski_post").run()
    assert not page.exception and "open_run" in buttons(page) and "try_bound" not in buttons(page), "it has no bound"
    page.selectbox("method").set_value("pf_ld").run()
    if published:
        bound = float(page.button("try_bound").label.rpartition("= ")[2])
        page.button("try_bound").click().run()
        assert page.select_slider("p.clip_primal").value == bound < 100 and not page.button("launch").disabled
        assert f"Primal clipping bound C_p {bound:g}, was 100" in said(page, "caption")


def test_before_launch_stands_what_to_expect_and_where_the_error_of_the_bound_is_least(
    own_store: Path, data_at_first: str, open_page: Open
) -> None:
    page = whole(open_page("train", data=data_at_first))
    drawn = charts(page)
    accuracy, gap = drawn["expected_accuracy"], drawn["expected_gap"]
    assert re.match(r"Accuracy: 84\.\d ± \d\.\d % expected", accuracy["alt"]) and "points expected" in gap["alt"]
    assert "95 % prediction interval of a further run" in said(page, "caption")
    held = [each.proto.body for each in page.get("html") if "position:relative" in each.proto.body]
    assert len(held) == 1 and "<img" not in held[0], "its place is held until a worker has made the curve"
    with open_store(str(own_store)) as store:
        key = store.previews.claim()
        assert key is not None
        store.previews.finish(key, result=previews.compute(store.previews.request(key)))
    page.run()
    [line] = [each.proto.body for each in page.get("html") if "least near" in each.proto.body]
    assert "data:image/svg+xml;base64," in line and "expected_accuracy" in charts(page)
    page.button("launch").click().run()
    assert not page.exception and "expected_accuracy" not in charts(page)


def test_the_line_under_a_bound_has_its_dot_where_the_error_is_least() -> None:
    curve = ClippingCurve((0.01, 0.1, 1.0, 10.0), (2.0, 1.0, 0.0, 0.0), (0.0, 0.1, 1.5, 15.0), 0.1)
    assert 'left:50.0%"' in write_sparkline(curve, 0.01, 1.0) and "least near 0.1" in write_sparkline(curve, 0.01, 1.0)
    for other, low in ((replace(curve, minimiser=None), 0.01), (curve, 0.5)):
        assert "it only rises" in write_sparkline(other, low, 1.0) and "left:5" not in write_sparkline(other, low, 1.0)


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
