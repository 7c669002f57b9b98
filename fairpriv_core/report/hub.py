"""A run as a Hugging Face model repository: a model card with its metadata, and the model's own files, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.records.record import is_covered
from fairpriv_core.report.card import write_cards
from fairpriv_core.report.chosen import Chosen
from fairpriv_core.report.document import Audience
from fairpriv_core.report.measured import measure
from fairpriv_core.report.report_numbers import is_noisy

README, CONFIG = "README.md", "config.toml"
#: a reader runs it as it stands in the folder
_LOAD = """## Load it

```python
from pathlib import Path

from fairpriv_core import Model  # pip install fairpriv

folder = Path(".")  # or what huggingface_hub.snapshot_download returns
model = Model.read(lambda name: (folder / name).read_bytes())
model.predict_file("rows.csv", "predictions.csv")
```
"""


def write_hub(chosen: Chosen, audience: Audience, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a model repository by name; `chosen` holds what `audience` may see, `files` the model."""
    head = "".join(f"{name}: {_write(value)}\n" for name, value in _describe(chosen).items())
    readme = f"---\n{head}---\n\n{write_cards((chosen,), audience)}\n{_LOAD}"
    return {README: readme.encode(), CONFIG: chosen.first.config.encode(), **files}


def list_metrics(chosen: Chosen) -> dict[str, tuple[float, str]]:
    """Return accuracy and the notion's gap by name, in [0, 1], each with how it was measured; none that is not known.

    Of runs that were cut down for policy they are public or paid for.
    """
    found = measure([run.record for run in chosen.runs])
    gap = chosen.first.notion.title.lower()
    known = {"accuracy": ("accuracy", found.accuracy.mean), _name_gap(chosen): (f"gap, {gap}", found.gap.mean)}
    raw = chosen.record.get("metrics_are_raw", True) and chosen.record.get("metrics") is not None
    return {
        name: (value, f"{title}, {_say_source(chosen, name, raw=raw)}")
        for name, (title, value) in known.items()
        if value is not None
    }


def _name_gap(chosen: Chosen) -> str:
    return f"{chosen.record['config']['notion']}_gap"


def _say_source(chosen: Chosen, name: str, *, raw: bool) -> str:
    if raw:
        return "raw, for the analyst"
    return "with noise that ε covers" if is_noisy(chosen.first, name) else "public"


def _describe(chosen: Chosen) -> dict[str, Any]:
    record, data = chosen.record, chosen.record["config"]["data"]
    task = "tabular-classification" if record["data"].get("image") is None else "image-classification"
    covered = is_covered(record)
    metrics = [{"type": name, "value": value, "name": title} for name, (value, title) in list_metrics(chosen).items()]
    dataset = {"name": chosen.first.data.title, "type": data.get("dataset") or "own file"}
    result = {"task": {"type": task}, "dataset": dataset, "metrics": metrics}
    return {
        "library_name": "fairpriv",
        "pipeline_tag": task,
        "tags": ["fairness", *(["differential-privacy"] if covered else []), record["config"]["method"]["name"]],
        **({"model-index": [{"name": record["key"], "results": [result]}]} if metrics else {}),
        "fairpriv": {
            "key": record["key"],
            "protects": record["threat_model"] if covered else None,
            "epsilon": record["epsilon"],
            "delta": record["delta"] if covered else None,
            "epsilon_reason": record["epsilon_reason"],
        },
    }


def _write(value: Any) -> str:
    """Return a value as YAML, of which JSON on one line is a part."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
