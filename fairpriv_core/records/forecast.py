"""Whether public numbers leave anything to learn, before a run begins: the signal of its training beside its noise.

A step sums about B = q n gradients, each of length at most C, and adds noise of deviation sigma C to each of P
parameters. Over T steps the sums add up to at most B T C, where all agree, and the noise to sigma C sqrt(T P). Their
ratio is B sqrt(T) / (sigma sqrt(P)); of a budget mu in Gaussian differential privacy it is about n mu / sqrt(P),
however the steps are cut. docs/methods/forecast.md says on which made-up tables the two limits were found.
"""

from __future__ import annotations

import math

from fairpriv_core.privacy.event import Events, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_epsilon, gaussian_mu
from fairpriv_core.text import epsilon_text

LITTLE = 8.0  # below it, models of made-up tables were no better than a constant answer
ENOUGH = 12.0  # from it on they were better


def measure_signal(events: Events, *, n_train: int, parameters: int) -> float | None:
    """Return the signal of gradients over their noise; None where no secret sample of whole records is summed.

    `events` are what training will release, `parameters` how many the network has.
    """
    sampled = [each for each in events if isinstance(each, SampledGaussian) and each.relation == "add_remove"]
    if not sampled or any(each.noise_multiplier == 0 for each in sampled):
        return None
    squares = sum(each.count * (each.sampling_rate * n_train / each.noise_multiplier) ** 2 for each in sampled)
    return math.sqrt(squares / parameters)


def format_little_signal(signal: float | None, *, n_train: int, epsilon: float | None, delta: float) -> str | None:
    """Return that a run can learn next to nothing, with the rows or the epsilon that would do; None where it can."""
    if signal is None or signal >= LITTLE:
        return None
    rows = float(f"{n_train * ENOUGH / signal:.1g}")
    would = f"about {rows:,.0f} training rows"
    if epsilon is not None:
        more = gaussian_epsilon(gaussian_mu(epsilon, delta) * ENOUGH / signal, delta)
        would += f", or ε of about {epsilon_text(float(f'{more:.1g}'))},"
    return (
        f"So much noise on {n_train:,} rows leaves next to nothing to learn: one answer for everybody is likely as "
        f"good. At this size of network {would} would do."
    )
