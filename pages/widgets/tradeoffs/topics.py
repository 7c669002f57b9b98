"""What a page of trade-offs is about: data with groups, a notion, and the settings that pass the filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from fairpriv_core.notions.catalog import notions
from fairpriv_core.report.frontier import Claim, group_by_claim
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import TableRow
from pages.widgets.shared.called import call_files
from pages.widgets.shared.state import keep, mount_index, mount_several
from pages.widgets.tradeoffs.questions import Answers

Claims = Mapping[Claim, Sequence[TableRow]]


@dataclass(frozen=True)
class Topic:
    """What the charts are about: the data with its groups, and the notion's name."""

    data: str
    notion: str

    @property
    def data_title(self) -> str:
        """The data as the person calls it."""
        return call_files(self.data)

    @property
    def notion_title(self) -> str:
        """The notion as it is called."""
        return notions()[self.notion].title


def choose_topic(found: Mapping[str, Mapping[str, Answers]]) -> tuple[Topic, Answers]:
    """Draw the choice of data and notion among what was `found`; return it with what answers it."""
    left, right = st.columns(2)
    with left:
        mounted = mount_index("of_data", found)
        data = keep(
            "of_data", st.selectbox("Data and sensitive attribute", list(found), **mounted, format_func=call_files)
        )
    titles = {name: notions()[name].title for name in found[data]}
    with right:
        mounted = mount_index("of_notion", titles)
        notion = keep("of_notion", st.selectbox("Notion", list(titles), **mounted, format_func=titles.__getitem__))
    return Topic(data, notion), found[data][notion]


def choose_claims(answers: Answers) -> Claims:
    """Draw the filters and return the rows that pass them, by what their ε says: never one claim among another."""
    claims = group_by_claim(answers.rows)
    listed = list(dict.fromkeys(row.method for rows in claims.values() for row in rows))
    titles = {claim.title: claim for claim in claims}
    left, right = st.columns(2)
    with left:
        mounted = mount_several("of_method", listed, ())
        chosen = st.multiselect(
            "Methods", listed, **mounted, placeholder="all", format_func=lambda name: method_style(name).title
        )
        methods = keep("of_method", tuple(chosen)) or listed
    with right:
        mounted = mount_several("of_claim", titles, ())
        chosen = st.multiselect("What ε protects, and how it was accounted", list(titles), **mounted, placeholder="all")
        wanted = keep("of_claim", tuple(chosen)) or tuple(titles)
    left_out = len(answers.rows) - sum(len(rows) for rows in claims.values())
    if left_out:
        many = "1 setting is" if left_out == 1 else f"{left_out} settings are"
        st.caption(
            f"{many} not shown: without a gap, or private without a stated ε, or with noise that can be repeated."
        )
    kept = {titles[title]: [row for row in claims[titles[title]] if row.method in methods] for title in wanted}
    return {claim: rows for claim, rows in kept.items() if rows}
