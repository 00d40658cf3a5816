"""Kernels that come from elsewhere: a finished Gram matrix, or any function of two matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.tiles import matrix
from separatrix.messages import InputError


@dataclass(frozen=True)
class Precomputed(Kernel):
    """κ(x, z) is looked up: "rows" are rows of similarities, one column for every center.

    Training takes the square Gram matrix, prediction the block (new rows x training rows).
    """

    @property
    def mercer(self) -> bool:
        """Unknown: numbers from elsewhere may be anything."""
        return False

    def prepare(self, z: Items) -> PrecomputedRows:
        """The centers' own Gram matrix."""
        return PrecomputedRows(self, square(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonal of the Gram matrix."""
        return np.diagonal(square(x)).copy()


class PrecomputedRows(PreparedKernel):
    """Rows of a matrix that is there already."""

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The block of similarities itself."""
        x = matrix(x)
        if x.shape[1] != len(self):
            raise InputError(
                f"The block of similarities has {x.shape[1]} columns for {len(self)} centers.",
                remedy="Give one column for every row that was trained on.",
            )
        return _copied(x, out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the centers' Gram matrix."""
        return _copied(self.centers[indices], out)

    def subset(self, indices: Any) -> PreparedKernel:
        """The rows and the columns of the chosen centers."""
        return PrecomputedRows(self.kernel, self.centers[indices][:, indices])


@dataclass(frozen=True)
class Custom(Kernel):
    """κ computed by a function of two matrices (or lists), ``function(x, z)`` → (len x, len z)."""

    function: Callable[..., Any]
    of_vectors: bool = True

    @property
    def mercer(self) -> bool:
        """Unknown."""
        return False

    def prepare(self, z: Items) -> CustomRows:
        """Centers as they are."""
        return CustomRows(self, matrix(z) if self.of_vectors else list(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonal of small Gram matrices, block by block."""
        x = matrix(x) if self.of_vectors else list(x)
        n = x.shape[0] if self.of_vectors else len(x)
        parts = [x[start : start + 64] for start in range(0, n, 64)]
        found = [np.diagonal(np.asarray(self.function(part, part))) for part in parts]
        return np.concatenate(found) if found else np.empty(0)


class CustomRows(PreparedKernel):
    """Centers handed to a function."""

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """What the function returns, checked for its shape."""
        kernel: Custom = self.kernel  # type: ignore[assignment]
        x = matrix(x) if kernel.of_vectors else list(x)
        block = np.asarray(kernel.function(x, self.centers))
        wanted = (x.shape[0] if kernel.of_vectors else len(x), len(self))
        if block.shape != wanted or block.dtype.kind not in "fiub":
            raise InputError(
                f"The kernel function returned {block.shape} of {block.dtype} for {wanted}.",
                remedy="function(x, z) returns one number for every pair: (len x, len z).",
            )
        return _copied(block.astype(float, copy=False), out)


def square(x: Items) -> Array:
    """A Gram matrix, with as many columns as rows."""
    x = matrix(x)
    dense: Array = np.asarray(x.toarray() if sparse.issparse(x) else x)
    if dense.shape[0] != dense.shape[1]:
        raise InputError(
            f"A precomputed kernel is {dense.shape[0]} x {dense.shape[1]}.",
            remedy="Training needs the square matrix of similarities between all rows.",
        )
    return dense


def require_symmetric(gram: Array) -> None:
    """Refuse similarities that depend on which of two rows comes first, beyond rounding."""
    apart = np.abs(gram - gram.T)
    worst = float(apart.max(initial=0.0))
    if worst > 1e-5 * float(np.abs(gram).max(initial=0.0)):
        i, j = (int(at) for at in np.unravel_index(int(apart.argmax()), apart.shape))
        raise InputError(
            f"The precomputed kernel is not symmetric: {gram[i, j]:.6g} in row {i}, column {j}, "
            f"and {gram[j, i]:.6g} in row {j}, column {i}.",
            remedy="Similarities have no order: give (K + K.T) / 2 if that is what is meant.",
        )


def _copied(block: Array, out: Array | None) -> Array:
    if out is None:
        return np.array(block)
    out[...] = block
    return out
