"""The documentation's pages on the papers, from the committed results: one a paper, a row a figure or table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fairpriv_core.papers.preset import Paper, Preset
from fairpriv_core.papers.printed import format_agreement, set_beside
from fairpriv_core.papers.results import Made
from fairpriv_core.papers.scoreboard import (
    format_figure_verdict,
    format_main_claim,
    list_claims,
    list_printed,
)
from fairpriv_core.papers.status import LOST_RULE, TITLES
from fairpriv_core.papers.values import Runs

_INDEX = """# The papers, run again

{progress}
The page Papers draws each, sets the numbers that the paper prints beside ours, and judges each thing that it says.
`fairpriv papers show ID` prints the same, `fairpriv papers run ID` runs one again, with `--full` at the paper's size.
A table a paper in `fairpriv_core/papers/kept` has each run's key, setting and numbers.
`python -m examples.make_papers_results` writes these pages.

A statement is counted once for each case that it must hold in. *Tested* are figures and tables of which a number of
ours says anything. Of printed numbers those are counted that ours agree with, by each reading of the paper.

A case *agrees* where our whole 95 % interval over seeds lies within what is expected, *differs* where it lies outside,
and is *open* where the seeds do not settle it. A promise about single runs is judged by the share of runs that break
it. What is compared at an accuracy that the paper does not name must hold at each that its authors' points span.
{lost}
What our runs came out against is open then. Models that are less accurate than always the same answer test nothing.
Our proved variants, which the paper does not have, are not counted. Numbers on groups are raw: no ε covers them. Of
your own data, do not publish them."""
_HOW = """{lost} [How cases are judged](../papers.md).

`fairpriv papers show ID` has the numbers behind each row, what would settle an open case, and the settings; with
`--json` the keys of the runs too. The runs are in `fairpriv_core/papers/kept/{paper}.parquet`."""


def render_index(papers: Mapping[str, Paper], made: Mapping[str, Made]) -> str:
    """Return the page that leads to those of the papers, as Markdown: how what each says stands here."""
    rows = []
    for paper in papers.values():
        judged = [preset for preset in paper.presets if preset.claims or preset.printed]
        tested = sum(is_tested(preset, made) for preset in judged)
        rows.append(
            {"paper": f"[{paper.title}](papers/{paper.id}.md)", "tested": f"{tested} of {len(judged)}"}
            | _stand(paper.presets, made)
            | {"what it says above all": format_main_claim(paper, made)}
        )
    return "\n\n".join([_INDEX.format(progress=count_made(papers, made), lost=LOST_RULE), _table(rows)]) + "\n"


def render_paper(paper: Paper, made: Mapping[str, Made]) -> str:
    """Return one paper's page as Markdown: a row a figure or table, with what became of it here."""
    figures: dict[str, list[Preset]] = {}
    for preset in paper.presets:
        if preset.id in made:
            figures.setdefault(preset.title.partition(":")[0], []).append(preset)
    rows = [
        {"figure or table": _name(presets), "here": _say(presets, made)} | _stand(presets, made)
        for presets in figures.values()
    ]
    parts = [f"# {paper.title}", f"{paper.citation}. [All papers](../papers.md)", _table(rows)]
    return "\n\n".join([*parts, _HOW.format(paper=paper.id, lost=LOST_RULE)]) + "\n"


def _name(presets: Sequence[Preset]) -> str:
    """Return what a figure is called, without the data set where there are several, and the ids of its presets."""
    title = presets[0].title
    if len(presets) > 1:
        title, ours, _ = title.partition(", ")[0].partition(" (on ")
        title += " (on data of ours, not the paper's panels)" if ours else ""
    return f"{title} ({', '.join(f'`{preset.id}`' for preset in presets)})"


def _say(presets: Sequence[Preset], made: Mapping[str, Made]) -> str:
    """Return what became of a figure's main statement, each answer once."""
    answers: dict[str, list[str]] = {}
    for preset in presets:
        runs = made[preset.id].runs
        answer = format_figure_verdict(preset, list_claims(preset, runs), runs)
        answers.setdefault(answer, []).append(f"`{preset.id.partition('.')[2]}`")
    if len(answers) == 1:
        return f"{next(iter(answers))}."
    return " ".join(f"{', '.join(names)}: {answer}." for answer, names in answers.items())


def _stand(presets: Sequence[Preset], made: Mapping[str, Made]) -> dict[str, str]:
    """Return how many claims of figures and tables have each status, and how many printed numbers agree."""
    counts, printed = count_claims(presets, made), format_agreement(list_printed(presets, made))
    cases = "/".join(str(counts[status]) for status in TITLES)
    return {f"cases: {', '.join(TITLES.values())}": cases, "printed numbers that agree": printed}


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return ""
    heads = list(rows[0])
    lines = [heads, ["---"] * len(heads), *[[row[name] for name in heads] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def is_tested(preset: Preset, made: Mapping[str, Made]) -> bool:
    """Return whether a number of ours says anything of what a figure or table says or prints."""
    runs = _find_runs(preset, made)
    claimed = [row.status for row in list_claims(preset, runs) if row.seeds]
    printed = [one.status for one in set_beside(preset, runs) if one.status]
    return bool({*claimed, *printed} - {"not_tested"})


def count_claims(presets: Iterable[Preset], made: Mapping[str, Made]) -> Counter[str]:
    """Return how many cases of claims have each status; without results a claim is open."""
    return Counter(row.status for preset in presets for row in list_claims(preset, _find_runs(preset, made)))


def _find_runs(preset: Preset, made: Mapping[str, Made]) -> Runs:
    return made[preset.id].runs if preset.id in made else ()


def count_made(papers: Mapping[str, Paper], made: Mapping[str, Made]) -> str:
    """Return the sentence on how many figures and tables have results here, and how many wait."""
    presets = [preset for paper in papers.values() for preset in paper.presets]
    ready = sum(preset.id in made for preset in presets)
    waiting = sum(bool(preset.waits_for) for preset in presets)
    left = len(presets) - ready - waiting
    parts = (
        f"{ready} of the {len(presets)} figures and tables of the papers have results here",
        f"{waiting} wait{'s' if waiting == 1 else ''} for what is not built yet" if waiting else "",
        f"{left} can run and {'has' if left == 1 else 'have'} no results yet" if left else "",
    )
    return "; ".join(part for part in parts if part) + "."
