"""The folder of data files that an operator offers: `FAIRPRIV_DATA_FOLDER`. Only what lies inside it can be named."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from fairpriv_core.errors import BadInput
from fairpriv_core.files.faults import ENDINGS

VARIABLE = "FAIRPRIV_DATA_FOLDER"
_MOST_LISTED = 500


def find_folder() -> Path | None:
    """Return the folder that is offered; None where there is none. BadInput where it is named but not there."""
    folder_name = os.environ.get(VARIABLE)
    if not folder_name:
        return None
    folder = Path(folder_name).expanduser().resolve()
    if not folder.is_dir():
        raise BadInput(f"{VARIABLE} names no folder: {folder_name}; its operator corrects that.", field="file")
    return folder


def list_names() -> list[str]:
    """Return the tables inside the folder by their names relative to it, at most 500; [] without one."""
    folder = find_folder()
    if folder is None:
        return []
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    names = sorted(path.relative_to(folder).as_posix() for path in paths if _is_inside(path, folder))
    return [name for name in names if not any(part.startswith(".") for part in PurePosixPath(name).parts)][
        :_MOST_LISTED
    ]


def find_named(name: str) -> Path:
    """Return the file that `name`, relative to the folder, means.

    Raises:
        BadInput: no folder is offered, or no table of that name lies in it: an absolute name, one with
            "..", or a link that leads out of the folder.
    """
    folder = find_folder()
    if folder is None:
        raise BadInput(f"no data folder is offered here, so '{name}' cannot be read.", field="data")
    named_path = PurePosixPath(name)
    plain = not named_path.is_absolute() and ".." not in named_path.parts and "\0" not in name
    path = folder / named_path
    if not plain or named_path.suffix.lower() not in ENDINGS or not _is_inside(path, folder):
        raise BadInput(f"'{name}' is not a table inside the data folder of this server.", field="data")
    return path


def name_in_folder(path: str) -> str | None:
    """Return the name, relative to the folder, of a file inside it; None for any other file."""
    folder_name = os.environ.get(VARIABLE)
    folder = Path(folder_name).expanduser().resolve() if folder_name else None
    return Path(path).relative_to(folder).as_posix() if folder and Path(path).is_relative_to(folder) else None


def _is_inside(path: Path, folder: Path) -> bool:
    """Return whether `path` is a file that lies in `folder` however its links are followed."""
    try:
        return path.is_file() and path.resolve().is_relative_to(folder)
    except OSError:  # such as a name that is too long
        return False
