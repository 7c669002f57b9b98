"""How long 5,000 finished runs take to be listed: read in brief, folded into the run table, drawn as a frontier.

    python benchmarks/listing.py [--quick] [--json FILE]

On a SQLite file and on a PostgreSQL server of the script's own on the loopback. Each run's record has 18 groups, about
20 KB of JSON; five seeds a setting. Wall time, the best of five turns, each with a connection that has read before.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measuring import build_parser, describe_machine, say, start, write_result
from benchmarks.store import find_stores
from benchmarks.stored_runs import fill, list_configs
from fairpriv_core.facts.tables import run_table
from fairpriv_core.figures.frontier import frontier, group_by_claim
from fairpriv_core.store.runs import RunStore, open_store

RUNS, QUICK, TURNS = 5000, 250, 5
GATE = {"seconds": 2.0}


def time_listing(store: RunStore) -> dict[str, float]:
    """Return the best seconds of each part, and of all of them in one turn."""
    turns = [dict(_turn(store)) for _ in range(TURNS)]
    best = {part: min(turn[part] for turn in turns) for part in turns[0]}
    return {part: round(taken, 4) for part, taken in best.items()}


def _turn(store: RunStore) -> Iterator[tuple[str, float]]:
    read, briefs = _time(store.briefs)
    fold, rows = _time(lambda: run_table(briefs))
    draw, _ = _time(lambda: frontier(group_by_claim(rows), dataset="Synthetic", notion="Gap", details={}, numbers={}))
    yield from {"read": read, "fold": fold, "frontier": draw, "seconds": read + fold + draw}.items()


def _time(action: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = action()
    return time.perf_counter() - begun, result


def main() -> None:
    options = start(build_parser(__doc__))
    say("; ".join(f"{name} {value}" for name, value in describe_machine().items()))
    configs = list_configs(QUICK if options.quick else RUNS)
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="fairpriv-listing-") as folder, find_stores(folder) as stores:
        for kind, place in stores.items():
            with open_store(place) as store:
                size = fill(store, configs)
                cells.append({"store": kind, "runs": len(configs), "record_bytes": size, **time_listing(store)})
            say(f"{cells[-1]} {'passes' if cells[-1]['seconds'] <= GATE['seconds'] else 'FAILS'}")
    write_result(options, {"clock": "wall time", "gate": GATE, "cells": cells})


if __name__ == "__main__":
    main()
