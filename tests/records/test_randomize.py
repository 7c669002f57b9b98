"""A column flipped before it is collected: how often, and what of the true values is in what is written."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.randomized import find_place, read_note
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.one_release_local import OneReleaseLocal
from fairpriv_core.methods.shared.responses import measure_answers
from fairpriv_core.privacy.event import RandomizedResponse
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import build_config
from fairpriv_core.records.paid import price_answers
from fairpriv_core.records.plan import calibrate_method, check_method
from fairpriv_core.records.randomize import Flip, randomize
from fairpriv_core.records.record import announce_training
from tests.randomized import HEADER, draw_people, write_people

VALUES = ("a", "b", "missing")
ALPHA = 1e-6


def flip(path: Path, values: tuple[str, ...], epsilon: float = 1.0, seed: int = 1, column: str = "group") -> Path:
    out = path.with_name("out.csv")
    for place in (out, find_place(out)):
        place.unlink(missing_ok=True)
    asked = Flip(path, column, values, epsilon)
    randomize(asked, out, again=False, randomness=Randomness.replay(seed))
    return out


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_each_value_is_flipped_as_often_as_epsilon_says(tmp_path: Path, epsilon: float) -> None:
    each, k = 4000, len(VALUES)
    cells = [value for value in ("a", "b", "") for _ in range(each)]
    path = tmp_path / "in.csv"
    path.write_text("id,group\n" + "".join(f"{at},{cell}\n" for at, cell in enumerate(cells)))
    rows = read_rows(flip(path, VALUES, epsilon))
    truth = {str(at): cell or "missing" for at, cell in enumerate(cells)}
    counts = np.zeros((k, k))
    for row in rows:
        counts[VALUES.index(truth[row["id"]]), VALUES.index(row["group"])] += 1
    other = 1.0 / (math.exp(epsilon) + k - 1)
    expected = each * (np.full((k, k), other) + (1.0 - k * other) * np.eye(k))
    for seen, wanted in zip(counts, expected, strict=True):
        assert ((seen - wanted) ** 2 / wanted).sum() < chi2.isf(ALPHA, k - 1)
    order = np.array([int(row["id"]) for row in rows])
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.05, "rows are in another order"


def test_whoever_has_file_and_note_has_answers_and_nothing_else_of_the_truth(tmp_path: Path) -> None:
    """Garbage in the column's place, with noise that moves it to the same answers, leaves every byte as it was."""
    path = write_people(tmp_path / "people.csv", 300)
    first = flip(path, ("female", "male"), column="sex")
    kept = first.read_bytes(), find_place(first).read_bytes()
    path.write_text(path.read_text().replace("female", "\0").replace("male", "female").replace("\0", "male"))
    again = flip(path, ("male", "female"), column="sex")  # place 0 is the other value: the same moves, the same noise
    turned = [(row["town"], row["hours"], row["sex"]) for row in read_rows(again)]
    before = list(csv.DictReader(kept[0].decode().splitlines()))
    other = {"female": "male", "male": "female"}
    assert turned == [(row["town"], row["hours"], other[row["sex"]]) for row in before], "flips look at no value"
    note, former = read_note(again), kept[1].decode()
    assert note is not None and note.others in former, "what seals the people does not look at the column"
    assert not [each for each in tmp_path.iterdir() if each.name not in ("people.csv", "out.csv", "out.csv.toml")]


def test_noise_is_fresh_at_each_call(tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.csv", 200)
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        out = folder / "out.csv"
        own = folder / "people.csv"
        own.write_bytes(path.read_bytes())
        randomize(Flip(own, "sex", ("female", "male"), 1.0), out, again=False, randomness=Randomness.fresh())
        written.append(out.read_bytes())
    assert written[0] != written[1]


def test_one_row_says_no_more_than_its_answer(tmp_path: Path) -> None:
    """A file of one row in which either truth gave the same answer is the same file."""
    kept: dict[str, set[bytes]] = {}
    path = tmp_path / "one.csv"
    for truth in ("female", "male"):
        for seed in range(12):
            path.write_text(f"town,sex\na,{truth}\n")
            out = flip(path, ("female", "male"), seed=seed, column="sex")
            answer = read_rows(out)[0]["sex"]
            kept.setdefault(answer, set()).add(out.read_bytes() + find_place(out).read_bytes())
    assert {answer: len(files) for answer, files in kept.items()} == {"female": 1, "male": 1}


def test_reading_marks_the_column_and_no_method_takes_it_as_true(tmp_path: Path) -> None:
    out = flip(write_people(tmp_path / "people.csv", 300), ("female", "male"), 2.0, column="sex")
    data = load_dataset(DataSpec(file=str(out), label="paid", sensitive="sex"))
    assert data.answered == 2.0 and data.group_names == ("female", "male")
    assert not [name for name in data.feature_names if "sex" in name]
    for kind in methods().values():
        if kind.info.reads_answers:
            check_method(kind.info, data)
            continue
        with pytest.raises(BadInput, match="takes 'sex' as true"):
            check_method(kind.info, data)


@pytest.mark.parametrize("cell", ["", "other"])
def test_answers_that_nobody_gave_are_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "people.csv"
    lines = draw_people(100)
    lines[3] = ",".join([*lines[3].split(",")[:2], cell, "yes"])
    path.write_text("\n".join([HEADER, *lines]))
    stated = '{"others": "guessed", "columns": {"sex": {"type": "category", "categories": ["female", "male"], %s}}}'
    spec = DataSpec(file=str(path), label="paid", sensitive="sex", schema=stated % '"randomized": [1.0]')
    with pytest.raises(BadInput, match="has a cell that is none of its answers"):
        load_dataset(spec)


@pytest.mark.parametrize("said", ["[]", "[0.0]", '["1"]', "1.0", "[-1]", "[1e-20]", "[1000.0]"])
def test_an_epsilon_that_is_stated_must_be_one(said: str) -> None:
    text = f'{{"columns": {{"sex": {{"type": "category", "categories": ["f", "m"], "randomized": {said}}}}}}}'
    asked = {"data": {"file": "x.csv", "label": "paid", "sensitive": "sex", "schema": text}, "method": "none"}
    if said == "[]":
        assert build_config({**asked, "notion": "demographic_parity"}).epsilon is None
        return
    with pytest.raises(BadInput, match="randomized of column 'sex' in the schema must be the epsilon of each answer"):
        build_config({**asked, "notion": "demographic_parity"})


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (4, 2.0)])
def test_gaps_by_answers_are_unbiased_and_their_intervals_hold(tmp_path: Path, k: int, epsilon: float) -> None:
    """Over draws of people and of flips; true rates are known, as decisions are drawn by group."""
    rates = np.linspace(0.3, 0.6, k)
    names = tuple(f"g{at}" for at in range(k))
    draw, rows, held, told = np.random.default_rng(0), 6000, [], []
    base = load_dataset(DataSpec(dataset="synthetic", sensitive="group"))
    for seed in range(200):
        group = draw.integers(k, size=rows)
        decided = (draw.random(rows) < rates[group]).astype(np.int64)
        answers = Mechanism(Randomness.replay(seed)).randomized_response(
            group, k=k, epsilon=epsilon, purpose="group", index=0
        )
        y = draw.integers(2, size=rows)
        data = replace(base, X=np.zeros((rows, 1), np.float32), y=y, group=answers, group_names=names, answered=epsilon)
        found = measure_answers(data, decided)
        low, high = found["demographic_parity_gap_interval"]
        held.append(low <= rates[-1] - rates[0] <= high)
        told.append(found["groups"][-1]["positive_rate"] - found["groups"][0]["positive_rate"])
    assert np.mean(held) >= 0.93
    assert abs(np.mean(told) - (rates[-1] - rates[0])) < 4 * np.std(told, ddof=1) / math.sqrt(len(told))


def test_an_epsilon_of_what_answers_have_spent_is_enough() -> None:
    sex = '{"type": "category", "categories": ["f", "m"], "randomized": [0.1, 0.2]}'
    text = f'{{"others": "guessed", "columns": {{"sex": {sex}}}}}'
    data = {"file": "x.csv", "label": "paid", "sensitive": "sex", "schema": text}
    asked = {"data": data, "notion": "demographic_parity", "method": "one_release_local"}
    assert build_config({**asked, "epsilon": 0.3}).epsilon == pytest.approx(0.3)
    with pytest.raises(BadInput, match=r"must be 0\.3 or more, or left out, got 0\.29: the answers of 'sex'"):
        build_config({**asked, "epsilon": 0.29})


def test_answers_given_twice_cost_both_and_are_read_by_the_last() -> None:
    sex = '{"type": "category", "categories": ["f", "m"], "randomized": [1, 2]}'
    text = f'{{"others": "guessed", "columns": {{"sex": {sex}}}}}'
    data = {"file": "x.csv", "label": "paid", "sensitive": "sex", "schema": text}
    config = build_config({"data": data, "notion": "demographic_parity", "method": "one_release_local"})
    assert config.epsilon == 3.0 and config.key == build_config(config.to_json()).key
    method = calibrate_method(config, 10_000)
    assert isinstance(method, OneReleaseLocal) and method.response_epsilon == 2.0
    assert announce_training(config, method, 10_000) == ()
    [events] = price_answers(config.data.to_json()).values()
    assert events == (RandomizedResponse(1.0), RandomizedResponse(2.0))
