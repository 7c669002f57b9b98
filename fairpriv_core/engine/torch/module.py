"""A person's own PyTorch module: built, opened once, tried, and used by kernels.

Its records' gradients are made by gradients.py; clipping, sums, noise and counting are those of any network. What is
not trained (frozen parameters, buffers) never changes, so that a module is its trainable parameters, one flat vector,
and what it was built with. Parts without trainable parameters are used as in evaluation: dropout does nothing, and
frozen batch norm divides by what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairpriv_core.engine.modules import ModuleShape, Trained, find_held, hash_sources, import_build
from fairpriv_core.engine.torch.device import open_device
from fairpriv_core.engine.torch.gradients import Learnt, Seed, open_road
from fairpriv_core.engine.torch.module_checks import check_layers, check_module, find_doubt, have_same_bits
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.seeds import public_generator

_TOLD_BY = ("its package's sources are", "its frozen parameters and buffers are", "its tensors are")


def open_module(shape: ModuleShape, device: str) -> OpenModule:
    """Return the module of `shape` on `device`, built and checked; once in a process.

    BadInput, in a sentence, where it is not installed, cannot be built for these rows, gives something else than one
    output a record and label, is not what a stored model was trained with, or where no record has a part of its own.
    """
    held, bare = find_held(shape.reference), replace(shape, trained=None)
    cache = OPENED if held is None else held.opened
    if (bare, device) not in cache:
        if shape.trained is not None and hash_sources(shape.reference) != shape.trained.code:
            raise BadInput(_format_changed(shape.reference, _TOLD_BY[0]), field="network")
        cache[bare, device] = OpenModule(bare, device)
    opened: OpenModule = cache[bare, device]
    opened.require(shape.trained)
    return opened


OPENED: dict[tuple[ModuleShape, str], OpenModule] = {}  # in this process, of installed packages


class OpenModule:
    """A module that has passed all checks. Several models take turns in it: each puts its parameters in first."""

    def __init__(self, shape: ModuleShape, device: str) -> None:
        self.shape, self.place, self.lock = shape, open_device(device), RLock()
        self.code = hash_sources(shape.reference)
        module = build_module(shape, 0)
        self.fixed = hash_fixed(module)
        self._module = module.to(self.place)
        self.road = open_road(module, shape.size_in, lambda found, count: as_outputs(found, shape, count))
        self.size, self.layers = self.road.size, self.road.places
        tensors = {name: list(tensor.shape) for name, tensor in self.road.weights}
        self.trained = Trained(self.code, self.fixed, self.size, tensors)
        self.passes = 0
        self._keep()
        check_module(self)
        self.doubt = find_doubt(self)

    def require(self, expected: Trained | None) -> None:
        """Raise BadInput where a stored model was trained with another module, by its hashes."""
        own, other = self.trained, expected or self.trained
        same = own.code == other.code, own.fixed == other.fixed, own == other
        for is_same, what in zip(same, _TOLD_BY, strict=True):
            if not is_same:
                raise BadInput(_format_changed(self.shape.reference, what), field="network")

    def initial(self, seed: int) -> np.ndarray:
        """Return the trainable parameters (P,) float32 that the module is built with; BadInput if others change too."""
        module = build_module(self.shape, seed)
        if hash_fixed(module) != self.fixed:
            raise BadInput(
                f"network '{self.shape.reference}' has frozen parameters or buffers that differ from one build to "
                "another; load them from a file, or train them.",
                field="network",
            )
        parts = [parameter.detach().numpy().ravel() for parameter in module.parameters() if parameter.requires_grad]
        return np.concatenate(parts).astype(np.float32)

    def load(self, flat: Tensor, owner: object) -> None:
        """Put parameters (P,) into the module, unless `owner` was the last to do so."""
        if self.road.load(flat, owner):
            self._keep()

    def _keep(self) -> None:
        self._kept = read_kept(self._module)
        self._values = {name: value.clone() for name, value in self._list_tensors()}

    def _list_tensors(self) -> list[tuple[str, Tensor]]:
        tensors = chain(self._module.named_parameters(), self._module.named_buffers())
        return [(name, tensor.detach()) for name, tensor in tensors]

    def read(self) -> Tensor:
        """Return the parameters (P,) that are in the module."""
        return torch.cat([tensor.detach().reshape(-1).clone() for _, tensor in self.road.weights])

    def hash_state(self) -> str:
        """Return a SHA-256 of all that the module holds."""
        return hash_values(self._module.named_parameters(), self._module.named_buffers())

    def list_inplace(self) -> list[str]:
        """Return the parts that overwrite what they are given, each with its name."""
        parts = ((name, part) for name, part in self._module.named_modules() if getattr(part, "inplace", False))
        return [f"{type(part).__name__}(inplace=True) ('{name}')" for name, part in parts]

    def score(self, rows: Tensor) -> Tensor:
        """Return the outputs (b, outputs) of `rows` (b, d)."""
        scores = self.road.score(rows)
        self._require_unchanged()
        return scores

    def give(self, rows: Tensor) -> Tensor:
        """Return what the module itself gives for `rows` (b, d), as (b, …)."""
        with torch.no_grad():
            out: Tensor = self._module(rows.view(-1, *self.shape.size_in)).reshape(len(rows), -1)
        self._require_unchanged()
        return out

    def differentiate(self, row: Tensor, delta: Tensor) -> Tensor:
        """Return the gradient (P,) of sum(delta * outputs) of one row (1, d), by autograd alone."""
        with torch.inference_mode(False), torch.enable_grad():
            total = (delta * self.road.forward(row.clone())).sum()
            tensors = [tensor for _, tensor in self.road.weights]
            gradients = torch.autograd.grad(total, tensors, allow_unused=True, materialize_grads=True)
        return torch.cat([gradient.reshape(-1) for gradient in gradients])

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their outputs is propagated back."""
        learnt = self.road.learn(rows, seed)
        self._require_unchanged()
        return learnt

    def _require_unchanged(self) -> None:
        """Stop where forward left anything in the module: what one record left there, others would see."""
        state = read_kept(self._module)
        changed = [name for name in state.keys() | self._kept.keys() if state.get(name) != self._kept.get(name)]
        changed = changed or [
            name for name, tensor in self._list_tensors() if not have_same_bits(tensor, self._values[name])
        ]
        if changed:
            raise RunFailed(
                f"network '{self.shape.reference}' changed '{min(changed)}' in forward: records would not stay apart. "
                "A parameter, a buffer and an attribute stay as they are built."
            )


#: attributes of a part that PyTorch and Opacus keep for themselves
_OTHERS = {*vars(nn.Module()), "max_batch_len"}
_DEEP = 4  # of lists and objects inside each other


@dataclass(frozen=True, eq=False)
class _Same:
    """A thing that is equal to itself alone, in the version that it had; held, so that no other takes its place."""

    thing: object
    version: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing and self.version == other.version

    __hash__ = object.__hash__


def read_kept(module: nn.Module) -> dict[str, object]:
    """Return what a module and its parts hold, by name: tensors by identity and version, other values as they are."""
    tensors = chain(module.named_parameters(), module.named_buffers())
    versions: dict[str, object] = {name: _Same(tensor, tensor._version) for name, tensor in tensors}
    for place, part in module.named_modules():
        own = ((name, value) for name, value in vars(part).items() if name not in _OTHERS)
        versions |= {f"{place}.{name}".lstrip("."): _mark(value, _DEEP) for name, value in own}
    return versions


def _mark(value: Any, deep: int) -> Any:
    """Return what is another where a value was changed, in place or not."""
    if isinstance(value, Tensor):
        return _Same(value, value._version)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return type(value), repr(value)
    if deep and isinstance(value, list | tuple | set | frozenset):
        return type(value), len(value), [_mark(item, deep - 1) for item in value]
    if deep and isinstance(value, dict):
        return [(repr(name), _mark(item, deep - 1)) for name, item in value.items()]
    if deep and hasattr(value, "__dict__") and not isinstance(value, nn.Module | type) and not callable(value):
        return _Same(value), [(name, _mark(item, deep - 1)) for name, item in vars(value).items()]
    return _Same(value)


def build_module(shape: ModuleShape, seed: int) -> nn.Module:
    """Return a module that was built under the public `seed`, in float32, ready to train; BadInput where it cannot."""
    reference, build = shape.reference, import_build(shape.reference)
    draw = int(public_generator(seed, "initialisation").integers(2**62))
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw)
            module = build(shape.size_in, shape.outputs)
    except Exception as error:
        raise BadInput(
            f"network '{reference}' could not be built for rows of size {shape.size_in} and {shape.outputs} outputs: "
            f"{type(error).__name__}: {error}",
            field="network",
        ) from error
    if not isinstance(module, nn.Module):
        raise BadInput(
            f"network '{reference}' must build a torch.nn.Module, got {type(module).__name__}.", field="network"
        )
    if isinstance(module, torch.jit.ScriptModule):
        raise BadInput(
            f"network '{reference}' is TorchScript, which gives no record's own gradient; build the nn.Module that it "
            "was made from.",
            field="network",
        )
    module = deepcopy(module).float()  # whoever builds it may hold on to it
    for part in module.modules():
        part.training = any(parameter.requires_grad for parameter in part.parameters())
    check_layers(shape.reference, module)
    return module


def hash_fixed(module: nn.Module) -> str:
    """Return a SHA-256 of all that is not trained: names and values of frozen parameters and buffers."""
    frozen = ((name, tensor) for name, tensor in module.named_parameters() if not tensor.requires_grad)
    return hash_values(frozen, module.named_buffers())


def hash_values(*named: Iterable[tuple[str, Tensor]]) -> str:
    """Return a SHA-256 of names and values."""
    digest = hashlib.sha256()
    for name, tensor in chain(*named):
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name}\0{values.dtype}\0{tuple(values.shape)}\0".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def as_outputs(outputs: Any, shape: ModuleShape, count: int) -> Tensor:
    """Return what a module gave as (count, outputs); of two outputs for two labels their difference is the logit."""
    if isinstance(outputs, Tensor) and len(outputs) == count:
        flat = outputs.reshape(count, -1)
        if flat.shape[1] == shape.outputs:
            return flat
        if shape.outputs == 1 and flat.shape[1] == shape.labels:
            return flat[:, 1:] - flat[:, :1]
    size = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
    remedy = "; return its .logits from forward" if isinstance(getattr(outputs, "logits", None), Tensor) else ""
    raise BadInput(
        f"network '{shape.reference}' must give ({count}, {shape.outputs}) for {count} rows, got {size}{remedy}.",
        field="network",
    )


def _format_changed(reference: str, what: str) -> str:
    return (
        f"network '{reference}' is not the one that this model was trained with: {what} others; install the version "
        "that it was trained with."
    )
