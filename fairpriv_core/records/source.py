"""Which data a config means: a benchmark by name, or a person's own file, known by its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, NotRequired, TypedDict

from fairpriv_core import checks
from fairpriv_core.data.catalog import own_problems, problems
from fairpriv_core.data.problem import DataJson, DataSpec
from fairpriv_core.data.randomized import find_randomized, mark_answers
from fairpriv_core.data.table_schema import find_compared, from_text, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.faults import ENDINGS
from fairpriv_core.paths import read_path
from fairpriv_core.records.parameters import check_texts


class ConfigJson(TypedDict):
    """The JSON form of `RunConfig`; `method` has its name and every hyper-parameter."""

    data: DataJson
    notion: str
    method: Mapping[str, Any]
    epsilon: float | None
    delta: float
    split: str
    seed: int
    replay_noise: int | None
    file_id: str | None
    private_evaluation: bool
    reuse: str | None
    share_samples: bool
    adviser: NotRequired[int]


#: what a config's data may say
DATA_FIELDS = tuple(item.name for item in fields(DataSpec))


def read_data(raw: Any) -> DataSpec:
    """Return the data that `raw` (a mapping of DataSpec's fields) names; a file's path becomes absolute.

    Where a note beside the file says that a column holds randomised answers, the schema says so from then on, and the
    column is the sensitive attribute unless another is named.

    Raises:
        BadInput: an unknown field or data set, both or neither of data set and file, no label for a file, no sensitive
            attribute, a group ratio that is no number in (0, 1], or a number of rows that is no whole number from 2 on.
    """
    if not isinstance(raw, Mapping | None):
        raise BadInput(f"data must be a table such as dataset = \"adult\", got '{raw}'.", field="data")
    options = {name: value for name, value in (raw or {}).items() if value is not None}
    checks.known_names("data setting", tuple(options), DATA_FIELDS)
    check_texts(DataSpec, options)
    ratio, rows = read_ratio(options.pop("group_ratio", None)), read_rows(options.pop("rows", None))
    texts = {name: str(value) for name, value in options.items()}
    if ("dataset" in texts) == ("file" in texts):
        raise BadInput(f"give either a data set ({', '.join(problems())}) or a file.", field="dataset")
    if "dataset" in texts and texts["dataset"] not in problems():
        choices, name = ", ".join(problems()), texts["dataset"]
        if PurePath(name).suffix.lower() in ENDINGS:
            raise BadInput(f"'{name}' is no data set; a table of your own is a file: --file {name}.", field="dataset")
        raise BadInput(f"unknown data set '{name}'; choose from {choices}.", field="dataset")
    schema = from_text(texts["schema"]) if "schema" in texts else None
    if "file" in texts:
        texts["file"] = str(read_path(texts["file"]))
        schema = mark_answers(Path(texts["file"]), schema)
        answers = find_randomized(schema)
        texts |= {"sensitive": answers.name} if answers is not None and not texts.get("sensitive") else {}
    if not texts.get("sensitive", "").strip():
        raise BadInput("sensitive is not given; name the sensitive attribute (a column, or a+b).", field="sensitive")
    if "file" in texts and not texts.get("label"):
        raise BadInput("label is not given; name the column that is to be predicted.", field="label")
    if schema is not None:
        compared = find_compared(schema, label=texts["label"], sensitive=texts["sensitive"])
        texts["schema"] = to_text(schema, compared=compared)  # it says nothing of what is no feature of this run
    return DataSpec(**texts, group_ratio=ratio, rows=rows)


def find_answers(data: DataJson) -> Column | None:
    """Return the column of randomised answers that a config's data have as sensitive attribute; None without one."""
    return None if data.get("schema") is None else _find_answers(data["schema"] or "")


@lru_cache(maxsize=64)  # thousands of runs share a schema
def _find_answers(schema: str) -> Column | None:
    return find_randomized(from_text(schema))


def find_seed(config: ConfigJson) -> int | None:
    """Return the seed that decides which rows a config (its JSON) trains and tests on; None where none does."""
    is_drawn = config["split"] != "official" or config["data"].get("group_ratio") is not None
    return config["seed"] if is_drawn else None


def name_file(data: DataJson) -> str | None:
    """Return the name, without its folders, of the file in a config's data; None for a benchmark."""
    file = data.get("file")
    return None if file is None else PurePath(file).name


def is_published(data: DataJson) -> bool:
    """Return whether a config's data are rows that everybody can have, so that a digest of them tells nothing.

    Of a person's own file or folder it would confirm a guess of the protected values. Data of another package count as
    such.
    """
    problem = own_problems().get(data.get("dataset") or "")
    return problem is not None and not problem.people


def without_folders(config: ConfigJson) -> ConfigJson:
    """Return a config, JSON, as it leaves the store: with a person's file by its name alone."""
    return {**config, "data": {**config["data"], "file": name_file(config["data"])}}


def name_unit(data: DataJson) -> str:
    """Return whom an epsilon on a config's data protects: a "person", or a "row" where people may have several.

    >>> name_unit({"dataset": "adult"}), name_unit({"file": "a.csv"}), name_unit({"file": "a.csv", "person": "id"})
    ('person', 'row', 'person')
    """
    problem = problems().get(data.get("dataset") or "")
    has_several = data.get("file") is not None or (problem is not None and problem.unit is not None)
    return "row" if has_several and not data.get("person") else "person"


def is_read_from_rows(data: DataJson, threat_model: str | None) -> bool:
    """Return whether an epsilon on a config's data takes as given what its file's rows say of ranges and values.

    Under "attribute" features are public in any case, and pixels have a range of their own.
    """
    if threat_model != "record" or data.get("file") is None or data.get("image") is not None:
        return False
    schema = data.get("schema")
    return schema is None or from_text(schema).values_from == "rows"


def check_file(path: str | None, *, unchanged: bool) -> None:
    """Raise BadInput where a person's file is not the one that a run was set up with."""
    if not unchanged:
        state = "has changed" if Path(path or "").is_file() else "is gone"
        raise BadInput(f"the file {path} {state} since this run was set up; set it up again.", field="file")


def read_ratio(value: Any) -> float | None:
    """Return a group ratio as a number; None stays None, BadInput for what is no number."""
    try:
        if not isinstance(value, bool):
            return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadInput(f"group_ratio must be a number in (0, 1], got '{value}'.", field="group_ratio")


def read_rows(value: Any) -> int | None:
    """Return a number of rows as a whole number; None stays None, BadInput for what is none."""
    try:
        if not isinstance(value, bool | float):
            return None if value is None else int(value)
    except (TypeError, ValueError):
        pass
    raise BadInput(f"rows must be a whole number from 2 on, got '{value}'.", field="rows")
