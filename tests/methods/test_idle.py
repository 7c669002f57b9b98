"""Settings with which a method pursues nothing: it says so, and it is true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.runs.audit import with_fields
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

IDLE = {
    "f_ld": [{"epochs": 1}, {"multiplier_max": 0.0}],
    "pf_ld": [{"epochs": 1}, {"multiplier_max": 0.0}],
    "pf_ld_record": [{"epochs": 1}, {"multiplier_max": 0.0}],
    "raco_dp": [{"multiplier_max": 0.0}],
    "one_release_record": [],  # its softmax follows the groups whatever its decisions do
    "dp_fermi": [{"multiplier": 0.0}],
    "dp_fermi_record": [{"multiplier": 0.0}],
    "fairlens": [{"epochs": 1}, {"multiplier_gradient": 0.0, "multiplier_boundary": 0.0}],
    "one_release": [{"multiplier_max": 0.0}],
    "one_release_local": [],  # it tells groups apart whatever its decisions do
    "pflr": [{"multiplier": 0.0}],
    "adfc": [{"multiplier": 0.0}],
}
CASES = [(name, given) for name, each in IDLE.items() for given in each]


@pytest.mark.parametrize("name", methods())
def test_a_method_as_it_is_by_default_is_not_idle(name: str) -> None:
    kind = methods()[name]
    assert kind().idle_reason() is None
    multipliers = [item for item in kind.__dataclass_fields__ if item.startswith("multiplier")]
    if multipliers and name not in IDLE:
        with pytest.raises(BadInput, match="multiplier"):
            with_fields(kind(), **dict.fromkeys(multipliers, 0.0))


@pytest.mark.parametrize(("name", "given"), CASES)
def test_what_is_said_to_pursue_nothing_gives_the_same_model_whatever_the_groups(
    name: str, given: dict[str, Any]
) -> None:
    short = with_fields(methods()[name](), epochs=3, batch_size=40, sampling_rate=0.2, clip_primal=1.0)
    noises = {item: 1.0 for item in short.__dataclass_fields__ if item.startswith("noise_")}
    method = replace(short, **{**noises, **given})  # type: ignore[type-var]
    said = method.idle_reason()
    assert said is not None and "no fairness is pursued" in said and ("epoch" in said) == ("epochs" in given)
    data = make_data()
    both = [data, with_group(data, np.roll(data.group, 1))]
    one, other = (train(method, [each], [RecordingMechanism(seed=1)])[0] for each in both)
    assert np.array_equal(one.parameters, other.parameters)


def test_as_published_one_epoch_pursues_nothing_either() -> None:
    """Its noise is scaled by group sizes all the same, so that the model still depends on them."""
    method = with_fields(methods()["pf_ld"](), variant="published", gap_target=None, epochs=1)
    assert "With 1 epoch" in (method.idle_reason() or "")
    assert with_fields(method, epochs=2).idle_reason() is None
