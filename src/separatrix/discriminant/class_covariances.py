"""From class moments to class scores: covariances mixed, whitened and checked.

    Σₖ = α σ² U² + β S + (1 − α − β) Sₖ + ρ I

S is the pooled covariance, U the deviations of the columns over all rows and σ² the mean variance
within classes in these units: on equilibrated columns the first term is a sphere, so that mixing
does not depend on units. ρ I does, by definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.class_scores import AxisScores, ClassScores, LinearScores, QuadraticScores
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.class_moments import ClassMoments

EPS = float(np.finfo(float).eps)
#: Variance, relative to that of all rows, given to directions in which each class is one point.
FLOOR = 1e-12
REMEDY = (
    "Use RegularizedDiscriminantAnalysis, which mixes it with what the classes have in common "
    "(alpha, beta or reg_param above 0 do so too), share one covariance, or give fewer columns."
)


@dataclass(frozen=True)
class Mix:
    """How the covariance of a class is put together; ``smoothing`` adds shares of the total
    variance of each column, ``ridge`` is ρ, with (1 − ρ) for the rest.
    """

    alpha: float = 0.0
    beta: float = 0.0
    ridge: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "ridge"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name}={getattr(self, name)} must lie between 0 and 1.")
        if self.alpha + self.beta > 1 + 1e-12:
            raise InputError(
                f"alpha={self.alpha} and beta={self.beta} add up to more than 1.",
                remedy="1 − alpha − beta is the weight of each class's own covariance.",
            )
        if not self.smoothing >= 0:
            raise InputError(f"var_smoothing={self.smoothing} must not be negative.")

    @property
    def own(self) -> float:
        """The weight of each class's own covariance."""
        return max(0.0, 1.0 - self.alpha - self.beta)

    @property
    def plain(self) -> bool:
        """Whether each class keeps exactly its own covariance."""
        return not (self.alpha or self.beta or self.ridge or self.smoothing)


@dataclass(frozen=True)
class Names:
    """What classes and columns are called in a refusal."""

    classes: list[Any]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """Scores of the classes, their covariances, and how well these are determined."""

    scores: ClassScores
    covariance: Floats
    rank: int
    condition: float
    error: float
    flat: int = 0


def fit_classes(m: ClassMoments, kind: str, mix: Mix, log_priors: Floats, names: Names) -> Fitted:
    """The scores ln P(k) + ln p(x | k) of Gaussian classes, up to a number common to all."""
    seen = m.weight > 0
    means = np.where(seen[:, None], m.mean, m.grand_mean)
    if kind in ("full", "shared"):
        return _full(m, kind == "shared", mix, log_priors, means, names)
    return _axes(m, kind, mix, log_priors, means, names)


# -- covariances that are matrices ---------------------------------------------------------------


def _full(
    m: ClassMoments, shared: bool, mix: Mix, log_priors: Floats, means: Floats, names: Names
) -> Fitted:
    total = m.within + m.between
    unit, varies = units(np.diag(total), m.grand_mean)
    covariance = mixed(m, mix, unit, varies, shared)
    inside = np.sqrt(np.maximum(np.diag(m.within), 0.0))
    inside = np.where(inside > 4 * EPS * (np.abs(m.grand_mean) + unit), inside, unit)
    frame = span_frame(m, inside, varies, whole=bool(mix.alpha or mix.ridge))
    seen = covariance
    if not shared and (m.weight == 0).any():  # a class announced but not met looks like all others
        seen = np.where((m.weight > 0)[:, None, None], covariance, m.within)
    inner = frame.T @ seen @ frame
    rounding = 4 * EPS * np.abs(frame).T @ (np.abs(m.grand_mean) + unit)
    maps, log_volume, condition, flat = _whitened(inner, rounding)
    if flat.any() and not shared:
        raise _singular(int(np.argmax(flat)), m, frame.shape[1], names)
    if not flat.any():
        whole = maps.swapaxes(-1, -2) @ inner @ maps
        error = float(np.abs(whole - np.eye(frame.shape[1])).max(initial=0.0))
    else:
        error = 0.0
    maps = frame @ maps if shared else triangular(frame @ maps)
    steps = (means - m.grand_mean)[:, None, :]
    at = (steps @ maps)[:, 0, :]
    scores: ClassScores
    if shared:
        offset = log_priors - 0.5 * np.einsum("kr,kr->k", at, at)
        scores = LinearScores(m.grand_mean, at @ maps[0].T, offset)
    else:
        scores = QuadraticScores(m.grand_mean, maps, at, log_priors - log_volume)
    covariance = covariance[0] if shared else covariance
    return Fitted(scores, covariance, frame.shape[1], condition, error, int(flat.sum()))


def units(variance: Floats, centre: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The deviation of each column (1 where it has none), and whether it varies at all."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    varies = deviation > 4 * EPS * np.abs(centre)
    return np.where(varies, deviation, 1.0), np.asarray(varies)


def mixed(
    m: ClassMoments, mix: Mix, unit: Floats, varies: NDArray[np.bool_], shared: bool
) -> Floats:
    """Σₖ for each class, in the units of the data (one matrix where it is shared)."""
    pooled = m.within
    sphere = np.where(varies, unit**2, 0.0) * sphere_variance(np.diag(pooled), unit, varies)
    covariance = pooled[None] if shared else m.covariances
    if not mix.plain:
        covariance = mix.own * covariance + mix.beta * pooled + mix.alpha * np.diag(sphere)
        covariance = (1.0 - mix.ridge) * covariance + mix.ridge * np.eye(len(unit))
    return np.asarray(covariance)


def sphere_variance(variance: Floats, unit: Floats, varies: NDArray[np.bool_]) -> float:
    """σ²: the mean variance within classes on equilibrated columns."""
    return float((variance / unit**2)[varies].mean()) if varies.any() else 1.0


def span_frame(m: ClassMoments, unit: Floats, varies: NDArray[np.bool_], *, whole: bool) -> Floats:
    """d x r: to coordinates, in these units, of the span of the rows.

    Directions in which no two rows differ tell nothing and are left out: those in which neither
    rows within classes nor the class means vary, each judged by its own size. Where the mixture
    makes every direction count (``whole``), only constant columns are.
    """
    axes = np.eye(len(unit))[:, varies] / unit[:, None]
    if whole or not varies.any():
        return axes
    spreads = [axes.T @ spread @ axes for spread in (m.within, m.between)]
    sizes = [np.trace(spread) for spread in spreads]
    both = sum(spread / size for spread, size in zip(spreads, sizes, strict=True) if size > 0)
    values, vectors = np.linalg.eigh(both)
    kept = values > 10 * len(unit) * EPS * values.max()
    return axes if kept.all() else axes @ vectors[:, kept]


def _whitened(inner: Floats, rounding: Floats) -> tuple[Floats, Floats, float, NDArray[np.bool_]]:
    """A with AᵀΣA = I, ½ ln|Σ|, the worst condition number, and which Σ are singular (K of each).

    Every Σ is equilibrated first, so that a class that is narrow in one column keeps its digits. A
    deviation of no more than ``rounding`` is none.
    """
    deviation = np.sqrt(np.maximum(np.diagonal(inner, axis1=1, axis2=2), 0.0))
    point = deviation <= rounding
    deviation = np.where(point, np.sqrt(FLOOR), deviation)
    even = inner / (deviation[:, :, None] * deviation[:, None, :])
    values, vectors = np.linalg.eigh(0.5 * (even + even.swapaxes(-1, -2)))
    none = values <= 10 * max(inner.shape[1], 1) * EPS
    values = np.where(none, FLOOR, values)
    condition = float((values.max(axis=1, initial=1.0) / values.min(axis=1, initial=1.0)).max())
    maps = vectors / np.sqrt(values)[:, None, :] / deviation[:, :, None]
    volume = 0.5 * np.log(values).sum(axis=1) + np.log(deviation).sum(axis=1)
    return maps, volume, condition, (none | point).any(axis=1)


def triangular(maps: Floats) -> Floats:
    """A R with R orthogonal that has zeros below the diagonal: distances ‖zA‖ stay the same."""
    if not maps.size:
        return maps
    turned = np.linalg.qr(maps[:, ::-1].transpose(0, 2, 1)).R
    return np.asarray(turned.transpose(0, 2, 1)[:, ::-1, ::-1])


def _singular(k: int, m: ClassMoments, rank: int, names: Names) -> InputError:
    rows, name = int(m.count[k]), names.classes[k]
    if rows <= rank:
        what = f"Class {name!r} has {rows} row{'s' * (rows != 1)} for {rank} independent columns"
    else:
        what = f"The rows of class {name!r} do not vary in some direction in which others do"
    return InputError(f"{what}: its own covariance is singular.", remedy=REMEDY)


# -- covariances that are vectors ----------------------------------------------------------------


def _axes(
    m: ClassMoments, kind: str, mix: Mix, log_priors: Floats, means: Floats, names: Names
) -> Fitted:
    shared, sphere = kind.startswith("shared"), kind.endswith("spherical")
    total, pooled = m.within + m.between, m.within
    own = np.tile(pooled, (len(means), 1)) if shared else m.covariances
    unit, varies = units(total, m.grand_mean)
    if sphere:
        unit, varies = np.ones_like(unit), np.full_like(varies, varies.any())
        total, pooled, own = (_averaged(v) for v in (total, pooled, own))
    common = sphere_variance(pooled, unit, varies) * unit**2
    variance = mix.own * own + mix.beta * pooled + mix.alpha * common + mix.smoothing * total
    variance = np.where((m.weight > 0)[:, None], variance, np.where(pooled > 0, pooled, total))
    point = variance <= np.maximum((4 * EPS * np.abs(means)) ** 2, EPS**2 * total)
    point = point & varies
    if point.any() and not shared:
        k, j = (int(at) for at in np.argwhere(point)[0])
        raise InputError(
            f"all rows of class {names.classes[k]!r} agree, so that it has no variance of its own.",
            column=None if sphere else names.columns[j],
            remedy="Mix in what the classes have in common: alpha or beta above 0, or GaussianNB.",
        )
    used = np.where(point, FLOOR * total, variance)
    ratio = np.where(varies, used / unit**2, 1.0)
    scale = np.where(varies, 1.0 / np.sqrt(np.where(varies, used, 1.0)), 0.0)
    scores: ClassScores
    if shared:
        at = (means - m.grand_mean) * scale
        offset = log_priors - 0.5 * np.einsum("kd,kd->k", at, at)
        scores = LinearScores(m.grand_mean, at * scale, offset)
    else:
        scores = AxisScores(means, scale, log_priors - 0.5 * np.log(ratio).sum(axis=1))
    worst = float((ratio.max(axis=1, initial=1.0) / ratio.min(axis=1, initial=1.0)).max())
    covariance = variance[0] if shared else variance
    return Fitted(scores, covariance, int(varies.sum()), worst, 0.0, int(point.any()))


def _averaged(variance: Floats) -> Floats:
    """The mean variance in place of each column's."""
    return np.repeat(variance.mean(axis=-1, keepdims=True), variance.shape[-1], axis=-1)
