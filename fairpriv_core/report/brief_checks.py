"""The chapters on what stands beside the numbers: certificates and audits, caveats, settings, and how to repeat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.records.record import is_covered
from fairpriv_core.report import wording
from fairpriv_core.report.audits import (
    NOTHING_TO_GUESS,
    at_own_delta,
    attribute_bars,
    best_lower_bound,
    bound_bars,
    membership_bars,
)
from fairpriv_core.report.brief import Bullets, Cell, Code, Part, Section, Table, Text
from fairpriv_core.report.brief_data import mark_runs
from fairpriv_core.report.brief_runs import Chosen, name_file
from fairpriv_core.report.figure import FigureData
from fairpriv_core.text import at_least_text, epsilon_text

_SEEDS = ("seed", "replay_noise")


def tell_checks(chosen: Sequence[Chosen]) -> tuple[Section, ...]:
    """Return what runs certify of their gap and what attacks found, of those that have either."""
    sections = []
    for each in chosen:
        parts = [*_tell_certificates(each), *_tell_audit(each)]
        if parts:
            sections.append(Section(f"Certificate and audit of {each.name}", tuple(parts)))
    return tuple(sections)


def tell_caveats(chosen: Sequence[Chosen]) -> Section:
    """Return what must be said with the numbers, each sentence once."""
    said: dict[str, list[str]] = {}
    for each in chosen:
        for sentence in wording.caveats(each.record, wording.raw_text(public_accuracy=each.accuracy_is_public)):
            if not sentence.startswith("Assumed: "):  # these have a chapter of their own
                said.setdefault(sentence, []).append(each.mark)
    told = Bullets(mark_runs(said, len(chosen))) if said else Text("Nothing more.")
    return Section("What must be said with the numbers", (told,))


def tell_settings(chosen: Sequence[Chosen]) -> Section:
    """Return every setting of the runs side by side, the versions of the software, and the records' keys."""
    flat = {each.mark: _flatten_config(each) for each in chosen}
    names = dict.fromkeys(name for settings in flat.values() for name in settings)
    rows = [(name, *(_show(flat[mark].get(name)) for mark in flat)) for name in names]
    told = tuple(row for row in rows if any(cell is not None for cell in row[1:]))
    versions = {mark: _list_versions(each) for mark, each in zip(flat, chosen, strict=True)}
    same = set(versions.values())
    words = [f"{text}" if len(same) == 1 else f"{mark}: {text}" for mark, text in versions.items()]
    keys = tuple((each.mark, ", ".join(each.row.keys), ", ".join(map(str, each.row.seeds))) for each in chosen)
    return Section(
        "Settings",
        (
            Table(("setting", *flat), told, "A dash: not set, or not a setting of this method."),
            Text(f"Made with {'; '.join(dict.fromkeys(words))}."),
            Table(("run", "record keys", "seeds"), keys),
        ),
    )


def tell_repeat(chosen: Sequence[Chosen]) -> Section:
    """Return how to repeat each run: its config, and what will be the same."""
    parts: list[Part] = [
        Text(
            "Each listing is the config of a run's first seed. Saved as run.toml, it repeats the run by the command "
            "fairpriv train --config run.toml: the same split, the same initialisation and the same public batches, "
            "under the same key."
        ),
        Text(
            f"{_say_sameness(chosen)} In another store the repeated run is not in this one's ledger, and costs again."
        ),
    ]
    if any(name_file(each.record["config"]["data"]) for each in chosen):
        parts.append(Text("Data of one's own are not part of this report: name the file with --csv FILE."))
    for each in chosen:
        parts += [Text(f"{each.name}, key {each.row.keys[0]}"), Code(each.first["config"])]
    return Section("How to repeat it", tuple(parts))


def _say_sameness(chosen: Sequence[Chosen]) -> str:
    exact = [e.mark for e in chosen if e.row.threat_model is None]
    if len(exact) == len(chosen):
        return "The numbers will be the very same on the same versions: no secret noise is drawn."
    drawn = "Noise is secret and drawn anew, so the numbers will be near these and not the same"
    if exact:
        return f"{drawn}, but for {', '.join(exact)}, which draws none."
    return f"{drawn}; only a run in replay mode repeats them exactly, and such a run protects nobody."


def _tell_certificates(each: Chosen) -> list[Part]:
    found: Sequence[tuple[str, str]] = each.first["certificates"]
    if not found:
        return []
    if len(found) == 1:  # why there is none
        return [Text(found[0][1])]
    rows = tuple((name, sentence) for name, sentence in found)
    made = "Made from the private evaluation's noisy counts of test rows." if is_covered(each.record) else wording.RAW
    own = "" if len(each.row.seeds) == 1 else f" It is of the model of seed {each.record['config']['seed']} alone."
    return [Table(("certified", "what holds"), rows, made + own)]


def _tell_audit(each: Chosen) -> list[Part]:
    audit = each.first["audit"]
    if audit is None:
        return []
    parts: list[Part] = []
    if audit["code"] is None:
        parts.append(
            Text("Audit: this method is not private; it promises nothing that an attack could be held against.")
        )
    else:
        parts += [Text(_say_audit(audit)), bound_bars(audit["code"])]
    if audit["model"] is not None:
        parts.append(membership_bars(audit["model"]["membership"]))
        attribute = audit["model"]["attribute"]
        parts.append(Text(NOTHING_TO_GUESS) if attribute is None else attribute_bars(attribute))
    return [replace(p, name=f"{p.name}_{each.number}") if isinstance(p, FigureData) else p for p in parts]


def _say_audit(audit: Mapping[str, Any]) -> str:
    code = audit["code"]
    found, first = code["distinguishing"], at_own_delta(code["distinguishing"])
    lines = [
        f"Audit of {audit['made'][:10]}: attacks on this method with its noise, on {code['rows']:,} made-up rows, show "
        f"at least ε = {at_least_text(best_lower_bound(code))}"
    ]
    proved = first["epsilon"]
    lines.append("; nothing is proved." if proved is None else f"; proved is at most {epsilon_text(proved)}.")
    for flag, claim in (("refuted", "what is proved"), ("refuted_published", "the paper's formula")):
        if found[flag]:
            lines.append(f" Refuted: the attacks exceed {claim}, with {100 * found['confidence']:g} % confidence.")
    return "".join(lines) + " A small lower bound means that these attacks found little."


def _flatten_config(each: Chosen) -> dict[str, Any]:
    """Return the settings of a run as the method ran, noise included, with a file by its name alone."""
    record = each.record
    config = {name: value for name, value in record["config"].items() if name not in ("data", "method", *_SEEDS)}
    data = {**record["config"]["data"], "file": name_file(record["config"]["data"])}
    seeds = {"seeds": ", ".join(map(str, each.row.seeds)), "replay_noise": record["config"].get("replay_noise")}
    method = {("method" if name == "name" else name): value for name, value in record["calibrated"].items()}
    return {**data, **config, **seeds, **method, "steps": record["steps"]}


def _show(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return None if value is None else str(value)


def _list_versions(each: Chosen) -> str:
    return ", ".join(f"{name} {version}" for name, version in each.record["versions"].items())
