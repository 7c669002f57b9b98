"""Examples of fair methods for whole records."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp2dp import Dp2dp
from fairpriv_core.methods.functional_mechanism import Adfc, Pflr
from fairpriv_core.methods.group_thresholds import GroupThresholdsRecord
from fairpriv_core.methods.one_release_record import OneReleaseRecord
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp

_NOISE = {"noise_primal": 1.5, "noise_dual": 3.0, "noise_counts": 1.5}
_NOISE_OF_FLIPS = {"noise_counts": 1.5, "noise_flips": 1.0}

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "pf_ld_record": (
        PfLdRecord(epochs=4, sampling_rate=0.2, **_NOISE, gap_target=None),
        PfLdRecord(epochs=3, sampling_rate=0.1, hidden_layers=2, width=5, optimizer="sgd", **_NOISE, gap_target=None),
        PfLdRecord(epochs=4, sampling_rate=0.2, gap_target=0.01, **_NOISE),
    ),
    "one_release_record": (
        OneReleaseRecord(epochs=3, sampling_rate=0.2, noise_primal=1.5, **_NOISE_OF_FLIPS),
        OneReleaseRecord(
            epochs=2, sampling_rate=0.1, hidden_layers=1, width=4, gap_target=0.01, **_NOISE_OF_FLIPS, noise_primal=1.5
        ),
    ),
    "group_thresholds_record": (
        GroupThresholdsRecord(epochs=3, sampling_rate=0.2, noise_primal=1.5, noise_counts=1.0),
        GroupThresholdsRecord(
            epochs=2, sampling_rate=0.1, hidden_layers=2, width=5, gap_target=0.0, noise_primal=1.5, noise_counts=1.0
        ),
    ),
    "pflr": (
        Pflr(noise_counts=1.0, noise_coefficients=0.5),
        Pflr(multiplier=30.0, row_bound=1.0, group_share=0.4, noise_coefficients=1.0),
    ),
    "adfc": (
        Adfc(noise_counts=1.0, noise_covariances=2.0, noise_coefficients=1.0),
        Adfc(distribution="laplace", noise_counts=1.0, noise_covariances=0.5, noise_coefficients=0.5),
        Adfc(declared_shares=("x1=0.3",), multiplier=2.0, noise_counts=1.0, noise_coefficients=1.0),
    ),
    "dp2dp": (
        Dp2dp(epochs=3, sampling_rate=0.2, rounds=6, noise_primal=1.5, noise_counts=3.0),
        Dp2dp(
            epochs=2,
            sampling_rate=0.1,
            hidden_layers=1,
            width=4,
            gap_target=0.0,
            rounds=4,
            noise_primal=1.5,
            noise_counts=2.0,
        ),
    ),
    "raco_dp": (
        RacoDp(epochs=4, sampling_rate=0.2, gap_target=0.01, noise_primal=1.5),
        RacoDp(epochs=4, sampling_rate=0.2, constraint="false_negatives", false_negative_bound=0.1, noise_primal=1.5),
        RacoDp(epochs=3, sampling_rate=0.1, hidden_layers=2, width=5, optimizer="sgd", averaged=0.0, noise_primal=1.5),
    ),
}
