"""Methods, notions and data sets of other packages: found, left out with a sentence, and never in the way of others."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from fairpriv_core import plugins
from fairpriv_core.data import catalog as data_catalog
from fairpriv_core.data.catalog import own_problems, problems
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.figures.styles import method_style
from fairpriv_core.methods import catalog as method_catalog
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions import catalog as notion_catalog
from fairpriv_core.notions.catalog import list_gaps, notions
from fairpriv_core.notions.metrics import measure
from fairpriv_core.records.ledger_entry import find_published
from fairpriv_core.records.source import is_published
from tests.cli.commands import Call
from tests.plugins.installed import PREFIX, Installer

METHOD = """
    from dataclasses import dataclass, replace
    from typing import ClassVar
    from examples.plugin.fairpriv_automatic_clipping.method import AutomaticClipping
    from fairpriv_core.methods.base import MethodInfo, Style, parameter

    def named(name, **changed):
        return replace(AutomaticClipping.info, name=name, **changed)

    @dataclass(frozen=True)
    class Good(AutomaticClipping):
        info: ClassVar[MethodInfo] = named("good")
"""
NOTION = """
    from fairpriv_core.notions.notion import Notion

    shortlisted = Notion(
        name="shortlisted",
        title="Shortlisted",
        citation="Made up",
        sentence="Every group is shortlisted equally often.",
        conditions=(None,),
        compares="decisions",
        ask="The share shortlisted should be the same for {groups}.",
        misleads="It ignores the true label.",
        ask_of_classes="Every class should be decided equally often for {groups}.",
    )
"""
RULES = """
    from fairpriv_core.methods.shared.lagrangian import LagrangianRule
    from fairpriv_core.methods.shared.noisy_sums import NoisySumsRule
"""
PUBLISHED = """
    from fairpriv_core.methods import fields
    from fairpriv_core.methods.shared.noisy_sums import AdaptiveBounds

    @dataclass(frozen=True)
    class Both:
        info: ClassVar[MethodInfo] = named("good", variants=fields.VARIANTS)
        variant: str = fields.shared("variant")

    @dataclass(frozen=True)
"""
POINT = {"made_up": "made_up"}
DATA = """
    from dataclasses import replace
    from fairpriv_core.data.catalog import own_problems, problems

    made_up = replace(problems()["synthetic"], name="made_up", title="Made up")
"""


def test_what_a_package_offers_stands_after_our_own(install: Installer) -> None:
    before = list(methods()), list(notions()), list(problems())
    install.add(f"{PREFIX}method", METHOD, {plugins.METHODS: {"good": "Good"}})
    install.add(f"{PREFIX}notion", NOTION, {plugins.NOTIONS: {"shortlisted": "shortlisted"}})
    install.add(f"{PREFIX}data", DATA, {plugins.DATA_SETS: POINT})
    after = list(methods()), list(notions()), list(problems())
    assert after == ([*before[0], "good"], [*before[1], "shortlisted"], [*before[2], "made_up"])
    assert list_gaps("shortlisted")[0] == "shortlisted_gap"
    assert load_dataset(DataSpec(dataset="made_up", sensitive="group")).n == 8000
    (plugin,) = method_catalog.list_plugins()
    assert (plugin.title, plugin.fault) == (f"method 'good' of package {PREFIX}method 1.0", None)


@pytest.mark.parametrize(
    ("change", "pursuing"),
    [
        ("conditions=(None,)", {"pf_ld", "raco_dp", "dp_fermi"}),
        ("compares='errors'", {"pf_ld", "raco_dp"}),
        ("compares='labels', conditions=(1,)", {"raco_dp"}),
        ("compares='scores'", set()),
    ],
)
def test_a_packages_notion_is_offered_by_exactly_those_that_pursue_its_kind_or_none(
    install: Installer, change: str, pursuing: set[str]
) -> None:
    source = f"{NOTION}\n    from dataclasses import replace\n    shortlisted = replace(shortlisted, {change})\n"
    install.add(f"{PREFIX}notion", source, {plugins.NOTIONS: {"shortlisted": "shortlisted"}})
    offering = {name for name, kind in methods().items() if "shortlisted" in kind.info.notions}
    assert offering & {"pf_ld", "raco_dp", "dp_fermi"} == pursuing and {"none", "dp_sgd"} <= offering
    y, score, group = np.array([1, 0, 1, 0]), np.array([0.9, 0.8, 0.7, 0.1]), np.array([0, 0, 1, 1])
    found = measure(y, score, group, ["a", "b"])
    assert found["shortlisted_gap"] is not None and "shortlisted_gap" not in found["reasons"]


def test_a_packages_level_is_measured_and_asked_for_of_none(install: Installer) -> None:
    source = (
        f"{NOTION}\n    from dataclasses import replace\n    shortlisted = replace(shortlisted, compares='losses')\n"
    )
    install.add(f"{PREFIX}notion", source, {plugins.NOTIONS: {"shortlisted": "shortlisted"}})
    assert not any("shortlisted" in kind.info.notions for kind in methods().values())
    found = measure(np.array([1, 0]), np.array([0.5, 0.25]), np.array([0, 1]), ["a", "b"])
    assert found["shortlisted"] == pytest.approx(np.log(2.0)) and "shortlisted_gap" not in found


@pytest.mark.parametrize(
    ("source", "name", "place", "says"),
    [
        ("raise RuntimeError('no licence')", "bad", "Good", "ended in RuntimeError: no licence."),
        ("import sys; sys.exit('bye')", "bad", "Good", "ended in SystemExit: bye."),
        ("import not_there_at_all", "bad", "Good", "No module named 'not_there_at_all'"),
        ("x = 1", "bad", "Good", "has no attribute 'Good'"),
        ("Good = 1", "bad", "Good", "a method must be a frozen dataclass, got 'int'."),
        ("class Good: pass", "bad", "Good", "a method must be a frozen dataclass, got Good."),
        (METHOD, "dp_sgd", "Good", "there is a method of that name in fairpriv; take another."),
        (METHOD, "Bad-Name", "Good", "a name has 2 to 40 small letters, digits and underscores"),
        (METHOD, "bad", "Good", "info.name must be the entry point's name 'bad', got 'good'."),
        (f"{METHOD}    Good.info = None", "good", "Good", "info must be a MethodInfo, got 'NoneType'."),
        (f"{METHOD}    Good.info = named('good', title='')", "good", "Good", "info.title must be text, got ''."),
        (
            f"{METHOD}    Good.info = named('good', threat_model='all')",
            "good",
            "Good",
            "info.threat_model must be attribute, record or None, got 'all'.",
        ),
        (
            f"{METHOD}    Good.info = named('good', only=('justice',))",
            "good",
            "Good",
            "info.only must be a tuple",
        ),
        (f"{METHOD}    Good.info = named('good', only=())", "good", "Good", "info.only must be a tuple"),
        (f"{METHOD}    Good.info = named('good', pursued=('hope',))", "good", "Good", "info.pursued must be a tuple"),
        (f"{METHOD}    Good.info = named('good', pursued=('losses',))", "good", "Good", "info.pursued must be a tuple"),
        (f"{METHOD}    Good.info = named('good', variants=('sure',))", "good", "Good", "info.variants must be a tuple"),
        (
            f"{METHOD}    Good.info = named('good', calibrates='sigma')",
            "good",
            "Good",
            "must name a field, got 'sigma'",
        ),
        (
            f"{METHOD}    Good.info = named('good', style=Style('pink', 'dot', 'x'))",
            "good",
            "Good",
            "style.color must be one of blue, sky",
        ),
        (f"{METHOD}    Good.fit_many = None", "good", "Good", "must have every verb of a method; missing: fit_many."),
        (f"{METHOD}    Good.steps = lambda self, n: 'many'", "good", "Good", "must be a whole number > 0, got 'many'."),
        (
            f"{METHOD}    Good.steps = lambda self, n: 1 // 0",
            "good",
            "Good",
            "looking at it ended in ZeroDivisionError",
        ),
        (f"{METHOD}    Good.assumptions = lambda self: 'none'", "good", "Good", "must be a tuple of sentences, got"),
        (
            f"{METHOD}    @dataclass(frozen=True)\n    class Worse(Good):\n        mine: int = 3\n",
            "good",
            "Worse",
            "field 'mine' must be declared by parameter(default, title, help), its help a sentence.",
        ),
        (
            f"{METHOD}    @dataclass(frozen=True)\n    class Worse(Good):\n"
            "        mine: float = parameter(3.0, 'Mine', 'What it is.', low=0.0, high=1.0)\n",
            "good",
            "Worse",
            "the default of 'mine' must lie in its range, got 3.0.",
        ),
        (
            f"{METHOD}{RULES}    class Late(NoisySumsRule):\n        def __post_init__(self): pass\n",
            "good",
            "Good",
            "left out: rule Late has __post_init__, which is never called; write __init__(self, setting) in a plain",
        ),
        (
            f"{METHOD}{RULES}    class Late(LagrangianRule):\n        def __post_init__(self): pass\n",
            "good",
            "Good",
            "left out: rule Late has __post_init__, which is never called; write __init__(self, setting) in a plain",
        ),
        (
            f"{METHOD}{RULES}    @dataclass\n    class Late(NoisySumsRule):\n        pass\n",
            "good",
            "Good",
            "left out: rule Late is a dataclass; write __init__(self, setting) in a plain class.",
        ),
        (
            f"{METHOD}{PUBLISHED}    class Worse(Both, Good): pass\n",
            "good",
            "Worse",
            "Worse has a published variant; say in UNPROVED why that proves no epsilon.",
        ),
        (
            f"{METHOD}{PUBLISHED}    class Worse(Both, AdaptiveBounds): rule = None\n",
            "good",
            "Worse",
            "Worse has a published variant; say in UNPROVED why that proves no epsilon.",
        ),
    ],
)
def test_a_bad_method_is_left_out_with_one_sentence(
    install: Installer, call: Call, source: str, name: str, place: str, says: str
) -> None:
    before = list(methods())
    install.add(f"{PREFIX}bad", source, {plugins.METHODS: {name: place}})
    assert list(methods()) == before
    (plugin,) = method_catalog.list_plugins()
    assert plugin.fault is not None and says in plugin.fault
    assert plugin.fault.startswith(f"method '{name}' of package {PREFIX}bad 1.0 is left out: ")
    listed = call("methods", "--json")
    assert [each["name"] for each in listed.json["methods"]] == before and says in listed.err
    checked = call("check-plugin", name)
    assert checked.code == 1 and says in checked.err and len(checked.err.strip().splitlines()) == 1


def test_a_name_that_two_packages_offer_is_neither_ones(install: Installer) -> None:
    for package in ("one", "other"):
        install.add(f"{PREFIX}{package}", METHOD, {plugins.METHODS: {"good": "Good"}})
    assert "good" not in methods()
    faults = [plugin.fault for plugin in method_catalog.list_plugins()]
    assert len(faults) == 2 and all("another installed entry point has that name" in str(fault) for fault in faults)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("conditions=(2,)", "conditions must be one of (None,), (0, 1), (1,), (0,), got (2,)."),
        ("compares='hope'", "compares must be one of decisions, errors, labels, scores, losses, got 'hope'."),
        ("compares='labels'", "conditions must be one of (1,), got (None,)."),
        ("compares='losses', conditions=(1,)", "conditions must be one of (None,), got (1,)."),
        ("title=' '", "title must be text, got ' '."),
        ("sentence='No full stop'", "sentence must be one sentence"),
        ("ask='The same for {everyone}.'", "ask must have {groups} and no places but {groups}, {positive}"),
        ("ask='The same for {groups.'", "ask must be a text with {groups}"),
        ("ask_of_classes=''", "ask_of_classes must have {groups}"),
        ("name='other'", "the notion's name must be the entry point's 'shortlisted', got 'other'."),
    ],
)
def test_a_bad_notion_is_left_out_with_one_sentence(install: Installer, call: Call, change: str, says: str) -> None:
    source = f"{NOTION}\n    from dataclasses import replace\n    shortlisted = replace(shortlisted, {change})\n"
    install.add(f"{PREFIX}notion", source, {plugins.NOTIONS: {"shortlisted": "shortlisted"}})
    (plugin,) = notion_catalog.list_plugins()
    assert "shortlisted" not in notions() and says in str(plugin.fault)
    assert says in call("notions").err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("title=''", "title must be text, got none."),
        ("sensitive=()", "sensitive must name a column whose groups are compared, got none."),
        ("sensitive=('colour',)", "sensitive names what is no column: colour."),
        ("generate=None", "a data set has files (editions or pictures) or a generator (generate), and not both."),
        ("schema=(number('a', low=3, high=1, center=0, scale=1),)", "column 'a' must have low < high, got 3 and 1."),
        ("schema=(number('a', low=0, high=1, center=0, scale=0),)", "column 'a' must have scale > 0, got 0."),
        ("schema=(category('a', ('x',)),)", "column 'a' must have two or more categories"),
        ("labels=()", "labels must name what can be predicted, got none."),
        ("editions=((source('../../etc/passwd'),),), generate=None", "a source's path must stay in the data folder"),
        ("editions=((source('a', 'http://a.org'),),), generate=None", "a source's url must begin with https://"),
    ],
)
def test_a_bad_data_set_is_left_out_with_one_sentence(install: Installer, call: Call, change: str, says: str) -> None:
    head = (
        "\n    from fairpriv_core.files.column import category, number\n"
        "    from fairpriv_core.data.problem import Layout, Source\n"
        "    def source(path, url='https://a.org/a'):\n        return Source(path, url, '0' * 64, Layout())\n"
    )
    source = f"{DATA}{head}    made_up = replace(made_up, {change})\n"
    install.add(f"{PREFIX}data", source, {plugins.DATA_SETS: POINT})
    (plugin,) = data_catalog.list_plugins()
    assert "made_up" not in problems() and says in str(plugin.fault)
    assert says in call("datasets").err


def test_a_package_that_asks_for_the_catalogue_sees_our_own_while_it_is_imported(install: Installer) -> None:
    source = f"{METHOD}\n    from fairpriv_core.methods.catalog import methods\n    seen = list(methods())\n"
    own = list(methods())
    install.add(f"{PREFIX}curious", source, {plugins.METHODS: {"good": "Good"}})
    assert "good" in methods()
    assert import_module(f"{PREFIX}curious.things").seen == own


def test_a_method_that_is_gone_has_a_name_and_promises_nothing() -> None:
    known = methods()
    assert "gone" not in known and known.get("gone") is None
    info = known["gone"].info
    assert (info.title, info.threat_model, info.notions) == ("gone (not installed)", None, ())
    assert method_style("gone").title == "gone (not installed)"


def test_rows_of_another_packages_data_are_nobodys_to_publish(install: Installer) -> None:
    source = f"{DATA}    from fairpriv_core.data.problem import Layout, Source\n"
    copied = "editions=((Source('a.csv', 'https://a.org/a.csv', 'ab' * 32, Layout()),),), generate=None"
    install.add(f"{PREFIX}data", f"{source}    made_up = replace(made_up, {copied})\n", {plugins.DATA_SETS: POINT})
    assert "made_up" in problems() and "made_up" not in own_problems()
    assert not is_published({"dataset": "made_up"}) and is_published({"dataset": "synthetic"})
    assert find_published("ab" * 32) is None
