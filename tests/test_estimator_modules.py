"""The estimator with a PyTorch module of one's own."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import Tensor, nn

from fairpriv_core.errors import BadInput
from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.warnings import TrainingWarning

QUICK = {"epochs": 10, "learning_rate": 0.02}


class Normed(nn.Module):
    """A stranger's module: two outputs, layer norm, dropout."""

    def __init__(self, columns: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(columns, 8), nn.LayerNorm(8), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(8, 2)

    def forward(self, rows: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(rows))
        return scores


def build(size: tuple[int, ...], outputs: int) -> nn.Module:
    """Build a dense network for rows of any size."""
    return nn.Sequential(nn.Linear(*size, 6), nn.Tanh(), nn.Linear(6, outputs))


def make_rows(n: int = 4_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups; group m is favoured."""
    draw = np.random.default_rng(1)
    group = draw.choice(["f", "m"], n)
    rows = draw.normal(size=(n, 3)).astype(np.float32)
    rows[:, 1] += group == "m"
    return rows, np.where(rows[:, 0] + rows[:, 1] > 0.5, "hired", "rejected"), group


@pytest.mark.parametrize(
    ("method", "settings"), [("dp_sgd", {**QUICK, "batch_size": 80}), ("pf_ld_record", {**QUICK, "gap_target": None})]
)
def test_a_strangers_module_trains_fair_and_private_and_stays_as_it_is(method: str, settings: dict[str, Any]) -> None:
    X, y, group = make_rows()
    torch.manual_seed(0)
    module = Normed()
    before = {name: each.clone() for name, each in module.state_dict().items()}
    model = FairPrivateClassifier(
        method, epsilon=2.0, module=module, settings=settings, pos_label="hired", random_state=0
    )
    model.fit(X, y, sensitive_features=group)
    assert model.epsilon_ is not None and 1.98 < model.epsilon_ <= 2.0
    assert model.score(X, y) > (0.8 if method == "dp_sgd" else 0.7)
    assert module.training and all(torch.equal(each, before[name]) for name, each in module.state_dict().items())
    assert model.record_["config"]["method"]["network"] == "in_memory:Normed"
    assert any("Network in_memory:Normed gives each record" in each for each in model.record_["assumptions"])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))
    with torch.no_grad():
        for each in module.parameters():
            each.zero_()
    assert np.array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50])), "what was trained is what predicts"


def build_stranger(size: tuple[int, ...], outputs: int) -> nn.Module:
    """Build the stranger's module."""
    return Normed(*size)


@pytest.mark.parametrize(
    "module", [build, partial(build), "tests.test_estimator_modules:build_stranger", build_stranger]
)
def test_a_module_may_be_built_for_the_rows(module: Any) -> None:
    X, y, _ = make_rows(400)
    few = {"epochs": 2, "batch_size": 40}
    model = FairPrivateClassifier("dp_sgd", epsilon=5.0, module=module, settings=few, pos_label="hired")
    assert model.fit(X, y).predict(X).shape == (400,)


def test_copies_and_searches_take_it_along() -> None:
    X, y, _ = make_rows(300)
    torch.manual_seed(0)
    model = FairPrivateClassifier(
        "none", epsilon=None, module=Normed(), settings={"epochs": 2}, pos_label="hired", random_state=0
    )
    assert isinstance(clone(model).module, Normed)
    search = GridSearchCV(model, {"module": [Normed(), build]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.4


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"module": 3}, "module must be a torch.nn.Module, .* got int"),
        ({"module": build, "settings": {"width": 3}}, "module and width exclude each other, got width=3"),
        ({"module": build, "settings": {"network": "mlp"}}, "module and network exclude each other"),
        (
            {"module": nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))},
            "BatchNorm1d .* take GroupNorm",
        ),
        ({"module": nn.Linear(5, 1)}, r"does not take rows of size \(3,\)"),
        ({"module": nn.Linear(3, 4)}, r"must give \(8, 1\) for 8 rows, got \(8, 4\)"),
        ({"module": "nowhere_at_all:build"}, "is not installed here"),
    ],
)
def test_what_cannot_be_trained_is_said_in_a_sentence(given: dict[str, Any], says: str) -> None:
    X, y, _ = make_rows(300)
    with pytest.raises(BadInput, match=says):
        FairPrivateClassifier("dp_sgd", pos_label="hired", **given).fit(X, y)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ((nn.Linear(8, 1), nn.Sigmoid()), "ends in a sigmoid or softmax"),
        ((nn.Linear(8, 2), nn.Softmax(dim=1)), "ends in a sigmoid or softmax"),
        ((nn.Linear(8, 1), nn.Softplus()), "outputs of one sign alone"),
        ((nn.Linear(8, 1), nn.LogSigmoid()), "outputs of one sign alone"),
    ],
)
def test_a_module_whose_outputs_are_no_logits_is_warned_of(head: tuple[nn.Module, ...], says: str) -> None:
    X, y, _ = make_rows(300)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), *head)
    model = FairPrivateClassifier("none", module=module, settings={"epochs": 1}, pos_label="hired")
    with pytest.warns(TrainingWarning, match=f"{says}.*Leave out its last layer"):
        model.fit(X, y)
    assert says in " ".join(model.record_["warnings"])


@pytest.mark.parametrize("head", [(nn.Linear(8, 2), nn.LogSoftmax(dim=1)), (nn.Linear(8, 1), nn.Tanh())])
def test_outputs_that_can_be_logits_are_not(head: tuple[nn.Module, ...]) -> None:
    X, y, _ = make_rows(300)
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), *head)
    model = FairPrivateClassifier("none", module=module, settings={"epochs": 1}, pos_label="hired").fit(X, y)
    assert model.record_["warnings"] == []
