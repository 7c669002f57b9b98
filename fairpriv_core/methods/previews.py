"""What the Train page shows before any training of the method: values at a public warm-up model, made by a worker.

Only features and labels are used, which are public under the threat model `attribute`; no group is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fairpriv_core.data.catalog import default_split
from fairpriv_core.data.dataset import load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.loop import open_kernel
from fairpriv_core.engine.networks import MLP, require_shape
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.methods.clipping_choice import Warmup, quantiles
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fields import SURROGATES, choose_surrogate
from fairpriv_core.methods.shared.lagrangian import constraint_norms, finite, outputs
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.surrogates import output
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

_EPOCHS = 3


def compute(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `Warmup` as JSON for {"data": fields of DataSpec, "notion", "hidden_layers", "width", "seed"}.

    "network" is an mlp and "surrogate" the probability where nothing is said of them.
    """
    spec = DataSpec(**request["data"])
    train, _ = split_dataset(load_dataset(spec), seed=request["seed"], split=default_split(spec.dataset))
    size, network = {name: request[name] for name in ("hidden_layers", "width")}, request.get("network", MLP)
    plain = FLd(epochs=_EPOCHS, **size, network=network, multiplier_max=0.0)  # no constraint: one logit, and its loss
    notion = notions()[request["notion"]]
    training = Training(notion, request["seed"], Mechanism(Randomness.fresh()), Unwatched())
    model = plain.fit(train, training)
    shape = require_shape(model.network)
    kernel, feed = open_kernel(shape, model.parameters.reshape(1, -1), "cpu"), Feed([train])
    target = choose_surrogate(request.get("surrogate", SURROGATES[0]), notion.target)
    norms = constraint_norms(0, target=target, kernel=kernel, feed=feed)
    values = np.abs(outputs(0, h=output, target=target, kernel=kernel, feed=feed))
    return asdict(Warmup(quantiles(norms), quantiles(finite(values)), shape.size, train.n, train.groups))
