"""K models by DP-FERMI in one loop."""

from __future__ import annotations

from collections.abc import Sequence

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.layered import LayeredShape
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.rules.fermi import FermiRule
from fairpriv_core.methods.rules.fermi_classes import FermiClassesRule, PublishedFermiClassesRule
from fairpriv_core.methods.rules.fermi_published import PublishedFermiRule
from fairpriv_core.methods.rules.fermi_record import DpFermiRecordRule
from fairpriv_core.methods.rules.setting import Setting

_OF_A_LOGIT: dict[str, type[FermiRule]] = {"proved": FermiRule, "published": PublishedFermiRule}
_OF_CLASSES: dict[str, type[FermiRule]] = {"proved": FermiClassesRule, "published": PublishedFermiClassesRule}


def train_dp_fermi(
    methods: Sequence[DpFermi], trains: Sequence[Dataset], trainings: Sequence[Training]
) -> list[Fitted]:
    """Train K models by one variant of DP-FERMI."""
    setting = Setting(methods, trains, trainings)
    rules = _OF_CLASSES if isinstance(setting.shape, LayeredShape) else _OF_A_LOGIT
    return setting.run(rules[methods[0].variant](setting))


def train_dp_fermi_record(
    methods: Sequence[DpFermiRecord], trains: Sequence[Dataset], trainings: Sequence[Training]
) -> list[Fitted]:
    """Train K models by DP-FERMI for whole records."""
    setting = Setting(methods, trains, trainings)
    return setting.run(DpFermiRecordRule(setting))
