"""The embedded data set: made by the generator below, the same bytes on every machine, with a known group gap.

Each row draws a group (A 0.65, B 0.35), then a label with P(y = 1 | A) = 0.45 and P(y = 1 | B) = 0.25, so that the
base rates differ by 0.20, and then features that depend on both:

    skill, income_index   shift with the label               (what a good classifier uses)
    wealth, tenure        shift with the label and the group (why an unconstrained classifier treats groups unlike)
    district              shifts with the group alone        (a proxy of the sensitive attribute)
    noise_1, noise_2      shift with nothing
    region                north, centre, south; its shares differ between the groups
    contract              none, fixed, open; its shares differ between the labels

Noise is a sum of twelve uniform draws less six (mean 0, variance 1): only additions, so no machine rounds it otherwise.
"""

from __future__ import annotations

import numpy as np

from fairpriv_core.files.table import Cells, Codes, Numbers
from fairpriv_core.seeds import public_generator

ROWS = 8_000
SHARE_OF_B = 0.35
BASE_RATES = {"A": 0.45, "B": 0.25}
#: feature -> (shift for y = 1, shift for group B), in standard deviations of the noise
SHIFTS = {
    "skill": (1.0, 0.0),
    "income_index": (0.75, 0.0),
    "wealth": (0.75, -0.75),
    "tenure": (0.5, -0.5),
    "district": (0.0, 1.0),
    "noise_1": (0.0, 0.0),
    "noise_2": (0.0, 0.0),
}
REGIONS = ("north", "centre", "south")
CONTRACTS = ("none", "fixed", "open")


def generate() -> dict[str, Cells]:
    """Return the table: `group`, `label` ("no", "yes"), seven numeric features, `region` and `contract`."""
    draw = public_generator(0, "synthetic data").random
    group = (draw(ROWS) < SHARE_OF_B).astype(np.int64)
    label = (draw(ROWS) < np.where(group == 1, BASE_RATES["B"], BASE_RATES["A"])).astype(np.int64)
    table: dict[str, Cells] = {
        "group": Codes(group.astype(np.int32), tuple(BASE_RATES)),
        "label": Codes(label.astype(np.int32), ("no", "yes")),
    }
    for name, (with_label, with_group) in SHIFTS.items():
        noise = draw((12, ROWS)).sum(axis=0) - 6.0
        table[name] = Numbers((with_label * label + with_group * group + noise).astype(np.float32))
    region = np.searchsorted((0.5, 0.8), draw(ROWS) + 0.2 * group - 0.1, side="right")
    contract = np.searchsorted((0.3, 0.6), draw(ROWS) + 0.3 * label - 0.15, side="right")
    table["region"] = Codes(region.astype(np.int32), REGIONS)
    table["contract"] = Codes(contract.astype(np.int32), CONTRACTS)
    return table
