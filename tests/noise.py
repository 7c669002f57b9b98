"""Mutants of the noise itself."""

from __future__ import annotations

import pytest

from fairpriv_core.privacy.mechanism import Mechanism


def scale_noise(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """Let every sum get `factor` times the noise that is counted."""
    honest = Mechanism._step_noise
    monkeypatch.setattr(Mechanism, "_step_noise", lambda self, *what: (factor * piece for piece in honest(self, *what)))
