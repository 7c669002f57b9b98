"""The tutorial on networks of one's own does what it says."""

from __future__ import annotations

import pytest

from examples.own_network import train_on_digits, train_on_texts


@pytest.mark.long
def test_the_head_of_a_transformer_is_trained_fair_and_private(capsys: pytest.CaptureFixture[str]) -> None:
    found = train_on_texts()
    assert "ε = 2.00" in capsys.readouterr().out
    assert found["dp_sgd"][0] > 0.8 and found["pf_ld_record"][0] > 0.78
    assert found["pf_ld_record"][1] < found["dp_sgd"][1] + 0.02


@pytest.mark.long
def test_a_convolutional_network_learns_digits_within_a_budget() -> None:
    found = train_on_digits()
    assert found["none"][0] > 0.9 and found["pf_ld_record"][0] > 0.8
