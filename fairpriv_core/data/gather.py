"""Where data comes from: a benchmark by name, or a person's file."""

from __future__ import annotations

from pathlib import Path

from fairpriv_core.checks import known_names
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.infer import read_own_file
from fairpriv_core.data.material import Declared, Material, declare_problem
from fairpriv_core.data.problem import DataSpec, Problem
from fairpriv_core.data.readers import read_benchmark, read_pictures
from fairpriv_core.data.terms import check_terms


def gather(spec: DataSpec) -> Material:
    """Return the rows that `spec` names and what is declared of them; raises BadInput or DataUnavailable."""
    if spec.file:
        return read_own_file(Path(spec.file), spec)
    problem = _find_problem(spec)
    check_terms(problem)
    if problem.pictures is None:
        return read_benchmark(problem)
    return read_pictures(problem, problem.pictures, skip=spec.unreadable is not None)


def declare(spec: DataSpec) -> Declared:
    """Return what is declared of the columns; a benchmark's files are not read for it."""
    return read_own_file(Path(spec.file), spec).declared if spec.file else declare_problem(_find_problem(spec))


def _find_problem(spec: DataSpec) -> Problem:
    known = problems()
    name = spec.dataset or ""
    known_names("dataset", [name], known)
    return known[name]
