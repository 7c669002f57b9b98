"""Every method by name. To add one, write its file and add its line here.

Other packages offer theirs (docs/plugins.md). Such a method promises what its author claims: nobody here has read its
code, so no epsilon of it counts as proved, whatever it says itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, cast

from fairpriv_core import plugins
from fairpriv_core.methods.base import FitsAlone, Method, MethodInfo, NotPrivate, Style
from fairpriv_core.methods.declaration import check_declaration
from fairpriv_core.methods.dp2dp import Dp2dp
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fair_pate import FairPate
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.fairlens import FairLens
from fairpriv_core.methods.functional_mechanism import Adfc, Pflr
from fairpriv_core.methods.group_thresholds import GroupThresholds, GroupThresholdsRecord
from fairpriv_core.methods.jagielski_in import JagielskiIn
from fairpriv_core.methods.jagielski_post import JagielskiPost
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.one_release_local import OneReleaseLocal
from fairpriv_core.methods.one_release_record import OneReleaseRecord
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp
from fairpriv_core.methods.randomized_response import ResponseReductions
from fairpriv_core.methods.reductions import Reductions
from fairpriv_core.methods.sf_pate import SfPate
from fairpriv_core.methods.smoothing import DpsgdSmooth, FairSmooth
from fairpriv_core.methods.zafar import Zafar

_METHODS: tuple[type[Method], ...] = (
    # not private
    Plain,
    FLd,
    FairSmooth,
    Reductions,
    Zafar,
    # the sensitive attribute is protected
    PfLd,
    OneRelease,
    OneReleaseLocal,
    DpFermi,
    ResponseReductions,
    JagielskiPost,
    GroupThresholds,
    JagielskiIn,
    SfPate,
    # whole records are protected
    DpSgd,
    DpFedAvg,
    OptQ,
    DpsgdF,
    DpsgdGlobalAdapt,
    DpIsSgd,
    FairLens,
    FairDpAdaptive,
    FairDpCertified,
    DpsgdSmooth,
    PfLdRecord,
    RacoDp,
    Pflr,
    Adfc,
    Dp2dp,
    OneReleaseRecord,
    GroupThresholdsRecord,
    DpFermiRecord,
    FairPate,
)

#: whose methods there are, each with the heading that they stand under: the order of every list and chart
GROUPS = {"paper": "From the papers", "other": "From others", "ours": "Ours", "package": "From other packages"}
_PROTECTED = ("attribute", "record", None)
#: what every other method is read against: neither private nor fair
REFERENCE_METHOD = Plain.info.name
#: the method where none was chosen, and that on data which the first cannot take
DEFAULT_METHOD, DEFAULT_METHOD_OF_CLASSES = PfLd.info.name, FairDpAdaptive.info.name
DEFAULT_RECORD_METHOD = PfLdRecord.info.name  # the default among those that protect whole records


#: why no epsilon of another package's method is proved; the package goes in
CLAIMED = (
    "It is the claim of the method's author: the method comes with package {}, whose code is not this project's. What "
    "passes the mechanism is counted; nobody here has proved its bounds, nor that nothing leaves beside it."
)


class Catalogue(dict[str, type[Method]]):
    """Name -> class. A name that is not here, but that a stored run may have, stands for a method that is gone."""

    def __missing__(self, name: str) -> type[Method]:
        info = MethodInfo(
            name=name,
            title=f"{name} (not installed)",
            style=Style("grey", "dot", "circle"),
            summary="No installed package offers this method any more.",
            citation="–",
            threat_model=None,
            pursued=("decisions", "errors"),
            only=(),
        )
        return cast(type[Method], type("Gone", (_Gone,), {"info": info}))


def methods() -> Catalogue:
    """Return the catalogue, by GROUPS and what is protected; other packages' methods that declare themselves, last."""
    return Catalogue(
        {**_order(_METHODS), **{plugin.name: plugin.found for plugin in list_plugins() if plugin.fault is None}}
    )


@cache
def _order(own: tuple[type[Method], ...]) -> dict[str, type[Method]]:
    return {method.info.name: method for method in sorted(own, key=_rank)}


def _rank(method: type[Method]) -> tuple[int, int]:
    return list(GROUPS).index(method.info.source), _PROTECTED.index(method.info.threat_model)


def name_group(name: str) -> str:
    """Return the heading of GROUPS that the method called `name` stands under."""
    return GROUPS[methods()[name].info.source if find_plugin(name) is None else "package"]


def mark_ours(name: str) -> str:
    """Return the mark behind the title of one of this project's own methods, for lists without headings."""
    return " · ours" * (name_group(name) == GROUPS["ours"])


def place_method(name: str) -> int:
    """Return where a method stands in the catalogue; one that is not installed any more comes last."""
    known = list(methods())
    return known.index(name) if name in known else len(known)


def list_plugins() -> tuple[plugins.Plugin, ...]:
    """Return what other packages offer as methods, with what is wrong of those that are left out."""
    return plugins.load_plugins(plugins.METHODS, [method.info.name for method in _METHODS], check_declaration)


def find_plugin(name: str) -> plugins.Plugin | None:
    """Return the plug-in that the method called `name` is; None for one of the project's own."""
    return next((plugin for plugin in list_plugins() if plugin.name == name and plugin.fault is None), None)


def why_unproved(method: Method) -> str | None:
    """Return why no finite epsilon is proved for these settings; None where the project proves one."""
    plugin = find_plugin(method.info.name)
    return method.unproved_reason() or (None if plugin is None else CLAIMED.format(plugin.package))


def name_accounting(method: Method) -> str | None:
    """Return how a method's epsilon is accounted: "proved", "published" for what is claimed, None if not private."""
    if method.info.threat_model is None:
        return None
    return name_accounting_of(method.info.name, getattr(method, "variant", None))


def name_accounting_of(name: str, variant: str | None) -> str:
    """Return how the epsilon of the private method called `name` is accounted: "proved", or "published"."""
    return (variant or "proved") if find_plugin(name) is None else "published"


@dataclass(frozen=True)
class _Gone(NotPrivate, FitsAlone):
    """What is left of a method whose package is not installed: a name, and nothing that can be trained or promised."""

    info: ClassVar[MethodInfo]
