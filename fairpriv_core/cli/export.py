"""`fairpriv export`: a run's record or curves, or a report on one run or several."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import check_folder, say, write_out
from fairpriv_core.data.catalog import problems
from fairpriv_core.documents.chosen import MOST_SETTINGS, Chosen, choose_runs
from fairpriv_core.documents.document import AUDIENCES
from fairpriv_core.documents.forms import OF_STORY, Report, forms_of, open_report, write_image, write_runs
from fairpriv_core.documents.hub import write_hub
from fairpriv_core.documents.report_data import ReportData, gather_report
from fairpriv_core.documents.slides import NO_SLIDES
from fairpriv_core.documents.tracking import log_run
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.finished import list_together
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.facts.tables import run_table
from fairpriv_core.figures.export import ImageFormat
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.ledger.choice import foresee_choice, refuse_choice, withdraw
from fairpriv_core.paths import read_path
from fairpriv_core.records.model import Model
from fairpriv_core.records.onnx_file import write_onnx
from fairpriv_core.records.release import Kind
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.text import write_lines

_OF_A_RUN = ("json", "csv")
_OF_A_MODEL = ("onnx", "hf", "mlflow")
_CHOSEN = ("md", "zip", *OF_STORY)  # these say what was chosen, whoever reads them
_FORMATS = (
    *_OF_A_RUN,
    *_OF_A_MODEL,
    "html",
    "pdf",
    "png",
    "svg",
    "zip",
    "toml",
    "ipynb",
    "md",
    "story",
    "summary",
    "pptx",
)
_HELP = (
    "json: one run's record. csv: one run's curves, or the table of several. html, pdf: the report. png, svg: its "
    "first figure. toml: configs. ipynb: a notebook that repeats the runs. md: model cards. zip: everything. "
    "story: a presentation in HTML, moved by the arrow keys. summary: it on one page of PDF. pptx: it as slides. "
    "onnx: one run's model. hf: a folder with its model and card, as Hugging Face has them. mlflow: an MLflow run."
)
_FOR_WHOM = "Who will read it. Default: analyst, but policy for hf and mlflow."
_TERMS = "the terms of '{}' keep models of it where they were trained; take its record or a report."


@click.command()
@click.argument("keys", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="json", help=_HELP)
@click.option("--audience", type=click.Choice(AUDIENCES), help=_FOR_WHOM)
@click.option("--out", metavar="FILE", help="Write here. Default: to standard output.")
@options.without_epsilon
def export(keys: tuple[str, ...], form: str, audience: Audience | None, out: str | None, without_epsilon: bool) -> None:
    """Take runs away: a record, curves, or a report; for policy with numbers that epsilon covers or that are public."""
    if form in _OF_A_MODEL:
        to = audience or ("analyst" if form == "onnx" else "policy")
        say(_export_model(keys, form, to, out, without_epsilon=without_epsilon))
        return
    check_folder(out)
    content = _make(keys, form, audience or "analyst", without_epsilon=without_epsilon)
    if out is not None:
        write_out(out, content)
    elif sys.stdout.isatty() and b"\0" in content[:1024]:
        raise BadInput(f"{form} is no text for a terminal; name a file with --out.", field="out")
    else:
        click.echo(content, nl=False)


def _gather(store: RunStore, keys: Sequence[str], form: str, audience: Audience, *, anyway: bool) -> ReportData:
    """Return what is told of runs that leave; where raw numbers chose them BadInput, or `anyway` without epsilon."""
    data = gather_report(store, keys)
    if audience == "analyst" and form not in (*_OF_A_MODEL, *_CHOSEN):
        return data
    records = store.records(keys)
    rows = run_table(record.to_json() for record in records.values())  # what ran again is told of once
    folded_keys = [key for row in rows for key in row.keys]
    losses = foresee_choice(store, folded_keys, decided=rows[0].keys if rows and form in OF_STORY else ())
    if losses and anyway:
        withdraw(store, losses)
        return gather_report(store, keys)
    together = form not in (*_OF_A_MODEL, *OF_STORY)
    fit = all(list_together(store, loss.among, max_rows=MOST_SETTINGS) for loss in losses)
    refuse_choice(store, losses, all_leave=together and fit)
    return data


def _make(keys: Sequence[str], form: str, audience: Audience, *, without_epsilon: bool) -> bytes:
    if form in _OF_A_RUN and audience == "analyst" and len(keys) == 1:
        return _export_run(keys[0], form).encode()
    if form == "json":
        raise BadInput(
            "json is one run's record, for the analyst: name one key, or take another format.", field="format"
        )
    with open_store() as store:
        data = _gather(store, keys, form, audience, anyway=without_epsilon)
    return _write_form(open_report(data, audience), form)


def _write_form(report: Report, form: str) -> bytes:
    if form == "csv":
        return write_runs(report.chosen, report.audience).encode()
    if form in ("png", "svg"):
        return write_image(report, cast(ImageFormat, form))
    forms = forms_of(report)
    if form not in forms:
        raise BadInput(NO_SLIDES, field="format")
    return forms[form].make(report, say)


def _export_model(keys: Sequence[str], form: str, audience: Audience, out: str | None, *, without_epsilon: bool) -> str:
    """Write or log one run with its model; return the sentence that says where it is."""
    if len(keys) != 1:
        raise BadInput(f"{form} is of one run's model: name one key, got {len(keys)}.", field="key")
    if (out is None) != (form == "mlflow"):
        advice = "MLFLOW_TRACKING_URI says where" if form == "mlflow" else "name it with --out"
        raise BadInput(
            f"{form} {'takes no --out' if form == 'mlflow' else 'is written to a place'}: {advice}.", field="out"
        )
    with open_store() as store:
        data = _gather(store, keys, form, audience, anyway=without_epsilon)
        (model_run,) = choose_runs(data, audience)
        _require_covered(model_run, audience)
        files = _read_model(store, model_run)
    if form == "mlflow":
        return log_run(model_run, audience, files)
    if form == "hf":
        return _write_folder(str(out), write_hub(model_run, audience, files))
    check_folder(out)
    about = {"key": model_run.first.key, "privacy": model_run.first.epsilon.line}
    write_out(str(out), write_onnx(Model.read(files.__getitem__), about))
    return f"written to {out}: it takes encoded columns, whose names are in its metadata under 'features'"


def _require_covered(run: Chosen[Kind], audience: Audience) -> None:
    """Raise BadInput where a model that no ε covers would leave for policy; one of rows that everybody has may."""
    if audience == "policy" and not (run.first.epsilon.is_covered or run.first.data.published):
        raise BadInput(
            f"run {run.first.key} has no proved ε, and its model was made of your own rows: it is for the "
            "analyst alone (--audience analyst).",
            field="audience",
        )


def _read_model(store: RunStore, run: Chosen[Kind]) -> dict[str, bytes]:
    """Return a model's files; BadInput where the terms of its data keep them here."""
    problem = problems().get(run.first.config["data"]["dataset"] or "")
    if problem is not None and problem.terms:
        raise BadInput(_TERMS.format(problem.name), field="format")
    return Model.read(partial(store.artifact, run.first.key)).write()


def _write_folder(out: str, files: Mapping[str, bytes]) -> str:
    """Write files into a new folder; BadInput for one that holds something already."""
    folder = read_path(out, field="out")
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise BadInput(f"out must be a new folder, or an empty one, got {out}.", field="out")
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise BadInput(f"out cannot be written: {out} ({error.strerror}).", field="out") from error
    return f"written to {out}: {', '.join(files)}"


def _export_run(key: str, form: str) -> str:
    """Return a run's record ("json") or curves ("csv") as text; neither holds anything secret."""
    with open_store() as store:
        if form == "csv":
            return curves_to_csv(store, store.row(key).key)
        record = store.record(store.row(key).key)
    if record is None:
        raise BadInput(f"run {key} has no record yet.", field="key")
    return record.to_text()


def curves_to_csv(store: RunStore, key: str) -> str:
    """Return a run's curves as CSV (step, name, value), under a line that says that they are raw or of public data.

    Beside randomised answers nobody's group is known, so that none is, and there is no such line.
    """
    buffer = io.StringIO()
    if origin := find_origin([store.glance(key).config["data"]]).text:
        buffer.write(f"# {origin}\n")
    write_lines(buffer, ("step", "name", "value"), store.metrics(key))
    return buffer.getvalue()
