"""That predictions need the group is said of every run whose model decides by it, and of no other."""

from __future__ import annotations

from fairpriv_core.cli.terminal import format_account
from fairpriv_core.facts.terminal import format_record
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.fields import GROUP_NEEDED
from fairpriv_core.records.config import build_config
from fairpriv_core.records.parameters import format_group_needed, read_method
from fairpriv_core.runs.account import account
from fairpriv_core.runs.foreground import train
from fairpriv_core.text import Reporter
from tests.facts.told import tell
from tests.figures.samples import record as made_record

AWARE = ("jagielski_post", "group_thresholds", "group_thresholds_record", "dp2dp", "randomized_response")
SETTINGS = {"randomized_response": {"procedure": "two_step"}}


def test_a_method_that_may_decide_by_group_assumes_so_where_it_does() -> None:
    assert {name for name, kind in methods().items() if kind.info.needs_group_at_prediction} == set(AWARE)
    for name in methods():
        asked = {"method": {"name": name, **SETTINGS.get(name, {})}}
        method = read_method(asked["method"])
        assert method.decides_by_group() == (name in AWARE), name
        assert format_group_needed(asked) == (GROUP_NEEDED if name in AWARE else None), name
        assert (GROUP_NEEDED in method.assumptions()) == (name in AWARE), name


def test_one_step_of_randomised_response_predicts_without_the_group() -> None:
    method = read_method("randomized_response")
    assert not method.decides_by_group() and GROUP_NEEDED not in method.assumptions()


def test_train_and_account_say_so_once() -> None:
    asked = {"name": "jagielski_post", "epochs": 1}
    data = {"dataset": "synthetic", "sensitive": "group"}
    config = build_config({"data": data, "notion": "demographic_parity", "method": asked, "epsilon": 1.0})
    _, record = train(config, Reporter(say=lambda _: None, show=lambda _: None))
    assert record is not None
    for told in (
        format_record(record),
        format_account(account(asked, dataset_size=1000, groups=2, epsilon=1.0, delta=None)),
    ):
        assert " ".join(told.split()).count(GROUP_NEEDED) == 1


def test_records_from_before_it_was_an_assumption_say_so_too() -> None:
    older = made_record(assumptions=["x and y are public."])
    older["config"] = {**older["config"], "method": {"name": "jagielski_post"}}
    assert tell(older).caveats[0] == GROUP_NEEDED
    newer = {**older, "assumptions": ["x and y are public.", GROUP_NEEDED]}
    assert tell(newer).caveats == tell(older).caveats
    assert GROUP_NEEDED not in tell(made_record()).caveats
