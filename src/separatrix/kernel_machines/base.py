"""What kernel machines of numbers and of classes share: a kernel by any name, and its expansion.

f(x) = Σⱼ aⱼ κ(xⱼ, x) + b
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import KernelModel
from separatrix.formula import nodes
from separatrix.kernels import Kernel, KernelExpansion
from separatrix.kernels.base import training_gram
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.names import pairwise_from
from separatrix.kernels.structures import as_list
from separatrix.optimize.convex import Certificate
from separatrix.rows.parts import hash_block
from separatrix.rows.scan import scan
from separatrix.statistics.moments import Standardizer


class ExpansionModel(KernelModel):
    """A model whose functions are expansions in all training rows."""

    gamma: Any
    degree: Any
    kernel_params: Any
    standardize: bool
    X_fit_: Any
    dual_coef_: Floats
    standardizer_: Standardizer | None
    certificate_: Certificate

    def _chosen_kernel(self, x: Any, w: Floats | None) -> Kernel:
        return pairwise_from(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            parameters=self.kernel_params, x=x, sample_weight=w,
        )  # fmt: skip

    def _training_gram(self, x: Any, w: Floats) -> tuple[Floats, bool]:
        """K of all rows in double precision, and whether its kernel is Mercer's."""
        self.standardizer_ = None
        if self._precomputed:
            x = training_gram(x, np.arange(len(w)), len(w))
        elif self.standardize and not self._structures:
            self.standardizer_ = Standardizer.from_rows(x, w)
            x = self.standardizer_.transform(x)
        self._set_kernel(x, w)
        mercer = self.kernel_.mercer or check_mercer(self.kernel_, x)
        gram = np.asarray(self.kernel_.prepare(x).gram(), dtype=np.float64)
        self.X_fit_ = np.arange(len(w)) if self._precomputed else x
        return gram, mercer

    def _expansion(self, coef: Floats, offset: Any = 0.0) -> KernelExpansion:
        return KernelExpansion(self.kernel_, self.X_fit_, coef, offset, len(coef))

    def _kernel_input(self, X: Any) -> Any:
        """New rows as the kernel takes them."""
        check_is_fitted(self, "X_fit_")
        if self._structures:
            return as_list(X)
        x = self._design(X)
        return x if self.standardizer_ is None else self.standardizer_.transform(x)

    def _expansion_formula(
        self, coef: Floats, offset: Any = 0.0, names: Sequence[str] = ()
    ) -> nodes.Node:
        z = nodes.standardize_rows(self.standardizer_, nodes.design_of(self))
        return nodes.kernel_sum(self._expansion(coef, offset), z, names)


def copies_together(x: Any, y: Any) -> Ints | None:
    """A number for each row, the same for copies; None for what is not a matrix."""
    if not hasattr(x, "shape"):
        return None
    block = scan(x, y).read().block
    return np.asarray(np.unique(hash_block(block), return_inverse=True)[1], dtype=np.int64)
