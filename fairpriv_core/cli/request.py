"""From a command's options, or a file of them, to a config."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from tempfile import TemporaryFile
from typing import Any

from fairpriv_core.cli import options
from fairpriv_core.cli.output import say
from fairpriv_core.data.catalog import DEFAULT_DATA, problems
from fairpriv_core.data.randomized import state_answers
from fairpriv_core.data.table_schema import (
    TableSchema,
    find_compared,
    from_text,
    name_roles,
    pay_for,
    read_schema_file,
    state_cells,
    state_file,
    to_text,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.faults import check_file
from fairpriv_core.files.several import join_files, list_parts, name_joined
from fairpriv_core.paths import read_path, read_text
from fairpriv_core.plain import read_json, read_toml
from fairpriv_core.records.advice import settle_method
from fairpriv_core.records.config import RunConfig, build_config, find_config, pays_itself
from fairpriv_core.records.evidence import Size
from fairpriv_core.records.parameters import read_method_table
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.source import DATA_FIELDS
from fairpriv_core.store.runs import open_store

_METHOD = ("method", "variant", "assignments")
_ASKED = ("protect", "group_at_decision")  # by method auto
_OF_DATA = ("schema", "label", "positive", "person", "image", "unreadable")  # say something of data that are named


def read_request(values: Mapping[str, Any]) -> tuple[RunConfig, Collection[str]]:
    """Return the config that options ask for, on top of the file that `config` names, and the hyper-parameters set.

    `values`: fields of the data and of RunConfig, variant, assignments ("key=value" texts), and the column of `answers`
    that several files state; None where an option was not given. A private evaluation that nobody speaks of is made
    where the run pays for itself. An epsilon among the options, unlike one of the file, needs a private method: nobody
    who asks for privacy is to get a model without it.
    Where neither names data, they are the default ones, and standard error says so. BadInput as `build_config`.
    """
    values = dict(values)
    path, answers = values.pop("config", None), values.pop("answers", None)
    base = _read_config_file(path) if path else {}
    base_data = read_named(base.get("data"))
    base |= {"data": base_data} if base_data else {}
    values = _read_schema(values, base_data.get("schema") if isinstance(base_data, Mapping) else None)
    values |= {} if answers is None else _state_answers(answers, values)
    raw = {**base, **{name: value for name, value in values.items() if value is not None}}
    for name in (*DATA_FIELDS, *_METHOD, *_ASKED):
        raw.pop(name, None)
    if any(value not in (None, ()) for name, value in values.items() if name != "seed"):
        raw.pop("adviser", None)  # it was asked something else
    raw["data"] = settle_data(_over(base.get("data"), {name: values.get(name) for name in DATA_FIELDS}))
    for name, excluded in (("dataset", "file"), ("file", "dataset")):
        if values.get(name) and not values.get(excluded):
            raw["data"].pop(excluded, None)
            raw.pop("file_id", None)
    raw["method"] = read_method_options(base.get("method"), *(values.get(name) for name in _METHOD))
    raw["method"] = _over(raw["method"], {name: values.get(name) for name in _ASKED})
    raw, reasons = settle_method(raw, lambda usual: Size.of(DatasetCache().whole(usual)))
    for reason in reasons:
        say(reason)
    config = build_config(raw)
    if raw.get("private_evaluation") is None:
        config = replace(config, private_evaluation=pays_itself(config))
    if values.get("epsilon") is not None and config.method.info.threat_model is None:
        name = config.method.info.name
        raise BadInput(f"epsilon needs a private method, got '{name}', which adds no noise.", field="epsilon")
    return config, raw["method"].keys()


def settle_data(data: Mapping[str, object], axes: Collection[str] = ()) -> dict[str, object]:
    """Return what is asked of the data, of the default ones where none are named, which standard error says then.

    A sweep may name data, or groups, along its `axes`. BadInput where something is said of data that are not named.
    """
    names = {name for name, value in data.items() if value is not None} | set(axes)
    if names & {"dataset", "file"}:
        return dict(data)
    of_none = next((name for name in _OF_DATA if name in names), None)
    if of_none is not None:
        raise BadInput(f"{of_none} is given, but no data are named: name a data set or your own file.", field="dataset")
    say(f"no data named: {problems()[DEFAULT_DATA['dataset']].title.partition(' (')[0]} (public)")
    usual = {name: value for name, value in DEFAULT_DATA.items() if name not in names}
    return {**data, **usual}


def name_table(files: Sequence[str]) -> str | None:
    """Return the path of the one table that `files` are; several of one shape become an upload of the store's owner.

    So does a folder of Parquet files. None for no file; BadInput, naming file and column, where they are not of one
    shape.
    """
    paths = [read_path(file) for file in files]
    folder = paths[0] if len(paths) == 1 and paths[0].is_dir() else None
    parts = [] if folder is None else list_parts(folder)
    if len(files) < 2 and not parts:
        return next(iter(files), None)
    for path in parts or paths:
        check_file(path)
    names = [path.name if folder is None else path.relative_to(folder).as_posix() for path in parts or paths]
    with ExitStack() as opened, TemporaryFile() as target, open_store() as store:
        sources = zip(names, parts or paths, strict=True)
        join_files([(name, opened.enter_context(path.open("rb"))) for name, path in sources], target)
        target.seek(0)
        name = name_joined(names) if folder is None else f"{folder.name}.zip"
        return str(store.uploads.put(target, name, store.payer).path)


def read_method_options(
    base: Any, method: str | None, variant: str | None, assignments: Sequence[str] | None
) -> dict[str, Any]:
    """Return {"name", hyper-parameters…}; another method than the base's drops the base's hyper-parameters."""
    table = read_method_table(base)
    if method is not None and method != table.get("name"):
        table = {"name": method}
    for text in assignments or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or name.strip() == "name":
            raise BadInput(f"--set takes key=value, such as clip_primal=0.5, got '{text}'.", field="set")
        table[name.strip()] = value.strip()
    return table if variant is None else {**table, "variant": variant}


def _read_config_file(path: str) -> dict[str, object]:
    """Return the mapping in a TOML or JSON file; of a record its config."""
    text = read_text(path, field="config", what="config")
    if not text.lstrip().startswith("{"):
        return read_toml(text)
    document = read_json(text)
    of_record = find_config(document)
    return document if of_record is None else {"private_evaluation": False, **of_record}


def _read_schema(values: Mapping[str, Any], before: Any) -> dict[str, Any]:
    """Return the options with the text of the schema file that they name, and the roles that it states beneath them.

    What they state of the file's form goes into it; without one, into the schema's text `before`, or into a new one.
    """
    values = dict(values)
    share, stated, cells = values.pop("private_schema", None), options.take_stated(values), options.take_cells(values)
    if not values.get("schema") and (stated or cells) and share is None:
        schema = from_text(before) if isinstance(before, str) else TableSchema((), others="guessed")
        schema = state_cells(state_file(schema, stated), cells)
        compared = find_compared(schema, label=values.get("label") or "", sensitive=values.get("sensitive") or "")
        return {**values, "schema": to_text(schema, compared=compared)}
    if not values.get("schema"):
        if share is not None:
            raise BadInput(
                "private_schema measures what a schema leaves open, and none is given: write one with fairpriv schema, "
                "correct it, and name it with --schema.",
                field="private_schema",
            )
        return values
    schema = read_schema_file(read_text(values["schema"], field="schema", what="the schema"))
    schema = state_cells(state_file(schema, stated), cells)
    schema = schema if share is None else pay_for(schema, _read_share(share))
    roles = name_roles(schema)
    if values.get("label") not in (None, roles.get("label")):
        roles.pop("positive", None)
    settings = {**roles, **{name: value for name, value in values.items() if value is not None}}
    compared = find_compared(schema, label=settings.get("label", ""), sensitive=settings.get("sensitive", ""))
    return {**settings, "schema": to_text(schema, compared=compared)}


def _state_answers(answers: Column, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return sensitive and schema of data that are several files, whose notes state randomised `answers`."""
    schema, sensitive = values.get("schema"), values.get("sensitive") or answers.name
    with_answers = state_answers(answers, None if schema is None else from_text(schema))
    compared = find_compared(with_answers, label=values.get("label") or "", sensitive=sensitive)
    return {"sensitive": sensitive, "schema": to_text(with_answers, compared=compared)}


def read_named(data: Any) -> Any:
    """Return what a config's file says of the data; a schema that it names by its file is read, as `--schema` is."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    is_named = isinstance(schema, str) and not schema.lstrip().startswith("{")
    return _read_schema(data, None) if is_named else data


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"private_schema must be a share of epsilon, such as 0.1, got '{text}'.") from None


def _over(base: Any, changes: Mapping[str, object]) -> dict[str, object]:
    return {**(base if isinstance(base, Mapping) else {}), **{k: v for k, v in changes.items() if v is not None}}
