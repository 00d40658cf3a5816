"""Rows as a kernel sees them: blocks of similarities, in single precision where that is enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.kernels import Custom, Gaussian, Kernel, Precomputed, PreparedKernel
from separatrix.kernels.base import n_items, take_items
from separatrix.rows.block import Floats, Ints

#: Largest similarity that single precision is trusted with.
_LARGE = 1e30


class Points:
    """The rows ``x`` under a ``kernel``; ``single`` says whether blocks may be of float32.

    ``mercer`` is False where a negative eigenvalue was seen: then no space stands behind the rows.
    """

    def __init__(self, kernel: Kernel, x: Any, *, mercer: bool = True) -> None:
        self.kernel, self.x, self.mercer = kernel, x, mercer
        self.n = n_items(x)
        self.given = isinstance(kernel, Precomputed)
        self.diagonal: Floats = np.asarray(kernel.diagonal(x), dtype=float)
        self.single = self._narrows()
        self._narrow: Any = None

    def _narrows(self) -> bool:
        """Only our own functions of dense rows; others may not expect float32."""
        if not isinstance(self.x, np.ndarray) or not self.kernel.of_vectors:
            return False
        ours = not any(isinstance(leaf, Custom | Precomputed) for leaf in _leaves(self.kernel))
        return bool(ours and np.abs(self.diagonal).max(initial=0.0) < _LARGE)

    def rows(self, index: NDArray[Any] | slice, single: bool = False) -> Any:
        """Some of the rows, as float32 if asked and allowed."""
        if not (single and self.single):
            return take_items(self.x, index)
        if self._narrow is None:
            # bells depend on differences alone: close to the origin few digits are lost
            away = self.x.mean(axis=0) if isinstance(self.kernel, Gaussian) else 0.0
            self._narrow = np.ascontiguousarray(self.x - away, dtype=np.float32)
        return self._narrow[index]

    def prepare(self, index: Ints, single: bool = False) -> PreparedKernel:
        """Ready to be compared with the rows of ``index``."""
        if self.given:
            return self.kernel.prepare(np.ascontiguousarray(self.x[np.ix_(index, index)]))
        return self.kernel.prepare(self.rows(index, single))

    def gram(self, index: Ints, single: bool = False) -> NDArray[Any]:
        """All pairs of some rows, exactly symmetric."""
        gram = self.prepare(index, single).gram()
        return np.ascontiguousarray(gram) if self.single else np.asarray(gram, dtype=float)

    def block(self, at: Ints, of: Ints, single: bool = False) -> NDArray[Any]:
        """Similarities of the rows ``at`` to the rows ``of``."""
        if self.given:
            return np.asarray(self.x[np.ix_(at, of)], dtype=float)
        return self.kernel.prepare(self.rows(of, single)).rows(self.rows(at, single))

    def products(self, at: Ints, of: Ints, beta: Floats, single: bool = False) -> Floats:
        """Σ κ(x, z) β over the rows z of ``of``, for every row x of ``at``; block by block."""
        if not len(of) or not len(at):
            return np.zeros(len(at))
        if self.given:
            return np.asarray(self.x[np.ix_(at, of)] @ beta)
        weights = beta.astype(np.float32 if single and self.single else np.float64)[:, None]
        prepared = self.kernel.prepare(self.rows(of, single))
        return np.asarray(prepared.dot(self.rows(at, single), weights)[:, 0], dtype=float)


def _leaves(kernel: Kernel) -> list[Kernel]:
    """The kernels that an expression is made of."""
    below = kernel._children()
    return [leaf for child in below for leaf in _leaves(child)] if below else [kernel]
