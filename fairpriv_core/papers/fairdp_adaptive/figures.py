"""FairDP with adaptive clipping (2021): its Tables 1 and 2 and Figures 1 and 3 to 6; Figure 2 is a flowchart.

The text that was read has no appendix: epochs, batch size, learning rate, seeds, the inequality indices' formulas and
what each panel of a figure shows are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fairpriv_core.papers.fairdp_adaptive.images import FIGURE_1A, FIGURE_1B, TABLE_1, TABLE_2
from fairpriv_core.papers.fairdp_adaptive.readings import (
    ADULT,
    DPSGD,
    DPSGD_F,
    DUTCH,
    FAIRDP,
    FAIRDP_PROVED,
    FAIRDP_SET,
    OPT_Q,
    OPT_Q_SET,
    READINGS,
    SGD,
    Reading,
    attacked,
    digits,
    digits_varied,
    in_each,
    varied,
)
from fairpriv_core.papers.fairdp_adaptive.tables import TABLES
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    Compare,
    Mark,
    Paper,
    PaperClaim,
    PaperSweep,
    Part,
    Plot,
    Preset,
    Quantity,
    Value,
    Version,
)

ATTACKERS = tuple(Part(name, step=name) for name in ("LR", "MLP", "RF", "KNN"))
AUC = Value("membership/*/auc", "Attack AUC", "%", 100.0, mark=Mark("membership/chance/auc", "guessing"))
ADVANTAGE = Value(
    "membership/*/advantage",
    "Attack advantage",
    "percentage points",
    100.0,
    mark=Mark("membership/chance/advantage", "guessing, on average"),
)
#: by how much guessing alone is above its average, in points, in one of 20 attacks on 2,000 records of each kind
BY_CHANCE = 1.5


def _similar(part: Part, value: Value) -> Compare:
    return Compare(Quantity(part.name, value, part.where), Quantity(DPSGD.name, value, DPSGD.where), high=BY_CHANCE)


def _claims(value: Value, by: str) -> tuple[PaperClaim, ...]:
    return in_each(
        "FairDP maintains a similar level of privacy protection as DPSGD",
        "Section 4.2",
        lambda each: _similar(each.fairdp, value),
        f"by {by}, at most {BY_CHANCE} points above",
        lambda: _similar(FAIRDP_PROVED, value),
        cases=ATTACKERS,
    )


def _attacks(name: str, data: str, sees: str, *, versions: tuple[Version, Version], opt_q: Part) -> Preset:
    """Return the figure on `data`, with the line of Opt-Q."""
    full, small = versions
    lines = (SGD, DPSGD, FAIRDP, FAIRDP_SET, FAIRDP_PROVED, opt_q, DPSGD_F)
    return Preset(
        id=f"fairdp_adaptive.{name}",
        title=f"Figure 3: membership attacks (on {data}, ours)",
        shows="AUC and advantage, max |TPR − FPR|, of four attackers who tell members from others by a model's "
        "answers: logistic regression (LR), a network (MLP), a random forest (RF), nearest neighbours (KNN). Lower is "
        "more private.",
        settings="The text says neither which data the panels show nor what the attackers learn from. Here it is "
        f"{data}, with the settings of Table 1. {sees}. It learns from 2,000 training and 2,000 test rows and is "
        "judged on as many others, the same for all methods at a seed. Similar is taken as at most 1.5 points more "
        "than DPSGD: guessing alone is that far above its average in one of 20 such attacks.",
        full=full,
        small=small,
        drawing=Plot("bar", EPSILON, (AUC, ADVANTAGE), lines, ATTACKERS),
        not_printed="The paper prints no numbers for this figure: what is compared is what its text says of it.",
        claims=(*_claims(AUC, "AUC"), *_claims(ADVANTAGE, "advantage")),
        privacy="The numbers of attacks are raw, computed on the very records that the models were trained on: for the "
        "analyst, no ε covers them. An attack that fails proves nothing: another one may succeed, and only ε bounds "
        "all of them. Where the attackers do no better on SGD, which has no noise, the figure cannot tell private from "
        "not private. An ε by the paper does not hold: FairDP and Opt-Q choose clipping bounds from raw "
        "gradients, as the paper's footnote 1 says, and DPSGD-F counts its sample twice but pays once.",
        measured="membership",
    )


FIGURE_3 = _attacks(
    "figure3",
    "Adult",
    "Each attacker sees a model's probability, its logit, the label and the loss",
    versions=(
        Version((attacked(10),), "10 seeds"),
        Version((attacked(3),), "3 seeds in place of 10"),
    ),
    opt_q=OPT_Q,
)
FIGURE_3_DIGITS = _attacks(
    "figure3_mnist",
    "unbalanced MNIST",
    "Each attacker sees a model's ten probabilities, their logits, the label and the loss. Test rows have as small a "
    "share of eights as training",
    versions=(
        Version((digits(10),), "10 seeds"),
        Version((digits(3),), "3 seeds in place of 10"),
    ),
    opt_q=OPT_Q_SET,
)


@dataclass(frozen=True)
class _Asked:
    """Where Figures 4 to 6 are asked, in so many readings: ids end in `suffix`.

    `full` and `small` return the runs of a hyper-parameter at values, with seeds; `epochs` are those at whose ends runs
    keep what they measure.
    """

    suffix: str
    data: str
    readings: Sequence[Reading]
    methods: tuple[Part, ...]
    epochs: tuple[int, ...]
    full: Callable[[str, list[float], int], PaperSweep]
    small: Callable[[str, list[float], int], PaperSweep]
    sizes: tuple[str, str] = ("", "")


_Values = tuple[list[float], list[float]]
_METHODS = (FAIRDP, FAIRDP_SET, FAIRDP_PROVED, DPSGD, OPT_Q, DPSGD_F)
_EPOCHS = tuple(range(2, 21, 2))
_ADULT, _DUTCH = (
    _Asked(suffix, name, READINGS, _METHODS, _EPOCHS, partial(varied, data), partial(varied, data))
    for suffix, name, data in (("", "Adult", ADULT), ("_dutch", "Dutch", DUTCH))
)
_MNIST = _Asked(
    "_mnist",
    "unbalanced MNIST",
    READINGS[1:],
    (FAIRDP_SET, FAIRDP_PROVED, DPSGD, OPT_Q_SET, DPSGD_F),
    (2, 4, 5, 7, 8, 10, 12, 13, 15, 16),
    partial(digits_varied, whole=True),
    partial(digits_varied, whole=False),
    (", every method", ", without Opt-Q and DPSGD-F"),
)
_OURS = (
    "This is the paper's question asked on data of ours, not its figure. The text does not say which data the panels "
    "show; those of Dutch are in an appendix that it lacks. Nor does it say which values were tried, or what the "
    "training curves are of. Here are accuracy on the test rows and the largest difference between two groups', at "
    "ten ends of epochs. "
    "Other settings as in Table 1. On MNIST these figures are tried in one reading, L = 1e-4 and noise at C: at L = 1 "
    "nothing is learnt with Table 1's settings."
)
_NOT_PRINTED = "The paper prints no numbers for this figure: what is compared is what its text says of it."
_PRIVACY = (
    "ε follows from σ, sampling rate and steps: it is the same at every learning rate, and differs with batch size and "
    "noise. An ε by the paper's accounting does not hold: clipping bounds are chosen from raw gradients, as the "
    "paper's footnote 1 says."
)
_EPOCH = Value("config/method/epochs", "Epoch")
_CURVES = (
    Value("training/accuracy/*", "Accuracy", "%", scale=100.0, mark=ACCURACY.mark),
    Value("training/gap/*", "Fairness violation", "percentage points", scale=100.0),
)


def _varies_less(fairdp: Part) -> Compare:
    one, other = (Quantity(part.name, ACCURACY, part.where, "spread") for part in (fairdp, DPSGD))
    return Compare(one, other, high=0.0)


def _effect(panel: _Asked, number: int, names: tuple[str, str, str], values: _Values, *, seeds: int = 3) -> Preset:
    """Return Figure 4, 5 or 6 over a hyper-parameter: `names` are its own, in words, and what its lines are called.

    `values` are those at full size and small, which has so many `seeds`.
    """
    (parameter, what, called), (full, small) = names, values
    tried = [
        Part(f"{called} {value:g}", {f"config/method/{parameter}": value}, variation=place)
        for place, value in enumerate(sorted({*full, *small}))
    ]
    return Preset(
        id=f"fairdp_adaptive.figure{number}{panel.suffix}",
        title=f"Figure {number}: the effect of {what} (on {panel.data}, ours)",
        shows=f"How sensitive training by the private methods is to {what}.",
        settings=_OURS,
        full=Version((panel.full(parameter, full, 10),), f"10 seeds, more values{panel.sizes[0]}"),
        small=Version(
            (panel.small(parameter, small, seeds),),
            f"{seeds} seeds, {len(small)} values in place of {len(full)}{panel.sizes[1]}",
        ),
        drawing=Plot("curve", _EPOCH, _CURVES, tuple(tried), panel.methods, steps=panel.epochs),
        not_printed=_NOT_PRINTED,
        claims=in_each(
            "FairDP is insensitive to variations in the hyper-parameters",
            "Section 4.3",
            lambda each: _varies_less(each.fairdp),
            "over the values its accuracy varies less than DPSGD's",
            lambda: _varies_less(FAIRDP_PROVED),
            readings=panel.readings,
            lost="the values that the paper tried, which our text lacks",
        ),
        privacy=_PRIVACY,
        measured="training",
    )


_RATE = ("learning_rate", "the learning rate", "rate")
_BATCH, _NOISE = ("batch_size", "the batch size", "batch"), ("noise_primal", "noise", "σ")
_BATCHES: _Values = ([64, 128, 256, 512, 1024], [128, 256, 1024])
_NOISES = ([0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0], [0.5, 1.0, 2.0, 4.0])
EFFECTS = (
    _effect(_ADULT, 4, _RATE, ([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2], [0.001, 0.005, 0.02, 0.1])),
    _effect(_ADULT, 5, _BATCH, _BATCHES),
    _effect(_ADULT, 6, _NOISE, _NOISES),
    _effect(_DUTCH, 4, _RATE, ([0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.5], [0.003, 0.01, 0.03, 0.1])),
    _effect(_DUTCH, 5, _BATCH, _BATCHES),
    _effect(_DUTCH, 6, _NOISE, _NOISES),
    _effect(_MNIST, 4, _RATE, ([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [0.02, 0.1, 0.5]), seeds=10),
    _effect(_MNIST, 5, _BATCH, ([64, 128, 256, 512], [128, 256, 512])),
    _effect(_MNIST, 6, _NOISE, ([0.5, 1.0, 2.0, 4.0], [0.5, 1.0, 2.0]), seeds=10),
)

PAPER = Paper(
    id="fairdp_adaptive",
    name="FairDP (adaptive clipping)",
    title="FairDP: Fair differential privacy can mitigate the disparate impact on model accuracy",
    citation="Anonymous authors, under review at ICLR 2021",
    presets=(FIGURE_1A, FIGURE_1B, *TABLES, TABLE_1, TABLE_2, FIGURE_3, FIGURE_3_DIGITS, *EFFECTS),
    main_claim=("fairdp_adaptive.table1_mnist", 11),
)
