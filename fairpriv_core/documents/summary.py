"""What a report says first: a headline for each question that its runs answer, and two or three reasons."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.document import Bullets, Part, Section, Text
from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.documents.report_numbers import chosen_trade_off
from fairpriv_core.facts.headline import Headline, read_about, write_headline
from fairpriv_core.facts.measured import Measured, measure
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.grouping import group_by
from fairpriv_core.records.release import Kind
from fairpriv_core.text import delta_text, epsilon_text, percent_text


def find_before(settings: Sequence[Chosen[Kind]], references: Sequence[RunFacts[Kind]]) -> Measured | None:
    """Return what plain training came to on the question of `settings`, from `references`; None without such a run."""
    matching = [reference for reference in references if reference.question == settings[0].first.question]
    return measure(matching) if matching else None


def build_summary(settings: Sequence[Chosen[Kind]], beside: ReportData, *, paid: bool) -> Section:
    """Return the headlines, what they say as a figure where it can be drawn, and their reasons."""
    questions = group_by(settings, lambda setting: setting.first.question)  # data, groups, label and notion
    headlines = [_write(own, beside.references) for own in questions.values()]
    before = find_before(settings, beside.references) if len(headlines) == 1 else None
    figure = chosen_trade_off(settings, paid=paid, before=before)
    parts: list[Part] = [
        Text(sentence, strong=True)
        for headline in headlines
        for sentence in (headline.outcome, headline.sentence)
        if sentence
    ]
    parts += [] if figure is None else [figure]
    reasons = [Bullets((*headline.reasons, headline.note)) for headline in headlines]
    return Section("In short", (*parts, *reasons, *([Bullets(beside.origins)] if beside.origins else [])))


def format_privacy(run: RunFacts[Kind]) -> str | None:
    """Return what a proved ε of a run lets an attacker learn, in one or two sentences; None without one."""
    epsilon, sure = run.epsilon, run.epsilon.sure
    if sure is None:
        return None
    what = f"anyone's {run.data.sensitive}" if epsilon.threat_model == "attribute" else "anyone's record"
    ends = "almost certain" if sure > 99 else f"at most {sure} % certain"
    return (
        f"Someone guessing 50:50 can become {ends} of {what}: ε = {epsilon_text(epsilon.proved)}, proved; this can "
        f"fail with a chance of {delta_text(epsilon.delta)}."
    )


def _write(settings: Sequence[Chosen[Kind]], references: Sequence[RunFacts[Kind]]) -> Headline:
    is_single = len(settings) == 1
    numbers = [choice.measure("" if is_single else choice.mark) for choice in settings]
    worst = max(settings, key=lambda choice: choice.first.epsilon.sure or 0)
    constants = [setting.constant for setting in numbers if setting.constant is not None]
    constant = f"The same answer for everybody would be right for {percent_text(constants[0])}." if constants else None
    privacy = format_privacy(worst.first)
    more = [privacy and (privacy if is_single else f"{worst.mark}: {privacy}"), constant]
    return write_headline(numbers, read_about(settings[0].first), before=find_before(settings, references), more=more)
