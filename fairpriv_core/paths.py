"""Paths that a person writes, checked where they come in: `~nobody`, a name too long, a link to itself."""

from __future__ import annotations

import errno
from pathlib import Path

from fairpriv_core.errors import BadInput

#: of a file of settings
MOST_BYTES = 10_000_000
_IMPOSSIBLE = {errno.ENAMETOOLONG: "its name is too long", errno.ELOOP: "its links lead to themselves"}


def read_path(text: str, *, field: str = "file") -> Path:
    """Return the absolute path that `text` names, with a leading ~ as the home folder; nothing need be there.

    Raises BadInput, about `field`, where no file can have that path.
    """
    try:
        path = Path(text).expanduser().absolute()
        path.stat()
    except OSError as error:
        if error.errno in _IMPOSSIBLE:
            raise _refuse(text, _IMPOSSIBLE[error.errno], field) from error
    except RuntimeError as error:
        raise _refuse(text, "there is no such person", field) from error
    except ValueError as error:  # a zero byte, or a lone surrogate
        raise _refuse(text, "a character in it is none of a file's name", field) from error
    return path


def read_text(text: str, *, field: str, what: str) -> str:
    """Return the UTF-8 text of the file at the path `text`, at most MOST_BYTES.

    Raises BadInput, about `field` and with the file called `what`, where it cannot be read.
    """
    path = read_path(text, field=field)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        decoded = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{what} cannot be read: {text} ({error}).", field=field) from error
    if len(content) > MOST_BYTES:
        raise BadInput(f"{what} must have at most {MOST_BYTES / 1e6:g} MB, and {text} has more.", field=field)
    return decoded


def _refuse(text: str, reason: str, field: str) -> BadInput:
    return BadInput(f"'{text}' cannot be a file ({reason}); write another path.", field=field)
