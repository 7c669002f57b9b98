"""The errors a person may see: one sentence each, with the value that is wrong and what would be right."""

from __future__ import annotations

from fairpriv_core.text import to_sentence


class FairprivError(Exception):
    """Base of every error that is shown as a sentence, as `to_sentence` has it; `exit_code` is the command line's."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(to_sentence(message))


class BadInput(FairprivError):
    """A value that a person gave cannot be used; `field` names the form field it belongs to."""

    exit_code = 2

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class DataUnavailable(BadInput):
    """A benchmark's file is neither in the cache nor downloadable."""


class Unsupported(FairprivError):
    """Something that an accountant, method or notion does not know; it refuses rather than guesses."""


class RunFailed(FairprivError):
    """A run that was allowed to start cannot go on (a group vanished under noise, training diverged)."""


class Damaged(FairprivError):
    """Something in the run store is not what was written there."""


class StoreError(FairprivError):
    """The run store cannot be read or written; nothing that it holds was changed."""
