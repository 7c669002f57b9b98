"""How an audited method is trained: with its own noise multipliers, on a schedule that shows leaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, cast

from fairpriv_core.audit.attack import Train
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.presets import MLP
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.methods.base import FitsAlone, Method
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import coarse_epsilon, epsilon
from fairpriv_core.privacy.mechanism import Mechanism

_EPOCHS = (2, 3, 4, 6, 8, 12)
_TELLING = 8.0  # an epsilon that a thousand runs can come near to
_RATE = 0.4
_STEP_LENGTH = 1e-5
_ROUNDS = 2


def shorten(method: Method, rows: int, delta: float) -> Method:
    """Return the method with 40 % of the rows a step, steps so short that gradients stay, and as many epochs as tell.

    That is the most of 3, 4, 6, 8 or 12 whose epsilon stays at 8 or below; 2 where none does. A search for a mixture
    gets two rounds. The made-up rows are a table, so the network is an mlp, whatever the run's is.
    """
    steps = {"batch_size": round(_RATE * rows), "sampling_rate": _RATE, "learning_rate": _STEP_LENGTH}
    brief = with_fields(method, **steps, iterations=_ROUNDS, network=MLP)
    choices = [with_fields(brief, epochs=count) for count in _EPOCHS]
    telling = [choice for choice in choices[1:] if 0 < coarse_epsilon(choice.event(rows), delta) <= _TELLING]
    return telling[-1] if telling else choices[0]


def with_fields(method: Method, **values: Any) -> Method:
    """Return a copy with those of `values` that the method has a field for; what is empty stays empty."""
    known = {item.name for item in fields(method)}
    wanted = {name: value for name, value in values.items() if name in known and getattr(method, name) is not None}
    return cast(Method, replace(cast(Any, method), **wanted))


def make_trainer(method: Method, *, notion: str, seed: int) -> Train:
    """Return a function that trains `method` once for each data set and mechanism."""

    def fit(data: Sequence[Dataset], mechanisms: Sequence[Mechanism]) -> list[Fitted]:
        trainings = [Training(notions()[notion], seed, mechanism, Unwatched()) for mechanism in mechanisms]
        return method.fit_many([method] * len(data), data, trainings)

    return Train(fit, alone=isinstance(method, FitsAlone))


def proved(method: Method, rows: int, delta: float) -> float | None:
    """Return the epsilon that is proved of the method's event on `rows` rows; None where none is."""
    private = method.info.threat_model is not None and method.unproved_reason() is None
    return epsilon(method.event(rows), delta) if private else None
