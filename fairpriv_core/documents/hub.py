"""A run as a Hugging Face model repository: a model card with its metadata, and the model's own files, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.documents.card import write_cards
from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.records.release import Kind

_KINDS: dict[Kind, str] = {"public": "public", "released": "with noise that ε covers", "raw": "raw, for the analyst"}
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


def write_hub(setting: Chosen[Kind], audience: Audience, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a model repository by name; `setting` holds what `audience` may see, `files` the model."""
    head = "".join(f"{name}: {_write(value)}\n" for name, value in _build_metadata(setting).items())
    readme = f"---\n{head}---\n\n{write_cards((setting,), audience)}\n{_LOAD}"
    return {README: readme.encode(), CONFIG: setting.first.toml.encode(), **files}


def list_metrics(setting: Chosen[Kind]) -> dict[str, tuple[float, str]]:
    """Return accuracy and the notion's gap by name, in [0, 1], each with how it was measured; none that is not known.

    Of runs that were cut down for policy they are public or paid for.
    """
    measures, notion = setting.measure(), setting.first.notion
    gap = notion.title.lower()
    values = {"accuracy": ("accuracy", measures.accuracy.mean), notion.metric: (f"gap, {gap}", measures.gap.mean)}
    return {
        name: (value, f"{title}, {_KINDS[measures.kind if measures.kind == 'raw' else _find_kind(setting, name)]}")
        for name, (title, value) in values.items()
        if value is not None
    }


def _find_kind(setting: Chosen[Kind], name: str) -> Kind:
    fact = setting.first.read(name)
    return "raw" if fact is None else fact.kind


def _build_metadata(setting: Chosen[Kind]) -> dict[str, object]:
    run = setting.first
    epsilon, covered = run.epsilon, run.epsilon.is_covered
    task = "image-classification" if run.data.is_image else "tabular-classification"
    metrics = [{"type": name, "value": value, "name": title} for name, (value, title) in list_metrics(setting).items()]
    dataset = {"name": run.data.title, "type": run.config["data"].get("dataset") or "own file"}
    result = {"task": {"type": task}, "dataset": dataset, "metrics": metrics}
    return {
        "library_name": "fairpriv",
        "pipeline_tag": task,
        "tags": ["fairness", *(["differential-privacy"] if covered else []), run.method.name],
        **({"model-index": [{"name": run.key, "results": [result]}]} if metrics else {}),
        "fairpriv": {
            "key": run.key,
            "protects": epsilon.threat_model if covered else None,
            "epsilon": epsilon.proved,
            "delta": epsilon.delta if covered else None,
            "epsilon_reason": epsilon.reason,
        },
    }


def _write(value: Any) -> str:
    """Return a value as YAML, of which JSON on one line is a part."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
