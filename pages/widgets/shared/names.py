"""What lists, titles and tables call data, notions, runs and settings: words as in a paper; ids stay in addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.data.problem import DataJson
from fairpriv_core.facts.tables import TableRow, parameter_diff
from fairpriv_core.facts.wording import data_title, metric_title, rows_suffix, setting_text
from fairpriv_core.grouping import group_by
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.rows import RunRow
from fairpriv_core.text import short_epsilon_text
from pages.widgets.shared.reference import call_files
from pages.widgets.shared.state import label_apart


def name_data(data: DataJson) -> str:
    """Return a config's data: what is predicted, by which groups, on which rows.

    >>> name_data({"dataset": "adult", "sensitive": "sex", "group_ratio": 0.8})
    'Adult: income by sex · group ratio 0.8'
    """
    return call_files(f"{data_title(data)}{rows_suffix(data)}")


def list_data(row: TableRow) -> DataJson:
    """Return the data of a row of the run table as a config has them."""
    data: DataJson = {**row.asked, "group_ratio": row.group_ratio, "rows": row.rows, "encoding": row.encoding}
    return {**data, "dataset": data.get("dataset", row.dataset), "sensitive": row.sensitive}


def name_data_of(row: TableRow) -> str:
    """Return the data of a row of the run table in words."""
    return name_data(list_data(row))


def name_method(name: str) -> str:
    """Return a method's title; of one that is not known here, such as one that was taken out, its name.

    >>> name_method("pf_ld"), name_method("of_old")
    ('PF-LD', 'of old')
    """
    return methods()[name].info.legend if name in methods() else name.replace("_", " ")


def name_notion(name: str) -> str:
    """Return a notion's title.

    >>> name_notion("equal_opportunity")
    'Equal opportunity'
    """
    return notions()[name].title if name in notions() else metric_title(name)


def name_settings(method: str, settings: Mapping[str, Any]) -> str:
    """Return settings of a method as short text.

    >>> name_settings("pf_ld", {"method.clip_primal": 0.5, "method.epochs": 50})
    'C_p = 0.5, epochs 50'
    """
    return ", ".join(setting_text(method, name, value) for name, value in settings.items())


def name_run(config: ConfigJson) -> str:
    """Return a run by its config: method and budget, data, notion; seeds beyond the first are told.

    >>> data = {"dataset": "adult", "sensitive": "sex"}
    >>> name_run({"method": {"name": "pf_ld"}, "data": data, "epsilon": 1.0, "notion": "demographic_parity"})
    'PF-LD, ε = 1 · Adult: income by sex · Demographic parity'
    """
    notion = f" · {name_notion(config['notion'])}" if config.get("notion") else ""
    seed = f" · seed {config['seed']}" if config.get("seed") else ""
    return f"{name_short_run(config)} · {name_data(config['data'])}{notion}{seed}"


def name_runs(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return what a list shows of each run, by its key; of runs that are called the same, the settings that differ.

    Those that have the same settings too are told apart by their keys.
    """
    names = {}
    for name, same in group_by(rows, lambda row: name_run(row.config)).items():
        values_by_name = parameter_diff([row.config for row in same])
        for place, row in enumerate(same):
            own = {setting: values[place] for setting, values in values_by_name.items() if values[place] is not None}
            settings = name_settings(row.config["method"]["name"], own)
            names[row.key] = f"{name} · {settings}" if settings else name
    return label_apart({row.key: names[row.key] for row in rows})


def name_short_run(config: ConfigJson) -> str:
    """Return a run by its method and budget alone."""
    title = name_method(config["method"]["name"])
    if config.get("replay_noise") is not None:
        return f"{title}, replayed noise"
    if config.get("reuse"):
        return f"{title}, on an earlier release"
    return f"{title}{name_budget(config.get('epsilon'), config['method'].get('variant'))}"


def name_budget(epsilon: float | None, variant: str | None) -> str:
    """Return what stands behind a method for its ε; "" without one.

    >>> name_budget(0.5, "published"), name_budget(None, "proved")
    (', ε = 0.5 as published', '')
    """
    claim = " as published" if variant == "published" else ""
    return "" if epsilon is None else f", ε = {short_epsilon_text(epsilon)}{claim}"
