"""What every method's examples make of fixed noise, pinned: a change of the code's shape must change none of it.

python -m tests.pins write     write tests/pins.json anew, after a change that is meant to change results
python -m tests.pins bits      print a digest of all bits for each example, to compare on one machine
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import to_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.parameters import method_to_json
from tests.methods.examples.catalog import EXAMPLES
from tests.methods.harness import RecordingMechanism, Watcher, make_data

PATH = Path(__file__).with_suffix(".json")
Json = dict[str, Any]


def examples() -> Iterator[tuple[str, Method]]:
    """Yield the name and the method of every example of the contract."""
    for name, each in EXAMPLES.items():
        yield from ((f"{name}-{number}", method) for number, method in enumerate(each))


def fit(method: Method) -> Fitted:
    """Train on the contract's data with noise that is always the same."""
    notion = notions()[method.info.notions[0]]
    return method.fit(make_data(), Training(notion, 0, RecordingMechanism(seed=1), Watcher()))


def describe(method: Method) -> Json:
    """Return what is pinned: names, releases and steps exactly, numbers as well as two machines agree on them."""
    fitted, notion = fit(method), method.info.notions[0]
    config = RunConfig(DataSpec(dataset="adult", sensitive="sex"), notion, method, epsilon=None)
    parameters = np.asarray(fitted.parameters, dtype=np.float64)
    return {
        "key": config.key,
        "method": method_to_json(method),
        "event": to_json(fitted.events),
        "steps": fitted.steps,
        "network": sorted(fitted.network),
        "notes": sorted(fitted.notes),
        "parameters": [parameters.size, float(np.linalg.norm(parameters)), *parameters[:3].tolist()],
    }


def digest(method: Method) -> str:
    """Return the SHA-256 of all that a fit gives, to the bit."""
    fitted = fit(method)
    told = json.dumps([fitted.network, fitted.notes, to_json(fitted.events)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode() + np.ascontiguousarray(fitted.parameters).tobytes()).hexdigest()


def main() -> None:
    """Do what the first argument says."""
    if sys.argv[1:] == ["write"]:
        PATH.write_text(json.dumps({name: describe(method) for name, method in examples()}, indent=1) + "\n", "utf-8")
    elif sys.argv[1:] == ["bits"]:
        print("\n".join(f"{name} {digest(method)}" for name, method in examples()))
    else:
        sys.exit("say write or bits.")


if __name__ == "__main__":
    main()
