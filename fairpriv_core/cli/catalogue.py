"""`fairpriv datasets`, `methods`, `notions`, `confirm` and `croissant`: what there is, and what its owners ask."""

from __future__ import annotations

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
        asking = ", ".join(each.name for each in problems().values() if each.terms)
        raise BadInput(f"'{name}' asks for no confirmation; {asking} do.", field="dataset")
    confirm(problem)
    return f"confirmed: {problem.terms}"


def answer_catalogue(name: str) -> Answer:
    """List "datasets", "methods" or "notions"."""
    list_entries, list_plugins = {
        "datasets": (list_datasets, data_catalog.list_plugins),
        "methods": (list_methods, method_catalog.list_plugins),
        "notions": (list_notions, notion_catalog.list_plugins),
    }[name]
    entries = list_entries()
    for plugin in list_plugins():
        if plugin.fault is not None:
            say(f"Warning: {plugin.fault}")
    return Answer({name: entries}, format_catalogue(entries))


def list_datasets() -> list[dict[str, object]]:
    """Return each data set's name, title, summary, source, licence, labels, sensitive attributes and caveats."""
    return [_problem_to_json(problem) for problem in problems().values()]


def list_methods() -> list[dict[str, object]]:
    """Return what each method declares, and its parameters with help, default, range and the paper's value."""
    return [_method_to_json(method) for method in methods().values()]


def list_notions() -> list[dict[str, object]]:
    """Return each notion's name, title, citation, sentence, when it misleads, and the methods that support it."""
    return [_notion_to_json(notion) for notion in notions().values()]


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


def _parameter_to_json(name: str, shown: Parameter, item: Field[Any]) -> dict[str, object]:
    default = None if item.default is MISSING else item.default
    return {
        "name": name,
        "title": shown.title,
        "help": shown.help,
        "default": list(default) if isinstance(default, tuple) else default,
        "low": shown.low,
        "high": shown.high,
        "choices": list(shown.choices),
        "paper": shown.paper,
        "unit": shown.unit,
        "expert": shown.expert,
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
