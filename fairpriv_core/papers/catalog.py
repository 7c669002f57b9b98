"""The papers whose figures and tables can be made again, in one place."""

from __future__ import annotations

from fairpriv_core.errors import BadInput
from fairpriv_core.papers.dp_fermi.figures import PAPER as DP_FERMI
from fairpriv_core.papers.fairdp_adaptive.figures import PAPER as FAIRDP_ADAPTIVE
from fairpriv_core.papers.fairdp_certified.figures import PAPER as FAIRDP_CERTIFIED
from fairpriv_core.papers.pf_ld.figures import PAPER as PF_LD
from fairpriv_core.papers.preset import Paper, Preset

PAPERS: tuple[Paper, ...] = (PF_LD, FAIRDP_ADAPTIVE, FAIRDP_CERTIFIED, DP_FERMI)


def papers() -> dict[str, Paper]:
    """Return every paper by its id."""
    return {paper.id: paper for paper in PAPERS}


def presets() -> dict[str, Preset]:
    """Return every figure and table by its id, in the order of the papers."""
    return {preset.id: preset for paper in PAPERS for preset in paper.presets}


def name_paper(preset: str) -> str:
    """Return the short name of the paper that a preset's id names; of a paper that is not here, the id's."""
    paper = preset.partition(".")[0]
    return papers()[paper].name if paper in papers() else paper


def find_preset(name: str) -> Preset:
    """Return one figure or table; BadInput, naming all, where there is none."""
    if name not in presets():
        raise BadInput(f"unknown figure or table '{name}'; choose from {', '.join(presets())}.", field="id")
    return presets()[name]
