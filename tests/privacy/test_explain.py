"""What epsilon says in plain words."""

import math

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.explain import odds, odds_shown, sentence


def test_odds() -> None:
    for epsilon, expected in [
        (0.0, 50),
        (0.1, 53),
        (0.5, 63),
        (1.0, 74),
        (2.0, 89),
        (3.0, 96),
        (4.59, 99),
        (50.0, 100),
    ]:
        assert odds(epsilon) == expected
        assert isinstance(odds(epsilon), int)


def test_odds_hold_on_the_side_on_which_they_are_shown() -> None:
    for epsilon in [0.0, 0.003, 0.1, 0.7, 1.0, 1.94591, 2.5, 4.595, 7.0]:
        exact = 100 * math.exp(epsilon) / (1 + math.exp(epsilon))
        assert odds_shown(epsilon) <= exact <= odds(epsilon) <= odds_shown(epsilon) + 1


def test_the_sentence_at_one() -> None:
    text = sentence(1.0, 1e-5, "attribute")
    assert "Someone guessing 50:50 can become at most 74 % certain" in text
    assert "1 in 100,000" in text
    assert "sensitive attribute" in text
    assert "whole record" in sentence(1.0, 1e-5, "record")
    assert sentence(1.0, 1e-5, "attribute", of="sex").startswith("Someone guessing a person's sex at 50:50 can become")


def test_a_row_is_not_called_a_person() -> None:
    assert sentence(1.0, 1e-5, "record", "row").endswith("Protected: one whole row.")
    said = "one row's sensitive attribute; all else about it is taken as public."
    assert sentence(1.0, 1e-5, "attribute", "row").endswith(said)


def test_much_is_called_almost_no_guarantee() -> None:
    for epsilon, weak in [(7.9, False), (8.0, True), (700.0, True)]:
        assert ("almost no guarantee" in sentence(epsilon, 1e-5, "record")) is weak
        assert "almost certain" in sentence(epsilon, 1e-5, "record")


def test_very_little_carries_a_caution() -> None:
    for epsilon, caution in [(0.01, True), (0.05, True), (0.5, False)]:
        assert ("learn little" in sentence(epsilon, 1e-5, "record")) is caution


@pytest.mark.parametrize("epsilon", [None, math.inf])
def test_nothing_proved_is_said(epsilon: float | None) -> None:
    assert sentence(epsilon, 1e-5, "attribute").startswith("No bound")


def test_safety_is_never_promised() -> None:
    for epsilon in [0.01, 0.1, 1.0, 8.0, None]:
        text = sentence(epsilon, 1e-5, "attribute").lower()
        assert not any(word in text for word in ("safe", "secure", "guaranteed", "anonymous", "impossible"))


def test_a_chance_is_never_shown_smaller_than_it_is() -> None:
    for delta, words in ((1e-5, "1 in 100,000"), (0.001, "1 in 1,000"), (0.003, "1 in 333"), (0.4, "1 in 2")):
        assert f"about {words}." in sentence(1.0, delta, "record")


def test_values_out_of_range_are_refused() -> None:
    for bad in (-1.0, math.nan):
        with pytest.raises(BadInput, match="epsilon"):
            sentence(bad, 1e-5, "record")
    with pytest.raises(BadInput, match="attribute, record"):
        sentence(1.0, 1e-5, "everything")
    with pytest.raises(BadInput, match="delta"):
        sentence(1.0, 0.0, "record")
