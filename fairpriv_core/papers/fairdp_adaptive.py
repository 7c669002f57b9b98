"""FairDP with adaptive clipping (2021): its Tables 1 and 2 and Figures 1 and 3 to 6; Figure 2 is a flowchart.

The text that was read has no appendix: epochs, batch size, learning rate, seeds, the inequality indices' formulas and
what each panel of a figure shows are not in it.
"""

from __future__ import annotations

from fairpriv_core.papers import fairdp_adaptive_runs as runs
from fairpriv_core.papers.fairdp_adaptive_attacks import FIGURE_3, FIGURE_3_DIGITS
from fairpriv_core.papers.fairdp_adaptive_images import FIGURE_1A, FIGURE_1B, TABLE_1, TABLE_2
from fairpriv_core.papers.fairdp_adaptive_parts import (
    DPSGD,
    DPSGD_F,
    FAIRDP,
    FAIRDP_PROVED,
    FAIRDP_SET,
    OPT_Q,
    OPT_Q_SET,
)
from fairpriv_core.papers.fairdp_adaptive_tables import TABLES
from fairpriv_core.papers.preset import (
    ACCURACY,
    GAP,
    Claim,
    Compare,
    Paper,
    Part,
    Plot,
    Preset,
    Quantity,
    Value,
    Version,
)

_SERIES = (FAIRDP, FAIRDP_PROVED, DPSGD, OPT_Q, DPSGD_F)
_DIGITS_SERIES = (FAIRDP_SET, FAIRDP_PROVED, DPSGD, OPT_Q_SET, DPSGD_F)
_OURS = (
    "This is the paper's question asked on {data}, not its figure: the text says neither which data the panels show "
    "(those of Dutch are in an appendix that it lacks), nor which values were tried, and draws training curves, which "
    "runs of a sweep do not keep. Here stand accuracy and the difference between {gap} at the end of training. Other "
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
        reading="over values and seeds together its accuracy varies less than DPSGD's",
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
        full=Version((runs.varied(parameter, full, 10),), "10 seeds, more values"),
        small=Version((runs.varied(parameter, small, 3),), f"3 seeds, {len(small)} values in place of {len(full)}"),
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
        full=Version((runs.digits_varied(parameter, full, 10, whole=True),), "10 seeds, more values, every method"),
        small=Version(
            (runs.digits_varied(parameter, small, 3, whole=False),),
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
)
