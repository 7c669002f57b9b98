"""Networks of installed packages on the Train page: by name, and without a line of theirs being run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairpriv_core.engine import modules
from fairpriv_core.errors import BadInput
from fairpriv_core.store.runs import open_store
from pages.widgets.tradeoffs.sweep_form import refuse_code
from tests.pages.shown import Open, keys_of, said, whole

OWN = "pagenets.dense:build"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package whose code ends the process."""
    (tmp_path / "pagenets").mkdir()
    for name in ("__init__", "dense"):
        (tmp_path / "pagenets" / f"{name}.py").write_text("raise SystemExit('run in a page')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = type("Point", (), {"name": "dense", "value": OWN})
    monkeypatch.setattr(modules.metadata, "entry_points", lambda group: [point])


def test_an_installed_network_is_chosen_by_name_and_launched_unopened(own_store: Path, open_page: Open) -> None:
    page = open_page("train", data="synthetic:group", notion="demographic_parity", method="dp_sgd", epsilon="2")
    whole(page)
    network = page.selectbox("p.network")
    assert list(network.options) == ["Hidden layers and width as set", "dense, installed"]
    network.select_index(1).run()
    whole(page)
    assert "not known before the first run of this network" in said(page, "caption")
    assert not {"p.hidden_layers", "p.width"} & keys_of(page)
    page.button("launch").click().run()
    whole(page)
    with open_store() as store:
        ((row, _),) = store.read_all()[0]
    assert row.config["method"]["network"] == OWN
    assert "pagenets" not in sys.modules


def test_methods_that_take_none_offer_none_and_an_address_names_no_other_code(open_page: Open) -> None:
    for method in ("fairdp_certified", "zafar"):
        page = open_page("train", data="synthetic:group", notion="demographic_parity", method=method)
        assert not page.exception and "p.network" not in {str(each.key) for each in page.selectbox}
    page = open_page("train", data="synthetic:group", method="dp_sgd", p__network="os:system")
    assert not page.exception and page.selectbox("p.network").value == "mlp"


def test_a_pasted_sweep_names_what_is_installed_and_no_other_code() -> None:
    for raw in (
        {"method": {"name": "dp_sgd", "network": "os:system"}},
        {"axes": {"method.network": ["mlp", "os:system"]}},
        {"axes": {"method": [{"name": "dp_sgd", "network": "os:system"}]}},
    ):
        with pytest.raises(BadInput, match="network 'os:system' is not one that an installed package offers"):
            refuse_code(raw)
    refuse_code({"method": {"name": "dp_sgd", "network": OWN}, "axes": {"network": ["mlp", OWN]}, "notion": "a:b"})
