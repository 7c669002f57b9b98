"""The lines of FairDP's (adaptive clipping) tables and figures: the methods, and FairDP in four readings."""

from __future__ import annotations

from fairpriv_core.papers.preset import Part, of_method, published

SGD, DPSGD = of_method("SGD", "none"), of_method("DPSGD", "dp_sgd")
OPT_Q, DPSGD_F = published("Opt-Q", "opt_q"), published("DPSGD-F", "dpsgd_f")
RIVALS = (DPSGD, of_method("DP-FedAvg", "dp_fedavg"), OPT_Q, DPSGD_F)


def _fairdp(kind: str, variant: str, reading: str) -> Part:
    chosen = {"config/method/name": "fairdp_adaptive", "config/method/clip_by": kind, "config/method/variant": variant}
    return Part(f"FairDP by {kind}, {reading}", chosen, "fairdp_adaptive", int(variant == "published"))


FAIRDP = _fairdp("class", "published", "as published (L = 1)")
FAIRDP_PROVED = _fairdp("class", "proved", "proved (L = 1e-4)")
READINGS = (
    FAIRDP,
    _fairdp("group", "published", "as published (L = 1)"),
    FAIRDP_PROVED,
    _fairdp("group", "proved", "proved (L = 1e-4)"),
)
ROWS = (SGD, *RIVALS, *READINGS)
PRINTED_ROWS = (SGD, *RIVALS, FAIRDP)
