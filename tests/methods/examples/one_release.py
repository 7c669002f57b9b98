"""Examples of methods that rest on one release: OneRelease, and thresholds by group."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.group_thresholds import GroupThresholds
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.one_release_local import OneReleaseLocal

EXAMPLES: dict[str, tuple[Method, ...]] = {
    "one_release": (
        OneRelease(epochs=3, batch_size=25, noise_statistic=2.0),
        OneRelease(epochs=2, batch_size=25, hidden_layers=1, width=4, clip=1.0, score_bins=1, noise_statistic=0.5),
        OneRelease(learner="linear", noise_statistic=2.0),
        OneRelease(learner="boosted", score_bins=5, noise_statistic=1.0),
        OneRelease(learner="linear", aim="bound", gap_target=0.1, noise_statistic=1.0),
    ),
    "one_release_local": (
        OneReleaseLocal(learner="linear", response_epsilon=4.0),
        OneReleaseLocal(learner="boosted", score_bins=1, response_epsilon=4.0),
    ),
    "group_thresholds": (
        GroupThresholds(learner="linear", score_bins=5, noise_histogram=2.0),
        GroupThresholds(score_bins=10, noise_histogram=0.5),
    ),
}
