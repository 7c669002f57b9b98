"""Every method by name. To add one, write its file and add its line here."""

from __future__ import annotations

from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.dpsgd_smooth import DpsgdSmooth
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.fairlens import FairLens
from fairpriv_core.methods.fairsmooth import FairSmooth
from fairpriv_core.methods.group_thresholds import GroupThresholds
from fairpriv_core.methods.group_thresholds_record import GroupThresholdsRecord
from fairpriv_core.methods.jagielski_in import JagielskiIn
from fairpriv_core.methods.jagielski_post import JagielskiPost
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.one_release_record import OneReleaseRecord
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp
from fairpriv_core.methods.randomized_response import ResponseReductions
from fairpriv_core.methods.reductions import Reductions
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
    DpFermi,
    ResponseReductions,
    JagielskiPost,
    GroupThresholds,
    JagielskiIn,
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
    OneReleaseRecord,
    GroupThresholdsRecord,
    DpFermiRecord,
)

#: what every other method is read against: neither private nor fair
REFERENCE_METHOD = Plain.info.name
#: the method where none was chosen, and that on data which the first cannot take
DEFAULT_METHOD, DEFAULT_METHOD_OF_CLASSES = PfLd.info.name, FairDpAdaptive.info.name


def methods() -> dict[str, type[Method]]:
    """Return the catalogue: name -> class."""
    return {method.info.name: method for method in _METHODS}
