"""A tutorial: PyTorch networks of your own, trained fair and private, in a minute or two.

    python examples/own_network.py

First a small transformer. It learns to read on made-up texts that are public; then all but its head is frozen, and the
head is trained on people's texts at ε = 2. Noise grows with the number of parameters, so that few should be trained.

Then a convolutional network on pictures of digits, all of it trained at ε = 8. Its "people" are 1,797 pictures, which
is few for privacy: compare it with what it reaches without.

docs/modules.md says what a module must keep to and what ε takes as given of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus.layers import DPMultiheadAttention
from sklearn.datasets import load_digits
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))

from fairpriv_core.estimator import FairPrivateClassifier

WORDS, LENGTH, WIDTH = 60, 12, 16
GOOD, BAD, CLUB = range(0, 12), range(12, 24), range(24, 30)  # numbers of words; the others say nothing
Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def make_texts(n: int, seed: int) -> Table:
    """Return texts of LENGTH words (n, LENGTH), whether each person was hired, and their group.

    Who is hired depends on good and bad words. Group m uses the words of a club, and is hired more often.
    """
    draw = np.random.default_rng(seed)
    group = draw.choice(["f", "m"], n)
    words = draw.integers(30, WORDS, (n, LENGTH))
    skill = draw.integers(0, 5, n)
    for row in range(n):
        places = draw.permutation(LENGTH)
        words[row, places[: skill[row]]] = draw.choice(GOOD, skill[row])
        words[row, places[skill[row] : 4]] = draw.choice(BAD, 4 - skill[row])
        if group[row] == "m" and draw.random() < 0.8:
            words[row, places[4]] = draw.choice(CLUB)
    hired = skill + 1.0 * (group == "m") + draw.normal(0.0, 0.7, n) > 2.5
    return words.astype(np.float32), np.where(hired, "hired", "rejected"), group


class Reader(nn.Module):
    """Embeddings, one transformer block, and a head with an output a label. Opacus' attention has its own gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.attend = DPMultiheadAttention(WIDTH, 2, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.dense = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return (n, 2) for rows (n, LENGTH): numbers of words come as float32, like all columns."""
        words = self.embed(rows.long().clamp(0, WORDS - 1))
        words = words + self.attend(words, words, words, need_weights=False)[0]
        words = words + self.dense(self.norm(words))
        scores: torch.Tensor = self.head(words.mean(dim=1))
        return scores


def read_public_texts(reader: Reader) -> None:
    """Train on public texts in plain PyTorch, then freeze all but the head."""
    texts, labels, _ = make_texts(4_000, seed=1)
    rows, right = torch.from_numpy(texts), torch.from_numpy((labels == "rejected").astype(np.int64))
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.005)
    for _ in range(15):
        for batch in torch.randperm(len(rows)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(reader(rows[batch]), right[batch]).backward()
            optimizer.step()
    for name, each in reader.named_parameters():
        each.requires_grad = name.startswith("head")


def build_cnn(size: tuple[int, ...], outputs: int) -> nn.Module:
    """Return a convolutional network with group norm for rows of 64 grey pixels."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        *(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, outputs)),
    )


def say(title: str, model: Any, test: Table) -> tuple[float, float]:
    """Print and return accuracy and gap: the largest difference between groups' shares of the second label."""
    rows, labels, group = test
    found = model.predict(rows)
    shares = [(found[group == each] == model.classes_[1]).mean() for each in np.unique(group)]
    accuracy, gap = float((found == labels).mean()), float(max(shares) - min(shares))
    spent = "no ε" if model.epsilon_ is None else f"ε = {model.epsilon_:.2f}"
    print(f"{title:<38} {spent:<9} accuracy {accuracy:.3f}   gap {gap:.3f}", flush=True)
    return accuracy, gap


def train_on_texts() -> dict[str, tuple[float, float]]:
    """Train the head of a transformer: DP-SGD is private, PF-LD for records private and fair."""
    torch.manual_seed(0)
    reader = Reader()
    read_public_texts(reader)
    (rows, labels, group), test = make_texts(6_000, seed=2), make_texts(3_000, seed=3)
    found = {}
    for method, settings in (("dp_sgd", {}), ("pf_ld_record", {"gap_target": 0.05})):
        asked = {"epsilon": 2.0, "module": reader, "settings": settings, "pos_label": "hired"}
        model = FairPrivateClassifier(method, **asked, random_state=0)
        model.fit(rows, labels, sensitive_features=group)
        found[method] = say(f"texts, head of a transformer, {method}", model, test)
    return found


def train_on_digits() -> dict[str, tuple[float, float]]:
    """Train a convolutional network to tell even digits from odd ones; groups are thin and bold writing."""
    pixels, digits = load_digits(return_X_y=True)
    pixels = (pixels / 16.0).astype(np.float32)
    labels = np.where(digits % 2, "odd", "even")
    group = np.where(pixels.mean(axis=1) > np.median(pixels.mean(axis=1)), "bold", "thin")
    order = np.random.default_rng(0).permutation(len(pixels))
    train, test = order[:1_400], order[1_400:]
    found = {}
    for method, epsilon in (("none", None), ("pf_ld_record", 8.0)):
        model = FairPrivateClassifier(method, epsilon=epsilon, module=build_cnn, pos_label="even", random_state=0)
        model.fit(pixels[train], labels[train], sensitive_features=group[train])
        found[method] = say(f"digits, convolutions, {method}", model, (pixels[test], labels[test], group[test]))
    return found


if __name__ == "__main__":
    train_on_texts()
    train_on_digits()
