"""Examples of FairDP-C and smoothing."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.smoothing import DpsgdSmooth, FairSmooth

_NOISE = {"noise_primal": 1.5}
EXAMPLES: dict[str, tuple[Method, ...]] = {
    "fairsmooth": (FairSmooth(epochs=3, batch_size=25, smoothing_samples=5),),
    "dpsgd_smooth": (DpsgdSmooth(epochs=3, batch_size=25, noise_primal=1.3, clip_primal=0.3, smoothing_samples=5),),
    "fairdp_certified": (
        FairDpCertified(epochs=3, batch_size=50, ensemble=4, hidden_layers=0, noise_counts=1.0, **_NOISE),
        FairDpCertified(epochs=2, batch_size=50, ensemble=3, width=4, weight_bound=0.3, noise_counts=1.0, **_NOISE),
        FairDpCertified(
            variant="published", epochs=2, batch_size=50, ensemble=3, width=4, noise_certificate=2.0, **_NOISE
        ),
        FairDpCertified(
            epochs=2,
            batch_size=50,
            ensemble=3,
            width=4,
            optimizer="adam",
            schedule="halved",
            learning_rate=0.01,
            noise_counts=1.0,
            **_NOISE,
        ),
        FairDpCertified(
            epochs=4,
            batch_size=50,
            ensemble=3,
            hidden_layers=0,
            noise_counts=1.0,
            certificate_target=0.95,  # none of these data reaches it
            looks=3,
            noise_looks=0.5,
            **_NOISE,
        ),
    ),
}
