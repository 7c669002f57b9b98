"""Labels and sensitive values as arrays and frames give them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from fairpriv_core.errors import BadInput

_EXACT = 2**53  # from here on a float stands for several whole numbers
#: pandas' own, which may be missing
_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))


def read_values(given: Any, rows: Any) -> list[Hashable]:
    """Return one value for each row, a tuple where `given` has several columns; BadInput where one is missing."""
    values = np.asarray(given, dtype=object)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise BadInput(
            f"sensitive_features must be one column or several, got an array of shape {values.shape}.",
            field="sensitive_features",
        )
    check_consistent_length(rows, values)
    missing = int(pd.isna(values).any(axis=1).sum())
    if missing:
        raise BadInput(f"sensitive_features lacks the value of {missing} rows.", field="sensitive_features")
    return list(values[:, 0]) if values.shape[1] == 1 else [tuple(row) for row in values]


def find_column(frame: pd.DataFrame, place: Any) -> Hashable:
    """Return the name of a column that is named, or counted from 0; BadInput where there is none."""
    if place in frame.columns:
        return str(place) if isinstance(place, str) else place
    if isinstance(place, int | np.integer) and 0 <= place < frame.shape[1]:
        label: Hashable = frame.columns[int(place)]
        return label
    raise BadInput(
        f"sensitive_feature_ids names the column {place!r}, and X has {list(frame.columns)}.",
        field="sensitive_feature_ids",
    )


def as_groups(listed: Any) -> tuple[Hashable, ...]:
    """Return groups as they are listed, those of several columns as tuples."""
    return tuple(tuple(group) if isinstance(group, list) else group for group in listed)


def name_group(group: Hashable) -> str:
    """Return what a person reads of a group."""
    return ", ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def to_exact(y: Any) -> Any:
    """Return labels y as they are, with whole numbers of pandas' own kind as NumPy's: scikit-learn makes them float."""
    is_exact = isinstance(y, pd.Series) and y.dtype.name in _WHOLE and not y.isna().any()
    return y.to_numpy(y.dtype.name.lower()) if is_exact else y


def require_exact(values: Iterable[Any], field: str) -> None:
    """Raise BadInput where numbers, alone or in tuples, are so large that neighbours share one float."""
    parts = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
    for part in parts:
        if isinstance(part, float | np.floating) and abs(float(part)) >= _EXACT:
            raise BadInput(
                f"{field} holds {part:.0f}, and from {_EXACT:,} on a float stands for several whole numbers; give them "
                "as text or as whole numbers.",
                field=field,
            )
