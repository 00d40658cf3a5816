"""Kernels: an algebra of similarities, on rows of numbers and on structures."""

from separatrix.kernels.algebra import Exponential, Normalized, Power, Product, Scaled, Sum
from separatrix.kernels.base import (
    Custom,
    Hyperparameter,
    Kernel,
    KernelExpansion,
    Precomputed,
    PreparedKernel,
)
from separatrix.kernels.learning import Bounded, Fixed, natural_scales
from separatrix.kernels.mercer import kernel_cosine, kernel_distance
from separatrix.kernels.names import kernel_from
from separatrix.kernels.stationary import (
    Constant,
    Gaussian,
    Laplace,
    Matern,
    Periodic,
    RationalQuadratic,
    White,
)
from separatrix.kernels.structures import (
    GraphKernel,
    Jaccard,
    SetKernel,
    Spectrum,
    Subsequence,
    SubtreeKernel,
    TermKernel,
    TreeKernel,
)
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid

__all__ = [
    "Bounded",
    "Constant",
    "Custom",
    "Exponential",
    "Fixed",
    "Gaussian",
    "GraphKernel",
    "Jaccard",
    "Kernel",
    "KernelExpansion",
    "Laplace",
    "Linear",
    "Matern",
    "Normalized",
    "Hyperparameter",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "PreparedKernel",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "SetKernel",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "SubtreeKernel",
    "Sum",
    "TermKernel",
    "TreeKernel",
    "White",
    "kernel_cosine",
    "kernel_distance",
    "kernel_from",
    "natural_scales",
]
