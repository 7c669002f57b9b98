"""The groups of a data set: sizes, base rates with intervals, small groups flagged; and what gives the group away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from fairpriv_core.data.dataset import Dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import SMALL, GroupProfile, Outline, count_classes, profile_groups
from fairpriv_core.data.randomized import format_spent
from fairpriv_core.figures.figures import GroupRates, group_bars
from fairpriv_core.figures.origin import Origin, find_origin
from fairpriv_core.files.column import Column
from fairpriv_core.methods.shared.responses import measure_answers
from fairpriv_core.records.source import find_answers, read_ratio, read_rows
from fairpriv_core.text import percent_text
from pages.widgets.data.columns import leave_out
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.state import draw_text, value

_MOST_BARS = 12
_WORST = 3
_MOST_FEATURES = 10
_REVEALING = 0.7
_TELLING = 0.95
_MOST_BUTTONS = 5
_NAME, _ROWS = "group_ratio", "rows"
_FEW = (
    "A whole number; empty uses all rows. The rows are drawn at random with a constant seed, for training and testing. "
    "The draw looks at no row, so ε stays the same."
)
_HELP = (
    "From 0 to 1; empty uses all rows. Training rows of larger groups are left out at random, until the smallest group "
    "has this share of their size. Every ε then assumes that it is public which rows were left out."
)
_ESTIMATED = (
    "Estimated from the randomised answers of all rows. Whiskers: about 95 %, by the flips and the sampling of rows. "
    "Of a group with too few rows for its flips nothing is shown; near that limit whiskers hold less often."
)
_MOST_NAMED = 10
_COUNTED = {"rows": st.column_config.NumberColumn(format="localized")}


def show_groups(dataset: Dataset, spec: DataSpec) -> None:
    """Draw each group's size and base rate; past twelve groups the largest are drawn and the others counted."""
    st.header("Groups" if dataset.sensitive == "group" else f"Groups of {plain(dataset.sensitive)}", anchor=False)
    profiles = profile_groups(dataset)
    by_size = sorted(profiles, key=lambda profile: -profile.size)
    largest, hidden = by_size[:_MOST_BARS], by_size[_MOST_BARS:]
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.dataframe(
            [_as_row(profile, flagged=any(item.flag for item in profiles)) for profile in by_size],
            key="group_table",
            hide_index=True,
            column_config=_COUNTED,
            alt="Each group's size, share of all rows, base rate with its 95 % interval, and whether it is small.",
        )
        small = [profile for profile in profiles if profile.flag]
        for profile in small[:_MOST_BARS]:
            words = f"{profile.name}: {profile.flag}. Rates of so few rows are uncertain, and a private run may stop."
            st.warning(plain(words), icon=":material/group_off:")
        if small and len(profiles) > 2:
            st.caption("Put small groups together above, or cut numbers at fewer edges.")
        if hidden:
            st.caption(plain(_format_hidden(hidden, profiles)))
    with right:
        groups = [_as_rates(profile) for profile in largest if profile.base_rate is not None]
        bars = GroupRates(f"Truly {dataset.label_names[1]}", "ink", groups)
        caption = "Whiskers: 95 % Wilson interval of each group, over all rows."
        origin = find_origin([spec.to_json()], tell=False)
        figure = group_bars([bars], rate="base_rate", origin=origin)
        show_figure(replace(figure, caption=caption), "group_bars")


def show_answers(dataset: Dataset, answers: Column) -> None:
    """Draw what randomised answers tell of each group: estimates, for nobody's group is known."""
    st.header(f"Groups of {plain(dataset.sensitive)}, by randomised answers", anchor=False)
    epsilon = plain(format_spent(answers))
    st.caption(f"Answers have ε = {epsilon}. Sizes and rates are estimates; nobody's group is known.")
    estimates = measure_answers(dataset, dataset.y)
    bars = GroupRates(f"Truly {dataset.label_names[1]}", "ink", estimates["groups"])
    figure = group_bars([bars], rate="base_rate", origin=Origin("released"))
    show_figure(replace(figure, caption=_ESTIMATED), "group_bars")


def show_revealing(areas: Sequence[tuple[str, float]]) -> None:
    """List the features that almost give the group away; `areas` has each feature with its AUC."""
    st.header("Features that give the group away", anchor=False)
    strong = [name for name, area in areas if area >= _REVEALING]
    if strong:
        st.markdown(
            f"From {plain(', '.join(strong[:_MOST_FEATURES]))} alone the group can often be predicted "
            f"(AUC of {_REVEALING:g} or more). Leaving the sensitive attribute out does not make a model blind to it."
        )
    else:
        st.markdown(
            f"No single feature predicts the group with an AUC of {_REVEALING:g} or more; several together may."
        )
    rows = [{"feature": name, "AUC": round(area, 2)} for name, area in areas[:_MOST_FEATURES]]
    bar = st.column_config.ProgressColumn("AUC of predicting the group", min_value=0.5, max_value=1.0, format="%.2f")
    st.dataframe(
        rows,
        key="revealing_table",
        hide_index=True,
        column_config={"AUC": bar},
        alt="Features by how well each alone predicts the group; 0.5 says nothing, 1 gives it away.",
    )


def show_telling(outline: Outline, *, own: bool) -> None:
    """Warn of features that give the label away; of an `own` file these and those of the group can be left out."""
    label = [name for name, area in outline.telling if area >= _TELLING]
    if label:
        words = (
            f"From {', '.join(label[:_MOST_FEATURES])} alone the label can nearly always be predicted. Is that known "
        )
        st.warning(plain(words + "when the model is used?"), icon=":material/key:")
    group = [name for name, area in outline.revealing if area >= _REVEALING]
    strong = list(dict.fromkeys([*label, *group]))[:_MOST_BUTTONS]
    if not own or not strong:
        return
    with st.container(horizontal=True):
        for name in strong:
            st.button(plain(f"Leave out {name}"), key=f"leave_out.{name}", on_click=leave_out, args=(name,))


def _format_hidden(hidden: Sequence[GroupProfile], profiles: Sequence[GroupProfile]) -> str:
    """Count the groups that are not drawn, and name those whose base rate is furthest from everybody's."""
    rates = [(profile, profile.base_rate) for profile in profiles if profile.base_rate is not None]
    overall = sum(group.size * rate for group, rate in rates) / max(1, sum(group.size for group, _ in rates))
    far = sorted((abs(rate - overall), group.name, rate, group.size) for group, rate in rates if group in hidden)
    worst = "; ".join(f"{name} ({percent_text(rate)} of {size:,})" for _, name, rate, size in reversed(far[-_WORST:]))
    return (
        f"{len(hidden)} smaller groups are only in the table. Furthest from the overall base rate of "
        f"{percent_text(overall)}: {worst}."
    )


def _as_row(profile: GroupProfile, *, flagged: bool) -> dict[str, object]:
    between = "–" if profile.low is None else f"{percent_text(profile.low)} to {percent_text(profile.high)}"
    return {
        "group": profile.name,
        "rows": profile.size,
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


def choose_fewer(spec: DataSpec) -> DataSpec | None:
    """Return `spec` with the number of rows and the group ratio that are chosen; None after saying why it cannot be."""
    with st.expander("Leave out rows", expanded=bool(value(_NAME, "") or value(_ROWS, ""))):
        rows = draw_text(_ROWS, "Rows: how many are used", help=_FEW) or None
        ratio = draw_text(_NAME, "Group ratio: the smallest group's size over each larger one's", help=_HELP) or None
    return attempt(lambda: replace(spec, group_ratio=read_ratio(ratio), rows=read_rows(rows)))


def show_thinned(dataset: Dataset, *, seed: int, split: str) -> None:
    """Say which training rows are left where larger groups are thinned; a sentence where none can be left out."""
    train = None if dataset.group_ratio is None else attempt(lambda: split_dataset(dataset, seed=seed, split=split)[0])
    if train is not None:
        sizes = ", ".join(f"{group.size:,} of {group.name}" for group in profile_groups(train) if group.size)
        st.markdown(plain(f"A run with seed {seed} trains on {train.n:,} rows: {sizes}. Test rows stay as drawn."))


def show_counts(outline: Outline, spec: DataSpec, *, seed: int, split: str) -> None:
    """Draw how many rows there are of what, and what gives group and label away; columns of a file can be left out."""
    dataset = outline.dataset.without_nulls()
    st.markdown(f"{_format_rows(dataset)} {_format_labels(dataset)}")
    show_thinned(dataset, seed=seed, split=split)
    answers = find_answers(spec.to_json())
    if answers is not None:
        show_answers(dataset, answers)
        return
    if dataset.image is not None:
        _show_classes(dataset)
    if dataset.labels == 2:
        show_groups(dataset, spec)
    if dataset.image is None:
        show_revealing(outline.revealing)
        show_telling(outline, own=spec.file is not None)


def show_terms(outline: Outline) -> None:
    """Draw what an epsilon on the data assumes, and the caveats of the data but for those of left-out columns."""
    dataset = outline.dataset
    with st.expander("What an ε on this data assumes", key="data_assumptions"):
        for threat, sentences in dataset.assumptions.items():
            for assumption in sentences:
                st.markdown(f"- {plain(assumption)} (methods that protect the {plain(threat)})")
    reasons = {reason for _, reason in outline.columns_left_out}
    for caveat in (text for text in dataset.caveats if text not in reasons):
        st.caption(plain(sentence(caveat)))


def _format_rows(dataset: Dataset) -> str:
    if dataset.image is None:
        people = "" if dataset.unit is None else f"**{dataset.people:,}** people, "
        return f"{people}**{dataset.n:,}** rows, **{dataset.features:,}** encoded features."
    channels, height, width = dataset.image
    kind = "grey" if channels == 1 else "colour"
    unlike = "" if dataset.unit is None else f", **{dataset.people:,}** of them different"
    return f"**{dataset.n:,}** images{unlike}, {width:d} × {height:d} pixels in {kind}."


def _format_labels(dataset: Dataset) -> str:
    if dataset.labels > 2:
        return f"Predicted: one of {dataset.labels:,} classes ({plain(_list(dataset.label_names))})."
    return (
        f"Predicted: whether the label is **{plain(dataset.label_names[1])}** (positive) or "
        f"**{plain(dataset.label_names[0])}**."
    )


def _show_classes(dataset: Dataset) -> None:
    """Draw how many rows of each class there are, in all and by group; of one published split by its two parts."""
    st.header("Classes", anchor=False)
    columns = {"rows": np.bincount(dataset.y, minlength=dataset.labels)}
    if dataset.one_split and dataset.official_test is not None:
        for name, part in (("training", ~dataset.official_test), ("test", dataset.official_test)):
            columns[name] = np.bincount(dataset.y[part], minlength=dataset.labels)
    if dataset.group_names != dataset.label_names:
        columns |= dict(zip(dataset.group_names, count_classes(dataset), strict=True))
    rows = [
        {"class": name, **{head: int(counts[place]) for head, counts in columns.items()}}
        for place, name in enumerate(dataset.label_names)
    ]
    st.dataframe(rows, key="class_table", hide_index=True, alt="How many rows of each class there are, by group.")
    _warn_of_few(dataset)


def _warn_of_few(dataset: Dataset) -> None:
    """Name the smallest cells of class and group, where groups are not the classes."""
    counts = count_classes(dataset)
    cells = sorted((counts[group, label], group, label) for group, label in np.argwhere(counts < SMALL))
    if cells and dataset.group_names != dataset.label_names:
        listing = [
            f"{dataset.label_names[label]} in {dataset.group_names[group]} {size:,}" for size, group, label in cells
        ]
        words = f"{len(cells)} of {counts.size} cells have fewer than {SMALL} rows, of which rates say little"
        st.caption(plain(f"{words}: {_list(listing)}."))


def _list(names: Sequence[str]) -> str:
    return "; ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    )
