"""`fairpriv new method NAME`: a method that trains as it stands, for its author to change."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Collection
from pathlib import Path
from string import Template

import click

import fairpriv_core
from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, print_answer
from fairpriv_core.errors import BadInput
from fairpriv_core.figures.learn_ideas import IDEAS
from fairpriv_core.methods.base import DASHES, MARKERS
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.plugins import NAME

CATALOGUE, EXAMPLES = "fairpriv_core/methods/catalog.py", "tests/methods/examples/dp_sgd_family.py"
_SKELETON = Template('''"""$title: what it protects and what it pursues, in one line (Author, year)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule, clipped_loss_weights
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class $kind(NoisySums):
    """DP-SGD to begin with; say here what a step releases, with the paper's equation.

    Declare a hyper-parameter of your own as a field with `parameter(...)` of methods/base.py.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="$name",
        title="$title",
        style=Style("ink", "$dash", "$marker"),
        summary="Protects whole records; does not pursue fairness.",
        citation="Author (year), Title",
        threat_model="record",
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )

    network: str = fields.shared("network")

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """All that a fit releases: a step's noisy sum over a Poisson sample, to which a record adds at most C."""
        return (self.step_sum(n_train, self.clip_primal),)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        """Return what the models are trained by."""
        return ${kind}Rule(setting)


class ${kind}Rule(NoisySumsRule):
    """What differs from DP-SGD."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight on the gradient of its logit, (K, S) or (layers, K, S).

        With it a record's gradient must be at most `bounds()` long: the noise is scaled to that.
        """
        return clipped_loss_weights(sampled.records, self.column_of(self.bounds()).astype(np.float32))
''')


@click.group()
def new() -> None:
    """Begin a method of your own, in a checkout of the project."""


@new.command()
@click.argument("name")
@options.json
def method(name: str, as_json: bool) -> None:
    """Write the method NAME, such as my_method: its file, its line in the catalogue, its example in the contract."""
    files = write_method(name, Path(fairpriv_core.__file__).parents[1])
    contract = f"./fairpriv test tests/methods/test_contract.py -k {name}"
    text = (
        f"wrote {', '.join(files)}.\nIt is DP-SGD until you change it. Its contract: {contract}\n"
        "CONTRIBUTING.md says what is left to do, under 'To add a method'."
    )
    print_answer(Answer({"name": name, "files": files, "contract": contract}, text), as_json)


def write_method(name: str, root: Path) -> list[str]:
    """Write a method called `name` into the checkout at `root`; return the files that were written or changed.

    Raises:
        BadInput: `name` is no name for a method or is taken, or `root` is no checkout.
    """
    kind = "".join(part.capitalize() for part in name.split("_"))
    path = f"fairpriv_core/methods/{name}.py"
    _check_name(name)
    if not (root / EXAMPLES).is_file():
        raise BadInput(f"new method works in a checkout of the project alone: {root} has no {EXAMPLES}.")
    if (root / path).exists() or re.search(rf"\b{kind}\b", _SKELETON.template):
        raise BadInput(f"the name '{name}' is taken: its file would be {path}, its class {kind}.", field="name")
    styles = {(other.info.style.dash, other.info.style.marker) for other in methods().values()}
    dash, marker = next(pair for pair in itertools.product(DASHES, MARKERS) if pair not in styles)
    title = name.replace("_", " ").capitalize()
    skeleton = _SKELETON.substitute(name=name, kind=kind, title=title, dash=dash, marker=marker)
    (root / path).write_text(skeleton, encoding="utf-8")
    _insert(root / CATALOGUE, name, kind, before="\n)\n", line=f"    {kind},")
    _insert(root / EXAMPLES, name, kind, before="\n}\n", line=f'    "{name}": ({kind}(**SHARED), {kind}(**DEEP)),')
    return [path, CATALOGUE, EXAMPLES]


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or keyword.iskeyword(name) or name.endswith("_") or "__" in name:
        raise BadInput(
            "a method's name has 2 to 40 small letters, digits and single underscores and is no word of Python, "
            f"such as my_method; got '{name}'.",
            field="name",
        )
    names_by_kind: dict[str, Collection[str]] = {
        "method": methods(),
        "notion": notions(),
        "card on the Learn page": {idea.name for idea in IDEAS},
    }
    for what, names in names_by_kind.items():
        if name in names:
            raise BadInput(f"the name '{name}' is taken: there is a {what} of that name.", field="name")


def _insert(path: Path, name: str, kind: str, *, before: str, line: str) -> None:
    """Import `kind` where the alphabet has it, and put `line` at the end of the file's first table."""
    head, end, tail = path.read_text(encoding="utf-8").partition(before)
    lines = [*head.split("\n"), line]
    own = f"from fairpriv_core.methods.{name} import {kind}"
    imports = [at for at, text in enumerate(lines) if text.startswith("from fairpriv_core.methods.")]
    place = next((at for at in imports if lines[at] > own), imports[-1] + 1)
    lines.insert(place, own)
    path.write_text("\n".join(lines) + end + tail, encoding="utf-8")
