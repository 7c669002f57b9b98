"""Pictures of compared runs: accuracy against gap, curves over each other, groups beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.facts import wording
from fairpriv_core.facts.classes import are_groups, compare_classes, find_reference, has_classes, list_shares
from fairpriv_core.facts.compare import Compared
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures import live
from fairpriv_core.figures.comparison import compare_groups, compare_points
from fairpriv_core.figures.live import fold_curves
from fairpriv_core.figures.origin import find_origin_of_rows, format_origin
from fairpriv_core.stats import Mean
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import number_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.history import find_history
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import draw_list

_RATES = ("positive_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy")
_NO_CURVES = "These runs stored no numbers of single epochs."


def show_points(settings: Sequence[Compared], plain: TableRow | None) -> None:
    """Draw accuracy against gap, `plain` with the mixing line; a sentence where the runs pursue different notions."""
    if len({setting.row.notion for setting in settings}) > 1:
        st.caption("These runs pursue different notions, so no chart compares their gaps.")
        return
    show_figure(compare_points(settings, plain), "compare_points")


def show_curves(store: RunStore, settings: Sequence[Compared]) -> None:
    """Draw accuracy and the gaps while training, seeds folded, runs over each other."""
    histories = [
        [find_history(store, key, is_shown=live.is_overlaid) for key in setting.row.keys] for setting in settings
    ]
    if not any(live.has_epochs(history) for seeds in histories for history in seeds):
        st.caption(_NO_CURVES)
        return
    rows = [setting.row for setting in settings]
    notions = dict.fromkeys(row.notion for row in rows if not row.by_answers)  # of answers no curve looks at groups
    origin = find_origin_of_rows(rows)
    columns = st.columns(2, gap="medium")
    for number, metric in enumerate(["accuracy", *(f"{notion}_gap" for notion in notions)]):
        curves = [
            fold_curves(setting.label, setting.row.method, own, metric)
            for setting, own in zip(settings, histories, strict=True)
        ]
        with columns[number % 2]:
            show_figure(live.overlay(curves, metric=metric, origin=origin), f"overlay_{metric}")


def show_groups(settings: Sequence[Compared]) -> None:
    """Draw a rate of each group as bars, seeds folded; which rate stands in the address."""
    rate = str(draw_list("rate", "Share of each group", list_rates(settings), wording.metric_title))
    show_figure(compare_groups(settings, rate=rate), "compare_groups")


def list_rates(settings: Sequence[Compared]) -> list[str]:
    """Return the shares of groups that all of the runs have: of many classes the accuracy and each class's share."""
    exact = [setting.runs[0].exact for setting in settings]
    rates_by_run = [tuple(list_shares({} if measures is None else measures.found)) or _RATES for measures in exact]
    return [rate for rate in rates_by_run[0] if all(rate in rates for rates in rates_by_run)]


def show_classes(settings: Sequence[Compared]) -> None:
    """Draw each class's accuracy as bars and in numbers, seeds folded; nothing where there are two labels."""
    numbers = [measures.found for setting in settings if (measures := setting.runs[0].exact) and has_classes(measures)]
    if not numbers:
        return
    st.header("Accuracy of each class", anchor=False)
    if not all(map(are_groups, numbers)):
        figure = compare_groups(settings, rate="accuracy", of="class")
        show_figure(figure, "compare_classes")
    reference = find_reference([setting.row.method for setting in settings])
    letters = [setting.letter for setting in settings]
    lines = compare_classes([setting.runs for setting in settings], reference=reference)
    table = [
        {
            "class": line.name,
            **{
                letter: _show_share(mean, gain)
                for letter, mean, gain in zip(letters, line.accuracies, line.gains, strict=True)
            },
        }
        for line in lines
    ]
    st.dataframe(table, key="class_table", hide_index=True, alt="Each class's accuracy in each run.")
    origin = format_origin(setting.row.asked for setting in settings)
    beside = "" if reference is None else f" In brackets: percentage points against {plain(letters[reference])}."
    st.caption(f"In per cent, mean ± 95 % over seeds.{beside} {plain(origin)}")


def _show_share(mean: Mean, gain: float | None) -> str:
    share = number_text(None if mean.mean is None else 100 * mean.mean)
    half = "" if mean.half is None else f" ± {number_text(100 * mean.half)}"
    return f"{share}{half}" + ("" if gain is None else f" ({100 * gain:+.2f})")
