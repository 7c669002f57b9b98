"""The encoder of the data that a spec names."""

from __future__ import annotations

from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.gather import declare
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.roles import make_plan


def load_encoder(spec: DataSpec) -> Encoder:
    """Return the encoder; only a person's own file is read for it."""
    return Encoder(make_plan(spec, declare(spec)).features)
