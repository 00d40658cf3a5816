"""Kernel expressions, each with a way to draw items for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.kernels import Kernel


@dataclass(frozen=True)
class KernelRow:
    """One kernel expression under test, with a way to draw items for it."""

    kernel: Kernel
    items: Callable[[np.random.Generator, int], Any]
    #: Whether all its Gram matrices are positive semi-definite.
    mercer: bool = True
    #: Whether rows differ from their copies, by noise of their own.
    noise: bool = False


def rows_of_numbers(rng: np.random.Generator, n: int) -> Any:
    """Rows with an offset, some of them twice."""
    x = rng.standard_normal((n, 3)) + np.array([0.5, -1.0, 2.0])
    x[-1] = x[0]
    return x


def texts(rng: np.random.Generator, n: int) -> list[str]:
    """Short strings over a few letters; one is empty."""
    return ["".join(rng.choice(list("abcd"), rng.integers(0, 9))) for _ in range(n - 1)] + [""]


def sets(rng: np.random.Generator, n: int) -> list[set[int]]:
    """Small sets; the last is empty."""
    return [set(rng.integers(0, 8, rng.integers(1, 6)).tolist()) for _ in range(n - 1)] + [set()]


def tree(rng: np.random.Generator, depth: int = 3) -> Any:
    """A random tree over a few labels."""
    label = str(rng.choice(list("xyz")))
    many = rng.integers(0, 3) if depth else 0
    return (label, *(tree(rng, depth - 1) for _ in range(many))) if many else label


def trees(rng: np.random.Generator, n: int) -> list[Any]:
    """Random trees, some of a single node."""
    return [tree(rng) for _ in range(n)]


def graphs(rng: np.random.Generator, n: int) -> list[Any]:
    """Random graphs with labels on the nodes; the last has no edges."""
    found = []
    for k in range(n):
        size = int(rng.integers(1, 6))
        pairs = [(u, v) for u in range(size) for v in range(u) if rng.random() < 0.5]
        found.append((rng.choice(list("pq"), size).tolist(), pairs if k < n - 1 else []))
    return found


def term(rng: np.random.Generator, depth: int = 3) -> str:
    """A random term of logic over a few functors, constants and variables."""
    if not depth or rng.random() < 0.4:
        return str(rng.choice(["a", "b", "X", "Y", "_"]))
    arguments = ", ".join(term(rng, depth - 1) for _ in range(rng.integers(1, 4)))
    return f"{rng.choice(['f', 'g'])}({arguments})"


def conjunctions(rng: np.random.Generator, n: int) -> list[str]:
    """Random conjunctions of literals; the last has none."""
    found = []
    for _ in range(n - 1):
        literals = [f"p({term(rng)}, {term(rng)})" for _ in range(rng.integers(1, 4))]
        found.append(", ".join(str(rng.choice(["", "not "])) + literal for literal in literals))
    return [*found, ""]


#: Kernels and expressions of kernels.
KERNELS: list[KernelRow] = [
    KernelRow(sx.Linear(), rows_of_numbers),
    KernelRow(sx.Polynomial(2, 0.0), rows_of_numbers),
    KernelRow(sx.Polynomial(3, 1.5, 0.7), rows_of_numbers),
    KernelRow(sx.Polynomial(1), rows_of_numbers),
    KernelRow(sx.Polynomial(3, -1.0), rows_of_numbers, mercer=False),
    KernelRow(sx.Gaussian(1.3), rows_of_numbers),
    KernelRow(sx.Gaussian.from_ab(2.0, 5.0), rows_of_numbers),
    KernelRow(sx.Sigmoid(0.5, -1.0), rows_of_numbers, mercer=False),
    KernelRow(sx.Linear() + sx.Gaussian(0.7), rows_of_numbers),
    KernelRow(sx.Gaussian(2.0) + 0.5 * sx.Gaussian(0.4), rows_of_numbers),
    KernelRow(sx.Polynomial(2) * sx.Gaussian(1.1) * sx.Linear(), rows_of_numbers),
    KernelRow((0.1 * sx.Linear()).exp(), rows_of_numbers),
    KernelRow((sx.Gaussian(1.0) + sx.Polynomial(2)).normalized(), rows_of_numbers),
    KernelRow(sx.Polynomial(2).normalized().exp() * (2.0 * sx.Gaussian(3.0)), rows_of_numbers),
    KernelRow(sx.Gaussian((1.3, 0.6, 4.0)), rows_of_numbers),
    KernelRow(sx.Matern(1.2, 0.5), rows_of_numbers),
    KernelRow(sx.Matern((1.3, 0.6, 4.0), 1.5), rows_of_numbers),
    KernelRow(2.0 * sx.Matern((1.3, 0.6, 4.0), 2.5), rows_of_numbers),
    KernelRow(sx.Matern((1.3, 0.6, 4.0), 0.8), rows_of_numbers),
    KernelRow(sx.Laplace(1.2), rows_of_numbers),
    KernelRow(sx.Laplace((1.3, 0.6, 4.0), 1.4), rows_of_numbers),
    KernelRow(sx.Laplace((1.3, 0.6, 4.0), norm=1), rows_of_numbers),
    KernelRow(2.0 * sx.Laplace(1.7, 0.7, norm=1), rows_of_numbers),
    KernelRow(sx.RationalQuadratic(1.2, 0.7), rows_of_numbers),
    KernelRow(sx.RationalQuadratic((1.3, 0.6, 4.0), 2.0), rows_of_numbers),
    KernelRow(sx.Periodic(1.5, 2.3), rows_of_numbers, mercer=False),
    KernelRow(sx.Constant(2.0) * sx.Gaussian((0.8, 2.0, 1.0)) + sx.Linear(), rows_of_numbers),
    KernelRow((sx.Constant(0.5) + sx.Linear()) ** 2 * sx.Matern(1.0), rows_of_numbers),
    KernelRow(sx.White(0.3) + sx.Constant(0.7) * sx.Gaussian(1.0), rows_of_numbers, noise=True),
    KernelRow(sx.White(0.3) * sx.Gaussian(2.0) + sx.Polynomial(2), rows_of_numbers, noise=True),
    KernelRow(sx.Fixed(sx.Gaussian((1.0, 2.0, 3.0)), ("bandwidth_2",)), rows_of_numbers),
    KernelRow(
        (2.0 * sx.Bounded(sx.Gaussian(2.0), {"bandwidth": (1.0, 9.0)})).normalized(),
        rows_of_numbers,
    ),
    KernelRow(
        sx.Constant(0.5) * sx.Subsequence(2, 0.6).normalized() + sx.White(0.2), texts, noise=True
    ),
    KernelRow(sx.Spectrum(2), texts),
    KernelRow(sx.Subsequence(2, 0.6), texts),
    KernelRow(sx.Subsequence(3, 0.9).normalized(), texts),
    KernelRow(sx.Spectrum(1).normalized() + 0.5 * sx.Subsequence(1, 0.5), texts),
    KernelRow(sx.SetKernel(), sets),
    KernelRow(sx.SetKernel().normalized(), sets),
    KernelRow(sx.Jaccard(), sets),
    KernelRow((0.3 * sx.SetKernel()).exp(), sets),
    KernelRow(sx.TreeKernel(0.7), trees),
    KernelRow(sx.TreeKernel(0.4).normalized(), trees),
    KernelRow(sx.SubtreeKernel(0.9), trees),
    KernelRow(sx.GraphKernel(2), graphs),
    KernelRow(sx.GraphKernel(0).normalized() * sx.GraphKernel(1), graphs),
    KernelRow(sx.TermKernel(2), conjunctions),
    KernelRow(sx.TermKernel().normalized() + 0.5 * sx.TermKernel(1), conjunctions),
]
