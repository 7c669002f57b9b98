"""`fairpriv check-plugin`: the example passes every part, and each of many wrongs is told of by the part it breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core import plugins
from fairpriv_core.methods.catalog import find_plugin
from fairpriv_core.plugins import Plugin
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, to_json
from fairpriv_core.runs import plugin_check
from fairpriv_core.runs.plugin_check import Finding, Part, list_parts, try_part
from tests.cli.commands import Call
from tests.methods.harness import shrink_networks
from tests.plugins import mutants
from tests.plugins.installed import PREFIX, Installer
from tests.plugins.test_catalogues import DATA, METHOD, NOTION

RUNS = 120  # of an attack, on each data set


@pytest.fixture(autouse=True)
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train small convolutional networks."""
    shrink_networks(monkeypatch)


def offer(install: Installer, kind: type[mutants.Mutant]) -> Plugin:
    """Install a package that offers a mutant of this project's tests; return the plug-in."""
    source = f"from tests.plugins.mutants import {kind.__name__}"
    install.add(f"{PREFIX}mutant", source, {plugins.METHODS: {"mutant": kind.__name__}})
    found = find_plugin("mutant")
    assert found is not None
    return found


def find_parts(plugin: Plugin, title: str) -> list[Part]:
    found = [part for part in _prepared(plugin) if part.title.startswith(title)]
    assert found, title
    return found


def _prepared(plugin: Plugin) -> list[Part]:
    """Return the parts; the first makes the settings that the others try."""
    found = []
    for part in list_parts(plugin, RUNS):
        if not found:
            assert try_part(part).passed
        found.append(part)
    return found


@pytest.mark.parametrize(
    ("kind", "title", "says"),
    [
        (mutants.Unclipped, "no record adds more", "times as much to 'sum' as the mechanism is told."),
        (mutants.SmallRadius, "no record adds more", "one person adds 1.96 times as much"),
        (mutants.CountsNulls, "a null adds nothing", "a record without a group adds something to 'sum'."),
        (mutants.Understated, "releases what it announces", "and the mechanism counted"),
        (mutants.Leaking, "nothing leaves but releases", "something of records leaves beside the releases"),
        (mutants.Warm, "nothing leaves but releases", "something of records leaves beside the releases"),
        (mutants.Quiet, "releases what it announces", "and the mechanism counted"),
        (mutants.Forgetful, "goes on with the same bits", "has other bits"),
        (mutants.Dear, "calibration meets", "must cost at most that and little less"),
        (mutants.Grouped, "groups matter", "info.uses_groups is False, and other groups change what is trained."),
        (mutants.Careless, "settings are checked", "learning_rate = -1 is taken, and must be refused by BadInput."),
        (mutants.Broken, "releases what it announces", "it ended in KeyError: 'momentum'."),
        (mutants.Unstated, "sensitivities are stated", "sensitivities() must name what is hidden"),
    ],
)
def test_each_wrong_is_told_of(install: Installer, kind: type[mutants.Mutant], title: str, says: str) -> None:
    part = find_parts(offer(install, kind), title)[0]
    found = try_part(part)
    assert not found.passed and says in found.says, found
    assert len(found.says.splitlines()) == 1


def test_an_attack_refutes_what_is_claimed_of_a_mechanism_that_is_told_too_little(install: Installer) -> None:
    found = try_part(find_parts(offer(install, mutants.Unclipped), "attacks do not refute")[0])
    assert not found.passed and ("attacks show" in found.says), found


@pytest.mark.parametrize("place", ["one_run", "profile", "curve"])
def test_what_an_attack_shows_is_held_to_no_more_than_the_epsilon_itself(
    place: str, install: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attacks seldom show all of it: one that shows a little more, or twice as much, is as certain a proof."""
    part = find_parts(offer(install, mutants.Mutant), "attacks do not refute")[0]
    events = (Gaussian(1.0),)
    for shown in (0.99, 1.01, 2.0):
        lows = {each: shown * epsilon(events, 1e-5) if each == place else 0.0 for each in ("one_run", "profile")}
        found = {"one_run": {"lower_bound": lows["one_run"]}, "event": to_json(events)}
        found["distinguishing"] = {"profile": [{"delta": 1e-5, "lower_bound": lows["profile"]}]}
        monkeypatch.setattr(plugin_check, "audit_method", lambda *_, found=found, **__: found)
        refuted = {"refuted": place == "curve" and shown > 1.0}
        monkeypatch.setattr(plugin_check, "add_curve", lambda *_, refuted=refuted: refuted)
        assert try_part(part).passed == (shown < 1.0)


def test_the_example_passes_every_part_and_the_command_says_what_that_is_worth(install: Installer, call: Call) -> None:
    folder = Path(__file__).parents[2] / "examples" / "plugin"
    project = (folder / "pyproject.toml").read_text("utf-8")
    assert 'automatic_clipping = "fairpriv_automatic_clipping.method:AutomaticClipping"' in project
    source = "from examples.plugin.fairpriv_automatic_clipping.method import AutomaticClipping"
    install.add(f"{PREFIX}example", source, {plugins.METHODS: {"automatic_clipping": "AutomaticClipping"}})
    said = call("check-plugin", "automatic_clipping", "--runs", "40", "--json")
    assert said.code == 0, said.err
    parts = [Finding(**each) for each in said.json["parts"]]
    assert len(parts) > 40 and all(part.passed for part in parts)
    assert said.json["passed"] is True and "Its ε stays its author's claim." in said.json["says"]
    assert len([line for line in said.err.splitlines() if line.startswith("ok  ")]) == len(parts)


def test_a_notion_and_a_data_set_are_tried_too(install: Installer, call: Call) -> None:
    install.add(f"{PREFIX}notion", NOTION, {plugins.NOTIONS: {"shortlisted": "shortlisted"}})
    install.add(f"{PREFIX}data", DATA, {plugins.DATA_SETS: {"made_up": "made_up"}})
    read = call("check-plugin", "made_up")
    assert read.code == 0 and read.err.count("ok   reads, encodes and splits by") == 3
    explained = call("check-plugin", "shortlisted", "--json")
    assert explained.code == 0 and explained.json["kind"] == "notion", explained.err


def test_a_data_set_that_cannot_be_read_fails(install: Installer, call: Call) -> None:
    source = f"{DATA}    made_up = replace(made_up, generate=lambda: 1 // 0)\n"
    install.add(f"{PREFIX}data", source, {plugins.DATA_SETS: {"made_up": "made_up"}})
    said = call("check-plugin", "made_up")
    assert said.code == 1 and "FAIL reads, encodes and splits by group: it ended in ZeroDivisionError" in said.err


def test_a_name_that_nobody_offers_is_refused(install: Installer, call: Call) -> None:
    install.add(f"{PREFIX}method", METHOD, {plugins.METHODS: {"good": "Good"}})
    said = call("check-plugin", "goods")
    assert said.code == 2 and "no installed package offers a plug-in 'goods'; offered: good." in said.err
