"""Files are verified wherever they come from; without file and network there is a sentence, never another file."""

from __future__ import annotations

import hashlib
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fairpriv_core.data import download
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.download import find_edition, find_files, find_local, hash_file
from fairpriv_core.data.problem import DataSpec, Layout, Source
from fairpriv_core.errors import DataUnavailable

CONTENT = b"a,b\n1,2\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NOWHERE = "http://127.0.0.1:9"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own cache and data out of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRPRIV_DATA", raising=False)
    return tmp_path / "cache" / "fairpriv"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve a folder with the file and a zip that holds it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "x.csv").write_bytes(CONTENT)
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("x.csv", CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def describe(url: str) -> Source:
    return Source(path="some/x.csv", url=url, sha256=DIGEST, layout=Layout())


def test_a_download_is_kept_and_not_made_twice(site: str, cache: Path) -> None:
    ((_, place),) = find_edition(((describe(f"{site}/x.csv"),),))
    assert place == cache / "some" / "x.csv" and place.read_bytes() == CONTENT
    ((_, again),) = find_edition(((describe(f"{NOWHERE}/x.csv"),),))
    assert again == place


def test_a_zip_is_unpacked_and_its_member_verified(site: str, cache: Path, tmp_path: Path) -> None:
    archive = hash_file(tmp_path / "site" / "x.zip")
    zipped = replace(describe(f"{site}/x.zip"), member="x.csv", archive_sha256=archive)
    ((_, place),) = find_edition(((zipped,),))
    assert place == cache / "some" / "x.csv" and place.read_bytes() == CONTENT
    place.unlink()
    with pytest.raises(DataUnavailable, match="is not the published file"):
        find_edition(((replace(zipped, sha256="0" * 64),),))


def test_a_download_with_another_checksum_is_refused(site: str, cache: Path) -> None:
    with pytest.raises(DataUnavailable, match="cannot be fetched"):
        find_edition(((replace(describe(f"{site}/x.csv"), sha256="0" * 64),),))
    assert not (cache / "some" / "x.csv").exists()


@pytest.mark.parametrize("first", [f"{NOWHERE}/x.csv", "{site}/gone.csv", "{site}/other.csv", "{site}/other.zip"])
def test_what_the_first_address_does_not_give_comes_from_the_second(
    first: str, site: str, cache: Path, tmp_path: Path
) -> None:
    """The first may not answer, not have the file, or have another one; the second is verified alike."""
    for name in ("other.csv", "other.zip"):
        (tmp_path / "site" / name).write_bytes(b"another file")
    asked = describe(first.format(site=site))
    if first.endswith(".zip"):
        asked = replace(asked, member="x.csv", archive_sha256="0" * 64)
    ((_, place),) = find_edition(((replace(asked, mirror=f"{site}/x.csv"),),))
    assert place == cache / "some" / "x.csv" and place.read_bytes() == CONTENT
    place.unlink()
    with pytest.raises(DataUnavailable, match=rf"{re.escape(site)}/other\.csv, cannot be fetched"):
        find_edition(((replace(asked, mirror=f"{site}/other.csv"),),))
    assert not place.exists()


def test_without_file_and_network_the_sentence_says_what_to_do(cache: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        find_edition(((describe(f"{NOWHERE}/x.csv"),),))
    sentence = str(caught.value)
    for part in ("some/x.csv", f"{NOWHERE}/x.csv", "FAIRPRIV_DATA", str(cache / "some" / "x.csv")):
        assert part in sentence
    assert caught.value.exit_code == 2


def test_a_benchmark_is_never_substituted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "bank-full.csv").write_text("39;admin.\n")
    monkeypatch.setenv("FAIRPRIV_DATA", str(tmp_path))
    with pytest.raises(DataUnavailable, match=r"bank-full\.csv is not the published file \(SHA-256"):
        load_dataset(DataSpec(dataset="bank", sensitive="age"))


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"), Path.unlink])
def test_a_damaged_file_of_the_package_is_told_in_a_sentence(change: Callable[[Path], None], tmp_path: Path) -> None:
    adult = problems()["adult"]
    assert adult.shipped is not None
    copy = tmp_path / "adult.parquet"
    copy.write_bytes(adult.shipped.path.read_bytes())
    moved = replace(adult, shipped=replace(adult.shipped, path=copy))
    assert {place for _, place in find_files(moved)} == {copy}
    change(copy)
    with pytest.raises(DataUnavailable, match=r"adult\.parquet is damaged; install fairpriv again\.$"):
        find_files(moved)


def test_a_local_copy_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_DATA", str(tmp_path))
    assert find_local(describe(NOWHERE)) is None
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "x.csv").write_bytes(CONTENT)
    assert find_local(describe(NOWHERE)) == tmp_path / "some" / "x.csv"
    (tmp_path / "some" / "x.csv").write_bytes(CONTENT + b"\n")
    with pytest.raises(DataUnavailable):
        find_local(describe(NOWHERE))


def test_the_second_edition_serves_when_only_it_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_DATA", str(tmp_path))
    (tmp_path / "x.csv").write_bytes(CONTENT)
    second = replace(describe(NOWHERE), path="x.csv")
    ((found, _),) = find_edition(((describe(NOWHERE),), (second,)))
    assert found is second


def test_the_checksums_are_those_of_the_real_files(real_data: Path) -> None:
    sources = [source for problem in problems().values() for edition in problem.editions for source in edition]
    assert len(sources) >= 15
    for source in sources:
        assert hash_file(real_data / source.path) == source.sha256


def test_a_file_is_hashed_once_and_again_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sets the time back after a change is found out by the time of the change itself."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n1,2\n")
    monkeypatch.setattr(download, "_SETTLED_NS", 0)
    with monkeypatch.context() as patched:
        first = hash_file(path)
        patched.setattr(download, "_hash", lambda path: pytest.fail("read again"))
        assert hash_file(path) == first == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    before = path.stat()
    time.sleep(0.05)
    path.write_bytes(b"a,b\n1,3\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hash_file(path) == hashlib.sha256(b"a,b\n1,3\n").hexdigest()


def test_a_file_that_has_just_changed_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    for content in (b"a\n1\n", b"a\n2\n"):
        path.write_bytes(content)
        assert hash_file(path) == hashlib.sha256(content).hexdigest()
