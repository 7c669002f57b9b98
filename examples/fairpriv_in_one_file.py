"""PF-LD, the proved variant, in one file: what it does, and why its ε holds.

    python examples/fairpriv_in_one_file.py

A classifier is trained so that every group is predicted positive equally often (demographic parity), by the Lagrangian
method of Tran, Fioretto and Van Hentenryck (2021), "Differentially private and fair deep learning". What differs from
the paper, and why, stands in docs/privacy.md. The software itself trains many models of any network and notion at once
(fairpriv_core/methods/pf_ld.py); here is one logistic regression, and a test holds its parameters to the same bits.

The promise: two data sets are neighbours if one person's group differs. Features, labels and the number of rows are
public. Then an attacker who sees all that this file releases, every step included, ends at (ε, δ).

So the private thing is `group`, and it is read in three places only, each behind Gaussian noise:

    1. once, the groups' sizes                                 -> counts d_a
    2. at each step, a sum over a secret sample of the rows    -> the fairness part of the gradient
    3. at each epoch's end, the groups' mean predictions       -> the violations, which move the multipliers λ_a

Everything else is computed from public values and from what those three have released.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian
from fairpriv_core.privacy.noise import StepNoise, draw_poisson_samples
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.seeds import public_generator

BLOCK = 128  # rows in a float32 product; the sums of blocks are added in float64
EXCESS = 0.003  # what rounding inside a block can add to a sensitivity (fairpriv_core/privacy/sums.py has the proof)
MARGIN = 1e-5  # clip to a little less, so that what is rounded to float32 stays within its bound
FEWEST = 30.0  # rows that a group must have, by its noisy count


@dataclass(frozen=True)
class Settings:
    """What a person chooses. `share_dual` and `share_counts` are shares of the budget; steps get the rest."""

    epsilon: float = 1.0
    delta: float = 1e-5
    epochs: int = 20
    batch_size: int = 256
    learning_rate: float = 0.002
    clip_primal: float = 0.5  # C_p: how long one person's gradient may be
    clip_dual: float = 1.0  # C_d: how much one person may add to a violation
    multiplier_max: float = 2.0  # λ_max: how much fairness may weigh against accuracy
    dual_step: float = 0.5
    share_dual: float = 0.25
    share_counts: float = 0.05


@dataclass(frozen=True)
class Noise:
    """Noise multipliers: standard deviations over what one person can change."""

    counts: float
    dual: float
    primal: float


def announce(settings: Settings, noise: Noise, n: int) -> Events:
    """Return what training on n rows will release, as the accountant reads it."""
    steps = math.ceil(n / settings.batch_size) * (settings.epochs - 1)  # the first epoch has λ = 0: nothing to hide
    return (
        Gaussian(noise.counts),
        Gaussian(noise.dual, settings.epochs - 1),
        SampledGaussian(noise.primal, settings.batch_size / n, steps, "replace"),
    )


def find_noise(settings: Settings, n: int) -> Noise:
    """Return the smallest multipliers whose releases cost at most ε.

    The whole budget as one number is mu, that of the Gaussian mechanism with the same (ε, δ) (Dong, Roth and Su, 2022).
    Gaussians compose by the sum of mu², so shares of mu² are shares of the budget. What the sampled sums then may cost
    has no closed form: it is searched with the privacy loss distribution of the whole composition.
    """
    mu = gaussian_mu(settings.epsilon, settings.delta)
    counts = 1.0 / (mu * math.sqrt(settings.share_counts))
    dual = math.sqrt((settings.epochs - 1) / settings.share_dual) / mu
    budget = {"epsilon": settings.epsilon, "delta": settings.delta}
    primal = calibrate(lambda multiplier: announce(settings, Noise(counts, dual, multiplier), n), **budget)
    return Noise(counts, dual, primal)


class Mechanism:
    """Adds the noise and counts what it released: ε comes from this count, not from what was planned.

    Noise is float64 from a cryptographic generator keyed by the operating system. Value plus noise is rounded to a
    grid that follows from the noise's scale alone, since the low bits of a floating-point sum tell of the value that
    the noise hides (Mironov, 2012).
    """

    def __init__(self, randomness: Randomness, *, parameters: int, rate: float) -> None:
        self._randomness, self._rate = randomness, rate
        self._normals = StepNoise(parameters, lambda block: randomness.stream("sampled_gaussian", 0, block, parameters))
        self._counted: Counter[Gaussian | SampledGaussian] = Counter()

    @property
    def released(self) -> Events:
        """What was released so far."""
        return tuple(replace(event, count=count) for event, count in self._counted.items())

    def sample(self, n: int, epoch: int, steps: int) -> list[np.ndarray]:
        """Return each step's secret Poisson sample: every row is in with chance `rate`, whatever it holds."""
        stream = self._randomness.stream("sample", 0, epoch, n, steps, *self._rate.as_integer_ratio())
        return draw_poisson_samples(stream, n=n, rate=self._rate, steps=steps)

    def release(self, value: np.ndarray, *, bound: float, multiplier: float, purpose: str, index: int) -> np.ndarray:
        """Release a function of all rows, which one person moves by at most `bound` in L2 norm."""
        self._counted[Gaussian(multiplier)] += 1
        normals = self._randomness.stream(f"gaussian/{purpose}", 0, index).standard_normal(value.size)
        return _add(value, bound * multiplier, normals)

    def release_sampled(self, total: np.ndarray, *, radius: float, multiplier: float, step: int) -> np.ndarray:
        """Release a sum over a step's secret sample, whose contributions are at most `radius` long.

        A person who changes group goes from one point of that ball to another: at worst from +radius to -radius.
        """
        self._counted[SampledGaussian(multiplier, self._rate, 1, "replace")] += 1
        return _add(total, radius * multiplier, np.concatenate([*self._normals.pieces(step)]))


def _add(value: np.ndarray, deviation: float, normals: np.ndarray) -> np.ndarray:
    grid = math.ldexp(1.0, math.frexp(deviation)[1] - 21)  # a power of two, about a millionth of the deviation
    middle = 1.5 * 2.0**52 * grid  # float64 this large holds multiples of the grid alone, so adding it rounds
    return (deviation * normals + value + middle) - middle


class Trainer:
    """One training run: minimises loss + Σ_a λ_a (mean prediction of all - mean prediction of group a).

    λ_a rises while group a is predicted positive too rarely and falls while it is too often: a signed multiplier, so
    that the sign of a violation, which tells of people's groups, is read from the noisy release alone.

    A sampled row of group a enters with the coefficient c_a = λ_a / (q d_a). The middle between the largest and the
    smallest is the same for all groups, so it says nothing of anyone: its part of the sum is public. What is left is
    at most `radius` in size, half of what c_a itself could change.
    """

    def __init__(self, train: Dataset, settings: Settings, noise: Noise, randomness: Randomness) -> None:
        self.X, self.y, self.settings, self.noise = train.X, train.y.astype(np.float32), settings, noise
        self.norms = np.sqrt(np.vecdot(self.X, self.X) + np.float32(1.0))  # |(x, 1)|: of the gradient of a row's logit
        self.rate = settings.batch_size / train.n
        self.parameters = np.zeros(train.d + 1, dtype=np.float32)  # weights, then the bias
        self.mechanism = Mechanism(randomness, parameters=train.d + 1, rate=self.rate)
        self.group, self.groups = train.group, train.groups  # protected: read in the three places below
        self.counts = self.release_counts()
        self.set_multipliers(np.zeros(train.groups))

    def train(self, seed: int) -> np.ndarray:
        """Return the parameters. `seed` is public: it decides the batches, never noise nor a secret sample."""
        n, size = len(self.y), self.settings.batch_size
        steps, update = math.ceil(n / size), adam(self.settings.learning_rate, len(self.parameters))
        for epoch in range(self.settings.epochs):
            order = public_generator(seed, "batches", epoch).permutation(n)
            samples = self.mechanism.sample(n, epoch, steps) if self.radius else []
            for step in range(steps):
                gradient = self.public_gradient(order[step * size : (step + 1) * size])
                if self.radius:
                    gradient += self.release_gradient(samples[step], epoch * steps + step)
                update(self.parameters, gradient)
            if epoch + 1 < self.settings.epochs and self.settings.multiplier_max:  # else λ changes nothing: no release
                moved = self.multipliers + self.settings.dual_step * self.release_violations(epoch)
                self.set_multipliers(moved.clip(-self.settings.multiplier_max, self.settings.multiplier_max))
        return self.parameters

    def set_multipliers(self, multipliers: np.ndarray) -> None:
        """Take new multipliers λ (groups,), made of what was released."""
        self.multipliers, coefficients = multipliers, multipliers / (self.rate * self.counts)
        self.middle = (coefficients.max() + coefficients.min()) / 2.0
        self.centred = (coefficients - self.middle).astype(np.float32)
        self.radius = float(np.abs(self.centred).max())  # 0: the term is 0 for everyone, and nothing is released

    def release_counts(self) -> np.ndarray:
        """First place: the groups' sizes. A person who moves takes 1 from one and adds 1 to another: √2 in L2."""
        sizes, noise = np.bincount(self.group, minlength=self.groups).astype(np.float64), self.noise.counts
        counts = self.mechanism.release(sizes, bound=math.sqrt(2.0), multiplier=noise, purpose="counts", index=0)
        if counts.min() < FEWEST:
            raise SystemExit(f"a group has about {max(counts.min(), 0.0):.0f} rows; at least {FEWEST:.0f} are needed.")
        return counts

    def release_gradient(self, sample: np.ndarray, step: int) -> np.ndarray:
        """Second place: the groups' part of the gradient, summed over a secret sample and noised."""
        chance = sigmoid(score(self.parameters, self.X[sample]))
        weights = self.clip(chance * (1.0 - chance), sample) * -self.centred[self.group[sample]]
        total, radius = sum_by_block(self.X[sample], weights), self.radius * self.settings.clip_primal * (1.0 + EXCESS)
        noisy = self.mechanism.release_sampled(total, radius=radius, multiplier=self.noise.primal, step=step)
        return noisy.astype(np.float32)

    def release_violations(self, epoch: int) -> np.ndarray:
        """Third place: by how much each group's mean prediction falls short of everybody's.

        Predictions are clipped to [0, C_d] and centred, so that one person adds at most C_d / 2 to a group's sum and
        moves two groups' means; they lie on a grid on which float64 adds them without rounding.
        """
        bound, half = self.settings.clip_dual, self.settings.clip_dual / 2.0
        chance = sigmoid(score_all(self.parameters, self.X)).astype(np.float64)
        grid = math.ldexp(1.0, math.frexp(half)[1] - 24)
        centred = np.rint((chance.clip(bound * MARGIN, bound * (1.0 - MARGIN)) - half) / grid) * grid
        means = np.bincount(self.group, centred, self.groups) / self.counts
        bound = half * math.sqrt(float((np.sort(1.0 / self.counts)[-2:] ** 2).sum()))  # of the two smallest groups
        noisy = self.mechanism.release(means, bound=bound, multiplier=self.noise.dual, purpose="dual", index=epoch)
        everybody = np.bincount(self.y.astype(np.int64), chance, 2).sum() / len(chance)
        return everybody - (noisy + half)

    def public_gradient(self, batch: np.ndarray) -> np.ndarray:
        """Return the gradient of a public batch: the loss, Σ λ_a times everybody's mean, and the groups' middle."""
        chance, size = sigmoid(score(self.parameters, self.X[batch])), np.float32(len(batch))
        weights = (chance - self.y[batch]) / size
        if self.radius:
            derivative = chance * (1.0 - chance)
            middle = np.float32(self.middle * self.rate) * np.float32(len(self.y) / len(batch))
            weights += derivative * (np.float32(self.multipliers.sum()) / size)
            weights -= self.clip(derivative, batch) * middle
        return product(self.X[batch], weights)

    def clip(self, derivative: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return derivatives p (1 - p) so that a row's gradient, derivative times (x, 1), is at most C_p long."""
        return np.minimum(derivative, np.float32(self.settings.clip_primal) * (1.0 - MARGIN) / self.norms[rows])


def score(parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the logits of rows, BLOCK at a time: what comes of a row depends on no other, nor on their number."""
    whole = len(rows) - len(rows) % BLOCK
    weights, blocks = parameters[:-1, None], rows[:whole].reshape(-1, BLOCK, rows.shape[1])
    return np.concatenate([(blocks @ weights).ravel(), (rows[whole:] @ weights).ravel()]) + parameters[-1]


def score_all(parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the logits of all rows, 1,024 at a time."""
    parts = [parameters[None, :-1] @ rows[start : start + 1024].T for start in range(0, len(rows), 1024)]
    return np.concatenate(parts, axis=1)[0] + parameters[-1]


def product(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ weight (x, 1) in float32: the gradient by weights, then by the bias."""
    return np.append(weights[None] @ rows, weights.sum())


def sum_by_block(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ weight (x, 1) so that one row moves it by no more than its own length and EXCESS, rounding included."""
    whole = len(rows) - len(rows) % BLOCK
    total = product(rows[whole:], weights[whole:]).astype(np.float64)
    blocks = [product(rows[at : at + BLOCK], weights[at : at + BLOCK]) for at in range(0, whole, BLOCK)]
    return total + np.sum(blocks, axis=0, dtype=np.float64) if blocks else total


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-o))."""
    return np.reciprocal(np.exp(-logits) + np.float32(1.0))


def adam(rate: float, size: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return Adam's update (Kingma and Ba, 2015), which changes parameters in place; it sees noisy gradients alone."""
    mean, square, steps = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32), 0

    def update(parameters: np.ndarray, gradient: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        mean[:] = 0.9 * mean + (1.0 - 0.9) * gradient
        square[:] = 0.999 * square + (1.0 - 0.999) * (gradient * gradient)
        spread = np.sqrt(square) / (1.0 - 0.999**steps) ** 0.5 + 1e-8
        parameters -= mean / spread * (np.float32(rate) / (1.0 - 0.9**steps))

    return update


def main() -> None:
    """Train on Adult with fresh noise; print what it cost, what came of it, and what comes of λ = 0."""
    train, test = split_dataset(load_dataset(DataSpec(dataset="adult", sensitive="sex")), seed=0)
    settings = Settings(batch_size=1024, learning_rate=0.01)
    noise = find_noise(settings, train.n)
    fair = Trainer(train, settings, noise, Randomness.fresh())
    plain = Trainer(train, replace(settings, multiplier_max=0.0), noise, Randomness.fresh())
    models = {"PF-LD": fair.train(seed=0), "λ = 0": plain.train(seed=0)}
    spent = epsilon(fair.mechanism.released, settings.delta)
    print(f"ε = {spent:.4f} at δ = {settings.delta:g}; it protects each person's {train.sensitive}")
    for name, parameters in models.items():
        decided = score(parameters, test.X) > 0.0
        rates = [decided[test.group == group].mean() for group in range(test.groups)]
        gap = max(rates) - min(rates)  # raw: computed on protected data without noise, for the analyst
        print(f"{name}: accuracy {(decided == test.y).mean():.4f}, demographic parity gap {gap:.4f}")


if __name__ == "__main__":
    main()
