"""What a planted fault is: what is put in place of what is there, and where it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fairpriv_core.methods.base import Method
from tests.methods.examples.catalog import CASES

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """What is planted, the case that it is planted in, and the data on which it shows."""

    plant: Plant
    case: str
    shape: str = "rows of all lengths"

    def find(self) -> tuple[Method, Callable[..., Any]]:
        """Return the method and what makes its data."""
        return next((each.method, each.make) for each in CASES if each.name == self.case)


def replacing(place: object, name: str, build: Callable[[Any], Any]) -> Plant:
    """Return what plants `build` of what is there."""
    return lambda patch: patch.setattr(place, name, build(getattr(place, name)))
