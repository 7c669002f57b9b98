"""Every private method of the catalogue under audit, with every kind of network that it takes.

That is noise, attacks, and what is caught where one breaks; sensitivity is in tests/methods/test_contract.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from examples.make_audit_results import make_balanced_pair
from fairpriv_core.audit.canary import choose_pair, list_pairs, make_data
from fairpriv_core.audit.contract import check_noise
from fairpriv_core.audit.observe import SUM
from fairpriv_core.audit.sensitivity import measure_noise, measure_sensitivities, record_runs
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.base import FitsAlone, Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.runs.audit import AuditPlan, attack_pair, make_trainer, shorten, with_fields
from tests.methods.examples.catalog import EXAMPLES, takes_images
from tests.methods.harness import shrink_networks
from tests.noise import scale_noise

DELTA = 1e-5
NETWORK = {"table": "mlp", "images": "cnn_small"}
RUNS = {"table": 20, "images": 3}  # whose noise is pooled: a network on images has more parameters
ATTACKED = {"table": 200, "images": 30}  # rows
SIDE = 14  # pixels
PRIVATE = {name: kind for name, kind in methods().items() if kind.info.threat_model is not None}
ON_IMAGES = [pytest.param(name, "images", id=f"{name}-images") for name, kind in PRIVATE.items() if takes_images(kind)]
CASES = [*(pytest.param(name, "table", id=name) for name in PRIVATE), *ON_IMAGES]
TOGETHER = [case for case in CASES if not issubclass(methods()[case.values[0]], FitsAlone)]


@pytest.fixture(autouse=True)
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train small convolutional networks."""
    shrink_networks(monkeypatch)


def make_rows(network: str, count: int | None = None) -> Dataset:
    """Return `count` rows of a table, or images of which all but three pixels are dark, the canaries' own."""
    if network == "table":
        return make_data(rows=count or 800, isolated=2, groups=2, seed=0)
    return replace(make_data(rows=count or 240, isolated=SIDE**2 - 3, groups=2, seed=0), image=(1, SIDE, SIDE))


def prepare(name: str, network: str) -> Method:
    """Return the method as an audit trains it, on the shortest schedule that has every release."""
    return with_fields(shorten(EXAMPLES[name][0], make_rows(network).n, DELTA), epochs=2, network=NETWORK[network])


def trainer_of(method: Method) -> Any:
    return make_trainer(method, notion=method.info.notions[0], seed=0)


@pytest.mark.parametrize(("name", "network"), TOGETHER)
def test_halved_noise_is_caught(name: str, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the accountant untouched: what is counted lies in the honest noise's range, and above the halved one's."""
    method, data = prepare(name, network), make_rows(network)
    train, runs = trainer_of(method), RUNS[network]
    honest = check_noise(train, data, runs=runs, seed=0)
    scale_noise(monkeypatch, 0.5)
    releases = record_runs(train, data, runs=max(runs // 4, 2), seed=0)
    halved = measure_noise([[one for one in run if one.kind == SUM] for run in releases])
    sums = "noise_primal" in parameters(method)
    assert (halved is not None and halved.high < 0.75) == sums
    assert honest is not None or not sums


def test_halved_noise_is_refuted_by_the_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, 0.5)
    assert attack_dp_sgd(DpSgd(noise_primal=1.4, clip_primal=0.3), runs=500)["refuted"] is True


def test_the_attack_stays_below_epsilon_on_images() -> None:
    assert attack_dp_sgd(DpSgd(noise_primal=1.4, clip_primal=0.3), runs=30, network="images")["refuted"] is False


@pytest.mark.parametrize(("network", "runs"), [("table", 100), ("images", 20)])
def test_without_noise_the_attack_wins(network: str, runs: int) -> None:
    found = attack_dp_sgd(DpSgd(noise_primal=0.0, clip_primal=0.3), runs=runs, network=network)
    (test, *_) = found["tests"]
    assert (test["hits"], test["alarms"]) == (test["seconds"], 0)
    assert found["profile"][0]["epsilon"] == float("inf")


def attack_dp_sgd(method: DpSgd, *, runs: int, network: str = "table") -> dict[str, Any]:
    """Return the audit of two steps on all rows, one of which is the canary."""
    data = make_rows(network, ATTACKED[network])
    known = replace(method, epochs=2, batch_size=data.n, learning_rate=1e-5, network=NETWORK[network])
    train = make_trainer(known, notion="demographic_parity", seed=0)
    pairs = list_pairs(data, nulled=True)
    pair = choose_pair(train, pairs[:: 1 if network == "table" else 200], seed=0)
    plan = AuditPlan(runs=runs)
    return attack_pair(known, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)


@pytest.mark.parametrize("network", NETWORK)
def test_the_mutant_without_clipping_is_caught(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fairpriv_core.methods.shared.noisy_sums.clip_weights", lambda weights, norms, bound: weights.copy()
    )
    train = trainer_of(prepare("dp_sgd", network))
    (reach,) = measure_sensitivities(train, make_rows(network), changes=12, whole_record=True, seed=0)
    assert reach.largest > 2.0


@pytest.mark.parametrize(("variant", "target"), [("published", None), ("proved", None), ("proved", 0.0)])
def test_one_persons_group_refutes_the_published_accounting_and_not_the_proved_one(
    variant: str, target: float | None
) -> None:
    """Two tables of 400 that differ in one group (`make_balanced_pair`); 60 runs on each are enough."""
    method = PfLd(
        variant=variant,
        epochs=4,
        batch_size=400,
        optimizer="sgd",
        learning_rate=1e-4,
        dual_step=1e4,
        gap_target=target,
    )
    known = method.calibrated(epsilon=1.0, delta=DELTA, n_train=400)
    plan = AuditPlan(runs=80)
    pair = make_balanced_pair(400)
    found = attack_pair(known, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)
    assert found["refuted_published"] is (variant == "published")
    assert found["refuted"] is (None if variant == "published" else False)
