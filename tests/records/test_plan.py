"""What does not go together is refused before it trains: method, notion, network and the memory that it takes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.networks import estimate_memory, find_memory
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.records import plan
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.plan import check_method, check_notion, check_settings
from tests.many import make_ages, make_digits

TABLE = {"dataset": "synthetic", "sensitive": "group"}
DIGITS = {"dataset": "mnist_unbalanced", "sensitive": "label"}
OWN = {"file": "list.parquet", "label": "kind", "sensitive": "sex", "image": "file"}


def ask(method: dict[str, Any] | str, data: dict[str, Any] = DIGITS, notion: str = "accuracy_parity") -> RunConfig:
    return build_config({"data": data, "notion": notion, "method": method, "epsilon": 1})


def make_images(side: int = 28, *, channels: int = 1) -> Dataset:
    """Return ten labels of images as pages hold them, without the pixels."""
    nothing = np.zeros((3000, 0), dtype=np.float32)
    return dataclasses.replace(make_digits(), X=nothing, feature_names=(), image=(channels, side, side))


@pytest.mark.parametrize("data", [DIGITS, OWN])
def test_images_are_given_a_convolutional_network_and_say_which(data: dict[str, Any]) -> None:
    usual = ask("fairdp_adaptive", data)
    assert usual.to_json()["method"]["network"] == "cnn_small"
    assert usual.key == ask({"name": "fairdp_adaptive", "network": "cnn_small"}, data).key
    flat = ask({"name": "fairdp_adaptive", "network": "mlp"}, data)
    assert flat.to_json()["method"]["network"] == "mlp" and flat.key != usual.key
    for config in (usual, flat):
        again = build_config(config.to_json())
        assert again == config and again.key == config.key


def test_methods_for_two_labels_train_a_network_that_ends_in_one_logit() -> None:
    for name in ["f_ld", "pf_ld", "one_release", "pf_ld_record", "fairdp_certified"]:
        faces = {"dataset": "utkface", "label": "gender", "sensitive": "race"}
        config = ask(name, faces, "demographic_parity")
        data = dataclasses.replace(
            make_images(48), y=np.arange(3000) % 2, label_names=("male", "female"), sensitive="race"
        )
        assert config.to_json()["method"]["network"] == "cnn_small"
        shape = check_settings(config, data)
        assert isinstance(shape, LayeredShape) and (shape.outputs, shape.labels) == (1, 2)
        softmax = check_settings(ask("dp_sgd", faces), data)
        assert softmax.size == shape.size + 33, "methods for any number of labels have an output for each"


def test_memory_counts_the_rows_of_a_sample_that_is_a_share_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(plan, "estimate_memory", lambda shape, rows: seen.append(rows) or 0)
    data = dataclasses.replace(make_images(), y=np.arange(3000) % 2, label_names=("no", "yes"), sensitive="race")
    for method in ({"name": "pf_ld_record", "sampling_rate": 0.1}, {"name": "pf_ld", "batch_size": 64}):
        check_settings(ask(method, notion="demographic_parity"), data)
    assert seen == [300, 64]


def test_the_size_of_an_mlp_is_refused_for_another_network() -> None:
    for method in ({"hidden_layers": 2}, {"width": 32, "network": "vgg9"}):
        with pytest.raises(BadInput, match=r"is of network mlp, and \w+ has layers of its own: leave it out") as said:
            ask({"name": "dp_sgd", **method})
        assert said.value.field == "network"
    assert ask({"name": "dp_sgd", "hidden_layers": 2, "network": "mlp"}).method.info.name == "dp_sgd"


def test_more_labels_than_a_method_takes_are_refused_with_those_that_take_them() -> None:
    check_method(ask("pf_ld", TABLE).method.info, dataclasses.replace(make_ages(), label_names=("no", "yes")))
    with pytest.raises(BadInput) as refused:
        check_method(ask("pf_ld", TABLE).method.info, make_ages())
    assert refused.value.field == "method"
    said, _, offered = str(refused.value).partition("; choose from ")
    assert "at most 2 labels, and this has 3" in said and {"none", "dp_sgd"} <= set(offered.strip(".").split(", "))
    for name in offered.strip(".").split(", "):
        check_method(methods()[name].info, make_ages())
    check_settings(ask("fairdp_adaptive", TABLE), make_ages())


def test_a_notion_of_the_positive_label_is_refused_where_there_is_none() -> None:
    info = ask("dp_sgd").method.info
    check_notion("equal_opportunity", info, 2)
    with pytest.raises(BadInput) as refused:
        check_notion("equal_opportunity", info, 9)
    assert refused.value.field == "notion"
    said, _, offered = str(refused.value).partition("; choose from ")
    assert "of 9 labels none is positive" in said and "accuracy_parity" in offered.strip(".").split(", ")
    for name in offered.strip(".").split(", "):
        check_notion(name, info, 9)


def test_a_network_that_does_not_fit_the_rows_is_refused() -> None:
    assert check_settings(ask("dp_sgd"), make_images()).size == 26_010
    with pytest.raises(BadInput, match=r"needs images of at least 14 x 14 pixels, got 8 x 8; take mlp\."):
        check_settings(ask("dp_sgd"), make_images(8))
    with pytest.raises(BadInput, match=r"needs images, and these data are a table; take mlp\."):
        check_settings(ask({"name": "dp_sgd", "network": "vgg9"}, TABLE), make_ages())


def test_a_network_beyond_the_memory_is_refused_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "find_memory", lambda: 8 * 2**30)
    check_settings(ask("dp_sgd"), make_images(96, channels=3))
    with pytest.raises(BadInput) as refused:
        check_settings(ask("dp_sgd"), make_images(4000, channels=3))
    said = str(refused.value)
    assert refused.value.field == "network" and "rows of 48,000,000 values" in said
    assert "GiB of memory, and 8.0 GiB are here" in said
    monkeypatch.setattr(plan, "find_memory", lambda: None)
    check_settings(ask("dp_sgd"), make_images(4000, channels=3))


def test_memory_grows_with_the_network_and_the_batch() -> None:
    shape = check_settings(ask("dp_sgd"), make_images())
    assert estimate_memory(shape, 256) < estimate_memory(shape, 512)
    assert (find_memory() or 0) > 2**28
