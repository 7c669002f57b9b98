"""Methods that the papers cite and print no number of: what each is; none of them runs here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Cited:
    """A method from elsewhere.

    Attributes:
        name: its id. title: its short name. summary: what it does, a sentence.
        citation: authors, year and title. cited_by: the ids of the papers here that name it.
        protects: what its authors' ε covers. releases: what it gives out with noise.
    """

    name: str
    title: str
    summary: str
    citation: str
    cited_by: tuple[str, ...]
    protects: Literal["attribute", "record"]
    releases: tuple[str, ...]


CITED = (
    Cited(
        "pflr",
        "PFLR*",
        "A logistic regression whose objective, with a fairness penalty, is made a polynomial and then noised.",
        "Xu, Yuan and Wu (2019), Achieving differential privacy and fairness in logistic regression",
        ("dp_fermi", "fairdp_adaptive"),
        "record",
        ("coefficients",),
    ),
    Cited(
        "adfc",
        "ADFC",
        "A logistic regression under a fairness constraint, whose polynomial objective gets Gaussian noise.",
        "Ding, Zhang, Li, Wang, Yu and Pan (2020), Differentially private and fair classification via calibrated "
        "functional mechanism",
        ("dp_fermi", "fairdp_adaptive"),
        "record",
        ("coefficients",),
    ),
)
