"""The documentation's pages on the papers, from the committed results: one a paper, what agrees above all.

A page has what a reader looks for: how each figure and table was made, the printed numbers beside ours, the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from fairpriv_core.papers.cited import CITED
from fairpriv_core.papers.preset import Claim, Paper, Preset
from fairpriv_core.papers.printed import Beside, count_beside, set_beside
from fairpriv_core.papers.results import Made
from fairpriv_core.papers.scoreboard import count_claims, list_printed, say_main_claim
from fairpriv_core.papers.status import TITLES
from fairpriv_core.papers.verdicts import Verdict, judge_all
from fairpriv_core.report.paper_figures import describe_runs, list_cells
from fairpriv_core.report.paper_methods import list_methods, say_methods
from fairpriv_core.report.paper_prose import count_made

_INDEX = """# The papers, run again

{progress}
Each stands as this software makes it: the numbers that the paper prints beside ours, and for each thing that it says a
verdict made from our numbers. `fairpriv papers show ID` prints them, `fairpriv papers run ID` runs one again, with
`--full` at the paper's size; the page Papers draws them. These pages are written by
`python examples/make_papers_results.py` from what was kept in `fairpriv_core/papers/kept`: a table a paper, with a row
for each run's key, setting and numbers."""
_ONLY_CITED = (
    "The papers cite more methods that are private and fair. None of these runs here: the papers say too little to "
    "build one from, and print no number of it."
)
_HOW = """Means over seeds with 95 % t intervals, on the test split. A case agrees where the whole interval lies within
what is expected, differs where it lies outside, and is open where the seeds do not settle it. Some cases compare the
fairest settings at a level of accuracy: they are open too where other seeds might pick a setting that says the
opposite. Models that are less accurate than always giving the same answer test nothing. A printed number agrees where
our whole interval is within its tolerance: half a point of an accuracy, a point of a gap, unless a line says another.
What is said of our proved variants, which the paper does not have, is not counted. Numbers on groups are raw: no ε
covers them. Of your own data, do not publish them."""


def render_index(papers: Mapping[str, Paper], made: Mapping[str, Made]) -> str:
    """Return the page that leads to those of the papers, as Markdown: how what each says stands here."""
    rows = []
    for paper in papers.values():
        ready = [preset for preset in paper.presets if preset.id in made]
        rows.append(
            {"paper": f"[{paper.title}](papers/{paper.id}.md)", "with results": f"{len(ready)} of {len(paper.presets)}"}
            | _stand(paper.presets, made)
            | {"what it says above all": say_main_claim(paper, made)}
        )
    statement = (
        "A claim is counted once for each case that it must hold in; without a run it is open. Of the numbers that a "
        "paper prints, those are counted that ours agree with:"
    )
    parts = [_INDEX.format(progress=count_made(papers, made)), statement, _table(rows), _ONLY_CITED]
    cited = [
        {"method": f"{one.title}: {one.citation}", "cited by": _name_papers(one.cited_by, papers)}
        | {"what it does": one.summary}
        for one in CITED
    ]
    return "\n\n".join([*parts, _table(cited)]) + "\n"


def _name_papers(ids: Sequence[str], papers: Mapping[str, Paper]) -> str:
    return ", ".join(papers[each].name for each in ids)


def render_paper(paper: Paper, made: Mapping[str, Made]) -> str:
    """Return one paper's page as Markdown: how it stands, then each figure and table with its verdicts."""
    rows = [{"figure or table": preset.title} | _stand([preset], made) for preset in paper.presets if preset.id in made]
    parts = [f"# {paper.title}", f"{paper.citation}. [All papers](../papers.md)", _table(rows)]
    parts.append(_HOW)
    if paper.method_table:
        table = paper.method_table
        parts += [f"## {table.title}", table.shows, _table(list_methods(table)), say_methods(paper)]
    for number, preset in enumerate(paper.presets):
        parts += _section(preset, paper.presets[:number], made.get(preset.id))
    return "\n\n".join(part for part in parts if part) + "\n"


def _stand(presets: Sequence[Preset], made: Mapping[str, Made]) -> dict[str, str]:
    """Return how many claims of figures and tables have each status, and how many printed numbers agree."""
    counts, printed = count_claims(presets, made), list_printed(presets, made)
    agree = sum(one.status == "agrees" for one in printed)
    numbers = f"{agree} of {len(printed)}" if printed else "–"
    return {title: str(counts[status]) for status, title in TITLES.items()} | {"printed numbers that agree": numbers}


def _section(preset: Preset, before: Sequence[Preset], made: Made | None) -> list[str]:
    """Return what was done, a table's numbers or the printed ones beside ours, and the verdicts."""
    parts = [f"## {preset.title}", f"`{preset.id}`. {preset.shows}"]
    if preset.waits_for:
        return [*parts, preset.waits_for]
    parts.append(_settings(preset, before))
    if made is None:
        return [*parts, f"Not run yet: `fairpriv papers run {preset.id}` runs it."]
    size = preset.versions[made.version].size
    told = describe_runs(preset, made.runs)
    parts.append(f"Made by this software on {made.day}: {size}. {made.say_failed()}{told}")
    beside = set_beside(preset, made.runs)
    parts += (
        _printed(beside)
        if beside
        else [_table(list_cells(preset, made.runs)), _once(preset, before, "not_printed", "What is printed")]
    )
    return [*parts, *_verdicts(preset, before, made), _once(preset, before, "privacy", "What is proved")]


def _settings(preset: Preset, before: Sequence[Preset]) -> str:
    """Return the settings in words; those that a section above begins with are not said again."""
    same = [each for each in before if each.settings and preset.settings.startswith(each.settings)]
    if not same:
        return preset.settings
    longest = max(same, key=lambda each: len(each.settings))
    return f"Settings as of {_name(longest, before)}.{preset.settings.removeprefix(longest.settings)}"


def _once(preset: Preset, before: Sequence[Preset], what: Literal["privacy", "not_printed"], lead: str) -> str:
    """Return a text of a preset, or where it stands above."""
    text: str = getattr(preset, what)
    same = next((each for each in before if text and getattr(each, what) == text), None)
    return f"{lead}: as of {_name(same, before)}." if same else text


def _name(preset: Preset, among: Sequence[Preset]) -> str:
    """Return what a section is pointed to by: its number where no other one has the same."""
    number = preset.title.partition(": ")[0]
    alike = [each for each in among if each.title.partition(": ")[0] == number]
    return f"“{preset.title if len(alike) > 1 else number}”"


def _printed(beside: Sequence[Beside]) -> list[str]:
    """Return the printed numbers beside ours, the most important first, and how many agree."""
    sources = ", ".join(dict.fromkeys(one.source for one in beside))
    rows = [
        {
            "what": one.label,
            "unit": one.unit,
            "printed": one.printed,
            "ours": one.ours,
            "the same?": one.verdict,
        }
        for one in beside
    ]
    return [f"Printed in: {sources}.", _table(rows), count_beside(beside)]


def _verdicts(preset: Preset, before: Sequence[Preset], made: Made) -> Iterator[str]:
    """Yield what the paper says and how it stands; what it says once and we take in several ways stands once.

    What a section above says alike is not said again.
    """
    judged = zip(preset.claims, judge_all(preset, made.runs), strict=True)
    for _, same in groupby(judged, key=lambda one: (one[0].says, one[0].source)):
        found = list(same)
        if len(found) == 1:
            yield f"- {_state(found[0], before)} {_tell(found[0][1])}"
        else:
            ways = [f"    - {claim.reading[:1].upper()}{claim.reading[1:]}. {_tell(one)}" for claim, one in found]
            first = found[0][0]
            yield "\n".join([f"- The paper says that {first.says} ({first.source}). We take it as:", *ways])


def _state(judged: tuple[Claim, Verdict], before: Sequence[Preset]) -> str:
    """Return what the paper says and how we take it, or where a section above has it as its only claim."""
    claim, verdict = judged
    only = [(each, each.claims[0]) for each in before if len(each.claims) == 1]
    same = [each for each, one in only if (one.says, one.reading) == (claim.says, claim.reading)]
    return f"What the paper says: as of {_name(same[0], before)}." if same else verdict.statement


def _tell(verdict: Verdict) -> str:
    return f"**{verdict.sentence}** {verdict.ours}".rstrip()


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return ""
    heads = list(rows[0])
    lines = [heads, ["---"] * len(heads), *[[row[name] for name in heads] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
