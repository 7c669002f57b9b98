"""A figure of a paper that compares methods, as a table of what the methods here declare."""

from __future__ import annotations

from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import list_names
from fairpriv_core.papers.preset import MethodTable

_PROTECTS = {"attribute": "attribute", "record": "whole record", None: "nothing"}


def list_methods(table: MethodTable) -> list[dict[str, str]]:
    """Return a line for each method, each cell from its declaration."""
    return [_list_cells(methods()[name]) for name in table.methods]


def _list_cells(method: type[Method]) -> dict[str, str]:
    info = method.info
    return {
        "method": info.title,
        "labels": _most(info.max_labels),
        "groups": _most(info.max_groups),
        "notions": _name_notions(tuple(name for name, notion in notions().items() if info.pursues(notion))),
        "batch size": "yes" if "batch_size" in parameters(method) else "no",
        "group at prediction": "needed" if info.needs_group_at_prediction else "not needed",
        "ε protects": _PROTECTS[info.threat_model],
        "variants": " and ".join(info.variants) or "–",
        "reference": info.citation,
    }


def _most(limit: int | None) -> str:
    return "any number" if limit is None else f"up to {limit}"


def _name_notions(pursued: tuple[str, ...]) -> str:
    gaps = {name: notion.title.lower() for name, notion in notions().items() if not notion.is_level}
    exceptions = [title for name, title in gaps.items() if name not in pursued]
    if not pursued:
        return "its own"
    return f"all but {list_names(exceptions)}" if exceptions else f"all {len(pursued)}"


def format_notions() -> str:
    """Return the sentence on a table's notions."""
    return f"Notions: {', '.join(notion.title.lower() for notion in notions().values())}."
