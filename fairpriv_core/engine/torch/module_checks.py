"""What a person's own module must keep to before a protected row is shown to it: each record's part is its own.

A bound on what one record adds holds where its output and gradient depend on that record alone. Layers that are known
to mix records are refused by name, by Opacus' validator. For all else the module is tried on made-up rows: with one
row replaced every other row must give the same bits, and a row among others the same gradient as autograd gives it
alone. That also finds gradients that Opacus makes otherwise, and numbers drawn in forward. Rows have
both signs, are few and as many as a pass takes, and the one that is replaced is far out or no number, too. While it
trains, the trial is repeated with the parameters and the number of rows of then.

A trial is no proof for all rows: that is among what epsilon takes as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from opacus.validators import ModuleValidator
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.torch.gradients import Learnt, Road, Seed, list_unknown
from fairpriv_core.errors import BadInput, FairprivError, RunFailed
from fairpriv_core.privacy.sums import BLOCK
from fairpriv_core.seeds import public_generator

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_ROWS = 8
_MOVED = 0.1  # how far parameters are moved: what starts at 0 would hide what is behind it
_LARGE = 1e3
_FAR = 10.0  # how far parameters are moved where outputs are to show what bounds them
_CLOSE = 1e-3  # of a gradient's norm: float32, in products of other sizes


class Opened(Protocol):
    """A module that is to be tried."""

    shape: ModuleShape
    place: torch.device
    size: int
    road: Road

    def load(self, flat: Tensor, owner: object) -> None: ...
    def score(self, rows: Tensor) -> Tensor: ...
    def give(self, rows: Tensor) -> Tensor: ...
    def learn(self, rows: Tensor, seed: Seed) -> Learnt: ...
    def differentiate(self, row: Tensor, delta: Tensor) -> Tensor: ...
    def hash_state(self) -> str: ...
    def list_inplace(self) -> list[str]: ...
    def read(self) -> Tensor: ...


def check_layers(reference: str, module: nn.Module) -> None:
    """Raise BadInput for a module that has nothing to train, or a layer that Opacus refuses, with what to take."""
    if any(is_lazy(tensor) for tensor in (*module.parameters(), *module.buffers())):
        raise BadInput(f"network '{reference}' has a lazy layer; give its number of inputs.", field="network")
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise BadInput(f"network '{reference}' has no parameter that requires a gradient.", field="network")
    for name, part in module.named_modules():
        own = list(part.parameters(recurse=False))
        if any(tensor.requires_grad for tensor in own) or (isinstance(part, _BATCH_NORMS) and not own):
            _check_layer(reference, name, part)


def _check_layer(reference: str, name: str, part: nn.Module) -> None:
    validate = ModuleValidator.VALIDATORS.get(type(part))
    mixes = isinstance(part, _BATCH_NORMS)
    if not mixes and (validate is None or not validate(part)):
        return
    why = "mixes the records of a batch" if mixes else "gives Opacus no gradient of a record's own"
    fix = ModuleValidator.FIXERS.get(type(part))
    instead = f"take {_format_part(fix(part))}, as Opacus' ModuleValidator.fix does" if fix else "take another layer"
    raise BadInput(
        f"network '{reference}' has {type(part).__name__} ('{name}'), which {why}: no record's part can be bounded; "
        f"{instead}.",
        field="network",
    )


def _format_part(part: nn.Module) -> str:
    return type(part).__name__ if any(True for _ in part.children()) else repr(part)


def check_module(opened: Opened) -> None:
    """Raise BadInput where an open module does not treat each record by itself; its parameters are as before."""
    built = opened.read()
    draw = public_generator(0, "trial of a network")
    moved = built + torch.from_numpy(draw.uniform(-_MOVED, _MOVED, opened.size).astype(np.float32)).to(opened.place)
    rows, delta = _make_rows(opened, draw), _make_delta(opened, draw, _ROWS)
    opened.load(moved, moved)
    try:
        before = opened.hash_state()
        first = opened.score(rows)
        _require(opened, torch.isfinite(first).all(), "gives outputs that are not finite on rows from 0 to 1")
        _require(opened, torch.equal(first, opened.score(rows)), _RANDOM)
        _require(opened, opened.hash_state() == before, _CHANGED)
        _check_others(opened, rows, delta)
        _check_alone(opened, rows, delta)
        for count in (_ROWS, BLOCK):
            _check_wide(opened, count, draw)
        _require(opened, opened.hash_state() == before, _CHANGED)
    except BadInput:
        raise
    except RunFailed as error:
        raise BadInput(str(error), field="network") from error
    except Exception as error:
        raise BadInput(_explain(opened, error), field="network") from error
    opened.load(built, built)


def check_again(opened: Opened, count: int, turn: int) -> None:
    """Raise RunFailed where a module with the parameters of now does not treat each of `count` made-up rows by itself.

    `turn` draws other rows each time.
    """
    before = opened.hash_state()
    try:
        _check_wide(opened, count, public_generator(turn, "trial of a network"))
        _require(opened, opened.hash_state() == before, _CHANGED)
    except BadInput as error:
        raise RunFailed(f"{error} It was found while training, on made-up rows.") from error


def _explain(opened: Opened, error: Exception) -> str:
    """Return why a module does not take rows, with the remedy where it is known."""
    reference, size, inplace = opened.shape.reference, opened.shape.size_in, opened.list_inplace()
    if "inplace" in str(error) and inplace:
        return (
            f"network '{reference}' has {inplace[0]}, which overwrites what a record's gradient is made of; "
            "set inplace=False."
        )
    sentence = f"{type(error).__name__}: {error}"
    unknown = list_unknown(opened.road.module)
    if unknown:
        return (
            f"network '{reference}' trains parameters outside the layers that Opacus knows ({unknown[0]}), so that its "
            f"code runs on one record at a time, and cannot: {sentence}"
        )
    return f"network '{reference}' does not take rows of size {size} with values from 0 to 1: {sentence}"


_OTHER = "gives a row another output alone than among others"
_CHANGED = "changes a parameter or buffer in forward, such as a mean"
_RANDOM = "draws at random in forward, so that no run could go on from a checkpoint; set its dropout to 0"


def _make_rows(opened: Opened, draw: np.random.Generator) -> Tensor:
    """Return rows of numbers from 0 to 1, half of them whole: what a table's columns and numbers of words can be."""
    rows = draw.uniform(0.0, 1.0, (_ROWS, opened.shape.inputs))
    rows[::2] = np.rint(rows[::2])
    return torch.from_numpy(rows.astype(np.float32)).to(opened.place)


def _make_delta(opened: Opened, draw: np.random.Generator, count: int) -> Tensor:
    delta = draw.uniform(0.5, 1.0, (count, opened.shape.outputs)).astype(np.float32)
    return torch.from_numpy(delta).to(opened.place)


def _make_wide(opened: Opened, draw: np.random.Generator, count: int) -> Tensor:
    """Return rows of both signs, near and far out, as an encoder's numbers can be."""
    rows = draw.normal(size=(count, opened.shape.inputs)) * draw.choice([0.1, 1.0, 10.0], (count, 1))
    return torch.from_numpy(rows.astype(np.float32)).to(opened.place)


def _replaced(rows: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield the rows with one of them replaced, and which: by none, by another row, by one far out."""
    for index in (0, len(rows) // 2, len(rows) - 1):
        for value in (torch.zeros_like(rows[0]), rows[index - 1], rows[index] * _LARGE + _LARGE):
            changed = rows.clone()
            changed[index] = value
            yield index, changed


def _check_others(opened: Opened, rows: Tensor, delta: Tensor) -> None:
    honest = _learn(opened, rows, delta)
    for index, changed in _replaced(rows):
        _compare(opened, honest, (changed, delta), index)


def _check_wide(opened: Opened, count: int, draw: np.random.Generator) -> None:
    """Compare rows of both signs with one of them replaced: by its negative, by one far out, by one of no numbers."""
    rows, delta = _make_wide(opened, draw, count), _make_delta(opened, draw, count)
    try:
        honest = _learn(opened, rows, delta)
    except FairprivError:
        raise
    except Exception:  # its own code, on rows it may not know: a number that is no word of its vocabulary
        return
    _check_plain(opened, rows, honest[0])
    index = int(draw.integers(count))
    for value in (-rows[index], rows[index] * _LARGE - _LARGE, torch.full_like(rows[index], torch.nan)):
        changed = rows.clone()
        changed[index] = value
        _compare(opened, honest, (changed, delta), index)


def _compare(opened: Opened, honest: list[Tensor], changed: tuple[Tensor, Tensor], index: int) -> None:
    """Require that all rows but the one at `index` give the bits that they gave before it was replaced."""
    try:
        other = _learn(opened, *changed)
    except FairprivError:
        raise
    except Exception:  # its own code, as above
        return
    rest = [place for place in range(len(changed[0])) if place != index]
    same = all(have_same_bits(one[rest], another[rest]) for one, another in zip(honest, other, strict=True))
    _require(opened, same, f"mixes the records of a batch: with row {index} replaced, others changed")


def have_same_bits(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape and kind hold the same, what is no number too."""
    left, right = (tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other))
    return torch.equal(left, right)


def _check_plain(opened: Opened, rows: Tensor, scores: Tensor) -> None:
    """Require the scores of rows that pass through as they are: what runs record by record may mix them there."""
    with torch.no_grad():
        off = float((opened.road.forward(rows) - scores).norm())
    _require(opened, not off > _CLOSE * (float(scores.norm()) + 1e-6), _OTHER)


def _check_alone(opened: Opened, rows: Tensor, delta: Tensor) -> None:
    scores, *gradients = _learn(opened, rows, delta)
    _check_plain(opened, rows, scores)
    together = torch.cat(gradients, dim=1)
    for index in range(_ROWS):
        own = opened.differentiate(rows[index : index + 1], delta[index : index + 1])
        off, length = float((together[index] - own).norm()), float(own.norm())
        what = "has a layer for which Opacus' gradient of a record is not that of the record alone"
        _require(opened, off <= _CLOSE * (length + 1e-6), f"{what} (off by {off:.2g} of {length:.2g})")
        alone = opened.score(rows[index : index + 1])[0]
        close = torch.allclose(alone, scores[index], rtol=_CLOSE, atol=_CLOSE)
        _require(opened, close, _OTHER)


def find_doubt(opened: Opened) -> str | None:
    """Return what is likely wrong with an open module's outputs, which are taken as logits; None where nothing is.

    Tried on rows of both signs, near and far out, with parameters as built and moved far: what ends in a sigmoid stays
    within 0 and 1 all the same, and what gives one logit of one sign alone decides one label alone.
    """
    built, draw = opened.read(), public_generator(0, "outputs of a network")
    rows = draw.normal(size=(_ROWS // 2, opened.shape.inputs)) * np.geomspace(0.1, 100.0, _ROWS // 2)[:, None]
    signed = torch.from_numpy(np.concatenate([rows, -rows]).astype(np.float32)).to(opened.place)
    moved = draw.uniform(-_FAR, _FAR, (_ROWS, opened.size)).astype(np.float32)
    doubts = []
    try:
        for flat in (built, *torch.from_numpy(moved).to(opened.place)):
            opened.load(flat, flat)
            doubts.append(opened.give(signed))
    except Exception:  # its own code, on rows it may not know: a number that is no word of its vocabulary
        return None
    finally:
        opened.load(built, built)
    outputs = torch.cat(doubts)
    low, high, name = float(outputs.min()), float(outputs.max()), opened.shape.reference
    if low >= 0 and high <= 1:
        return (
            f"Network '{name}' ends in a sigmoid or softmax: its outputs lie within 0 and 1 and are taken as logits, "
            "which have any sign. Leave out its last layer."
        )
    if outputs.shape[1] == 1 and (low >= 0 or high <= 0):
        return (
            f"Network '{name}' gives outputs of one sign alone, and its output is taken as the logit of label 1, which "
            "is below 0 for the other label. Leave out its last layer."
        )
    return None


def _learn(opened: Opened, rows: Tensor, delta: Tensor) -> list[Tensor]:
    """Return the outputs (b, outputs), and each parameter's gradients (b, n), of sum(delta * outputs)."""
    learnt = opened.learn(rows, lambda scores: (delta, scores[:, 0]))
    return [learnt.scores, *(part for cache in learnt.cache for part in cache.parts)]


def _require(opened: Opened, holds: Any, otherwise: str) -> None:
    if not bool(holds):
        raise BadInput(f"network '{opened.shape.reference}' {otherwise}.", field="network")
