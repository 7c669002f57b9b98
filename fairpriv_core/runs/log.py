"""What an operator reads of the process that trains: one line of JSON an event, on standard error.

An event names runs and previews by their keys, and says what became of them, how long it took and how it failed. It
holds no data, no settings, no path, no person and no error's text, in which a value of a table may stand.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

from fairpriv_core.errors import BadInput

VARIABLE = "FAIRPRIV_LOG_LEVEL"
LEVELS = {"info": logging.INFO, "warning": logging.WARNING}
_LOGGER = logging.getLogger("fairpriv")
_SILENT = logging.CRITICAL + 1
_LOGGER.propagate = False
_LOGGER.setLevel(_SILENT)
Fact = str | int | float | None


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts: dict[str, Fact] = getattr(record, "facts", {})
        return json.dumps({"time": moment, "level": record.levelname.lower(), "event": record.getMessage(), **facts})


def set_up_log() -> None:
    """Write events of this process from the level of FAIRPRIV_LOG_LEVEL on; none where it is not set.

    Raises BadInput for another level than LEVELS has.
    """
    level = os.environ.get(VARIABLE, "").strip().lower()
    if level and level not in LEVELS:
        raise BadInput(f"the log level must be one of {', '.join(LEVELS)}, got '{level}'.", field="log_level")
    _LOGGER.handlers.clear()
    _LOGGER.setLevel(LEVELS.get(level, _SILENT))
    if level:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_AsJson())
        _LOGGER.addHandler(handler)


def note(event: str, *, level: int = logging.INFO, **facts: Fact) -> None:
    """Write down an event: a name of lower-case words, and facts that are keys, words of ours or numbers."""
    _LOGGER.log(level, event, extra={"facts": facts})
