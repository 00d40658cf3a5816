"""Precomputed Gram matrices, and kernels given by a function of two matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, n_items
from separatrix.kernels.tiles import as_matrix, copy_to
from separatrix.messages import InputError
from separatrix.rows.block import Ints, to_array


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Precomputed kernel: rows hold kernel values instead of features.

        κ(xᵢ, zⱼ) = X[i, j]

    Training takes the square Gram matrix, prediction the matrix (new rows x training rows).

    See Also
    --------
    is_mercer : tests a Gram matrix for negative eigenvalues.
    Linear : computes inner products from features.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = sx.SVC(kernel="precomputed").fit(x @ x.T, ["a", "a", "b", "b"])
    >>> model.predict([[3.0]] @ x.T).tolist()
    ['b']
    """

    @property
    def mercer(self) -> bool:
        """False, since it is unknown."""
        return False

    def prepare(self, z: Items) -> PreparedGram:
        """The Gram matrix of the centers."""
        return PreparedGram(self, square_matrix(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonal of the Gram matrix."""
        return np.diagonal(square_matrix(x)).copy()


class PreparedGram(PreparedKernel):
    """A precomputed Gram matrix, stored as the ``centers``."""

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """A copy of the given kernel values."""
        x = as_matrix(x)
        if x.shape[1] != len(self):
            raise InputError(
                f"The kernel matrix has {x.shape[1]} columns for {len(self)} training rows.",
                remedy="Give one column for every training row.",
            )
        return copy_to(np.array(x) if out is None else x, out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix."""
        return copy_to(np.array(self.centers[indices]), out)

    def subset(self, indices: Any) -> PreparedKernel:
        """The rows and columns at ``indices``."""
        return PreparedGram(self.kernel, self.centers[indices][:, indices])


@dataclass(frozen=True)
class Custom(Kernel):
    """A kernel given by a function of two matrices (or lists), ``function(x, z)`` → (n, m)."""

    function: Callable[..., Any]
    of_vectors: bool = True

    @property
    def mercer(self) -> bool:
        """False, since it is unknown."""
        return False

    def prepare(self, z: Items) -> PreparedCustom:
        """The centers unchanged."""
        return PreparedCustom(self, self.validate(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonals of small Gram matrices, block by block."""
        x = self.validate(x)
        blocks = [x[start : start + 64] for start in range(0, n_items(x), 64)]
        diagonals = [np.diagonal(self.values(block, block)) for block in blocks]
        return np.concatenate(diagonals) if diagonals else np.empty(0)

    def validate(self, x: Items) -> Items:
        """Rows as a matrix, other items as a list."""
        return as_matrix(x) if self.of_vectors else list(x)

    def values(self, x: Items, z: Items) -> Array:
        """function(x, z), dense, checked for its shape and its numbers."""
        found = self.function(x, z)
        block = np.asarray(found.toarray() if sparse.issparse(found) else found)
        shape = (n_items(x), n_items(z))
        if block.shape != shape or block.dtype.kind not in "fiub":
            raise InputError(
                f"The kernel function returned {block.shape} of {block.dtype} for {shape}.",
                remedy="function(x, z) returns one number for every pair: (len x, len z).",
            )
        if not np.isfinite(block).all():
            raise InputError(
                "The kernel function returned NaN or infinity.",
                remedy="Every pair of rows needs a finite number.",
            )
        return block


class PreparedCustom(PreparedKernel):
    """Values of a user-defined function, checked for their shape."""

    kernel: Custom

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """function(x, z)."""
        x = self.kernel.validate(x)
        block = self.kernel.values(x, self.centers)
        return copy_to(np.array(block, dtype=float), out)


def square_matrix(x: Items) -> Array:
    """A dense square matrix."""
    dense: Array = to_array(as_matrix(x))
    if dense.shape[0] != dense.shape[1]:
        raise InputError(
            f"A precomputed kernel is {dense.shape[0]} x {dense.shape[1]}.",
            remedy="Training needs the square Gram matrix of all rows.",
        )
    return dense


def training_gram(x: Items, rows: Ints, n: int) -> Array:
    """The dense Gram matrix of some of n rows, given theirs; refused unless n x n and symmetric."""
    dense: Array = to_array(as_matrix(x))
    if dense.shape[1] != n:
        raise InputError(
            f"The precomputed kernel is {n} x {dense.shape[1]}.",
            remedy="Training needs the square Gram matrix of all rows.",
        )
    dense = np.ascontiguousarray(dense[:, rows]) if len(rows) < n else dense
    require_symmetric(dense)
    return dense


def require_symmetric(gram: Array) -> None:
    """Refuse a Gram matrix that is not symmetric up to rounding."""
    difference = np.abs(gram - gram.T)
    largest = float(difference.max(initial=0.0))
    if largest > 1e-5 * float(np.abs(gram).max(initial=0.0)):
        i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), difference.shape))
        raise InputError(
            f"The precomputed kernel is not symmetric: {gram[i, j]:.6g} in row {i}, column {j}, "
            f"and {gram[j, i]:.6g} in row {j}, column {i}.",
            remedy="Give (K + K.T) / 2 if either direction is as good.",
        )
