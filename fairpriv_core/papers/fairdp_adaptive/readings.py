"""The lines of FairDP's (adaptive clipping) tables and figures, both readings of it, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairpriv_core.methods.shared.noisy_sums import NOISE_BOUNDS
from fairpriv_core.papers.preset import (
    ACCURACY,
    Compare,
    Method,
    PaperClaim,
    PaperSweep,
    Part,
    Printed,
    Quantity,
    SweepAxes,
    Value,
    of_method,
    published,
)

_READING = "config/method/bound_of_noise"
_FOLLOWS, _SET = NOISE_BOUNDS  # whether noise follows the bound, or stays at the C that is set
SGD, DPSGD, FEDAVG = of_method("SGD", "none"), of_method("DPSGD", "dp_sgd"), of_method("DP-FedAvg", "dp_fedavg")
OPT_Q, DPSGD_F = published("Opt-Q", "opt_q", {_READING: _FOLLOWS}), published("DPSGD-F", "dpsgd_f")
OPT_Q_SET = replace(published("Opt-Q", "opt_q", {_READING: _SET}), name="Opt-Q, noise at C", variation=2)


def _fairdp(kind: str, variant: str, reading: str, noise: str = _FOLLOWS) -> Part:
    where = {"config/method/name": "fairdp_adaptive", "config/method/clip_by": kind, "config/method/variant": variant}
    variation = 2 if noise == _SET else int(variant == "published")
    return Part(f"FairDP by {kind}, {reading}", {**where, _READING: noise}, "fairdp_adaptive", variation)


FAIRDP, FAIRDP_GROUP = (_fairdp(kind, "published", "as published (L = 1)") for kind in ("class", "group"))
FAIRDP_SET, FAIRDP_GROUP_SET = (
    _fairdp(kind, "published", "noise at C (L = 1e-4)", _SET) for kind in ("class", "group")
)
FAIRDP_PROVED, FAIRDP_GROUP_PROVED = (_fairdp(kind, "proved", "proved (L = 1e-4)") for kind in ("class", "group"))


@dataclass(frozen=True)
class Reading:
    """One way of reading the paper: its name, and the lines of FairDP by class and by group, and of Opt-Q."""

    name: str
    fairdp: Part
    by_group: Part
    opt_q: Part

    @property
    def rivals(self) -> tuple[Part, ...]:
        """The lines that FairDP is compared with, in the order of the tables."""
        return (DPSGD, FEDAVG, self.opt_q, DPSGD_F)

    @property
    def rows(self) -> tuple[Part, ...]:
        """The lines of the printed tables."""
        return (SGD, *self.rivals, self.fairdp)


#: eq. 5 with the L of the text, and noise that follows the bounds; what the printed numbers need
READINGS = (
    Reading("L = 1", FAIRDP, FAIRDP_GROUP, OPT_Q),
    Reading("L = 1e-4 and noise at C", FAIRDP_SET, FAIRDP_GROUP_SET, OPT_Q_SET),
)
NEEDED = " The printed numbers need L = 1e-4 and noise at C, where the text says “1-Lipschitz”."
ROWS = (
    *(SGD, DPSGD, FEDAVG, OPT_Q, OPT_Q_SET, DPSGD_F, FAIRDP, FAIRDP_SET, FAIRDP_PROVED),
    *(FAIRDP_GROUP, FAIRDP_GROUP_SET, FAIRDP_GROUP_PROVED),
)
INDEX_VALUES = {
    "Atkinson": Value("metrics/atkinson", "Atkinson index", "thousandths", scale=1000.0),
    "Gini": Value("metrics/gini", "Gini index", "thousandths", scale=1000.0),
    "MLD": Value("metrics/mean_log_deviation", "Mean log deviation", "thousandths", scale=1000.0),
    "Theil": Value("metrics/theil", "Theil index", "thousandths", scale=1000.0),
}


def mean_of(part: Part, value: Value) -> Quantity:
    """Return the mean of a value over a line's runs."""
    return Quantity(part.name, value, part.where)


def less(one: Part, other: Part, value: Value, low: float | None = None, high: float | None = None) -> Compare:
    """Return that `one` minus `other` lies in [low, high], in shown units."""
    return Compare(mean_of(one, value), mean_of(other, value), low, high)


def in_each(
    says: str,
    source: str,
    check: Callable[[Reading], Compare],
    words: str,
    ours: Callable[[], Compare],
    *,
    readings: Sequence[Reading] = READINGS,
    cases: Sequence[Part] = (),
    lost: str = "the paper's epochs, batch size and learning rate, which our text lacks",
) -> tuple[PaperClaim, ...]:
    """Return a claim in each reading; `words` are how we take it, `ours` checks our proved variant."""
    return tuple(
        PaperClaim(
            says,
            source,
            check(reading),
            tuple(replace(case, name=f"{case.name}, {reading.name}") for case in cases) or (Part(reading.name),),
            words,
            ours() if reading is READINGS[-1] else None,
            lost,
        )
        for reading in readings
    )


def loses_least(place: int, words: str = "") -> tuple[PaperClaim, ...]:
    """Return the claim against the rival in that place of `Reading.rivals`."""
    rival = ("DPSGD", "DP-FedAvg", "Opt-Q", "DPSGD-F")[place]
    return in_each(
        "FairDP has the least accuracy loss from SGD",
        "Section 4.1",
        lambda each: less(each.fairdp, each.rivals[place], ACCURACY, low=0.0),
        f"{words}it loses no more than {rival}",
        lambda: less(FAIRDP_PROVED, READINGS[-1].rivals[place], ACCURACY, low=0.0),
    )


def shorten(part: Part) -> str:
    """Return a method's name as the paper's tables have it."""
    return part.name.partition(",")[0].removesuffix(" by class")


def print_losses(
    source: str, people: Mapping[str, Value], losses: Mapping[str, Sequence[float]]
) -> tuple[Printed, ...]:
    """Return Table 1's cells in each reading: SGD's accuracies, and the others' differences from them."""
    return tuple(
        Printed(
            f"{shorten(part)}{'' if part is SGD else ' − SGD'}, {name}",
            number,
            source,
            mean_of(part, people[name]) if part is SGD else less(part, SGD, people[name]),
            0.5,
            reading,
        )
        for name, numbers in losses.items()
        for reading, part, number in _list_cells(numbers)
    )


def print_indices(source: str, indices: Mapping[str, Sequence[float]]) -> tuple[Printed, ...]:
    """Return Table 2's cells in each reading, in thousandths of the index.

    Ours may be a tenth off, as they weigh groups alike.
    """
    return tuple(
        Printed(
            f"{shorten(part)}, {name}",
            round(100.0 * number, 4),
            source,
            mean_of(part, INDEX_VALUES[name]),
            0.1 * round(100.0 * number, 4),
            reading,
        )
        for name, numbers in indices.items()
        for reading, part, number in _list_cells(numbers)
    )


def _list_cells(numbers: Sequence[float]) -> Iterator[tuple[str, Part, float]]:
    """Yield each printed number with its line, and with its reading where the readings have other lines there."""
    for number, lines in zip(numbers, zip(*(reading.rows for reading in READINGS), strict=True), strict=True):
        if len(set(map(id, lines))) == 1:
            yield "", lines[0], number
        else:
            yield from ((way.name, line, number) for way, line in zip(READINGS, lines, strict=True))


ADULT = {"dataset": "adult", "sensitive": "sex"}
DUTCH = {"dataset": "dutch_census", "sensitive": "sex"}
MNIST = {"dataset": "mnist_unbalanced", "sensitive": "label"}

#: what the tables share: logistic regression, sigma = 1 and C = 0.5 are the paper's, the rest is ours
_TABLE = {"epochs": 20, "batch_size": 256, "learning_rate": 0.005, "optimizer": "sgd"}
_NOISE = {"clip_primal": 0.5, "noise_primal": 1.0}
_DUTCH_RATE = 0.03
#: the network, sigma = 1 and C = 1 are the paper's, the rest is ours
_SHARED: Method = {
    "network": "cnn_small",
    "epochs": 16,
    "batch_size": 128,
    "learning_rate": 0.1,
    "optimizer": "sgd",
}
_DIGITS: Method = {**_SHARED, "clip_primal": 1.0}
_SLOW = {"learning_rate": 0.02}  # where noise follows large bounds
L_PRINTED, L_SHIPPED = 1.0, 1e-4


def private(name: str, **changed: Any) -> Method:
    """Return a private method with the paper's noise and bound."""
    return {"name": name, **_TABLE, **_NOISE, **changed}


def fairdp(kind: str, **changed: Any) -> list[Method]:
    """Return FairDP with bounds by "class" or by "group": as printed, with L = 1, and proved, with the shipped L."""
    common = private("fairdp_adaptive", clip_by=kind, **changed)
    return [{**common, "variant": "published", "lipschitz": L_PRINTED}, {**common, "lipschitz": L_SHIPPED}]


def with_noise_at_c(**changed: Any) -> list[Method]:
    """Return the other reading of what is published: Opt-Q, and FairDP by "class" and by "group" with the shipped L."""
    at_c = {"variant": "published", "bound_of_noise": _SET, **changed}
    kinds = [private("fairdp_adaptive", clip_by=kind, lipschitz=L_SHIPPED, **at_c) for kind in ("class", "group")]
    return [private("opt_q", **at_c), *kinds]


def rivals(**changed: Any) -> list[Method]:
    """Return the private methods that FairDP is compared with; with logistic regression DP-FedAvg is DP-SGD."""
    published = [private(name, variant="published", **changed) for name in ("opt_q", "dpsgd_f")]
    return [private("dp_sgd", **changed), *published]


def table_methods(**changed: Any) -> list[Method]:
    """Return every row of the tables, FairDP's in six readings."""
    plain = {"name": "none", **_TABLE, **changed}
    layered = private("dp_fedavg", **changed)
    readings = [*fairdp("class", **changed), *fairdp("group", **changed), *with_noise_at_c(**changed)]
    return [plain, *rivals(**changed), layered, *readings]


def table(data: Mapping[str, object], seeds: int) -> PaperSweep:
    """Return the sweep of the tables: Adult by its published split, Dutch at the rate that suits it."""
    methods = table_methods() if data is ADULT else table_methods(learning_rate=_DUTCH_RATE)
    return _sweep(data, methods, seeds)


def digits(seeds: int) -> PaperSweep:
    """Return the sweep of the tables' columns of unbalanced MNIST, whose groups are its classes.

    Opt-Q and FairDP stand there twice as published: with noise at the C that is set, and with noise at their bounds.
    """
    slow = {**_DIGITS, **_SLOW}
    _, followed, _ = rivals(**slow)
    printed, proved = fairdp("class", **_DIGITS)[0], fairdp("class", **slow)[1]
    further = [private("dp_fedavg", **_DIGITS), followed, printed, proved]
    return _sweep(MNIST, [{"name": "none", **_SHARED}, *_on_digits(_DIGITS), *further], seeds)


def _on_digits(settings: Method) -> list[Method]:
    """Return DPSGD, DPSGD-F, and Opt-Q and FairDP with noise at the C that is set."""
    dp_sgd, opt_q, dpsgd_f = rivals(**settings)
    printed, _ = fairdp("class", **settings)
    at_c = [{**opt_q, "bound_of_noise": _SET}, {**printed, "bound_of_noise": _SET, "lipschitz": L_SHIPPED}]
    return [dp_sgd, dpsgd_f, *at_c]


def digits_of_dpsgd(seeds: int) -> PaperSweep:
    """Return the sweep of Figure 1(a): of the tables' runs those of SGD and DPSGD."""
    return _sweep(MNIST, [{"name": "none", **_SHARED}, private("dp_sgd", **_DIGITS)], seeds)


def digits_at(noises: list[float], seeds: int) -> PaperSweep:
    """Return the sweep of Figure 1(b): DPSGD on unbalanced MNIST at each noise multiplier."""
    methods = [private("dp_sgd", **{**_DIGITS, "noise_primal": noise}) for noise in noises]
    return _sweep(MNIST, methods, seeds)


def digits_varied(parameter: str, values: list[float], seeds: int, *, whole: bool) -> PaperSweep:
    """Return the sweep of Figures 4 to 6 on unbalanced MNIST: DPSGD, FairDP and, if it is the `whole`, the rivals."""
    methods: list[Method] = []
    for value in values:
        settings = {**_DIGITS, parameter: value}
        dp_sgd, dpsgd_f, opt_q, at_c = _on_digits(settings)
        _, proved = fairdp("class", **{**settings, **({} if parameter == "learning_rate" else _SLOW)})
        methods += [dp_sgd, at_c, proved, *([opt_q, dpsgd_f] if whole else [])]
    return _sweep(MNIST, methods, seeds)


def attacked(seeds: int) -> PaperSweep:
    """Return the sweep of Figure 3 on Adult: some of the tables' runs."""
    return _sweep(ADULT, [{"name": "none", **_TABLE}, *rivals(), *fairdp("class"), with_noise_at_c()[1]], seeds)


def varied(data: Mapping[str, object], parameter: str, values: list[float], seeds: int) -> PaperSweep:
    """Return the sweep of Figures 4 to 6 on a table: every private method at each value of one hyper-parameter."""
    own = {"learning_rate": _DUTCH_RATE} if data is DUTCH else {}
    settings: list[Method] = [{**own, parameter: value} for value in values]
    methods = [
        method
        for setting in settings
        for method in (*rivals(**setting), *fairdp("class", **setting), with_noise_at_c(**setting)[1])
    ]
    return _sweep(data, methods, seeds)


def _sweep(data: Mapping[str, object], methods: list[Method], seeds: int) -> PaperSweep:
    split = "stratified" if data is DUTCH else "official"
    axes: SweepAxes = {"method": methods, "seed": list(range(seeds))}
    return {"data": data, "notion": "accuracy_parity", "split": split, "axes": axes, "sweep": {"max_runs": 5000}}
