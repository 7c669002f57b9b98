"""Hyper-parameters and assumptions that several methods share, each declared once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, field
from typing import Any, ClassVar, Literal, Protocol

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import steps_per_epoch
from fairpriv_core.engine.networks import MLP, NETWORKS, check_name
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.base import MethodInfo, Variant, parameter
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import Target
from fairpriv_core.notions.surrogates import Surrogate

OPTIMIZERS = ("sgd", "adam")
SURROGATES = ("probability", "logit")
VARIANTS: tuple[Variant, ...] = ("proved", "published")
#: what an epsilon takes as given under each threat model
ATTRIBUTE_ASSUMED = (
    "All features, all labels, the number of rows and the list of groups are public.",
    "A neighbouring data set has one person's sensitive attribute replaced by another value.",
)
RECORD_ASSUMED = (
    "The number of training rows and the list of groups are public.",
    "A neighbouring data set has one record zeroed out.",
)
#: what whoever uses a model that decides by group takes on
GROUP_NEEDED = "Predictions need the group of every person: whoever uses the model knows it and may decide by it."
USUAL_BATCH = 256
USUAL_GAP = 0.04  # what a person accepts who has set nothing
USUAL_SAMPLE = 1024  # expected size of a secret sample of whole records, where there are rows enough
LEAST_STEPS = 1500  # with fewer, training on a small table has not converged
FEW_STEPS = 300  # with fewer, a model of a small table is hardly better than one answer for everybody
ASKED_A_ROUND = 9  # fairlearn asks its learner for an answer, then up to 4 times to bound each of two duality gaps

_BATCH_RANGE: dict[str, object] = {"low": 1, "high": 65536, "log": True}
_FITTING = f"Empty: {{:,}}, or as few as make {LEAST_STEPS:,} steps of all epochs together."
#: hyper-parameters that several methods have: the usual default, and how a form shows them
_SHARED: dict[str, Any] = {
    "epochs": parameter(20, "Epochs", "Passes over the training rows. Each one releases more.", low=1, high=1000),
    "batch_size": parameter(
        256, "Batch size", "Rows in a batch; for a secret sample, its expected size.", low=1, high=65536, log=True
    ),
    "fitting_batch_size": parameter(
        USUAL_BATCH, "Batch size", f"Rows in a batch. {_FITTING.format(USUAL_BATCH)}", **_BATCH_RANGE
    ),
    "fitting_sample_size": parameter(
        None, "Batch size", f"Rows expected in a secret sample. {_FITTING.format(USUAL_SAMPLE)}", **_BATCH_RANGE
    ),
    "sampling_rate": parameter(
        None,
        "Sampling rate q",
        "Chance of each row to be in a step's secret sample (proved variant); empty: batch size / rows.",
        low=1e-4,
        high=1.0,
        log=True,
        expert=True,
    ),
    "learning_rate": parameter(0.01, "Learning rate", "Length of a step.", low=1e-5, high=10.0, log=True, expert=True),
    "optimizer": parameter("adam", "Optimizer", "How a step follows the gradient.", choices=OPTIMIZERS, expert=True),
    "network": parameter(
        MLP,
        "Network",
        "mlp: hidden layers and width as set. For images: cnn_small, 2 convolutions and 2 dense layers; vgg9, 9. "
        "Your own: package:function of an installed package, which builds a PyTorch module.",
        choices=NETWORKS,
        open=True,
    ),
    "hidden_layers": parameter(
        0,
        "Hidden layers",
        "0 is logistic regression; more layers fit more and take more noise.",
        low=0,
        high=10,
        paper="2",
    ),
    "width": parameter(64, "Width", "Units in each hidden layer.", low=1, high=512, expert=True),
    "multiplier_max": parameter(
        5.0,  # towards a gap λ grows no further than the gap asks for, so it may be large
        "Largest multiplier λ_max",
        "How hard the notion may be pursued; 0 trains for accuracy alone.",
        low=0.0,
        high=50.0,
        fairer="more",
    ),
    "share_counts": parameter(
        0.05, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.9, expert=True
    ),
    "share_gap": parameter(
        0.2,
        "Budget share, decisions",
        "Share of the budget for the groups' decisions, where a gap is aimed at.",
        low=0.001,
        high=0.9,
        expert=True,
    ),
    "noise_gap": parameter(
        None,
        "Noise of decisions σ_g",
        "Noise standard deviation over the shift of the groups' decisions, counted where a gap is aimed at; empty: "
        "set from ε.",
        low=0.0,
        high=1e4,
        expert=True,
    ),
    "fixed_multiplier": parameter(
        12.0,
        "Multiplier λ",
        "Weight of the penalty on dependence; 0 trains for accuracy alone.",
        low=0.0,
        high=500.0,
        log=True,
        paper="0 to 2.5; on faces, 0 to 500",
        fairer="more",
    ),
    "adversary_step": parameter(
        0.1,
        "Step of W",
        "Length of a step of the maximising W.",
        low=1e-4,
        high=10.0,
        log=True,
        paper="0.005 to 0.01",
        expert=True,
    ),
    "adversary_norm": parameter(
        5.0,
        "Largest norm D of W",
        "W is scaled back to this norm.",
        low=0.1,
        high=100.0,
        log=True,
        paper="1 to 5",
        expert=True,
    ),
    "surrogate": parameter(
        SURROGATES[0],
        "Surrogate h",
        "What training takes for a decision: the positive label's probability, or its logit, of which C_p = 10 and "
        "C_d = 5 are usual sizes.",
        choices=SURROGATES,
        expert=True,
    ),
    "warmup_epochs": parameter(
        0,
        "Epochs before fairness",
        "So many epochs pass before multipliers move and anything is released; 0 and 1 are the paper's.",
        low=0,
        high=1000,
        expert=True,
    ),
    "dual_step": parameter(
        0.5,
        "Dual step s",
        "How far the multipliers move for a violation of 1, after each epoch.",
        low=0.01,
        high=50.0,
        log=True,
        expert=True,
    ),
    "variant": parameter(
        "proved",
        "Variant",
        "Proved: epsilon holds for what the code releases. Published: the paper's algorithm and its claim.",
        choices=VARIANTS,
    ),
}


def shared(name: str, default: Any = MISSING) -> Any:
    """Declare a hyper-parameter that others have too, with another default than the usual one where one is given."""
    usual = _SHARED[name]
    return field(default=usual.default if default is MISSING else default, metadata=usual.metadata)


def chosen_on(data: str) -> str:
    """Say on which data sets a method's defaults were found."""
    return f"The shipped settings were chosen on {data}; that choice is not charged."


def gap_target(
    how: str = "multipliers grow above it, up to λ_max, and shrink below, by steps that follow from the number of "
    "epochs",
    instead: str = "equal outputs, as in the paper, by the dual step s",
    *,
    replaces: tuple[str, ...] = ("multiplier_max", "dual_step", "clip_dual"),
    multiplier_max: float | None = None,
) -> Any:
    """The gap aimed at: `how` training follows it, and what holds `instead` where it is none.

    `multiplier_max` is the usual one then.
    """
    bound = "" if multiplier_max is None else f", and λ_max {multiplier_max:g} where it is not set"
    return parameter(
        USUAL_GAP,
        "Gap aimed at",
        f"Largest difference between any two groups' decisions that is accepted: {how}. None, or where a setting that "
        f"it replaces is set: {instead}{bound}.",
        low=0.0,
        high=1.0,
        replaces=replaces,
        otherwise={} if multiplier_max is None else {"multiplier_max": multiplier_max},
    )


def gap_aimed_at(how: str) -> Any:
    """The gap of a method that always aims at one; `how` it follows it."""
    return parameter(
        USUAL_GAP,
        "Gap aimed at",
        f"Largest difference between any two groups' decisions that is accepted: {how}.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )


def share_of_budget(default: float, title: str, what: str, **shown: Any) -> Any:
    """A share of mu^2, mu the Gaussian mechanism with the run's (epsilon, delta), for `what`."""
    help = f"Share of the budget for {what}."
    return parameter(default, f"Budget share, {title}", help, low=0.001, high=0.9, expert=True, **shown)


def check_gap_target(target: float | None, variant: str = "proved") -> None:
    """Raise BadInput for a gap that is none, or for any of a published variant."""
    if target is None:
        return
    checks.unit(gap_target=target)
    if variant == "published":
        raise BadInput(
            f"gap_target must be none for the published variant, which pursues equality, got {target}; "
            "take the proved variant.",
            field="gap_target",
        )


def penalty_gap_target() -> Any:
    """The gap that DP-FERMI's penalty aims at."""
    return gap_target(
        "λ grows above it and shrinks below, from its own value on, by decisions that are counted with noise after "
        "each epoch",
        "the penalty at λ, as in the paper",
        replaces=("multiplier",),
    )


def format_idle(multipliers: Mapping[str, float], epochs: int | None = None, before: int = 0) -> str | None:
    """Return why multipliers with these largest values, which move after each of some `epochs`, pursue nothing.

    None where one of them does. Without `epochs` they have their values from the start; so many `before` pass at 0.
    """
    if not any(multipliers.values()):
        return f"With {' and '.join(f'{name} = 0' for name in multipliers)} no fairness is pursued."
    if epochs is not None and 1 < epochs <= before:
        return f"With {before} epochs before fairness and {epochs} in all no fairness is pursued; take more epochs."
    if epochs == 1:
        return (
            "With 1 epoch no fairness is pursued: multipliers move after an epoch, and no step comes after the last "
            "one; take 2 epochs or more."
        )
    return None


def averaged(what: str, default: float) -> Any:
    """Share of the training whose parameters are averaged."""
    return parameter(
        default,
        "Share averaged",
        f"The model is the mean of what the last {what} ended with, this share of them; 0 takes the last alone.",
        low=0.0,
        high=1.0,
        expert=True,
    )


def noise_multiplier(title: str, over: str) -> Any:
    """A noise multiplier that calibration sets unless a person does."""
    return parameter(
        None, title, f"Noise standard deviation over {over}; empty: set from ε.", low=0.0, high=1e4, expert=True
    )


def share_of_rows(batch_size: int, n_train: int) -> float:
    """Return batch_size / n_train; BadInput for a batch larger than the data."""
    steps_per_epoch(n_train, batch_size)
    return batch_size / n_train


def count_steps(method: TrainsNetwork, n_train: int) -> int:
    """Return epochs times batches an epoch; BadInput for a batch larger than the data."""
    return method.epochs * steps_per_epoch(n_train, count_batch(method, n_train))


def count_batch(method: TrainsNetwork, n_train: int) -> int:
    """Return the rows in a batch: batch_size, or where it is empty at most as many as leave LEAST_STEPS steps.

    Of DP-SGD the signal beside the noise is the same however the steps are cut, and small tables train.
    """
    if method.batch_size is not None:
        return method.batch_size
    usual = USUAL_SAMPLE if method.info.threat_model == "record" else USUAL_BATCH
    return min(max(method.epochs * n_train // LEAST_STEPS, 1), usual, n_train)


def fit_batch_size(method: object, n_train: int, said: Collection[str] = ()) -> int | None:
    """Return a batch size for so few rows where the usual one does not suit them; None where it does.

    Batches of public rows leave LEAST_STEPS steps where the usual ones leave fewer than FEW_STEPS. Any other one that
    is more than half of the rows becomes a quarter of them. A batch size that a person `said` stays, and so do epochs.
    """
    usual: int | None = getattr(method, "batch_size", None)
    epochs: int | None = getattr(method, "epochs", None)
    if usual is None or "batch_size" in said:
        return None
    if usual == USUAL_BATCH and epochs is not None and "epochs" not in said:
        few = -(-n_train // USUAL_BATCH) * epochs < FEW_STEPS
        return max(epochs * n_train // LEAST_STEPS, 1) if few else None
    return max(n_train // 4, 1) if usual > n_train // 2 else None


def known_noise(**multiplier: float | None) -> float:
    """Return the one noise multiplier given, by its name; BadInput where it is not set."""
    ((name, value),) = multiplier.items()
    if value is None:
        raise BadInput(f"{name} is not set; give epsilon, or set {name} by hand.", field=name)
    return value


class HasLayers(Protocol):
    """The hyper-parameters that `check_layers` reads."""

    info: ClassVar[MethodInfo]

    @property
    def learning_rate(self) -> float: ...
    @property
    def optimizer(self) -> str: ...
    @property
    def hidden_layers(self) -> int: ...
    @property
    def width(self) -> int: ...


class TrainsNetwork(HasLayers, Protocol):
    """The hyper-parameters that `check_network` reads."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int | None: ...


class DrawsSamples(Protocol):
    """A method that draws secret samples."""

    def rate(self, n_train: int) -> float:
        """Return the chance of each of `n_train` rows to be in a step's sample."""


def check_network(method: TrainsNetwork) -> None:
    """Raise BadInput for a shared hyper-parameter out of range."""
    checks.whole(low=1, epochs=method.epochs)
    if method.batch_size is not None:
        checks.whole(low=1, batch_size=method.batch_size)
    check_layers(method)


def check_layers(method: HasLayers) -> None:
    """Raise BadInput for a network, or a way to train it, that is out of range."""
    checks.whole(low=1, width=method.width)
    checks.whole(low=0, high=10, hidden_layers=method.hidden_layers)
    checks.positive(learning_rate=method.learning_rate)
    checks.one_of(getattr(method, "OPTIMIZERS", OPTIMIZERS), optimizer=method.optimizer)
    check_name(network_of(method))


def surrogate_of(method: object, target: Target) -> Surrogate:
    """Return what a method takes for a notion's h; one that has no choice takes the probability, or the loss."""
    return choose_surrogate(getattr(method, "surrogate", SURROGATES[0]), target)


def choose_surrogate(surrogate: str, target: Target) -> Surrogate:
    """Return what stands for a notion's h: the loss for a notion of errors, else what `surrogate` names."""
    return "logit" if surrogate == "logit" and target == "score" else target


def network_of(method: object) -> str:
    """Return the name of a method's network; one that has no choice trains an mlp."""
    return str(getattr(method, "network", MLP))


def count_outputs(info: MethodInfo, labels: int) -> int:
    """Return how many outputs a method's network has for so many `labels`.

    1, the logit, of methods for two labels alone: they weigh and clip its gradient. Else one for each label.
    """
    return 1 if info.max_labels == LABELS else labels


def check_labels(info: MethodInfo, train: Dataset) -> None:
    """Raise BadInput where a data set has more labels than the method can tell apart."""
    if info.max_labels is not None and train.labels > info.max_labels:
        raise BadInput(
            f"method '{info.name}' takes at most {info.max_labels} labels, and '{train.name}' has {train.labels}.",
            field="method",
        )


def equally_many(rows: Sequence[int]) -> None:
    """Raise RunFailed where training sets of one loop have unlike numbers of rows: noise and rates are set for one."""
    sizes = sorted(set(rows))
    if len(sizes) > 1:
        raise RunFailed(f"models of one loop need equally many training rows, got {', '.join(map(str, sizes))}.")


def difference_bound(
    default: float, among: str = "any group and everyone", *, fairer: Literal["less"] | None = "less"
) -> Any:
    """How large a gap may be; `fairer` is None where something else trades accuracy against it."""
    return parameter(
        default,
        "Bound on the gap",
        f"Largest difference between {among} that the search allows on the training rows, as far as it can tell. "
        "0 is as fair as it gets, 1 is no constraint.",
        low=0.0,
        high=1.0,
        log=True,
        fairer=fairer,
    )


def iterations(default: int, help: str) -> Any:
    """How long the search goes on."""
    return parameter(default, "Rounds", help, low=1, high=1000, log=True)


def laplace_scale(title: str, over: str) -> Any:
    """A Laplace scale that calibration sets unless a person does."""
    return parameter(
        None, title, f"Scale of the Laplace noise over {over}; empty: set from ε.", low=0.0, high=1e4, expert=True
    )
