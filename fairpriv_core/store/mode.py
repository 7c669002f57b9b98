"""How the dashboard is served: for who works with it, to be looked at alone, or for strangers who try it.

A demonstration (`FAIRPRIV_DEMO=1`) only shows what is stored. On trial (`FAIRPRIV_TRY=1`) strangers train small runs on
public data, each sees their own, and nothing can be uploaded.
"""

from __future__ import annotations

import os

from fairpriv_core.engine.networks import MLP
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.fields import network_of
from fairpriv_core.records.config import RunConfig

#: the benchmarks that can be chosen where not all data are: both are there without a network
DATA = ("synthetic", "adult")
#: who owns the runs that everybody sees on trial
EVERYBODY = "everybody"
#: how many runs train at a time on trial, and what each may ask for at most
TRIAL_SLOTS = 2
_MOST = {"epochs": 30, "hidden_layers": 1, "width": 64}
_MOST_STEPS = 20_000
_ROWS = 50_000  # about: no benchmark of DATA has more


def is_demo() -> bool:
    """Return whether this is a demonstration."""
    return _is_set("FAIRPRIV_DEMO")


def is_trial() -> bool:
    """Return whether strangers try it; a demonstration is none."""
    return _is_set("FAIRPRIV_TRY") and not is_demo()


def is_open() -> bool:
    """Return whether everything is offered: all data, uploads and pages."""
    return not (is_demo() or is_trial())


def check_trial(config: RunConfig) -> None:
    """Raise BadInput for a run that takes more than one may on trial; elsewhere for none."""
    if not is_trial():
        return
    document = config.to_json()
    method = document["method"]
    if document["data"]["file"] is not None or document["data"]["dataset"] not in DATA:
        raise BadInput(f"only {' and '.join(DATA)} can be tried here.", field="data")
    for name, limit in _MOST.items():
        if method.get(name, 0) > limit:
            raise BadInput(
                f"at most {limit} can be tried here, got {method[name]:,}; install fairpriv for more.", field=name
            )
    if (network := network_of(config.method)) != MLP:
        raise BadInput(f"only the network {MLP} can be tried here, got '{network}'.", field="network")
    steps = config.method.steps(_ROWS)
    if steps > _MOST_STEPS:
        raise BadInput(
            f"at most about {_MOST_STEPS:,} steps can be tried here, and this takes {steps:,}; take a larger batch.",
            field="batch_size",
        )


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")
