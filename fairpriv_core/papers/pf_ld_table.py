"""PF-LD's Table 1: the time of an epoch, by depth and batch size, without and with privacy and fairness."""

from __future__ import annotations

from typing import Any

from fairpriv_core.papers.preset import (
    SECONDS,
    Claim,
    Compare,
    Part,
    Preset,
    Printed,
    Quantity,
    Table,
    Version,
    of_method,
    proved,
    published,
)

_DEPTHS = (2, 10)
_EPOCHS = {16: 2, 64: 6, 256: 12}  # by batch size: about as long each
_COLUMNS = (
    of_method("N", "none"),
    of_method("F-LD", "f_ld"),
    of_method("P", "dp_sgd"),
    published("PF-LD", "pf_ld"),
    proved("PF-LD", "pf_ld"),
)
_ROWS = {
    (depth, batch): Part(
        f"{depth} layers, |B| = {batch}", {"config/method/hidden_layers": depth, "config/method/batch_size": batch}
    )
    for depth in _DEPTHS
    for batch in _EPOCHS
}
# seconds of an epoch by (hidden layers, batch size): N, F-LD, P, PF-LD
_PRINTED = {
    (2, 16): (0.53, 0.60, 0.9, 1.0),
    (2, 64): (0.19, 0.25, 3.2, 3.3),
    (2, 256): (0.11, 0.16, 5.7, 5.7),
    (10, 16): (1.20, 1.30, 2.0, 2.1),
    (10, 64): (0.41, 0.47, 6.9, 7.0),
    (10, 256): (0.17, 0.20, 11.8, 11.8),
}
_CASES = tuple(_ROWS.values())


def _sweep(times: int) -> dict[str, Any]:
    tables: list[dict[str, Any]] = [{"name": name} for name in ("none", "f_ld", "dp_sgd")]
    tables += [{"name": "pf_ld", "variant": variant} for variant in ("published", "proved")]
    sizes = [{"hidden_layers": depth, "batch_size": batch, "epochs": times * _EPOCHS[batch]} for depth, batch in _ROWS]
    return {
        "data": {"dataset": "bank", "sensitive": "age"},
        "split": "stratified",
        "notion": "demographic_parity",
        "epsilon": 1.0,
        "axes": {"method": [{**table, **size} for size in sizes for table in tables], "seed": [0, 1, 2]},
    }


def _time(part: Part) -> Quantity:
    return Quantity(part.name, SECONDS, part.where)


def _print(size: tuple[int, int], column: Part, number: float) -> Printed:
    row = _ROWS[size]
    ours = Quantity(column.name, SECONDS, {**row.where, **column.where})
    return Printed(f"{row.name}: {column.name.partition(',')[0]}", number, f"Table 1, {row.name}", ours)


_N, _F_LD, _P, _PUBLISHED, _PROVED = _COLUMNS

TABLE_1 = Preset(
    id="pf_ld.table1",
    title="Table 1: training time",
    shows="Seconds that an epoch takes on Bank for N (neither private nor fair), F-LD (fair), P (private) and PF-LD "
    "(both), by the number of hidden layers and the batch size; on a laptop of 2013.",
    settings="From the paper: the Bank data, 2 and 10 hidden layers, batches of 16, 64 and 256. P is DP-SGD. Ours is "
    "the training time of a run over its epochs, without the evaluations that a run shows; three models train in one "
    "loop, and each is given a third. Times are wall-clock times of a machine that may have been busy; ratios carry "
    "over better. docs/performance.md has ratios measured one model at a time, against plain PyTorch and Opacus.",
    full=Version((_sweep(5),), "10, 30 or 60 epochs a cell, 3 seeds that train together"),
    small=Version((_sweep(1),), "2, 6 or 12 epochs a cell, a fifth of our full version; 3 seeds that train together"),
    drawing=Table(_CASES, tuple((column, SECONDS) for column in _COLUMNS)),
    printed=tuple(
        _print(size, column, number)
        for size, numbers in _PRINTED.items()
        for column, number in zip((_N, _F_LD, _P, _PUBLISHED), numbers, strict=True)
    ),
    claims=(
        Claim(
            "fairness comes at almost no overhead on top of N",
            "Performance",
            Compare(_time(_F_LD), _time(_N), high=1.45, as_ratio=True),
            _CASES,
            "at most 1.45 times N's, the largest ratio that it prints",
        ),
        Claim(
            "fairness comes at almost no overhead on top of P",
            "Performance",
            Compare(_time(_PUBLISHED), _time(_P), high=1.11, as_ratio=True),
            _CASES,
            "at most 1.11 times P's, the largest ratio that it prints",
            Compare(_time(_PROVED), _time(_P), high=1.11, as_ratio=True),
        ),
        Claim(
            "clipping is computationally expensive",
            "Performance",
            Compare(_time(_P), _time(_N), low=1.67, as_ratio=True),
            _CASES,
            "P takes at least 1.67 times as long as N, the least of the ratios that it prints (1.7 to 69)",
        ),
    ),
    privacy="Times say nothing of privacy; the private runs have ε = 1, by their own accounting.",
)
