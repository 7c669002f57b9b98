"""Links as anybody can write them: whatever stands in an address, a page shows itself or a sentence."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from pages.widgets.shared.state import DEFAULTS
from tests.nasty import TEXTS
from tests.pages.shown import PAGES, Open, open_frame, said

Link = dict[str, str]
FIRST = ("data", "notion", "method", "run")  # a page stops at a wrong one, so they are wrong alone
OWN = {
    "data": (
        *("synthetic:", "synthetic:a+b", "synthetic:group:1,2", "utkface:race", "compas:race?group_ratio=2", "file-:x"),
        *("synthetic:group?rows=-5", "synthetic:group?rows=1e9", "synthetic:group?group_ratio=nan"),
        *("folder-../../etc/passwd:x", f"folder-{'a' * 300}.csv:x", "file-000000000000:x?label=y"),
    )
}
PARAMETERS = sorted({f"p.{name}" for kind in methods().values() for name in parameters(kind)})
SETTINGS = [*DEFAULTS, *PARAMETERS, "p.nope", "p.", "nope"]
EXPERT = {"expert": "True", "typed": "True"}


def make_links(settings: Sequence[str], texts: Sequence[str], rng: random.Random, size: int) -> Iterator[Link]:
    """Yield links in which every setting has every text (and its own ones) once, `size` settings a link."""
    pairs = [(name, text) for name in settings for text in (*texts, *OWN.get(name, ()))]
    rng.shuffle(pairs)
    rest = [pair for pair in pairs if pair[0] not in FIRST]
    yield from ({name: text} for name, text in pairs if name in FIRST)
    for start in range(0, len(rest), size):
        yield dict(rest[start : start + size])


def open_all(open_page: Open, page: str, links: Iterator[Link]) -> list[tuple[str, Link, str]]:
    """Return the page, the link and the error of each that ends in a traceback."""
    opened = (
        (link, open_page(page, **{name.replace(".", "__"): text for name, text in link.items()})) for link in links
    )
    return [(page, link, item.value) for link, shown in opened for item in shown.exception]


def test_what_anybody_writes_into_a_link_ends_in_no_traceback(with_runs: Path, open_page: Open) -> None:
    rng = random.Random(20261123)
    links = [dict(rng.choices([(a, b) for a in SETTINGS for b in TEXTS], k=8)) for _ in range(25)]
    faults = [fault for link in links for fault in open_all(open_page, rng.choice(PAGES), iter([link]))]
    assert not faults


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("tradeoffs", {"wish_gap": "200"}),
        ("tradeoffs", {"wish_gap": "inf"}),
        ("tradeoffs", {"wish_gap": "-1", "wish_accuracy": "1e300"}),
        ("train", {"inverse": "True", "least_accuracy": "nan"}),
        ("train", {**EXPERT, "seed": "1e300", "epsilon": "inf", "p.epochs": "1e300"}),
    ],
)
def test_a_number_out_of_range_becomes_one_within_it(with_runs: Path, open_page: Open, page: str, link: Link) -> None:
    assert not open_all(open_page, page, iter([link]))


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("start", ("epsilon",)),
        ("train", ("method", "notion", "seed", "reuse", "cloned", "private_evaluation")),
        ("compare", ("rate", "only.method")),
        ("tradeoffs", ("view", "of_data", "sweep", "points")),
        ("papers", ("paper", "preset")),
        ("learn", ("card",)),
    ],
)
def test_a_page_says_what_of_its_link_is_not_there(with_runs: Path, page: str, wrong: Sequence[str]) -> None:
    frame = open_frame(page, **dict.fromkeys(wrong, "<b>luck"))
    told = said(frame, "warning")
    assert not frame.exception and all(f"{name} = <b>luck" in told for name in wrong), told


def test_other_data_than_a_link_asks_for_are_not_shown_as_if_it_asked_for_them(with_runs: Path) -> None:
    frame = open_frame("data", data="martians:antennae")
    assert "martians" in said(frame, "error") and not frame.selectbox and not frame.multiselect
    frame.button("use_default_data").click().run()
    assert frame.selectbox("dataset").value == "synthetic" and not frame.error
    assert "data = synthetic:antennae" in said(open_frame("data", data="synthetic:antennae"), "warning")
    valid = open_frame("data", data="synthetic:region")
    valid.multiselect("attributes").set_value(["group"]).run()
    assert not valid.warning


def test_a_delta_that_is_none_leaves_the_frame_whole(with_runs: Path) -> None:
    for delta in ("0", "-0", "1e-400", "1e-320", "-1", "1", "2"):
        frame = open_frame(delta=delta, data="synthetic:group")
        assert not frame.exception and frame.title, delta


@pytest.mark.long
def test_every_setting_of_a_link_may_be_anything_in_the_frame(with_runs: Path) -> None:
    links = make_links(SETTINGS, TEXTS, random.Random(11), 8)
    assert not open_all(lambda _, **address: open_frame(**address), "app", links)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_setting_of_a_link_may_be_anything_on_every_page(with_runs: Path, open_page: Open, page: str) -> None:
    rng = random.Random(7)
    faults = open_all(open_page, page, make_links(SETTINGS, TEXTS, rng, 8))
    expert = [{**EXPERT, **link} for link in make_links(PARAMETERS, TEXTS, rng, 8)] if page == "train" else []
    assert not [*faults, *open_all(open_page, page, iter(expert))]
