"""`fairpriv datasets`, `methods`, `notions`, `confirm` and `croissant`: what there is, and what its owners ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field
from typing import Any

import click

from fairpriv_core import checks
from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, print_answer, report, say
from fairpriv_core.cli.terminal import format_catalogue, format_settings
from fairpriv_core.data import catalog as data_catalog
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.croissant import describe_problem
from fairpriv_core.data.download import confirm
from fairpriv_core.data.problem import Problem
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import catalog as method_catalog
from fairpriv_core.methods.base import Method, Parameter, list_sliders, parameters
from fairpriv_core.methods.catalog import find_plugin, methods, name_group
from fairpriv_core.notions import catalog as notion_catalog
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import Notion
from fairpriv_core.plugins import Plugin


@click.command()
@options.json
def datasets(as_json: bool) -> None:
    """List the data sets."""
    print_answer(answer_catalogue("datasets"), as_json)


@click.command("confirm")
@click.argument("dataset")
def confirm_command(dataset: str) -> None:
    """Confirm what the owners of DATASET ask of its users; remembered for you on this machine."""
    say(confirm_terms(dataset))


@click.command("croissant")
@click.argument("dataset")
@click.option("--out", metavar="FILE", help="Write here. Default: to standard output.")
def croissant_command(dataset: str, out: str | None) -> None:
    """Describe the benchmark DATASET as Croissant metadata (JSON-LD): its code book and files, nothing of its rows."""
    checks.known_names("dataset", (dataset,), problems())
    answer = Answer(describe_problem(problems()[dataset]), "")
    report(answer, out, as_json=True)


@click.command("methods")
@click.argument("name", required=False)
@options.json
def methods_command(name: str | None, as_json: bool) -> None:
    """List the methods, or what can be set of the method NAME, the sliders of the page Train first."""
    if name is None:
        print_answer(answer_catalogue("methods"), as_json)
        return
    checks.known_names("method", (name,), methods())
    method = _method_to_json(methods()[name])
    print_answer(Answer(method, format_settings(method)), as_json)


@click.command("notions")
@options.json
def notions_command(as_json: bool) -> None:
    """List the fairness notions."""
    print_answer(answer_catalogue("notions"), as_json)


def confirm_terms(name: str) -> str:
    """Remember that the person confirms what a data set's owners ask; BadInput where nothing is asked."""
    problem = problems().get(name)
    if problem is None or not problem.terms:
        asking = ", ".join(item.name for item in problems().values() if item.terms)
        raise BadInput(f"'{name}' asks for no confirmation; {asking} do.", field="dataset")
    confirm(problem)
    return f"confirmed: {problem.terms}"


def answer_catalogue(name: str) -> Answer:
    """List "datasets", "methods" or "notions"."""
    catalogues: dict[str, tuple[Mapping[str, Any], Callable[[Any], dict[str, object]], Sequence[Plugin]]] = {
        "datasets": (problems(), _problem_to_json, data_catalog.list_plugins()),
        "methods": (methods(), _method_to_json, method_catalog.list_plugins()),
        "notions": (notions(), _notion_to_json, notion_catalog.list_plugins()),
    }
    items, to_json, plugins = catalogues[name]
    entries = [to_json(item) for item in items.values()]
    for plugin in plugins:
        if plugin.fault is not None:
            say(f"Warning: {plugin.fault}")
    return Answer({name: entries}, format_catalogue(entries))


def _problem_to_json(problem: Problem) -> dict[str, object]:
    return {
        "name": problem.name,
        "title": problem.title,
        "summary": problem.summary,
        "citation": problem.citation,
        "licence": problem.licence,
        "labels": [label.column.name for label in problem.labels],
        "positive": [label.positive or None for label in problem.labels],
        "sensitive": list(problem.sensitive),
        "caveats": list(problem.caveats),
        **({"image": list(problem.image), "terms": problem.terms} if problem.image else {}),
    }


def _method_to_json(method: type[Method]) -> dict[str, object]:
    info = method.info
    return {
        "name": info.name,
        "title": info.title,
        "group": name_group(info.name),
        "summary": info.summary,
        "threat_model": info.threat_model,
        "variants": list(info.variants),
        "notions": list(info.notions),
        "pursues_notion": info.pursues_notion,
        "uses_groups": info.uses_groups,
        "needs_group_at_prediction": info.needs_group_at_prediction,
        "max_groups": info.max_groups,
        "max_labels": info.max_labels,
        "citation": info.citation,
        "calibrates": info.calibrates,
        "package": None if (plugin := find_plugin(info.name)) is None else plugin.package,
        "parameters": [
            _parameter_to_json(name, *parameters(method)[name])
            for name in dict.fromkeys((*list_sliders(method), *parameters(method)))
        ],
    }


def _parameter_to_json(name: str, parameter: Parameter, item: Field[Any]) -> dict[str, object]:
    default = None if item.default is MISSING else item.default
    return {
        "name": name,
        "title": parameter.title,
        "help": parameter.help,
        "default": list(default) if isinstance(default, tuple) else default,
        "low": parameter.low,
        "high": parameter.high,
        "choices": list(parameter.choices),
        "paper": parameter.paper,
        "unit": parameter.unit,
        "expert": parameter.expert,
    }


def _notion_to_json(notion: Notion) -> dict[str, object]:
    return {
        "name": notion.name,
        "title": notion.title,
        "citation": notion.citation,
        "sentence": notion.sentence,
        "misleads": notion.misleads,
        "methods": [name for name, method in methods().items() if notion.name in method.info.notions],
    }
