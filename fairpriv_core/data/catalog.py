"""The benchmarks, one `Problem` each."""

from __future__ import annotations

from fairpriv_core.data.problem import Categorical, Label, Numeric, Problem
from fairpriv_core.data.synthetic import CONTRACTS, REGIONS, SHIFTS, generate

SYNTHETIC = Problem(
    name="synthetic",
    title="Synthetic (made by fairpriv)",
    summary="8,000 made-up rows whose base rates are 0.45 in group A and 0.25 in group B; the embedded default.",
    citation="fairpriv_core/data/synthetic.py",
    licence="MIT, like fairpriv itself",
    labels=(Label(Categorical("label", ("no", "yes")), "yes"),),
    sensitive=("group", "region", "group+region"),
    schema=(
        Categorical("group", ("A", "B")),
        *(Numeric(name, low=-6, high=6, center=0, scale=1) for name in SHIFTS),
        Categorical("region", REGIONS),
        Categorical("contract", CONTRACTS),
    ),
    generate=generate,
)


def problems() -> dict[str, Problem]:
    """Return every benchmark by name, the embedded default first."""
    return {problem.name: problem for problem in (SYNTHETIC,)}
