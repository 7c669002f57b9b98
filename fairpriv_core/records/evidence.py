"""Fits of private methods on many tables, and what they say of one that is about to be trained.

`evidence.parquet` has every method that pursues a notion and is made by `examples/make_advice.py`; `losses.parquet` has
the others and is made by `examples/make_losses.py`. Of a table at hand public numbers alone are read: rows, groups,
notion and budget. A fit of the evidence counts as much as its table lies near: by rows times mu, which noise goes by,
by rows, and by groups. What this is worth is tried with tables from the same source left out (docs/results/adviser.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.shared.public_score import AUTOMATIC
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.parameters import method_to_json, read_method
from fairpriv_core.text import count_text

PATH = Path(__file__).with_name("evidence.parquet")
LOSSES = Path(__file__).with_name("losses.parquet")
GAP = 0.04  # that the fits were asked for
_WIDTHS = (0.5, 0.7, 1.0)  # decades of rows times mu, decades of rows, doublings of the number of groups
_LIKE = 0.25  # a table is called like another from this weight on, that of the nearest being 1
_NEAR = 0.25  # nothing is forecast where the nearest table has less; no table that a forecast was tried on had
_DELTA = 1e-5
_HELD = 0.9  # nine fits in ten lie between the ends of what is forecast
_FAILS = 0.05  # a share of fits without a model that is worth a sentence


@dataclass(frozen=True)
class Size:
    """What is known of a table: training rows, groups, labels, whether rows are images, and groups answers."""

    rows: int
    groups: int
    labels: int = LABELS
    image: bool = False
    answered: bool = False

    @classmethod
    def of(cls, data: Dataset) -> Size:
        """Return the size of a table of which three rows in four are trained on."""
        return cls(data.n * 3 // 4, data.groups, data.labels, data.image is not None, data.answered is not None)

    @property
    def is_like_evidence(self) -> bool:
        """Whether the evidence has such tables: of two labels, and of no images."""
        return self.labels == LABELS and not self.image


@dataclass(frozen=True)
class Forecast:
    """Between what nine fits in ten lay, as shares of the rows: the accuracy lost against plain training, and the gap.

    Attributes:
        loss: of accuracy; a fit that lost none counts as 0.
        gap: None of a method that pursues none.
        failed: the share of fits that gave no model.
        tables: how many it rests on.
    """

    loss: tuple[float, float]
    gap: tuple[float, float] | None
    failed: float
    tables: int

    def format(self) -> str:
        """Return the sentences."""
        said = (
            f"Nine in ten runs of this method lost {_format_ends(self.loss)} of accuracy against plain training, on "
            f"the {count_text(self.tables, 'table')} most like this one."
        )
        if self.gap is not None:
            said += f" Their gaps were {_format_ends(self.gap)}."
        return said if self.failed < _FAILS else f"{said} {100 * self.failed:.0f} % of all gave no model."


def _format_ends(ends: tuple[float, float]) -> str:
    low, high = (max(100 * end, 0.0) for end in ends)
    return f"{low:.0f} to {high:.0f} points" if high >= 0.5 else "less than 1 point"


@cache
def list_candidates() -> Mapping[str, Mapping[str, Any]]:
    """Return the methods' tables that were fitted, by the name that the evidence has for each."""
    fitted = {str(name).partition(",")[0] for name in pd.read_parquet(PATH, columns=["setting"]).setting.unique()}
    return {name: settings for name, settings in list_able().items() if settings["name"] in fitted}


def list_able() -> Mapping[str, Mapping[str, Any]]:
    """Return the methods' tables that could be fitted, by the name that the evidence would have for each.

    They are all private methods that pursue a notion, as they ship, and once more with a learner of its own choosing
    where one has it and does not ship with it.
    """
    able = {name: kind for name, kind in methods().items() if kind.info.threat_model and kind.info.pursues_notion}
    shipped = {name: {"name": name} for name in able}
    choosing = {
        f"{name}, {AUTOMATIC}": {"name": name, "learner": AUTOMATIC}
        for name, kind in able.items()
        if AUTOMATIC in _list_other_learners(kind)
    }
    return {**shipped, **choosing}


def list_unaware() -> tuple[str, ...]:
    """Return the private methods that pursue no notion: of these the loss of accuracy alone is forecast."""
    return tuple(name for name, kind in methods().items() if kind.info.threat_model and not kind.info.pursues_notion)


def _list_other_learners(kind: type[Method]) -> list[Any]:
    """Return the learners that a method has beside the one that it ships with."""
    if "learner" not in parameters(kind):
        return []
    shown, item = parameters(kind)["learner"]
    return [choice for choice in shown.choices if choice != item.default]


@cache
def read_candidates() -> Mapping[str, Method]:
    """Return each candidate as a method."""
    return {name: read_method(settings) for name, settings in list_candidates().items()}


def read_fits() -> pd.DataFrame:
    """Return the evidence: a row a fit, with its `worth`.

    An automatic learner's fit is that of the learner which it chooses, as was found for each split.
    """
    fits = pd.read_parquet(PATH).astype(dict.fromkeys(("table", "notion", "setting", "learner", "failed"), str))
    fits["worth"] = find_worth(fits)
    chosen = zip(fits.setting, fits.learner, strict=True)
    fits["setting"] = [name.replace(f", {learner}", f", {AUTOMATIC}") for name, learner in chosen]
    return fits[fits.setting.isin([*list_candidates()])]


def find_worth(fits: pd.DataFrame) -> pd.Series:
    """Return what each fit is worth, in shares of the rows.

    A fit whose gap is at most what was asked, or not surely above it (95 %), is worth its height over the mixing line:
    what it is more accurate than drawing lots between plain training and one answer for all, at the same gap. Another
    is worth minus the accuracy that it lost against plain training, minus the gap that it missed by. One that gave no
    model is worth minus what plain training gains over one answer for all.
    """
    missed = -(fits.plain_accuracy - fits.accuracy) - (fits.gap - GAP)
    failed = -(fits.plain_accuracy - fits.constant).clip(lower=0.0)
    return find_height(fits).where(fits.gap_low <= GAP, missed).where(fits.accuracy.notna(), failed)


def find_height(fits: pd.DataFrame) -> pd.Series:
    """Return how far each fit's accuracy is above the mixing line at its gap."""
    gained = (fits.plain_accuracy - fits.constant).clip(lower=0.0)
    along = (fits.gap / fits.plain_gap.where(fits.plain_gap > 0)).clip(upper=1.0).fillna(1.0)
    return fits.accuracy - fits.constant - gained * along


def name_family(table: str) -> str:
    """Return what a table of the evidence was drawn from: tables of one family are left out together."""
    return table.partition(",")[0]


@cache
def list_tried() -> tuple[str, ...]:
    """Return the notions that were pursued."""
    return tuple(read_fits().notion.unique())


def weigh_fits(notion: str, size: Size, mu: float, *, without: str = "") -> pd.DataFrame:
    """Return the fits that pursued `notion`, or the one most like it, with the `weight` of each, > 0.

    `mu` is the budget in Gaussian differential privacy; `without` names a family of tables that is left out.
    """
    among = {*notions()[notion].conditions}
    like = max(list_tried(), key=lambda name: (name == notion, len({*notions()[name].conditions} & among)))
    return _weigh(*_place_fits(like), size, mu, without)


def weigh_losses(size: Size, mu: float, *, without: str = "") -> pd.DataFrame:
    """Return the fits of methods that pursue no notion, with the `weight` of each, > 0."""
    return _weigh(*_place_fits(None), size, mu, without)


def _weigh(fits: pd.DataFrame, places: np.ndarray, size: Size, mu: float, without: str) -> pd.DataFrame:
    far = (places - _place(size.rows, mu, size.groups)) / _WIDTHS
    weighed = fits.assign(weight=np.exp(-0.5 * np.square(far).sum(axis=1)))
    return weighed[weighed.family != without] if without else weighed


def read_losses() -> pd.DataFrame:
    """Return a row a fit of a method that pursues no notion."""
    return pd.read_parquet(LOSSES).astype(dict.fromkeys(("table", "setting"), str))


@cache
def _place_fits(notion: str | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the fits that pursued a notion, or none, with their `family`, and where each lies (fits, 3)."""
    if notion is None:
        fits = read_losses()
    else:
        fits = read_fits()
        fits = fits[fits.notion == notion].reset_index(drop=True)
    fits["family"] = fits.table.map(name_family)
    mus = {epsilon: gaussian_mu(epsilon, _DELTA) for epsilon in fits.epsilon.unique()}
    at = zip(fits["rows"], fits.epsilon.map(mus), fits.groups, strict=True)
    return fits, np.array([_place(*each) for each in at])


def _place(rows: float, mu: float, groups: float) -> tuple[float, float, float]:
    return math.log10(rows * mu), math.log10(rows), math.log2(groups)


def count_like(fits: pd.DataFrame) -> int:
    """Return how many tables are called like the one at hand."""
    nearest = fits.groupby("table").weight.max()
    return int((nearest >= _LIKE * nearest.max()).sum())


def forecast_fit(config: RunConfig, size: Size, *, without: str = "") -> Forecast | None:
    """Return what to expect of a run; None where nothing like it was tried: settings, notion, kind of data, place."""
    aware, name = config.method.info.pursues_notion, _name_setting(config.method)
    if name is None or config.epsilon is None or not size.is_like_evidence:
        return None
    if aware and config.notion not in list_tried():
        return None
    mu = gaussian_mu(config.epsilon, config.delta)
    fits = weigh_fits(config.notion, size, mu, without=without) if aware else weigh_losses(size, mu, without=without)
    fits = fits[fits.setting == name]
    made = fits[fits.accuracy.notna()]
    if made.empty or fits.weight.max() < _NEAR:
        return None
    weights = made.weight.to_numpy()
    lost = find_ends(find_loss(made).to_numpy(), weights)
    apart = find_ends(made.gap.to_numpy(), weights) if aware else None
    failed = float(1.0 - made.weight.sum() / fits.weight.sum())
    return Forecast(lost, apart, failed, count_like(fits))


def find_loss(fits: pd.DataFrame) -> pd.Series:
    """Return how much accuracy each fit lost against plain training; 0 where it lost none."""
    return (fits.plain_accuracy - fits.accuracy).clip(lower=0.0)


def _name_setting(method: Method) -> str | None:
    """Return what the fits call a method with these settings; None where it was not tried with them."""
    known = read_candidates() if method.info.pursues_notion else {method.info.name: type(method)()}
    asked = _drop_batch(method)
    return next((name for name, each in known.items() if _drop_batch(each) == asked), None)


def _drop_batch(method: Method) -> dict[str, Any]:
    """Return a method's settings without its batch, which suits the table."""
    return {name: value for name, value in method_to_json(method).items() if name != "batch_size"}


def find_ends(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the ends of the shortest interval that holds _HELD of the weight."""
    order = np.argsort(values, kind="stable")
    ordered, reached = values[order], np.cumsum(weights[order]) / weights.sum()
    ends = np.searchsorted(reached, np.concatenate([[0.0], reached[:-1]]) + _HELD)
    starts = np.flatnonzero(ends < len(ordered))
    lengths = ordered[ends[starts]] - ordered[starts]
    start = int(starts[np.argmin(lengths)])
    return float(ordered[start]), float(ordered[ends[start]])
