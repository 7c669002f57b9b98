"""The audit of a run as it is stored: what attacks found of its method's code, and of its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from fairpriv_core.privacy.event import EventJson

#: why no attack on a model names the groups of its rows
NOTHING_TO_GUESS = (
    "No group is guessed: the groups are the classes, and whoever knows a row's label knows its group; or they are "
    "randomised answers, and nobody holds the truth that a guess would be held against."
)


class Bound(TypedDict):
    """What attacks show at a delta, beside what is proved and what the paper claims of the same releases.

    `lower_bound_curve` is by the whole curve; it is left out where nothing is proved.
    """

    delta: float
    lower_bound: float
    epsilon: float | None
    epsilon_published: float | None
    lower_bound_curve: NotRequired[float]


class Distinguishing(TypedDict):
    """What many runs on two data sets showed; the first of `profile` is at the run's own delta, the smallest.

    `noise` is how much noise at most, over what is counted, fits the tests (None: any); left out with the curve.
    """

    runs: int
    confidence: float
    among: int
    tests: list[Mapping[str, Any]]
    profile: list[Bound]
    refuted: bool | None
    refuted_published: bool | None
    noise: NotRequired[float | None]


class OneRun(TypedDict):
    """What guesses of the coins of canaries in one run showed."""

    rows: int
    canaries: int
    guesses: int
    correct: int
    lower_bound: float
    epsilon: float | None
    confidence: float


class Reach(TypedDict):
    """What a single record adds to a release at most, as a share of its bound."""

    release: str
    largest: float
    measured: int


class MeasuredNoise(TypedDict):
    """The noise that was measured, as a share of what the accounting assumes, with its interval."""

    deviation: float
    low: float
    high: float
    values: int


class CodeAudit(TypedDict):
    """The audit of a private method's code, on made-up rows."""

    method: Mapping[str, Any]
    notion: str
    threat_model: str | None
    rows: int
    event: list[EventJson]
    delta: float
    plan: Mapping[str, object]
    reach: list[Reach]
    noise: MeasuredNoise | None
    one_run: OneRun
    distinguishing: Distinguishing


class CatalogueAudit(CodeAudit):
    """The stored audit of a method of the catalogue, with its day and the versions of the libraries it ran on."""

    name: str
    title: str
    made: str
    versions: Mapping[str, str]


class Member(TypedDict):
    """How well an attacker tells training rows from others."""

    attacker: str
    auc: float
    advantage: float


class Membership(TypedDict):
    """Membership inference; `limit` is the advantage that epsilon allows, None where it allows any."""

    attackers: list[Member]
    judged: int
    chance: float
    limit: float | None


class Guess(TypedDict):
    """How often an attacker names a training row's group, without and with the model's answer."""

    attacker: str
    baseline: float
    accuracy: float


class Attribute(TypedDict):
    """Attribute inference; `majority` is always naming the largest group."""

    attackers: list[Guess]
    judged: int
    majority: float
    sensitive: str


class ModelAudit(TypedDict):
    """What the answers of a trained model reveal: raw. `attribute` is None where there is NOTHING_TO_GUESS."""

    membership: Membership
    attribute: Attribute | None
    note: str


class ShownAudit(TypedDict):
    """As much of an audit as a reader may see: `model` is raw, `code` None of a method that is not private."""

    made: str
    model: ModelAudit | None
    code: CodeAudit | None


class Audit(ShownAudit):
    """The audit of the run `key`; `run` says what the run protects, and its epsilon."""

    key: str
    versions: Mapping[str, str]
    run: Mapping[str, object]


class Demonstrated(Distinguishing):
    """What attacks found of one variant of a method on the stored pair of tables."""

    method: Mapping[str, Any]


class Demonstration(TypedDict):
    """What refutes PF-LD's published accounting; `pair` says in words what the two tables are."""

    pair: str
    made: str
    versions: Mapping[str, str]
    rows: int
    notion: str
    seed: int
    proved: Demonstrated
    published: Demonstrated


class AuditResults(TypedDict):
    """The stored audits of the catalogue, and how they were made."""

    command: str
    settings: Mapping[str, Any]
    demonstration: Demonstration
    methods: list[CatalogueAudit]
