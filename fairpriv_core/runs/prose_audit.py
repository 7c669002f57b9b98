"""An audit as short aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairpriv_core.runs.prose import align
from fairpriv_core.text import at_least_text, epsilon_text

_SHOWN = "attacks find a lower bound; 0 says that they found nothing, not that there is nothing"

NOT_PRIVATE = "not private: it promises nothing that an attack could be held against"


def describe_audit(audit: Mapping[str, Any]) -> str:
    """Return what an audit found: the code beside its epsilon, then the model, marked as raw."""
    code, model = audit["code"], audit["model"]
    pairs = [("audit of run", f"{audit['key']}, {audit['made']}")]
    pairs += [("method", NOT_PRIVATE)] if code is None else describe_code(code)
    pairs += [("membership", _list_membership(model["membership"])), ("attribute", _list_attribute(model["attribute"]))]
    pairs.append(("", model["note"]))
    return align(pairs)


def describe_code(code: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines on a method's code: what was audited, reach, noise, lower bounds."""
    method, found = code["method"], code["distinguishing"]
    epochs = f", {method['epochs']} epochs" if "epochs" in method else ""
    pairs = [("audited", f"{method['name']} with its noise on {code['rows']} made-up rows{epochs}")]
    for one in code["reach"]:
        verdict = "within" if one["largest"] <= 1.0 + 1e-9 else "OUTSIDE"
        measured = f"{one['measured']:,} measured"
        pairs.append(
            (f"  adds to {one['release']}", f"{one['largest']:.4f} of its bound at most: {verdict}; {measured}")
        )
    noise = code["noise"]
    if noise is not None:
        pairs.append(
            ("  noise", f"{noise['deviation']:.4f} of what is counted [{noise['low']:.4f}, {noise['high']:.4f}]")
        )
    sure = f"{100 * found['confidence']:g} % sure, corrected for {found['among']} tests"
    pairs.append(
        (
            "lower bound",
            f"{at_least_text(_first(found)['lower_bound'])} ({sure}, {found['runs']:,} runs on each data set)",
        )
    )
    pairs.append(("  from one run", at_least_text(code["one_run"]["lower_bound"])))
    if "noise" in found:
        least = "any noise" if found["noise"] is None else f"at most {found['noise']:.2f} times the counted noise"
        bound = at_least_text(_first(found)["lower_bound_curve"])
        pairs.append(("  whole curve", f"{bound}, if only the noise can be wrong: {least} fits the tests"))
    pairs += _describe_claims(found)
    return [*pairs, ("", _SHOWN)]


def _describe_claims(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"epsilon": ("proved", "refuted"), "epsilon_published": ("published", "refuted_published")}
    lines = []
    for name, (title, flag) in names.items():
        value = _first(found)[name]
        if value is not None:
            stands = "REFUTED by this audit" if found[flag] else "not refuted"
            lines.append((f"  {title} epsilon", f"{epsilon_text(value)} of the same releases: {stands}"))
    return lines


def _first(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what holds at the run's own delta, the smallest."""
    first: Mapping[str, Any] = found["profile"][0]
    return first


def _list_membership(found: Mapping[str, Any]) -> str:
    each = ", ".join(f"{one['attacker']} {one['auc']:.3f} / {one['advantage']:.3f}" for one in found["attackers"])
    limit = "" if found["limit"] is None else f"; epsilon allows {found['limit']:.3f}"
    return f"AUC / advantage: {each} (chance: 0.5 / up to {found['chance']:.3f}{limit})"


def _list_attribute(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "the groups are the classes: whoever knows the label knows the group"
    each = ", ".join(f"{one['attacker']} {one['accuracy']:.3f} ({one['baseline']:.3f})" for one in found["attackers"])
    return f"{found['sensitive']} named rightly: {each}; in brackets from x and y alone"
