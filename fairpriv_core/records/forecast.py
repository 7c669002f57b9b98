"""Whether public numbers leave anything to learn, before a run begins: the signal of its training beside its noise.

*Whole records.* A step sums about B = q n gradients, each of length at most C, and adds noise of deviation sigma C to
each of P parameters. Over T steps the sums add up to at most B T C, where all agree, and the noise to
sigma C sqrt(T P). Their ratio is B sqrt(T) / (sigma sqrt(P)); of a budget mu in Gaussian differential privacy it is
about n mu / sqrt(P), however the steps are cut. docs/methods/forecast.md says on which made-up tables the two limits
were found.

*The sensitive attribute.* All n / k people of a group, of k groups of one size, move a release by at most n / k times
what one person does. Where its noise deviates by more, what training is told of a group is noise. Of samples, the 1 / q
steps of one pass over the rows count as one release: what is summed in them moves as far, with noise sigma / sqrt(q).
"""

from __future__ import annotations

import math

from fairpriv_core.privacy.event import Event, Events, Gaussian, Laplace, SampledGaussian
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


def measure_noise(events: Events, *, n_train: int, groups: int) -> float:
    """Return the most noise of a release, over what all people of one of so many groups of one size move it by at most.

    0 where no release has noise of its own, as one answer a person has none.
    """
    return max((_find_noise(each) for each in events), default=0.0) * groups / n_train


def _find_noise(event: Event) -> float:
    """Return the deviation of the noise of a release, or of a pass over the rows, over what one person moves it by."""
    match event:
        case Gaussian(noise, _):
            return noise
        case Laplace(scale, _):
            return math.sqrt(2.0) * scale
        case SampledGaussian(noise, rate, _, relation):
            return noise / math.sqrt(rate) / (2.0 if relation == "replace" else 1.0)
    return 0.0


def format_much_noise(noise: float, *, n_train: int, groups: int, unit: str, epsilon: float | None) -> str | None:
    """Return that what is told of groups is noise, with the rows that would do; None where it is not.

    `unit` is a "person" or a "row"; `epsilon` is None where noise is set by hand.
    """
    if noise < 1.0:
        return None
    rows = float(f"{n_train * noise * ENOUGH / LITTLE:.1g}")
    equal = f"{n_train // groups:,} {'people' if unit == 'person' else 'rows'}"
    return (
        f"So much noise on {n_train:,} rows leaves next to nothing to learn of {groups} groups. In a pass over the "
        f"rows it is {noise:.1f} times what {equal}, an equal group, can change. With these settings about "
        f"{rows:,.0f} training rows would do{'' if epsilon is None else ', or a larger ε'}."
    )
