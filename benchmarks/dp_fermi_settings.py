"""Which settings DP-FERMI and its rivals take in Figures 2 to 4 and 7 to 9: python benchmarks/dp_fermi_settings.py

The rule. On each data set and notion every method has four trials. Of a trial, at each budget of the figure, counts the
smallest mean violation among values of the method's knob for fairness with a mean accuracy of at least the figure's
level; where none gets there, 100 points count. The trial with the smallest mean over the budgets is chosen; of equal
ones, the more accurate.

What is tried. For DP-FERMI two of the paper's learning rates, each with D = 1 and 2, which lie in its ranges for both
notions. For Tran et al.'s two, about which the paper says nothing, two learning rates, each with 20 and 200 epochs. For
Jagielski et al.'s two steps of the auditor, each with 10 and 40 rounds. Each method has three values of its knob.

Means are over what seeds 100 and 101 hold out: no figure reports these seeds. The rule is the one that had chosen for
Parkinsons, with two values of a rival's knob. It stood before the trials on Adult and Credit Card, but for DP-FERMI on
Adult, which had been tried on other splits.

Runs are kept in the run store, so a script that was broken off goes on. Every trial, with the keys of its runs, is
written to docs/results/dp_fermi_settings.json. `CHOSEN` of fairpriv_core/papers/dp_fermi/settings.py has the choice,
and a test holds the two together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from fairpriv_core.cli.output import open_reporter
from fairpriv_core.errors import RunFailed
from fairpriv_core.papers.differences import list_settings, reach
from fairpriv_core.papers.dp_fermi.settings import CASES, CHOSEN, TRIAL_SEEDS, TRIED, Case, Setting, build, list_methods
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import ACCURACY, GAP, Quantity
from fairpriv_core.papers.runs import find_runs, list_configs, run_missing
from fairpriv_core.papers.values import fold
from fairpriv_core.runs.children import count_cores, use_one_thread
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.runs import open_store
from fairpriv_core.sweeps.launch import Order

PATH = Path(__file__).parent.parent / "docs" / "results" / "dp_fermi_settings.json"
NOT_REACHED = 100.0  # percentage points
VALUES: Mapping[str, tuple[float, ...]] = {
    "dp_fermi": (0.25, 1.0, 2.5),
    "pf_ld": (0.1, 0.5, 1.0),
    "fairlens": (0.3, 1.0, 3.0),
    "jagielski_in": (0.005, 0.02, 0.05),
}


@dataclass(frozen=True)
class Trial:
    """A setting of a method on a case: by budget the smallest violation at the level, and the accuracy there.

    Both in percent; the accuracy is the best of all values of the knob where none reaches the level.
    """

    case: str
    method: str
    setting: Setting
    violations: tuple[float, ...]
    accuracies: tuple[float, ...]
    keys: tuple[str, ...]
    chosen: bool = False

    @property
    def of(self) -> tuple[str, str]:
        """The case and the method that it is a trial for."""
        return self.case, self.method


def choose(trials: Sequence[Trial]) -> Trial:
    """Return the trial that the rule takes."""
    return min(trials, key=lambda one: (fmean(one.violations), -fmean(one.accuracies)))


def choose_each(trials: Sequence[Trial]) -> dict[tuple[str, str], Trial]:
    """Return what the rule takes by case and method; trials of one follow each other."""
    return {of: choose(list(own)) for of, own in groupby(trials, key=lambda one: one.of)}


def sweep_trial(case: Case, method: str, setting: Setting) -> dict[str, Any]:
    """Return the sweep of a trial."""
    axes = {"method": build(method, setting, VALUES[method]), "epsilon": list(case.epsilons), "seed": list(TRIAL_SEEDS)}
    return {"data": case.data, "notion": case.notion, "split": case.split, "axes": axes}


def measure(records: Sequence[PaperRun], level: float) -> tuple[float, float]:
    """Return a budget's smallest violation at an accuracy of `level`, and the accuracy there, in percent."""
    settings = list_settings(records, Quantity("", GAP), ACCURACY)
    found = reach(settings, level)
    if not found:
        return NOT_REACHED, max(one.level.mean or 0.0 for one in settings)
    means = [fold(found, value).mean for value in (GAP, ACCURACY)]
    return means[0] or 0.0, means[1] or 0.0


def read_trial(name: str, method: str, setting: Setting) -> Trial:
    """Return a trial from the store's records; RunFailed where a run of it came to no model."""
    case = CASES[name]
    keys = tuple(list_configs([sweep_trial(case, method, setting)]))
    with open_store() as store:
        records = find_runs(store, keys)
    if len(records) != len(keys):
        raise RunFailed(f"{name}, {method} with {dict(setting)} has {len(records)} of {len(keys)} runs.")
    at = [[one for one in records if one.read("config/epsilon") == epsilon] for epsilon in case.epsilons]
    violations, accuracies = zip(*(measure(own, case.level) for own in at), strict=True)
    return Trial(name, method, setting, _round(violations), _round(accuracies), keys)


def _round(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(value, 3) for value in values)


def list_tried() -> Iterator[tuple[str, str, Setting]]:
    """Yield the case, the method and the setting of each trial."""
    for name, case in CASES.items():
        for method in list_methods(case):
            for setting in TRIED[method]:
                yield name, method, setting


def read_trials(path: Path = PATH) -> list[Trial]:
    """Return the trials that were written."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    lists = ("violations", "accuracies", "keys")
    return [Trial(**{**one, **{name: tuple(one[name]) for name in lists}}) for one in stored]


def write_trials(trials: Sequence[Trial], path: Path = PATH) -> None:
    """Write the trials, a line each, with what is chosen."""
    taken = choose_each(trials)
    rows = [json.dumps(asdict(replace(one, chosen=taken[one.of] == one))) for one in trials]
    path.write_text("[\n " + ",\n ".join(rows) + "\n]\n", encoding="utf-8")


def main() -> None:
    """Run what is missing, write the trials and print what is chosen."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    use_one_thread()
    workers = count_cores()
    order = Order(partial(run_here, workers=workers), workers, resume=True, yes=True)
    sweeps = [sweep_trial(CASES[name], method, setting) for name, method, setting in list_tried()]
    run_missing(sweeps, order, open_reporter(), again="python benchmarks/dp_fermi_settings.py")
    trials = [read_trial(*one) for one in list_tried()]
    write_trials(trials)
    for (name, method), one in choose_each(trials).items():
        told = f"violations {one.violations}, accuracies {one.accuracies}"
        print(f"{name}, {method}: {one.setting}: {told}{'' if CHOSEN[name][method] == one.setting else '; not CHOSEN'}")


if __name__ == "__main__":
    main()
