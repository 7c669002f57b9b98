"""No change of the code's shape changes what examples give, runs come to, figures draw and commands take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from fairpriv_core.methods.base import Method
from tests import pins
from tests.figures import samples
from tests.pins import (
    APART,
    BITS,
    PATH,
    RUNS,
    can_share,
    describe,
    digest_bits,
    examples,
    fit,
    list_unlike,
    measure_apart,
    name_machine,
)

PINS = json.loads(PATH.read_text("utf-8"))
METHODS = dict(examples())
PINNED = [pytest.param(METHODS[name], name, id=name) for name in PINS["examples"] if name in METHODS]
#: of each method the first example, and all that share no samples: what no other test fits and compares
ALONE = {name for name, method in METHODS.items() if name.endswith("-0") or not can_share(method)}


def _assert_pinned(found: Any, pinned: Any) -> None:
    unlike = list(list_unlike(json.loads(json.dumps(found)), pinned))
    assert not unlike, "\n".join(unlike)


@pytest.mark.parametrize(("method", "name"), [case for case in PINNED if case.id in ALONE])
def test_an_example_gives_what_is_pinned(method: Method, name: str) -> None:
    (fitted,) = fit(method)
    _assert_pinned(describe(method, fitted), PINS["examples"][name])


@pytest.mark.parametrize(("method", "name"), [case for case in PINNED if can_share(case.values[0])])
def test_among_models_that_share_their_samples_it_is_the_one_that_is_pinned(method: Method, name: str) -> None:
    """What is pinned is of one model alone; here it stands between two others with noise of their own."""
    _, fitted, _ = fit(method, (1, 0, 2))
    pinned = PINS["examples"][name]
    assert measure_apart(fitted, pinned) <= APART
    _assert_pinned(describe(method, fitted), pinned)


def test_parameters_have_the_bits_that_they_had_on_machines_like_this_one() -> None:
    """Pins are compared as well as two machines agree; where one has written its bits, nothing may change them."""
    pinned = json.loads(BITS.read_text("utf-8"))
    assert pinned
    for machine, digests in pinned.items():
        if machine == name_machine():
            found = digest_bits()
            assert {name: found.get(name) for name in digests} == digests


def test_what_is_pinned_is_there() -> None:
    assert set(PINS["examples"]) <= set(METHODS)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_to_what_is_pinned(name: str) -> None:
    _assert_pinned(pins.run_to_json(RUNS[name]), PINS["runs"][name])


def test_figures_are_drawn_as_pinned() -> None:
    figures = samples.every_figure()
    _assert_pinned({name: pins.draw_bits(figures[name]) for name in PINS["figures"]}, PINS["figures"])


def test_commands_take_what_is_pinned() -> None:
    _assert_pinned(pins.list_commands_help(), PINS["commands"])


def test_commands_and_their_options_say_what_they_are_for() -> None:
    each = list(pins.list_commands())
    options = [one for _, command, _ in each for one in command.params if isinstance(one, click.Option)]
    assert all(command.help for _, command, _ in each) and all(one.help for one in options) and len(options) > 90


@pytest.mark.parametrize(
    ("found", "unlike"),
    [
        ({"a": [1.0, 2], "b": "x", "new": 3}, []),
        ({"a": [1.0001, 2], "b": "x"}, []),
        ({"a": [1.1, 2], "b": "x"}, ["/a/0 is 1.1, not 1.0"]),
        ({"a": [1.0, 2]}, ["/b is gone"]),
        ({"a": [1.0], "b": "y"}, ["/a is [1.0], not [1.0, 2]", "/b is y, not x"]),
        ({"a": [1.0, 2], "b": None}, ["/b is None, not x"]),
    ],
)
def test_what_is_unlike_is_named(found: Any, unlike: list[str]) -> None:
    assert list(list_unlike(found, {"a": [1.0, 2], "b": "x"})) == unlike


ROAD = """
import json, os
def test_another_road():
    assert json.load(open(os.environ["FAIRPRIV_PINS"]))["examples"]["a"] == 1
"""


@pytest.mark.parametrize("given", [1, 2])
def test_nothing_is_written_while_another_road_ends_elsewhere(
    given: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    road, written = tmp_path / "test_road.py", tmp_path / "pins.json"
    road.write_text(ROAD)
    written.write_text("{}")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the road needs none
    monkeypatch.setattr(pins, "ROADS", [str(road)])
    monkeypatch.setattr(pins, "collect", lambda: {"examples": {"a": given}})
    if given == 1:
        pins.write(written)
        assert json.loads(written.read_text()) == {"examples": {"a": 1}}
    else:
        with pytest.raises(SystemExit, match="stays as it was"):
            pins.write(written)
        assert written.read_text() == "{}" and "test_another_road" in capfd.readouterr().out
