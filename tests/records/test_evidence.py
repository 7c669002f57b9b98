"""The evidence of what methods come to: what a fit is worth, what there is, and whether forecasts from it hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from examples.make_advice import try_forecasts
from fairpriv_core.records.config import build_config
from fairpriv_core.records.evidence import (
    GAP,
    Forecast,
    Size,
    find_ends,
    find_loss,
    find_worth,
    forecast_fit,
    list_able,
    list_candidates,
    list_unaware,
    name_family,
    read_fits,
    read_losses,
    weigh_fits,
)

DATA = {"dataset": "synthetic", "sensitive": "group"}


def fit(accuracy: float | None, gap: float | None, *, low: float | None = None, end: float = 0.2) -> float:
    """Return what a fit is worth where plain training has 0.8 and `end`, and one answer for all 0.6."""
    numbers = {"accuracy": accuracy, "gap": gap, "gap_low": gap if low is None else low}
    plain = {"plain_accuracy": 0.8, "plain_gap": end, "constant": 0.6}
    return float(find_worth(pd.DataFrame([{**numbers, **plain}]).astype(float))[0])


def ask(method: Any, notion: str = "demographic_parity", **other: Any) -> Forecast | None:
    config = build_config({"data": DATA, "notion": notion, "method": method, "epsilon": 1.0, **other})
    return forecast_fit(config, Size(4_000, 2))


def test_a_fit_is_worth_its_height_over_the_mixing_line_or_what_it_lost_and_missed() -> None:
    assert fit(0.7, 0.02) == pytest.approx(0.7 - 0.62), "a tenth of the way from 0.6 to 0.8"
    assert fit(0.7, 0.06, low=GAP) == pytest.approx(0.7 - 0.66), "not surely above what was asked"
    assert fit(0.7, 0.06, low=0.041) == pytest.approx(-0.1 - 0.02)
    assert fit(None, None) == pytest.approx(-0.2), "no model is worse than one answer for all"
    assert fit(0.6, 0.0) == 0.0
    assert fit(0.7, 0.02, end=0.0) == pytest.approx(-0.1), "where plain training has no gap it is the line's only end"


def test_the_evidence_has_every_candidate_once_on_enough_tables() -> None:
    fits = read_fits()
    assert {*list_able()} == {*list_candidates()}, "run: python -m examples.make_advice"
    assert not fits.duplicated(["table", "notion", "setting", "epsilon", "seed"]).any()
    assert fits.groupby(["notion", "setting"]).size().nunique() == 1, "each was tried everywhere"
    tables = fits.groupby("table")[["rows", "groups"]].first()
    assert len(tables) >= 12 and (tables.groups > 2).sum() >= 4 and (tables["rows"] * 4 / 3 < 3_000).sum() >= 3
    assert fits.worth.notna().all() and (fits.failed.eq("") == fits.accuracy.notna()).all()


def test_a_fit_counts_by_how_near_its_table_lies_whatever_its_order() -> None:
    fits = weigh_fits("demographic_parity", Size(750, 2), 0.27)
    near = fits[(fits["rows"] == 750) & (fits.groups == 2) & (fits.epsilon == 1.0)]
    assert near.weight.min() > 0.99 > fits[fits.groups > 2].weight.max()
    left = weigh_fits("demographic_parity", Size(750, 2), 0.27, without="adult")
    assert "adult" not in {*left.family} and len(left) < len(fits)


def test_nothing_is_forecast_of_what_nobody_tried() -> None:
    usual = ask("pf_ld")
    assert usual is not None and usual == ask({"name": "pf_ld", "batch_size": 64}), "a batch suits the table"
    assert ask({"name": "pf_ld", "epochs": 3}) is None and ask({"name": "pf_ld", "gap_target": 0.1}) is None
    assert ask({"name": "dp_sgd", "epochs": 3}) is None and ask("pf_ld", "accuracy_parity") is None
    config = build_config({"data": DATA, "notion": "demographic_parity", "method": "pf_ld", "epsilon": 1.0})
    assert forecast_fit(config, Size(4_000, 2, labels=3)) is None
    assert all(ask(each, epsilon=1e6) is None for each in ("pf_ld", "dp_sgd")), "0.1 to 3 were tried"
    assert forecast_fit(config, Size(10_000_000, 2)) is None and forecast_fit(config, Size(4_000, 200)) is None


def test_of_a_method_that_pursues_no_notion_the_loss_alone_is_forecast() -> None:
    usual = ask("dp_sgd")
    assert usual is not None and usual.gap is None and usual == ask("dp_sgd", "accuracy_parity")
    assert "gap" not in usual.format() and "points of accuracy against plain training" in usual.format()
    fits = read_losses()
    assert {*fits.setting} == {*list_unaware()}, "run: python -m examples.make_losses"
    assert not fits.duplicated(["table", "setting", "epsilon", "seed"]).any()
    assert fits.groupby("setting").size().nunique() == 1, "each was tried everywhere"
    assert {*fits.table} == {*read_fits().table}


def test_the_sentences_say_both_ends_and_the_fits_that_gave_no_model() -> None:
    said = Forecast((0.0, 0.052), (0.01, 0.2), failed=0.0, tables=3).format()
    assert "lost 0 to 5 points" in said and "gaps were 1 to 20 points" in said and "model" not in said
    assert "lost less than 1 point of" in Forecast((0.0, 0.004), None, failed=0.0, tables=3).format()
    assert "40 % of all gave no model" in Forecast((0.0, 0.1), (0.0, 0.1), failed=0.4, tables=3).format()


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_the_ends_are_the_nearest_between_which_nine_tenths_of_the_weight_lie(spread: float) -> None:
    values, weights = np.array([0.0, spread, 1.0, 2.0, 3.0]) / 100, np.array([1.0, 0.2, 1.0, 0.7, 0.1])
    low, high = find_ends(values, weights)
    among = [
        (far - near, near, far)
        for near, far in product(values, values)
        if weights[(values >= near) & (values <= far)].sum() >= 0.9 * weights.sum()
    ]
    assert (high - low, low, high) == min(among)


def test_forecasts_of_losses_hold_on_tables_from_sources_that_they_do_not_rest_on() -> None:
    inside: list[bool] = []
    shorter: list[float] = []
    for (setting, table, epsilon), cell in read_losses().dropna().groupby(["setting", "table", "epsilon"]):
        raw = {"data": DATA, "notion": "demographic_parity", "method": setting, "epsilon": epsilon}
        size = Size(int(cell["rows"].iloc[0]), int(cell.groups.iloc[0]))
        forecast = forecast_fit(build_config(raw), size, without=name_family(table))
        assert forecast is not None
        inside += find_loss(cell).between(*forecast.loss).tolist()
        shorter.append((cell.plain_accuracy - cell.constant).mean() - np.ptp(forecast.loss))
    assert len(inside) > 600 and 0.8 < np.mean(inside) < 0.97
    assert np.mean(shorter) > 0.0, "than from one answer for all to plain training"


def test_forecasts_hold_on_tables_from_sources_that_they_do_not_rest_on() -> None:
    tried = try_forecasts(step=4)
    for _, cells in tried.groupby("protect"):
        held = cells[["loss", "gap"]].mean()
        assert len(cells) > 200 and held.between(0.8, 0.97).all()
    lengths = tried.select_dtypes("number").mean()
    assert lengths.loss_length < lengths.gain, "than from one answer for all to plain training"
