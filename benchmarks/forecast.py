"""From which signal on DP-SGD learns anything: python -m benchmarks.forecast prints its table.

Made-up tables of 300 to 10,000 rows and 8 to 150 columns, dense (normal) and sparse (0/1, one in seven is 1), one draw
each; accuracy is on 20,000 further rows. The batch makes 1,500 steps. docs/methods/forecast.md sums the table up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairpriv_core.estimator import FairPrivateClassifier
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.forecast import ENOUGH, LITTLE, measure_signal

KINDS, COLUMNS, ROWS, EPSILONS = ("dense", "sparse"), (8, 40, 150), (300, 1_000, 3_000, 10_000), (0.1, 0.3, 1.0, 3.0)
_TEST, _FIRST = 20_000, 5
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Found:
    """One fit: its signal, and the accuracies of a constant answer, of plain training and its own."""

    kind: str
    rows: int
    columns: int
    epsilon: float
    signal: float
    constant: float
    plain: float
    accuracy: float


def draw_table(kind: str, n: int, weights: np.ndarray, draw: np.random.Generator) -> Rows:
    """Return features (n, d), labels and groups; a column differs between the groups."""
    group = draw.random(n) < 0.4
    if kind == "dense":
        X = draw.normal(size=(n, len(weights)))
        X[:, 0] += 0.7 * group
    else:
        X = (draw.random((n, len(weights))) < 0.15).astype(float)
        X[:, 0] = draw.random(n) < 0.3 + 0.3 * group
    score = X @ weights
    odds = 1.5 * (score - score.mean()) / score.std() + 0.6
    return X, np.where(odds + draw.logistic(size=n) > 0, "yes", "no"), np.where(group, "m", "f")


def fit_all() -> Iterator[Found]:
    """Yield every fit."""
    for kind in KINDS:
        for columns in COLUMNS:
            for rows in ROWS:
                yield from fit_table(kind, rows, columns)


def fit_table(kind: str, rows: int, columns: int) -> Iterator[Found]:
    """Yield the fits on one table."""
    draw = np.random.default_rng(rows + columns)
    weights = draw.normal(size=columns) * (draw.random(columns) < 0.4)
    weights[0] += 1
    X, y, group = draw_table(kind, rows, weights, draw)
    test = draw_table(kind, _TEST, weights, np.random.default_rng(_FIRST))
    share = float((test[1] == "yes").mean())

    def score(method: str, epsilon: float | None, batch: int | None) -> tuple[float, FairPrivateClassifier]:
        asked = {"method": method, "epsilon": epsilon, "settings": {"batch_size": batch}, "groups": ["f", "m"]}
        model = FairPrivateClassifier(**asked, pos_label="yes", random_state=0)
        model.fit(X, y, sensitive_features=group)
        return float((model.predict(test[0], sensitive_features=test[2]) == test[1]).mean()), model

    plain = score("none", None, None)[0]
    for epsilon in EPSILONS:
        accuracy, model = score("dp_sgd", epsilon, None)
        events = from_json(model.record_["event"])
        signal = measure_signal(events, n_train=rows, parameters=columns + 1)
        yield Found(kind, rows, columns, epsilon, signal or 0.0, max(share, 1 - share), plain, accuracy)


def main() -> None:
    """Print the table, lowest signal first, and how often a fit beat the constant answer on each side."""
    found = sorted(fit_all(), key=lambda each: each.signal)
    print("| signal | table | rows | columns | ε | constant | plain | DP-SGD |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for each in found:
        shares = " | ".join(f"{100 * value:.1f}" for value in (each.constant, each.plain, each.accuracy))
        print(f"| {each.signal:.1f} | {each.kind} | {each.rows:,} | {each.columns} | {each.epsilon:g} | {shares} |")
    for low, high in ((0.0, LITTLE), (LITTLE, ENOUGH), (ENOUGH, np.inf)):
        here = [each for each in found if low <= each.signal < high]
        won = sum(each.accuracy > each.constant + 0.01 for each in here)
        print(f"\nSignal {low:g} to {high:g}: {won} of {len(here)} fits beat the constant answer by more than a point.")


if __name__ == "__main__":
    main()
