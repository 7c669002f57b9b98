"""What a fairness notion is: a formula over groups, and the words that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairpriv_core.errors import BadInput

#: what a notion compares; see `Notion.compares`
Compares = Literal["decisions", "errors", "labels", "scores", "losses"]
Target = Literal["score", "loss"]
_BOTH = (0, 1)
_GAP = "The gap is the largest difference between two groups, whichever is ahead, in percentage points: 0 is ideal."
_NUMBERS: dict[Compares, str] = {
    "decisions": _GAP,
    "errors": _GAP,
    "labels": _GAP,
    "scores": "The gap is how far chances and shares differ on average in the group where that is most, in percentage "
    "points: 0 is ideal.",
    "losses": "The level is the mean loss of the group where it is largest: 0 is ideal.",
}
_TARGETS: dict[Compares, Target] = {"decisions": "score", "errors": "loss"}
# the share predicted positive among everyone and among the rows of a label, by its key in a record's groups
_RATES = {None: "positive_rate", 1: "true_positive_rate", 0: "false_positive_rate"}


@dataclass(frozen=True)
class Notion:
    """A fairness notion: what is to be the same in every group, or small in each.

    Attributes:
        name: id used in configs and records, such as "demographic_parity".
        title: how a person reads it.
        citation: who defined it.
        sentence: one plain sentence.
        conditions: labels conditioned on, of two; (None,) compares everyone, (0, 1) compares within each label, (0,)
            and (1,) within one alone. See `conditions_among` for more labels. Of one that compares labels they are
            decisions.
        compares: "decisions" and "errors" are rates given labels: of being predicted positive, and of being predicted
            wrongly. "labels" is the rate of the positive label given decisions. All three follow from counts over
            group, label and decision. "scores" holds a group's mean scores against its labels; "losses" is a group's
            mean loss, no gap but a level.
        ask: who is compared and what is to be the same, with "{positive}" and "{groups}".
        misleads: when a small gap says less than it seems to.
        beside_others: whether its gap stands beside that of a run's own notion, whichever that is.
        ask_of_classes: the same of more than two labels, none of which is positive; empty where the notion needs a
            positive one.
    """

    name: str
    title: str
    citation: str
    sentence: str
    conditions: tuple[int | None, ...]
    compares: Compares
    ask: str
    misleads: str
    beside_others: bool = False
    ask_of_classes: str = ""

    @property
    def metric(self) -> str:
        """The key of this notion's gap, or level, in a record's metrics."""
        return self.name if self.is_level else f"{self.name}_gap"

    @property
    def is_level(self) -> bool:
        """Whether its number is a level and no gap: no run aims at it."""
        return self.compares == "losses"

    @property
    def is_rate(self) -> bool:
        """Whether its gap is one of rates, which follow from counts over group, label and decision."""
        return self.compares in ("decisions", "errors", "labels")

    @property
    def number(self) -> str:
        """What its number is, and where it is ideal, in a sentence."""
        return _NUMBERS[self.compares]

    @property
    def target(self) -> Target:
        """The h of a row whose means over groups it compares: the chance of a positive decision, or the loss.

        BadInput unless it `is_of_means`.
        """
        self.require_means()
        return _TARGETS[self.compares]

    @property
    def is_of_means(self) -> bool:
        """Whether it compares means of an h that each row has by itself, given labels.

        Labels among those who are decided alike are none: who is among them depends on all decisions. Nor are scores
        held against labels, nor levels.
        """
        return self.compares in _TARGETS

    def require_means(self) -> None:
        """Raise BadInput unless it `is_of_means`."""
        if not self.is_of_means:
            raise BadInput(f"{self.title.lower()} compares {self.compares}, no means of decisions or errors.")

    @property
    def needs_positive(self) -> bool:
        """Whether it speaks of the positive label, and so of two labels alone."""
        return self.conditions not in ((None,), _BOTH) or self.compares in ("labels", "scores")

    @property
    def populations(self) -> tuple[tuple[int, ...], ...]:
        """Among the rows of which labels, of two, h is compared: for each condition one label, or both for everyone.

        BadInput unless it `is_of_means`.
        """
        self.require_means()
        return tuple(_BOTH if condition is None else (condition,) for condition in self.conditions)

    @property
    def rates(self) -> tuple[str, ...]:
        """The keys of the groups' rates that it compares, of two labels, the positive one's first; () of no rate."""
        if self.compares == "errors":
            return ("accuracy",)
        if self.compares == "labels":
            return ("positive_predictive_value",)
        decided = self.conditions if self.compares == "decisions" else ()
        return tuple(rate for condition, rate in _RATES.items() if condition in decided)

    def conditions_among(self, labels: int) -> tuple[int | None, ...]:
        """Return what it is conditioned on where there are `labels` labels; () where it is undefined."""
        if labels == len(_BOTH):
            return self.conditions
        if self.needs_positive:
            return ()
        return tuple(range(labels)) if self.conditions == _BOTH else self.conditions


def explain(notion: Notion, group_names: Sequence[str], label_names: Sequence[str]) -> str:
    """Say on the user's own data what `notion` compares, in which direction the gap counts, and the ideal value.

    Of two labels the last is the positive one.

    >>> from fairpriv_core.notions.catalog import notions
    >>> explain(notions()["equal_opportunity"], ["Female", "Male"], ["<=50K", ">50K"])[:76]
    "Among people who truly are '>50K', the share predicted '>50K' should be the "
    >>> explain(notions()["demographic_parity"], ["A", "B"], ["young", "middle", "old"])[:57]
    'Every class should be decided equally often for A and B. '
    """
    if len(label_names) > len(_BOTH):
        return _explain_classes(notion, group_names, label_names)
    ask = notion.ask.format(groups=list_names(group_names), positive=label_names[-1])
    return f"{ask} {notion.number}"


def format_undefined(notion: Notion, labels: int) -> str:
    """Say why a notion that needs a positive label says nothing of `labels` labels."""
    return f"{notion.title.lower()} is about the positive label, and of {labels} labels none is positive."


def _explain_classes(notion: Notion, group_names: Sequence[str], label_names: Sequence[str]) -> str:
    if notion.needs_positive:
        sentence = format_undefined(notion, len(label_names))
        return sentence[0].upper() + sentence[1:]
    ask = f"{notion.ask_of_classes.format(groups=list_names(group_names))} {notion.number}"
    if notion.compares != "decisions" or tuple(group_names) != tuple(label_names):
        return ask
    return f"{ask} Here the groups are the classes: the better the decisions, the larger this gap."


def list_names(names: Sequence[str]) -> str:
    """Join names for a sentence, by semicolons where one has a comma; past six, the first five and the rest's number.

    >>> list_names(["Black", "Other", "White"])
    'Black, Other and White'
    >>> list_names(["Female, Black", "Female, White"])
    'Female, Black; and Female, White'
    """
    listing = [str(name) for name in names]
    if len(listing) > 6:
        listing = [*listing[:5], f"{len(listing) - 5} more groups"]
    if len(listing) < 2:
        return "".join(listing)
    comma = any("," in name for name in listing)
    return f"{('; ' if comma else ', ').join(listing[:-1])}{';' if comma else ''} and {listing[-1]}"
