"""A person's own modules in the kernel: gradients against autograd, rows that stay apart, and what is refused."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fairpriv_core.engine import modules
from fairpriv_core.engine.modules import Held, ModuleShape, hash_sources, hold, is_module, list_installed
from fairpriv_core.engine.torch import kernel as layered
from fairpriv_core.engine.torch.gradients import ByLayer, ByRecord, Road, measure_squares, seed_logit
from fairpriv_core.engine.torch.module import as_outputs, build_module, open_module
from fairpriv_core.engine.torch.module_kernel import ModuleKernel, score_module
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.privacy.sums import BLOCK
from tests import modules as own

TABLE = {
    name: ModuleShape(f"tests.modules:{name}", (7,), 2)
    for name in ("block", "attention", "mlp", "words", "frozen", "tied")
}
SHAPES = {
    **TABLE,
    "three labels": ModuleShape("tests.modules:normed", (7,), 3),
    "cnn": ModuleShape("tests.modules:cnn", (1, 14, 14), 2),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
Build = Callable[[tuple[int, ...], int], Any]
HELD = "held:network"


def _hold(build: Any) -> Any:
    return hold(HELD, Held(build))


def _start(shape: ModuleShape, models: int = 2) -> np.ndarray:
    return np.stack([shape.initial(seed) for seed in range(models)])


def _rows(shape: ModuleShape, count: int, streams: int = 1) -> np.ndarray:
    draw = np.random.default_rng(3)
    return draw.uniform(-2.0, 5.0, (streams, count, shape.inputs)).astype(np.float32)


def _labels(shape: ModuleShape, rows: np.ndarray) -> np.ndarray:
    return np.random.default_rng(4).integers(0, shape.labels, rows.shape[:2]).astype(np.float32)


def _gradients(shape: ModuleShape, flat: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each record's gradient (B, P), of the logit or else of the loss, by autograd of that record alone."""
    module, found = build_module(shape, 0), []
    trained = [each for each in module.parameters() if each.requires_grad]
    torch.nn.utils.vector_to_parameters(torch.tensor(flat), trained)
    for row, label in zip(rows, labels, strict=True):
        scores = module(torch.tensor(row).view(1, *shape.size_in))
        loss = nn.functional.cross_entropy(scores, torch.tensor([int(label)])) if shape.outputs > 1 else scores.sum()
        each = torch.autograd.grad(loss, trained)
        found.append(np.concatenate([part.numpy().ravel() for part in each]))
    return np.array(found)


@pytest.mark.parametrize(
    ("shape", "streams"),
    [
        pytest.param(shape, streams, id=f"{name}-{streams}", marks=[pytest.mark.long] * ((streams + place + 1) % 2))
        for place, (name, shape) in enumerate(SHAPES.items())
        for streams in (1, 2)
    ],
)
def test_norms_and_sums_are_those_of_autograd_one_record_at_a_time(shape: ModuleShape, streams: int) -> None:
    kernel, rows = ModuleKernel(shape, _start(shape)), _rows(shape, 11, streams)
    labels = _labels(shape, rows)
    passed = kernel.run(rows, labels=labels)
    weights = np.linspace(-1, 2, 22, dtype=np.float32).reshape(2, 11)
    total = kernel.weighted_sum(passed, weights[:, 2:9], slice(2, 9), bounded=True)
    for k in range(2):
        each = _gradients(shape, kernel.parameters[k], rows[k % streams], labels[k % streams])
        expected = weights[k, 2:9] @ each[2:9]
        assert np.allclose(passed.norms[k], np.linalg.norm(each, axis=1), rtol=1e-4)
        assert np.linalg.norm(total[k] - expected) <= 1e-4 * np.linalg.norm(expected)
    assert np.allclose(np.sqrt((passed.layer_norms**2).sum(axis=0)), passed.norms)
    assert [part.shape[1] for part, _ in shape.views(kernel.parameters)] == [
        part.stop - part.start for part in open_module(shape, "cpu").layers
    ]


@every_shape
@pytest.mark.parametrize("count", [5, BLOCK, 2 * BLOCK + 37])
def test_no_bit_of_another_row_depends_on_a_row(shape: ModuleShape, count: int) -> None:
    """With a row nulled or replaced in place, garbage and infinities too."""
    kernel, rows = ModuleKernel(shape, _start(shape, 1)), _rows(shape, count)
    labels, place = _labels(shape, rows), count // 2
    honest = kernel.run(rows, labels=labels)
    rest = [index for index in range(count) if index != place]
    kept = honest.logits[:, rest].copy(), honest.each[:, :, rest].copy()
    without = np.ones((1, count), dtype=np.float32)
    without[:, place] = 0.0
    total = kernel.weighted_sum(honest, without, slice(None), bounded=True).copy()
    for value in (0.0, -1e3, np.float32(3e38), np.nan):
        changed = rows.copy()
        changed[0, place] = value
        with np.errstate(all="ignore"):  # as in the loop
            passed = kernel.run(changed, labels=labels)
        assert np.array_equal(passed.logits[:, rest], kept[0]) and np.array_equal(passed.each[:, :, rest], kept[1])
        assert np.array_equal(kernel.weighted_sum(passed, without, slice(None), bounded=True), total), value


@every_shape
def test_gradients_that_are_made_again_have_the_same_bits(shape: ModuleShape, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, rows = ModuleKernel(shape, _start(shape)), _rows(shape, BLOCK + 9)
    weights = np.random.default_rng(0).uniform(-1, 1, (2, BLOCK + 9)).astype(np.float32)
    passed = kernel.run(rows, labels=_labels(shape, rows))
    total = kernel.weighted_sum(passed, weights, slice(None), bounded=True).copy()
    monkeypatch.setattr(layered, "_CACHED", 0)
    again = kernel.run(rows, labels=_labels(shape, rows))
    assert passed.cache and not again.cache and shape.doubt is None
    assert np.array_equal(kernel.weighted_sum(again, weights, slice(None), bounded=True), total)


def test_gradients_that_come_out_longer_when_made_again_are_shortened() -> None:
    """On a device that adds in no fixed order a gradient may be longer than the one whose norm was clipped."""
    shape = TABLE["mlp"]
    kernel, rows = ModuleKernel(shape, _start(shape, 1)), _rows(shape, 5)
    passed = kernel.run(rows)
    honest = kernel.weighted_sum(passed, np.ones((1, 5), dtype=np.float32), slice(None), bounded=True).copy()
    passed.cache, passed.each = [], passed.each / np.float32(4.0)
    again = kernel.weighted_sum(passed, np.ones((1, 5), dtype=np.float32), slice(None), bounded=True)
    assert np.allclose(again, honest / 2.0, rtol=1e-6)


def test_squares_of_long_gradients_keep_their_precision() -> None:
    for size in [1, 511, 512, 513, 30_000]:
        values = torch.full((3, size), 1.1)
        assert np.allclose(measure_squares(values).numpy(), size * float(np.float32(1.1)) ** 2, rtol=2e-6)


def test_a_module_starts_as_it_is_built_under_the_seed_and_global_numbers_stay() -> None:
    shape = TABLE["mlp"]
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = shape.initial(3), shape.initial(3), shape.initial(4)
    assert torch.equal(torch.rand(1), before)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert (first.shape, first.dtype) == ((shape.size,), np.dtype(np.float32))


def test_a_frozen_part_is_not_trained_and_used_as_in_evaluation() -> None:
    shape = TABLE["frozen"]
    assert shape.size == 13
    kernel, rows = ModuleKernel(shape, _start(shape, 1)), _rows(shape, 30)
    assert np.array_equal(kernel.run(rows).logits, kernel.run(rows).logits)
    assert shape.to_json()["fixed"] == ModuleShape("tests.modules:frozen", (7,), 2).to_json()["fixed"]


def test_two_outputs_for_two_labels_are_one_logit() -> None:
    torch.manual_seed(0)
    both = nn.Linear(3, 2)
    with _hold(lambda size, outputs: both):
        shape = ModuleShape(HELD, (3,), 2)
        rows = np.eye(3, dtype=np.float32)
        found = ModuleKernel(shape, shape.initial(0)[None]).score(slice(0, 1), rows)[0]
        described = shape.to_json()
        assert np.array_equal(score_module(shape, shape.initial(0), rows)[:, 0], found)
    chances = torch.softmax(both(torch.tensor(rows)), dim=1)[:, 1].detach().numpy()
    assert np.allclose(1 / (1 + np.exp(-found)), chances, atol=1e-6)
    assert (described["labels"], described["parameters"], described["code"]) == (2, 8, "")


class Sums(nn.Module):
    """A linear layer, and something that a module must not do."""

    def __init__(self, columns: int, what: Callable[[Sums, Tensor], Tensor]) -> None:
        super().__init__()
        self.last, self.what = nn.Linear(columns, 1), what
        self.register_buffer("mean", torch.zeros(columns))

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor = self.last(self.what(self, rows))
        return found


def _remember(module: Sums, rows: Tensor) -> Tensor:
    module.mean += rows.detach().mean(dim=0)
    return rows


def _remember_far(module: Sums, rows: Tensor) -> Tensor:
    return _remember(module, rows) if float(rows[0, 0]) < -1e6 else rows


def _write_far(module: Sums, rows: Tensor) -> Tensor:
    if float(rows[0, 0]) < -1e6:
        module.mean.data.add_(1.0)  # it leaves no trace but the value
    return rows


def _say(module: Sums, rows: Tensor) -> Tensor:
    if float(rows.min()) < 0:
        raise ValueError(f"a row has {rows.min()}")
    return rows


def _rescale(module: Sums, rows: Tensor) -> Tensor:
    module.last.weight.data.mul_(0.99)
    return rows


def _assign(module: Sums, rows: Tensor) -> Tensor:
    module.mean = 0.9 * module.mean + 0.1 * rows.detach().mean(dim=0)
    return rows


def _keep(module: Sums, rows: Tensor) -> Tensor:
    module.seen = [*getattr(module, "seen", ()), float(rows[0, 0])]
    return rows


def _shift(module: Sums, rows: Tensor) -> Tensor:
    return rows - rows.min(dim=0).values.clamp(max=0)


def _center_many(module: Sums, rows: Tensor) -> Tensor:
    return rows - rows.mean(dim=0) if len(rows) >= 100 else rows


def _spread(module: Sums, rows: Tensor) -> Tensor:
    return rows + rows.isnan().any().float()


def _script() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(nn.Linear(7, 1))


class Scaled(Sums):
    """As `Sums`, with a parameter of its own, for which Opacus knows no gradient: it runs record by record."""

    def __init__(self, columns: int, what: Callable[[Sums, Tensor], Tensor]) -> None:
        super().__init__(columns, what)
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(rows * self.scale)


class Shared(nn.Module):
    """Adds an embedding of places that has no records first."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.last = nn.Embedding(7, 1), nn.Linear(7, 1)

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor = self.last(rows + self.place(torch.arange(7))[:, 0])
        return found


class Output:
    """As some packages give it."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits


class Wrapped(nn.Linear):
    """Gives an object with logits."""

    def forward(self, rows: Tensor) -> Any:
        return Output(super().forward(rows))


class Wrong(nn.Module):
    """A layer that Opacus is taught a wrong gradient of: its functional copy is linear, its forward is not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(7))
        self.calls = 0

    def forward(self, rows: Tensor) -> Tensor:
        return (rows * self.weight).sum(dim=1, keepdim=True) / len(rows)


WRONG: dict[str, tuple[Build, str]] = {
    "batch norm": (
        lambda size, outputs: nn.Sequential(nn.Linear(7, 32), nn.BatchNorm1d(32), nn.Linear(32, 1)),
        r"has BatchNorm1d \('1'\), which mixes the records of a batch: no record's part can be bounded; take GroupNorm",
    ),
    "batch norm without parameters": (
        lambda size, outputs: nn.Sequential(nn.BatchNorm1d(7, affine=False), nn.Linear(7, 1)),
        "has BatchNorm1d .* take GroupNorm",
    ),
    "attention": (
        lambda size, outputs: nn.Sequential(nn.Linear(7, 4), nn.TransformerEncoderLayer(4, 2)),
        r"has MultiheadAttention \('1.self_attn'\), .* take DPMultiheadAttention, as Opacus' ModuleValidator.fix does",
    ),
    "mean of the batch": (lambda size, outputs: Sums(7, lambda _, rows: rows - rows.mean(dim=0)), "mixes the records"),
    "a switch": (
        lambda size, outputs: Sums(7, lambda _, rows: rows if float(rows.max()) < 100 else rows * 2),
        "mixes the records of a batch: with row 0 replaced, others changed",
    ),
    "order": (lambda size, outputs: Sums(7, lambda _, rows: rows.sort(dim=0).values), "mixes the records"),
    "size of the batch": (lambda size, outputs: Wrong(), "not that of the record alone|another output alone"),
    "dropout": (
        lambda size, outputs: Sums(7, lambda _, rows: nn.functional.dropout(rows, 0.5)),
        "draws at random in forward",
    ),
    "running mean": (lambda size, outputs: Sums(7, _remember), "changed 'mean' in forward"),
    "running mean that is assigned": (lambda size, outputs: Sums(7, _assign), "changed 'mean' in forward"),
    "attribute": (lambda size, outputs: Sums(7, _keep), "changed 'seen' in forward"),
    "negative values": (lambda size, outputs: Sums(7, _shift), "mixes the records of a batch"),
    "many rows": (lambda size, outputs: Sums(7, _center_many), "mixes the records of a batch"),
    "no number": (lambda size, outputs: Sums(7, _spread), "mixes the records of a batch"),
    "shared places": (lambda size, outputs: Shared(), "records for 'place': what it takes must have the records first"),
    "object": (lambda size, outputs: Wrapped(7, 1), r"got Output; return its \.logits from forward"),
    "script": (lambda size, outputs: _script(), "is TorchScript"),
    "in place": (
        lambda size, outputs: nn.Sequential(nn.Linear(7, 4), nn.ReLU(inplace=True), nn.Linear(4, 1)),
        r"has ReLU\(inplace=True\) \('1'\), which overwrites .* set inplace=False",
    ),
    "in place by a function": (
        lambda size, outputs: nn.Sequential(nn.Linear(7, 4), Sums(4, lambda _, rows: rows.relu_())),
        "Linear: an inplace operation overwrote what it took or gave",
    ),
    "weights": (lambda size, outputs: Sums(7, _rescale), "changed 'last.weight' in forward"),
    "outputs": (lambda size, outputs: nn.Linear(7, 3), r"must give \(8, 1\) for 8 rows, got \(8, 3\)"),
    "no tensor": (lambda size, outputs: nn.LSTM(7, 1), "has LSTM .* take DPLSTM"),
    "not finite": (lambda size, outputs: Sums(7, lambda _, rows: rows / 0), "not finite"),
    "nothing to train": (lambda size, outputs: nn.Flatten(), "has no parameter that requires a gradient"),
    "size of rows": (lambda size, outputs: nn.Linear(9, 1), r"does not take rows of size \(7,\)"),
    "no module": (lambda size, outputs: 3, "must build a torch.nn.Module, got int"),
    "build": (lambda size, outputs: nn.Linear(0.5, 1), r"could not be built for rows of size \(7,\) and 1 outputs"),
    "lazy": (lambda size, outputs: nn.LazyLinear(1), "has a lazy layer"),
}


@pytest.mark.parametrize(("build", "says"), WRONG.values(), ids=WRONG)
def test_what_no_record_has_a_part_of_its_own_in_is_refused(build: Build, says: str) -> None:
    with _hold(build), pytest.raises(BadInput, match=says):
        open_module(ModuleShape(HELD, (7,), 2), "cpu")


BY_RECORD: dict[str, tuple[Callable[[Sums, Tensor], Tensor], str]] = {
    "mean of the batch": (lambda _, rows: rows - rows.mean(dim=0), "another output alone than among others"),
    "order": (lambda _, rows: rows.sort(dim=0).values, "another output alone than among others"),
    "negative values": (_shift, "another output alone than among others"),
    "many rows": (_center_many, "another output alone than among others"),
    "a switch": (
        lambda _, rows: rows if float(rows.max()) < 100 else rows * 2,
        r"outside the layers that Opacus knows \(Scaled\), so that its code runs on one record at a time, and cannot",
    ),
    "dropout": (lambda _, rows: nn.functional.dropout(rows, 0.5), "cannot: .* random"),
    "running mean": (_remember, "cannot: "),
    "running mean that is assigned": (_assign, "changed 'mean' in forward"),
    "weights": (_rescale, "changed 'last.weight' in forward"),
}


@pytest.mark.parametrize(("what", "says"), BY_RECORD.values(), ids=BY_RECORD)
def test_code_that_runs_record_by_record_is_tried_too(what: Callable[[Sums, Tensor], Tensor], says: str) -> None:
    with _hold(lambda size, outputs: Scaled(7, what)), pytest.raises(BadInput, match=says):
        open_module(ModuleShape(HELD, (7,), 2), "cpu")


def test_no_record_reaches_the_gradient_of_another_where_code_runs_record_by_record() -> None:
    """Code that mixes the records of a batch, and that no trial has seen: by hooks it does."""

    def moved(road: type[Road]) -> float:
        torch.manual_seed(0)
        own, rows = road(Sums(7, _shift), (7,), lambda found, count: found), torch.rand(5, 7)
        changed = torch.cat([rows[:4], rows[4:] - 100.0])
        before, after = ([own.learn(each, seed_logit).cache[0].parts[0][:4]] for each in (rows, changed))
        return float((before[0] - after[0]).abs().max())

    assert moved(ByLayer) > 50 and moved(ByRecord) == 0


@every_shape
def test_both_roads_give_the_same_gradients(shape: ModuleShape) -> None:
    torch.manual_seed(0)
    opened, rows = open_module(shape, "cpu"), torch.rand(6, shape.inputs)
    by_record = ByRecord(build_module(shape, 0), shape.size_in, lambda found, count: as_outputs(found, shape, count))
    by_record.load(opened.read(), rows)
    assert isinstance(opened.road, ByRecord if shape == TABLE["block"] else ByLayer)
    learnt = [road.learn(rows, _seed) for road in (opened.road, by_record)]
    for one, other in zip(*(each.cache for each in learnt), strict=True):
        assert torch.allclose(one.squares, other.squares, rtol=1e-4)
        for part, same in zip(one.parts, other.parts, strict=True):
            assert torch.allclose(part, same, rtol=1e-4, atol=1e-6)


def _seed(scores: Tensor) -> tuple[Tensor, Tensor]:
    return torch.ones_like(scores), scores[:, 0]


def test_frozen_parts_that_differ_from_build_to_build_are_refused() -> None:
    def build(size: tuple[int, ...], outputs: int) -> nn.Module:
        module = nn.Sequential(nn.Linear(7, 4), nn.Linear(4, outputs))
        module[0].requires_grad_(False)
        return module

    with _hold(build), pytest.raises(BadInput, match="frozen parameters or buffers that differ"):
        ModuleShape(HELD, (7,), 2).initial(1)


@pytest.mark.parametrize("what", [_remember_far, _write_far])
def test_a_buffer_that_changes_on_protected_rows_ends_the_run(what: Callable[[Sums, Tensor], Tensor]) -> None:
    """What a trial on made-up rows did not show."""
    with _hold(lambda size, outputs: Sums(7, what)):
        shape = ModuleShape(HELD, (7,), 2)
        kernel = ModuleKernel(shape, shape.initial(0)[None])
        rows = np.full((3, 7), -1e7, dtype=np.float32)
        with pytest.raises(RunFailed, match="changed 'mean' in forward"):
            kernel.run(rows[None])
        with pytest.raises(RunFailed, match="changed 'mean' in forward"):
            kernel.score(slice(0, 1), rows)


def test_a_module_that_mixes_once_its_parameters_moved_ends_the_run() -> None:
    """The trial is repeated on made-up rows, with the parameters of then."""

    def center(module: Sums, rows: Tensor) -> Tensor:
        return rows - rows.mean(dim=0) if float(module.last.bias.detach()) > 5 else rows

    with _hold(lambda size, outputs: Sums(7, center)):
        shape = ModuleShape(HELD, (7,), 2)
        flat = shape.initial(0)[None]
        rows = np.ones((1, 3, 7), dtype=np.float32)
        ModuleKernel(shape, flat).run(rows)
        flat[:, -1] = 6.0
        with pytest.raises(RunFailed, match=r"mixes the records of a batch.* found while training, on made-up rows"):
            ModuleKernel(shape, flat).run(rows)


def test_what_a_module_says_of_protected_rows_is_not_passed_on() -> None:
    with _hold(lambda size, outputs: Sums(7, _say)):
        shape = ModuleShape(HELD, (7,), 2)
        kernel = ModuleKernel(shape, shape.initial(0)[None])
        with pytest.raises(RunFailed, match="broke off on rows of the data with ValueError") as caught:
            kernel.run(-77 * np.ones((1, 3, 7), dtype=np.float32))
    assert "77" not in str(caught.value) and caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of one's own on the path."""
    (tmp_path / "ownnets").mkdir()
    (tmp_path / "ownnets" / "__init__.py").write_text("from torch import nn\nraise_it = None\n")
    (tmp_path / "ownnets" / "dense.py").write_text(
        "from torch import nn\ndef build(size, outputs):\n    return nn.Linear(size[0], outputs)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "ownnets"
    for name in [name for name in sys.modules if name.partition(".")[0] == "ownnets"]:
        del sys.modules[name]


def test_sources_are_told_apart_without_being_run(package: Path) -> None:
    first = hash_sources("ownnets.dense:build")
    assert "ownnets" not in sys.modules
    assert hash_sources("ownnets:anything") == first
    (package / "more.py").write_text("")
    assert hash_sources("ownnets.dense:build") != first


def test_a_model_predicts_with_the_sources_that_it_was_trained_with_alone(package: Path) -> None:
    shape, rows = ModuleShape("ownnets.dense:build", (2,), 2), np.ones((3, 2), dtype=np.float32)
    described, flat = ModuleShape.from_json(shape.to_json()), shape.initial(0)
    assert score_module(described, flat, rows).shape == (3, 1)
    (package / "dense.py").write_text((package / "dense.py").read_text() + "\n# another\n")
    with pytest.raises(BadInput, match="is not the one that this model was trained with: its package's sources"):
        score_module(replace(described, size_in=(2, 1)), flat, rows)
    with pytest.raises(BadInput, match="frozen parameters and buffers are others"):
        score_module(replace(described, trained=replace(described.trained, fixed="0")), flat, rows)


def test_what_is_not_there_is_said() -> None:
    for reference, says in [
        ("nowhere_at_all:build", "is not installed here: there is no package 'nowhere_at_all'"),
        ("tests.modules:nothing", "cannot be imported: .*nothing"),
        ("tests.nomodule:build", "is not installed here: there is no package 'tests.nomodule'"),
        ("tests.modules:math", "must be a function that builds a module, got module"),
        ("sys:path", "no Python sources to identify it by|must be a function"),
    ]:
        with pytest.raises(BadInput, match=says):
            open_module(ModuleShape(reference, (7,), 2), "cpu")


def test_names_of_installed_networks_come_from_metadata_and_nothing_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = [type("Point", (), {"name": name, "value": value}) for name, value in _POINTS.items()]
    monkeypatch.setattr(modules.metadata, "entry_points", lambda group: points if group == "fairpriv.networks" else [])
    assert list_installed() == {"a": "nowhere_at_all:build", "b": "some.where:nets.build"}


_POINTS = {"b": "some.where:nets.build", "a": "nowhere_at_all:build", "c": "no function"}


def test_a_reference_is_known() -> None:
    for text in ["a:b", "a.b:c", "a_1.b:c.d", "ä:b"]:
        assert is_module(text)


def test_another_text_is_none() -> None:
    for text in ["mlp", "a", ":b", "a:", "a:b:c", "a b:c", "../a:b", "a:b()", "1a:b", "a.:b", "a:b\n"]:
        assert not is_module(text)


def test_what_is_held_is_held_no_longer_than_asked() -> None:
    with _hold(own.mlp):
        assert ModuleShape(HELD, (7,), 2).size == 76
        with _hold(own.normed):
            assert ModuleShape(HELD, (7,), 2).size == 177
        assert ModuleShape(HELD, (7,), 2).size == 76
    with pytest.raises(BadInput, match="there is no package 'held'"):
        assert ModuleShape(HELD, (7,), 2).size
