"""What the tests of plug-ins may ask for."""

from __future__ import annotations

from tests.plugins.installed import install

__all__ = ["install"]
