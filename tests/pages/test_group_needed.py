"""Pages say that predictions need the group: before the launch, on the run, beside others and among all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from fairpriv_core.methods.fields import GROUP_NEEDED
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from pages.widgets.shared.sentences import plain
from tests.pages.conftest import FEW, RAW

Open = Callable[..., AppTest]


def test_every_page_with_a_method_that_decides_by_group_says_so(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        config = build_config({**RAW, "method": {"name": "jagielski_post", **FEW}, "epsilon": 1.0})
        key = store.submit(config).key
        work = WorkStore(store.database)
        work_on(work, work.claim(key))
        other = next(row.key for row in store.rows() if row.key != key)
    assert GROUP_NEEDED in [item.value for item in open_page("train", method="jagielski_post").info]
    assert plain(GROUP_NEEDED) in _captions(open_page("run", run=key))
    assert plain(f"A: {GROUP_NEEDED}") in _captions(open_page("compare", runs=[key, other]))
    assert plain(f"DP post-processing: {GROUP_NEEDED}") in _captions(open_page("tradeoffs"))


def test_a_run_that_predicts_from_features_alone_says_nothing_of_it(with_runs: Path, open_page: Open) -> None:
    for page in (open_page("train", method="pf_ld"), open_page("run"), open_page("compare"), open_page("tradeoffs")):
        assert not any(GROUP_NEEDED[:30] in said for said in (*_captions(page), *(item.value for item in page.info)))


def _captions(page: AppTest) -> list[str]:
    return [item.value for item in page.caption]
