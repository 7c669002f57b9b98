"""Configs: both ways through TOML and JSON, one key each, and a sentence for every wrong value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpriv_core.errors import BadInput
from fairpriv_core.plain import read_toml, write_toml
from fairpriv_core.records.config import RunConfig, build_config

BASE: dict[str, Any] = {
    "data": {"dataset": "synthetic", "sensitive": "group"},
    "notion": "demographic_parity",
    "method": {"name": "pf_ld"},
    "epsilon": 1,
}


def build(**changed: Any) -> RunConfig:
    return build_config({**BASE, **changed})


@given(
    epsilon=st.floats(1e-6, 1e6),
    delta=st.floats(1e-12, 0.999),
    clip=st.floats(1e-3, 100),
    seed=st.integers(0, 2**31 - 1),
    replay=st.none() | st.integers(0, 2**31 - 1),
    variant=st.sampled_from(["proved", "published"]),
)
@settings(max_examples=40, deadline=None)
def test_json_and_toml_give_the_same_config_and_key(
    epsilon: float, delta: float, clip: float, seed: int, **given_too: Any
) -> None:
    method = {"name": "pf_ld", "clip_primal": clip, "variant": given_too["variant"]}
    config = build(method=method, epsilon=epsilon, delta=delta, seed=seed, replay_noise=given_too["replay"])
    through_json = build_config(json.loads(json.dumps(config.to_json())))
    through_toml = build_config(read_toml(config.to_toml()))
    assert through_json == through_toml == config
    assert through_json.key == through_toml.key == config.key


@given(st.dictionaries(st.sampled_from("abcde"), st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans()))
@settings(max_examples=25, deadline=None)
def test_toml_holds_any_text(values: dict[str, Any]) -> None:
    plain = {**values, "table": values}
    assert read_toml(write_toml(plain)) == plain


def test_texts_and_numbers_give_one_key_and_every_setting_another() -> None:
    texts = {"name": "pf_ld", "clip_primal": "1", "epochs": "5"}
    numbers = {"name": "pf_ld", "clip_primal": 1.0, "epochs": 5.0}
    assert build(method=texts, epsilon="1", seed="3").key == build(method=numbers, epsilon=1.0, seed=3).key
    keys = {build(**changed).key for changed in ({}, {"seed": 1}, {"epsilon": 2}, {"replay_noise": 0})}
    assert len(keys | {build(method={"name": "pf_ld", "epochs": 3}).key, build(split="official").key}) == 6
    assert len(build().key) == 16


def test_the_key_follows_what_a_files_content_is_called_and_not_its_place() -> None:
    def of(file: str, file_id: str) -> RunConfig:
        return build(data={"file": file, "label": "y", "sensitive": "a"}, file_id=file_id)

    assert of("one.csv", "a" * 16).key == of("two.csv", "a" * 16).key != of("two.csv", "b" * 16).key


def test_a_config_without_a_store_has_no_digest_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("a,y\n1,2\n")
    config = build(data={"file": str(tmp_path / "own.csv"), "label": "y", "sensitive": "a"})
    assert config.file_id is None
    (tmp_path / "own.csv").write_text("a,y\n1,3\n")
    assert build(data={"file": str(tmp_path / "own.csv"), "label": "y", "sensitive": "a"}).key == config.key


def test_a_method_that_pursues_no_notion_needs_none() -> None:
    assert build(notion=None, method="dp_sgd").key == build(method="dp_sgd").key


@pytest.mark.parametrize(
    ("changed", "message", "field"),
    [
        ({"data": {"dataset": "moon", "sensitive": "a"}}, "unknown data set 'moon'; choose from adult,", "dataset"),
        ({"data": {"dataset": "a/moon.csv", "sensitive": "a"}}, "own is a file: --file a/moon.csv.", "dataset"),
        ({"data": {"sensitive": "a"}}, "give either a data set .* or a file", "dataset"),
        ({"data": {"dataset": "synthetic"}}, "sensitive is not given", "sensitive"),
        ({"data": {"file": "a.csv", "sensitive": "a"}}, "label is not given", "label"),
        ({"data": {"dataset": "synthetic", "sensitve": "a"}}, "unknown data setting 'sensitve'; choose", "sensitve"),
        ({"data": "adult"}, "data must be a table", "data"),
        ({"notion": "fairness"}, "unknown notion 'fairness'; choose from demographic_parity,", "notion"),
        ({"notion": None}, "notion is not given; choose from demographic_parity,", "notion"),
        ({"method": "magic"}, "unknown method 'magic'; choose from pf_ld,", "method"),
        ({"method": None}, "method is not given; choose from pf_ld,", "method"),
        ({"method": 3}, "method must be a name or a table", "method"),
        ({"method": {"name": "none", "clip": 1}}, "unknown parameter of method 'none' 'clip'; choose from epo", "clip"),
        (
            {"method": {"name": "pf_ld", "clip_primal": 0}},
            "clip_primal must be a finite number > 0, got 0",
            "clip_primal",
        ),
        ({"method": {"name": "pf_ld", "clip_primal": "big"}}, "clip_primal must be a number, got 'big'", "clip_primal"),
        ({"method": {"name": "pf_ld", "epochs": 2.5}}, "epochs must be a whole number, got '2.5'", "epochs"),
        ({"method": {"name": "pf_ld", "epochs": "inf"}}, "epochs must be a whole number, got 'inf'", "epochs"),
        (
            {"method": {"name": "pf_ld", "multiplier_max": -1}},
            "multiplier_max must be .* >= 0, got -1",
            "multiplier_max",
        ),
        ({"method": {"name": "pf_ld", "sampling_rate": 1.5}}, "sampling_rate must lie in .*, got 1.5", "sampling_rate"),
        ({"method": {"name": "pf_ld", "optimizer": "lbfgs"}}, "optimizer must be one of sgd, adam", "optimizer"),
        (
            {"method": {"name": "dp_sgd", "variant": "published"}},
            "no variant 'published'; it has proved",
            "variant",
        ),
        ({"epsilon": None}, "epsilon is not given: method 'pf_ld' needs", "epsilon"),
        ({"epsilon": "nan"}, "epsilon must be a finite number > 0, got nan", "epsilon"),
        ({"epsilon": "inf"}, "epsilon must be a finite number > 0, got inf", "epsilon"),
        ({"epsilon": 0}, "epsilon must be a finite number > 0, got 0", "epsilon"),
        ({"epsilon": "one"}, "epsilon must be a number, got 'one'", "epsilon"),
        ({"method": {"name": "dp_sgd", "noise_primal": 1}}, "epsilon and noise_primal exclude each other", "epsilon"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1, got 1", "delta"),
        ({"delta": "nan"}, "delta must lie strictly between 0 and 1, got nan", "delta"),
        ({"split": "half"}, "split must be one of rows, stratified, people, official, got 'half'", "split"),
        ({"seed": -1}, "seed must be a whole number .*, got -1", "seed"),
        ({"seed": "x"}, "seed must be a whole number .*, got x", "seed"),
        ({"eps": 1}, "unknown setting 'eps'; choose from data, notion,", "eps"),
    ],
)
def test_a_wrong_value_gives_one_sentence_with_what_would_be_right(
    changed: dict[str, Any], message: str, field: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        build(**changed)
    assert caught.value.field == field
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_method_without_noise_needs_no_budget_and_keeps_none() -> None:
    assert build(method="none", epsilon=None).key == build(method="none", epsilon=3).key
    assert build(method={"name": "dp_sgd", "noise_primal": 2}, epsilon=None).epsilon is None


SENSITIVE = (("adult", "sex"), ("parkinsons", "sex"), ("utkface", "race"), ("mnist_unbalanced", "label"))


def test_a_split_that_is_not_named_is_that_of_the_data() -> None:
    plain = ({"data": {"dataset": name, "sensitive": column}, "method": "none"} for name, column in SENSITIVE)
    assert {config.data.dataset: config.split for config in map(build_config, plain)} == {
        "adult": "rows",
        "parkinsons": "people",
        "utkface": "people",
        "mnist_unbalanced": "official",
    }
    raw = {"data": {"dataset": "parkinsons", "sensitive": "sex"}, "method": "none"}
    assert len({build_config({**raw, "split": split}).key for split in ("rows", "stratified", "people")}) == 3
