"""What a budget costs before there is any data: noise multipliers, the event, and both epsilons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairpriv_core import checks
from fairpriv_core.data.roles import MOST_GROUPS
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.epsilon import EpsilonFacts
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import name_accounting
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import EventJson
from fairpriv_core.privacy.explain import warn_of_delta
from fairpriv_core.records.config import DEFAULT_DELTA, read_delta, read_epsilon
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.records.record import name_author, published_epsilon, state_epsilon


@dataclass(frozen=True)
class Account:
    """What a method would release on so many training rows, and both epsilons of it; fields as in `RunRecord`."""

    method: str
    threat_model: str | None
    variant: str | None
    dataset_size: int
    groups: int
    delta: float
    epsilon: float | None
    epsilon_reason: str | None
    epsilon_if_secret: float | None
    epsilon_published: float | None
    author: str | None
    noise_multipliers: dict[str, float | None]
    steps: int
    event: list[EventJson]
    warnings: list[str]
    assumptions: list[str]
    calibrated: dict[str, Any]

    @property
    def stated(self) -> EpsilonFacts:
        """Its ε with all that belongs beside it."""
        return EpsilonFacts(
            threat_model=self.threat_model,
            variant=self.variant,
            asked=None,
            proved=self.epsilon,
            claimed=self.epsilon_published,
            reason=self.epsilon_reason,
            if_secret=self.epsilon_if_secret,
            delta=self.delta,
            author=self.author,
        )


def account(raw_method: Mapping[str, Any], *, dataset_size: int, groups: int, epsilon: Any, delta: Any) -> Account:
    """Return what `raw_method` would release on `dataset_size` training rows, calibrated to `epsilon`.

    Raises BadInput for an unknown method or parameter, and for a size, group count, epsilon or delta out of range.
    """
    checks.whole(low=1, dataset_size=dataset_size)
    method = read_method(raw_method)
    _check_groups(method, groups)
    budget, checked_delta = read_epsilon(epsilon, method), read_delta(DEFAULT_DELTA if delta is None else delta)
    if budget is not None:
        method = method.calibrated(epsilon=budget, delta=checked_delta, n_train=dataset_size)
    events = method.event(dataset_size)
    settings, large = method_to_json(method), warn_of_delta(checked_delta, dataset_size)
    return Account(
        method=method.info.name,
        threat_model=method.info.threat_model,
        variant=name_accounting(method),
        dataset_size=dataset_size,
        groups=groups,
        delta=checked_delta,
        **asdict(state_epsilon(method, events, delta=checked_delta)),
        epsilon_published=published_epsilon(method, dataset_size, checked_delta),
        author=name_author(method),
        noise_multipliers={name: value for name, value in settings.items() if name.startswith("noise_")},
        steps=method.steps(dataset_size),
        event=events_of.to_json(events),
        warnings=[large] if method.info.threat_model is not None and large is not None else [],
        assumptions=list(method.assumptions()),
        calibrated=settings,
    )


def _check_groups(method: Method, groups: int) -> None:
    checks.whole(low=2, high=MOST_GROUPS, groups=groups)
    limit = method.info.max_groups
    if limit is not None and groups > limit:
        raise BadInput(f"groups must be at most {limit} for method '{method.info.name}', got {groups}.", field="groups")
