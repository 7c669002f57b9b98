"""Settings beside each other: their seeds folded, and what tests say of the difference, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairpriv_core.facts.classes import read_classes, read_groups
from fairpriv_core.facts.measures import Fact, MeanFact, cut_interval, find_worst, fold, fold_facts, widen
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.facts.wording import metric_title
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, mean_interval
from fairpriv_core.text import count_text, number_text

LEVEL = 0.05
MOST_EXACT = 13  # 2^13 sign patterns are enumerated; beyond, the normal approximation is close
_DIGITS = 12  # differences of shares that agree to here are equal: what is left is rounding
#: each index over the groups' accuracies: formula (v: a group's accuracy, m: their mean, k groups) and source
INDICES = {
    "atkinson": ("1 − ∏ (v/m)^(1/k)", "Atkinson 1970, aversion 1"),
    "gini": ("Σ |v − w| / (2 k² m) over pairs", "Gini 1912"),
    "mean_log_deviation": ("1/k Σ log(m/v)", "Theil 1967"),
    "theil": ("1/k Σ (v/m) log(v/m)", "Theil 1967"),
}


_UNTESTED = (
    "{title}: {run} and {reference} are not tested, since randomised answers tell {of}. Seeds do not vary their flips."
)


@dataclass(frozen=True)
class Compared:
    """One of the compared settings: its label ("A: PF-LD, ε = 1"), its row, and its seeds."""

    label: str
    row: TableRow
    runs: Sequence[RunFacts[Kind]]

    @property
    def letter(self) -> str:
        """The letter that its label begins with."""
        return self.label.partition(":")[0]


@dataclass(frozen=True)
class Paired:
    """Run minus reference over the seeds that both ran; shares.

    Attributes:
        difference: the mean with its 95 % t interval, as raw as the rawer of the two.
        t_test: two-sided p-value of the paired t test (Student 1908); None with fewer than two seeds, or where every
            difference is the same.
        wilcoxon: two-sided p-value of the signed-rank test (Wilcoxon 1945), zeros left out, exact up to MOST_EXACT
            seeds with ties too; None where no seed differs.
        least: the smallest p-value that `wilcoxon` can have with as many seeds that differ: 2 / 2^n.
        seeds: that both ran.
    """

    difference: MeanFact[Kind]
    t_test: float | None
    wilcoxon: float | None
    least: float | None
    seeds: tuple[int, ...]


def compare(settings: Sequence[Compared], reference: Compared) -> list[str]:
    """Return what tests say of accuracy, and of the gap of the same notion, of each setting beside `reference`."""
    sentences = []
    for setting in settings:
        gap = reference.row.notion == setting.row.notion
        for metric in ("accuracy", *([f"{setting.row.notion}_gap"] if gap else [])):
            title = metric_title(metric)
            answered = [f"{side.letter}'s" for side in (setting, reference) if side.row.by_answers]
            if metric != "accuracy" and answered:
                words = {"run": setting.letter, "reference": reference.letter, "of": " and ".join(answered)}
                sentences.append(_UNTESTED.format(title=title, **words))
                continue
            paired = compare_paired(setting.runs, reference.runs, metric)
            sentences.append(format_paired(paired, run=setting.letter, reference=reference.letter, metric=title))
    return sentences


def compare_paired(runs: Iterable[RunFacts[Kind]], reference: Iterable[RunFacts[Kind]], metric: str) -> Paired:
    """Compare `metric` (an exact number by its name) between two settings, seed by seed."""
    from scipy.stats import ttest_1samp

    ours, theirs = _read_by_seed(runs, metric), _read_by_seed(reference, metric)
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    differences = [round(ours[seed].value - theirs[seed].value, _DIGITS) for seed in seeds]
    nonzero = [value for value in differences if value]
    varies = len(set(differences)) > 1
    return Paired(
        difference=fold(differences, find_worst([fact.kind for fact in (*ours.values(), *theirs.values())])),
        t_test=float(ttest_1samp(differences, 0.0).pvalue) if varies else None,
        wilcoxon=_signed_rank(nonzero) if nonzero else None,
        least=2.0 / 2.0 ** len(nonzero) if nonzero else None,
        seeds=seeds,
    )


def format_paired(paired: Paired, *, run: str, reference: str, metric: str) -> str:
    """Return the comparison of `run` with `reference` in plain sentences; `metric` is a title ("Accuracy").

    >>> one = Paired(fold([0.01], "public"), None, 1.0, 1.0, (0,))
    >>> format_paired(one, run="B", reference="A", metric="Accuracy")
    'Accuracy: B is 1.00 percentage points above A on the one seed that both ran: one seed allows no test.'
    """
    difference, seeds = paired.difference, len(paired.seeds)
    if difference.mean is None:
        return f"{metric}: {run} and {reference} have no seed in common, so nothing can be paired."
    if paired.wilcoxon is None:
        return f"{metric}: {run} and {reference} are the same on {count_text(seeds, 'seed')}."
    side = "above" if difference.mean > 0 else "below"
    start = f"{metric}: {run} is {number_text(100 * abs(difference.mean))} percentage points {side} {reference}"
    if seeds == 1:
        return f"{start} on the one seed that both ran: one seed allows no test."
    ends = (number_text(100 * (end or 0.0)).replace("-", "−") for end in (difference.low, difference.high))
    interval = f"95 % interval of the difference {' to '.join(ends)}"
    return f"{start} on average over {count_text(seeds, 'seed')} ({interval}). {_format_tests(paired)}"


def format_p(value: float) -> str:
    """Return a p-value with two decimals; a smaller one says so.

    >>> format_p(0.0312), format_p(0.004)
    ('p = 0.03', 'p < 0.01')
    """
    return "p < 0.01" if value < 0.01 else f"p = {number_text(value)}"


def _format_tests(paired: Paired) -> str:
    t_test = "No paired t test, since every difference is the same"
    if paired.t_test is not None:
        t_test = f"Paired t test {format_p(paired.t_test)}"
    tests = f"{t_test}; Wilcoxon signed-rank test {format_p(paired.wilcoxon or 1.0)}"
    if paired.least is not None and paired.least >= LEVEL:
        differing = count_text(round(math.log2(2 / paired.least)), "differing seed")
        return f"{tests}, and with {differing} it cannot be below {number_text(paired.least)}."
    return f"{tests}."


def _signed_rank(nonzero: list[float]) -> float:
    from scipy.stats import PermutationMethod, wilcoxon

    if len(nonzero) == 1:
        return 1.0
    exact = PermutationMethod(n_resamples=2**MOST_EXACT)
    method = exact if len(nonzero) <= MOST_EXACT else "approx"
    return float(wilcoxon(nonzero, method=method).pvalue)


def _read_by_seed(runs: Iterable[RunFacts[Kind]], metric: str) -> dict[int, Fact[Kind]]:
    facts: dict[int, Fact[Kind]] = {}
    for run in runs:
        fact = run.read_exact(metric)
        if fact is not None:
            facts.setdefault(run.seed, fact)
    return facts


def fold_exact(runs: Iterable[RunFacts[Kind]], name: str) -> MeanFact[Kind]:
    """Return an exact number's mean over seeds."""
    return fold_facts(run.read_exact(name) for run in runs)


def fold_indices(runs: Sequence[RunFacts[Kind]]) -> dict[str, MeanFact[Kind]]:
    """Return each inequality index over the groups' accuracies: its mean over seeds."""
    return {name: fold_exact(runs, name) for name in INDICES}


def fold_groups(runs: Sequence[RunFacts[Kind]], rate: str, *, of: str = "group") -> list[dict[str, object]]:
    """Return each group's name, size (its mean over seeds), mean `rate` and its 95 % t interval, as of one run.

    `of`: "class" for the classes in place of the groups.
    The interval is within [0, 1]; of one seed it is the run's own Wilson interval. Where groups are randomised answers,
    rates and intervals are by these. Undefined rates are left out.
    """
    parts: dict[str, list[Mapping[str, object]]] = {}
    for run in runs:
        measures = run.released if run.data.answered else run.exact
        for part in (
            read_classes(run.exact) if of == "class" else read_groups({} if measures is None else measures.found, rate)
        ):
            parts.setdefault(str(part["name"]), []).append(part)
    answered = any(run.data.answered for run in runs)
    return [_fold_group(name, own, rate, answered=answered) for name, own in parts.items()]


def _fold_group(name: str, groups: Sequence[Mapping[str, Any]], rate: str, *, answered: bool) -> dict[str, Any]:
    mean: Mean = cut_interval(mean_interval(group.get(rate) for group in groups))
    if answered:
        mean = widen(mean, [own for group in groups if (own := group.get(f"{rate}_interval"))])
    size = round(sum(group["size"] for group in groups) / len(groups))
    ends: Sequence[float | None] = groups[0].get(f"{rate}_interval") or (None, None)
    if mean.low is not None and mean.high is not None:
        ends = mean.low, mean.high
    return {"name": name, "size": size, rate: mean.mean, f"{rate}_interval": ends}
