"""Examples of DP-FERMI, for the attribute and for whole records."""

from __future__ import annotations

from typing import Any

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord

_SHARED: dict[str, Any] = {"epochs": 3, "multiplier": 2.0, "noise_primal": 2.0}
_DEEP: dict[str, Any] = {"hidden_layers": 2, "width": 5, "optimizer": "sgd", "learning_rate": 0.1}

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "dp_fermi": (
        DpFermi(**_SHARED, batch_size=25, sampling_rate=0.2, noise_counts=2.0, gap_target=None),
        DpFermi(**_SHARED, **_DEEP, batch_size=25, noise_counts=2.0, share_dual=0.4, gap_target=None),
        DpFermi(**_SHARED, variant="published", batch_size=50, gap_target=None),
        DpFermi(**_SHARED, **_DEEP, variant="published", batch_size=50, gap_target=None),
        DpFermi(**_SHARED, batch_size=25, sampling_rate=0.2, noise_counts=2.0, noise_gap=1.0, gap_target=0.02),
    ),
    "dp_fermi_record": (
        DpFermiRecord(**_SHARED, batch_size=25, clip_primal=0.3, noise_counts=2.0, gap_target=None),
        DpFermiRecord(**_SHARED, **_DEEP, batch_size=40, clip_primal=0.3, noise_counts=2.0, gap_target=None),
        DpFermiRecord(**_SHARED, batch_size=25, noise_counts=2.0, noise_gap=1.0, gap_target=0.02),
    ),
}
