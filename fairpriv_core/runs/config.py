"""What a person asked for, as a value: data, notion, method, budget, split and seeds. Its `key` names the run."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fairpriv_core import checks
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.runs.parameters import build_method, method_to_json, noise_is_set

DEFAULT_DELTA = 1e-5
SPLITS = ("protocol", "official")
_DATA_NAMES = tuple(item.name for item in fields(DataSpec))


@dataclass(frozen=True)
class RunConfig:
    """A run, before it runs. Build it with `build_config`, which checks every field.

    Attributes:
        data: which data set or file, label and sensitive attribute.
        notion: name of the fairness notion that is enforced and reported first.
        method: the method with its hyper-parameters, before calibration.
        epsilon: the budget; None for a method that is not private, or whose noise is set by hand.
        delta: in (0, 1).
        split: "protocol" (75/25 from `seed`) or "official".
        seed: public; drives split, initialisation and public batches, never noise.
        replay_noise: None, or the number from which the noise can be repeated exactly; such a run has no epsilon.
        file_sha256: of a user's own file, so that the key follows the file's content and not its place.
    """

    data: DataSpec
    notion: str
    method: Method
    epsilon: float | None
    delta: float = DEFAULT_DELTA
    split: str = "protocol"
    seed: int = 0
    replay_noise: int | None = None
    file_sha256: str | None = None

    @property
    def key(self) -> str:
        """16 hex digits that depend on what is asked alone, the same on every machine."""
        asked = self.to_json()
        if self.file_sha256 is not None:
            asked["data"] = {**asked["data"], "file": None}
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; `build_config` reads it back to an equal config."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**plain, "data": asdict(self.data), "method": method_to_json(self.method)}

    def to_toml(self) -> str:
        """Return the TOML form that `read_toml` reads; what is not set is left out."""
        return write_toml(self.to_json())


def build_config(raw: Mapping[str, Any]) -> RunConfig:
    """Return the config that `raw` asks for, in the form that `RunConfig.to_json` writes; texts are understood.

    `method` is a name, or {"name": …, parameters…}. A user's file is hashed unless `file_sha256` is given.

    Raises:
        BadInput: with the field's name, its value and what would be right.
    """
    known = tuple(item.name for item in fields(RunConfig))
    checks.known_names("setting", tuple(raw), known)
    given = {name: value for name, value in raw.items() if value is not None}
    method = _read_method(given.get("method"))
    notion = _read_notion(given.get("notion"), method)
    data = _read_data(given.get("data"))
    return RunConfig(
        data=data,
        notion=notion,
        method=method,
        epsilon=_read_epsilon(given.get("epsilon"), method),
        delta=_read_delta(given.get("delta", DEFAULT_DELTA)),
        split=_read_split(given.get("split", "protocol")),
        seed=_read_seed("seed", given.get("seed", 0)),
        replay_noise=_read_seed("replay_noise", given["replay_noise"]) if "replay_noise" in given else None,
        file_sha256=given.get("file_sha256") or hash_file(data.file),
    )


def read_toml(text: str) -> dict[str, Any]:
    """Return the raw mapping of a TOML config; BadInput where it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the config is not valid TOML: {error}.", field="config") from error


def write_toml(plain: Mapping[str, Any]) -> str:
    """Return `plain` (values and one level of tables) as TOML; None is left out."""
    own = {name: value for name, value in plain.items() if not isinstance(value, Mapping)}
    lines = [f"{name} = {_toml_value(value)}" for name, value in own.items() if value is not None]
    for name, table in plain.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]"]
            lines += [f"{item} = {_toml_value(value)}" for item, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def hash_file(path: str | None) -> str | None:
    """Return the SHA-256 of a user's file; None where there is none to read."""
    if path is None or not Path(path).is_file():
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_method(raw: Any) -> Method:
    named = {"name": raw} if isinstance(raw, str) else dict(raw or {})
    name = named.pop("name", None)
    if name is None:
        raise BadInput(f"method is not given; choose from {', '.join(methods())}.", field="method")
    _check_known("method", name, methods())
    return build_method(methods()[name], named)


def _read_notion(name: Any, method: Method) -> str:
    if name is None:
        raise BadInput(f"notion is not given; choose from {', '.join(notions())}.", field="notion")
    _check_known("notion", name, notions())
    supported = method.info.notions
    if name not in supported:
        raise BadInput(
            f"method '{method.info.name}' does not support notion '{name}'; choose from {', '.join(supported)}.",
            field="notion",
        )
    return str(name)


def _read_data(raw: Any) -> DataSpec:
    given = {name: value for name, value in dict(raw or {}).items() if value is not None}
    checks.known_names("data setting", tuple(given), _DATA_NAMES)
    if ("dataset" in given) == ("file" in given):
        raise BadInput(f"give either a data set ({', '.join(problems())}) or a file.", field="dataset")
    if "dataset" in given:
        _check_known("data set", given["dataset"], problems(), field="dataset")
    else:
        given["file"] = str(Path(given["file"]).expanduser().resolve())
        if not given.get("label"):
            raise BadInput("label is not given; name the column that is to be predicted.", field="label")
    if not given.get("sensitive"):
        raise BadInput("sensitive is not given; name the sensitive attribute (a column, or a+b).", field="sensitive")
    texts = {name: str(given[name]) if name in given else None for name in _DATA_NAMES}
    return DataSpec(**texts)  # type: ignore[arg-type]


def _read_epsilon(value: Any, method: Method) -> float | None:
    if value is not None:
        checks.positive(epsilon=_number("epsilon", value))
    if method.info.threat_model is None:
        return None
    field = method.info.calibrates
    by_hand = noise_is_set(method)
    if value is not None and by_hand:
        raise BadInput(f"epsilon and {field} exclude each other: {field} is calibrated to epsilon.", field="epsilon")
    if value is None and not by_hand:
        hand = f", or set {field} by hand" if field else ""
        raise BadInput(
            f"epsilon is not given; method '{method.info.name}' is private: give a number > 0{hand}.", field="epsilon"
        )
    return None if value is None else _number("epsilon", value)


def _read_delta(value: Any) -> float:
    delta = _number("delta", value)
    checks.open_unit(delta=delta)
    return delta


def _read_split(value: Any) -> str:
    checks.one_of(SPLITS, split=value)
    return str(value)


def _read_seed(name: str, value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    checks.whole(low=0, high=2**63 - 1, **{name: number})
    return int(number)


def _number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise BadInput(f"{name} must be a number, got '{value}'.", field=name)


def _check_known(what: str, name: Any, known: Mapping[str, object], *, field: str | None = None) -> None:
    if name not in known:
        raise BadInput(f"unknown {what} '{name}'; choose from {', '.join(known)}.", field=field or what)
