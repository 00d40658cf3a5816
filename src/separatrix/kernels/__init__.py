"""Kernels: an algebra of similarities, on rows of numbers and on structures."""

from separatrix.kernels.algebra import Exponential, Power, Product, Scaled, Sum
from separatrix.kernels.base import Kernel, PreparedKernel
from separatrix.kernels.feature_space import kernel_cosine, kernel_distance
from separatrix.kernels.gaussian import Gaussian
from separatrix.kernels.graphs import GraphKernel
from separatrix.kernels.names import kernel_from
from separatrix.kernels.normalized import Normalized
from separatrix.kernels.parameters.constraints import Bounded, Fixed
from separatrix.kernels.parameters.hyperparameters import Hyperparameter
from separatrix.kernels.parameters.starts import natural_scales
from separatrix.kernels.precomputed import Custom, Precomputed
from separatrix.kernels.sets import Jaccard, SetKernel
from separatrix.kernels.stationary.constant import Constant, White
from separatrix.kernels.stationary.matern import Matern
from separatrix.kernels.stationary.periodic import Periodic
from separatrix.kernels.stationary.rational_quadratic import RationalQuadratic
from separatrix.kernels.strings import Spectrum, Subsequence
from separatrix.kernels.trees import SubtreeKernel, TreeKernel
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
    "TreeKernel",
    "White",
    "kernel_cosine",
    "kernel_distance",
    "kernel_from",
    "natural_scales",
]
