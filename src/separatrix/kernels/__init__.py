"""Kernels: an algebra of similarities, on rows of numbers and on structures."""

from separatrix.kernels.algebra import Exponential, Normalized, Product, Scaled, Sum
from separatrix.kernels.base import Hyperparameter, Kernel, PreparedKernel
from separatrix.kernels.feature_space import kernel_cosine, kernel_distance
from separatrix.kernels.gaussian import Gaussian
from separatrix.kernels.graphs import GraphKernel
from separatrix.kernels.names import kernel_from
from separatrix.kernels.precomputed import Custom, Precomputed
from separatrix.kernels.sets import Jaccard, SetKernel
from separatrix.kernels.strings import Spectrum, Subsequence
from separatrix.kernels.trees import SubtreeKernel, TreeKernel
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid

__all__ = [
    "Custom",
    "Exponential",
    "Gaussian",
    "GraphKernel",
    "Jaccard",
    "Kernel",
    "Linear",
    "Normalized",
    "Hyperparameter",
    "Polynomial",
    "Precomputed",
    "PreparedKernel",
    "Product",
    "Scaled",
    "SetKernel",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "SubtreeKernel",
    "Sum",
    "TreeKernel",
    "kernel_cosine",
    "kernel_distance",
    "kernel_from",
]
