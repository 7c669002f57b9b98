"""Networks of a person's own as tests train them, by reference: "tests.modules:block". Small and quick."""

from __future__ import annotations

import math

import torch
from opacus.layers import DPLSTM, DPMultiheadAttention
from torch import Tensor, nn

Size = tuple[int, ...]


class Places(nn.Module):
    """Adds what is learnt of each place."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.each = nn.Parameter(torch.randn(places, width) * 0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens + self.each


class Block(nn.Module):
    """A transformer block over a row's columns, each a token: attention, layer norms, a dense layer, dropout."""

    def __init__(self, outputs: int, places: nn.Module, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(1, width), places)
        self.attend = DPMultiheadAttention(width, 2, batch_first=True)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dense = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.3), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        tokens = self.embed(rows.clamp(-100.0, 100.0)[:, :, None])
        normed = self.before(tokens)
        tokens = tokens + self.attend(normed, normed, normed, need_weights=False)[0]
        tokens = tokens + self.dense(self.after(tokens))
        scores: Tensor = self.head(tokens.mean(dim=1))
        return scores


def block(size: Size, outputs: int) -> nn.Module:
    """Build a transformer block for a table."""
    return Block(outputs, Places(size[0], 8))


def attention(size: Size, outputs: int) -> nn.Module:
    """Build a transformer block that knows no places, of layers that Opacus knows."""
    return Block(outputs, nn.Identity())


def mlp(size: Size, outputs: int) -> nn.Module:
    """Build the project's own mlp with 2 hidden layers of 5 units: the same parameters in the same order."""
    return nn.Sequential(
        *(nn.Linear(size[0], 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, outputs)),
    )


def squashed(size: Size, outputs: int) -> nn.Module:
    """Build a network that ends in a sigmoid, as some losses want."""
    return nn.Sequential(nn.Linear(size[0], outputs), nn.Sigmoid())


def normed(size: Size, outputs: int) -> nn.Module:
    """Build a dense network with layer norm."""
    return nn.Sequential(nn.Linear(math.prod(size), 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, outputs))


def cnn(size: Size, outputs: int) -> nn.Module:
    """Build a small convolutional network with group norm."""
    return nn.Sequential(
        *(nn.Conv2d(size[0], 4, 6, stride=4), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2, stride=1)),
        *(nn.Conv2d(4, 6, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, outputs)),
    )


class Words(nn.Module):
    """Embedding and LSTM over a row's columns, whole numbers below 20."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.embed, self.read, self.head = nn.Embedding(20, 4), DPLSTM(4, 5, batch_first=True), nn.Linear(5, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        words = self.embed(rows.long().clamp(0, 19))
        scores: Tensor = self.head(self.read(words)[0][:, -1])
        return scores


def words(size: Size, outputs: int) -> nn.Module:
    """Build an LSTM over words."""
    return Words(outputs)


def frozen(size: Size, outputs: int) -> nn.Module:
    """Build a head on a frozen backbone with batch norm and dropout, the same at every build."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        backbone = nn.Sequential(nn.Linear(size[0], 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.5))
    for each in backbone.parameters():
        each.requires_grad = False
    return nn.Sequential(backbone, nn.Linear(12, outputs))


class Tied(nn.Module):
    """One weight used by two layers, and one layer used twice."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(columns, columns), nn.Linear(columns, columns)
        self.last.weight = self.first.weight
        self.head = nn.Linear(columns, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        below = torch.tanh(self.first(rows))
        scores: Tensor = self.head(torch.tanh(self.last(torch.tanh(self.first(below)))))
        return scores


def tied(size: Size, outputs: int) -> nn.Module:
    """Build a network with tied and repeated layers."""
    return Tied(size[0], outputs)
