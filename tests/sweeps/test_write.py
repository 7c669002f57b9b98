"""Runs' configs as one sweep's file: exactly those runs when it is read back, or no file at all."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fairpriv_core.records.config import RunConfig
from fairpriv_core.sweeps.spec import build_sweep, expand, read_sweep_file, write_sweep
from tests.launched import config


def expand_text(text: str, folder: Path) -> list[str]:
    """Return the keys of the runs that `fairpriv sweep FILE` would launch."""
    file = folder / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    return sorted(
        cell.config.key for cell in expand(build_sweep(read_sweep_file(str(file)))) if cell.config is not None
    )


def pf_ld(**settings: Any) -> dict[str, Any]:
    return {"name": "pf_ld", **settings}


@pytest.mark.parametrize(
    "configs",
    [
        [config(epsilon=epsilon, seed=seed) for epsilon, seed in product((0.5, 2, 8), (0, 1))],
        [config(pf_ld(variant=name, epochs=epochs)) for name, epochs in product(("proved", "published"), (2, 7))],
        [config(name, seed=seed) for name, seed in product(("pf_ld", "dp_sgd"), (3, 4))],
        [config("none", sensitive=name) for name in ("group", "region", "group+region")],
        [config(pf_ld(), seed=seed, share_samples=True, private_evaluation=True) for seed in (0, 1)],
        [config(pf_ld(variant=name), private_evaluation=name == "proved") for name in ("proved", "published")],
        [config(notion=name) for name in ("demographic_parity", "equal_opportunity")],
    ],
)
def test_a_full_cross_is_a_sweep_of_exactly_these_runs(configs: list[RunConfig], tmp_path: Path) -> None:
    text = write_sweep([each.to_json() for each in configs])
    assert text is not None and expand_text(text, tmp_path) == sorted(each.key for each in configs)


@pytest.mark.parametrize(
    "configs",
    [
        [config()],
        [config(epsilon=1, seed=0), config(epsilon=2, seed=1)],
        [config(pf_ld(epochs=3)), config({"name": "dp_sgd", "epochs": 4})],
        [config(pf_ld(dual_step=0.3)), config("dp_sgd")],
        [config(), config(pf_ld(noise_primal=3.0), epsilon=None)],
    ],
)
def test_what_is_no_cross_is_no_sweep(configs: list[RunConfig]) -> None:
    assert write_sweep([each.to_json() for each in configs]) is None


def test_a_file_of_ones_own_is_in_no_sweep(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("sex,label\nf,1\nm,0\n")
    plain = config().to_json()
    data = {"dataset": None, "file": str(file), "sensitive": "sex", "label": "label", "positive": "1"}
    assert write_sweep([{**plain, "data": data, "seed": seed} for seed in (0, 1)]) is None
