"""Numbers of compared runs: paired tests against a reference, the settings that differ, inequality indices."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.facts.compare import INDICES, Compared, compare, fold_indices
from fairpriv_core.facts.tables import parameter_diff
from fairpriv_core.facts.wording import metric_title, value_text
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.methods.base import parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.stats import Mean
from pages.widgets.shared.names import name_method
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, draw_list, value

#: the titles of a config's own settings
TITLES = {
    "data.dataset": "Data set",
    "data.file": "File",
    "data.label": "Label",
    "data.positive": "Positive label",
    "data.sensitive": "Sensitive attribute",
    "data.group_ratio": "Group ratio of the training rows",
    "data.rows": "Rows that are used",
    "data.encoding": "Encoding",
    "notion": "Fairness notion",
    "method.name": "Method",
    "method.variant": "Accounting",
    "epsilon": "Privacy budget ε",
    "delta": "δ",
    "split": "Split",
    "seed": "Seed",
    "replay_noise": "Noise repeated from",
    "file_id": "Content of the file",
    "private_evaluation": "Private evaluation",
    "reuse": "Release of run",
    "share_samples": "Samples shared in the sweep",
}
_TESTED = (
    "Both tests are two-sided, over the seeds that both runs have. They are not corrected for several comparisons, and "
    "say nothing about other data."
)


def show_tests(settings: Sequence[Compared]) -> None:
    """Draw the paired comparison of each run with the one that the person chooses, for accuracy and gap."""
    st.header("Against a reference, seed by seed", anchor=False)
    labels = {setting.row.keys[0]: setting.label for setting in settings}
    first = {key: setting.row.keys[0] for setting in settings for key in setting.row.keys}
    if first.get(value("reference"), "") not in ("", value("reference")):  # a link names any seed of its row
        choose("reference", first[value("reference")])
    reference_key = draw_list("reference", "Reference", labels, labels.__getitem__)
    [reference] = [setting for setting in settings if setting.row.keys[0] == reference_key]
    rivals = [setting for setting in settings if setting is not reference]
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in compare(rivals, reference)))
    st.caption(_TESTED)


def show_differences(settings: Sequence[Compared]) -> None:
    """Draw the settings in which the runs differ, each with its title."""
    st.header("What differs", anchor=False)
    values_by_name = parameter_diff([setting.runs[0].config for setting in settings])
    titles = _list_titles(settings)
    table = [
        {
            "setting": titles.get(name, name),
            **{
                setting.letter: name_method(str(item)) if name == "method.name" else value_text(item)
                for setting, item in zip(settings, values, strict=True)
            },
        }
        for name, values in values_by_name.items()
    ]
    if table:
        alt = "Only the settings in which the runs differ."
        st.dataframe(table, key="difference_table", hide_index=True, height="content", alt=alt)
    else:
        st.caption("Nothing: these runs have the same settings.")


def show_indices(settings: Sequence[Compared]) -> None:
    """Draw the inequality indices over the groups' accuracies, with formula and source, where a run has one."""
    indices_by_setting = [fold_indices(setting.runs) for setting in settings]
    if all(mean.mean is None for indices in indices_by_setting for mean in indices.values()):
        return
    st.header("Inequality of the groups' accuracy", anchor=False)
    table = [
        {
            "index": metric_title(name),
            **{
                setting.letter: _show_mean(indices[name])
                for setting, indices in zip(settings, indices_by_setting, strict=True)
            },
            "formula": formula,
            "source": source,
        }
        for name, (formula, source) in INDICES.items()
    ]
    st.dataframe(
        table, key="index_table", hide_index=True, alt="Inequality indices of each run, 0 where all are equal."
    )
    st.caption(
        "0 means equal accuracy in every group. v is a group's accuracy, m the mean over the k groups. Times "
        f"1,000, mean ± 95 % over seeds.{plain(find_origin_of_rows(setting.row for setting in settings).brief)} "
        "The paper of FairDP with adaptive clipping uses them (appendix D.4)."
    )


def _list_titles(settings: Sequence[Compared]) -> dict[str, str]:
    """Return the title of each setting by its name; a method's parameter has the method's own."""
    kinds = [methods()[setting.row.method] for setting in settings if setting.row.method in methods()]
    own = {f"method.{name}": parameter.title for kind in kinds for name, (parameter, _) in parameters(kind).items()}
    return own | TITLES


def _show_mean(mean: Mean) -> str:
    if mean.mean is None:
        return "–"
    return f"{1000 * mean.mean:.2f}" + ("" if mean.half is None else f" ± {1000 * mean.half:.2f}")
