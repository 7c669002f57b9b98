"""FairDP with adaptive clipping (2021): its Tables 1 and 2 and Figures 1 and 3 to 6; Figure 2 is a flowchart.

The text that was read has no appendix: epochs, batch size, learning rate, seeds, the inequality indices' formulas and
what each panel of a figure shows are not in it.
"""

from __future__ import annotations

from fairpriv_core.papers import fairdp_adaptive_runs as runs
from fairpriv_core.papers.fairdp_adaptive_attacks import FIGURE_3
from fairpriv_core.papers.fairdp_adaptive_images import FIGURE_1A, FIGURE_1B, TABLE_1, TABLE_2
from fairpriv_core.papers.fairdp_adaptive_parts import DPSGD, DPSGD_F, FAIRDP, FAIRDP_PROVED, OPT_Q
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
_OURS = (
    "This is the paper's question asked on Adult, not its figure: the text says neither which data the panels show "
    "(those of Dutch are in an appendix that it lacks), nor which values were tried, and draws training curves, which "
    "runs of a sweep do not keep. Here stand accuracy and the difference between men's and women's at the end of "
    "training. Other settings as in Table 1."
)


def _varies_less(fairdp: Part) -> Compare:
    one, other = (Quantity(part.name, ACCURACY, part.where, "spread") for part in (fairdp, DPSGD))
    return Compare(one, other, high=0.0)


_INSENSITIVE = Claim(
    "FairDP is insensitive to variations in the hyper-parameters",
    "Section 4.3",
    _varies_less(FAIRDP),
    reading="over values and seeds together its accuracy varies less than DPSGD's",
    ours=_varies_less(FAIRDP_PROVED),
)


def _effect(number: int, x: Value, values: tuple[list[float], list[float]], what: str) -> Preset:
    """Return Figure 4, 5 or 6: the hyper-parameter on the horizontal axis, its values at full size and small."""
    parameter = x.path.rpartition("/")[2]
    full, small = values
    return Preset(
        id=f"fairdp_adaptive.figure{number}",
        title=f"Figure {number}: the effect of {what} (on Adult, ours)",
        shows=f"How sensitive the private methods are to {what}.",
        settings=_OURS,
        full=Version((runs.varied(parameter, full, 10),), "10 seeds, more values"),
        small=Version((runs.varied(parameter, small, 3),), f"3 seeds, {len(small)} values in place of {len(full)}"),
        drawing=Plot("line", x, (ACCURACY, GAP), _SERIES),
        not_printed="The paper prints no numbers for this figure: what is compared is what its text says of it.",
        claims=(_INSENSITIVE,),
        privacy="ε follows from σ, sampling rate and steps: it is the same at every learning rate, and differs with "
        "batch size and noise. That of the lines “as published” does not hold: clipping bounds "
        "are chosen from raw gradients, as the paper's footnote 1 says.",
    )


FIGURE_4 = _effect(
    4,
    Value("config/method/learning_rate", "Learning rate", log=True),
    ([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2], [0.001, 0.005, 0.02, 0.1]),
    "the learning rate",
)
FIGURE_5 = _effect(
    5,
    Value("config/method/batch_size", "Batch size", log=True),
    ([64, 128, 256, 512, 1024], [128, 256, 1024]),
    "the batch size",
)
FIGURE_6 = _effect(
    6,
    Value("config/method/noise_primal", "Noise multiplier σ", log=True),
    ([0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0], [0.5, 1.0, 2.0, 4.0]),
    "noise",
)

PAPER = Paper(
    id="fairdp_adaptive",
    name="FairDP (adaptive clipping)",
    title="FairDP: Fair differential privacy can mitigate the disparate impact on model accuracy",
    citation="Anonymous authors, under review at ICLR 2021",
    presets=(FIGURE_1A, FIGURE_1B, *TABLES, TABLE_1, TABLE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6),
)
