"""Whole runs, replayed on garbage: what leaves a private run follows from its releases and from public values alone.

A run is made through the store, with its journal, evaluation, model files and reports, and every release of its
mechanism is kept. It is made again with those releases, other secret samples, and garbage in place of what its threat
model protects. Every byte that leaves must be the same, but for the closed list of raw pieces in `records/release.py`
and for clocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from PIL import Image

from fairpriv_core.cli.runs import run_to_json
from fairpriv_core.data import catalog, gather
from fairpriv_core.data.dataset import Dataset, split_dataset
from fairpriv_core.data.images import Pixels
from fairpriv_core.data.problem import Problem
from fairpriv_core.data.schema import RawTable, declare_problem
from fairpriv_core.documents.document import Audience
from fairpriv_core.documents.forms import forms_of, open_report, write_runs
from fairpriv_core.documents.report_data import ReportData, gather_report
from fairpriv_core.engine.training import Fitted, Snapshot
from fairpriv_core.facts import measures, run_facts
from fairpriv_core.facts.run_facts import for_audience, read_facts
from fairpriv_core.facts.terminal import format_record
from fairpriv_core.figures import origin
from fairpriv_core.files.table import Cells, Codes, Numbers
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.ledger.report import report_ledgers
from fairpriv_core.methods.base import Method
from fairpriv_core.records import release
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.model import Model
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.plan import DatasetCache, Plan
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs import session, worker
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.session import FitObserver
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.launch import request_cost
from tests.methods.examples.catalog import EXAMPLES, labels_of, on_images, takes_images, with_module
from tests.methods.harness import RecordingMechanism, Release

pytestmark = pytest.mark.usefixtures("browser_that_hands_back")
ROWS = 400
AIMS = ("gap_target", "certificate_target")
LONG = pytest.mark.long  # the contract tries each example's fit; here one a method is made into a whole run


def _list_proved() -> Iterator[ParameterSet]:
    """Yield each private example with a proof; all but one a method that aims at a gap, or looks, are long."""
    for name, examples in EXAMPLES.items():
        proved = [each for each in examples if each.info.threat_model and each.unproved_reason() is None]
        aims = [each for each in proved if any(getattr(each, name, None) for name in AIMS)]
        for place, method in enumerate(examples):
            if method in proved:
                usual = method is (aims or proved)[0]
                yield pytest.param(method, id=f"{name}-{place}", marks=() if usual else LONG)
    for name in ("dp_sgd", "pf_ld", "pf_ld_record"):
        method = with_module(EXAMPLES[name][0], "normed")
        yield pytest.param(method, id=f"{name}-module", marks=LONG if name == "dp_sgd" else ())


PROVED = list(_list_proved())
FOR_GROUPS = [case for case in PROVED if case.values[0].info.threat_model == "attribute"]
FOR_RECORDS = [case for case in PROVED if case.values[0].info.threat_model == "record"]
_CLOCKS = ("seconds", "created", "started", "finished", "heartbeat")
_LISTED_RAW = ("accuracy", "gap")  # of `metrics`, in lists of runs
Table = dict[str, Cells]


@dataclass(frozen=True)
class Left:
    """All that left a run: record, the store's listing, the model's files, what reports are made from, all curves."""

    record: dict[str, Any]
    listed: dict[str, Any]
    model: dict[str, bytes]
    data: ReportData
    curves: list[tuple[int, str, float | None]]


@contextmanager
def recorded(tape: list[Release] | None) -> Iterator[list[RecordingMechanism]]:
    """Give the runs made meanwhile mechanisms that keep their releases, or replay those of `tape`; yield them."""
    made: list[RecordingMechanism] = []

    class Taped(RecordingMechanism):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(replayed=tape)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "Mechanism", Taped)
        yield made


def run_whole(config: RunConfig, place: Path, tape: list[Release] | None = None) -> tuple[Left, list[Release]]:
    """Make a run in a store of its own; return what left it, and its mechanism's releases. `tape` replays others."""
    with recorded(tape) as made, open_store(str(place)) as store:
        row, work = store.submit(config), WorkStore(store.database)
        work_on(work, work.claim(row.key))
        (listed,) = (run_to_json(*each) for each in store.read_all()[0])
        listed |= dict.fromkeys((*_CLOCKS, *_LISTED_RAW))
        assert listed["status"] == "finished", listed["error"]
        model = {piece.name: store.artifact(row.key, piece.name) for piece in release.MODEL}
        data, curves, record = gather_report(store, [row.key]), store.metrics(row.key), store.record(row.key)
    assert record is not None
    return Left({**record.to_document(), "seconds": 0.0}, listed, model, data, curves), made[0].releases


@pytest.fixture(autouse=True)
def protected_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a benchmark's rows for somebody's own: of public rows a report for policy shows exact numbers."""
    for module in (measures, origin, run_facts):
        monkeypatch.setattr(module, "is_published", lambda data: False)


def with_raw_of(left: Left, other: Left) -> dict[str, Any]:
    """Return the data of `left` with the raw pieces of `other`; what is not raw of their curves is the same."""
    raw = {piece.name: other.record[piece.name] for piece in release.RECORD if piece.kind == "raw"}
    run = read_facts(RunRecord.from_json({**left.record, **raw}), curves=other.data.runs[0].curves)
    return replace(left.data, runs=(run,))


def export(data: ReportData, audience: Audience) -> dict[str, bytes]:
    """Return every file that a report hands out."""
    report = open_report(data, audience)
    with ZipFile(BytesIO(forms_of(report)["zip"].make(report, lambda _: None))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return {**files, "csv": write_runs(report.chosen, audience).encode()}


def list_curves(left: Left) -> list[Any]:
    """Return the points of a run's curves that are not raw."""
    return [point for point in left.curves if release.kind_of_curve(point[1]) != "raw"]


def find_differences(honest: Left, replayed: Left) -> Iterator[str]:
    """Yield where two runs left other bytes, but for what is raw."""
    if honest.listed != replayed.listed:
        yield "the list of runs"
    yield from (name for name in honest.model if honest.model[name] != replayed.model[name])
    for piece in release.RECORD:
        one, other = (json.dumps(each.record[piece.name]) for each in (honest, replayed))
        if piece.kind not in ("raw", "time") and one != other:
            yield piece.name
    points = {json.dumps(each) for each in list_curves(honest)} ^ {json.dumps(each) for each in list_curves(replayed)}
    yield from {json.loads(point)[1] for point in points}
    if len({repr(for_audience(each.data.runs[0], "policy")) for each in (honest, replayed)}) > 1:
        yield "what may be told for policy"
    if export(honest.data, "policy") != export(replayed.data, "policy"):
        yield "a report for policy"
    shown = with_raw_of(replayed, honest)
    if shown != honest.data and export(shown, "analyst") != export(honest.data, "analyst"):
        yield "a report for the analyst"
    words = {piece.name: honest.record[piece.name] for piece in release.RECORD if piece.kind == "raw"}
    records = (honest.record, {**replayed.record, **words})
    told = [format_record(RunRecord.from_json(record)) for record in records]
    if told[0] != told[1]:
        yield "a record in words"


def assert_same(honest: Left, replayed: Left) -> None:
    """Assert that two runs left the same bytes, but for what is raw, and that this did change."""
    assert honest.record["metrics"] != replayed.record["metrics"], "the garbage was not used"
    assert list(find_differences(honest, replayed)) == []


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[Table], None]:
    """Return a function that makes the embedded data set hold other rows, under the same name and digest."""

    def hold(table: Table) -> None:
        def read(problem: Problem) -> RawTable:
            return RawTable(problem.name, table, declare_problem(problem), "0" * 64, problem.caveats)

        monkeypatch.setattr(gather, "read_benchmark", read)

    return hold


def make_table(seed: int = 0) -> Table:
    """Return rows with the embedded data set's columns, in which group and label depend on the features."""
    draw = np.random.default_rng(seed)
    schema = catalog.problems()["synthetic"].schema
    numbers = {each.name: draw.normal(size=ROWS) for each in schema if each.is_quantity}
    noise = draw.normal(size=(2, ROWS)) / 2
    coded = {"group": numbers["tenure"] + noise[0] > 0, "label": numbers["skill"] + noise[1] > 0}
    table: Table = {name: Numbers(value.astype(np.float32)) for name, value in numbers.items()}
    for each in (each for each in catalog.problems()["synthetic"].columns.values() if not each.is_quantity):
        code = coded.get(each.name, draw.integers(0, len(each.categories), ROWS))
        table[each.name] = Codes(np.asarray(code).astype(np.int32), each.categories)
    return table


def ask(method: Method, data: Mapping[str, Any], **given: Any) -> RunConfig:
    """Return the config of a run with a private evaluation."""
    notion = method.info.notions[0]
    asked = {"data": data, "notion": notion, "method": method_to_json(method), "private_evaluation": True}
    return build_config({**asked, **given})


def keep_rows(garbage: Any, honest: Any, kept: np.ndarray, name: str) -> Cells:
    """Return a column of garbage with the honest values in the rows `kept`, unless it is the label."""
    if name == "label":
        return garbage
    field = "codes" if isinstance(garbage, Codes) else "values"
    values = getattr(garbage, field).copy()
    values[kept] = getattr(honest, field)[kept]
    return replace(garbage, **{field: values})


@pytest.mark.parametrize("method", PROVED)
def test_nothing_protected_leaves_and_the_ledger_says_what_the_run_says(
    method: Method, tmp_path: Path, rows: Callable[[Table], None]
) -> None:
    """Under `record` every feature, label and group of every row is garbage, and the number of rows is not.

    Of rows that a method takes as public the label alone is.
    """
    config = ask(method, {"dataset": "synthetic", "sensitive": "group"})
    table, column = make_table(), "group"
    garbage = {**table, "group": Codes(np.random.default_rng(1).integers(0, 2, ROWS).astype(np.int32), ("A", "B"))}
    if method.info.threat_model == "record":
        garbage, column = make_table(seed=9), None
    rows(table)
    if method.info.public_part:
        whole = DatasetCache().whole(config)
        train, _ = split_dataset(replace(whole, row=np.arange(whole.n)), seed=config.seed, split=config.split)
        public = method.public_rows(train.n, config.seed)
        assert train.row is not None and public is not None
        garbage = {name: keep_rows(part, table[name], train.row[public], name) for name, part in garbage.items()}
    honest, tape = run_whole(config, tmp_path / "honest.db")
    rows(garbage)
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    assert_same(honest, replayed)
    with open_store(str(tmp_path / "honest.db")) as store:
        [ledger] = report_ledgers(store, delta=config.delta)
        effects = foresee_launch(read_page(store, ledger["id"]), None, delta=config.delta)
    of_page = {effect.column: {effect.spent, effect.planned, effect.after} for effect in effects}
    of_ledger = {each["column"]: {each["epsilon"], each["epsilon_planned"]} for each in ledger["protected"]}
    of_report = {each.column: {each.epsilon} for each in honest.data.together}
    assert of_page[column] == of_ledger[column] == of_report[column] == {honest.record["epsilon"]}


def make_compas(seed: int) -> Table:
    """Return rows with the columns of COMPAS at random, counts beyond their declared ranges among them."""
    draw = np.random.default_rng(seed)
    table: Table = {}
    for name, each in catalog.problems()["compas"].columns.items():
        if each.is_quantity:
            table[name] = Numbers(draw.uniform(each.low - 1, 2 * each.high, ROWS).astype(np.float32))
        else:
            table[name] = Codes(draw.integers(0, len(each.categories), ROWS).astype(np.int32), each.categories)
    return table


@pytest.mark.parametrize("name", ["pf_ld", "dp_sgd"])
def test_nothing_protected_leaves_under_the_plain_encoding(
    name: str, tmp_path: Path, rows: Callable[[Table], None]
) -> None:
    method = EXAMPLES[name][0]
    config = ask(method, {"dataset": "compas", "sensitive": "sex", "encoding": "plain"})
    rows(make_compas(0))
    honest, tape = run_whole(config, tmp_path / "honest.db")
    garbage = make_compas(1)
    rows(garbage if method.info.threat_model == "record" else {**make_compas(0), "sex": garbage["sex"]})
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    assert_same(honest, replayed)
    assert len(json.loads(honest.model["model.json"])["feature_names"]) == 16


def masked(name: str, content: bytes) -> bytes:
    """Return a file that a browser made without its dates (PDF) and the ids that Plotly draws at random (SVG)."""
    match Path(name).suffix:
        case ".pdf":
            return re.sub(rb"/(CreationDate|ModDate) \(D:[^)]*\)", b"", content)
        case ".svg":
            return re.sub(rb"\b((?:top)?defs-|clip|legend|trace|p)[0-9a-f]{6}(-[0-9a-f]{6})?", rb"\1", content)
    return content


@LONG
@pytest.mark.parametrize(("name", "seed"), [("pf_ld", 0), ("dp_sgd", 9)])
def test_what_a_browser_makes_for_policy_is_the_same_bytes(
    name: str, seed: int, chromium: str, tmp_path: Path, rows: Callable[[Table], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PDF, PNG and SVG; those of a run with other releases do differ."""
    monkeypatch.setenv("BROWSER_PATH", chromium)
    config = ask(EXAMPLES[name][0], {"dataset": "synthetic", "sensitive": "group"})
    rows(make_table())
    honest, tape = run_whole(config, tmp_path / "honest.db")
    other, _ = run_whole(config, tmp_path / "other.db")
    rows({**make_table(seed), "group": make_table(seed=9)["group"]})
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    files, again, unlike = (
        {each: masked(each, content) for each, content in export(left.data, "policy").items()}
        for left in (honest, replayed, other)
    )
    assert files.keys() == again.keys()
    assert [each for each in files if files[each] != again[each]] == []
    drawn = {f"figures/groups_paid_positive_rate.{ending}" for ending in ("pdf", "png", "svg")}
    assert {each for each in files if files[each] != unlike[each]} >= {"report.pdf", *drawn}


WARMUP: Mapping[str, Any] = {
    "data": {"dataset": "synthetic", "sensitive": "group"},
    "notion": "demographic_parity",
    "hidden_layers": 1,
    "width": 8,
    "seed": 0,
}


def ask_sweep(threat_model: str) -> Mapping[str, Any]:
    """Return a page's question what a sweep over every method of a threat model costs."""
    names = {case.values[0].info.name for case in PROVED if case.values[0].info.threat_model == threat_model}
    asked = {"data": WARMUP["data"], "notion": WARMUP["notion"], "epsilon": 1}
    axes = {"method": sorted(names), "seed": [0, 1]}
    return request_cost({**asked, "axes": axes, "sweep": {"invalid": "skip"}}, owner="local")


def make_preview(request: Mapping[str, Any], place: Path) -> str:
    """Return what a worker makes of a page's request, JSON, without clocks."""
    with open_store(str(place)) as store:
        key = store.previews.ask(request)
        assert store.previews.claim() == key
        run_preview(str(place), key)
        told = store.previews.look(key)
    assert told.status == "finished", told.error
    return re.sub(r'"seconds": [\d.]+', "", json.dumps(told.result))


@pytest.mark.parametrize(
    ("asked", "protected"),
    [
        pytest.param(WARMUP, "attribute", id="clipping"),
        pytest.param(ask_sweep("attribute"), "attribute", id="sweep over groups"),
        pytest.param(ask_sweep("record"), "record", id="sweep over records"),
    ],
)
def test_nothing_protected_leaves_by_a_preview(
    asked: Mapping[str, Any],
    protected: str,
    tmp_path: Path,
    rows: Callable[[Table], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairpriv_core.runs.preview.live_with_parent", lambda: None)
    table, other = make_table(), make_table(seed=9)
    rows(table)
    honest = make_preview(asked, tmp_path / "honest.db")
    rows(other if protected == "record" else {**table, "group": other["group"]})
    assert make_preview(asked, tmp_path / "garbage.db") == honest
    if asked is WARMUP:
        rows({**table, "label": other["label"]})
        assert make_preview(asked, tmp_path / "public.db") != honest, "a preview that looks at no rows tests nothing"


def test_a_run_that_breaks_off_says_no_more_than_its_noisy_counts(
    tmp_path: Path, rows: Callable[[Table], None]
) -> None:
    config, table = ask(EXAMPLES["pf_ld"][0], {"dataset": "synthetic", "sensitive": "group"}), make_table()
    tape, said = None, []
    for place, of_b in enumerate((2, 200)):
        rows({**table, "group": Codes((np.arange(ROWS) < of_b).astype(np.int32), ("A", "B"))})
        left, releases = break_off(config, tmp_path / f"{place}.db", tape)
        tape = tape or releases
        said.append(left)
    assert said[0] == said[1] and "(a noisy count)" in said[0]["error"]


def break_off(config: RunConfig, place: Path, tape: list[Release] | None) -> tuple[dict[str, Any], list[Release]]:
    """Make a run that fails; return its record and the run's error as JSON, without clocks, and its releases."""
    with recorded(tape) as made, open_store(str(place)) as store:
        row, work = store.submit(config), WorkStore(store.database)
        work_on(work, work.claim(row.key))
        ended, record = store.row(row.key), store.record(row.key)
        assert ended.status == "failed" and record is not None
        return {**record.to_json(), "seconds": 0.0, "told": ended.error}, made[0].releases


def size_of_smallest(plan: Plan) -> int:
    """Return what no record may say."""
    return int(np.bincount(plan.train.group, minlength=plan.train.groups).min())


def with_draft(plan: Plan, **given: Any) -> Plan:
    """Return a plan whose record begins with other fields."""
    return replace(plan, draft=replace(plan.draft, **given))


def plant_curve(patch: pytest.MonkeyPatch) -> None:
    """|S| of the last step, among the curves."""
    drawn, sample, show = [0], RecordingMechanism.sample, FitObserver.show

    def draw(mechanism: RecordingMechanism, **how: Any) -> list[np.ndarray]:
        found = sample(mechanism, **how)
        drawn[0] = len(found[-1])
        return found

    def tell(watch: FitObserver, snapshot: Snapshot) -> None:
        show(watch, snapshot)
        watch.values.append((snapshot.step, "sample_size", float(drawn[0])))

    patch.setattr(RecordingMechanism, "sample", draw)
    patch.setattr(FitObserver, "show", tell)


def plant_in_record(field: str, value: Callable[[Plan], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A number of the protected data in a field of the record."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        plan = worker.plan_run
        patch.setattr(worker, "plan_run", lambda *a, **k: with_draft(made := plan(*a, **k), **{field: value(made)}))

    return plant


def plant_in_model(patch: pytest.MonkeyPatch) -> None:
    """The groups' exact sizes in `model.json`."""

    class Telling(Model):
        @classmethod
        def of(cls, fitted: Fitted, train: Dataset) -> Model:
            sizes = np.bincount(train.group).tolist()
            own = super().of(fitted, train)
            return replace(own, feature_names=(*own.feature_names, str(sizes)))

    patch.setattr(worker, "Model", Telling)


PLANTED = {
    "sample_size": plant_curve,
    "warnings": plant_in_record("warnings", lambda plan: (f"the smallest group has {size_of_smallest(plan)} rows.",)),
    "data": plant_in_record("data", lambda plan: {**plan.draft.data, "smallest": size_of_smallest(plan)}),
    "assumptions": plant_in_record("assumptions", lambda plan: (f"{plan.train.X.mean():.6f} is the mean.",)),
    "model.json": plant_in_model,
}


def test_planted_faults_are_caught(
    tmp_path: Path, rows: Callable[[Table], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ask(EXAMPLES["dp_sgd"][0], {"dataset": "synthetic", "sensitive": "group"}, private_evaluation=False)
    for plant in PLANTED.values():
        plant(monkeypatch)
    rows(make_table())
    honest, tape = run_whole(config, tmp_path / "honest.db")
    rows(make_table(seed=9))
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    found = set(find_differences(honest, replayed))
    assert found == {
        *PLANTED,
        "what may be told for policy",
        "a report for policy",
        "a report for the analyst",
        "a record in words",
    }


def test_every_piece_that_leaves_is_in_the_table_and_in_the_documentation() -> None:
    assert {piece.name for piece in release.RECORD} == {item.name for item in fields(RunRecord)}
    raw = {piece.name for piece in release.RECORD if piece.kind == "raw"}
    assert raw == {"left_out", "metrics"}, "the list of raw pieces is closed"
    assert not [piece for piece in release.MODEL if piece.kind == "raw"]
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    for head, pieces in release.TABLE.items():
        for piece in pieces:
            assert f"| {head} | `{piece.name or 'other curves'}` | {piece.kind} | {piece.why} |" in page


SIDE = 14
IMAGES = {3: 120, 2: 240}  # by the number of kinds


def draw_images(folder: Path, seed: int, kinds: int) -> Path:
    """Write small grey images with a bright row for each kind, and a list of them; return its path."""
    draw = np.random.default_rng(seed)
    lines = ["file,kind,sex"]
    for row in range(IMAGES[kinds]):
        pixels, kind = draw.integers(0, 90, (SIDE, SIDE), dtype=np.uint8), draw.integers(kinds)
        pixels[4 * kind + 1] += 120
        Image.fromarray(pixels).save(folder / f"{row}.png")
        lines.append(f"{row}.png,{'abc'[kind]},{'fm'[draw.integers(2)]}")
    path = folder / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def cases_on_images() -> Iterator[ParameterSet]:
    """Yield each private method that takes images, with the number of kinds that it tells apart."""
    for name, (method, *_) in EXAMPLES.items():
        if takes_images(method) and method.info.threat_model:
            marks = () if name in ("dp_sgd", "pf_ld") else LONG
            yield pytest.param(on_images(method), labels_of(method), id=name, marks=marks)


@pytest.mark.parametrize(("method", "kinds"), list(cases_on_images()))
def test_nothing_of_images_leaves(
    method: Method, kinds: int, tmp_path: Path, one_identity: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `record` pixels, kinds and groups of all images are garbage, under `attribute` the groups."""
    monkeypatch.setattr(Pixels, "seal", lambda _: "0" * 64)
    path = draw_images(tmp_path, 0, kinds)
    data = {"file": str(path), "label": "kind", "sensitive": "sex", "image": "file"}
    config = ask(method, {**data, "positive": "b"} if kinds == 2 else data)
    honest, tape = run_whole(config, tmp_path / "honest.db")
    if method.info.threat_model == "record":
        draw_images(tmp_path, 1, kinds)
    else:
        draw, (head, *lines) = np.random.default_rng(1), path.read_text().splitlines()
        mixed = [f"{line.rpartition(',')[0]},{'fm'[draw.integers(2)]}" for line in lines]
        path.write_text("\n".join([head, *mixed]) + "\n")
    replayed, _ = run_whole(config, tmp_path / "replayed.db", tape)
    assert_same(honest, replayed)
