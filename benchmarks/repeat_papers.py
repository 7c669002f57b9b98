"""Do seeds that no kept result has reverse a verdict? python -m benchmarks.repeat_papers [run [ID …]]

`run` trains each figure that is kept, in its kept version, by seeds 200 to 204 in the default store. To
docs/results/repeated_papers.json it adds how each case of each claim stands by them, beside how it stands by what is
kept. What would take hours, as on MNIST and faces, is run where it is named. Else the file is summed up: a verdict is
reversed where *agrees* becomes *differs*, or the other way; five seeds leave many a case open that more have settled.
PF-LD's Table 1 is left out: it compares times, which depend on what else the machine does and not on seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairpriv_core.errors import RunFailed
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.measured import with_measured
from fairpriv_core.papers.preset import SECONDS, Preset
from fairpriv_core.papers.results import Made, read_made
from fairpriv_core.papers.runs import find_records, list_waiting, run_missing, with_seeds
from fairpriv_core.papers.scoreboard import list_claims
from fairpriv_core.papers.values import list_paths
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.launch import Order
from fairpriv_core.text import Reporter

PATH = Path(__file__).parent.parent / "docs" / "results" / "repeated_papers.json"
SEEDS = range(200, 205)
MOST_SECONDS = 1_800.0  # of one core: what a figure may take that is not named
SETTLED = ("agrees", "differs")


def list_kept() -> dict[str, tuple[Preset, Made]]:
    """Return the figures with claims that are kept, of times apart, by their ids, quick ones first."""
    made = read_made()
    known = {each.id: (each, made[each.id]) for paper in papers().values() for each in paper.presets if each.id in made}
    claimed = {name: pair for name, pair in known.items() if pair[0].claims and SECONDS.path not in list_paths(pair[0])}
    return dict(sorted(claimed.items(), key=lambda item: estimate(item[1][1])))


def estimate(made: Made) -> float:
    """Return the seconds of a core that the figure takes by SEEDS, from what its kept runs took."""
    seeds = {run["config"]["seed"] for run in made.runs}
    return sum(run["seconds"] for run in made.runs) / len(seeds) * len(SEEDS)


def repeat(preset: Preset, made: Made) -> list[dict[str, Any]]:
    """Return each case of each claim, with its status as kept and by SEEDS; RunFailed where a run has not ended."""
    order = Order(partial(run_here, workers=1), 1, resume=True, yes=True)
    reporter = Reporter(say=lambda text: None, show=lambda text: None)
    sweeps = with_seeds(preset.pick(made.version).sweeps, list(SEEDS))
    keys = run_missing(sweeps, order, reporter, again=f"python -m benchmarks.repeat_papers run {preset.id}")
    with open_store() as store:
        waiting = list_waiting(store, keys)
        if waiting:
            first = waiting[0]
            raise RunFailed(
                f"{len(waiting)} of its runs have not ended, such as {first.key} ({first.error or first.status})."
            )
        runs = with_measured(store, preset.measured, find_records(store, keys))
    pairs = zip(list_claims(preset, made.runs), list_claims(preset, runs), strict=True)
    return [{"claim": old.text, "kept": old.status, "seeds": old.seeds, "repeated": new.status} for old, new in pairs]


def read_results() -> dict[str, list[dict[str, Any]]]:
    """Return what was found, by the figure's id."""
    found: dict[str, list[dict[str, Any]]] = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {}
    return found


def run_missing_figures(names: Sequence[str]) -> None:
    """Repeat what is named, else what the file does not hold, and write it after each."""
    for name, (preset, made) in list_kept().items():
        results = read_results()
        if name not in names and (names or name in results or estimate(made) > MOST_SECONDS):
            continue
        cases = repeat(preset, made)
        results = read_results() | {name: cases}  # another process may have added to it
        PATH.write_text(write_lines(dict(sorted(results.items()))), "utf-8")
        print(f"{name}: {Counter(each['repeated'] for each in cases)}", file=sys.stderr, flush=True)


def write_lines(results: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return JSON with a line for each case."""
    figures = (
        f'"{name}": [\n  ' + ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in cases) + "\n]"
        for name, cases in results.items()
    )
    return "{\n" + ",\n".join(figures) + "\n}\n"


def list_reversed(results: Mapping[str, list[dict[str, Any]]]) -> list[tuple[str, str]]:
    """Return figure and claim of each verdict that is the other way round by SEEDS."""
    return [
        (name, each["claim"])
        for name, cases in results.items()
        for each in cases
        if {each["kept"], each["repeated"]} == set(SETTLED)
    ]


def main() -> None:
    """Run, or sum up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("run", "print"), default="print")
    parser.add_argument("presets", nargs="*", metavar="ID")
    asked = parser.parse_args()
    if asked.what == "run":
        run_missing_figures(asked.presets)
        return
    results = read_results()
    counts = Counter((each["kept"], each["repeated"]) for cases in results.values() for each in cases)
    for (kept, repeated), count in sorted(counts.items()):
        print(f"{count:4d} kept as {kept}, by seeds {SEEDS[0]} to {SEEDS[-1]} {repeated}")
    for name, claim in list_reversed(results):
        print(f"REVERSED {name}: {claim}")
    print(f"not repeated: {', '.join(name for name in list_kept() if name not in results) or 'none'}")


if __name__ == "__main__":
    main()
