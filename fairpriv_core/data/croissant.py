"""A benchmark as Croissant metadata, JSON-LD that search engines and loaders of data sets read (MLCommons, 1.0).

It says what the code book declares: files with their checksums, columns, categories and ranges, what is predicted,
which columns are sensitive, what to beware of. Nothing is read from a row, so there is none of a person's own file.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from fairpriv_core.data.problem import Problem, Source
from fairpriv_core.files.column import Column

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "sc": "https://schema.org/",
    "source": "cr:source",
}
_FORMATS = {
    "text": "text/csv",
    "workbook": "application/vnd.ms-excel",
    "parquet": "application/x-parquet",
    "idx": "application/octet-stream",
}


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Return a benchmark's Croissant description; of alternatives the first edition's files."""
    sources = problem.editions[0] if problem.editions else ()
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": problem.name,
        "alternateName": problem.title,
        "description": problem.summary,
        "license": problem.licence,
        "citeAs": problem.citation,
        **({"usageInfo": problem.terms} if problem.terms else {}),
        "distribution": [file for source in sources for file in _describe_source(source)],
        "recordSet": [_describe_rows(problem, sources)],
        "rai:personalSensitiveInformation": list(dict.fromkeys(_name_sensitive(problem))),
        "rai:dataBiases": list(problem.caveats),
    }


def _describe_source(source: Source) -> list[dict[str, Any]]:
    """Return a file, and the archive before it that it lies in."""
    name = PurePosixPath(source.path).name
    file = {"@type": "cr:FileObject", "name": name, "encodingFormat": _FORMATS[source.layout.kind]}
    if source.member is None:
        return [{"@id": source.path, **file, "contentUrl": source.url, "sha256": source.sha256}]
    archive = {
        "@type": "cr:FileObject",
        "@id": source.url,
        "name": PurePosixPath(source.url).name,
        "encodingFormat": "application/zip",
        "contentUrl": source.url,
        "sha256": source.archive_sha256,
    }
    inside = {"contentUrl": source.member, "containedIn": {"@id": source.url}, "sha256": source.sha256}
    return [archive, {"@id": source.path, **file, **inside}]


def _describe_rows(problem: Problem, sources: tuple[Source, ...]) -> dict[str, Any]:
    labels = {label.column.name for label in problem.labels}
    columns = [_describe_column(column, column.name in labels, sources) for column in problem.columns.values()]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": columns}


def _describe_column(column: Column, label: bool, sources: tuple[Source, ...]) -> dict[str, Any]:
    role = "What is predicted. " if label else ""
    if column.is_quantity:
        kind, says = "sc:Float", f"{role}Taken within {column.low:g} to {column.high:g}."
    else:
        kind, says = "sc:Text", f"{role}One of: {'; '.join(column.categories)}."
    field = {"@type": "cr:Field", "@id": f"rows/{column.name}", "name": column.name, "description": says}
    if not sources or sources[0].layout.kind == "idx":
        return {**field, "dataType": kind}
    written = {own: name for name, own in sources[0].layout.rename}.get(column.name, column.name)
    source = {"fileObject": {"@id": sources[0].path}, "extract": {"column": written}}
    return {**field, "dataType": kind, "source": source}


def _name_sensitive(problem: Problem) -> list[str]:
    return [part.partition(":")[0] for text in problem.sensitive for part in text.split("+")]
