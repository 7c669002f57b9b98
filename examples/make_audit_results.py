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
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairpriv_core.audit.canary import BALANCED_PAIR, make_balanced_pair
from fairpriv_core.figures.audits import PATH, write_tables
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.records.parameters import method_to_json
from fairpriv_core.records.record import library_versions
from fairpriv_core.runs.audit import AuditPlan, attack_pair, audit_method

EPSILON, DELTA, CALIBRATED_ROWS = 4.0, 1e-5, 20_000
AMONG = 40  # audits that share the error: more than there are, so that single ones can be made again
DOCUMENT = Path(__file__).parent.parent / "docs" / "audit.md"
ROWS = 400  # of the demonstration's pair
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
        "made": datetime.now(UTC).date().isoformat(),
        "settings": {"epsilon": EPSILON, "delta": DELTA, "rows": CALIBRATED_ROWS, "among": AMONG},
        "versions": library_versions(),
        "demonstration": demonstration,
        "methods": [found[name] for name in methods() if name in found],
    }
    out.write_text(json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_arguments() -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=sorted(methods()), help="make these again, keep the others")
    parser.add_argument("--runs", type=int, default=1000, help="on each data set of a pair")
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
    return {"name": method.info.name, "title": method.info.title, **found}


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
    return {"pair": BALANCED_PAIR, "rows": ROWS, "notion": "demographic_parity", "seed": plan.seed, **both}


if __name__ == "__main__":
    main()
