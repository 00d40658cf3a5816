"""Starting values of hyperparameters, from the scales of the data.

bandwidth of a column    its standard deviation times √d: a typical pair is about one apart
variance of a term       the target's variance, over the mean of its diagonal
noise                    a tenth of the variance of the smallest term

They follow the units of columns and target. Several radial terms of a sum, which equal starts would
leave equal, start one below the other: the first explains the long and large changes, every further
one has a quarter of the bandwidth and a tenth of the variance of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.kernels.algebra import Composite, Exponential, Product, Scaled, Sum
from separatrix.kernels.base import Items, Kernel, n_items
from separatrix.kernels.parameters.constraints import Bounded, Constrained, Fixed
from separatrix.kernels.parameters.hyperparameters import Floats
from separatrix.kernels.stationary.constant import Constant, White
from separatrix.kernels.stationary.radial import RadialKernel
from separatrix.kernels.tiles import as_matrix
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid
from separatrix.statistics.standardizer import Standardizer

#: Variance of the noise over that of the smallest term.
NOISE = 0.1
#: Bandwidth and variance of a radial term of a sum over those of the radial term before it.
SHORTER, SMALLER = 0.25, 0.1


def natural_scales(
    kernel: Kernel, x: Items, w: Floats | None = None, target_variance: float = 1.0
) -> Kernel:
    """The kernel with its free hyperparameters at starting values taken from the data.

    Parameters
    ----------
    kernel : Kernel
        Any expression; its fixed hyperparameters, integers, periods and decays stay.
    x : items
        The training rows.
    w : ndarray of shape (n,), optional
        Their weights.
    target_variance : float, default=1.0
        The (weighted) variance of the targets.

    Returns
    -------
    Kernel
        The same expression with other hyperparameters.
    """
    variance = target_variance if 0.0 < target_variance < np.inf else 1.0
    return _started(kernel, _Scales.of(kernel, x, w), float(variance))


@dataclass(frozen=True)
class _Scales:
    """The items with weights, and the standard deviation of every column of numbers."""

    x: Items
    w: Floats
    columns: Floats
    shrink: float = 1.0

    @classmethod
    def of(cls, kernel: Kernel, x: Items, w: Floats | None) -> _Scales:
        weights = np.ones(n_items(x)) if w is None else np.asarray(w, dtype=float)
        numbers = kernel.of_vectors and not kernel.of_anything
        if not numbers or not weights.sum() > 0.0:
            return cls(x, weights, np.empty(0))
        return cls(x, weights, Standardizer.from_rows(as_matrix(x), weights).scale)

    def bandwidths(self) -> Floats:
        """One bandwidth for every column; NaN where it is constant."""
        scaled = self.shrink * np.sqrt(len(self.columns)) * self.columns
        return np.where(self.columns > 0.0, scaled, np.nan)

    def bandwidth(self) -> float:
        """One for all columns together; NaN where all are constant."""
        largest = float(self.columns.max(initial=0.0))
        if not largest > 0.0:
            return float("nan")
        return self.shrink * largest * float(np.sqrt(np.sum((self.columns / largest) ** 2)))

    def mean_diagonal(self, kernel: Kernel) -> float:
        """The weighted mean of κ(x, x), or 1 where that is no positive number."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = float(self.w @ np.asarray(kernel.diagonal(self.x), dtype=float) / self.w.sum())
        return mean if 0.0 < mean < np.inf else 1.0


def _started(kernel: Kernel, scales: _Scales, variance: float) -> Kernel:
    """The kernel at its start, if the function it describes is to have this variance."""
    if isinstance(kernel, Constrained):
        return _constrained(kernel, scales, variance)
    if isinstance(kernel, Sum):
        return _sum(kernel, scales, variance)
    if isinstance(kernel, Product):
        return _product(kernel, scales, variance)
    if isinstance(kernel, Scaled):
        inner = _started(kernel.kernel, scales, 1.0)
        return Scaled(inner, variance / scales.mean_diagonal(inner))
    if isinstance(kernel, Exponential):
        return Exponential(_started(kernel.kernel, scales, 1.0))
    if isinstance(kernel, Composite):
        children = tuple(_started(child, scales, 1.0) for child in kernel._children())
        return kernel._with_children([p.value for _, p in kernel._own_hyperparameters()], children)
    if isinstance(kernel, White):
        return White(NOISE * variance)
    if isinstance(kernel, Constant):
        return Constant(variance)
    return _vectors(kernel, scales)


def _vectors(kernel: Kernel, scales: _Scales) -> Kernel:
    """A kernel of rows of numbers in their units."""
    if isinstance(kernel, RadialKernel):
        return kernel.started(scales.bandwidths() if kernel.by_column else scales.bandwidth())
    if isinstance(kernel, Polynomial | Sigmoid):
        scale = 1.0 / scales.mean_diagonal(Linear())
        if isinstance(kernel, Polynomial):
            return replace(kernel, scale=scale, constant=1.0)
        return replace(kernel, scale=scale)
    return kernel


def _sum(kernel: Sum, scales: _Scales, variance: float) -> Kernel:
    """Every radial term is shorter and smaller than the one before, and noise smaller than all."""
    parts, shrink, smallest, at = [], [], variance, 0
    for term in kernel.operands:
        shrink.append(scales.shrink * SHORTER**at)
        parts.append(variance * SMALLER**at if _is_radial(term) else variance)
        if term._noiseless() is not None:
            smallest = min(smallest, parts[-1])
            at += _is_radial(term)
    terms = [
        _started(term, replace(scales, shrink=s), smallest if term._noiseless() is None else part)
        for term, s, part in zip(kernel.operands, shrink, parts, strict=True)
    ]
    return Sum(tuple(terms))


def _product(kernel: Product, scales: _Scales, variance: float) -> Kernel:
    """The first factor with a variance of its own takes all of it, others have one."""
    factors = [_started(factor, scales, 1.0) for factor in kernel.operands]
    at = next((i for i, factor in enumerate(factors) if _has_variance(factor)), None)
    if at is not None:
        rest = variance / scales.mean_diagonal(Product(tuple(factors)))
        factors[at] = _started(kernel.operands[at], scales, rest)
    return Product(tuple(factors))


def _constrained(kernel: Constrained, scales: _Scales, variance: float) -> Kernel:
    """Free hyperparameters only, and those within their bounds."""
    inner = _started(kernel.kernel, scales, variance)
    if isinstance(kernel, Fixed):
        free = zip(kernel._free(), inner._hyperparameters(), strict=True)
        return kernel._with_values([p.value for is_free, (_, p) in free if is_free])
    found = kernel._with_children((), (inner,))
    if isinstance(found, Bounded):
        values = [
            float(np.clip(p.value, p.low, p.high)) if p.bounded else p.value
            for _, p in found._hyperparameters()
        ]
        return found._with_values(values)
    return found


def _is_radial(kernel: Kernel) -> bool:
    return isinstance(kernel, RadialKernel) or any(map(_is_radial, kernel._children()))


def _has_variance(kernel: Kernel) -> bool:
    """Whether a hyperparameter of the kernel is a factor of it."""
    if isinstance(kernel, Fixed):
        return kernel.names is not None and _has_variance(kernel.kernel)
    if isinstance(kernel, Bounded):
        return _has_variance(kernel.kernel)
    return isinstance(kernel, Constant | Scaled | White)
