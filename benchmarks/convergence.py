"""How far training is from scikit-learn's logistic regression: python -m benchmarks.convergence prints a table.

Every tabular benchmark under every encoding that it has, or those that are named; `none`, and `f_ld` whose multipliers
stay at 0, with the shipped batch and with one that follows from the number of rows. docs/methods/convergence.md has it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.encodings import name_encodings
from fairpriv_core.data.problem import DataSpec, Problem
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.methods.fields import TrainsNetwork, count_batch
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.runs.in_memory import run_in_memory

_SEEDS = ((10_000, 10), (100_000, 3))  # of up to so many rows; one of more
_METHODS: Sequence[dict[str, Any]] = ({"name": "none"}, {"name": "f_ld", "multiplier_max": 0.0})


def build(method: dict[str, Any], spec: DataSpec, seed: int = 0) -> RunConfig:
    """Return the config of a run."""
    asked = {"method": method, "notion": "demographic_parity", "seed": seed, "data": spec.to_json()}
    return build_config(asked)


def train(method: dict[str, Any], spec: DataSpec, parts: tuple[Dataset, Dataset], seed: int) -> float:
    """Return the accuracy on the second part of a method that is trained on the first."""
    fitted = run_in_memory(build(method, spec, seed), parts[0]).fitted
    score = predict_proba(fitted.network, fitted.parameters, parts[1].X)[:, 1]
    return float(((score > 0.5) == parts[1].y).mean())


def compare(spec: DataSpec, problem: Problem) -> Iterator[tuple[int, list[float]]]:
    """Yield the number of features, and for each seed the accuracies of the reference and of `_METHODS`.

    Of each method the shipped batch comes first, then the one that follows from the number of rows.
    """
    whole = load_dataset(spec)
    for seed in range(next((seeds for rows, seeds in _SEEDS if whole.n <= rows), 1)):
        part, test = split_dataset(whole, seed=seed, split=problem.split)
        found = [float(LogisticRegression(max_iter=3_000).fit(part.X, part.y).score(test.X, test.y))]
        for method in _METHODS:
            followed = {**method, "batch_size": "none"}
            methods = [cast(TrainsNetwork, build(each, spec).method) for each in (method, followed)]
            found.append(train(method, spec, (part, test), seed))
            alike = len({count_batch(each, part.n) for each in methods}) == 1
            found.append(found[-1] if alike else train(followed, spec, (part, test), seed))
        yield whole.d, found


def main() -> None:
    """Print a line for each benchmark and encoding."""
    tables = {name: problem for name, problem in problems().items() if problem.image is None}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="benchmarks; all if none is given")
    named = parser.parse_args().names or list(tables)
    print("| data | encoding | features | seeds | scikit-learn | `none` | automatic batch | `f_ld` | automatic batch |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in named:
        for encoding in name_encodings(tables[name]):
            spec = DataSpec(dataset=name, sensitive=tables[name].sensitive[0], encoding=encoding)
            rows = list(compare(spec, tables[name]))
            reference, *others = np.mean([found for _, found in rows], axis=0)
            apart = " | ".join(f"{100 * (other - reference):+.2f}" for other in others)
            print(f"| {name} | {encoding} | {rows[0][0]} | {len(rows)} | {100 * reference:.2f} | {apart} |", flush=True)


if __name__ == "__main__":
    main()
