"""Runs and sweeps as short aligned text for a terminal: what they came to, what they cost, how far they are."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairpriv_core.facts.aim import format_no_gap, judge_aim
from fairpriv_core.facts.classes import are_groups, read_classes
from fairpriv_core.facts.measures import Measures
from fairpriv_core.facts.mixing import format_margin, format_one_answer
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.facts.wording import cell_text, rows_suffix, value_text
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import list_gaps
from fairpriv_core.plain import Json
from fairpriv_core.records.config import format_network
from fairpriv_core.records.parameters import format_group_needed
from fairpriv_core.records.record import RAW_OF_OWN, RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import find_answers
from fairpriv_core.records.stored import format_stored
from fairpriv_core.store.sweeps import SweepCost, SweptEpsilon
from fairpriv_core.text import count_text, duration_text, epsilon_text, percent_text, points_text, show_unseen

if TYPE_CHECKING:
    # it loads the database's library, which catalogues do not need
    from fairpriv_core.store.claim import Progress

Lines = list[tuple[str, str]]
_WIDTH = 20
_RUN_COLUMNS = ("key", "status", "dataset", "method", "notion", "epsilon", "accuracy", "gap", "steps")
_LABEL_COLUMNS = ("name", "tags")  # a person's own words
_PUBLIC_PART = "epsilon does not cover the rows that were taken as public, in"
_THINNED = "epsilon assumes that the rows left out for a group ratio are public, in"
_BY_ANSWERS = "gaps of runs on randomised answers are estimates; the record of each run has their 95 % intervals"
_SKIPS = 3  # combinations that are named among those left out
_ANALYST = (
    "what stays with you costs nobody anything; once some of it is released the ledger counts every run, since each "
    "may have led to the choice"
)
_SHARED = "runs of one seed share their secret samples: for the analyst alone, since releasing several costs"


def align(lines: Sequence[tuple[str, str]], min_width: int = _WIDTH) -> str:
    """Return "name  text" lines with the texts under each other, at least `min_width` letters in, long ones folded."""
    width = max([min_width, *[len(name) + 2 for name, _ in lines]])
    room = max(shutil.get_terminal_size((100, 24)).columns - width, 40)
    printed: list[str] = []
    for name, text in lines:
        pieces = textwrap.wrap(text, room) or [""]
        printed += [f"{name:<{width}}{pieces[0]}", *[" " * width + more for more in pieces[1:]]]
    return "\n".join(printed)


def tabulate(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with their columns under each other; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def format_cell(value: object) -> str:
    """Return a value in a table: four digits of a number, a dash for none."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def format_record(record: RunRecord, plain: RunRecord | None = None) -> str:
    """Return what a run found: what is protected and how far, then utility, then every group.

    `plain` is a run without privacy and fairness on the same test rows.
    """
    run = read_facts(record)
    group_remark, reused = format_group_needed(run.config), run.config.get("reuse")
    lines = [
        *_list_outcome(run),
        ("run", f"{run.key}, {record.status}"),
        ("data", f"{run.data.name}, {run.data.sensitive}{rows_suffix(run.config['data'])}"),
        ("method", f"{run.method.name} ({run.notion.name}){format_network(run.config)}"),
        *run.epsilon.rows,
    ]
    lines += [("release", f"that of run {reused}: this run spent nothing more")] if reused else []
    lines += [] if group_remark is None else [("at prediction", group_remark)]
    if run.exact is not None and run.exact.groups:
        lines += _list_exact(run.exact, run.notion.name)
        lines += [("", sentence) for sentence in (*_compare(run, plain), run.raw_text) if sentence]
    elif run.exact is not None and run.released is not None:
        lines.append(_show_accuracy(run.exact))
    lines += [] if run.released is None else _list_released(run.released, run.notion.name)
    resumed = f", resumed from step {record.resumed_from_step}" if record.resumed_from_step else ""
    lines.append(("training", f"{record.steps:,} steps in {record.seconds:.1f} s{resumed}"))
    lines += [("warning", warning) for warning in run.warnings]
    lines += [("assumes", assumption) for assumption in run.assumptions if assumption != group_remark]
    lines += [("caveat", caveat) for caveat in record.data["caveats"]]  # with the cells that they quote
    return align([*lines, *([] if record.error is None else [("error", record.error)])])


def _list_outcome(run: RunFacts[Kind]) -> Lines:
    """Return whether a finished run reached the gap that it was asked for, by its test rows; [] where it aimed at none.

    Of a person's own rows that is raw.
    """
    measures = next(
        (candidate for candidate in (run.exact, run.released) if candidate is not None and candidate.groups), None
    )
    aim = None if measures is None else judge_aim([run], [measures.table])
    if aim is None or measures is None:
        return []
    outcome = show_unseen(aim.sentence)
    return [("outcome", f"{outcome} (Raw.)" if measures.kind == "raw" else outcome)]


def _compare(run: RunFacts[Kind], plain: RunRecord | None) -> list[str | None]:
    """Return the sentences that compare a run with plain training on the same test rows, and where that is from."""
    if plain is None or plain.key == run.key:
        return [format_one_answer(run)]
    plain_facts = read_facts(plain)
    closed = format_no_gap(plain_facts, run.gap_target, run.notion)
    return [
        format_one_answer(run),
        closed,
        format_margin(run, plain_facts),
        format_stored("Plain training is", [plain]),
    ]


def _list_exact(exact: Measures[Kind], notion: str) -> Lines:
    lines = [_show_accuracy(exact)]
    for name in list_gaps(notion):
        gap = exact.read(name)
        text = f"undefined: {exact.why(name)}" if gap is None else points_text(gap.value)
        lines.append((name.replace("_", " "), text))
    classes = read_classes(exact)
    if not classes:
        return lines + [_show_part(group, "positive_rate") for group in exact.groups]
    if not are_groups(exact.found):
        lines += [_show_part(group, "accuracy") for group in exact.groups]
    largest = _show_share(exact.found["largest_decided"])
    lines.append(("classes", f"{largest} of all rows are decided for the most decided one"))
    for part in classes:
        name, shares = _show_part(part, "accuracy")
        lines.append((name, f"{shares}, decided for {_show_share(part['decided'])} of all rows"))
    return lines


def _show_accuracy(exact: Measures[Kind]) -> tuple[str, str]:
    constant, accuracy = _show_share(exact.found["constant_accuracy"]), _show_share(exact.found["accuracy"])
    return ("accuracy", f"{accuracy} (one answer for all: {constant})")


def _list_released(released: Measures[Kind], notion: str) -> Lines:
    lines, origin = [], "by answers" if released.by_answers else "with noise"
    for name in (*(["accuracy"] * (not released.by_answers)), *list_gaps(notion)):
        fact, unit = released.read(name), "%" if name == "accuracy" else "percentage points"
        if fact is None or fact.interval is None:
            text = f"undefined: {released.why(name)}"
        else:
            value, low, high = (100 * share for share in (fact.value, *fact.interval))
            text = f"{value:.2f} [{low:.2f}, {high:.2f}] {unit}"
        lines.append((f"{name.replace('_', ' ')}, {origin}", text))
    return [*lines, ("", released.found["statement"])]


def _show_part(part: Json, rate: str) -> tuple[str, str]:
    """Return the line of a group or a class."""
    ends = part[f"{rate}_interval"]
    spread = f" [{_show_share(ends[0])}, {_show_share(ends[1])}]" if ends else ""
    share = f"{part['size']:,} rows, {rate.replace('_', ' ')} {_show_share(part[rate])}{spread}"
    return (f"  {show_unseen(part['name'])}", share)


def _show_share(share: float | None) -> str:
    return "undefined" if share is None else percent_text(share)


def format_runs(rows: Sequence[Json]) -> str:
    """Return one line a run, in the order given; what a person calls runs where one has a name or tags."""
    if not rows:
        return "no runs in the store yet"
    columns = (*_RUN_COLUMNS, *(name for name in _LABEL_COLUMNS if any(row.get(name) for row in rows)))
    lines = [tabulate([columns, *[[_show_column(name, row[name]) for name in columns] for row in rows]])]
    thinned = [row["key"] for row in rows if row["config"]["data"].get("group_ratio") and row["epsilon"] is not None]
    lines += [f"{_THINNED}: {', '.join(thinned)}"] if thinned else []
    parted = [row["key"] for row in rows if methods()[row["config"]["method"]["name"]].info.public_part]
    lines += [f"{_PUBLIC_PART}: {', '.join(parted)}"] if parted else []
    own = [row for row in rows if row["accuracy"] is not None and not row["data_is_published"]]
    answers = {find_answers(row["config"]["data"]) is not None for row in own}
    lines += [_BY_ANSWERS] if True in answers else []
    return "\n".join([*lines, RAW_OF_OWN] if False in answers else lines)


def _show_column(name: str, value: object) -> str:
    if name in _LABEL_COLUMNS:
        return show_unseen(", ".join(value) if isinstance(value, list) else str(value))
    return epsilon_text(value) if name == "epsilon" and isinstance(value, float) else format_cell(value)


def format_progress(progress: Progress) -> str:
    """Return a line on a run under way."""
    latest = {name: value for _, name, value in progress.values}
    parts = [f"epoch {progress.epoch}, step {progress.step}"]
    if latest.get("test/accuracy") is not None:
        parts.append(f"accuracy {latest['test/accuracy']:.4f}")
    if progress.epsilon is not None:
        parts.append(f"epsilon {epsilon_text(progress.epsilon)}")
    return ", ".join(parts)


def format_cost(cost: SweepCost) -> str:
    """Return what a sweep will do and cost."""
    ended_text = f", {cost['ended']} have ended already" if cost["ended"] else ""
    begun = f", {cost['unfinished']} go on" if cost["unfinished"] else ""
    lines = [("runs", f"{cost['runs']} in {count_text(cost['chunks'], 'chunk')}: {cost['new']} new{begun}{ended_text}")]
    skipped = cost["skipped"]
    same = cost["combinations"] - cost["runs"] - len(skipped)
    if same:
        lines.append(("", f"{same} of {cost['combinations']} combinations ask for the same as others"))
    if skipped:
        examples = " ".join(f"{cell_text(item['cell'])}: {item['reason']}" for item in skipped[:_SKIPS])
        more = f" and {len(skipped) - _SKIPS} more" if len(skipped) > _SKIPS else ""
        lines.append(("left out", f"{len(skipped)} combinations: {examples}{more}"))
    for item in cost["protected"]:
        lines += _list_protected(item, share_samples=cost["share_samples"])
    if any(item["protected"] for item in cost["protected"]):
        lines.append(("", _ANALYST))
    return align([*lines, ("time", _show_time(cost))])


def _list_protected(item: SweptEpsilon, *, share_samples: bool) -> Lines:
    if not item["protected"]:
        return []
    what = f"of {'whole records' if item['column'] is None else item['column']} in {item['data']}"
    if item["epsilon"] is None:
        return [("epsilon", f"{what}: no bound if all results are released. {item['reason']}")]
    joint = epsilon_text(item["epsilon"])
    alone = "" if item["most_alone"] is None else f"; one run alone at most {epsilon_text(item['most_alone'])}"
    lines = [("epsilon", f"{what}: {joint} at delta {item['delta']:g} if all results are released{alone}")]
    if share_samples and item["epsilon_own_samples"] != item["epsilon"]:
        own = epsilon_text(item["epsilon_own_samples"])
        lines.append(("", f"{_SHARED} {joint}, and {own} with samples of their own"))
    if item["epsilon_after"] != item["epsilon"]:
        after = "no bound" if item["epsilon_after"] is None else epsilon_text(item["epsilon_after"])
        lines.append(("", f"with what the ledger of {item['data']} holds already: {after}"))
    return lines


def _show_time(cost: Json) -> str:
    if not cost["new"] and not cost["unfinished"]:
        return "nothing is left to run"
    workers = count_text(cost["workers"], "process")
    untold = f", and {cost['untold']} runs whose time is not known beforehand" if cost["untold"] else ""
    return f"about {duration_text(cost['seconds'])} with {workers} and nothing else running{untold}"


def format_sweep_progress(counts: Mapping[str, int], runs: int, seconds: float | None) -> str:
    """Return how many runs have ended, and about how many seconds are left."""
    parts = [f"{counts[name]} {name}" for name in ("finished", "failed", "cancelled") if counts.get(name)]
    so_far = f"{', '.join(parts) or 'none finished'} of {runs} runs"
    return so_far if seconds is None else f"{so_far}; about {duration_text(seconds)} left"


def format_results(results: Sequence[Json], table: Sequence[Json], *, raw: bool, by_answers: bool) -> str:
    """Return the means over seeds, and the reasons of what did not finish.

    `raw`: some are of a person's own rows. `by_answers`: some gaps are told by randomised answers.
    """
    axes = list(dict.fromkeys(axis for line in table for axis in line["cell"]))
    head = (*(axis.removeprefix("method.") for axis in axes), "runs", "accuracy", "gap", "epsilon")
    reasons = Counter(
        f"{line['status']}: {line['reason']}" for line in results if line["status"] not in ("finished", "left out")
    )
    lines = [tabulate([head, *[_show_means(line, axes) for line in table]])]
    lines += [f"{count_text(count, 'run')} {reason}" for reason, count in reasons.items()]
    lines += [_BY_ANSWERS] if by_answers else []
    return "\n".join([*lines, RAW_OF_OWN] if raw else lines)


def _show_means(line: Json, axes: Sequence[str]) -> tuple[str, ...]:
    n_finished = line["finished"]
    runs = str(n_finished) if n_finished == line["runs"] else f"{n_finished} of {line['runs']}"
    values = [value_text(line["cell"][axis]) if axis in line["cell"] else "-" for axis in axes]
    means = [line[name] for name in ("accuracy", "gap", "epsilon")]
    return (*values, runs, *("-" if mean is None else f"{mean:.4f}" for mean in means))
