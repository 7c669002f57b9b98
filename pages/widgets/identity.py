"""A chart is the one with its key, whatever it shows: so a refresh redraws it and the person's zoom stays.

Streamlit 1.67 makes the identity of a Plotly chart from its whole content, key or not (of other elements the key is
the identity). Each refresh would then be another chart: drawn anew, zoomed out, its toolbar gone from under the
pointer. Here the key is its identity too. `tests/e2e` zooms into a live chart to see that it works.
"""

from __future__ import annotations

from typing import Any

from streamlit.elements import plotly_chart
from streamlit.elements.lib.utils import compute_and_register_element_id


def identify_charts_by_key() -> None:
    """Take a Plotly chart's key as its identity in this process; calling it again changes nothing."""
    plotly_chart.compute_and_register_element_id = _identify


def _identify(element_type: str, **given: Any) -> str:
    return compute_and_register_element_id(element_type, **{**given, "key_as_main_identity": True})
