"""Kernels: an algebra of similarities, on rows of numbers and on structures."""

from separatrix.similarity.kernels.algebra import Exponential, Normalised, Product, Scaled, Sum
from separatrix.similarity.kernels.base import Kernel, Parameter, Prepared
from separatrix.similarity.kernels.gaussian import Gaussian
from separatrix.similarity.kernels.given import Custom, Precomputed
from separatrix.similarity.kernels.names import kernel_from
from separatrix.similarity.kernels.vectors import Linear, Polynomial, Sigmoid

__all__ = [
    "Custom",
    "Exponential",
    "Gaussian",
    "Kernel",
    "Linear",
    "Normalised",
    "Parameter",
    "Polynomial",
    "Precomputed",
    "Prepared",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "kernel_from",
]
