"""How well four attackers tell a finished run's training rows from its test rows (FairDP-A, Figure 3)."""

from __future__ import annotations

from fairpriv_core.audit.inference import guessed_advantage
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.audit_model import attack_membership
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import RunStore


def measure_membership(store: RunStore, key: str, shelf: Shelf) -> dict[str, dict[str, float]]:
    """Return AUC and advantage, in [0, 1], by the attacker's name; at "chance" those that guessing has on average.

    Which records are attacked follows from the run's seed, so that runs of one seed and split are attacked on the same.
    Raises BadInput for a run that has no model.
    """
    config = build_config(store.row(key).config)
    files = {name: store.artifact(key, name) for name in (PARAMETERS, DESCRIPTION)}
    found = attack_membership(files, *shelf.parts(config), seed=config.seed)
    attacks = {one.attacker: {"auc": one.auc, "advantage": one.advantage} for one in found.attackers}
    return {**attacks, "chance": {"auc": 0.5, "advantage": guessed_advantage(found.judged)}}
