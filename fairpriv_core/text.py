"""Numbers as people read them. JSON has them exactly."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_DIGITS = 3
_LEAST = 0.001


def epsilon_text(value: float | None) -> str:
    """Return an epsilon with three significant digits, rounded up: what is shown holds too.

    >>> [epsilon_text(each) for each in (1.0049, 0.9996, 12.34, 123.4, 9.996, 1.1, 0.004, 0.0)]
    ['1.01', '1.00', '12.4', '124', '10.0', '1.10', '0.00400', '0.00']
    >>> epsilon_text(2e-4), epsilon_text(None), epsilon_text(float("inf"))
    ('under 0.001', 'not proved', 'no bound')
    """
    if value is None:
        return "not proved"
    if 0 < value < _LEAST:
        return f"under {_LEAST:g}"
    return _show(value, ROUND_CEILING) if math.isfinite(value) else "no bound"


def at_least_text(value: float) -> str:
    """Return an epsilon that is a lower bound, or what may still be spent: three significant digits, rounded down.

    >>> at_least_text(1.369), at_least_text(0.0004), at_least_text(0.0)
    ('1.36', '0.00', '0.00')
    """
    return _show(value if value >= _LEAST else 0.0, ROUND_FLOOR)


def _show(value: float, rounding: str) -> str:
    exact = Decimal(repr(float(value)))  # as it is written: 1.1 is 1.1 and not the next float64
    if not exact:
        return "0.00"
    rounded = exact
    for _ in range(2):  # 9.996 gets a digit by being rounded
        rounded = rounded.quantize(Decimal(1).scaleb(rounded.adjusted() - _DIGITS + 1), rounding=rounding)
    return f"{rounded:,f}"
