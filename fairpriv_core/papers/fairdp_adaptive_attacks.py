"""FairDP's (adaptive clipping) Figure 3: four attackers tell who was trained on, by the answers of finished models."""

from __future__ import annotations

from fairpriv_core.papers import fairdp_adaptive_runs as runs
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
from fairpriv_core.papers.preset import EPSILON, Claim, Compare, Mark, Part, Plot, Preset, Quantity, Value, Version

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
    (Version((runs.attacked(10),), "10 seeds"), Version((runs.attacked(3),), "3 seeds in place of 10")),
    (FAIRDP, OPT_Q),
)
FIGURE_3_DIGITS = _attacks(
    "figure3_mnist",
    "unbalanced MNIST",
    "Each attacker sees a model's ten probabilities, their logits, the label and the loss, of test rows with as small "
    "a share of eights as training has",
    (Version((runs.digits(10),), "10 seeds"), Version((runs.digits(3),), "3 seeds in place of 10")),
    (FAIRDP_SET, OPT_Q_SET),
)
