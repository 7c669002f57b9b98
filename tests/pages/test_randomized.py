"""Randomised answers on the pages: a file with its note, from upload to the run, without a raw gap anywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from streamlit.testing.v1 import AppTest

from fairpriv_core.data.randomized import find_place
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.randomize import Flip, randomize
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.pages.shown import Open, charts, said, upload, whole
from tests.randomized import write_people

#: how pages mark a number that is raw
RAW = re.compile(r"gap, raw|(is|are) raw|raw[,:] for|\(raw\.?\)", re.IGNORECASE)
AFTER: tuple[tuple[str, dict[str, str]], ...] = (
    ("compare", {}),
    ("tradeoffs", {}),
    ("report", {"audience": "analyst"}),
    ("report", {"audience": "policy"}),
    ("explore", {}),
    ("audit", {}),
    ("start", {}),
)


def choose_answers(open_page: Open, folder: Path, *, times: int = 1) -> AppTest:
    """Upload a file of answers, given so many times, and its note on the page Data, and say what is predicted."""
    out = folder / "answers.csv"
    people = write_people(folder / "people.csv", 12_000)
    for seed in range(times):
        asked = Flip(people, "sex", ("female", "male"), 2.0)
        randomize(asked, out, again=seed > 0, randomness=Randomness.replay(seed))
    page = upload(open_page("data", source="file"), out.read_bytes(), out.name)
    page.selectbox("label").set_value("paid").run()
    page.selectbox("positive").set_value("yes").run()
    page.multiselect("attributes").set_value(["sex"]).run()
    note = find_place(out)
    page.file_uploader("schema_uploader").upload(note.name, note.read_bytes(), "application/toml").run()
    return whole(page)


def test_a_file_with_its_note_is_trained_on_and_no_gap_is_raw(
    open_page: Open, offered: list[RunConfig], tmp_path: Path
) -> None:
    page = choose_answers(open_page, tmp_path)
    told = said(page)
    assert "Groups of sex, by randomised answers" in told and "nobody's group is known" in told and not RAW.search(told)
    assert "give the group away" not in told
    reference = page.query_params["data"]
    train = whole(open_page("train", data=reference, method="one_release_local", epsilon="0.5", p__learner="linear"))
    assert "take sex as true (here it holds randomised answers)" in said(train)
    assert "ε = 2: the answers have spent it" in said(train) and not train.select_slider
    assert list(train.selectbox("method").options) == ["OneRelease, local · attribute · ours"]
    recommended = whole(open_page("train", data=reference, method="auto", epsilon="2"))
    assert recommended.selectbox("method").value == "one_release_local", "there is nothing else to choose"
    assert "take sex as true (here it holds randomised answers)" in said(recommended)
    config = offered[-1]
    assert config.epsilon == 2.0 and not config.private_evaluation
    train.button("launch").click().run()
    keys = train_launched()
    run = whole(open_page("run", run=keys[0]))
    told = said(run)
    assert "What randomised answers say" in told and not RAW.search(told), told
    assert "Gap, by answers" in {metric.label for metric in run.metric}
    assert not {"run_gap_steps", "run_gaps"} & set(charts(run))
    assert "Estimated from randomised answers" in told and "noisy counts" not in told
    assert "do_evaluate" not in {button.key for button in run.button}
    for name, address in AFTER:
        shown = whole(open_page(name, **{"run": keys[0], "runs": keys, **address}))
        assert not RAW.search(said(shown)), (name, said(shown))
    table = whole(open_page("compare")).dataframe[0].value
    assert table["± gap"].isna().all() and " to " in table["gap 95 %"][0], "its two sides are not as long"
    picked = open_page("tradeoffs", points=next(iter(table["key"])))
    assert picked.multiselect("points").value and not picked.warning, "ε covers what answers tell"


def test_the_page_data_states_earlier_answers_too(open_page: Open, tmp_path: Path) -> None:
    told = said(choose_answers(open_page, tmp_path, times=2))
    assert "Answers have ε = 2 (with 1 earlier answer, ε = 4)" in told
    assert "from the randomised answers of all rows" in told and "the sampling of the test rows" not in told


def train_launched() -> list[str]:
    """Train what was launched, and the same with another seed; return the keys."""
    with open_store() as store:
        [row] = store.rows()
        store.submit(replace(build_config(row.config), seed=1))
        work, keys = WorkStore(store.database), [each.key for each in store.rows()]
        for key in keys:
            work_on(work, work.claim(key))
        assert {each.status for each in store.rows()} == {"finished"}
    return keys
