"""Which settings private methods ship with: python -m benchmarks.defaults [RUN [METHOD …]]

`run` fits what docs/results/defaults.json does not hold yet and adds it there, `confirm`, `decide` and `by_fits` do so
with the seeds of points 6 to 8; else the verdicts are printed from that file. The rule, written and committed before
its first run:

1. *Data.* The training rows of split seed 0 of each benchmark are split again by seeds 0 and 1: three quarters of them
   are trained on, the last quarter is the validation part. The rows that results are reported on have no say.
2. *Cells.* A method's cells are its benchmarks × demographic parity and equalized odds × ε of 0.1, 0.5, 1 and 3 × the
   ways in which it is asked (candidates.py); δ = 1e-5. Methods that pursue no notion have no notions.
3. *Score.* In a cell a candidate scores how far its accuracy lies above the mixing line at its own gap: the segment
   from the constant answer to plain training, level beyond plain training's gap; the mean over the seeds. What a larger
   gap buys along that line counts as nothing, so that accuracy cannot be bought with a gap. Methods that neither
   pursue a notion nor certify a gap score their accuracy. Candidates are ranked in each cell, 1 the best, equals
   sharing.
4. *Admissible.* Three sieves, one after the other; each leaves whoever is no worse than the best that reaches it.
   (a) In how many cells the accuracy is below the constant answer's by more than 1.96 standard errors of sampling, or a
   fit failed: no more than of any candidate.
   (b) In how many cells it is clearly below the mixing line, the upper end of the 95 % interval (facts/mixing.py)
   below 0 for every seed: no more than of any candidate left. Cells in which the best non-private learner, F-LD with a
   gap of 0.04 aimed at, is below it as clearly do not count.
   (c) How often a fit's gap is at most the 0.04 that are accepted: not below the lower end of the 95 % Wilson interval
   of the candidate that meets it most often. Methods that score their accuracy have (a) alone.
5. *Choice.* Of the admissible the one with the lowest median rank over the cells, then the lowest mean rank. It
   replaces what ships only where that is not admissible, or where its ranks are lower in the mean and the 95 % t
   interval of the differences, paired by cells, is above 0: what noise may have put in front changes nothing.
6. *Confirmed.* Added after the first run and before the second: with two seeds a sieve can turn on one fit. A default
   changes only where the rule takes the same candidate once more from seeds 2 to 6 alone.
7. *Decided.* Added after the second run and before the third: where both runs leave out what ships and take different
   candidates, seeds 7 to 16 alone decide. What they take ships.
8. *By fits.* Added after the third run and before the fourth, for `dp_fermi_record`: one cell of 24 had decided each
   run. Of seeds 17 to 46, sieve (a) counts fits that failed or are below the constant answer by more than 1.96 standard
   errors, and leaves whose share is within the 95 % Wilson interval of the candidate with the fewest, as (c) does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.candidates import ACCEPTED, DESIGNS, MULTIPLIER_MAX, settings_at
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import RunFailed
from fairpriv_core.facts.mixing import measure_margin
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import REFERENCE_METHOD, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import wilson_interval
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.parameters import build_method
from fairpriv_core.stats import mean_interval

PATH = Path(__file__).parent.parent / "docs" / "results" / "defaults.json"
DELTA, SEARCHED = 1e-5, 0
CHOSEN, CONFIRMED, DECIDED = (0, 1), tuple(range(2, 7)), tuple(range(7, 17))  # seeds of the validation parts
BY_FITS = tuple(range(17, 47))
RUNS = {"run": CHOSEN, "confirm": CONFIRMED, "decide": DECIDED, "by_fits": BY_FITS}
NOTIONS, EPSILONS = ("demographic_parity", "equalized_odds"), (0.1, 0.5, 1.0, 3.0)
FAIR = ("f_ld", {"batch_size": None, "gap_target": ACCEPTED, "multiplier_max": MULTIPLIER_MAX})
_Z = 1.96
Fits = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Standing:
    """What a candidate came to: cells below the constant answer and the line, how often the gap was met, its ranks.

    `fits_below` are the fits that are below the constant answer.
    """

    name: str
    below_constant: int
    fits_below: int
    below_line: int
    met: int
    fits: int
    ranks: np.ndarray

    @property
    def order(self) -> tuple[float, float]:
        """By which candidates are chosen among."""
        return float(np.median(self.ranks)), float(np.mean(self.ranks))


@cache
def load(data: str) -> Dataset:
    """Return the data set that "name:sensitive" names."""
    name, _, sensitive = data.partition(":")
    return load_dataset(DataSpec(dataset=name, sensitive=sensitive))


@cache
def validation_part(data: str, seed: int) -> tuple[Dataset, Dataset]:
    """Return (three quarters, a quarter) of the searched split's training rows."""
    return split_dataset(split_dataset(load(data), seed=SEARCHED)[0], seed=seed)


def fit_all(asked: Sequence[tuple[Method, Dataset, int]], notion: str) -> list[Fitted | None]:
    """Return the models, trained in one loop where that goes; None for one that failed."""

    def fit(chosen: Sequence[tuple[Method, Dataset, int]]) -> list[Fitted]:
        trainings = [
            Training(notions()[notion], seed, Mechanism(Randomness.fresh()), Unwatched()) for *_, seed in chosen
        ]
        return type(chosen[0][0]).fit_many([each[0] for each in chosen], [each[1] for each in chosen], trainings)

    try:
        return list(fit(asked))
    except RunFailed:
        return [None] if len(asked) == 1 else [model for each in asked for model in fit_all([each], notion)]


def measure(fitted: Fitted | None, data: str, notion: str, seed: int) -> dict[str, Any]:
    """Return accuracy, gap, and the height above the mixing line with its interval, on the validation part."""
    if fitted is None:
        return {"seed": seed, "accuracy": None}
    found = evaluate(fitted.network, fitted.parameters, validation_part(data, seed)[1])
    height = measure_margin(found, measure_plain(data, seed), notions()[notion])
    interval = None if height is None else [round(end, 5) for end in (height.value, height.low, height.high)]
    gap = found[notions()[notion].metric]
    return {"seed": seed, "accuracy": round(found["accuracy"], 5), "gap": round(gap, 5), "height": interval}


@cache
def measure_plain(data: str, seed: int) -> dict[str, Any]:
    """Return the metrics of plain training on the validation part."""
    train, rest = validation_part(data, seed)
    [fitted] = fit_all([(methods()[REFERENCE_METHOD](batch_size=None), train, seed)], NOTIONS[0])
    assert fitted is not None
    return evaluate(fitted.network, fitted.parameters, rest)


def run_reference(data: str, notion: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what candidates are held against: the constant answer, plain training, the best non-private learner."""
    name, settings = FAIR
    for seed in seeds:
        train, rest = validation_part(data, seed)
        plain = measure_plain(data, seed)
        [fair] = fit_all([(build_method(methods()[name], settings), train, seed)], notion)
        yield {
            "seed": seed,
            "rows": rest.n,
            "constant": round(plain["constant_accuracy"], 5),
            "plain": [round(plain["accuracy"], 5), round(plain[notions()[notion].metric], 5)],
            "fair": measure(fair, data, notion, seed)["height"],
        }


def run_candidate(
    name: str, settings: Mapping[str, Any], data: str, notion: str, seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield the fits of a candidate on a benchmark: every ε and seed."""
    asked, told = [], list(product(EPSILONS, seeds))
    for epsilon, seed in told:
        train = validation_part(data, seed)[0]
        method = build_method(methods()[name], settings_at(settings, epsilon))
        asked.append((method.calibrated(epsilon=epsilon, delta=DELTA, n_train=train.n), train, seed))
    for (epsilon, seed), fitted in zip(told, fit_all(asked, notion), strict=True):
        yield {"epsilon": epsilon, **measure(fitted, data, notion, seed)}


def list_asked(name: str) -> Iterator[tuple[dict[str, str], Mapping[str, Any]]]:
    """Yield what is run of a method: its name in the file, and the settings."""
    design = DESIGNS[name]
    for data, notion, way, candidate in product(design.data, list_notions(name), design.ways, design.candidates):
        asked = {"method": name, "data": data, "notion": notion, "way": way, "candidate": candidate}
        yield asked, {**design.ways[way], **design.candidates[candidate]}


def list_notions(name: str) -> tuple[str, ...]:
    """Return the notions that a method's cells have: of one that pursues none it is the same whichever is named."""
    return NOTIONS if methods()[name].info.pursues_notion else NOTIONS[:1]


def is_fair(name: str) -> bool:
    """Return whether a method is there for small gaps: it pursues a notion, or certifies what gap it leaves."""
    return methods()[name].info.pursues_notion or methods()[name].info.certifies


def read_results() -> dict[str, Any]:
    """Return what has been run, by what was asked as JSON text."""
    return {line["key"]: line for line in json.loads(PATH.read_text("utf-8"))} if PATH.exists() else {}


def run_missing(names: Sequence[str], seeds: Sequence[int]) -> None:
    """Fit what the file does not hold of the methods, and write it after each."""
    for name in names:
        for asked, settings in list_asked(name):
            reference = {"method": "reference", "data": asked["data"], "notion": asked["notion"]}
            _keep(reference, seeds, partial(run_reference, asked["data"], asked["notion"]))
            _keep(asked, seeds, partial(run_candidate, name, settings, asked["data"], asked["notion"]))


def _keep(asked: Mapping[str, str], seeds: Sequence[int], run: Callable[[Sequence[int]], Iterable[Any]]) -> None:
    results, key, begun = read_results(), " · ".join(asked.values()), time.process_time()
    line = results.setdefault(key, {"key": key, **asked, "fits": []})
    missing = [seed for seed in seeds if seed not in {fit["seed"] for fit in line["fits"]}]
    if missing:
        line["fits"].extend(run(missing))
        lines = ",\n".join(json.dumps(line, ensure_ascii=False) for line in results.values())
        PATH.write_text(f"[\n{lines}\n]\n", "utf-8")
        print(f"{key}: {time.process_time() - begun:.0f} s of CPU", file=sys.stderr, flush=True)


def score(fit: Mapping[str, Any], reference: Mapping[str, Any], *, pursues: bool) -> float:
    """Return the accuracy, of methods that pursue a notion above the mixing line at the fit's gap; failed: -inf."""
    if fit["accuracy"] is None:
        return -np.inf
    accuracy, (plain, apart) = float(fit["accuracy"]), reference["plain"]
    if not pursues:
        return accuracy
    share = min(fit["gap"] / apart, 1.0) if apart > 0 else 1.0
    return accuracy - (reference["constant"] + max(plain - reference["constant"], 0.0) * share)


def judge(results: Mapping[str, Any], name: str, seeds: Sequence[int] = CHOSEN) -> list[Standing]:
    """Return how the candidates of a method stand by the fits of these seeds, in their order."""
    design, pursues = DESIGNS[name], is_fair(name)
    counts = {candidate: {"constant": 0, "below": 0, "line": 0, "met": 0, "fits": 0} for candidate in design.candidates}
    ranks: list[np.ndarray] = []
    for data, notion, way, epsilon in product(design.data, list_notions(name), design.ways, EPSILONS):
        references = [fit for fit in results[f"reference · {data} · {notion}"]["fits"] if fit["seed"] in seeds]
        scores = []
        for candidate, counted in counts.items():
            line = results[f"{name} · {data} · {notion} · {way} · {candidate}"]
            fits = [fit for fit in line["fits"] if fit["epsilon"] == epsilon and fit["seed"] in seeds]
            scores.append(np.mean([score(*pair, pursues=pursues) for pair in zip(fits, references, strict=True)]))
            counted["constant"] += is_below_constant(fits, references)
            counted["below"] += sum(is_below_constant([fit], [own]) for fit, own in zip(fits, references, strict=True))
            counted["line"] += pursues and is_below_line(fits, references)
            counted["met"] += sum(fit["accuracy"] is not None and fit["gap"] <= ACCEPTED for fit in fits)
            counted["fits"] += len(fits)
        ranks.append(rankdata([-each for each in scores]))
    each = zip(counts.items(), np.transpose(ranks), strict=True)
    return [
        Standing(candidate, told["constant"], told["below"], told["line"], told["met"], told["fits"], own)
        for (candidate, told), own in each
    ]


def is_below_constant(fits: Fits, references: Fits) -> bool:
    """Return whether fits of a cell are clearly below the constant answer in the mean, or one failed."""
    if any(fit["accuracy"] is None for fit in fits):
        return True
    accuracy, constant = (
        np.mean([each[what] for each in told]) for what, told in (("accuracy", fits), ("constant", references))
    )
    error = np.sqrt(accuracy * (1.0 - accuracy) / sum(each["rows"] for each in references))
    return bool(accuracy + _Z * error < constant)


def is_below_line(fits: Fits, references: Fits) -> bool:
    """Return whether all fits of a cell are clearly below the mixing line where the best non-private learner is not."""

    def below(heights: Sequence[Sequence[float] | None]) -> bool:
        return all(height is not None and height[2] < 0 for height in heights)

    return below([fit.get("height") for fit in fits]) and not below([each["fair"] for each in references])


def sieve(standings: Sequence[Standing], *, pursues: bool, by_fits: bool = False) -> list[Standing]:
    """Return the admissible candidates, never none; `by_fits` counts what is below the constant answer by point 8."""
    fewest = min(standings, key=lambda each: each.fits_below)
    most = wilson_interval(fewest.fits_below, fewest.fits)[1]
    cells = min(one.below_constant for one in standings)
    left = [e for e in standings if (e.fits_below / e.fits <= most if by_fits else e.below_constant == cells)]
    if not pursues:
        return left
    left = [each for each in left if each.below_line == min(one.below_line for one in left)]
    best = max(left, key=lambda each: each.met / each.fits)
    least = wilson_interval(best.met, best.fits)[0]
    return [each for each in left if each.met / each.fits >= least]


def choose(standings: Sequence[Standing], *, pursues: bool, by_fits: bool = False) -> tuple[Standing, list[Standing]]:
    """Return the candidate that the rule takes, and those that were admissible; the first of all is what ships."""
    shipped, left = standings[0], sieve(standings, pursues=pursues, by_fits=by_fits)
    best = min(left, key=lambda each: each.order)
    if shipped not in left or best is shipped:
        return best, left
    low = mean_interval((shipped.ranks - best.ranks).tolist()).low
    return (best if low is not None and low > 0 else shipped), left


def has_been_run(results: Mapping[str, Any], name: str, seeds: Sequence[int]) -> bool:
    """Return whether all cells of a method have the fits of these seeds."""
    lines = [results.get(" · ".join(asked.values())) for asked, _ in list_asked(name)]
    return all(line is not None and {fit["seed"] for fit in line["fits"]}.issuperset(seeds) for line in lines)


def print_verdicts(results: Mapping[str, Any], seeds: Sequence[int]) -> None:
    """Print a table of all candidates of methods whose cells have all been run with these seeds."""
    print("| method | candidate | cells below constant | below the line | gap met | rank: median, mean | verdict |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for name in [name for name in DESIGNS if has_been_run(results, name, seeds)]:
        standings, pursues = judge(results, name, seeds), is_fair(name)
        by_fits = seeds == BY_FITS
        chosen, left = choose(standings, pursues=pursues, by_fits=by_fits)
        for each in standings:
            verdict = "**taken**" if each is chosen else "" if each in left else "not admissible"
            below = f"{each.fits_below} of {each.fits} fits" if by_fits else str(each.below_constant)
            cells = f"{below} | {each.below_line if pursues else '–'} of {each.ranks.size}"
            met = f"{each.met} of {each.fits}" if pursues else "–"
            ranks = ", ".join(f"{value:.2f}" for value in each.order)
            print(f"| `{name}` | {each.name} | {cells} | {met} | {ranks} | {verdict} |")


def main() -> None:
    """Run, or print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=(*RUNS, "verdicts"), default="verdicts")
    parser.add_argument("methods", nargs="*", help="all if none is given")
    asked = parser.parse_args()
    if asked.what == "verdicts":
        for seeds in RUNS.values():
            print_verdicts(read_results(), seeds)
    else:
        run_missing(asked.methods or list(DESIGNS), RUNS[asked.what])


if __name__ == "__main__":
    main()
