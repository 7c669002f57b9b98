"""Files in one ZIP, the same bytes for the same files; names in it cannot leave their folder."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Mapping

_DATE = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP of `files` by name; folders in names stay, and nothing else of a path does."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            safe = "/".join(safe_name(part) for part in name.split("/"))
            archive.writestr(zipfile.ZipInfo(safe, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def safe_name(text: str) -> str:
    """Return a file's name without folders, of letters, digits, dot, dash and underscore, at most 80 long.

    >>> safe_name("../../a b.toml"), safe_name("")
    ('a_b.toml', 'file')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "_", plain).lstrip("._-")[-80:] or "file"
