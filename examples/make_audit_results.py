"""Make the stored audits: each private method of the catalogue, and PF-LD's published accounting refuted.

    python examples/make_audit_results.py
    python examples/make_audit_results.py --only dp_sgd pf_ld      these again, the others as they are stored
    python examples/make_audit_results.py --only                   the demonstration alone

Everything is drawn from `--seed`: the same seed, code and libraries give the same numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.audit.attack import Pair
from fairpriv_core.audit.canary import regroup
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.figures.audits import PATH, at_own_delta, curve_bound
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.record import library_versions
from fairpriv_core.runs.audit import AuditPlan, attack_pair, audit_method
from fairpriv_core.text import at_least_text, epsilon_text

EPSILON, DELTA, CALIBRATED_ROWS = 4.0, 1e-5, 20_000
RUNS = 1000  # on each data set of a pair; methods that are slow to train have fewer, and the document says how many
AMONG = 40  # audits that share the error: more than there are, so that single ones can be made again
DOCUMENT = Path(__file__).parent.parent / "docs" / "audit.md"
ROWS = 400  # of the demonstration's pair
BALANCED_PAIR = (
    "The last person is in another group in each of the two tables. The groups are equally large but for that person, "
    "and half of each has label 1. Feature x0 is +3 in group 0 and -3 in group 1, so that decisions start alike and "
    "gradients are opposite. Feature x1 is 3,000 for the last person and 0 for all others."
)
DEMONSTRATION: dict[str, Any] = {
    "epochs": 4,
    "batch_size": ROWS,
    "optimizer": "sgd",
    "learning_rate": 1e-4,
    "dual_step": 1e4,
}


def main() -> None:
    """Audit what is asked for, write the file after each audit, and at last the document's tables."""
    wanted = read_arguments()
    plan = AuditPlan(runs=wanted.runs, among=AMONG, seed=wanted.seed)
    kept = json.loads(wanted.out.read_text(encoding="utf-8")) if wanted.only is not None else {"methods": []}
    demonstration = kept["demonstration"] if wanted.only else demonstrate(plan)
    found = {one["name"]: one for one in kept["methods"]}
    write(wanted.out, found, demonstration)
    for method in list_audited():
        if wanted.only is None or method.info.name in wanted.only:
            found[method.info.name] = audit(method, plan)
            write(wanted.out, found, demonstration)
    if wanted.out == PATH:
        DOCUMENT.write_text(write_tables(DOCUMENT.read_text("utf-8"), json.loads(PATH.read_text("utf-8"))), "utf-8")


def write(out: Path, found: Mapping[str, Any], demonstration: Mapping[str, Any]) -> None:
    """Write the file: audits in the catalogue's order, without methods that it no longer has."""
    stored = {
        "command": "python examples/make_audit_results.py",
        "settings": {"epsilon": EPSILON, "delta": DELTA, "rows": CALIBRATED_ROWS, "among": AMONG},
        "demonstration": demonstration,
        "methods": [found[name] for name in methods() if name in found],
    }
    out.write_text(json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_arguments() -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=sorted(methods()), help="make these again, keep the others")
    parser.add_argument("--runs", type=int, default=RUNS, help="on each data set of a pair")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PATH)
    return parser.parse_args()


def list_audited() -> Iterator[Method]:
    """Yield each private method as it is by default, with the noise of the settings above."""
    for kind in methods().values():
        if kind.info.threat_model is not None:
            yield kind().calibrated(epsilon=EPSILON, delta=DELTA, n_train=CALIBRATED_ROWS)


def audit(method: Method, plan: AuditPlan) -> dict[str, Any]:
    """Return one method's audit, with its names."""
    notion = method.info.notions[0]
    found = audit_method(method, notion=notion, delta=DELTA, plan=plan, report=lambda _: None)
    print(method.info.name, found["distinguishing"]["profile"][0], file=sys.stderr, flush=True)
    return {"name": method.info.name, "title": method.info.title, **stamp(), **found}


def stamp() -> dict[str, Any]:
    """Return the day and the versions of what is made now."""
    return {"made": datetime.now(UTC).date().isoformat(), "versions": library_versions()}


def demonstrate(plan: AuditPlan) -> dict[str, Any]:
    """Return what attacks on both variants of PF-LD found where one person decides on which side a gap is."""
    pair = make_balanced_pair(ROWS)
    both: dict[str, Any] = {}
    for variant in PfLd.info.variants:
        method = replace(PfLd(**DEMONSTRATION, gap_target=None), variant=variant)
        known = method.calibrated(epsilon=1.0, delta=DELTA, n_train=ROWS)
        found = attack_pair(known, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)
        both[variant] = {"method": method_to_json(known), **found}
        print("demonstration", variant, found["profile"][0], file=sys.stderr, flush=True)
    question = {"pair": BALANCED_PAIR, "rows": ROWS, "notion": "demographic_parity", "seed": plan.seed}
    return {**stamp(), **question, **both}


def write_tables(text: str, results: Mapping[str, Any]) -> str:
    """Return the Markdown `text` with the stored audits' tables between their marks."""
    shown = results["demonstration"]
    tables = {
        "demonstration": _write_table(
            ("PF-LD", "stated ε", "attacks show at least", "runs on each table", "confidence"),
            (_format_variant(name, shown[name]) for name in ("published", "proved")),
        ),
        "methods": _write_table(
            ("method", "protects", "proved ε", "many runs", "one run", "whole curve", "nearest"),
            (_format_row(audit) for audit in results["methods"]),
        ),
    }
    for name, table in tables.items():
        start, end = text.index(f"<!-- {name} -->"), text.index("<!-- end -->", text.index(f"<!-- {name} -->"))
        text = f"{text[:start]}<!-- {name} -->\n{table}{text[end:]}"
    return text


def _format_variant(name: str, found: Mapping[str, Any]) -> Sequence[str]:
    first = at_own_delta(found)
    stated = first["epsilon_published"] if first["epsilon"] is None else first["epsilon"]
    return (
        name,
        epsilon_text(stated),
        f"**{at_least_text(first['lower_bound'])}**",
        f"{found['runs']:,}",
        f"{100 * found['confidence']:g} %",
    )


def _format_row(audit: Mapping[str, Any]) -> Sequence[str]:
    found = audit["distinguishing"]
    first = at_own_delta(found)
    curve = curve_bound(found)
    nearest = max(at["lower_bound"] / at["epsilon"] for at in found["profile"] if at["epsilon"])
    return (
        f"`{audit['name']}`" + (f" ({found['runs']:,})" if found["runs"] < RUNS else ""),
        "the attribute" if audit["threat_model"] == "attribute" else "the record",
        epsilon_text(first["epsilon"]),
        at_least_text(first["lower_bound"]),
        at_least_text(audit["one_run"]["lower_bound"]),
        "–" if curve is None else at_least_text(curve),
        f"{100 * nearest:.0f} %",
    )


def _write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def make_balanced_pair(rows: int) -> Pair:
    """Return two data sets of `rows` (even) records on which one person's group decides on which side a gap is.

    BALANCED_PAIR says what they hold.
    """
    group = np.arange(rows) % 2
    features = np.stack([3.0 - 6.0 * group, np.zeros(rows)], axis=1).astype(np.float32)
    features[-1] = (0.0, 3000.0)
    first = Dataset(
        X=features,
        y=(np.arange(rows) // 2 % 2).astype(np.int64),
        group=np.append(group[:-1], 0),
        feature_names=("x0", "x1"),
        label_names=("no", "yes"),
        group_names=("group 0", "group 1"),
        name="balanced",
        sensitive="group",
        digest="balanced",
    )
    return Pair(first, regroup(first, np.array([rows - 1])), rows - 1)


if __name__ == "__main__":
    main()
