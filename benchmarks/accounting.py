"""What accounting costs, in steps of N: epsilon while a run goes on, at its end, and the noise for a wanted epsilon.

    python benchmarks/accounting.py [--quick] [--json FILE]

A step of N is one of the plain PyTorch loop on Bank's shape, 2 hidden layers, batch 256. Ours is compared with what a
curve of epsilon takes elsewhere: `get_epsilon` of Opacus or dp_accounting after every step. Every round uses noise
multipliers and targets of its own, so that nothing is answered from a cache but where the line says so.

The live curve's share is its whole cost in a run (built once, asked after every epoch) over that of the run's training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import dp_accounting
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier

from benchmarks.contenders import NOISE, Case, Rival, Work, build_data, time_epoch
from benchmarks.measuring import alternate, build_parser, ratio, say, start, time_call, unwarned, write_result
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.curve import LiveEpsilon

DELTA, STEPS, EPOCHS = 1e-5, 3_540, 20
_fresh = (NOISE + index / 1000 for index in count())  # a noise multiplier that nothing has accounted for yet


def list_accounts(work: Work) -> dict[str, Callable[[], float]]:
    """Return what is timed, by what the table calls it; each call returns seconds for what the name says."""
    method = Case("dp_sgd").build(work, epochs=EPOCHS)
    n, rate = work.data.n, work.batch / work.data.n
    live = LiveEpsilon(method.event(n), DELTA)
    known = method.event(n)

    def calibrate(target: float) -> None:
        replace(method, noise_primal=None).calibrated(epsilon=target, delta=DELTA, n_train=n)

    calibrate(1.0)
    targets = (2.0 + index / 1000 for index in count())
    return {
        "ours, live curve, an answer": lambda: time_call(lambda: [live.epsilon_at(known) for _ in range(100)]) / 100,
        "ours, live curve, set-up": lambda: time_call(
            partial(LiveEpsilon, replace(method, noise_primal=next(_fresh)).event(n), DELTA)
        ),
        "ours, final epsilon": lambda: time_call(
            partial(epsilon, replace(method, noise_primal=next(_fresh)).event(n), DELTA)
        ),
        "ours, calibration": lambda: time_call(partial(calibrate, next(targets))),
        "ours, calibration, cached": lambda: time_call(partial(calibrate, 1.0)),
        **{name: partial(time_step, make(), rate) for name, make in _ACCOUNTANTS.items()},
        "Opacus PRV, final epsilon": lambda: time_call(partial(_final, PRVAccountant, rate)),
        "Opacus RDP, calibration": lambda: time_call(partial(_opacus_noise, next(targets), rate, "rdp")),
        "Opacus PRV, calibration": lambda: time_call(partial(_opacus_noise, next(targets), rate, "prv")),
    }


class _Google:
    """An accountant of dp_accounting as one asks it for a curve: composed with each step, then asked."""

    def __init__(self, kind: type[Any]) -> None:
        self._accountant = kind()

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        once = dp_accounting.GaussianDpEvent(noise_multiplier)
        self._accountant.compose(dp_accounting.PoissonSampledDpEvent(sample_rate, once))

    def get_epsilon(self, delta: float) -> float:
        return float(self._accountant.get_epsilon(delta))


_ACCOUNTANTS: dict[str, Callable[[], Any]] = {
    "Opacus RDP, a step and its epsilon": RDPAccountant,
    "dp_accounting RDP, a step and its epsilon": partial(_Google, RdpAccountant),
    "dp_accounting PLD, a step and its epsilon": partial(_Google, PLDAccountant),
}


def time_step(accountant: Any, rate: float) -> float:
    """Return the seconds that one more step and the epsilon after it take, the median of three."""

    def ask() -> None:
        accountant.step(noise_multiplier=NOISE, sample_rate=rate)
        with unwarned():  # few steps have their best order beyond Opacus' largest
            accountant.get_epsilon(delta=DELTA)

    return median(time_call(ask) for _ in range(3))


def measure_live(*, rows: int | None, rounds: int) -> Iterator[dict[str, Any]]:
    """Yield the live curve's share of the training time of whole runs."""
    bank, adult = build_data("bank", rows=rows), build_data("adult", rows=rows)
    works = [
        (Case("pf_ld", "proved"), Work(bank, 2, 256), 20),
        (Case("pf_ld", "proved"), Work(bank, 10, 256), 20),
        (Case("dp_sgd"), Work(bank, 2, 256), 20),
        (Case("dp_fermi", "proved"), Work(adult, 0, 1024), 200),
    ]
    for case, work, epochs in works:
        method = case.build(work, epochs=epochs)
        made = partial(replace, method)
        taken = alternate(
            {
                "epoch": partial(time_epoch, case, work),
                "curve": lambda made=made, n=work.data.n: time_curve(made(noise_primal=next(_fresh)).event(n), EPOCHS),
            },
            rounds,
        )
        share = ratio(taken, "curve", "epoch") / epochs
        what = {"method": case.method, "variant": case.variant, "layers": work.layers, "batch": work.batch}
        yield {**what, "epochs": epochs, "share": round(share, 5), "seconds": round(median(taken["curve"]), 4)}


def time_curve(planned: Any, answers: int) -> float:
    """Return the seconds of a live curve in a run: built once, asked so often."""

    def ask() -> None:
        live = LiveEpsilon(planned, DELTA)
        for _ in range(answers):
            live.epsilon_at(planned)

    return time_call(ask)


def _final(kind: type[Any], rate: float) -> None:
    accountant = kind()
    accountant.history = [(next(_fresh), rate, STEPS)]
    accountant.get_epsilon(delta=DELTA)


def _opacus_noise(target: float, rate: float, accountant: str) -> None:
    with unwarned():
        get_noise_multiplier(
            target_epsilon=target, target_delta=DELTA, sample_rate=rate, steps=STEPS, accountant=accountant
        )


def collect(*, rows: int | None, rounds: int) -> dict[str, Any]:
    """Return what each account costs in steps of N, and the live curve's shares, on shapes cut to `rows`."""
    work = Work(build_data("bank", rows=rows), 2, 256)
    plain = Rival(work, private=False)
    plain.train(5)
    steps = -(-work.data.n // work.batch)
    timed = {"n": lambda: plain.time_epoch() / steps, **list_accounts(work)}
    taken = alternate(timed, rounds)
    step = median(taken["n"])
    say(f"a step of N takes {1000 * step:.2f} ms; in steps of N:")
    cells = [
        {"what": name, "n_steps": ratio(taken, name, "n"), "seconds": round(median(taken[name]), 7)}
        for name in timed
        if name != "n"
    ]
    for cell in cells:
        say(f"{cell['n_steps']:>12.4f}  {cell['what']}")
    live = []
    for cell in measure_live(rows=rows, rounds=rounds):
        live.append(cell)
        say(f"live curve: {100 * cell['share']:.2f} % of {cell['epochs']} epochs of {cell['method']} {cell['variant']}")
    return {"seconds_of_a_step_of_n": round(step, 6), "cells": cells, "live": live}


def main() -> None:
    options = start(build_parser(__doc__))
    rows, rounds = (8_192, 2) if options.quick else (None, 5)
    write_result(options, collect(rows=rows, rounds=rounds))


if __name__ == "__main__":
    main()
