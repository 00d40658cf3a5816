"""Kernels between new rows and stored centers, over values of any kind."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.formula.distances import manhattan, squared_distances
from separatrix.formula.values import NoFormula, Value

#: Functions of distances in bandwidths.
RADIAL = ("Gaussian", "Laplace", "Matern", "RationalQuadratic", "Periodic")


def kernel_values(kernel: Any, x: Value, centers: Floats) -> Value:
    """κ of new rows with all centers (n x m); white noise is zero between different rows."""
    name = type(kernel).__name__
    if name in ("Fixed", "Bounded"):
        return kernel_values(kernel.kernel, x, centers)
    if name in RADIAL:
        inverse = kernel.inverse_bandwidths(centers.shape[1])
        if getattr(kernel, "norm", 2) == 1:
            return (-manhattan(x * inverse, centers * inverse).power(float(kernel.exponent))).exp()
        return _radial(kernel, squared_distances(x * inverse, centers * inverse))
    if name in ("Linear", "Polynomial", "Sigmoid"):
        scale = float(getattr(kernel, "scale", 1.0))
        return _of_product(kernel, x @ np.ascontiguousarray(scale * centers.T))
    if name == "Constant":
        return x.fill(kernel.constant, len(centers))
    if name == "White":
        return x.fill(0.0, len(centers))
    if name == "Normalized":
        stored = kernel.kernel.diagonal(centers)
        own = kernel_diagonal(kernel.kernel, x)
        values = kernel_values(kernel.kernel, x, centers)
        return values * _inverse_root(own) * _inverse_norms(stored)[None, :]
    parts = [kernel_values(child, x, centers) for child in _operands(kernel)]
    return _combine_kernels(kernel, parts)


def kernel_diagonal(kernel: Any, x: Value) -> Value:
    """κ(x, x) of every row (n x 1)."""
    name = type(kernel).__name__
    if name in ("Fixed", "Bounded"):
        return kernel_diagonal(kernel.kernel, x)
    if name in RADIAL:
        return x.fill(1.0, 1)
    if name in ("Linear", "Polynomial", "Sigmoid"):
        return _of_product(kernel, x.square().sum() * float(getattr(kernel, "scale", 1.0)))
    if name == "Constant":
        return x.fill(kernel.constant, 1)
    if name == "White":
        return x.fill(kernel.variance, 1)
    if name == "Normalized":
        return (kernel_diagonal(kernel.kernel, x) > 0.0).double()
    parts = [kernel_diagonal(child, x) for child in _operands(kernel)]
    return _combine_kernels(kernel, parts)


def _operands(kernel: Any) -> tuple[Any, ...]:
    """The operands of a sum, product, multiple, exponential or power."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        return tuple(kernel.operands)
    if name in ("Scaled", "Exponential", "Power"):
        return (kernel.kernel,)
    raise NoFormula(f"The kernel {kernel} has no formula in ONNX operators of double precision.")


def _combine_kernels(kernel: Any, parts: list[Value]) -> Value:
    name = type(kernel).__name__
    if name == "Sum":
        return reduce(lambda a, b: a + b, parts)
    if name == "Product":
        return reduce(lambda a, b: a * b, parts)
    if name == "Scaled":
        return parts[0] * float(kernel.factor)
    if name == "Exponential":
        return parts[0].exp()
    return parts[0].power(float(kernel.exponent))


def _radial(kernel: Any, square: Value) -> Value:
    """f(s) of squared distances in bandwidths."""
    name = type(kernel).__name__
    if name == "RationalQuadratic":
        alpha = float(kernel.alpha)
        return (square / (2.0 * alpha) + 1.0) ** (-alpha)
    if name == "Periodic":
        turns = square.sqrt()
        turns = turns - turns.apply("Floor")  # sines repeat themselves: small angles are exact
        sine = (turns * np.pi).apply("Sin")
        found: Value = (sine.square() * (-2.0 / kernel.bandwidth**2)).exp()
        return found
    if name == "Laplace":
        return (-square.power(0.5 * float(kernel.exponent))).exp()
    if name == "Gaussian" or kernel.nu == np.inf:
        return (square * -0.5).exp()
    factor = {0.5: 1.0, 1.5: 3.0, 2.5: 5.0}.get(float(kernel.nu))
    if factor is None:
        raise NoFormula(
            f"The Matérn kernel with nu={kernel.nu:g} needs Bessel functions, which ONNX lacks."
        )
    t = (square * factor).sqrt()
    decay = (-t).exp()
    if kernel.nu == 0.5:
        return decay
    return (t + 1.0) * decay if kernel.nu == 1.5 else (t + 1.0 + t.square() / 3.0) * decay


def _of_product(kernel: Any, product: Value) -> Value:
    """f of the products s x·z."""
    name = type(kernel).__name__
    if name == "Linear":
        return product
    inner = product + float(kernel.constant)
    return inner.apply("Tanh") if name == "Sigmoid" else inner.power(float(kernel.degree))


def _inverse_root(square: Value) -> Value:
    positive = square > 0.0
    return positive.where(1.0 / positive.where(square, 1.0).sqrt(), 0.0)


def _inverse_norms(square: Floats) -> Floats:
    return np.where(square > 0.0, 1.0 / np.sqrt(np.where(square > 0.0, square, 1.0)), 0.0)


def dense(points: Any) -> Floats:
    """Stored points as an array."""
    found = points.toarray() if sparse.issparse(points) else points
    return np.asarray(found, dtype=np.float64)
