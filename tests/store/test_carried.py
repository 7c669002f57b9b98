"""An upload where several machines share a store: its bytes travel through the database, for who may use it alone."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from sqlalchemy import func, select, update

from fairpriv_core.data.dataset import Dataset, load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import StoreError
from fairpriv_core.records import plan
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store import uploads
from fairpriv_core.store.carried import LIMIT_BYTES, copy_bytes, drop_left, put_bytes
from fairpriv_core.store.check import check_store
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import upload_part
from fairpriv_core.store.uploads import Upload
from fairpriv_core.store.work import WorkStore

SECRET = "Wilhelmina"
TEXT = "side,size,label\n" + "".join(f"{('f', SECRET)[i % 3 == 0]},{i % 11},{'ny'[i % 7 < 3]}\n" for i in range(600))
SAID = "".join(f"{line},{('said', 'a good day')[n > 0]} {n % 7}\n" for n, line in enumerate(TEXT.splitlines()))


@pytest.fixture
def shared(postgres_place: str) -> Iterator[RunStore]:
    with open_store(postgres_place) as store:
        yield store


def ask(path: Path, seed: int = 0, **data: str) -> RunConfig:
    named = {"file": str(path), "label": "label", "positive": "y", "sensitive": "side", **data}
    method = {"name": "none", "epochs": 2, "batch_size": 32}
    return build_config({"data": named, "notion": "accuracy_parity", "method": method, "seed": seed})


def put(store: RunStore, owner: str = "ana", content: bytes = TEXT.encode(), name: str = "people.csv") -> Upload:
    stored = store.uploads.put(io.BytesIO(content), name, owner)
    store.files.identify(stored.path)
    return stored


def submit(store: RunStore, config: RunConfig, owner: str = "ana") -> str:
    return RunStore(store.database, owner).submit(config).key


def go_elsewhere(store: RunStore) -> Path:
    """Make this a machine without the uploaded files; return where its copies lie."""
    shutil.rmtree(store.database.folder / "uploads", ignore_errors=True)
    return store.database.folder / "carried"


def work(store: RunStore, key: str) -> str | None:
    """Work on a run to its end and return its error."""
    worker = WorkStore(store.database)
    work_on(worker, worker.claim(key))
    row = store.row(key)
    assert row.status == ("finished" if row.error is None else "failed")
    return row.error


def count_parts(store: RunStore) -> int:
    with store.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(upload_part)) or 0


def draw_images() -> bytes:
    """Return a Parquet file with small images in it."""
    draw, rows, drawn = np.random.default_rng(0), range(60), []
    for row in rows:
        pixels = draw.integers(0, 90 + 60 * (row % 3), (14, 14), dtype=np.uint8)
        Image.fromarray(pixels).save(file := io.BytesIO(), "png")
        drawn.append(file.getvalue())
    columns = {
        "picture": drawn,
        "label": ["nym"[row % 3] for row in rows],
        "side": ["fm"[row // 3 % 2] for row in rows],
    }
    parquet.write_table(pa.table(columns), file := io.BytesIO())
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "data"),
    [
        (TEXT.encode(), "people.csv", {}),
        (SAID.encode(), "said.csv", {}),
        (draw_images(), "pictures.parquet", {"image": "picture", "positive": None}),
    ],
    ids=["table", "texts", "images"],
)
def test_a_machine_without_the_file_trains_on_a_private_copy_while_it_reads_it(
    content: bytes, name: str, data: dict[str, Any], shared: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, read = put(shared, content=content, name=name), list[Path]()
    here, there = (submit(shared, ask(stored.path, seed, **data)) for seed in (0, 1))
    assert work(shared, here) is None
    folder = go_elsewhere(shared)

    def look(spec: DataSpec) -> Dataset:
        path = Path(spec.file or "")
        read.append(path)
        assert path.name == stored.path.name and path.read_bytes() == content
        assert path.parent.parent == folder and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        return load_dataset(spec)

    monkeypatch.setattr(plan, "load_dataset", look)
    assert work(shared, there) is None and len(read) == 1 and list(folder.iterdir()) == []
    ended = [shared.record(key) for key in (here, there)]
    assert ended[0] and ended[1] and ended[0].data == ended[1].data
    assert shared.row(there).config["data"]["file"] == str(stored.path)


def test_bytes_that_are_not_those_uploaded_are_refused_before_they_are_read(
    shared: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = put(shared)
    key, folder = submit(shared, ask(stored.path)), go_elsewhere(shared)
    with shared.database.write() as connection:
        connection.execute(update(upload_part).values(content=TEXT.replace("f", "m", 1).encode()))
    monkeypatch.setattr(plan, "load_dataset", lambda spec: pytest.fail("they are read"))
    sentence = f"the uploaded file {stored.id} is damaged in the run store"
    assert (work(shared, key) or "").startswith(sentence) and list(folder.iterdir()) == []
    assert [damage for damage in check_store(shared).damage if damage.startswith(sentence)]


def test_another_content_than_the_runs_is_refused(shared: RunStore) -> None:
    """A run names a content, and its path leads to an upload of another."""
    mine, other = put(shared), put(shared, content=TEXT.replace("f", "m").encode())
    config = shared.files.settle(ask(mine.path)).to_json()
    config["data"]["file"] = str(other.path)
    key = submit(shared, build_config(config))
    go_elsewhere(shared)
    assert "since this run was set up; set it up again." in (work(shared, key) or "")


def test_a_deleted_upload_is_nowhere_and_a_run_that_waits_for_it_says_so(shared: RunStore) -> None:
    mine, yours = put(shared), put(shared, "bo")
    keys = [submit(shared, ask(mine.path)), submit(shared, ask(mine.path, 1), "bo")]
    assert mine.path == yours.path and count_parts(shared) == 2
    shared.uploads.delete(mine.id, "ana")
    assert count_parts(shared) == 1
    go_elsewhere(shared)
    assert f"{mine.path.name} is gone since this run was set up; set it up again." in (work(shared, keys[0]) or "")
    assert work(shared, keys[1]) is None
    shared.uploads.delete(yours.id, "bo")
    assert count_parts(shared) == 0


def test_another_persons_upload_is_for_them_alone_until_it_is_shared(shared: RunStore) -> None:
    stored = put(shared)
    keys = [submit(shared, ask(stored.path, seed), "eve") for seed in range(3)]
    go_elsewhere(shared)
    assert "is gone since" in (work(shared, keys[0]) or "")
    shared.uploads.share(stored.id, "ana", shared=True)
    assert work(shared, keys[1]) is None and count_parts(shared) == 1
    shared.uploads.share(stored.id, "ana", shared=False)
    assert "is gone since" in (work(shared, keys[2]) or "")


def test_runs_of_two_people_in_one_chunk_each_read_what_is_theirs(shared: RunStore) -> None:
    stored = put(shared)
    keys = [submit(shared, ask(stored.path, seed), owner) for seed, owner in enumerate(("ana", "eve"))]
    go_elsewhere(shared)
    worker = WorkStore(shared.database)
    work_on(worker, [*worker.claim(keys[0]), *worker.claim(keys[1])])
    assert [shared.row(key).status for key in keys] == ["finished", "failed"]


def test_copies_of_several_at_once_are_apart_and_a_killed_ones_goes_at_the_next_start(
    shared: RunStore, postgres_place: str
) -> None:
    stored = put(shared)
    folder = go_elsewhere(shared)
    program = (
        "import sys, time\n"
        "from fairpriv_core.store.database import Database\n"
        "from fairpriv_core.store.carried import copy_bytes\n"
        "with copy_bytes(Database(sys.argv[1]), sys.argv[2], 'ana', 'a.csv') as copy:\n"
        "    print(copy, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, postgres_place, stored.id]
    with ExitStack() as held:
        first, second = (held.enter_context(Popen(command, stdin=PIPE, stdout=PIPE, text=True)) for _ in range(2))
        copies = [Path((process.stdout.readline() if process.stdout else "").strip()) for process in (first, second)]
        with copy_bytes(shared.database, stored.id, "ana", "a.csv") as mine:
            assert {copy.read_text() for copy in (*copies, mine)} == {TEXT}
            assert len({copy.parent for copy in (*copies, mine)}) == 3
        first.kill()
        first.wait()
        drop_left(shared.database)
        assert list(folder.iterdir()) == [copies[1].parent]
        second.communicate()
    assert list(folder.iterdir()) == []


def test_an_old_copy_of_another_host_goes_too(shared: RunStore) -> None:
    folder = shared.database.folder / "carried"
    for host, age in (("near", 0), ("far", 2 * 86_400)):
        (folder / f"{host}:1:2+x").mkdir(parents=True)
        os.utime(folder / f"{host}:1:2+x", (0, (folder / f"{host}:1:2+x").stat().st_mtime - age))
    drop_left(shared.database)
    assert [path.name for path in folder.iterdir()] == ["near:1:2+x"]


def test_one_machine_keeps_no_second_copy(local: RunStore) -> None:
    stored = put(local)
    assert count_parts(local) == 0
    key = submit(local, ask(stored.path))
    assert work(local, key) is None and not (local.database.folder / "carried").exists()


def test_what_is_larger_than_a_dashboard_takes_stays_on_its_machine(
    shared: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LIMIT_BYTES == 50_000_000
    monkeypatch.setattr(uploads, "LIMIT_BYTES", len(TEXT) - 1)
    stored = put(shared)
    key = submit(shared, ask(stored.path))
    assert count_parts(shared) == 0
    go_elsewhere(shared)
    assert "is gone since" in (work(shared, key) or "")


def test_an_upload_is_stored_whole_or_not_at_all_and_no_traceback_shows_a_row(
    shared: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(connection: Any, *given: Any) -> None:
        put_bytes(connection, *given)
        put_bytes(connection, *given)

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "put_bytes", twice)
        with pytest.raises(StoreError) as caught:
            put(shared)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert shared.uploads.rows() == [] and count_parts(shared) == 0
    assert put(shared).bytes == len(TEXT)
