"""The groups of a data set: sizes, base rates with intervals, small groups flagged; and what gives the group away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.profile import GroupProfile, profile_groups
from fairpriv_core.records.record import RAW
from fairpriv_core.report.figures import GroupRates, group_bars
from fairpriv_core.text import percent_text
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.guard import plain

_MOST_BARS = 12
_WORST = 3
_MOST_FEATURES = 10
_REVEALING = 0.7


def show_groups(dataset: Dataset) -> None:
    """Draw each group's size and base rate; past twelve groups the largest are drawn and the others counted."""
    st.subheader(f"Groups of {plain(dataset.sensitive)}", anchor=False)
    profiles = profile_groups(dataset)
    by_size = sorted(profiles, key=lambda profile: -profile.size)
    drawn, hidden = by_size[:_MOST_BARS], by_size[_MOST_BARS:]
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.dataframe(
            [_as_row(profile, flagged=any(each.flag for each in profiles)) for profile in by_size],
            key="group_table",
            hide_index=True,
            alt="Each group's size, share of all people, base rate with its 95 % interval, and whether it is small.",
        )
        small = [profile for profile in profiles if profile.flag]
        for profile in small[:_MOST_BARS]:
            words = f"{profile.name}: {profile.flag}. Rates of so few people say little, and a private run may refuse."
            st.warning(plain(words), icon=":material/group_off:")
        if hidden:
            st.caption(plain(_describe_hidden(hidden, profiles)))
    with right:
        groups = [_as_rates(profile) for profile in drawn if profile.base_rate is not None]
        bars = GroupRates(f"Truly {dataset.label_names[1]}", "ink", groups)
        caption = f"Whiskers: 95 % Wilson interval of each group, over all rows. {RAW}"
        show_figure(replace(group_bars([bars], rate="base_rate"), caption=caption), "group_bars")


def show_revealing(found: Sequence[tuple[str, float]]) -> None:
    """List the features that almost give the group away, of all that were `found` with their AUC."""
    st.subheader("Features that give the group away", anchor=False)
    strong = [name for name, area in found if area >= _REVEALING]
    if strong:
        st.markdown(
            f"From {plain(', '.join(strong[:_MOST_FEATURES]))} alone the group can often be told "
            f"(AUC of {_REVEALING:g} or more). Leaving the sensitive attribute out does not make a model blind to it."
        )
    else:
        st.markdown(f"No single feature tells the group with an AUC of {_REVEALING:g} or more; several together may.")
    rows = [{"feature": name, "AUC": round(area, 2)} for name, area in found[:_MOST_FEATURES]]
    bar = st.column_config.ProgressColumn("AUC of telling the group", min_value=0.5, max_value=1.0, format="%.2f")
    st.dataframe(
        rows,
        key="revealing_table",
        hide_index=True,
        column_config={"AUC": bar},
        alt="Features by how well each alone predicts the group; 0.5 says nothing, 1 gives it away.",
    )


def _describe_hidden(hidden: Sequence[GroupProfile], profiles: Sequence[GroupProfile]) -> str:
    """Count the groups that are not drawn, and name those whose base rate is furthest from everybody's."""
    known = [(each, each.base_rate) for each in profiles if each.base_rate is not None]
    overall = sum(each.size * rate for each, rate in known) / max(1, sum(each.size for each, _ in known))
    apart = sorted((abs(rate - overall), each.name, rate, each.size) for each, rate in known if each in hidden)
    worst = "; ".join(f"{name} ({percent_text(rate)} of {size:,})" for _, name, rate, size in reversed(apart[-_WORST:]))
    return (
        f"{len(hidden)} smaller groups are in the table and not drawn. Of these the furthest from the base rate of "
        f"everybody, {percent_text(overall)}: {worst}."
    )


def _as_row(profile: GroupProfile, *, flagged: bool) -> dict[str, object]:
    between = "–" if profile.low is None else f"{percent_text(profile.low)} to {percent_text(profile.high)}"
    return {
        "group": profile.name,
        "people": profile.size,
        "share": percent_text(profile.share),
        "base rate": percent_text(profile.base_rate),
        "95 % interval": between,
        **({"remark": profile.flag} if flagged else {}),
    }


def _as_rates(profile: GroupProfile) -> dict[str, object]:
    return {
        "name": profile.name,
        "size": profile.size,
        "base_rate": profile.base_rate,
        "base_rate_interval": (profile.low, profile.high),
    }
