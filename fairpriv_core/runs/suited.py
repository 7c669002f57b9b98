"""Whether there is anything left that a method protects: not where labels, which are public to it, are the groups."""

from __future__ import annotations

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import MethodInfo


def check_sensitive(info: MethodInfo, data: Dataset) -> Dataset:
    """Return the data; BadInput where a method takes labels as public and these are the sensitive attribute."""
    public = info.threat_model == "attribute"
    if public and data.label_names == data.group_names and np.array_equal(data.y, data.group):
        raise BadInput(
            f"method '{info.name}' protects the sensitive attribute and takes labels as public; in '{data.name}' the "
            "label is the sensitive attribute, so choose a method that protects whole records.",
            field="method",
        )
    return data
