"""The fairness notions. To add one, add an entry; other packages offer theirs (docs/plugins.md)."""

from __future__ import annotations

from fairpriv_core import plugins
from fairpriv_core.notions.declaration import check_notion
from fairpriv_core.notions.notion import Notion

_NOTIONS = (
    Notion(
        name="demographic_parity",
        title="Demographic parity",
        citation="Dwork et al. 2012, Fairness through awareness",
        sentence="Every group is predicted positive equally often.",
        conditions=(None,),
        target="score",
        ask="The share predicted '{positive}' should be the same for {groups}.",
        misleads="It ignores the true label: a small gap can be reached by mistakes in one group, and where the groups "
        "truly differ an exact predictor has a gap.",
        beside_others=True,
        ask_of_classes="Every class should be decided equally often for {groups}.",
    ),
    Notion(
        name="equalized_odds",
        title="Equalized odds",
        citation="Hardt, Price and Srebro 2016, Equality of opportunity in supervised learning",
        sentence="Among people with the same true label, every group is predicted positive equally often.",
        conditions=(0, 1),
        target="score",
        ask="Among people who truly are '{positive}', and also among those who are not, the share predicted "
        "'{positive}' should be the same for {groups}.",
        misleads="It trusts the recorded label: if the labels were unfair, a small gap repeats that. The rates of a "
        "rare label come from few people.",
        beside_others=True,
        ask_of_classes="Among people of the same true class, every class should be decided equally often for {groups}.",
    ),
    Notion(
        name="equal_opportunity",
        title="Equal opportunity",
        citation="Hardt, Price and Srebro 2016, Equality of opportunity in supervised learning",
        sentence="Among people whose true label is positive, every group is predicted positive equally often.",
        conditions=(1,),
        target="score",
        ask="Among people who truly are '{positive}', the share predicted '{positive}' should be the same for "
        "{groups}.",
        misleads="It does not look at false alarms: one group can be wrongly predicted positive far more often and the "
        "gap stays 0.",
    ),
    Notion(
        name="predictive_equality",
        title="Predictive equality",
        citation="Corbett-Davies et al. 2017, Algorithmic decision making and the cost of fairness",
        sentence="Among people whose true label is negative, every group is predicted positive equally often.",
        conditions=(0,),
        target="score",
        ask="Among people who truly are not '{positive}', the share predicted '{positive}' should be the same for "
        "{groups}.",
        misleads="It does not look at misses: one group's positives can be overlooked far more often and the gap "
        "stays 0.",
    ),
    Notion(
        name="accuracy_parity",
        title="Accuracy parity",
        citation="Zafar et al. 2017, Fairness beyond disparate treatment and disparate impact (misclassification rate)",
        sentence="Predictions are equally often right in every group.",
        conditions=(None,),
        target="loss",
        ask="The share of people whose prediction ('{positive}' or not) is right should be the same for {groups}.",
        misleads="Kinds of mistakes cancel: one group may bear the false alarms and another the misses at the same "
        "accuracy.",
        ask_of_classes="The share of people whose class is decided rightly should be the same for {groups}.",
    ),
)

#: the notion where none was chosen
DEFAULT_NOTION = _NOTIONS[0].name


def notions() -> dict[str, Notion]:
    """Return every notion by name, in the order in which forms show them, those of other packages last."""
    offered = {plugin.name: plugin.found for plugin in list_plugins() if plugin.fault is None}
    return {**{notion.name: notion for notion in _NOTIONS}, **offered}


def list_plugins() -> tuple[plugins.Plugin, ...]:
    """Return what other packages offer as notions, with what is wrong of those that are left out."""
    return plugins.load_plugins(plugins.NOTIONS, [notion.name for notion in _NOTIONS], check_notion)


def list_gaps(name: str) -> list[str]:
    """Return the metrics of the gaps that a run with notion `name` shows: its own, then those that any run does."""
    return list(dict.fromkeys([f"{name}_gap", *(each.metric for each in notions().values() if each.beside_others)]))
