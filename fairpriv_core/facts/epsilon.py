"""An ε with everything that belongs beside it: what is proved, what is claimed, whom it protects, what it assumes."""

from __future__ import annotations

from dataclasses import dataclass

from fairpriv_core.facts.wording import format_given, protected
from fairpriv_core.privacy.explain import odds, sentence
from fairpriv_core.records.record import CHOICE, RunRecord
from fairpriv_core.records.source import name_unit
from fairpriv_core.text import delta_text, epsilon_text


@dataclass(frozen=True)
class EpsilonFacts:
    """What a run, or an account without one, states of its ε.

    Attributes:
        threat_model: "attribute" or "record"; None of a method that is not private.
        asked: the budget asked for.
        proved: what is proved of the releases; None with a `reason`.
        claimed: by the paper's own accounting, or by the `author` of another package's method.
        if_secret: what `proved` would be had the noise been secret, of a run that can be replayed.
        unit: whom it protects, a "person" or a "row".
        replayed: whether whoever repeats the run can take its noise off.
        given: what it takes as given of the data, a sentence each after a blank; "" for nothing.
        choice: how the run was chosen, and what that has cost; "" where nobody chose.
    """

    threat_model: str | None
    variant: str | None
    asked: float | None
    proved: float | None
    claimed: float | None
    reason: str | None
    if_secret: float | None
    delta: float
    author: str | None = None
    unit: str = "person"
    replayed: bool = False
    given: str = ""
    choice: str = ""

    @property
    def is_covered(self) -> bool:
        """Whether a proved ε stands: without one nothing that depends on protected values is covered."""
        return self.threat_model is not None and self.proved is not None

    @property
    def protects(self) -> str:
        """What it protects, in words."""
        return protected(self.threat_model, self.unit)

    @property
    def sure(self) -> int | None:
        """How sure, in 100, an attacker who began at even odds can end; None where nothing is proved."""
        return None if self.replayed or self.proved is None or self.threat_model is None else odds(self.proved)

    @property
    def odds(self) -> str:
        """The sentence on what the ε means in odds."""
        if self.threat_model is None:
            return "Nothing limits what an attacker can learn: this method is not private."
        if self.replayed:
            return "Nothing is protected: whoever knows how the noise was drawn can take it off."
        return sentence(self.proved, self.delta, self.threat_model, self.unit)

    @property
    def line(self) -> str:
        """The sentence that goes with an ε wherever it is shown: value, δ, how it was accounted, what is protected.

        It has the paper's own accounting beside the proved value.
        """
        if self.threat_model is None:
            return "No ε: this method is not private."
        choice = f" {self.choice}" if self.choice else ""
        return f"{self._line}{choice}{self.given}"

    @property
    def _line(self) -> str:
        protects, delta = f"protects {self.protects}", f"δ = {delta_text(self.delta)}"
        if self.proved is not None:
            beside = "" if self.claimed is None else f"; the paper's accounting states {epsilon_text(self.claimed)}"
            return f"ε = {epsilon_text(self.proved)} ({delta}), proved, {protects}{beside}."
        sentence = f"No proved ε: {self.reason or 'no finite bound is proved.'}"
        if self.if_secret is not None:
            sentence += f" With secret noise it would be ε = {epsilon_text(self.if_secret)} ({delta}), {protects}."
        if self.claimed is not None:
            claim = f"{name_claimant(self.author)} claims ε = {epsilon_text(self.claimed)}"
            sentence += f" {claim} ({delta}), {protects}."
        return sentence

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The facts of `line` by name, for a terminal: the proved ε beside the claimed one, never one alone."""
        if self.threat_model is None:
            return [("epsilon", f"none. {self.reason}")]
        proved = f"none. {self.reason}" if self.proved is None else f"{epsilon_text(self.proved)}, proved"
        rows = [("epsilon", proved)]
        if self.if_secret is not None:
            rows.append(("  if secret", f"{epsilon_text(self.if_secret)}, had the noise been secret"))
        if self.claimed is not None:
            own = "by the paper's own accounting"
            how = own if self.author is None else f"as the author of {self.author} claims"
            rows.append(("  published", f"{epsilon_text(self.claimed)}, {how}"))
        protects = sentence(self.proved, self.delta, self.threat_model, self.unit)
        return [*rows, ("delta", f"{self.delta:g}"), ("protects", protects)]


def read_epsilon_facts(record: RunRecord) -> EpsilonFacts:
    """Return what a record states of its ε."""
    data = record.config["data"]
    return EpsilonFacts(
        threat_model=record.threat_model,
        variant=record.variant,
        asked=record.config["epsilon"],
        proved=record.epsilon,
        claimed=record.epsilon_published,
        reason=record.epsilon_reason,
        if_secret=record.epsilon_if_secret,
        delta=record.delta,
        author=record.author,
        unit=name_unit(data),
        replayed=record.config["replay_noise"] is not None,
        given=format_given(data, record.threat_model, record.config["method"]["name"]),
        choice=record.notes.get(CHOICE, ""),
    )


def name_claimant(author: str | None) -> str:
    """Return who claims an ε that is not proved, to begin a sentence: a paper, or the `author` of a plug-in."""
    return "The paper's accounting" if author is None else f"The author of {author}"
