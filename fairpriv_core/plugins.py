"""What other packages add to the catalogues, by entry points. A fault of theirs is a sentence, never an exception.

Names and references are read from the packages' metadata. What an entry point names is code: it is imported, once in a
process, where its catalogue is first asked for, from among what this machine's owner installed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import metadata
from threading import RLock
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.text import to_sentence

METHODS, NOTIONS, DATA_SETS = "fairpriv.methods", "fairpriv.notions", "fairpriv.data_sets"
#: what a name in a catalogue looks like
NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")
_WORDS = {METHODS: "method", NOTIONS: "notion", DATA_SETS: "data set"}
_loaded: dict[str, tuple[Plugin, ...]] = {}  # by group
_lock = RLock()


@dataclass(frozen=True)
class Plugin:
    """One entry point: `found` is what it names, or None, with `fault`, the sentence that says why it is left out.

    `package` is the distribution with its version, `reference` what is named, "package.module:name".
    """

    group: str
    name: str
    reference: str
    package: str
    found: Any = None
    fault: str | None = None

    @property
    def kind(self) -> str:
        """What it is meant to be: "method", "notion" or "data set"."""
        return _WORDS[self.group]

    @property
    def title(self) -> str:
        """What sentences call it."""
        return f"{self.kind} '{self.name}' of package {self.package}"


def load_plugins(group: str, own: Collection[str], check: Callable[[str, Any], None]) -> tuple[Plugin, ...]:
    """Return what installed packages offer by the entry points of `group`, by name.

    `own` are the names that are taken. `check` is given each name and object; it raises BadInput for what is none of
    the kind. A package that asks for the catalogue while it is being imported sees the project's own entries alone.
    """
    with _lock:
        if group not in _loaded:
            _loaded[group] = ()
            points = sorted(metadata.entry_points(group=group), key=lambda point: (point.name, point.value))
            offered = Counter(point.name for point in points)
            _loaded[group] = tuple(_load(group, point, own, offered[point.name] > 1, check) for point in points)
        return _loaded[group]


def forget() -> None:
    """Look for installed packages anew when a catalogue is asked for the next time: something was installed."""
    with _lock:
        _loaded.clear()


def _load(group: str, point: Any, own: Collection[str], twice: bool, check: Callable[[str, Any], None]) -> Plugin:
    dist = getattr(point, "dist", None)
    package = "unknown" if dist is None else f"{dist.name} {dist.version}"
    plugin = Plugin(group, point.name, point.value, package)
    try:
        _check_name(plugin, own, twice)
        value = _attempt(plugin, f"importing '{plugin.reference}'", point.load)
        _attempt(plugin, "looking at it", lambda: check(plugin.name, value))
    except BadInput as error:
        return Plugin(group, point.name, point.value, package, fault=to_sentence(str(error)))
    return Plugin(group, point.name, point.value, package, value)


def _check_name(plugin: Plugin, own: Collection[str], twice: bool) -> None:
    if not NAME.fullmatch(plugin.name):
        raise BadInput(
            f"{plugin.title} is left out: a name has 2 to 40 small letters, digits and underscores, such as my_method."
        )
    if plugin.name in own:
        raise BadInput(f"{plugin.title} is left out: there is a {plugin.kind} of that name in fairpriv; take another.")
    if twice:
        raise BadInput(f"{plugin.title} is left out: another installed entry point has that name; uninstall one.")


def _attempt(plugin: Plugin, act: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except BadInput as error:
        raise BadInput(f"{plugin.title} is left out: {error}") from error
    except (Exception, SystemExit) as error:
        sentence = f"{type(error).__name__}: {error}"
        raise BadInput(f"{plugin.title} is left out: {act} ended in {sentence}.") from error
