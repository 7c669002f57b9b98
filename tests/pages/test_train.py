"""The Train page: only the chosen method's parameters, sentences at the field, and one run for many clicks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.methods import previews
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.fields import AIMED_MULTIPLIER
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.foreground import train
from fairpriv_core.store.runs import open_store
from fairpriv_core.text import Reporter

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]


def keys_of(page: AppTest) -> set[str]:
    """Return the key of every widget on the page, but for what the downloads of its figures ask."""
    kinds = ("slider", "select_slider", "number_input", "text_input", "selectbox", "toggle", "checkbox", "button_group")
    keys = {str(widget.key) for kind in kinds for widget in page.get(kind)}
    return {key for key in keys if not key.startswith("plan_")}


@pytest.mark.parametrize("name", list(methods()))
def test_expert_mode_has_exactly_the_parameters_of_the_method(name: str, open_page: Open) -> None:
    page = open_page("train", method=name, expert="True", set_lambda="True")
    assert not page.exception
    shown = {key.removeprefix("p.") for key in keys_of(page) if key.startswith("p.")}
    offered = {name for name, (item, _) in parameters(methods()[name]).items() if len(item.choices) != 1}
    of_images = {"network"}  # the data are a table
    assert {key.removesuffix(".automatic") for key in shown} == offered - {"variant", "gap_target"} - of_images
    assert ("gap_target" in offered) == bool({"gap", "set_lambda"} & keys_of(page))


@pytest.mark.parametrize("name", list(methods()))
def test_simple_mode_asks_for_twelve_things_at_most(name: str, open_page: Open) -> None:
    page = open_page("train", method=name)
    assert 4 <= len(keys_of(page)) <= 12 and not page.metric


@pytest.mark.parametrize("name", list(notions()))
def test_the_notion_is_explained_on_the_data(name: str, open_page: Open) -> None:
    page = open_page("train", notion=name)
    said = " ".join(item.value for item in page.markdown)
    assert "A and B" in said and "0 is ideal" in said


def test_epsilon_changes_noise_and_sentence(open_page: Open) -> None:
    page = open_page("train", expert="True")
    noise = page.metric[0].value
    before = " ".join(item.value for item in page.markdown)
    page.select_slider("epsilon").set_value(9.0).run()
    after = " ".join(item.value for item in page.warning)
    assert "74 in 100" in before and "almost no guarantee" in after
    assert float(page.metric[0].value) < float(noise)


@pytest.mark.parametrize(
    ("key", "number", "said"),
    [
        ("epsilon", 0.0, "Epsilon must be a finite number \\> 0, got 0"),
        ("epsilon", -1.0, "got -1"),
        ("delta", 0.0, "Delta must lie strictly between 0 and 1"),
        ("delta", 1.0, "Delta must lie strictly between 0 and 1"),
        ("p.clip_primal", 0.0, "clip\\_primal must be a finite number \\> 0, got 0"),
        ("p.multiplier_max", -1.0, "multiplier\\_max must be a finite number \\>= 0, got -1"),
        ("p.batch_size", 100000, "batch\\_size must be at most the 6000 training rows, got 100000"),
        ("seed", -1, "Seed must be a whole number"),
    ],
)
def test_a_value_out_of_range_gives_one_sentence_and_no_launch(
    key: str, number: float, said: str, open_page: Open
) -> None:
    page = open_page("train", expert="True", typed="True", set_lambda="True")
    page.number_input(key).set_value(number).run()
    assert not page.exception
    assert len(page.error) == 1
    assert said in page.error[0].value
    assert page.button("launch").disabled


def test_a_value_that_may_be_left_empty_is_checked_too(open_page: Open) -> None:
    page = open_page("train", expert="True")
    page.text_input("p.sampling_rate").set_value("1.5").run()
    assert "sampling\\_rate must lie in (0, 1\\], got 1.5" in page.error[0].value
    page.text_input("p.sampling_rate").set_value("0.1").run()
    assert not page.error
    assert not page.button("launch").disabled


def test_the_sentence_stands_right_after_its_field(open_page: Open) -> None:
    page = open_page("train", expert="True", typed="True")
    page.number_input("p.clip_primal").set_value(0.0).run()
    order = [(item.type, getattr(item, "key", None)) for item in page.main]
    place = order.index(("number_input", "p.clip_primal"))
    assert "error" in [kind for kind, _ in order[place : place + 4]]


def test_other_entries_stay_when_one_moves(open_page: Open) -> None:
    page = open_page("train", expert="True")
    page.slider("p.hidden_layers").set_value(2).run()
    page.select_slider("epsilon").set_value(3.0).run()
    assert page.slider("p.hidden_layers").value == 2
    assert page.select_slider("epsilon").value == 3.0


def test_launch_takes_what_is_on_screen_and_launching_again_is_the_same_run(open_page: Open) -> None:
    page = open_page("train", expert="True", typed="True", epsilon="2.5", p__epochs="7", p__clip_primal="0.4")
    page.button("launch").click().run()
    again = open_page("train", expert="True", typed="True", epsilon="2.5", p__epochs="7", p__clip_primal="0.4")
    again.button("launch").click().run()
    rows = open_store().rows()
    assert len(rows) == 1
    config = rows[0].config
    assert (config["epsilon"], config["method"]["epochs"], config["method"]["clip_primal"]) == (2.5, 7, 0.4)


def test_simple_mode_without_a_gap_to_aim_at_moves_the_multiplier(open_page: Open) -> None:
    page = open_page("train", fairness="8", variant="published")
    assert "gap" not in keys_of(page)
    page.button("launch").click().run()
    default = parameters(methods()["pf_ld"])["multiplier_max"][1].default
    method = open_store().rows()[0].config["method"]
    assert method["multiplier_max"] == pytest.approx(default * 1.5**3, rel=0.01) and "gap_target" not in method


def test_simple_mode_aims_at_the_gap_that_is_accepted(open_page: Open) -> None:
    page = open_page("train", gap="7.5")
    assert page.slider("gap").value == 7.5 and "fairness" not in keys_of(page)
    page.slider("gap").set_value(6.0).run()
    assert page.query_params["gap"] == "6"
    for name in ("one_release", "f_ld", "dp_sgd", "pf_ld"):
        page.selectbox("method").set_value(name).run()
    assert page.slider("gap").value == 6.0
    simple = page.button("launch").click().run()
    page = open_page("train", gap="6", expert="True")
    page.button("launch").click().run()
    [row] = open_store().rows()  # expert mode shows more and changes nothing
    assert not simple.exception and row.config["method"]["gap_target"] == 0.06
    assert row.config["method"]["multiplier_max"] == AIMED_MULTIPLIER


@pytest.mark.parametrize(
    ("name", "replaced"),
    [
        ("reductions", "difference_bound"),
        ("zafar", "covariance_factor"),
        ("jagielski_in", "difference_bound"),
        ("dp_fermi", "multiplier"),
        ("dp_fermi_record", "multiplier"),
    ],
)
def test_a_gap_aimed_at_takes_the_place_of_the_methods_own_setting(name: str, replaced: str, open_page: Open) -> None:
    page = open_page("train", method=name, gap="6", expert="True")
    assert page.slider("gap").value == 6.0 and f"p.{replaced}" not in keys_of(page)
    page.button("launch").click().run()
    assert not page.exception
    method, default = open_store().rows()[0].config["method"], parameters(methods()[name])[replaced][1].default
    assert (method["gap_target"], method[replaced]) == (0.06, default)
    page = open_page("train", method=name, gap="6", expert="True", set_lambda="True")
    title = "λ" if replaced == "multiplier" else parameters(methods()[name])[replaced][0].title
    assert title in page.toggle("set_lambda").label and f"p.{replaced}" in keys_of(page)


def test_whoever_sets_the_multiplier_aims_at_no_gap(open_page: Open) -> None:
    page = open_page("train", expert="True", set_lambda="True", gap="6")
    assert {"p.multiplier_max", "p.clip_dual", "p.dual_step"} <= keys_of(page) and "gap" not in keys_of(page)
    page.button("launch").click().run()
    assert "gap_target" not in open_store().rows()[0].config["method"]
    page.toggle("set_lambda").set_value(False).run()
    assert page.slider("gap").value == 6.0 and not {"p.multiplier_max", "p.clip_dual"} & keys_of(page)


def test_a_gap_that_is_none_gives_one_sentence_at_its_field(open_page: Open) -> None:
    page = open_page("train", expert="True", typed="True")
    page.number_input("gap").set_value(150.0).run()
    [error] = page.error
    assert "gap\\_target must lie in" in error.value and "got 1.5" in error.value
    assert page.button("launch").disabled


def test_a_method_that_is_not_private_makes_steps_enough_on_few_rows(open_page: Open) -> None:
    page = open_page("train", method="none")
    page.button("launch").click().run()
    assert open_store().rows()[0].config["method"]["batch_size"] is None


@pytest.mark.parametrize("name", [name for name, kind in methods().items() if kind.info.pursues_notion])
def test_what_pursues_a_notion_says_how_to_pursue_it_more(name: str) -> None:
    assert any(shown.fairer for shown, _ in parameters(methods()[name]).values())


def test_noise_set_by_hand_needs_no_budget(open_page: Open) -> None:
    page = open_page("train", expert="True", p__noise_primal="4", p__noise_dual="30", p__noise_counts="20")
    assert not page.exception and not page.error
    page.button("launch").click().run()
    assert open_store().rows()[0].config["epsilon"] is None


def test_a_method_that_is_not_private_has_no_budget(open_page: Open) -> None:
    page = open_page("train", method="none")
    assert "epsilon" not in keys_of(page)
    assert "not private" in page.info[0].value


def notes_of(charts: list[dict[str, Any]], bound: str) -> list[dict[str, Any]]:
    """Return the notes of the chart over a clipping bound."""
    found = (chart["figure"]["layout"] for chart in charts if f"error over {bound}" in chart["alt"])
    return [note for layout in found for note in layout["annotations"]]


def test_curves_of_settings_left_behind_are_not_made(open_page: Open) -> None:
    page = open_page("train", expert="True")
    with open_store() as store:
        first = store.previews.claim()
        assert first is not None
        page.number_input("seed").set_value(7).run()
        assert (store.preview(first) or {})["status"] == "cancelled"
        second = store.previews.claim()
        assert second not in (None, first) and store.previews.request(str(second))["seed"] == 7
        page.number_input("seed").set_value(0).run()
        assert store.previews.claim() == first and (store.preview(str(second)) or {})["status"] == "cancelled"


def test_the_minimum_of_a_curve_becomes_the_bound_and_nothing_else_moves(open_page: Open, charts_of: Charts) -> None:
    open_page("train", expert="True")
    with open_store() as store:
        asked = store.previews.claim()
        assert asked is not None
        store.previews.finish(asked, result=previews.compute(store.previews.request(asked)))
    shown = {"expert": "True", "set_lambda": "True"}
    page = open_page("train", epsilon="2.5", fairness="8", **shown, p__epochs="7", p__multiplier_max="3")
    before = {name: page.session_state["memory"]["choices"][name] for name in ("epsilon", "p.epochs", "p.clip_dual")}
    button = page.button("use_clip_primal")
    assert "costs no ε" in button.help and button.label.startswith("Use the setting nearest to the minimum: C_p = ")
    best = float(button.label.rpartition("= ")[2])
    [marked] = [note["text"] for note in notes_of(charts_of(page), "C_p") if note["text"].startswith("minimum")]
    button.click().run()
    assert not page.exception
    assert page.select_slider("p.clip_primal").value == best
    assert not [each for each in page.button if each.key == "use_clip_primal"]
    [told] = [item.value.replace("\\", "") for item in page.caption if "is chosen already" in item.value]
    assert told.startswith(f"C_p = {best:g} is") and told.endswith(f", {marked.rpartition(' ')[2]}.")
    assert {name: page.session_state["memory"]["choices"][name] for name in before} == before
    page.button("launch").click().run()
    method = open_store().rows()[0].config["method"]
    assert (method["clip_primal"], method["epochs"]) == (best, 7)


def test_a_delta_that_is_not_below_one_in_n_is_warned_of(open_page: Open) -> None:
    page = open_page("train", expert="True", typed="True")
    page.number_input("delta").set_value(0.01).run()
    assert not page.error
    assert any("is not below 1/n" in item.value for item in page.warning)


def test_the_published_variant_says_that_nothing_is_proved(open_page: Open) -> None:
    page = open_page("train", variant="published")
    assert any("No ε is proved" in item.value for item in page.warning)


def test_a_link_to_something_unknown_falls_back(open_page: Open) -> None:
    page = open_page("train", method="magic", notion="luck", epsilon="many", variant="other")
    assert not page.exception and not page.error
    assert page.selectbox("method").value == "pf_ld"
    assert page.select_slider("epsilon").value == 1.0


def test_unknown_data_gives_a_sentence(open_page: Open) -> None:
    page = open_page("train", data="martians:antennae")
    assert not page.exception
    assert "martians" in page.error[0].value
    page.button("use_default_data").click().run()
    assert page.selectbox("data").value == "synthetic:group" and page.button("launch") and not page.error
    page = open_page("train", data="synthetic:antennae")
    assert "antennae" in page.error[0].value


def test_a_release_that_is_paid_for_can_be_trained_on_again(open_page: Open) -> None:
    asked = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity"}
    config = build_config({**asked, "method": {"name": "one_release", "epochs": 1}, "epsilon": 0.5})
    row, _ = train(config, Reporter(say=lambda _: None, show=lambda _: None))
    page = open_page("train", method="one_release")
    assert "released with ε = 0.5 for Demographic parity: costs nothing more" in page.selectbox("reuse").options
    page.selectbox("reuse").set_value(row.key).run()
    assert not page.exception and "epsilon" not in keys_of(page)
    assert any("spent ε = 0.500. This one releases nothing more" in item.value for item in page.caption)
    page.button("launch").click().run()
    with open_store() as store:
        launched = next(each for each in store.rows() if each.key != row.key)
    assert launched.config["reuse"] == row.key and launched.config["epsilon"] is None
    assert "reuse" not in keys_of(open_page("train", method="pf_ld"))


def test_settings_that_pursue_nothing_are_said_before_the_launch(open_page: Open) -> None:
    page = open_page("train", method="pf_ld", expert="True", p__epochs="1")
    assert any("With 1 epoch no fairness is pursued" in item.value for item in page.warning)
    page = open_page("train", method="pf_ld", expert="True", p__epochs="3")
    assert not any("no fairness is pursued" in item.value for item in page.warning)


def test_a_table_of_few_rows_gets_steps_enough_and_a_warning_where_noise_leaves_nothing(open_page: Open) -> None:
    page = open_page("train", method="dp_sgd", data="synthetic:group?rows=1000", epsilon="1")
    assert not page.exception and "1,500 steps" in " ".join(item.help or "" for item in page.caption)
    assert "next to nothing to learn" not in said_on(page)
    page = open_page("train", method="dp_sgd", data="synthetic:group?rows=200", epsilon="0.05")
    assert "next to nothing to learn: one answer for everybody is likely as good" in said_on(page)
    assert page.button("launch").disabled and "Expert mode launches them" in said_on(page)
    expert = open_page(
        "train", method="dp_sgd", data="synthetic:group?rows=200", epsilon="0.05", expert="True", p__batch_size="50"
    )
    assert "next to nothing to learn" in said_on(expert) and not expert.button("launch").disabled


def said_on(page: AppTest) -> str:
    return " ".join(item.value.replace("\\", "") for item in (*page.caption, *page.warning))


def test_counts_that_noise_is_sure_to_hide_cannot_be_launched(open_page: Open) -> None:
    few = {"method": "pf_ld", "data": "synthetic:group?rows=60"}
    page = open_page("train", **few, epsilon="0.5")
    assert "45 training rows are too few for 2 counts" in said_on(page)
    assert "Even if all were equally large, most runs would stop at the counts" in said_on(page)
    assert page.button("launch").disabled and "Expert mode launches them" in said_on(page)
    assert not open_page("train", **few, epsilon="0.5", expert="True", p__batch_size="8").button("launch").disabled


def test_a_group_that_noise_may_hide_is_told_before_launch(open_page: Open) -> None:
    def told(**given: str) -> list[str]:
        page = open_page("train", **{"method": "pf_ld", "expert": "True", **given})
        assert not page.exception
        return [item.value for item in page.warning if "their count gets noise" in item.value]

    [said] = told(epsilon="0.01")
    assert re.search(r"Group '[AB]' has [\d,]+ training rows, and their count gets noise of about [\d,]+\.", said)
    assert re.search(r"So about 1 of \d+ runs will stop at the count, whose ε is then spent\.", said)
    assert "do not publish" not in said.lower(), "everybody has these rows"
    assert told(epsilon="1") == []
    for method in ("dp_sgd", "jagielski_in"):  # no sizes, and sizes that are read off another release
        assert told(epsilon="0.01", method=method) == []
