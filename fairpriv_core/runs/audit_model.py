"""Auditing one trained model with the people it was trained on: membership and attribute inference, for the analyst."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fairpriv_core.audit.inference import (
    MembershipInference,
    advantage_limit,
    describe_answers,
    infer_attribute,
    infer_membership,
)
from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.thin import match_groups
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.notions.rates import TWO
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.source import check_file
from fairpriv_core.seeds import public_generator

RAW_ATTACKS = "Computed on the records that the model was trained on, for the analyst: epsilon does not cover it."
_MOST = 4000  # records of a kind that attackers learn from and are judged on


def audit_model(record: RunRecord, files: Mapping[str, bytes], *, seed: int) -> dict[str, Any]:
    """Return what four attack models find out from the answers of a run's model, as JSON.

    Members are the run's training rows, the others its test rows. Raises BadInput or DataUnavailable where the run's
    data are no longer what they were.
    """
    config = build_config(record.config)
    check_file(config.data.file, config.file_sha256)
    train, test = split_dataset(load_dataset(config.data), seed=config.seed, split=config.split)
    binary = train.labels == TWO
    known = np.hstack([train.X, train.y[:, None] if binary else np.eye(train.labels)[train.y]])
    membership = attack_membership(files, train, test, seed=seed)
    answers = _see(files, train)[:, : TWO if binary else 2 * train.labels]  # probabilities and logits
    attribute = infer_attribute(known, answers, train.group, most=2 * _MOST, seed=seed)
    limit = None
    if record.threat_model == "record" and record.epsilon is not None:
        limit = advantage_limit(record.epsilon, record.delta)
    return {
        "membership": {**asdict(membership), "limit": limit},
        "attribute": {**asdict(attribute), "sensitive": train.sensitive},
        "note": RAW_ATTACKS,
    }


def attack_membership(files: Mapping[str, bytes], train: Dataset, test: Dataset, *, seed: int) -> MembershipInference:
    """Return how well four attack models tell training rows from test rows by the answers of the model in `files`.

    Where larger groups of the training rows were thinned, so are those of the test rows here: else whoever is of a
    larger group would count as found out.
    """
    if train.group_ratio is not None:
        test = test.take(match_groups(test.group, train.group, public_generator(seed, "membership by group")))
    return infer_membership(_see(files, train), _see(files, test), most=_MOST, seed=seed)


def _see(files: Mapping[str, bytes], part: Dataset) -> np.ndarray:
    """Return what an attacker sees of each row (n, f): the model's scores of the labels, and what follows from them."""
    with np.load(io.BytesIO(files[PARAMETERS]), allow_pickle=False) as stored:
        network = json.loads(files[DESCRIPTION])["network"]
        score = predict_proba(network, stored["parameters"], part.X, part.group)
    return describe_answers(score[:, 1] if part.labels == TWO else score, part.y)
