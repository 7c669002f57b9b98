"""Examples of the reductions, randomised response, Jagielski's methods and Zafar's."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.jagielski_in import JagielskiIn
from fairpriv_core.methods.jagielski_post import JagielskiPost
from fairpriv_core.methods.randomized_response import ResponseReductions
from fairpriv_core.methods.reductions import Reductions
from fairpriv_core.methods.zafar import Zafar

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "reductions": (Reductions(iterations=4, gap_target=None), Reductions(iterations=4, gap_target=0.02)),
    "zafar": (Zafar(iterations=6, gap_target=None), Zafar(iterations=6, gap_target=0.02)),
    "randomized_response": (
        ResponseReductions(iterations=4, response_epsilon=4.0),
        ResponseReductions(procedure="two_step", iterations=4, response_epsilon=4.0),
    ),
    "jagielski_post": (
        JagielskiPost(epochs=2, batch_size=25, noise_counts=0.5),
        JagielskiPost(epochs=2, batch_size=25, hidden_layers=1, width=4, noise_counts=0.5),
    ),
    "jagielski_in": (
        JagielskiIn(rounds=4, noise_primal=2.0, noise_dual=1.0, noise_counts=0.5, gap_target=None),
        JagielskiIn(rounds=4, noise_primal=2.0, noise_dual=1.0, noise_counts=0.5, gap_target=0.02),
    ),
}
