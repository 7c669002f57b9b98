"""What is counted of data: rows, classes and groups; of images no more than that, since they may be faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.profile import SMALL, Outline, count_classes
from pages.widgets.data.groups import show_groups, show_revealing
from pages.widgets.data.thinning import show_thinned
from pages.widgets.shared.guard import plain

_MOST_NAMED = 10


def show_counts(outline: Outline, *, seed: int, split: str) -> None:
    """Draw how many rows there are of what, and what gives the group away."""
    dataset = outline.dataset
    st.markdown(f"{_describe_rows(dataset)} {_describe_labels(dataset)}")
    show_thinned(dataset, seed=seed, split=split)
    if dataset.image is not None:
        _show_classes(dataset)
    if dataset.labels == 2:
        show_groups(dataset)
    if dataset.image is None:
        show_revealing(outline.revealing)


def show_terms(dataset: Dataset) -> None:
    """Draw what an epsilon on the data takes as given, and what must be said of them."""
    with st.expander("What an ε on this data takes as given", key="data_assumptions"):
        for threat, sentences in dataset.assumptions.items():
            for said in sentences:
                st.markdown(f"- {plain(said)} (methods that protect the {plain(threat)})")
    for caveat in dataset.caveats:
        st.caption(plain(caveat))


def _describe_rows(dataset: Dataset) -> str:
    if dataset.image is None:
        return f"**{dataset.people:,}** people, **{dataset.n:,}** rows, **{dataset.features:,}** encoded features."
    channels, height, width = dataset.image
    kind = "grey" if channels == 1 else "colour"
    unlike = "" if dataset.unit is None else f", **{dataset.people:,}** of them different"
    return f"**{dataset.n:,}** images{unlike}, {width:d} × {height:d} pixels in {kind}."


def _describe_labels(dataset: Dataset) -> str:
    if dataset.labels > 2:
        return f"Predicted: one of {dataset.labels:,} classes ({plain(_list(dataset.label_names))})."
    return (
        f"Predicted: whether the label is **{plain(dataset.label_names[1])}** (positive) or "
        f"**{plain(dataset.label_names[0])}**."
    )


def _show_classes(dataset: Dataset) -> None:
    """Draw how many rows of each class there are, in all and by group; of one published split by its two parts."""
    st.subheader("Classes", anchor=False)
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
    few = sorted((counts[group, label], group, label) for group, label in np.argwhere(counts < SMALL))
    if few and dataset.group_names != dataset.label_names:
        named = [f"{dataset.label_names[label]} in {dataset.group_names[group]} {size:,}" for size, group, label in few]
        words = f"{len(few)} of {counts.size} cells have fewer than {SMALL} rows, of which rates say little"
        st.caption(plain(f"{words}: {_list(named)}."))


def _list(names: Sequence[str]) -> str:
    return "; ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    )
