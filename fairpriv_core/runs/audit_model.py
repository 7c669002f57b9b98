"""Auditing one trained model with the people it was trained on: membership and attribute inference, for the analyst."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fairpriv_core.audit.inference import (
    MembershipInference,
    advantage_limit,
    describe_answers,
    draw_judged,
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
from fairpriv_core.seeds import public_generator

RAW_ATTACKS = "Computed on the records that the model was trained on, for the analyst: epsilon does not cover it."
_MOST = 4000  # records of a kind that attackers learn from and are judged on
_MOST_PIXELS = 1024


def audit_model(record: RunRecord, files: Mapping[str, bytes], *, seed: int) -> dict[str, Any]:
    """Return what four attack models find out from the answers of a run's model, as JSON.

    Members are the run's training rows, the others its test rows. `attribute` is None where the label, which attackers
    know, is the attribute. Raises BadInput or DataUnavailable where the run's
    data are no longer what they were.
    """
    config = build_config(record.config)
    train, test = split_dataset(load_dataset(config.data), seed=config.seed, split=config.split)
    membership = attack_membership(files, train, test, seed=seed)
    limit = None
    if record.threat_model == "record" and record.epsilon is not None:
        limit = advantage_limit(record.epsilon, record.delta)
    told = train.label_names == train.group_names and np.array_equal(train.y, train.group)
    return {
        "membership": {**asdict(membership), "limit": limit},
        "attribute": None if told else attack_attribute(files, train, seed=seed),
        "note": RAW_ATTACKS,
    }


def attack_membership(files: Mapping[str, bytes], train: Dataset, test: Dataset, *, seed: int) -> MembershipInference:
    """Return how well four attack models tell training rows from test rows by the answers of the model in `files`.

    Where larger groups of the training rows were thinned, so are those of the test rows here: else whoever is of a
    larger group would count as found out. So they are where the published split has its groups in unlike shares.
    """
    if train.group_ratio is not None or train.one_split:
        test = test.take(match_groups(test.group, train.group, public_generator(seed, "membership by group")))
    return infer_membership(_see(files, train), _see(files, test), most=_MOST, seed=seed)


def attack_attribute(files: Mapping[str, bytes], train: Dataset, *, seed: int) -> dict[str, Any]:
    """Return how often four attack models name a training row's group, as JSON.

    They know its features, of large images every so many pixels, and its label.
    """
    part = train.take(draw_judged(train.n, most=2 * _MOST, seed=seed))
    binary = part.labels == TWO
    features = part.X[:, :: math.ceil(part.d / _MOST_PIXELS)] if part.image is not None else part.X
    known = np.hstack([features, part.y[:, None] if binary else np.eye(part.labels)[part.y]])
    answers = _see(files, part)[:, : TWO if binary else 2 * part.labels]  # probabilities and logits
    return {**asdict(infer_attribute(known, answers, part.group, seed=seed)), "sensitive": train.sensitive}


def _see(files: Mapping[str, bytes], part: Dataset) -> np.ndarray:
    """Return what an attacker sees of each row (n, f): the model's scores of the labels, and what follows from them."""
    with np.load(io.BytesIO(files[PARAMETERS]), allow_pickle=False) as stored:
        network = json.loads(files[DESCRIPTION])["network"]
        score = predict_proba(network, stored["parameters"], part.X, part.group)
    return describe_answers(score[:, 1] if part.labels == TWO else score, part.y)
