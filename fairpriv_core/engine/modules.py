"""Networks of a person's own: any PyTorch module, by the name of the function that builds it. Free of torch.

`network = "mypackage:build"` names `build(size, outputs)` of an installed package. `size` is that of a row, (columns,)
or (channels, height, width); `outputs` is 1, the logit of label 1 of two, or the number of labels. It returns a
`torch.nn.Module` that takes rows (n, *size) float32 and gives (n, outputs).

A module is code, and whatever runs it runs what its author wrote: workers and commands import it, pages never do. It is
found as Python finds any package, among what this machine's owner installed, and never comes from an upload or from a
stored model, which has a reference and hashes alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.predict import as_chances
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.rates import TWO

IN_MEMORY = "in_memory"  # in place of a package
ENTRY_POINTS = "fairpriv.networks"
_OPENED = "fairpriv_core.engine.torch.module"  # it needs torch, which takes seconds to load
_SCORED = "fairpriv_core.engine.torch.module_kernel"  # as does this
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_module(network: str) -> bool:
    """Return whether the name of a network is a reference to a person's own, "package:function".

    >>> is_module("mypackage.nets:build"), is_module("mlp")
    (True, False)
    """
    return _REFERENCE.fullmatch(network) is not None


def list_installed() -> dict[str, str]:
    """Return name -> reference of the networks that installed packages offer by the entry point `fairpriv.networks`.

    Read from the packages' metadata: nothing of theirs is imported.
    """
    references = {point.name: point.value for point in metadata.entry_points(group=ENTRY_POINTS)}
    return {name: references[name] for name in sorted(references) if is_module(references[name])}


@dataclass
class Held:
    """A network that is in memory already; `opened` is what was found out of it, by shape and device."""

    build: Callable[[tuple[int, ...], int], Any]
    opened: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy in another process needs: what is open stays here."""
        return {"build": self.build, "opened": {}}


_held: ContextVar[Mapping[str, Held] | None] = ContextVar("held", default=None)


@contextmanager
def hold(reference: str, network: Held) -> Iterator[None]:
    """Let `reference` mean a network in memory, in this thread and as long as the context is open."""
    token = _held.set({**(_held.get() or {}), reference: network})
    try:
        yield
    finally:
        _held.reset(token)


def name_held(module: Any) -> tuple[str, Held]:
    """Return a reference for a network that is in memory, and what `hold` takes: a module, or what builds one.

    A module is built anew as it is, whatever the size of rows and the seed; BadInput for what is neither.
    """
    name = str(getattr(module, "__name__", type(module).__name__))
    reference = f"{IN_MEMORY}:{name if name.isidentifier() else 'network'}"
    if hasattr(module, "named_parameters") and not isinstance(module, type):
        return reference, Held(partial(_give, module))
    if callable(module):
        return reference, Held(module)
    raise BadInput(
        f"module must be a torch.nn.Module, a function of (size, outputs) that builds one, or 'package:function', got "
        f"{type(module).__name__}.",
        field="module",
    )


def _give(module: Any, size: tuple[int, ...], outputs: int) -> Any:
    return module


def find_held(reference: str) -> Held | None:
    """Return the network that `hold` holds by this reference; None where it is to be imported."""
    return (_held.get() or {}).get(reference)


def hash_sources(reference: str) -> str:
    """Return a SHA-256 of all Python sources of the package that a reference names; nothing of it is run.

    BadInput where the package is not installed, or has no sources that can be read. "" of a network that is held.
    """
    if find_held(reference) is not None:
        return ""
    spec = _find_package(reference)
    roots = [Path(place) for place in spec.submodule_search_locations or ()]
    files = [(root, path) for root in roots for path in sorted(root.rglob("*.py"))]
    if not roots and spec.origin is not None and spec.origin.endswith(".py"):
        files = [(Path(spec.origin).parent, Path(spec.origin))]
    if not files:
        raise BadInput(
            f"network '{reference}' is in '{spec.name}', which has no Python sources to identify it by.",
            field="network",
        )
    digest = hashlib.sha256()
    for root, path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _find_package(reference: str) -> ModuleSpec:
    """Return the outermost package that a reference names and that has code; namespaces around it have none to run."""
    name, _, rest = reference.partition(":")[0].partition(".")
    while True:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise BadInput(
                f"network '{reference}' is not installed here: there is no package '{name}'; install it where runs "
                "train.",
                field="network",
            )
        if spec.origin is not None or not rest:
            return spec
        inner, _, rest = rest.partition(".")
        name = f"{name}.{inner}"


def import_build(reference: str) -> Callable[[tuple[int, ...], int], Any]:
    """Return the function that a reference names; BadInput where there is none."""
    held = find_held(reference)
    if held is not None:
        return held.build
    module, _, name = reference.partition(":")
    _find_package(reference)
    try:
        value: Any = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"network '{reference}' cannot be imported: {error}.", field="network") from error
    if not callable(value):
        kind = type(value).__name__
        raise BadInput(f"network '{reference}' must be a function that builds a module, got {kind}.", field="network")
    build: Callable[[tuple[int, ...], int], Any] = value
    return build


@dataclass(frozen=True)
class Trained:
    """What tells the module of a stored model: `code` its package's sources, `fixed` what is not trained, by hashes.

    `tensors` are the names and shapes of what is, in the order in which the `parameters` (P,) hold them.
    """

    code: str
    fixed: str
    parameters: int
    tensors: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class ModuleShape:
    """A person's own network for rows of `size_in`, (columns,) or (channels, height, width), and so many labels.

    What depends on the module itself (`size`, `initial`, `views`, `to_json`) opens it: that loads PyTorch and
    runs the code that the reference names. A stored model is `trained` with one, and its `size` and JSON open nothing.
    """

    kind: ClassVar[str] = "module"
    holds: ClassVar[str] = ""
    needs_group: ClassVar[bool] = False
    is_randomised: ClassVar[bool] = False
    runs_code: ClassVar[bool] = True
    reference: str
    size_in: tuple[int, ...]
    labels: int
    trained: Trained | None = None

    @property
    def inputs(self) -> int:
        """The number of values in a row."""
        return math.prod(self.size_in)

    @property
    def outputs(self) -> int:
        """The number of outputs: 1, the logit of two labels, or one for each label."""
        return 1 if self.labels == TWO else self.labels

    @property
    def size(self) -> int:
        """The number of trainable parameters P."""
        return int(self._opened.size if self.trained is None else self.trained.parameters)

    def initial(self, seed: int) -> np.ndarray:
        """Return the trainable parameters (P,) float32 that the module is built with, under the public `seed`."""
        parameters: np.ndarray = self._opened.initial(seed)
        return parameters

    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each layer's parameters as a column (K, n, 1), and none beside them, as views into `flat` (K, P)."""
        return [(flat[:, part, None], flat[:, None, :0]) for part in self._opened.layers]

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        """Return the chances; BadInput where the module is not installed, or is not the one it was."""
        outputs: np.ndarray = import_module(_SCORED).score_module(self, parameters, rows)
        return as_chances(outputs)

    def to_json(self) -> dict[str, Any]:
        """Return a reference and hashes, never code."""
        fields_of_module = asdict(self.trained or self._opened.trained)
        document = {
            "kind": self.kind,
            "reference": self.reference,
            "code": fields_of_module.pop("code"),
            "fixed": fields_of_module.pop("fixed"),
        }
        return {**document, "size": list(self.size_in), "labels": self.labels, **fields_of_module}

    @staticmethod
    def from_json(network: Mapping[str, Any]) -> ModuleShape:
        """Return the shape that `to_json` described."""
        trained = Trained(**{item.name: network[item.name] for item in fields(Trained)})
        return ModuleShape(network["reference"], tuple(network["size"]), network["labels"], trained)

    @property
    def doubt(self) -> str | None:
        """What is likely wrong with the module's outputs; None where nothing is."""
        doubt: str | None = self._opened.doubt
        return doubt

    @property
    def _opened(self) -> Any:
        return import_module(_OPENED).open_module(self, "cpu")
