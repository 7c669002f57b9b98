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
        "sf_pate",
        "SF-PATE",
        "Teachers learn from separate parts of the data, and a student learns from their noisy votes.",
        "Tran, Zhu, Fioretto and Van Hentenryck (2022), SF-PATE: scalable, fair, and private aggregation of teacher "
        "ensembles",
        ("dp_fermi", "fairdp_certified"),
        "attribute",
        ("votes",),
    ),
)
