"""What there is to tell of a record of which a test writes down only what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind

_CONFIG = {
    "data": {"dataset": "adult", "file": None, "label": None, "positive": None, "sensitive": "sex"},
    "notion": "demographic_parity",
    "method": {"name": "pf_ld"},
    "epsilon": None,
    "delta": 1e-5,
    "split": "rows",
    "seed": 0,
    "replay_noise": None,
}
_DATA = {
    "name": "adult",
    "sensitive": "sex",
    "group_names": ["Female", "Male"],
    "label_names": ["<=50K", ">50K"],
    "columns": ["age"],
    "n_train": 3000,
    "n_test": 1000,
    "caveats": [],
}
_RECORD = {
    "key": "a" * 16,
    "status": "finished",
    "threat_model": "attribute",
    "variant": "proved",
    "epsilon": None,
    "epsilon_published": None,
    "epsilon_reason": None,
    "epsilon_if_secret": None,
    "delta": 1e-5,
    "event": [],
    "released": [],
    "assumptions": [],
    "calibrated": {},
    "versions": {},
    "warnings": [],
}


def tell(record: Mapping[str, Any]) -> RunFacts[Kind]:
    """Return what `read_facts` reads of a record, JSON; what the test leaves out is that of a run on Adult by sex."""
    config = {**_CONFIG, **record.get("config", {})}
    config["data"] = {**_CONFIG["data"], **config["data"]}
    data = {**_DATA, **record.get("data", {})}
    return read_facts(RunRecord.from_json({**_RECORD, **record, "config": config, "data": data}))
