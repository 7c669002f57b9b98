"""What a person asked for, as a value: data, notion, method, budget, split and seeds. Its `key` names the run.

Where rows are images the network is a convolutional one, unless another is named. Free of torch.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from fairpriv_core import checks
from fairpriv_core.data.catalog import default_split, problems
from fairpriv_core.data.dataset import SPLITS, Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.networks import FOR_IMAGES, MLP, AnyShape, build_network
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.methods.base import FitsAlone, Method, parameters
from fairpriv_core.methods.catalog import methods, why_unproved
from fairpriv_core.methods.fields import count_outputs, network_of
from fairpriv_core.notions.catalog import notions
from fairpriv_core.plain import check_plain, write_toml
from fairpriv_core.records.parameters import check_texts, method_to_json, noise_is_set, read_method, read_plain
from fairpriv_core.records.source import ConfigJson, find_answers, read_data

DEFAULT_DELTA = 1e-5
_MOST_DIGITS = 20  # of a seed that is written as text; no seed is as long
OF_MLP = ("hidden_layers", "width")  # what a network of another kind has no use for


@dataclass(frozen=True)
class RunConfig:
    """A run, before it runs. Build it with `build_config`, which checks every field.

    Attributes:
        data: which data set or file, label and sensitive attribute.
        notion: name of the fairness notion that is enforced and reported first; may be left out where the method
            pursues none.
        method: the method with its hyper-parameters, before calibration.
        epsilon: the budget; None for a method that is not private, or whose noise is set by hand.
        delta: in (0, 1).
        split: "rows", "stratified", "people" (75/25 from `seed`, by the rows' numbers, by label, by whose the rows are)
            or "official".
        seed: public; drives split, initialisation and public batches, never noise.
        replay_noise: None, or the number from which the noise can be repeated exactly; such a run has no epsilon.
        file_id: what the store calls the content of a person's own file, at random, so that the key follows the content
            and tells nothing of it; None where no store has named it.
        reuse: None, or the key of a run in the same store whose release the method uses in place of one of its own.
        private_evaluation: whether fairness on the test split is released too, with noise and within the budget.
        share_samples: whether runs that train together on one split draw the same secret samples, which is faster, and
            so dear if several of them are released that it is for results that stay with the analyst.
        adviser: the version of the adviser that chose the method (records/advice.py); None where a person did.
    """

    data: DataSpec
    notion: str
    method: Method
    epsilon: float | None
    delta: float = DEFAULT_DELTA
    split: str = "rows"
    seed: int = 0
    replay_noise: int | None = None
    file_id: str | None = None
    private_evaluation: bool = False
    reuse: str | None = None
    share_samples: bool = False
    adviser: int | None = None

    @property
    def key(self) -> str:
        """16 hex digits that depend on what is asked alone, on a benchmark the same on every machine."""
        return name_config(self.to_json())

    def to_json(self) -> ConfigJson:
        """Return the JSON form; `build_config` reads it back. It names an adviser where one chose."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.adviser is None:
            del plain["adviser"]
        return cast(ConfigJson, {**plain, "data": self.data.to_json(), "method": method_to_json(self.method)})

    def to_toml(self) -> str:
        """Return the TOML form; `build_config(read_toml(text))` reads it back. What is not set is left out."""
        plain = self.to_json()
        usual = {name: field.default for name, (_, field) in parameters(self.method).items()}
        emptied = {name: "none" for name, default in usual.items() if plain["method"][name] is None is not default}
        return write_toml({**plain, "method": {**plain["method"], **emptied}})


_SETTINGS = tuple(item.name for item in fields(RunConfig))


def name_config(asked: ConfigJson) -> str:
    """Return `RunConfig.key` of a config's JSON form, which says every setting."""
    plain: dict[str, Any] = dict(asked)
    if plain["file_id"] is not None:  # where a person's file lies is no part of it
        plain["data"] = {**plain["data"], "file": None}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_config(document: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the config that a record's JSON has; None of another document, such as a config's own."""
    config = document.get("config")
    return config if isinstance(config, Mapping) else None


def build_config(raw: Mapping[str, Any], *, data: DataSpec | None = None) -> RunConfig:
    """Return the config that `raw` asks for, in the form that `RunConfig.to_json` writes; texts are understood.

    `method` is a name, or {"name": …, parameters…}. A person's file has the `file_id` that is given; a store names one
    that has none. `data` is for rows that are in memory already, and stands in place of what `raw` would say of them.
    Where rows are images and no network is named, it is a convolutional one.

    Raises:
        BadInput: with the field's name, its value and what would be right.
    """
    check_plain(raw)
    checks.known_names("setting", tuple(raw), _SETTINGS)
    check_texts(RunConfig, raw)
    settings = {name: value for name, value in raw.items() if value is not None}
    method = read_method(settings.get("method"))
    data = data or read_data(settings.get("data"))
    method = choose_network(method, settings.get("method"), data)
    reuse = _read_reuse(settings.get("reuse"), method)
    answers = find_answers(data.to_json())
    if answers is not None:
        _check_beside(answers, {**settings, "group_ratio": data.group_ratio})
    return RunConfig(
        data=data,
        notion=_read_notion(settings.get("notion"), method),
        method=method,
        epsilon=read_epsilon(settings.get("epsilon"), method, reuse=reuse, answers=answers),
        delta=read_delta(settings.get("delta", DEFAULT_DELTA)),
        split=_read_split(settings.get("split"), data.dataset),
        seed=_read_whole("seed", settings.get("seed", 0)),
        replay_noise=_read_whole("replay_noise", settings["replay_noise"]) if "replay_noise" in settings else None,
        file_id=None if settings.get("file_id") is None else str(settings["file_id"]),
        private_evaluation=_read_evaluation(settings.get("private_evaluation", False), method) and answers is None,
        reuse=reuse,
        share_samples=_read_sharing(settings.get("share_samples", False), method),
        adviser=_read_whole("adviser", settings["adviser"]) if "adviser" in settings else None,
    )


def _read_notion(name: Any, method: Method) -> str:
    if name is None and not method.info.pursues_notion:
        return method.info.notions[0]  # only what is reported first
    if name is None:
        raise BadInput(f"notion is not given; choose from {', '.join(notions())}.", field="notion")
    if name not in notions():
        raise BadInput(f"unknown notion '{name}'; choose from {', '.join(notions())}.", field="notion")
    supported, why = method.info.notions, f"method '{method.info.name}' does not support notion '{name}'"
    if notions()[name].is_level:
        why = f"notion '{name}' is a level, no gap: every run measures it, and none can be asked for it"
    if name not in supported:
        raise BadInput(f"{why}; choose from {', '.join(supported)}.", field="notion")
    return str(name)


def _check_beside(answers: Column, settings: Mapping[str, object]) -> None:
    """Raise BadInput for a setting that would draw noise, or take groups as true, beside randomised answers.

    A private evaluation is made of the answers: none is drawn beside, whether or not it is asked for.
    """
    names = [name for name in ("replay_noise", "reuse", "group_ratio") if settings.get(name) is not None]
    if names:
        raise BadInput(
            f"{names[0]} does not go with randomised answers: '{answers.name}' was answered before the run, which "
            "releases nothing more and measures gaps by the answers.",
            field=names[0],
        )


def read_epsilon(
    value: Any, method: Method, *, reuse: str | None = None, answers: Column | None = None
) -> float | None:
    """Return the budget; a method that is not private has none, whatever was given. BadInput where it cannot be.

    A run that uses the release of the run `reuse` has none either: its epsilon is what that release cost. That of a
    private run on randomised `answers` is theirs.
    """
    budget = None if value is None else read_plain("epsilon", value, float)
    if answers is not None and method.info.threat_model is not None:
        price = sum(answers.randomized)
        if budget is not None and budget < price and not math.isclose(budget, price):  # 0.1 + 0.2 > 0.3
            raise BadInput(
                f"epsilon must be {price:g} or more, or left out, got {budget:g}: the answers of '{answers.name}' have "
                "spent that.",
                field="epsilon",
            )
        budget = price
    if reuse is not None:
        if budget is not None:
            raise BadInput(
                f"epsilon and reuse exclude each other: run {reuse} has spent its epsilon already.", field="epsilon"
            )
        return None
    if budget is not None:
        checks.positive(epsilon=budget)
    name, noise = method.info.name, method.info.calibrates
    if method.info.threat_model is None:
        return None
    if budget is not None and noise_is_set(method):
        raise BadInput(f"epsilon and {noise} exclude each other: epsilon sets {noise}.", field="epsilon")
    if budget is None and not noise_is_set(method):
        by_hand = f", or set {noise} by hand" if noise else ""
        raise BadInput(f"epsilon is not given: method '{name}' needs a number > 0{by_hand}.", field="epsilon")
    return budget


def _read_reuse(value: Any, method: Method) -> str | None:
    """Return the key of the run whose release is used again; BadInput where the method has none, or sets it anew."""
    if value is None:
        return None
    name, reused = method.info.name, method.info.reuses
    if not reused:
        able = ", ".join(method_name for method_name, kind in methods().items() if kind.info.reuses)
        raise BadInput(f"method '{name}' makes no release that another run can use; {able} does.", field="reuse")
    defaults = {item.name: item.default for item in fields(method)}
    clash = next((item for item in reused if getattr(method, item) != defaults[item]), None)
    if clash is not None:
        raise BadInput(f"{clash} and reuse exclude each other: the release of run {value} has its own.", field=clash)
    return str(value)


def read_delta(value: Any) -> float:
    """Return delta as a number; BadInput outside (0, 1)."""
    delta: float = read_plain("delta", value, float)
    checks.open_unit(delta=delta)
    return delta


def _read_split(value: Any, dataset: str | None) -> str:
    split = default_split(dataset) if value is None else str(value)
    checks.one_of(SPLITS, split=split)
    return split


def _read_whole(name: str, value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS else value
    checks.whole(low=0, high=2**31 - 1, **{name: number})
    return int(number)


def _read_evaluation(value: Any, method: Method) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"private_evaluation must be true or false, got '{value}'.", field="private_evaluation")
    if value and method.info.threat_model is None:
        raise BadInput(
            f"private_evaluation needs a private method, got '{method.info.name}', which adds no noise.",
            field="private_evaluation",
        )
    return bool(value)


def pays_itself(config: RunConfig) -> bool:
    """Return whether a run pays a proved epsilon of its own, within which a private evaluation costs it no more.

    Commands, sweeps and forms ask for one then where nobody says anything of it. A config's own default is off.
    """
    answered = find_answers(config.data.to_json()) is not None  # these say what an evaluation would
    proved = config.replay_noise is None and why_unproved(config.method) is None
    return config.epsilon is not None and proved and not answered


def draws_samples(method: Method) -> bool:
    """Return whether a method trains several models in one loop in which each draws secret samples."""
    return method.info.threat_model is not None and hasattr(method, "rate") and not isinstance(method, FitsAlone)


def _read_sharing(value: Any, method: Method) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"share_samples must be true or false, got '{value}'.", field="share_samples")
    if value and not draws_samples(method):
        raise BadInput(
            f"share_samples needs a method that draws secret samples, got '{method.info.name}'.", field="share_samples"
        )
    return value


def has_images(data: DataSpec) -> bool:
    """Return whether the rows of `data` are images."""
    problem = problems().get(data.dataset or "")
    return data.image is not None or (problem is not None and problem.image is not None)


def format_network(config: ConfigJson) -> str:
    """Return how a config's JSON names its network behind other words; "" without one, and for a table's usual mlp.

    >>> format_network({"data": {"dataset": "adult", "sensitive": "sex"}, "method": {"network": "mlp"}})
    ''
    >>> format_network({"data": {"dataset": "utkface", "sensitive": "race"}, "method": {"network": "cnn_small"}})
    ', network cnn_small'
    """
    network = config["method"].get("network")
    usual = network is None or (network == MLP and not has_images(DataSpec(**config["data"])))
    return "" if usual else f", network {network}"


def choose_network(method: Method, raw: Any, data: DataSpec) -> Method:
    """Return the method with the network that suits `data`, where `raw` (see `read_method`) names none.

    BadInput where settings of an mlp come with a network that has layers of its own.
    """
    table = raw if isinstance(raw, Mapping) else {}
    with_network: Any = method
    if has_images(data) and "network" in parameters(method) and table.get("network") is None:
        with_network = replace(with_network, network=FOR_IMAGES)
    network = network_of(with_network)
    for name, (_, field) in parameters(method).items():
        if network != MLP and name in OF_MLP and getattr(method, name) != field.default:
            raise BadInput(
                f"{name} is of network {MLP}, and {network} has layers of its own: leave it out, or set network={MLP}.",
                field="network",
            )
    result: Method = with_network
    return result


def build_shape(method: Method, data: Dataset) -> AnyShape:
    """Return the network that `method` trains on `data`, which may be without `X`; BadInput where it does not fit."""
    size = {name: int(getattr(method, name, 0)) or low for name, low in zip(OF_MLP, (0, 1), strict=True)}
    outputs = count_outputs(method.info, data.labels)
    return build_network(network_of(method), data.image, inputs=data.features, outputs=outputs, **size)
