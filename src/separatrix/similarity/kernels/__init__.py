"""Kernels: an algebra of similarities, on rows of numbers and on structures."""

from separatrix.similarity.kernels.algebra import Exponential, Normalised, Product, Scaled, Sum
from separatrix.similarity.kernels.base import Kernel, Parameter, Prepared
from separatrix.similarity.kernels.gaussian import Gaussian
from separatrix.similarity.kernels.geometry import kernel_cosine, kernel_distance
from separatrix.similarity.kernels.given import Custom, Precomputed
from separatrix.similarity.kernels.graphs import GraphKernel
from separatrix.similarity.kernels.names import kernel_from
from separatrix.similarity.kernels.sets import Jaccard, SetKernel
from separatrix.similarity.kernels.strings import Spectrum, Subsequence
from separatrix.similarity.kernels.trees import SubtreeKernel, TreeKernel
from separatrix.similarity.kernels.vectors import Linear, Polynomial, Sigmoid

__all__ = [
    "Custom",
    "Exponential",
    "Gaussian",
    "GraphKernel",
    "Jaccard",
    "Kernel",
    "Linear",
    "Normalised",
    "Parameter",
    "Polynomial",
    "Precomputed",
    "Prepared",
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
