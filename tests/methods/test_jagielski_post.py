"""DP post-processing: the programme without noise, and what it gives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import decisions, predict_proba
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.jagielski_post import JagielskiPost
from fairpriv_core.methods.none import Plain
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.rates import count_cells
from tests.methods.harness import RecordingMechanism, make_data, train, with_group
from tests.methods.spread import spread

METHOD = JagielskiPost(epochs=2, batch_size=100, learning_rate=0.05, noise_counts=0.5)
NOISELESS = dataclasses.replace(METHOD, epochs=10, noise_counts=0.0, difference_bound=0.0)


def _fit(method: JagielskiPost, data: Dataset, notion: str = "equalized_odds", **how: object) -> Fitted:
    (fitted,) = train(method, [data], [RecordingMechanism(**how)], notion=notion)
    return fitted


def _chances(fitted: Fitted, data: Dataset) -> np.ndarray:
    return predict_proba(fitted.network, fitted.parameters, data.X, data.group)[:, 1]


@pytest.mark.parametrize("notion", JagielskiPost.info.notions)
@pytest.mark.parametrize("groups", [2, 3])
def test_without_noise_the_gap_on_the_training_rows_is_closed(notion: str, groups: int) -> None:
    data = make_data(n=900, groups=groups)
    fitted = _fit(NOISELESS, data, notion)
    assert spread(notions()[notion], _chances(fitted, data), data) <= 1e-7
    wider = _fit(dataclasses.replace(NOISELESS, difference_bound=0.1), data, notion)
    assert spread(notions()[notion], _chances(wider, data), data) <= 0.1 + 1e-7
    errors = [np.abs(_chances(each, data) - data.y).mean() for each in (wider, fitted)]
    assert errors[0] <= errors[1] <= min(data.y.mean(), 1 - data.y.mean()) + 1e-9


def test_the_decisions_are_the_best_among_those_that_keep_the_bound() -> None:
    """Against a grid over all chances of two groups, for demographic parity."""
    data = make_data(n=600)
    fitted = _fit(NOISELESS, data, "demographic_parity")
    base = Plain(epochs=10, batch_size=100, learning_rate=0.05)
    (plain,) = train(base, [data], [RecordingMechanism()])
    counts = count_cells(decisions(plain.network, plain.parameters, data), data.y, data.group, 2)
    grid = np.linspace(0, 1, 21)
    tables = np.stack(np.meshgrid(*[grid] * 4, indexing="ij"), axis=-1).reshape(-1, 2, 2)
    ones = np.einsum("tgd,gyd->tgy", tables, counts)
    rates = ones.sum(axis=2) / counts.sum(axis=(1, 2))
    errors = (ones[:, :, 0].sum(axis=1) + (counts[:, 1].sum() - ones[:, :, 1].sum(axis=1))) / data.n
    best = errors[np.abs(rates[:, 0] - rates[:, 1]) <= 1e-3].min()
    assert np.abs(_chances(fitted, data) - data.y).mean() <= best + 1e-3


def test_without_a_bound_it_is_the_plain_model() -> None:
    data = make_data(n=600)
    fitted = _fit(dataclasses.replace(NOISELESS, difference_bound=1.0), data)
    (plain,) = train(Plain(epochs=10, batch_size=100, learning_rate=0.05), [data], [RecordingMechanism()])
    assert np.array_equal(fitted.parameters, plain.parameters)
    assert np.array_equal(_chances(fitted, data), decisions(plain.network, plain.parameters, data))


def test_what_cannot_be_used_is_said_in_a_sentence() -> None:
    data = make_data(n=400)
    fitted = _fit(METHOD, data)
    with pytest.raises(BadInput, match=r"decides by group, so predicting needs the sensitive attribute of every row\."):
        predict_proba(fitted.network, fitted.parameters, data.X)
    with pytest.raises(RunFailed, match=r"group 'B, label [01]' has about \d+ training rows"):
        _fit(METHOD, with_group(data, np.zeros(400, dtype=np.int64)))
    with pytest.raises(BadInput, match=r"noise_counts must be a finite number >= 0, got -1\."):
        JagielskiPost(noise_counts=-1)
