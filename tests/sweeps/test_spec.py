"""What a sweep's file may ask for: its combinations, and one clear sentence for each mistake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.plain import read_toml
from fairpriv_core.privacy.event import Parallel
from fairpriv_core.sweeps.plan import form_chunks, plan_sweep
from fairpriv_core.sweeps.spec import build_sweep, check_cells, expand, read_sweep_file

EXAMPLES = Path(__file__).parents[2] / "examples" / "sweeps"
BASE = """
notion = "demographic_parity"
[data]
dataset = "synthetic"
sensitive = "group"
[method]
epochs = 2
"""


def nobody(key: str) -> Mapping[str, Any]:
    raise AssertionError(f"no run was to be asked, and {key} was")


def refuse(text: str) -> str:
    """Return the sentence that a sweep's file is refused with."""
    with pytest.raises(BadInput) as caught:
        sweep = build_sweep(read_toml(BASE + text))
        check_cells(expand(sweep), sweep)
        plan_sweep(sweep, find_record=nobody)
    message = str(caught.value)
    assert "\n" not in message and message.endswith((".", "?"))
    return message


def test_the_examples_expand() -> None:
    sizes = {}
    for path in sorted(EXAMPLES.glob("*.toml")):
        sweep = build_sweep(read_sweep_file(str(path)))
        cells = expand(sweep)
        check_cells(cells, sweep)
        sizes[path.stem] = len({cell.config.key for cell in cells if cell.config is not None})
        assert len([line for line in path.read_text().splitlines() if line.strip()]) < 25
    assert sizes == {"dp_fermi_on_adult": 600, "one_release_on_bank": 90, "tiny": 8}


def test_several_tables_of_axes_are_several_grids() -> None:
    grids = """[[axes]]
    method = ["none"]
    seed = [0, 1]
    [[axes]]
    method = ["pf_ld"]
    notion = ["equalized_odds"]
    "method.clip_primal" = [0.5, 1.0]
    seed = [0]
    """
    sweep = build_sweep(read_toml("epsilon = 1\n" + BASE + grids))
    cells = expand(sweep)
    assert sweep.combinations == len(cells) == 4 and not [cell.reason for cell in cells if cell.reason]
    assert cells[0].values == {"method": "none", "seed": 0}
    assert [cell.values["method.clip_primal"] for cell in cells[2:]] == [0.5, 1.0]
    assert [cell.config.notion for cell in cells if cell.config][1:3] == ["demographic_parity", "equalized_odds"]


def test_a_table_of_axes_that_says_nothing_of_evaluations_has_those_of_default() -> None:
    grids = """[[axes]]
    seed = [0]
    private_evaluation = [false]
    [[axes]]
    seed = [1]
    """
    cells = expand(build_sweep(read_toml("epsilon = 1\n" + BASE + 'name = "pf_ld"\n' + grids)))
    assert [cell.config.private_evaluation for cell in cells if cell.config] == [False, True]


def test_every_combination_is_a_config() -> None:
    axes = """[axes]
    method = ["none", {name = "pf_ld", clip_primal = 0.5}]
    epsilon = [1, 3]
    sensitive = ["group", "region"]
    method.learning_rate = [0.1, 0.2]
    """.replace("method.learning_rate", '"method.learning_rate"')
    cells = expand(build_sweep(read_toml(BASE + axes)))
    assert len(cells) == 16 and cells[1].values == {
        "method": "none",
        "epsilon": 1,
        "sensitive": "group",
        "method.learning_rate": 0.2,
    }
    last = cells[-1].config
    assert last is not None and last.epsilon == 3 and last.data.sensitive == "region"
    method: Any = last.method
    assert (method.info.name, method.epochs, method.clip_primal, method.learning_rate) == ("pf_ld", 2, 0.5, 0.2)
    assert cells[-1].name.startswith("method = pf_ld (clip_primal 0.5), epsilon = 3, sensitive = region")
    plain = {cell.config.key for cell in cells if cell.config is not None and cell.values["method"] == "none"}
    assert len(plain) == 4, "a budget means nothing to a method without noise: the runs are the same"


def test_runs_that_pay_for_themselves_are_evaluated_unless_the_file_says_otherwise() -> None:
    axes = '[axes]\nmethod = ["none", "pf_ld", {name = "pf_ld", variant = "published"}]\nepsilon = [1]\n'
    for said, made in (("", [False, True, False]), ("private_evaluation = false\n", [False] * 3)):
        cells = expand(build_sweep(read_toml(said + BASE + axes)))
        assert [cell.config and cell.config.private_evaluation for cell in cells] == made
    frontier = BASE + 'name = "one_release"\n[axes]\nepsilon = [1]\nmethod.gap_target = [0.01, 0.02, 0.04]\n'
    frontier += "[sweep]\nshare_release = true\n"
    for said, made in (("", [True, False, False]), ("private_evaluation = true\n", [True] * 3)):
        plan = plan_sweep(build_sweep(read_toml(said + frontier)), find_record=nobody)
        found = [config.private_evaluation for chunk in plan.chunks for config in chunk.configs]
        assert found == made, "on a shared release an evaluation has a price of its own"
        paid = [isinstance(posting.entry.events[0], Parallel) for posting in plan.postings.values()]
        assert paid == made, "the ledger foresees what is made and nothing more"


def test_a_base_with_a_name_keeps_its_parameters_for_that_method_alone() -> None:
    named = BASE + 'name = "pf_ld"\nclip_primal = 0.5\n[axes]\nmethod = ["pf_ld", "none"]\nepsilon = [1]\n'
    first, second = (cell.config for cell in expand(build_sweep(read_toml(named))))
    assert first is not None and first.to_json()["method"]["clip_primal"] == 0.5
    assert second is not None and second.method.info.name == "none"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the sweep has no [axes]"),
        ("[[axes]]\nseed = [0]\n[[axes]]\n", "the sweep has no [axes]"),
        ("[[axes]]\nseed = [0]\n[[axes]]\nepsilonn = [1]", "unknown axis 'epsilonn'; did you mean 'epsilon'?"),
        ("[axes]\nepsilonn = [1]", "unknown axis 'epsilonn'; did you mean 'epsilon'?"),
        ('[axes]\nmethod = ["pf_ld"]\n"method.clip_primary" = [1]', "did you mean 'method.clip_primal'?"),
        (
            '[axes]\nmethod = ["pf_ld"]\nclip_primal = [1]',
            "unknown axis 'clip_primal'; did you mean 'method.clip_primal'?",
        ),
        ("[axes]\nseed = []", "axis 'seed' is empty"),
        ("[axes]\nseed = 3", "axis 'seed' must be a list, such as [3], got 3"),
        ("[axes]\nepsilon = [1, 3, 1.0]", "axis 'epsilon' names 1.0 twice"),
        ("[axes]\nseed = [0]\n[sweep]\ninvalid = 'drop'", "invalid must be one of refuse, skip, got 'drop'"),
        ("[axes]\nseed = [0]\n[sweep]\nmax_run = 3", "unknown setting of [sweep] 'max_run'"),
        ("[axes]\nseed = [0]\n[sweep]\nmax_runs = 0", "max_runs must be a whole number >= 1, got 0"),
        ("[axes]\nseed = [0]\n[sweep]\nshare_samples = 1", "share_samples must be true or false, got 1"),
        ('[axes]\nmethod = ["nonsense"]', "no combination of the sweep can run; method = nonsense: unknown method"),
        (
            '[axes]\nmethod = ["none", "zafar"]\nnotion = ["demographic_parity", "accuracy_parity"]',
            "2 of 4 combinations cannot run, the first for method = zafar, notion = demographic_parity: unknown",
        ),
        (
            '[axes]\nmethod = ["none"]\n"method.batch_size" = [64, 100000]',
            "1 of 2 combinations cannot run, the first for method = none, method.batch_size = 100000: batch_size must",
        ),
        ('[axes]\nmethod = ["none"]\nsensitive = ["nobody"]', "no combination of the sweep can run"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, says: str) -> None:
    assert says in refuse(text)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"the sweep's file cannot be read: .*nothing.toml"):
        build_sweep(read_sweep_file(str(tmp_path / "nothing.toml")))
    path = tmp_path / "sweep.toml"
    path.write_text("axes = [")
    with pytest.raises(BadInput, match=r"the sweep's file .*sweep.toml is not valid TOML: "):
        build_sweep(read_sweep_file(str(path)))


def test_what_cannot_be_is_left_out_where_the_file_says_so() -> None:
    axes = '[axes]\nmethod = ["none", "pf_ld"]\nepsilon = [-1, 2]\n"method.batch_size" = [64, 100000]\n'
    plan = plan_sweep(build_sweep(read_toml(BASE + axes + '[sweep]\ninvalid = "skip"')), find_record=nobody)
    assert len(plan.cells) == 8 and len(plan.keys) == 2
    reasons = [cell.reason for cell in plan.cells if cell.config is None]
    assert sum("batch_size must be at most" in str(reason) for reason in reasons) == 2
    assert sum("epsilon must be a finite number > 0, got -1" in str(reason) for reason in reasons) == 4


def test_runs_that_could_make_one_release_make_it_once() -> None:
    axes = """[axes]
    notion = ["demographic_parity", "equalized_odds"]
    epsilon = [0.5, 1]
    seed = [0, 1]
    method.gap_target = [0.01, 0.02]
    [sweep]
    share_release = true
    """
    plan = plan_sweep(build_sweep(read_toml(BASE + 'name = "one_release"\n' + axes)), find_record=nobody)
    first, second = ([config for chunk in phase for config in chunk.configs] for phase in plan.phases)
    assert len(first) == 4 and len(second) == 12
    sources = {config.key for config in first}
    assert {config.reuse for config in second} == sources and all(config.epsilon is None for config in second)
    assert [chunk.id for chunk in plan.phases[0]] == [chunk.id for chunk in form_chunks(first)]
    shared = {name for post in plan.postings.values() for name in post.entry.shared}
    assert len(shared) == 4 and len(plan.postings) == 16


def test_whoever_waits_sees_one_point_of_each_method_first_and_the_rest_in_short_chunks() -> None:
    axes = '[axes]\nmethod = ["pf_ld", "f_ld"]\nepsilon = [0.5, 1, 2, 3, 4, 5]\nseed = [0, 1, 2, 3]'
    sweep = build_sweep(
        read_toml('notion = "demographic_parity"\n[data]\ndataset = "synthetic"\nsensitive = "group"\n' + axes)
    )
    widest, short = (plan_sweep(sweep, find_record=nobody, runs=runs) for runs in (None, ()))
    assert sorted(widest.keys) == sorted(short.keys)
    firsts = [[config.method.info.name for config in chunk.configs] for chunk in short.chunks[:2]]
    assert firsts == [["pf_ld"], ["f_ld"]]
    assert max(len(chunk.configs) for chunk in widest.chunks) > max(len(chunk.configs) for chunk in short.chunks)
