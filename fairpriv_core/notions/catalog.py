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
        compares="decisions",
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
        compares="decisions",
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
        compares="decisions",
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
        compares="decisions",
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
        compares="errors",
        ask="The share of people whose prediction ('{positive}' or not) is right should be the same for {groups}.",
        misleads="Kinds of mistakes cancel: one group may bear the false alarms and another the misses at the same "
        "accuracy.",
        ask_of_classes="The share of people whose class is decided rightly should be the same for {groups}.",
    ),
    Notion(
        name="predictive_parity",
        title="Predictive parity",
        citation="Chouldechova 2017, Fair prediction with disparate impact",
        sentence="Among people who are predicted positive, every group's prediction is equally often right.",
        conditions=(1,),
        compares="labels",
        ask="Among people predicted '{positive}', the share who truly are '{positive}' should be the same for "
        "{groups}.",
        misleads="It does not look at who is left out: one group can be predicted positive far more seldom and the gap "
        "stays 0. Where the groups' shares of positive labels differ, it rules out equalized odds unless every "
        "positive prediction is right.",
    ),
    Notion(
        name="calibration_within_groups",
        title="Calibration within groups",
        citation="Kleinberg, Mullainathan and Raghavan 2016, Inherent trade-offs in the fair determination of risk "
        "scores; Hébert-Johnson et al. 2018, Multicalibration",
        sentence="In every group, of the people given a chance of 70 %, 70 % are truly positive; so for every chance.",
        conditions=(None,),
        compares="scores",
        ask="Of people who are given about the same chance of '{positive}', that share should truly be '{positive}' in "
        "each of {groups}.",
        misleads="Everybody can be given their group's average. In small groups chance alone makes a gap, and where "
        "decisions were moved afterwards the score is no chance any more.",
    ),
    Notion(
        name="worst_group_loss",
        title="Worst group's loss",
        citation="Hashimoto et al. 2018, Fairness without demographics in repeated loss minimization; Sagawa et al. "
        "2020, Distributionally robust neural networks for group shifts",
        sentence="The largest mean loss of a group is as small as can be.",
        conditions=(None,),
        compares="losses",
        ask="The mean loss of predicting '{positive}' or not should be small in each of {groups}.",
        misleads="It says how badly off one group is, not how far groups are apart: a group whose labels are hard to "
        "predict has a large loss under every model.",
        ask_of_classes="The mean loss of predicting a person's class should be small in each of {groups}.",
    ),
)

#: the notion where none was chosen
DEFAULT_NOTION = _NOTIONS[0].name


def notions() -> dict[str, Notion]:
    """Return every notion by name, in the order in which forms show them, those of other packages last."""
    offered = {plugin.name: plugin.found for plugin in list_plugins() if plugin.fault is None}
    return {**{notion.name: notion for notion in _NOTIONS}, **offered}


def notions_of_means() -> dict[str, Notion]:
    """Return the notions that compare means of decisions or errors, given labels, by name."""
    return {name: notion for name, notion in notions().items() if notion.is_of_means}


def list_plugins() -> tuple[plugins.Plugin, ...]:
    """Return what other packages offer as notions, with what is wrong of those that are left out."""
    return plugins.load_plugins(plugins.NOTIONS, [notion.name for notion in _NOTIONS], check_notion)


def list_gaps(name: str) -> list[str]:
    """Return the metrics of the gaps that a run with notion `name` shows: its own, then those that any run does."""
    catalogue = notions()
    shown = [catalogue[name], *(notion for notion in catalogue.values() if notion.beside_others)]
    return list(dict.fromkeys(notion.metric for notion in shown))
