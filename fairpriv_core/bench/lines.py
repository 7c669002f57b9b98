"""Result lines: one a fit, or one a claimed set of decisions. A Parquet file with a schema keeps them.

Whoever adds lines says under which name. Files are joined by reading several: of two lines of one entry, task, notion,
budget and seed the later file's stands, but of this project's own entries the earlier one's, which is what ships.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from fairpriv_core.bench.suite import Suite, read_suite
from fairpriv_core.data.croissant import CONTEXT
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.aim import Verdict
from fairpriv_core.facts.measures import Measures
from fairpriv_core.facts.mixing import measure_margin
from fairpriv_core.methods.catalog import find_plugin, methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.noisy import find_apart
from fairpriv_core.plugins import NAME

KEPT = Path(__file__).with_name("results.parquet")
#: beside it: what the file is, for whoever loads it
DESCRIBED = Path(__file__).with_name("results.croissant.json")
Line = dict[str, object]
#: who runs the methods that ship, and whose decisions were made elsewhere
OURS, OUTSIDE = "fairpriv", "outside"
#: each column: its type, and what it says
COLUMNS: Mapping[str, tuple[str, str]] = {
    "suite": ("category", "version of the suite"),
    "task": ("category", "task of the suite"),
    "notion": ("category", "fairness notion that was pursued, and whose gap is told"),
    "method": ("category", "name of the entry: a method of the catalogue, or what outsiders call theirs"),
    "author": ("category", "whose entry it is: fairpriv, a package with its version, or outside"),
    "kind": ("category", "run: trained by the suite; claimed: decisions that others sent, with what they claim"),
    "threat_model": ("category", "attribute, record, or nothing: what is protected"),
    "by_group": ("bool", "whether decisions use the group"),
    "epsilon_asked": ("float64", "budget of the suite; none without privacy"),
    "seed": ("int64", "seed of the suite"),
    "trials": ("int64", "settings tried for the entry"),
    "split": ("category", "seal of the test rows"),
    "epsilon": ("float64", "epsilon that is proved of what was released"),
    "epsilon_claimed": ("float64", "epsilon by the paper's own accounting, or that outsiders claim"),
    "accuracy": ("float64", "share of test rows decided rightly"),
    "balanced_accuracy": ("float64", "mean over labels of the share decided rightly"),
    "gap": ("float64", "largest difference between two groups"),
    "gap_low": ("float64", "lower end of its 95 % interval over test rows"),
    "gap_high": ("float64", "upper end"),
    "reached": ("category", "whether the gap asked for was reached: yes, maybe, no, unknown"),
    "height": ("float64", "accuracy above the mixing line at the same gap; none where there is no such line"),
    "height_low": ("float64", "lower end of its 95 % interval"),
    "height_high": ("float64", "upper end"),
    "plain_accuracy": ("float64", "accuracy of training without privacy and fairness on the same split"),
    "plain_gap": ("float64", "its gap"),
    "constant": ("float64", "accuracy of one answer for all"),
    "best": ("float64", "accuracy of the rule that knows the truth, of made-up tables"),
    "n_train": ("int64", "training rows"),
    "seconds": ("float64", "seconds of training; of models trained together an equal share"),
    "audit_bound": ("float64", "largest epsilon that the stored audit of the method's code showed"),
    "audit_epsilon": ("float64", "epsilon that was proved of the audited runs"),
    "audit_date": ("category", "day of that audit"),
    "failed": ("category", "why there is no model; empty where there is one"),
}
_CHOICES: Mapping[str, Sequence[str]] = {
    "kind": ("run", "claimed"),
    "threat_model": ("", "attribute", "record"),
    "reached": get_args(Verdict),
}
_SHARES = (
    "accuracy",
    "balanced_accuracy",
    "gap",
    "gap_low",
    "gap_high",
    "plain_accuracy",
    "plain_gap",
    "constant",
    "best",
)
_COSTS = ("epsilon", "epsilon_claimed", "seconds", "audit_bound", "audit_epsilon")
_DAY = r"(\d{4}-\d\d-\d\d)?"
_AUTHOR = r"[\w.+!-]+( [\w.+!-]+)?"  # a package and its version
#: by which lines are told apart
NAMES = ("method", "author", "task", "notion", "epsilon_asked", "seed")


def find_folder() -> Path:
    """Return where results go and are found unless somebody says: FAIRPRIV_BENCH, else ~/.fairpriv/bench."""
    return Path(os.environ.get("FAIRPRIV_BENCH") or Path.home() / ".fairpriv" / "bench")


def read_lines(paths: Iterable[Path | str]) -> pd.DataFrame:
    """Return the lines of several files together; BadInput for a file that holds no lines of this suite."""
    tables = [_read(Path(path)) for path in paths]
    if not tables:
        return build_lines([])
    return join_lines(*tables)


def join_lines(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return lines together, each once: of this project's entries the first table's stand, of others the last one's."""
    table = pd.concat(tables, ignore_index=True)
    ours = table.author == OURS
    parts = [table[ours].drop_duplicates([*NAMES]), table[~ours].drop_duplicates([*NAMES], keep="last")]
    return pd.concat(parts).sort_index(ignore_index=True)


def list_files() -> list[Path]:
    """Return the file of the kept lines, and those that were made here."""
    return [KEPT, *sorted(find_folder().glob("*.parquet"))]


def build_lines(lines: Sequence[Line] | pd.DataFrame) -> pd.DataFrame:
    """Return lines as a table with every column; texts are texts."""
    table = pd.DataFrame(lines, columns=[*COLUMNS])
    return table.astype({name: "object" if kind == "category" else kind for name, (kind, _) in COLUMNS.items()})


def write_lines(table: pd.DataFrame, path: Path) -> None:
    """Write lines in one step, so that a reader finds the old file or the new one; BadInput where that cannot be."""
    kinds = {name: kind for name, (kind, _) in COLUMNS.items()}
    beside = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        table.astype(kinds).round(5).to_parquet(beside, index=False, compression="zstd", compression_level=19)
        beside.replace(path)
    except OSError as error:
        raise _refuse(path, error) from error


def add_lines(new_lines: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Write lines beside those that a file has by now, which may be another process's too; return them all.

    A lock on a file beside it keeps what processes add at once. It stays there: deleted, two could each hold one.
    """
    with _open_lock(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = join_lines(read_lines([path]), new_lines) if path.exists() else new_lines
        write_lines(lines, path)
    return lines


def _open_lock(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise _refuse(path, error) from error


def _refuse(path: Path, error: OSError) -> BadInput:
    return BadInput(f"out cannot be written: {path} ({error.strerror}).", field="out")


def _read(path: Path) -> pd.DataFrame:
    from pyarrow.parquet import read_table

    try:
        # without metadata, of which pandas would read whatever a stranger wrote there
        stored = read_table(path).replace_schema_metadata().to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BadInput(f"{path.name} cannot be read as results of the benchmark: it is no Parquet file.") from error
    suite = read_suite()
    if [*stored.columns] != [*COLUMNS]:
        wrong = sorted({*stored.columns} ^ {*COLUMNS})
        raise BadInput(f"{path.name} has not the columns of results: {', '.join(wrong) or 'their order'} differs.")
    odd = [name for name, (kind, _) in COLUMNS.items() if stored[name].dtype != kind or not _is_whole(stored[name])]
    if odd:
        raise BadInput(f"{path.name} has not the types of results: {', '.join(odd)} differs.")
    table = build_lines(stored)
    foreign = {*table.suite} - {suite.version}
    if foreign:
        raise BadInput(f"{path.name} is of suite {', '.join(sorted(foreign))}, and this is {suite.version}.")
    for task, lines in table.groupby("task"):
        seals = suite.find_task(str(task)).splits
        for seed, split in zip(lines.seed, lines.split, strict=True):
            if seed < 0 or (seed < len(seals) and seals[seed] != split):
                raise BadInput(f"{path.name} has other test rows than suite {suite.version} for {task}, seed {seed}.")
    for column, choices in {"notion": suite.notions, **_CHOICES}.items():
        foreign = {*table[column]} - {*choices}
        if foreign:
            raise BadInput(
                f"{path.name} has the {column} '{min(foreign)}'; choose from {', '.join(filter(None, choices))}."
            )
    for faulty, why in _list_faults(table, suite):
        if faulty.any():
            line = table[faulty].iloc[0]
            raise BadInput(f"{path.name} has a line of {line.method} on {line.task} that cannot be: {why}.")
    return table


def _is_whole(column: pd.Series) -> bool:
    """Return whether a column of categories has a text in every line; others have gaps where they may."""
    if column.dtype != "category":
        return True
    return not column.hasnans and all(isinstance(category, str) for category in column.cat.categories)


def _list_faults(table: pd.DataFrame, suite: Suite) -> Iterator[tuple[pd.Series, str]]:
    """Yield which lines cannot be, and why. What is proved or audited is ours: others can only claim it."""
    models = {name: kind.info.threat_model or "" for name, kind in methods().items() if find_plugin(name) is None}
    ours, outside = table.author == OURS, table.author == OUTSIDE
    yield ~table.method.str.fullmatch(NAME), "a name is of 2 to 40 small letters, digits and underscores"
    yield ~table.author.str.fullmatch(_AUTHOR), f"its author is to be {OURS}, {OUTSIDE}, or a package with its version"
    yield ours != table.method.isin(models), f"the methods of the catalogue, and they alone, are entries of {OURS}"
    yield ours & (table.method.map(models) != table.threat_model), "the catalogue has another threat model"
    yield outside != (table.kind == "claimed"), "what was made outside is claimed, and nothing else"
    yield ~ours & (table.epsilon.notna() | table.audit_bound.notna()), f"{OURS} alone proves and audits, and its own"
    yield table.epsilon > 1.0001 * table.epsilon_asked, "it spent more than its budget"
    private = table.threat_model != ""
    yield private != table.epsilon_asked.isin(suite.epsilons), "its budget is none of the suite's"
    yield (table.failed == "") & table.accuracy.isna(), "it has no accuracy, and not why"
    shares = table[[*_SHARES]]
    yield (shares.lt(0) | shares.gt(1)).any(axis=1) | (table.height.abs() > 1), "a share lies outside 0 to 1"
    for name in ("gap", "height"):
        value, low, high = table[name], table[f"{name}_low"], table[f"{name}_high"]
        yield (value < low) | (value > high) | (low > high), f"its {name} lies outside its interval"
    yield table.select_dtypes("float64").abs().eq(np.inf).any(axis=1), "a number is infinite"
    yield table[[*_COSTS]].lt(0).any(axis=1), "an epsilon, a bound or a time is below 0"
    yield ~table.audit_date.str.fullmatch(_DAY), "the day of its audit is no date"
    yield (table.trials < 1) | (table.n_train < 1), "trials and rows are at least 1"


def score(counts: np.ndarray, plain: np.ndarray, notion_name: str, suite: Suite) -> Line:
    """Return what decisions came to: `counts` (k, l, l) over group, label and decision, beside plain training's.

    The gap is among groups of at least 30 rows of those that are compared.
    """
    notion, total = notions()[notion_name], counts.sum()
    own, reference = find_apart(counts, notion), find_apart(plain, notion)
    margin = measure_margin(_wrap(counts), _wrap(plain), notion)
    by_label = counts.sum(axis=0)
    return {
        "accuracy": float(np.trace(by_label) / total),
        "balanced_accuracy": float(np.mean(np.diag(by_label) / by_label.sum(axis=1))),
        **({} if own is None else {"gap": own.gap.value, "gap_low": own.gap.low, "gap_high": own.gap.high}),
        "reached": "unknown" if own is None else judge_gap(own.gap.low, own.gap.high, suite.gap),
        **({} if margin is None else {"height": margin.value, "height_low": margin.low, "height_high": margin.high}),
        "plain_accuracy": float(np.trace(plain.sum(axis=0)) / plain.sum()),
        "plain_gap": None if reference is None else reference.gap.value,
        "constant": float(by_label.sum(axis=1).max() / total),
    }


def judge_gap(low: float, high: float, limit: float) -> Verdict:
    """Return whether a gap with this interval is at most so much."""
    return "yes" if high <= limit else "no" if low > limit else "maybe"


def _wrap(counts: np.ndarray) -> Measures[Any]:
    return Measures("public", {"groups": [{"confusion": table} for table in counts.tolist()]})


def describe_file(path: Path, citation: str, day: str) -> dict[str, Any]:
    """Return the Croissant description of a file of lines that is published on a day; its loader reads the file."""
    kinds = {"category": "sc:Text", "bool": "sc:Boolean", "float64": "sc:Float", "int64": "sc:Integer"}
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"lines/{name}",
            "name": name,
            "description": says,
            "dataType": kinds[kind],
            "source": {"fileObject": {"@id": path.name}, "extract": {"column": name}},
        }
        for name, (kind, says) in COLUMNS.items()
    ]
    file = {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "fairpriv_bench",
        "description": "Private and fair classifiers on the same splits, a line a fit: gap, intervals and epsilon.",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "version": f"{read_suite().version}.0.0",
        "citeAs": citation,
        "datePublished": day,
        "distribution": [file],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "lines", "name": "lines", "field": fields}],
    }
