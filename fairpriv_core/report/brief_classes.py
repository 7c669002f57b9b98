"""What a report says of more than two labels: how each class fares, and what privacy costs each."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.report import wording
from fairpriv_core.report.brief import Cell, Part, Section, Table, Text
from fairpriv_core.report.brief_runs import Chosen
from fairpriv_core.report.classes import are_groups, compare_classes, find_reference, has_classes, say_decided
from fairpriv_core.report.figures import GroupRates, group_bars

_HEAD = ("class", "test rows", "accuracy %", "decided %")


def tell_classes(chosen: Sequence[Chosen], *, paid: bool) -> tuple[Section, ...]:
    """Return the classes of each run's first seed, and over all seeds what they lose; () where there are two labels."""
    parts: list[Part] = []
    for each in chosen:
        table = class_rows(each, paid=paid)
        if table is not None:
            seeds = f", seed {each.row.seeds[0]}" if len(each.runs) > 1 else ""
            parts += [Text(f"{each.name}{seeds}. {say_decided(each.record[_source(paid)])}"), table]
    if not parts:
        return ()
    source = _source(paid)
    known = [each for each in chosen if has_classes(each.record.get(source))]
    bars = [GroupRates(each.name, each.row.method, each.record[source]["classes"]) for each in known]
    if not all(are_groups(each.record[source]) for each in known):  # else they stand among the groups' figures
        parts.append(group_bars(bars, rate="accuracy", of="class", paid=paid))
    losses = None if paid else loss_rows(known)
    title = "Classes, from noisy counts" if paid else "Classes"
    return (Section(title, (*parts, *(() if losses is None else (losses,)))),)


def class_rows(each: Chosen, *, paid: bool) -> Table | None:
    """Return how each class fares in the first seed, with 95 % intervals; None where there are two labels."""
    found = each.record.get(_source(paid)) or {}
    if not has_classes(found):
        return None
    rows = tuple(
        (one["name"], round(one["size"]), wording.share_text(one, "accuracy"), wording.share_text(one, "decided"))
        for one in found["classes"]
    )
    noisy = "From noisy counts that ε covers. In brackets: 95 % over the noise and the sampling of the test rows."
    raw = (
        f"Accuracy is among the class's own rows; decided, the share of all rows. 95 % Wilson intervals. {wording.RAW}"
    )
    return Table(_HEAD, rows, noisy if paid else raw)


def loss_rows(chosen: Sequence[Chosen]) -> Table | None:
    """Return what each class gains or loses against the run for accuracy alone; None where that is not among them."""
    reference = find_reference([each.row.method for each in chosen])
    others = [at for at in range(len(chosen)) if at != reference]
    if reference is None or not others:
        return None
    lines = compare_classes([[told["record"] for told in each.runs] for each in chosen], reference=reference)
    rows: list[tuple[Cell, ...]] = []
    for one in lines:
        base = one.accuracies[reference].mean
        gains = (one.gains[at] for at in others)
        rows.append((one.name, *(None if share is None else 100 * share for share in (base, *gains))))
    head = ("class", f"accuracy %, {chosen[reference].mark}", *(f"{chosen[at].mark}, pp" for at in others))
    note = "Percentage points gained, where negative lost, against the run that is trained for accuracy alone; means"
    return Table(head, tuple(rows), f"{note} over seeds. {wording.RAW}")


def _source(paid: bool) -> str:
    return "metrics_private" if paid else "metrics"
