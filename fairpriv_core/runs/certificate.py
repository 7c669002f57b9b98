"""What a run certifies of the model that it exports: made from the private evaluation's counts.

The certificate is about the very decisions that `fairpriv predict` and the run's metrics are made of. It stands on
noisy counts of the test rows alone, which training never saw and which the run's epsilon pays for: Hoeffding's or any
other inequality for independent rows says nothing of rows that the model was fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.base import Method
from fairpriv_core.notions.certified import certify_gaps
from fairpriv_core.records.record import certified_failure

OF_EXPORTED = "exported model"  # what certificates of this kind are marked with
ABOUT = (
    "The decisions of the exported model, on people drawn at random like the test rows. Labels are as frequent in each "
    "group as there."
)
ASSUMED = "Test rows are independent people. They chose neither the model nor its settings."
FILE_ASSUMED = "The columns' ranges and categories were read from the test rows too, which the bounds leave out."
NO_COUNTS = "No certificate was made: it takes its noise from a finite epsilon, and this run has none."
SAME_PEOPLE = "No certificate was made: people have several rows, and its bounds take rows as independent."


def certify_exported(
    method: Method, test: Dataset, private: Mapping[str, Any] | None, *, learned: bool
) -> dict[str, Any]:
    """Return the notes with the certificate of a run's exported model; {} where its method certifies none.

    `private` is the run's private evaluation on `test`, None where it could have none; `learned` says that what columns
    hold was read from the rows of `test` too. Without a certificate a `reason`
    stands in its place.
    """
    failure = certified_failure(method)
    if failure is None:
        return {}
    reason = NO_COUNTS if private is None else SAME_PEOPLE if test.unit is not None else None
    if private is None or reason is not None:
        return {"certificates": {"of": OF_EXPORTED, "reason": reason}}
    bounds = certify_gaps(private["counts"], private["noise"], failure=failure)
    assumed = [ASSUMED, *([FILE_ASSUMED] if learned else [])]
    statement = {"of": OF_EXPORTED, "about": ABOUT, "assumptions": assumed, "rows": test.n, "failure": failure}
    return {"certificates": {**statement, **bounds}}
