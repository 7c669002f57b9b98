"""FairDP with adaptive clipping (2021): its Tables 1 and 2 and Figures 1 and 3 to 6; Figure 2 is a flowchart.

The text that was read has no appendix: epochs, batch size, learning rate, seeds, the inequality indices' formulas and
what each panel of a figure shows are not in it.
"""

from __future__ import annotations

from fairpriv_core.papers import fairdp_adaptive_parts
from fairpriv_core.papers.fairdp_adaptive_images import FIGURE_1A, FIGURE_1B, TABLE_1, TABLE_2
from fairpriv_core.papers.fairdp_adaptive_parts import (
    DPSGD,
    DPSGD_F,
    FAIRDP,
    FAIRDP_PROVED,
    FAIRDP_SET,
    OPT_Q,
    OPT_Q_SET,
    SGD,
)
from fairpriv_core.papers.fairdp_adaptive_tables import TABLES
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    Claim,
    Compare,
    Mark,
    Paper,
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


def _claim(fairdp: Part, value: Value, by: str) -> Claim:
    return Claim(
        "FairDP maintains a similar level of privacy protection as DPSGD",
        "Section 4.2",
        _similar(fairdp, value),
        ATTACKERS,
        f"by {by}, at most {BY_CHANCE} points above",
        _similar(FAIRDP_PROVED, value),
    )


def _attacks(name: str, data: str, sees: str, versions: tuple[Version, Version], read: tuple[Part, Part]) -> Preset:
    """Return the figure on `data`; `read` are the lines of FairDP and of Opt-Q, as published."""
    (full, small), (fairdp, opt_q) = versions, read
    return Preset(
        id=f"fairdp_adaptive.{name}",
        title=f"Figure 3: membership attacks (on {data}, ours)",
        shows="AUC and advantage, max |TPR − FPR|, of four attackers who tell members from others by a model's "
        "answers: logistic regression (LR), a network (MLP), a random forest (RF), nearest neighbours (KNN). Lower is "
        "more private.",
        settings="The text says neither which data the panels show nor what the attackers learn from. Here it is "
        f"{data}, with the settings of Table 1. {sees}; it learns from 2,000 training and 2,000 test rows and is "
        "judged on as many others, the same for all methods at a seed. Similar is taken as at most 1.5 points more "
        "than DPSGD: guessing alone is that far above its average in one of 20 such attacks.",
        full=full,
        small=small,
        drawing=Plot("bar", EPSILON, (AUC, ADVANTAGE), (SGD, DPSGD, fairdp, FAIRDP_PROVED, opt_q, DPSGD_F), ATTACKERS),
        not_printed="The paper prints no numbers for this figure: what is compared is what its text says of it.",
        claims=(_claim(fairdp, AUC, "AUC"), _claim(fairdp, ADVANTAGE, "advantage")),
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
    (
        Version((fairdp_adaptive_parts.attacked(10),), "10 seeds"),
        Version((fairdp_adaptive_parts.attacked(3),), "3 seeds in place of 10"),
    ),
    (FAIRDP, OPT_Q),
)
FIGURE_3_DIGITS = _attacks(
    "figure3_mnist",
    "unbalanced MNIST",
    "Each attacker sees a model's ten probabilities, their logits, the label and the loss, of test rows with as small "
    "a share of eights as training has",
    (
        Version((fairdp_adaptive_parts.digits(10),), "10 seeds"),
        Version((fairdp_adaptive_parts.digits(3),), "3 seeds in place of 10"),
    ),
    (FAIRDP_SET, OPT_Q_SET),
)


_SERIES = (FAIRDP, FAIRDP_PROVED, DPSGD, OPT_Q, DPSGD_F)
_DIGITS_SERIES = (FAIRDP_SET, FAIRDP_PROVED, DPSGD, OPT_Q_SET, DPSGD_F)
_OURS = (
    "This is the paper's question asked on {data}, not its figure: the text says neither which data the panels show "
    "(those of Dutch are in an appendix that it lacks), nor which values were tried, and draws training curves, which "
    "runs of a sweep do not keep. Here are accuracy and the difference between {gap} at the end of training. Other "
    "settings as in Table 1."
)
_NOT_PRINTED = "The paper prints no numbers for this figure: what is compared is what its text says of it."
_PRIVACY = (
    "ε follows from σ, sampling rate and steps: it is the same at every learning rate, and differs with batch size and "
    "noise. An ε by the paper's accounting does not hold: clipping bounds are chosen from raw gradients, as the "
    "paper's footnote 1 says."
)


def _varies_less(fairdp: Part) -> Compare:
    one, other = (Quantity(part.name, ACCURACY, part.where, "spread") for part in (fairdp, DPSGD))
    return Compare(one, other, high=0.0)


def _insensitive(fairdp: Part) -> Claim:
    return Claim(
        "FairDP is insensitive to variations in the hyper-parameters",
        "Section 4.3",
        _varies_less(fairdp),
        reading="over the values its accuracy varies less than DPSGD's",
        ours=_varies_less(FAIRDP_PROVED),
    )


def _effect(number: int, x: Value, values: tuple[list[float], list[float]], what: str) -> Preset:
    """Return Figure 4, 5 or 6 on Adult, over a hyper-parameter with its values at full size and small."""
    parameter = x.path.rpartition("/")[2]
    full, small = values
    return Preset(
        id=f"fairdp_adaptive.figure{number}",
        title=f"Figure {number}: the effect of {what} (on Adult, ours)",
        shows=f"How sensitive the private methods are to {what}.",
        settings=_OURS.format(data="Adult", gap="men's and women's"),
        full=Version((fairdp_adaptive_parts.varied(parameter, full, 10),), "10 seeds, more values"),
        small=Version(
            (fairdp_adaptive_parts.varied(parameter, small, 3),),
            f"3 seeds, {len(small)} values in place of {len(full)}",
        ),
        drawing=Plot("line", x, (ACCURACY, GAP), _SERIES),
        not_printed=_NOT_PRINTED,
        claims=(_insensitive(FAIRDP),),
        privacy=_PRIVACY,
    )


def _effect_on_digits(number: int, x: Value, values: tuple[list[float], list[float]], what: str) -> Preset:
    """Return Figure 4, 5 or 6 on unbalanced MNIST, as `_effect`."""
    parameter = x.path.rpartition("/")[2]
    full, small = values
    return Preset(
        id=f"fairdp_adaptive.figure{number}_mnist",
        title=f"Figure {number}: the effect of {what} (on unbalanced MNIST, ours)",
        shows=f"How sensitive the private methods are to {what}.",
        settings=_OURS.format(data="unbalanced MNIST", gap="the best and the worst digit's"),
        full=Version(
            (fairdp_adaptive_parts.digits_varied(parameter, full, 10, whole=True),),
            "10 seeds, more values, every method",
        ),
        small=Version(
            (fairdp_adaptive_parts.digits_varied(parameter, small, 3, whole=False),),
            f"3 seeds, {len(small)} values in place of {len(full)}, without Opt-Q and DPSGD-F",
        ),
        drawing=Plot("line", x, (ACCURACY, GAP), _DIGITS_SERIES),
        not_printed=_NOT_PRINTED,
        claims=(_insensitive(FAIRDP_SET),),
        privacy=_PRIVACY,
    )


_RATE = Value("config/method/learning_rate", "Learning rate", log=True)
_BATCH = Value("config/method/batch_size", "Batch size", log=True)
_NOISE = Value("config/method/noise_primal", "Noise multiplier σ", log=True)
EFFECTS = (
    _effect(
        4, _RATE, ([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2], [0.001, 0.005, 0.02, 0.1]), "the learning rate"
    ),
    _effect(5, _BATCH, ([64, 128, 256, 512, 1024], [128, 256, 1024]), "the batch size"),
    _effect(6, _NOISE, ([0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0], [0.5, 1.0, 2.0, 4.0]), "noise"),
    _effect_on_digits(4, _RATE, ([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [0.02, 0.1, 0.5]), "the learning rate"),
    _effect_on_digits(5, _BATCH, ([64, 128, 256, 512], [128, 256, 512]), "the batch size"),
    _effect_on_digits(6, _NOISE, ([0.5, 1.0, 2.0, 4.0], [0.5, 1.0, 2.0]), "noise"),
)

PAPER = Paper(
    id="fairdp_adaptive",
    name="FairDP (adaptive clipping)",
    title="FairDP: Fair differential privacy can mitigate the disparate impact on model accuracy",
    citation="Anonymous authors, under review at ICLR 2021",
    presets=(FIGURE_1A, FIGURE_1B, *TABLES, TABLE_1, TABLE_2, FIGURE_3, FIGURE_3_DIGITS, *EFFECTS),
    main_claim=("fairdp_adaptive.table1_mnist", 6),
)
