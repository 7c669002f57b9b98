"""Methods that the papers cite and compare nothing with: what each is, and why it does not run here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_TEXT = "The papers here name it in a line. That is too little to build it from, and they print no number of it."


@dataclass(frozen=True)
class Cited:
    """A method from elsewhere.

    Attributes:
        name: its id. title: its short name. summary: what it does, a sentence.
        citation: authors, year and title. cited_by: the ids of the papers here that name it.
        protects: what its authors' ε covers. releases: what it gives out with noise.
        absent: why it does not run here, in sentences.
    """

    name: str
    title: str
    summary: str
    citation: str
    cited_by: tuple[str, ...]
    protects: Literal["attribute", "record"]
    releases: tuple[str, ...]
    absent: str


CITED = (
    Cited(
        "sf_pate",
        "SF-PATE",
        "Teachers learn from separate parts of the data, and a student learns from their noisy votes.",
        "Tran, Zhu, Fioretto and Van Hentenryck (2022), SF-PATE: scalable, fair, and private aggregation of teacher "
        "ensembles",
        ("dp_fermi", "fairdp_certified"),
        "attribute",
        ("votes",),
        f"Its student needs public rows without labels, which none of the data sets here has. {_TEXT}",
    ),
    Cited(
        "pflr",
        "PFLR*",
        "A logistic regression whose objective, with a fairness penalty, is made a polynomial and then noised.",
        "Xu, Yuan and Wu (2019), Achieving differential privacy and fairness in logistic regression",
        ("dp_fermi", "fairdp_adaptive"),
        "record",
        ("coefficients",),
        _TEXT,
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
        _TEXT,
    ),
)
