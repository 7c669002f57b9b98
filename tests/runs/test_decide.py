"""A file that a page was given for a run's model: what a worker decides, what is kept of it, and for how long."""

from __future__ import annotations

import io
import os
import stat
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fairpriv_core.cli.runs import answer_prediction
from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.decide import compute
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.database import Database
from fairpriv_core.store.decisions import Asked, drop_old
from fairpriv_core.store.previews import Preview
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore

LIMIT = 50_000_000
#: other spellings than in training, a number that is none and amounts in a currency
NEXT = "town,income\nRome,€ 12\noslo,€ 3\nPARIS,€ 30\nRome,?x\n"


def finish(store: RunStore, folder: Path) -> str:
    """Train on a file of two columns and return the run's key."""
    rows = [
        f"{('f', 'm')[row % 2]},{('Rome', 'Oslo')[row // 2 % 2]},{row % 31},{row % 31 > 15:d}" for row in range(400)
    ]
    (folder / "own.csv").write_text("\n".join(["sex,town,income,good", *rows]) + "\n")
    data = {"file": str(folder / "own.csv"), "label": "good", "positive": "1", "sensitive": "sex"}
    return train(store, data, {"name": "none", "epochs": 2})


def train(store: RunStore, data: dict[str, object], method: dict[str, object]) -> str:
    config = build_config({"data": data, "notion": "demographic_parity", "method": method})
    work, row = WorkStore(store.database), store.submit(config)
    work_on(work, work.claim(row.key))
    assert store.row(row.key).status == "finished", store.row(row.key).error
    return row.key


def ask(store: RunStore, key: str, content: bytes, name: str = "next.csv", limit: int = LIMIT) -> Asked:
    """Give a file and have a worker decide on it."""
    asked = store.decisions.put(io.BytesIO(content), name, run=key, limit_bytes=limit)
    preview = store.previews.ask(asked.request)
    assert store.previews.claim() == preview
    run_preview(str(store.database.path), preview)
    made = store.previews.look(preview)
    assert made == Preview("finished", {"decided": key}), "no cell lies in the database"
    return asked


def test_a_worker_decides_as_the_command_does_and_all_goes_with_the_last_file(local: RunStore, tmp_path: Path) -> None:
    key = finish(local, tmp_path)
    asked = ask(local, key, NEXT.encode())
    found = local.decisions.found(asked) or {}
    (tmp_path / "next.csv").write_text(NEXT)
    told = answer_prediction(key, str(tmp_path / "next.csv"), str(tmp_path / "out.csv")).document
    assert local.decisions.decisions(asked) == (tmp_path / "out.csv").read_bytes()
    assert found["rows"] == 4 and found["positive"] == "1" and found["remarks"] == told["remarks"]
    assert found["decided"] == {"1": told["positive"], "0": 4 - told["positive"]}
    cells = {
        name: [row[place] for row in found["first"]["rows"]] for place, name in enumerate(found["first"]["columns"])
    }
    assert cells == {"town": ["Rome", "Oslo", "", "Rome"], "income": ["12", "3", "30", ""]}
    assert any("'town'" in said and "PARIS" in said for said in found["remarks"])
    narrow = io.BytesIO()
    pd.DataFrame({"income": [12, 3]}).to_excel(narrow, index=False)
    refused = local.decisions.found(ask(local, key, narrow.getvalue(), "narrow.xlsx")) or {}
    assert "lacks column 'town'" in refused["refused"] and refused["form"]["names"] == ["income"]
    asked = ask(local, key, NEXT.encode())
    folder = local.decisions.file(asked).parent
    kept = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert kept == {0o600} and stat.S_IMODE(folder.stat().st_mode) == 0o700
    other = ask(local, key, NEXT.encode(), "next")
    assert not folder.exists() and local.decisions.asked() == other and not local.uploads.rows()
    drop_old(local.database)
    assert local.decisions.found(other)
    before = time.time() - 90_000
    os.utime(local.decisions.file(other).parent, (before, before))
    drop_old(local.database)
    assert local.decisions.asked() is None and local.decisions.found(other) is None
    with pytest.raises(BadInput, match="gone"):
        compute(str(local.database.path), other.request)


def test_what_cannot_be_decided_on_is_said_and_each_person_has_a_file_of_their_own(
    local: RunStore, tmp_path: Path
) -> None:
    key = finish(local, tmp_path)
    for content, limit, says in (
        (b"town,income\nRome,a\nOslo,b\n", LIMIT, "column 'income'"),
        (b"town,age\nRome,1\n", LIMIT, "income"),
        (NEXT.encode(), 10, "MB"),
    ):
        asked = ask(local, key, content, limit=limit)
        assert says in (local.decisions.found(asked) or {})["refused"]
    bo = RunStore(Database(str(local.database.path)), "https://id.example.org#bo")
    his = ask(bo, key, NEXT.encode())
    assert local.decisions.asked() == asked and bo.decisions.asked() == his
    local.decisions.drop()
    assert local.decisions.asked() is None and bo.decisions.found(his)
    bo.close()


def test_an_upload_brings_its_images_or_is_refused(local: RunStore, tmp_path: Path) -> None:
    images, names = [], []
    for row in range(40):
        stream = io.BytesIO()
        Image.fromarray(np.full((14, 14), 255 * (row % 2) - row % 2 * (row % 7), dtype=np.uint8)).save(stream, "PNG")
        images.append(stream.getvalue())
        names.append(f"{row}.png")
    table = pd.DataFrame({"picture": images, "side": ["l", "r"] * 20, "good": [0, 1, 1, 0] * 10})
    table.to_parquet(tmp_path / "own.parquet")
    data = {"file": str(tmp_path / "own.parquet"), "label": "good", "positive": "1", "sensitive": "side"}
    key = train(local, {**data, "image": "picture"}, {"name": "none", "epochs": 1, "batch_size": 8})
    asked = ask(local, key, (tmp_path / "own.parquet").read_bytes(), "own.parquet")
    found = local.decisions.found(asked) or {}
    assert found["rows"] == 40 and found["first"]["columns"] == [] and len(found["first"]["rows"]) == 10
    asked = ask(local, key, "\n".join(["picture", *names]).encode())
    assert "Parquet" in (local.decisions.found(asked) or {})["refused"]
