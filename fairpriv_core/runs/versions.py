"""The versions that a result depends on, read without importing anything heavy."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

_LIBRARIES = ("fairpriv", "numpy", "torch", "scikit-learn", "dp-accounting", "randomgen")


def library_versions() -> dict[str, str]:
    """Return name -> version of Python and of the libraries that numbers come from."""
    return dict(_read_versions())


@cache
def _read_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
