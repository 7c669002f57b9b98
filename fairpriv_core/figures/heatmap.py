"""Maps over two settings: what accuracy or gap comes of each combination that was run; what was not run stays empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairpriv_core.facts.tables import TableRow, name_gap
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.text import count_text, number_text, percent_text, points_text

Quantity = Literal["accuracy", "gap"]
_MOST_TEXTS = 150
_NAMED = 5
_OWN = ("epsilon", "delta")  # what a config has besides its method's settings


@dataclass(frozen=True)
class Setting:
    """A numeric setting: its name in a config ("epsilon", "method.clip_primal") and its title."""

    name: str
    title: str


def read_settings(config: ConfigJson) -> dict[str, float]:
    """Return the numeric settings of a config, by name; those left to the method are not among them."""
    values = {name: config.get(name) for name in _OWN} | {
        f"method.{name}": value for name, value in config["method"].items()
    }
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def find_varying(settings: Iterable[Mapping[str, float]]) -> list[str]:
    """Return the names of the settings that have two values or more, those with more values first."""
    values: dict[str, set[float]] = {}
    for own in settings:
        for name, value in own.items():
            values.setdefault(name, set()).add(value)
    varying = [name for name, different in values.items() if len(different) > 1]
    return sorted(varying, key=lambda name: -len(values[name]))


def heat_map(
    rows: Sequence[TableRow],
    settings: Mapping[str, Mapping[str, float]],
    axes: tuple[Setting, Setting],
    *,
    quantity: Quantity,
    about: str,
) -> FigureData:
    """The mean accuracy or gap of `rows` over two settings; `settings` has each row's, by its first key.

    Where several rows share a place, since they differ in yet another setting, their mean stands there and the caption
    says so. `about` names the data, method and claim.
    """
    across, up = axes
    places: dict[tuple[float, float], list[TableRow]] = {}
    for row in rows:
        own = settings[row.keys[0]]
        if across.name in own and up.name in own and _value(row, quantity) is not None:
            places.setdefault((own[across.name], own[up.name]), []).append(row)
    columns, lines = (sorted({place[side] for place in places}) for side in (0, 1))
    empty = [(x, y) for y in lines for x in columns if (x, y) not in places]
    title = {"accuracy": "Accuracy", "gap": name_gap("Fairness gap", rows)}[quantity]
    unit = {"accuracy": "%", "gap": "pp"}[quantity]
    alike = max((len(alike_rows) for alike_rows in places.values()), default=0)
    return FigureData(
        name=f"map_{quantity}_{across.name}_{up.name}".replace(".", "_"),
        title=f"{title} over {across.title} and {up.title}",
        x=Axis(across.title),
        panels=(Panel(Axis(up.title)),),
        series=(_draw(places, quantity, axes),) if places else (),
        caption=f"{about}. {_format_cells(places, empty, axes)} {_format_alike(alike)}".rstrip(),
        alt=f"{title} over {across.title} and {up.title}. {_format_extremes(places, quantity, axes)}",
        origin=find_origin_of_rows(rows),
        z=Axis(title, unit),
    )


def _draw(
    places: Mapping[tuple[float, float], Sequence[TableRow]], quantity: Quantity, axes: tuple[Setting, Setting]
) -> Series:
    values = tuple(_mean(rows, quantity) for rows in places.values())
    seeds = [sum(len(row.seeds) for row in rows) for rows in places.values()]
    words = percent_text if quantity == "accuracy" else points_text
    hovers = [
        f"{_name(place, axes)}\n{words(value / 100)}\n{count_text(count, 'run')}"
        for place, value, count in zip(places, values, seeds, strict=True)
    ]
    return Series(
        axes[0].title,
        "heatmap",
        tuple(x for x, _ in places),
        tuple(y for _, y in places),
        z=values,
        text=tuple(number_text(value) for value in values) if len(places) <= _MOST_TEXTS else (),
        hover=tuple(hovers),
        keys=tuple(rows[0].keys[0] for rows in places.values()),
    )


def _format_cells(
    places: Mapping[tuple[float, float], object], empty: Sequence[tuple[float, float]], axes: tuple[Setting, Setting]
) -> str:
    total = len(places) + len(empty)
    if not empty:
        return f"All {total} combinations were run."
    examples = "; ".join(_name(place, axes) for place in empty[:_NAMED])
    more = f"; and {len(empty) - _NAMED} more" if len(empty) > _NAMED else ""
    return f"{len(empty)} of {total} combinations have no finished run and are left empty: {examples}{more}."


def _format_alike(alike: int) -> str:
    if alike < 2:
        return ""
    return f"Up to {alike} settings that differ in something else share a place, which shows their mean. "


def _format_extremes(
    places: Mapping[tuple[float, float], Sequence[TableRow]], quantity: Quantity, axes: tuple[Setting, Setting]
) -> str:
    if not places:
        return "No finished run has both settings."
    words = percent_text if quantity == "accuracy" else points_text
    means = {place: _mean(rows, quantity) / 100 for place, rows in places.items()}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    return f"Lowest {words(means[low])} at {_name(low, axes)}, highest {words(means[high])} at {_name(high, axes)}."


def _name(place: tuple[float, float], axes: tuple[Setting, Setting]) -> str:
    return ", ".join(f"{axis.title} = {value:g}" for axis, value in zip(axes, place, strict=True))


def _mean(rows: Sequence[TableRow], quantity: Quantity) -> float:
    values = [value for row in rows if (value := _value(row, quantity)) is not None]
    return 100 * sum(values) / len(values)


def _value(row: TableRow, quantity: Quantity) -> float | None:
    return (row.accuracy if quantity == "accuracy" else row.gap).mean
