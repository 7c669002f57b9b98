"""What privacy costs within one bound on the gap, over rows times epsilon; and the papers' methods on equal terms.

*The rule.* Of this project's entries, whose ε is proved, the most accurate private one whose gap reached the bound is
held against the most accurate one without privacy whose gap did. For each seed both are chosen by the other seeds, so
that the choice favours neither; decisions use no group. What is lost is their difference in accuracy; their gaps differ
too, within the bound, and it says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairpriv_core.bench.board import THREAT_MODELS, Board, build_boards
from fairpriv_core.bench.lines import OURS
from fairpriv_core.bench.suite import Suite, read_suite
from fairpriv_core.methods.catalog import methods
from fairpriv_core.stats import Mean, mean_interval, number, spread
from fairpriv_core.text import count_text

_WIDTH = 0.5  # decades of rows times epsilon that are folded


@dataclass(frozen=True)
class Cost:
    """The accuracy lost on one task at one budget, or the mean over those with about as many rows times ε, `amount`.

    `wider` is by how much the private entry's gap is larger, in the mean.
    """

    threat_model: str
    amount: float
    loss: Mean
    by_seed: tuple[float, ...] = ()
    cells: int = 1
    wider: float = 0.0

    @property
    def measurable(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.loss.low is not None and self.loss.low > 0

    def format(self) -> str:
        """Return the sentence."""
        loss = spread(self.loss)
        amount = f"{loss} points of accuracy" if self.measurable else f"no measurable cost ({loss} points)"
        if self.loss.high is not None and self.loss.high < 0:
            amount = f"{loss} points: the entry without privacy was no ceiling there"
        points, way = number(abs(self.wider)), "larger" if self.wider > 0 else "smaller"
        gaps = "" if points == "0.0" else f"; its gap was {points} points {way}"
        return f"Rows × ε about {self.amount:,.0f}, {count_text(self.cells, 'cell')}: {amount}{gaps}."


def measure_costs(lines: pd.DataFrame, notion: str) -> list[Cost]:
    """Return the accuracy lost on each task at each budget, where an entry of both sides reached the bound."""
    suite = read_suite()
    proved = (lines.author == OURS) & ~lines.by_group
    matching = lines[(lines.notion == notion) & proved & lines.seed.isin(suite.seeds)]
    return [cost for model in THREAT_MODELS for cost in _list_costs(matching, model, suite)]


def _list_costs(lines: pd.DataFrame, threat_model: str, suite: Suite) -> Iterator[Cost]:
    for _, part in lines.groupby("task", sort=False):
        ceiling, private = part[part.threat_model == ""], part[part.threat_model == threat_model]
        references = _choose(ceiling, suite.gap)
        for epsilon, own in private.groupby("epsilon_asked"):
            budget, best = float(str(epsilon)), _choose(own, suite.gap)
            pairs = [(references[seed], best[seed]) for seed in sorted(best.keys() & references.keys())]
            if len(pairs) > 1:  # one seed has no interval
                losses = tuple(reference[0] - private[0] for reference, private in pairs)
                wider = float(np.mean([private[1] - reference[1] for reference, private in pairs]))
                amount = budget * float(own.n_train.iloc[0])
                yield Cost(threat_model, amount, mean_interval(losses), losses, wider=wider)


def _choose(lines: pd.DataFrame, gap: float) -> dict[int, tuple[float, float]]:
    """Return for each seed accuracy and gap of the entry that the other seeds choose."""
    best = {}
    for seed in lines.seed.unique():
        other_lines = lines[lines.seed != seed] if lines.seed.nunique() > 1 else lines
        by_name = other_lines.groupby("method")
        able = by_name.gap_low.mean().le(gap) & by_name.accuracy.count().eq(by_name.size())
        means = by_name.accuracy.mean()[able]
        if len(means):
            name = str(means.idxmax())
            winner = lines[(lines.seed == seed) & (lines.method == name)]
            if len(winner) and winner.accuracy.notna().all():
                best[int(seed)] = float(winner.accuracy.iloc[0]), float(winner.gap.iloc[0])
    return best


def fold_costs(costs: list[Cost]) -> list[Cost]:
    """Return the mean over tasks and budgets with about as many rows times epsilon, by threat model."""
    folded = []
    for model in THREAT_MODELS:
        own = [cost for cost in costs if cost.threat_model == model]
        places = [round(float(np.log10(cost.amount)) / _WIDTH) for cost in own]
        for place in sorted({*places}):
            inside = [cost for cost, at in zip(own, places, strict=True) if at == place]
            amount = float(np.exp(np.mean([np.log(cost.amount) for cost in inside])))
            wider = float(np.mean([cost.wider for cost in inside]))
            folded.append(Cost(model, amount, _pool([cost.by_seed for cost in inside]), cells=len(inside), wider=wider))
    return folded


def _pool(losses: list[tuple[float, ...]]) -> Mean:
    """Return the mean over cells with its 95 % t interval from how seeds differ within each: cells are not drawn."""
    mean = float(np.mean([np.mean(loss) for loss in losses]))
    free = sum(len(loss) - 1 for loss in losses)
    error = float(np.sqrt(sum(np.var(loss, ddof=1) / len(loss) for loss in losses))) / len(losses)
    half_width = float(stdtrit(free, 0.975)) * error
    return Mean(mean, mean - half_width, mean + half_width, free + len(losses))


def format_paper_costs(lines: pd.DataFrame) -> list[str]:
    """Return one sentence for each method of the four papers: what it came to over the suite, among our entries."""
    suite, ours = read_suite(), lines[lines.author == OURS]
    boards = [
        board
        for notion, epsilon in product(suite.notions, suite.epsilons)
        for board in build_boards(ours, notion, epsilon, suite=suite)
    ]
    papers = [name for name, kind in methods().items() if kind.info.source == "paper" and kind.info.threat_model]
    return [sentence for name in papers if (sentence := _format_paper(name, boards))]


def _format_paper(name: str, boards: list[Board]) -> str:
    places = [(board, entry) for board in boards for entry in board.ranked if entry.name == name]
    if not places:
        return ""
    board, first = places[0]
    cells = [entry.cells[task.name] for own, entry in places for task in own.tasks]
    heights = mean_interval([cell.height.mean for cell in cells if cell.reached])
    ahead = sum(
        any(own.differ(rival, entry) and (rival.rank or 0.0) < (entry.rank or 0.0) for rival in own.ranked)
        for own, entry in places
    )
    over = "no mixing line" if heights.mean is None else f"{spread(heights)} points above the mixing line"
    reached = sum(cell.reached for cell in cells)
    return (
        f"{first.title} ({board.threat_model}) reached the gap in {reached} of {count_text(len(cells), 'cell')}, with "
        f"{over} there; another entry was surely ahead on {ahead} of {count_text(len(places), 'board')}."
    )
