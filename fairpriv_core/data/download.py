"""Where a benchmark's files are: in the package, FAIRPRIV_DATA, the user's cache or at their public addresses.

They are always verified.

What its owners ask of its users is confirmed here too, once a machine.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from fairpriv_core.data.problem import Problem, Shipped, Source
from fairpriv_core.errors import BadInput, DataUnavailable

FOLDER_VARIABLE = "FAIRPRIV_DATA"
_SECONDS = 30
_SETTLED_NS = 2 * 10**9  # after a change: within one tick of a clock two contents may have the same times
VARIABLE = "FAIRPRIV_CONFIRMED"


def find_files(problem: Problem) -> list[tuple[Source, Path]]:
    """Return the files of one edition, each with its path: where one file ships in their place, that one's.

    Raises DataUnavailable as `find_edition`, and where the file that ships is damaged.
    """
    if problem.shipped is None:
        return find_edition(problem.editions)
    path = _check_shipped(problem.title, problem.shipped)
    return [(source, path) for source in problem.editions[0]]


def _check_shipped(title: str, shipped: Shipped) -> Path:
    if not shipped.path.is_file() or hash_file(shipped.path) != shipped.sha256:
        raise DataUnavailable(
            f"{title} comes with the package, and its file {shipped.path} is damaged; install fairpriv again.",
            field="dataset",
        )
    return shipped.path


def find_edition(editions: tuple[tuple[Source, ...], ...]) -> list[tuple[Source, Path]]:
    """Return the files of the first edition that is here in full, else download the first edition.

    Raises DataUnavailable where a file is not the published one, or is neither here nor to be had; never another file.
    """
    for edition in editions:
        places = [(source, find_local(source)) for source in edition]
        files = [(source, place) for source, place in places if place is not None]
        if len(files) == len(edition):
            return files
    return [(source, find_local(source) or _download(source)) for source in editions[0]]


def find_local(source: Source) -> Path | None:
    """Return the verified copy under FAIRPRIV_DATA or in the user's cache; None where there is none."""
    folders = [folder for folder in (os.environ.get(FOLDER_VARIABLE), cache_folder()) if folder]
    for folder in folders:
        place = Path(folder).expanduser() / source.path
        if place.is_file():
            _verify(place, source)
            return place
    return None


def cache_folder() -> Path:
    """Return the folder that downloads are kept in."""
    from pooch import os_cache

    return Path(os_cache("fairpriv"))


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits; a file that did not change is read once."""
    status = path.stat()
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED_NS:
        return _hash(path)
    return _hash_once(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=64)
def _hash_once(path: Path, state: tuple[int, ...]) -> str:
    return _hash(path)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify(place: Path, source: Source) -> None:
    digest = hash_file(place)
    if digest != source.sha256:
        raise DataUnavailable(
            f"{place} is not the published file (SHA-256 {digest[:12]}…, expected {source.sha256[:12]}…); "
            f"delete it, or put the file from {source.url} in its place.",
            field="dataset",
        )


def _download(source: Source) -> Path:
    """Fetch one file into the user's cache, from its second address where the first does not give it."""
    place = cache_folder() / source.path
    mirrored = replace(source, url=source.mirror, member=None, archive_sha256=None)
    for address in (source, mirrored) if source.mirror else (source,):
        try:
            _retrieve(address, place)
            break
        except (OSError, ValueError) as error:
            failed = error
            if (answer := getattr(error, "response", None)) is not None:
                answer.close()
    else:
        also = f", nor {source.mirror}," if source.mirror else ""
        raise DataUnavailable(
            f"'{source.path}' is not here and {source.url}{also} cannot be fetched ({type(failed).__name__}); "
            f"set {FOLDER_VARIABLE} to a folder that holds {source.path}, or put the file at {place}.",
            field="dataset",
        ) from failed
    _verify(place, source)
    return place


def _retrieve(source: Source, place: Path) -> None:
    """Fetch one file from its address; a zip is verified by its own checksum and unpacked."""
    from pooch import HTTPDownloader, Unzip, retrieve

    retrieve(
        source.url,
        known_hash=source.archive_sha256 if source.member else source.sha256,
        fname=f"{place.name}.zip" if source.member else place.name,
        path=place.parent,
        downloader=HTTPDownloader(timeout=_SECONDS),
        processor=Unzip(members=[source.member], extract_dir=".") if source.member else None,
    )


def is_confirmed(problem: Problem) -> bool:
    """Return whether a benchmark's terms are confirmed, by the variable or by an earlier `confirm`, or ask nothing."""
    names = os.environ.get(VARIABLE, "").replace(",", " ").split()
    return not problem.terms or _name(problem) in names or _place(problem).exists()


def check_terms(problem: Problem) -> None:
    """Raise BadInput with what is to be confirmed, and how, unless it is."""
    if not is_confirmed(problem):
        raise BadInput(
            f"{problem.title}: {problem.terms[0].lower()}{problem.terms[1:]} Confirm it once with "
            f"'fairpriv confirm {problem.name}', on the Data page, or with {VARIABLE}={_name(problem)}.",
            field="terms",
        )


def confirm(problem: Problem) -> None:
    """Remember for this machine's user that they confirm the terms."""
    place = _place(problem)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(problem.terms + "\n", encoding="utf-8")


def _name(problem: Problem) -> str:
    return problem.people or problem.name


def _place(problem: Problem) -> Path:
    return cache_folder() / "confirmed" / _name(problem)
