"""Which data, as one short text that fits in an address: `adult:sex`, `adult:sex+race`, `age:25,60` for edges.

A file of the user's own is named by the start of its checksum: `file-3fa94c0d12ab:sex?label=income&positive=%3E50K`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput

_DIGITS = 12


def write_reference(spec: DataSpec) -> str:
    """Return the text for `spec`.

    >>> write_reference(DataSpec(dataset="adult", sensitive="sex"))
    'adult:sex'
    """
    name = spec.dataset if spec.file is None else f"file-{Path(spec.file).name[:_DIGITS]}"
    label = {"label": spec.label, "positive": spec.positive}
    query = urlencode({key: text for key, text in label.items() if text})
    return f"{name}:{spec.sensitive}" + (f"?{query}" if query else "")


def read_reference(text: str, uploads: Path) -> DataSpec:
    """Return the data that `text` names; files are looked up in the folder `uploads`.

    Raises:
        BadInput: no such data set, or the file is no longer there.
    """
    head, _, query = text.partition("?")
    name, _, sensitive = head.partition(":")
    label = dict(parse_qsl(query))
    if not name.startswith("file-"):
        if name not in problems():
            raise BadInput(f"unknown data set '{name}'; choose from {', '.join(problems())}.", field="data")
        return DataSpec(dataset=name, sensitive=sensitive, label=label.get("label"), positive=label.get("positive"))
    digits = name.removeprefix("file-")
    found = sorted(uploads.glob(f"{digits}*")) if len(digits) == _DIGITS and digits.isalnum() else []
    if not found:
        raise BadInput(
            f"the file '{digits}' is not in this dashboard's store; upload it again on the Data page.", field="data"
        )
    return DataSpec(file=str(found[0]), sensitive=sensitive, label=label.get("label"), positive=label.get("positive"))


def describe_reference(text: str) -> str:
    """Return the data as the strip names it: title and sensitive attribute.

    >>> describe_reference("adult:sex+race").split(" · ")[1]
    'sex + race'
    """
    name, _, sensitive = text.partition("?")[0].partition(":")
    title = problems()[name].title if name in problems() else f"your file {name.removeprefix('file-')[:6]}"
    return f"{title} · {sensitive.replace('+', ' + ')}"


def describe_config(config: Mapping[str, Any]) -> str:
    """Return a run's config as a list names it; seeds beyond the first are told.

    >>> describe_config({"method": {"name": "none"}, "data": {"dataset": "adult", "sensitive": "sex"}, "epsilon": None})
    'none · adult:sex'
    """
    parts = [config["method"]["name"]]
    if config.get("replay_noise") is not None:
        parts.append("replayed noise")
    elif config.get("epsilon") is not None:
        claim = " as published" if config["method"].get("variant") == "published" else ""
        parts.append(f"ε = {config['epsilon']:g}{claim}")
    parts.append(write_reference(DataSpec(**config["data"])).partition("?")[0])
    if config.get("notion"):
        parts.append(config["notion"].replace("_", " "))
    if config.get("reuse"):
        parts.append(f"release of {config['reuse'][:6]}")
    if config.get("seed"):
        parts.append(f"seed {config['seed']}")
    return " · ".join(parts)
