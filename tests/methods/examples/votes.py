"""Examples of methods whose teachers vote."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.fair_pate import FairPate
from fairpriv_core.methods.sf_pate import SfPate

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "sf_pate": (
        SfPate(teachers=12, queries=20, epochs=2, noise_votes=2.0),
        SfPate(vote="labels", teachers=8, queries=15, epochs=2, hidden_layers=1, width=4, noise_votes=1.0),
    ),
    "fair_pate": (
        FairPate(teachers=12, queries=20, epochs=2, noise_votes=2.0),
        FairPate(
            teachers=40,
            public_share=0.4,
            queries=80,
            epochs=2,
            hidden_layers=1,
            width=4,
            answers_gap=0.0,
            noise_votes=1.0,
        ),
    ),
}
