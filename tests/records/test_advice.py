"""Method auto: what may be advised, from which numbers, and how the choice stays repeatable."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.shared.public_score import choose_learner
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.records import advice as adviser
from fairpriv_core.records.advice import ADVISER, USUAL, Question, advise, settle_method
from fairpriv_core.records.config import build_config
from fairpriv_core.records.evidence import Size, list_candidates, list_tried
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.sweeps.spec import build_sweep, expand
from tests.cli.commands import Call

ASKED = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1.0}
SMALL = Size(750, 2)


def settle(method: Mapping[str, Any], size: Size = SMALL, **other: Any) -> dict[str, Any]:
    return settle_method({**ASKED, **other, "method": method}, lambda config: size)[0]


@pytest.mark.parametrize(("protect", "by_group"), [*product(USUAL, (False, True))])
def test_what_is_advised_protects_what_is_asked_pursues_the_notion_and_uses_the_group_only_where_it_may(
    protect: Any, by_group: bool
) -> None:
    sizes = [Size(rows, groups) for rows, groups in product((40, 1_000, 50_000), (2, 9))]
    for size, epsilon, notion in product(sizes, (0.01, 1.0, 20.0), notions_of_means().values()):
        advice = advise(Question(protect, by_group, notion.name, epsilon, 1e-5), size)
        method = read_method(advice.settings)
        assert method.info.threat_model == protect and method.info.pursues(notion)
        assert by_group or not method.decides_by_group()
        assert protect == "attribute" or "gap_target" in parameters(method)
        assert advice.reasons[0].startswith(f"Recommended: {method.info.title}")


def test_the_config_names_method_settings_and_adviser_and_is_its_own_run() -> None:
    found = settle({"name": "auto", "protect": "attribute", "gap_target": 0.1})
    config = build_config(found)
    assert found["method"]["gap_target"] == 0.1 and config.adviser == ADVISER
    assert build_config(config.to_json()) == config
    by_hand = build_config({**found, "adviser": None})
    assert "adviser" not in by_hand.to_json() and by_hand.key != config.key


@pytest.mark.parametrize("name", list_candidates())
def test_a_gap_that_is_named_is_never_refused_whichever_candidate_did_best(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    weigh = adviser.weigh_fits

    def prefer(*given: Any, **other: Any) -> pd.DataFrame:
        fits = weigh(*given, **other)
        return fits.assign(worth=fits.worth.where(fits.setting != name, 1.0))

    monkeypatch.setattr(adviser, "weigh_fits", prefer)
    advised = []
    for protect, by_group, notion in product(USUAL, ("yes", "no"), list_tried()):
        asked = {"name": "auto", "protect": protect, "group_at_decision": by_group, "gap_target": 0.1}
        found = settle(asked, notion=notion)["method"]
        for gap in (0.0, found.pop("gap_target"), 1.0):
            assert method_to_json(read_method({**found, "gap_target": gap}))["gap_target"] == gap
        advised.append(found)
    candidate = list_candidates()[name]
    assert (candidate in advised) == ("gap_target" in parameters(read_method(candidate)))


def test_the_group_at_decision_is_said_to_gain_what_it_gains_and_never_taken_unasked() -> None:
    size = Size(40_000, 2)
    reasons = settle_method({**ASKED, "method": {"name": "auto", "protect": "attribute"}}, lambda config: size)[1]
    gains = [each for each in reasons if each.startswith("If the group may be known")]
    yes = settle({"name": "auto", "protect": "attribute", "group_at_decision": "yes"}, size)
    assert read_method(yes["method"]).decides_by_group() == bool(gains)


@pytest.mark.parametrize(
    ("method", "other", "says"),
    [
        ({"name": "auto"}, {}, "must know what is to be protected"),
        ({"name": "auto", "protect": "both"}, {}, "protect must be one of attribute, record, got 'both'"),
        ({"name": "auto", "protect": "record", "group_at_decision": "maybe"}, {}, "one of yes, no, got 'maybe'"),
        ({"name": "auto", "protect": "record", "epochs": 3}, {}, "unknown setting of method 'auto' 'epochs'"),
        ({"name": "auto", "protect": "record"}, {"epsilon": None}, "epsilon is not given"),
        ({"name": "auto", "protect": "record"}, {"epsilon": 0}, "finite number > 0, got 0"),
        ({"name": "auto", "protect": "record"}, {"notion": "predictive_parity"}, "such as raco_dp"),
        ({"name": "pf_ld", "protect": "record"}, {}, "protect is for method auto"),
    ],
)
def test_what_is_missing_or_wrong_is_one_sentence(method: dict[str, Any], other: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        settle(method, **other)


def test_tables_that_nobody_tried_are_refused() -> None:
    for size in (Size(1_000, 2, labels=3), Size(1_000, 2, image=True)):
        with pytest.raises(BadInput, match="method auto knows tables of two labels alone"):
            settle({"name": "auto", "protect": "attribute"}, size)


def test_of_randomised_answers_a_method_that_reads_them_is_advised() -> None:
    answered = Size(30_000, 2, answered=True)
    for by_group, notion in product(("yes", "no"), ("demographic_parity", "equalized_odds", "equal_opportunity")):
        asked = {"name": "auto", "protect": "attribute", "group_at_decision": by_group}
        found, reasons = settle_method({**ASKED, "notion": notion, "method": asked}, lambda config: answered)
        assert read_method(found["method"]).info.reads_answers
        assert reasons[0].endswith("Groups are randomised answers here, and other methods take them as true.")
    with pytest.raises(BadInput, match="no method that protects whole records reads them: say protect attribute"):
        settle({"name": "auto", "protect": "record"}, answered)


def test_a_sweep_asks_for_each_combination() -> None:
    raw = {**ASKED, "method": {"name": "auto", "protect": "record"}, "axes": {"epsilon": [0.01, 8.0], "seed": [0, 1]}}
    cells = expand(build_sweep(raw), settle=lambda asked: settle_method(asked, lambda config: SMALL)[0])
    for cell in cells:
        wanted = advise(Question("record", False, "demographic_parity", cell.values["epsilon"], 1e-5), SMALL)
        assert cell.config is not None and cell.config.method == read_method(wanted.settings)


def test_the_command_says_why_and_the_record_keeps_it(call: Call, tmp_path: Path) -> None:
    asked = ["--dataset", "synthetic", "--sensitive", "group", "--notion", "demographic_parity", "--epsilon", "1"]
    out = str(tmp_path / "record.json")
    said = call("train", "--method", "auto", "--protect", "attribute", *asked, "--json", "--out", out)
    assert call("train", "--config", out, "--json").json["key"] == said.json["key"], "its config repeats the run"
    assert "adviser" not in call("train", "--config", out, "--set", "gap_target=0.2", "--json").json["config"]
    config = said.json["config"]
    assert "Recommended: " in said.err and config["adviser"] == ADVISER
    assert config["method"]["name"] in list_candidates()
    assert "must know what is to be protected" in call("train", "--method", "auto", *asked).err


def test_the_estimator_takes_it_and_says_why() -> None:
    draw = np.random.default_rng(0)
    sex, X = draw.choice(["f", "m"], 900), draw.normal(size=(900, 2))
    y = (X[:, 0] + (sex == "m") + draw.normal(size=900) > 0.5).astype(int)
    model = FairPrivateClassifier("auto", protect="attribute", pos_label=1).fit(X, y, sensitive_features=sex)
    assert model.reasons_[0].startswith("Recommended: ") and model.record_["config"]["adviser"] == ADVISER
    named = FairPrivateClassifier("one_release", pos_label=1).fit(X, y, sensitive_features=sex)
    assert named.reasons_ == ()
    with pytest.raises(BadInput, match="must know what is to be protected"):
        FairPrivateClassifier("auto").fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(("crossed", "learner"), [(True, "boosted"), (False, "linear")])
def test_the_learner_with_the_smaller_loss_on_held_out_rows_is_chosen_by_public_columns(
    crossed: bool, learner: str
) -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(1_000, 2)).astype(np.float32)
    score = X[:, 0] * X[:, 1] if crossed else X[:, 0]
    y = (score + 0.2 * draw.normal(size=1_000) > 0).astype(np.int64)
    names = ("a", "b"), ("no", "yes"), ("f", "m")
    for group in (np.zeros(1_000, dtype=np.int64), y.copy()):
        data = Dataset(X, y, group, *names, name="made", sensitive="sex", digest="")
        assert choose_learner(data, seed=0) == learner
