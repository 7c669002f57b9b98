"""What was paid before a run, and is a part of its epsilon: answers by randomised response, values of a paid schema.

Answers cost every run on them; a schema whose values are measured with noise costs those that protect records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from fairpriv_core.data.problem import DataJson
from fairpriv_core.data.table_schema import Payment, from_text
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Approximate, Events, Gaussian, RandomizedResponse
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.records.source import ConfigJson, find_answers

SUMS = 2  # noisy sums that are released: of ranges, scales and categories, then within the ranges
_SHARE_OF_DELTA = 0.01


def price_payment(payment: Payment) -> Events:
    """Return what a measurement that was made has released: its sums are the one Gaussian that they equal."""
    return (Gaussian(payment.noise / math.sqrt(SUMS)), Approximate(payment.delta))


def plan_payment(share: float, *, epsilon: float, delta: float) -> Payment:
    """Return the noise and delta of a measurement for `share` of the budget's mu squared; it has no release yet."""
    noise = math.sqrt(SUMS / share) / gaussian_mu(epsilon, delta)
    return Payment(noise=noise, delta=_SHARE_OF_DELTA * delta)


def find_payment(config: ConfigJson, threat_model: str | None) -> Payment | None:
    """Return how the schema in a config's JSON is or will be paid for, by a run that protects `threat_model`.

    None where it costs the run nothing: it is declared, comes from the rows, or the run does not protect records.
    BadInput where a share is asked of such a run, or of one without epsilon.
    """
    text = config["data"].get("schema")
    payment = None if text is None else _read_payment(text)
    if payment is None or payment.share is None:
        return payment if threat_model == "record" else None
    if threat_model != "record":
        raise BadInput(
            f"private_schema is for methods that protect whole records; '{config['method']['name']}' does not, so a "
            "schema from the rows costs it nothing.",
            field="private_schema",
        )
    if config["epsilon"] is None:
        raise BadInput("private_schema is a share of epsilon, and this run has none; set epsilon.", field="epsilon")
    return plan_payment(payment.share, epsilon=config["epsilon"], delta=config["delta"])


@lru_cache(maxsize=64)  # thousands of runs in a ledger share a schema
def _read_payment(text: str) -> Payment | None:
    return from_text(text).paid


def price_answers(data: DataJson) -> Mapping[str, Events]:
    """Return what the randomised answers in a config's data have cost, by what the ledger calls them; {} for none."""
    answers = find_answers(data)
    if answers is None:
        return {}
    return {f"answers of {answers.name}": tuple(RandomizedResponse(epsilon) for epsilon in answers.randomized)}


def price_schema(config: ConfigJson, threat_model: str | None) -> Events:
    """Return what the schema in a config's JSON costs a run that protects `threat_model`; errors as `find_payment`."""
    payment = find_payment(config, threat_model)
    answered = tuple(event for events in price_answers(config["data"]).values() for event in events)
    return (*answered, *(() if payment is None else price_payment(payment)))
