"""Examples of plain training, F-LD, DP-SGD and PF-LD."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.pf_ld import PfLd

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "none": (Plain(epochs=3, batch_size=25), Plain(epochs=3, batch_size=25, hidden_layers=2, width=4)),
    "f_ld": (FLd(epochs=3, batch_size=25, gap_target=None), FLd(epochs=3, batch_size=25, gap_target=0.01)),
    "dp_sgd": (DpSgd(epochs=3, batch_size=25, noise_primal=1.3, clip_primal=0.3),),
    "pf_ld": (
        PfLd(
            epochs=4,
            batch_size=25,
            sampling_rate=0.2,
            noise_primal=2.0,
            noise_dual=3.0,
            noise_counts=2.0,
            gap_target=None,
        ),
        PfLd(
            epochs=4,
            batch_size=25,
            sampling_rate=0.2,
            hidden_layers=2,
            width=5,
            optimizer="sgd",
            learning_rate=0.1,
            clip_primal=None,
            noise_primal=2.0,
            noise_dual=3.0,
            noise_counts=2.0,
            gap_target=None,
        ),
        PfLd(variant="published", epochs=4, batch_size=50, noise_primal=2.0, noise_dual=3.0, gap_target=None),
        PfLd(
            epochs=4,
            batch_size=25,
            sampling_rate=0.2,
            gap_target=0.01,
            noise_primal=2.0,
            noise_dual=3.0,
            noise_counts=2.0,
        ),
        PfLd(
            variant="published",
            surrogate="logit",
            warmup_epochs=2,
            epochs=4,
            batch_size=50,
            clip_primal=10.0,
            clip_dual=5.0,
            noise_primal=2.0,
            noise_dual=3.0,
            gap_target=None,
        ),
        PfLd(
            surrogate="logit",
            warmup_epochs=2,
            epochs=5,
            batch_size=25,
            sampling_rate=0.2,
            clip_primal=None,
            clip_dual=5.0,
            noise_primal=2.0,
            noise_dual=3.0,
            noise_counts=2.0,
            gap_target=None,
        ),
    ),
}
