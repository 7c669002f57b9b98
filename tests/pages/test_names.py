"""Lists and titles speak in words; ids stay in addresses, and rows that are called the same can be told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fairpriv_core.facts.tables import TableRow, run_table
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.origin import format_origin
from fairpriv_core.figures.over_epsilon import trade_off
from fairpriv_core.records.record import RAW
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.names import name_data_of, name_run
from pages.widgets.shared.reference import list_reference
from pages.widgets.shared.run_table import name_rows
from tests.figures import samples
from tests.pages.shown import Open

DATA = {"dataset": "adult", "sensitive": "sex"}


def read_rows(store: Path) -> list[TableRow]:
    with open_store(str(store)) as opened:
        keys = [row.key for row in opened.rows()]
        return list(run_table(record.to_json() for record in opened.records(keys).values()))


def test_rows_are_named_in_words_and_told_apart_by_their_keys_alone_where_they_must_be(with_runs: Path) -> None:
    rows = read_rows(with_runs)
    names = name_rows(rows)
    assert sorted(names.values()) == [
        "No privacy, no fairness · Synthetic: label by group · Demographic parity · 1 seed",
        "PF-LD, ε = 1 · Synthetic: label by group · Demographic parity · 2 seeds",
    ]
    assert name_data_of(replace(rows[0], rows=500)) == "Synthetic: label by group · 500 rows"
    twin = replace(rows[0], keys=("f" * 16,))
    named = name_rows([rows[0], twin])
    assert [name.endswith(key) for key, name in named.items()] == [True, True] and len({*named.values()}) == 2


def test_a_file_is_called_by_its_name_and_what_is_predicted() -> None:
    config = {"method": {"name": "pf_ld"}, "epsilon": 0.5, "notion": "equal_opportunity"}
    data = {"file": "/srv/people.csv", "label": "hired", "positive": "yes", "sensitive": "sex", "rows": 2000}
    assert name_run({**config, "data": data, "seed": 3}) == (
        "PF-LD, ε = 0.5 · people.csv: hired = yes by sex · 2,000 rows · Equal opportunity · seed 3"
    )
    assert name_run({**config, "method": {"name": "gone"}, "data": DATA}).startswith("gone, ε = 0.5 · Adult: income")
    assert (
        name_run({**config, "data": {**DATA, "sensitive": "100%?"}})
        .partition(" · ")[2]
        .startswith("Adult: income by 100%?")
    )
    assert list_reference("adult:100%25%3F").endswith(" by 100%?")


def test_lists_show_words_and_the_address_keeps_its_ids(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare", only__data="synthetic:group")
    filters = page.multiselect("only.data")
    assert filters.value == ["synthetic:group"] and filters.options == ["Synthetic: label by group"]
    assert page.query_params["only.data"] == "synthetic:group"
    table = page.dataframe[0].value
    assert set(table["data"]) == {"Synthetic: label by group"} and set(table["notion"]) == {"Demographic parity"}
    for name, key in (("compare", "runs"), ("report", "runs"), ("present", "runs")):
        assert not [each for each in open_page(name).multiselect(key).options if "pf_ld" in each or ":group" in each]
    for name in ("run", "audit"):
        assert not [each for each in open_page(name).selectbox("run").options if "pf_ld" in each or ":group" in each]


def test_only_figures_of_published_rows_lose_their_mark() -> None:
    def draw(*data: dict[str, Any]) -> FigureData:
        config = samples.record()["config"]
        records = [samples.record(config={**config, "data": each}) for each in data]
        return trade_off(run_table(records), dataset="Adult", notion="Demographic parity")

    public = draw(DATA, {**DATA, "rows": 500})
    assert not public.raw and "Do not publish" not in public.text and "Adult (census income) is" in public.text
    for data in ([DATA, {"file": "/srv/people.csv"}], [{"dataset": None}], [{}]):
        assert draw(*data).raw and format_origin(data) == RAW
    assert "Adult (census income) and Synthetic are public" in format_origin([DATA, {"dataset": "synthetic"}])
