"""Records, rows and catalogues as short aligned text for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.facts.aim import judge_aim, say_closed
from fairpriv_core.facts.epsilon import read_epsilon_facts
from fairpriv_core.facts.mixing import say_height, say_one_answer
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.notions.catalog import list_gaps
from fairpriv_core.records.config import tell_network
from fairpriv_core.records.parameters import say_group_needed
from fairpriv_core.records.record import RAW_OF_OWN, RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.stored import say_stored
from fairpriv_core.text import epsilon_text, show_unseen

if TYPE_CHECKING:
    # these load the database's library, which catalogues do not need
    from fairpriv_core.store.claim import Progress
    from fairpriv_core.store.labels import Label

_WIDTH = 20
_RUN_COLUMNS = ("key", "status", "dataset", "method", "notion", "epsilon", "accuracy", "gap", "steps")
_LABEL_COLUMNS = ("name", "tags")  # a person's own words
_THINNED = "epsilon assumes that the rows left out for a group ratio are public, in"


def describe_record(record: RunRecord, plain: RunRecord | None = None) -> str:
    """Return what a run found: what is protected and how far, then utility, then every group.

    `plain` is a run without privacy and fairness on the same test rows.
    """
    config, facts = record.config, read_facts(record)
    pairs = [
        *_describe_outcome(facts),
        ("run", f"{record.key}, {record.status}"),
        ("data", f"{record.data['name']}, {record.data['sensitive']}{_describe_features(record.config)}"),
        ("method", f"{config['method']['name']} ({config['notion']}){tell_network(config)}"),
        *read_epsilon_facts(record.to_json()).rows,
        *_describe_reuse(record.config),
    ]
    needed = say_group_needed(config)
    pairs += [] if needed is None else [("at prediction", needed)]
    if record.metrics is not None:
        pairs += _describe_metrics(record.metrics, config["notion"])
        compared = [say_one_answer(facts)]
        compared += [] if plain is None or plain.key == record.key else _hold_against(facts, plain)
        pairs += [("", said) for said in compared if said is not None]
        pairs.append(("", record.metrics_note))
    if record.metrics_private is not None:
        pairs += _describe_private(record.metrics_private, config["notion"])
    resumed = f", resumed from step {record.resumed_from_step}" if record.resumed_from_step else ""
    pairs.append(("training", f"{record.steps:,} steps in {record.seconds:.1f} s{resumed}"))
    pairs += [("warning", warning) for warning in record.warnings]
    pairs += [("assumes", assumption) for assumption in record.assumptions if assumption != needed]
    pairs += [("caveat", caveat) for caveat in record.data["caveats"]]
    if record.error is not None:
        pairs.append(("error", record.error))
    return align(pairs)


def _describe_outcome(run: RunFacts[Kind]) -> list[tuple[str, str]]:
    """Return whether a finished run reached the gap that it was asked for, by its test rows; [] where it aimed at none.

    Of a person's own rows that is raw.
    """
    aim = None if run.exact is None or not run.exact.groups else judge_aim([run], [run.exact.table])
    if aim is None:
        return []
    said = show_unseen(aim.sentence)
    return [("outcome", said if run.data.published else f"{said} (Raw.)")]


def _hold_against(run: RunFacts[Kind], plain: RunRecord) -> list[str | None]:
    """Return what plain training on the same test rows says of a run, and where it is from."""
    other = read_facts(plain)
    return [
        say_closed(other, run.gap_target, run.notion),
        say_height(run, other),
        say_stored("Plain training is", [plain]) or None,
    ]


def _describe_features(config: Mapping[str, Any]) -> str:
    """Return what is unusual about the training rows and their features."""
    ratio, encoding = config["data"].get("group_ratio"), config["data"].get("encoding", ENCODINGS[0])
    thinned = "" if ratio is None else f", training rows thinned to a group ratio of {ratio:g}"
    return thinned if encoding == ENCODINGS[0] else f"{thinned}, encoding {encoding}"


def _describe_reuse(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    source = config.get("reuse")
    return [("release", f"that of run {source}: this run spent nothing more")] if source else []


def describe_account(accounted: Mapping[str, Any]) -> str:
    """Return what a budget costs."""
    pairs = [("method", accounted["method"]), *read_epsilon_facts(accounted).rows]
    pairs += [(name, f"{value:.4f}") for name, value in accounted["noise_multipliers"].items() if value is not None]
    pairs += [("releases", _describe_event(event)) for event in accounted["event"]]
    pairs += [("warning", warning) for warning in accounted["warnings"]]
    pairs += [("assumes", assumption) for assumption in accounted["assumptions"]]
    return align(pairs)


def describe_runs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one line a run, in the order given; what a person calls runs where one has a name or tags."""
    if not rows:
        return "no runs in the store yet"
    columns = (*_RUN_COLUMNS, *(name for name in _LABEL_COLUMNS if any(row.get(name) for row in rows)))
    listed = tabulate([columns, *[[_show(name, row[name]) for name in columns] for row in rows]])
    thinned = [row["key"] for row in rows if row["config"]["data"].get("group_ratio") and row["epsilon"] is not None]
    said = [listed, *([f"{_THINNED}: {', '.join(thinned)}"] if thinned else [])]
    raw = any(row["accuracy"] is not None and not row["data_is_published"] for row in rows)
    return "\n".join([*said, RAW_OF_OWN] if raw else said)


def describe_label(key: str, label: Label) -> str:
    """Return what a person calls a run."""
    flags = ", ".join(name for name in ("pinned", "archived") if getattr(label, name))
    texts = {"name": label.name, "tags": ", ".join(label.tags), "note": label.note}
    told = [(name, show_unseen(text)) for name, text in texts.items() if text]
    return align([("run", f"{key}, {flags}" if flags else key), *told])


def _show(name: str, value: object) -> str:
    if name in _LABEL_COLUMNS:
        return show_unseen(", ".join(value) if isinstance(value, list) else str(value))
    return epsilon_text(value) if name == "epsilon" and isinstance(value, float) else _cell(value)


def describe_catalogue(items: Sequence[Mapping[str, Any]]) -> str:
    """Return one line an entry, under headings where entries have a group: its name and what it is."""
    width = max(len(item["name"]) for item in items) + 2
    parts = []
    for group, own in groupby(items, key=lambda item: str(item.get("group", ""))):
        pairs = [(item["name"], item.get("sentence") or item.get("summary") or item["title"]) for item in own]
        parts.append(f"{group}\n" * bool(group) + align(pairs, width))
    return "\n\n".join(parts)


def describe_settings(method: Mapping[str, Any]) -> str:
    """Return a method's sentence, and a line for each of its hyper-parameters: what it is, default and range."""
    pairs = []
    for item in method["parameters"]:
        default = "automatic" if item["default"] is None else item["default"]
        ends = "" if item["low"] is None or item["high"] is None else f", {item['low']:g} to {item['high']:g}"
        paper = f", paper {item['paper']}" if item["paper"] else ""
        pairs.append((item["name"], f"{item['title']}: {item['help']} (default {default}{ends}{paper})"))
    budget = [("--epsilon", "The privacy budget, > 0.")] if method["threat_model"] else []
    return f"{method['title']}: {method['summary']}\n{align([*budget, *pairs])}"


def describe_progress(progress: Progress) -> str:
    """Return a line on a run under way."""
    latest = {name: value for _, name, value in progress.values}
    parts = [f"epoch {progress.epoch}, step {progress.step}"]
    if latest.get("test/accuracy") is not None:
        parts.append(f"accuracy {latest['test/accuracy']:.4f}")
    if progress.epsilon is not None:
        parts.append(f"epsilon {epsilon_text(progress.epsilon)}")
    return ", ".join(parts)


def align(pairs: Sequence[tuple[str, str]], least: int = _WIDTH) -> str:
    """Return "name  text" lines with the texts under each other, `least` letters from the left, long ones folded."""
    width = max([least, *[len(name) + 2 for name, _ in pairs]])
    room = max(shutil.get_terminal_size((100, 24)).columns - width, 40)
    lines: list[str] = []
    for name, text in pairs:
        folded = textwrap.wrap(text, room) or [""]
        lines += [f"{name:<{width}}{folded[0]}", *[" " * width + more for more in folded[1:]]]
    return "\n".join(lines)


def tabulate(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with their columns under each other; the first row is the header."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _describe_metrics(metrics: Mapping[str, Any], notion: str) -> list[tuple[str, str]]:
    constant = _share(metrics["constant_accuracy"])
    lines = [("accuracy", f"{_share(metrics['accuracy'])} (one answer for all: {constant})")]
    lines += [(name.replace("_", " "), _points(metrics, name)) for name in list_gaps(notion)]
    if "classes" not in metrics:
        return lines + [_describe_part(group, "positive_rate") for group in metrics["groups"]]
    sizes = [[(each["name"], each["size"]) for each in metrics[name]] for name in ("groups", "classes")]
    if sizes[0] != sizes[1]:
        lines += [_describe_part(group, "accuracy") for group in metrics["groups"]]
    lines.append(("classes", f"{_share(metrics['largest_decided'])} of all rows are decided for the most decided one"))
    for each in metrics["classes"]:
        name, said = _describe_part(each, "accuracy")
        lines.append((name, f"{said}, decided for {_share(each['decided'])} of all rows"))
    return lines


def _describe_part(part: Mapping[str, Any], rate: str) -> tuple[str, str]:
    """Return the line of a group or a class."""
    interval = part[f"{rate}_interval"]
    spread = f" [{_share(interval[0])}, {_share(interval[1])}]" if interval else ""
    said = f"{part['size']:,} rows, {rate.replace('_', ' ')} {_share(part[rate])}{spread}"
    return (f"  {show_unseen(part['name'])}", said)


def _describe_private(found: Mapping[str, Any], notion: str) -> list[tuple[str, str]]:
    names = ("accuracy", *list_gaps(notion))
    lines = [(f"{name.replace('_', ' ')}, with noise", _with_interval(found, name)) for name in names]
    return [*lines, ("", found["statement"])]


def _with_interval(found: Mapping[str, Any], name: str) -> str:
    if found[name] is None:
        return f"undefined: {found['reasons'][name]}"
    value, low, high = (100 * each for each in (found[name], *found[f"{name}_interval"]))
    return f"{value:.2f} [{low:.2f}, {high:.2f}] {'%' if name == 'accuracy' else 'percentage points'}"


def _points(metrics: Mapping[str, Any], name: str) -> str:
    value = metrics[name]
    return f"undefined: {metrics['reasons'][name]}" if value is None else f"{100 * value:.2f} percentage points"


def _share(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.2f} %"


def _describe_event(event: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} {_cell(value)}" for name, value in event.items() if name not in ("kind", "branches"))
    return f"{event['kind']}: {values}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
