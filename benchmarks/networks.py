"""PyTorch modules as a person would write them, by reference: "benchmarks.networks:block"."""

from __future__ import annotations

import math

import torch
from opacus.layers import DPMultiheadAttention
from torch import nn

Size = tuple[int, ...]
_WIDTH, _HEADS, _CHANNELS = 32, 4, 16


class Block(nn.Module):
    """A transformer block over a row's columns, each a token of 32 numbers."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self.embed = nn.Linear(columns, 8 * _WIDTH)
        self.attend = DPMultiheadAttention(_WIDTH, _HEADS, batch_first=True)
        self.before, self.after = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.dense = nn.Sequential(nn.Linear(_WIDTH, 4 * _WIDTH), nn.GELU(), nn.Linear(4 * _WIDTH, _WIDTH))
        self.head = nn.Linear(_WIDTH, outputs)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(rows).unflatten(1, (8, _WIDTH))
        normed = self.before(tokens)
        tokens = tokens + self.attend(normed, normed, normed, need_weights=False)[0]
        tokens = tokens + self.dense(self.after(tokens))
        return self.head(tokens.mean(dim=1))


def block(size: Size, outputs: int) -> nn.Module:
    """Return a transformer block over eight tokens that are made of a row."""
    return Block(math.prod(size), outputs)


def normed(size: Size, outputs: int) -> nn.Module:
    """Return two hidden layers with layer norm."""
    hidden = [part for width in (math.prod(size), 64) for part in (nn.Linear(width, 64), nn.LayerNorm(64), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


def cnn(size: Size, outputs: int) -> nn.Module:
    """Return the network that MNIST's differentially private training is measured with: 26,010 parameters."""
    return nn.Sequential(
        *(nn.Conv2d(size[0], _CHANNELS, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, stride=1)),
        *(nn.Conv2d(_CHANNELS, 2 * _CHANNELS, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, stride=1), nn.Flatten()),
        *(nn.Linear(32 * _CHANNELS, 32), nn.ReLU(), nn.Linear(32, outputs)),
    )
