"""Does a private method ever end below the constant answer as shipped? python -m benchmarks.constant [run [METHOD …]]

`run` trains every private method on every tabular benchmark at ε = 1, δ = 1e-5, with fresh noise, as shipped and, where
a gap is aimed at but need not be, without one; on seeds that no default was chosen on. It adds what is not there yet to
docs/results/constant.json. Else the lines of that file are printed that are clearly below: by more than 1.96 standard
errors of sampling, the seeds' test rows together. `said` is what launching such a run says first, by public numbers.
Where plain training, without privacy and fairness, is below as well, no setting of a private method can help.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.networks import count_known
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import build_config, build_shape
from fairpriv_core.records.parameters import build_method, method_to_json
from fairpriv_core.records.record import forecast

PATH = Path(__file__).parent.parent / "docs" / "results" / "constant.json"
EPSILON, DELTA, SEEDS, NOTION = 1.0, 1e-5, (9701, 9702), "demographic_parity"
PLAIN = "plain training"
_Z = 1.96
_SMALL = {"compas": 0, "parkinsons": 1, "synthetic": 2, "credit_default": 3, "bank": 4, "adult": 5}


def list_data() -> list[str]:
    """Return the tabular benchmarks, small ones first, each by the first of its sensitive attributes: "adult:sex"."""
    known = {name: each for name, each in problems().items() if each.image is None}
    return [f"{name}:{known[name].sensitive[0]}" for name in sorted(known, key=lambda name: _SMALL.get(name, 99))]


def list_ways() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield plain training, then each private method, with the way in which it is asked and what that sets."""
    yield REFERENCE_METHOD, PLAIN, {"batch_size": None}
    for name, kind in methods().items():
        if kind.info.threat_model is not None:
            yield name, "as shipped", {}
            aim = parameters(kind).get("gap_target")
            if aim is not None and aim[0].replaces:
                yield name, "without a gap", {"gap_target": None, **aim[0].otherwise}


@cache
def load_parts(data: str) -> list[tuple[Dataset, Dataset]]:
    """Return training and test rows of each seed."""
    name, _, sensitive = data.partition(":")
    whole = load_dataset(DataSpec(dataset=name, sensitive=sensitive))
    return [split_dataset(whole, seed=seed, split=problems()[name].split) for seed in SEEDS]


def run_way(name: str, settings: Mapping[str, Any], data: str) -> dict[str, Any]:
    """Return what a method comes to on a benchmark: accuracies by seed, None of a run that fails, and what was said."""
    parts = load_parts(data)
    method = build_method(methods()[name], settings).calibrated(epsilon=EPSILON, delta=DELTA, n_train=parts[0][0].n)
    return {
        "rows": sum(test.n for _, test in parts),
        "constant": round(float(np.mean([np.bincount(test.y).max() / test.n for _, test in parts])), 5),
        "accuracy": [fit_one(method, *pair, seed) for pair, seed in zip(parts, SEEDS, strict=True)],
        "said": find_warning(method, data, parts[0][0]),
    }


def fit_one(method: Method, train: Dataset, test: Dataset, seed: int) -> float | None:
    """Return the accuracy of one fit; None where it failed."""
    training = Training(notions()[NOTION], seed, Mechanism(Randomness.fresh()), Unwatched())
    try:
        fitted = method.fit(train, training)
    except RunFailed:
        return None
    return round(float(evaluate(fitted.network, fitted.parameters, test)["accuracy"]), 5)


def find_warning(method: Method, data: str, train: Dataset) -> str | None:
    """Return what a launch says first, or why it is refused."""
    name, _, sensitive = data.partition(":")
    asked, size = {"dataset": name, "sensitive": sensitive}, count_known(build_shape(method, train))
    config = build_config({"data": asked, "notion": NOTION, "method": method_to_json(method), "delta": DELTA})
    try:
        method.require_possible(notions()[NOTION], n_train=train.n, groups=train.groups)
    except BadInput as error:
        return str(error)
    return forecast(config, method, n_train=train.n, groups=train.groups, parameters=size)


def is_below(line: Mapping[str, Any]) -> bool:
    """Return whether a line is clearly below the constant answer in the mean, or a run of it failed."""
    if None in line["accuracy"]:
        return True
    accuracy = float(np.mean(line["accuracy"]))
    return accuracy + _Z * np.sqrt(accuracy * (1.0 - accuracy) / line["rows"]) < line["constant"]


def read_results(path: Path = PATH) -> dict[str, Any]:
    """Return the lines by what was asked."""
    return {line["key"]: line for line in json.loads(path.read_text("utf-8"))} if path.exists() else {}


def write_results(results: Mapping[str, Any], path: Path = PATH) -> None:
    """Write the lines."""
    lines = ",\n".join(json.dumps(line, ensure_ascii=False) for line in results.values())
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


def run_missing(names: Sequence[str]) -> None:
    """Train what the file does not hold, and write it after each."""
    for data in list_data():
        for name, way, settings in list_ways():
            results, key, begun = read_results(), f"{name} · {way} · {data}", time.process_time()
            if key in results or (names and name not in names):
                continue
            results[key] = {"key": key, "method": name, "way": way, "data": data, **run_way(name, settings, data)}
            write_results(results)
            print(f"{key}: {time.process_time() - begun:.0f} s of CPU", file=sys.stderr, flush=True)


def list_unsaid(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the lines that are below the constant answer, which plain training is not, where nothing is said first."""
    below = [line for line in results.values() if is_below(line)]
    hopeless = {line["data"] for line in below if line["method"] == REFERENCE_METHOD}
    return [line for line in below if line["said"] is None and line["data"] not in hopeless]


def main() -> None:
    """Run, or print what is below."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("run", "print"), default="print")
    parser.add_argument("methods", nargs="*", help="all if none is given")
    asked = parser.parse_args()
    if asked.what == "run":
        run_missing(asked.methods)
        return
    unsaid = [line["key"] for line in list_unsaid(read_results())]
    for line in read_results().values():
        if is_below(line):
            told = "NOT SAID" if line["key"] in unsaid else line["said"] or "so is plain training"
            print(f"{line['key']}: {line['accuracy']} below {line['constant']}; {told}")


if __name__ == "__main__":
    main()
