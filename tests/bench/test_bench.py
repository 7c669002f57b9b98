"""The benchmark: its suite is fixed, it goes on where it ended, and what others enter is checked before it counts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from fairpriv_core import plugins
from fairpriv_core.bench import runner
from fairpriv_core.bench.board import build_boards
from fairpriv_core.bench.entries import HEAD
from fairpriv_core.bench.lines import COLUMNS, DESCRIBED, KEPT, add_lines, describe_file, read_lines, write_lines
from fairpriv_core.bench.made_up import KINDS, ROWS, find_best, write_table
from fairpriv_core.bench.suite import Entry, Suite, read_smoke, read_suite, seal_rows, split_task
from fairpriv_core.errors import BadInput, DataUnavailable
from fairpriv_core.methods.catalog import methods
from fairpriv_core.sweeps.cluster_task import Terms, Unfit, read_versions, work_on_part
from fairpriv_core.text import Reporter
from tests.bench.made_lines import TASKS, make_lines
from tests.cli.commands import Call, make_call
from tests.patience import PATIENCE
from tests.plugins.installed import Installer, install
from tests.sweeps.clusters import Processes

__all__ = ["install"]
SILENT = Reporter(say=lambda text: None, show=lambda text: None)
TASK = "made_up_dense"
QUICK = "jagielski_post"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Return what runs a command; results go to a folder of the test's own."""
    monkeypatch.setenv("FAIRPRIV_BENCH", str(tmp_path / "results"))
    return make_call(monkeypatch, capsys)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let made-up tables be small."""
    monkeypatch.setattr("fairpriv_core.bench.made_up.write_table.__defaults__", (1_000,))


def pick(*methods: str, seeds: tuple[int, ...] = (3, 4)) -> Suite:
    """Return a part of the suite that takes a second; its seeds have no seal."""
    whole = read_suite()
    part = replace(whole, entries=tuple(map(Entry, methods)), tasks=(whole.find_task(TASK),), seeds=seeds)
    return replace(part, notions=whole.notions[:1], epsilons=(1.0,))


def test_the_suite_is_of_public_tasks_and_known_methods() -> None:
    suite = read_suite()
    assert len(TASKS) == 8 and {*read_smoke()["tasks"]} <= {task.name for task in suite.tasks}
    assert all(entry.method in methods() and entry.trials == 1 for entry in suite.entries)
    assert sum(methods()[entry.method].info.threat_model is not None for entry in suite.entries) == 12
    assert all(len(task.splits) == len(suite.seeds) for task in suite.tasks)
    with pytest.raises(BadInput, match="takes public data alone"):
        suite.find_task("people.csv")


@pytest.mark.parametrize("name", ["adult_sex", TASK])
def test_splits_are_those_that_were_sealed(name: str, tmp_path: Path) -> None:
    suite = read_suite()
    task = suite.find_task(name)
    for seed, split in enumerate(task.splits):
        assert seal_rows(split_task(suite, task, seed, tmp_path)[1]) == split
    assert len({suite.draw_seed(task.name, seed) for task in suite.tasks for seed in range(9)}) == 9 * len(suite.tasks)
    with pytest.raises(BadInput, match=f"test rows of {name}, seed 0, are not those of suite"):
        suite.check_split(task, 0, "other")


def test_a_made_up_table_has_two_groups_both_labels_and_a_truth(tmp_path: Path) -> None:
    for kind in KINDS:
        write_table(kind, 0, tmp_path / "made.csv")
        rows = pd.read_csv(tmp_path / "made.csv")
        assert len(rows) == ROWS and 0.45 < (rows["paid"] == "yes").mean() < 0.55
        assert 0.35 < (rows["sex"] == "m").mean() < 0.45 and 0.7 < find_best(kind, 0) < 0.95


def test_a_line_says_what_a_fit_came_to_and_what_is_there_is_not_made_again(
    few_rows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, audits = tmp_path / "lines.parquet", {QUICK: (1.2, 4.0, "2026-11-29")}
    first, left_out = runner.run_suite(pick(QUICK), out, audits, SILENT)
    assert not left_out and [*first.columns] == [*COLUMNS] and len(first) == 2
    line = first.iloc[0]
    assert (line.method, line.author, line.kind, line.threat_model) == (QUICK, "fairpriv", "run", "attribute")
    assert 0.9 < line.epsilon <= 1.0 and line.by_group and line.audit_bound == 1.2 and line.trials == 1
    assert line.gap_low <= line.gap <= line.gap_high and line.reached in ("yes", "maybe", "no")
    assert line.constant < line.accuracy < line.best + 0.1 and line.seconds > 0 and line.failed == ""
    calls = []
    train = runner.train_fits
    monkeypatch.setattr(runner, "train_fits", lambda *given: calls.append(len(given[0])) or train(*given))
    second, _ = runner.run_suite(pick(QUICK, seeds=(3, 4, 5)), out, audits, SILENT)
    assert len(second) == 3 and sum(calls) == 2  # the new seed's fit, and plain training beside it
    pd.testing.assert_frame_equal(second.iloc[:2], read_lines([out]).iloc[:2])


def test_workers_of_a_cluster_make_the_lines_that_lack(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("fairpriv_core.sweeps.cluster.CONNECT_SECONDS", PATIENCE)
    asked = ("bench", "--smoke", "--task", TASK, "--method", QUICK, "--method", "none", "--seeds")
    with Processes(tmp_path, workers=1) as processes:
        for seeds in ("3", "3..4"):
            said = call(*asked, seeds, "--scheduler", processes.address)
            assert said.code == 0, processes.told()
    lines = read_lines([tmp_path / "results" / "smoke.parquet"])
    assert sorted(zip(lines.method, lines.seed, strict=True)) == [
        (each, at) for each in (QUICK, "none") for at in (3, 4)
    ]
    assert (lines.failed == "").all() and (lines.accuracy < lines.best + 0.02).all()
    assert "like tcp://host:8786, got 'here'" in call(*asked, "3..5", "--scheduler", "here").err


def test_a_worker_of_other_versions_makes_no_lines() -> None:
    code, versions = read_versions()
    with pytest.raises(Unfit, match="has fairpriv's sources"):
        work_on_part(Terms(f"no{code}", versions, "", ""), str, 1)
    assert work_on_part(Terms(code, versions, "", ""), str, 1) == "1"


def test_a_fit_that_gives_no_model_is_a_line(few_rows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BadInput("a group is too small.")

    monkeypatch.setattr(runner, "plan_run", refuse)
    lines, _ = runner.run_suite(pick(QUICK), tmp_path / "lines.parquet", {}, SILENT)
    assert [*lines.failed] == ["a group is too small."] * 2 and lines.accuracy.isna().all()


def test_a_task_without_its_file_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def miss(*_: object) -> None:
        raise DataUnavailable("the file is not there.")

    monkeypatch.setattr(runner.Bench, "make", miss)
    _, left_out = runner.run_suite(pick(QUICK), tmp_path / "lines.parquet", {}, SILENT)
    assert left_out == {TASK: "the file is not there."}


@pytest.fixture
def decisions(call: Call, few_rows: None, tmp_path: Path) -> pd.DataFrame:
    """Return what a stranger decided on a task's test rows, from the rows that the command gives."""
    rows = tmp_path / "rows.csv"
    assert call("bench", "split", TASK, "--seed", "3", "--out", str(rows)).code == 0
    test = pd.read_csv(rows).query("part == 'test'")
    decided = (test.c0 > test.c0.median()).astype(int)
    return pd.DataFrame({"task": TASK, "seed": 3, "row": test.row, "decision": decided, "epsilon": 1.0})[[*HEAD]]


Spoil = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda rows: rows.assign(gender=1), "must have the columns task, seed, row, decision, epsilon and no other"),
        (lambda rows: rows.drop(columns="epsilon"), "see to epsilon"),
        (lambda rows: rows.assign(epsilon=np.nan), "epsilon must be 0.1 or 1 or 3 in every row, got '' in line 2"),
        (lambda rows: rows.assign(epsilon=0.7), "epsilon must be 0.1 or 1 or 3 in every row, got '0.7' in line 2"),
        (lambda rows: rows.assign(seed=4), "are not on its test rows, as row "),
        (lambda rows: rows.iloc[1:], "are not on its test rows, of which 1 of 250 are missing"),
        (lambda rows: pd.concat([rows, rows.iloc[:1]]), "are not on its test rows, of which row "),
        (lambda rows: rows.assign(decision=2), "decision must be 0 or 1 in every row, got '2' in line 2"),
        (lambda rows: rows.assign(decision=rows.decision.where(rows.index != rows.index[7])), "got '' in line 9"),
        (lambda rows: rows.assign(decision="yes" * 1000), "in every row, got 'yesyes"),
        (lambda rows: rows.assign(row="a"), "row must be a whole number of at least 0 in every row, got 'a' in line 2"),
        (lambda rows: rows.assign(row=1e300), "got '1e+300' in line 2"),
        (lambda rows: rows.assign(seed=-1), "seed must be a whole number of at least 0 in every row, got '-1'"),
        (lambda rows: rows.assign(task="mine"), "takes public data alone"),
        (lambda rows: rows.assign(task=np.nan), "takes public data alone"),
        (lambda rows: rows.iloc[:0], "has no decisions"),
    ],
)
def test_a_strangers_wrong_file_is_refused_in_one_sentence(
    call: Call, decisions: pd.DataFrame, tmp_path: Path, spoil: Spoil, says: str
) -> None:
    spoil(decisions).to_csv(tmp_path / "theirs.csv", index=False)
    said = call("bench", "enter", str(tmp_path / "theirs.csv"), "--name", "theirs", "--protects", "record")
    assert said.code == 2 and says in said.err and len(said.err.strip().splitlines()) == 1
    assert not (tmp_path / "results").exists()


def test_a_file_that_is_no_such_table_or_too_large_is_refused(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, head = tmp_path / "theirs.csv", ",".join(HEAD)
    enter = ("bench", "enter", str(path), "--name", "theirs", "--protects", "record")
    for content, says in (
        (f"{head}\nadult_sex,0,4,1,1,9\n".encode(), "see to rows with more cells than the head"),
        (gzip.compress(head.encode()), "cannot be read as a CSV file of decisions"),
        (b"", "cannot be read as a CSV file of decisions"),
    ):
        path.write_bytes(content)
        said = call(*enter)
        assert said.code == 2 and says in said.err, content
    monkeypatch.setattr("fairpriv_core.bench.entries._MOST_BYTES", 10)
    path.write_text(head)
    assert "theirs.csv has 30 bytes, and may have 10" in call(*enter).err


def test_a_strangers_decisions_are_scored_as_ours_are_and_marked_as_claimed(
    call: Call, decisions: pd.DataFrame, tmp_path: Path
) -> None:
    decisions.sample(frac=1.0, random_state=0).to_csv(tmp_path / "theirs.csv", index=False)
    enter = ("bench", "enter", str(tmp_path / "theirs.csv"), "--protects", "record")
    assert "3 trials must be paid" in call(*enter, "--name", "theirs", "--trials", "3").err
    assert "no method's of the catalogue" in call(*enter, "--name", QUICK).err
    assert call(*enter, "--name", "theirs", "--trials", "3", "--paid").code == 0
    lines = read_lines([tmp_path / "results" / "claimed_theirs.parquet"])
    assert {*lines.kind} == {"claimed"} and lines.epsilon.isna().all() and {*lines.epsilon_claimed} == {1.0}
    assert {*lines.notion} == {*read_suite().notions} and {*lines.trials} == {3}
    _, test = split_task(read_suite(), read_suite().find_task(TASK), 3, tmp_path)
    right = decisions.set_index("row").decision.loc[test.row].to_numpy() == test.y
    assert lines.accuracy.iloc[0] == pytest.approx(right.mean(), abs=1e-4)
    (board,) = build_boards(lines, lines.notion.iloc[0], 1.0, suite=pick(QUICK, seeds=(3,)), tasks=[TASK])
    assert board.standings[0].title == "theirs (claimed)"
    place = tmp_path / "results" / "claimed_theirs.parquet"
    assert call(*enter, "--name", "others", "--out", str(place)).code == 0
    assert {*read_lines([place]).method} == {"theirs", "others"}, "what was there stays"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"suite": "0"}, "is of suite 0"),
        ({"task": "my_people"}, "takes public data alone"),
        ({"split": "other"}, "has other test rows"),
    ],
)
def test_a_file_of_other_results_does_not_join(change: dict[str, str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    write_lines(make_lines({"pf_ld": 0.8}).assign(**change), path)
    with pytest.raises(BadInput, match=says):
        read_lines([path])
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(BadInput, match="has not the columns of results"):
        read_lines([path])
    path.write_text("a,b")
    with pytest.raises(BadInput, match="is no Parquet file"):
        read_lines([path])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"author": "outside", "kind": "claimed"}, "they alone, are entries of fairpriv"),
        ({"method": "theirs", "author": "their_package 1.0"}, "fairpriv alone proves"),
        ({"method": "theirs", "author": "outside", "epsilon": np.nan}, "made outside is claimed"),
        ({"method": "<b>"}, "small letters"),
        ({"author": "NIST (verified by fairpriv)"}, "a package with its version"),
        ({"threat_model": "record"}, "another threat model"),
        ({"epsilon": 1.1}, "spent more than its budget"),
        ({"epsilon_asked": 2.0}, "none of the suite's"),
        ({"accuracy": np.nan}, "no accuracy"),
        ({"accuracy": 1.01}, "outside 0 to 1"),
        ({"gap_low": 0.02}, "gap lies outside its interval"),
        ({"height": np.nan, "height_low": 0.2, "height_high": 0.1}, "height lies outside its interval"),
        ({"height_low": 0.02, "height_high": 0.1}, "height lies outside its interval"),
        ({"epsilon": -5.0}, "below 0"),
        ({"audit_bound": -0.1}, "below 0"),
        ({"seconds": np.inf}, "infinite"),
        ({"best": 1.5}, "outside 0 to 1"),
        ({"audit_date": "<b>x"}, "no date"),
        ({"trials": 0}, "at least 1"),
    ],
)
def test_lines_that_cannot_be_do_not_join(change: dict[str, object], says: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    write_lines(make_lines({"pf_ld": 0.8}), path)
    assert len(read_lines([path])) == 24
    write_lines(make_lines({"pf_ld": 0.8}).assign(**change), path)
    with pytest.raises(BadInput, match=f"lines.parquet has a line of .* on adult_sex that cannot be: .*{says}"):
        read_lines([path])


def test_a_file_of_other_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    for change in ({"seed": np.nan}, {"method": 3}, {"author": None}, {"accuracy": "high"}):
        write_lines(make_lines({"pf_ld": 0.8}), path)
        found = pd.read_parquet(path).assign(**change)
        found.astype({name: "category" for name in change if name in ("method", "author")}).to_parquet(path)
        with pytest.raises(BadInput, match=f"has not the types of results: {next(iter(change))} differs"):
            read_lines([path])


def test_metadata_that_a_stranger_wrote_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    write_lines(make_lines({"pf_ld": 0.8}), path)
    table = parquet.read_table(path)
    for metadata in ({"pandas": "{}"}, {"pandas": "["}, {"PANDAS_ATTRS": "["}):
        parquet.write_table(table.replace_schema_metadata(metadata), path)
        assert len(read_lines([path])) == 24


def test_lines_that_another_process_wrote_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, train, other = tmp_path / "lines.parquet", runner.train_fits, make_lines({"pf_ld": 0.8})
    monkeypatch.setattr(runner, "train_fits", lambda *given: write_lines(other, out) or train(*given))
    monkeypatch.setattr("fairpriv_core.bench.made_up.write_table.__defaults__", (1_000,))
    runner.run_suite(pick(QUICK), out, {}, SILENT)
    assert {*read_lines([out]).method} == {QUICK, "pf_ld"}


def test_lines_that_are_added_at_once_all_stay(tmp_path: Path) -> None:
    """Each writer has its own process, as two runs of the suite have."""
    out, outside = tmp_path / "lines.parquet", {"author": "outside", "kind": "claimed", "epsilon": np.nan}
    made = [make_lines({f"entry{number}": 0.8}, **outside) for number in range(24)]
    with ProcessPoolExecutor(4, get_context("spawn")) as processes:
        [*processes.map(partial(add_lines, path=out), made)]
    assert len(read_lines([out])) == sum(map(len, made))
    assert {each.name for each in tmp_path.iterdir()} == {"lines.parquet", ".lines.parquet.lock"}


def test_a_later_files_line_stands_in_place_of_an_earlier_ones_and_nobodys_in_place_of_ours(tmp_path: Path) -> None:
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    outside = {"author": "outside", "kind": "claimed", "epsilon": np.nan}
    write_lines(make_lines({"theirs": 0.8, "others": 0.7}, **outside), paths[0])
    write_lines(make_lines({"theirs": 0.9}, **outside), paths[1])
    both = read_lines(paths)
    assert len(both) == 48 and both[both.method == "theirs"].accuracy.min() > 0.89
    write_lines(make_lines({"pf_ld": 0.97}), paths[1])
    shipped = read_lines([KEPT])
    assert read_lines([KEPT, paths[1]]).equals(shipped), "of our own entries what ships stands"
    faults = {
        "split": ("", "other test rows"),
        "notion": ("parity", "notion 'parity'"),
        "reached": ("<b>x", "yes, maybe"),
    }
    for column, (value, words) in faults.items():
        write_lines(make_lines({"pf_ld": 0.9}).assign(**{column: value}), paths[1])
        with pytest.raises(BadInput, match=words):
            read_lines(paths)


def test_the_example_plugin_enters_by_one_command_and_appears(
    call: Call, few_rows: None, install: Installer, tmp_path: Path
) -> None:
    source = "from examples.plugin.fairpriv_automatic_clipping.method import AutomaticClipping as Offered"
    install.add("offered_method", source, {plugins.METHODS: {"automatic_clipping": "Offered"}})
    asked = ("bench", "--smoke", "--task", TASK, "--seeds", "3", "--method", "automatic_clipping")
    said = call(*asked)
    assert said.code == 0 and "Automatic clipping" in said.out and "claimed" in said.out
    lines = read_lines([tmp_path / "results" / "smoke.parquet"])
    assert {*lines.author} == {"offered_method 1.0"} and lines.epsilon.isna().all() and len(lines) == 1
    again = call(*asked, "--json")
    assert json.loads(again.out)["lines"] == 1 and "1 fits" not in again.err


def test_commands_refuse_what_is_no_part_of_the_suite(call: Call) -> None:
    for asked, says in (
        (("--task", "people.csv"), "takes public data alone"),
        (("--method", "nobody"), "unknown method 'nobody'"),
        (("--trials", "2", "--paid"), "name its method"),
        (("--trials", "2", "--method", QUICK), "must be paid"),
        (("--seeds", "5..1"), "seeds must be A..B"),
    ):
        said = call("bench", *asked)
        assert said.code == 2 and says in said.err, asked


def test_the_kept_results_are_of_every_standard_task_and_are_described() -> None:
    lines, suite = read_lines([KEPT]), read_suite()
    assert KEPT.stat().st_size < 1_000_000 and {*lines.task} == {*TASKS} and {*lines.kind} == {"run"}
    assert {*lines.method} == {entry.method for entry in suite.entries}
    known = json.loads(DESCRIBED.read_text(encoding="utf-8"))
    assert known == describe_file(KEPT, known["citeAs"], known["datePublished"])
    assert [each["name"] for each in known["recordSet"][0]["field"]] == [*COLUMNS]


@pytest.mark.long
def test_where_ranks_are_said_to_differ_they_are_the_same_with_other_seeds(call: Call, tmp_path: Path) -> None:
    """The short suite with two other sets of seeds, about two minutes of a core each."""
    boards = []
    for seeds in ("3..5", "6..8"):
        out = tmp_path / f"{seeds}.parquet"
        assert call("bench", "--smoke", "--seeds", seeds, "--out", str(out)).code == 0
        lines, asked = read_lines([out]), read_smoke()
        suite = replace(read_suite(), seeds=tuple(lines.seed.unique()))
        question = asked["notions"][0], asked["epsilons"][0]
        boards.append(build_boards(lines, *question, suite=suite, tasks=asked["tasks"]))
    for one, other in zip(*boards, strict=True):
        places = [{each.name: each for each in board.ranked} for board in (one, other)]
        for board, (ahead, behind) in product((one, other), permutations(places[0], 2)):
            own = places[board is other]
            if board.differ(own[ahead], own[behind]) and (own[ahead].rank or 0) < (own[behind].rank or 0):
                assert all((place[ahead].rank or 0) < (place[behind].rank or 0) for place in places), (ahead, behind)
