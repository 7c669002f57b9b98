"""What a script of yours needs, by name: `from fairpriv_core import FairPrivateClassifier, load_dataset`.

A name is imported where it is first asked for, so that whoever needs one waits for no other. The catalogues of methods
and notions stand in the packages of these names: `from fairpriv_core.methods.catalog import methods`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: the names of each module, as `__init__.pyi` tells type checkers
_PLACES = {
    "data.catalog": ("problems",),
    "data.dataset": ("Dataset", "load_dataset", "split_dataset"),
    "data.problem": ("DataSpec",),
    "errors": ("BadInput", "FairprivError"),
    "estimator": ("FairPrivateClassifier",),
    "notions.metrics": ("measure",),
    "privacy.accountants": ("accountants", "epsilon"),
    "privacy.calibrate": ("calibrate",),
    "records.config": ("RunConfig", "build_config"),
    "records.model": ("Model",),
    "records.record": ("RunRecord",),
    "runs.account": ("account",),
    "runs.execute": ("execute",),
    "runs.session": ("MemoryJournal",),
    "store.runs": ("RunStore", "open_store"),
}
__all__ = [name for names in _PLACES.values() for name in names]


def __getattr__(name: str) -> Any:
    """Import the name that is asked for."""
    place = next((place for place, names in _PLACES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{place}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
