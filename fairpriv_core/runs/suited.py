"""Whether a method can train on data: how many labels it tells apart, and what it takes as public."""

from __future__ import annotations

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo


def check_data(info: MethodInfo, data: Dataset) -> Dataset:
    """Return the data; BadInput where a method cannot train on them: too many labels, or groups it takes as public."""
    if info.max_labels is not None and data.labels > info.max_labels:
        raise BadInput(
            f"method '{info.name}' tells at most {info.max_labels} labels apart, and '{data.name}' has {data.labels}; "
            "choose another method, or say which label is the positive one with positive.",
            field="method",
        )
    if info.threat_model == "attribute" and data.label_names == data.group_names and np.array_equal(data.y, data.group):
        raise BadInput(
            f"method '{info.name}' protects the sensitive attribute and takes labels as public; in '{data.name}' the "
            "label is the sensitive attribute, so choose a method that protects whole records.",
            field="method",
        )
    return data
