"""What estimators of support vectors share: rows and kernels in, scores out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import RowsEstimator
from separatrix.geometry.kernel_expansion import KernelExpansion
from separatrix.kernels import Kernel, Linear, Precomputed
from separatrix.kernels.mercer import check_mercer
from separatrix.kernels.precomputed import require_symmetric
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.binary_svm import BinarySVM, chosen_kernel, groups
from separatrix.svm.dual.points import Points


class SupportVectors(RowsEstimator):
    """Support vectors of any kernel: ``expansions_`` hold them, ``machines_`` the evidence."""

    kernel: Any
    standardize: bool
    kernel_: Kernel
    svms_: list[BinarySVM]
    expansions_: list[KernelExpansion]
    standardizer_: Standardizer | None
    certificate_: Certificate

    @property
    def _structures(self) -> bool:
        return isinstance(self.kernel, Kernel) and not self.kernel.of_vectors

    def _points(self, x: Any, w: Floats, kept: Ints) -> Points:
        """The rows under the kernel, on a common footing if asked."""
        self.standardizer_ = None
        if self._structures:
            self.kernel_ = self.kernel
        else:
            if self.standardize and self.kernel != "precomputed":
                self.standardizer_ = Standardizer.from_rows(x, w)
                x = self.standardizer_.transform(x)
            self.kernel_ = chosen_kernel(self, x, w)
        if isinstance(self.kernel_, Precomputed) and len(kept) < x.shape[1]:
            x = np.ascontiguousarray(x[:, kept])
        if isinstance(self.kernel_, Precomputed):
            require_symmetric(x)
        return Points(self.kernel_, x, mercer=check_mercer(self.kernel_, x))

    def _expansion(
        self,
        points: Points,
        index: Ints,
        kept: Ints,
        n: int,
        weights: Floats,
        offset: Floats,
    ) -> KernelExpansion:
        """The rows of ``index`` as centers; a precomputed kernel keeps their places."""
        if not len(index):  # a constant: any row with no weight stands for none
            index, weights = np.zeros(1, dtype=np.int64), np.zeros((1, weights.shape[1]))
        centers = kept[index] if points.given else points.rows(index)
        return KernelExpansion(self.kernel_, centers, weights, offset, n if points.given else 0)

    def _placed(self, X: Any) -> Any:
        """New rows as the kernel expects them."""
        check_is_fitted(self)
        if self._structures:
            return list(X)
        x = self._design(X)
        return x if self.standardizer_ is None else self.standardizer_.transform(x)

    def _linear(self, weights: Floats, centers: Any, offset: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts in the table's units, for the linear kernel."""
        coef = np.asarray(weights.T @ centers)
        if self.standardizer_ is not None:
            return self.standardizer_.unscale(coef, offset)
        return coef, offset

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel_, Linear)

    @property
    def support_vectors_(self) -> Any:
        """The support vectors themselves, in the order of ``support_``."""
        check_is_fitted(self)
        kept = [expansion.centers for expansion in self.expansions_]
        if isinstance(self.kernel_, Precomputed) or self._structures:
            return kept[0] if len(kept) == 1 else [item for part in kept for item in part]
        if hasattr(kept[0], "toarray"):
            from scipy import sparse

            joint: Any = sparse.vstack(kept, format="csr")
        else:
            joint = np.concatenate(kept)
        return joint if self.standardizer_ is None else self.standardizer_.inverse_transform(joint)

    @property
    def alpha_(self) -> Floats:
        """|β| of every training row, for one machine."""
        return np.abs(self._spread(self._only().beta))

    @property
    def slack_(self) -> Floats:
        """How far each training row is inside the margin (outside the tube), for one machine."""
        return self._spread(self._only().slack)

    @property
    def group_(self) -> Any:
        """``outside``, ``on the margin`` or ``inside``, for every training row of one machine."""
        return groups(self._only(), self.bound_, self.rows_given_)

    @property
    def t_(self) -> float:
        """Threshold: the score is w·x − t, for one machine."""
        return -float(np.ravel(self.intercept_)[0]) if self._only() else 0.0

    @property
    def margin_(self) -> float:
        """1/‖w‖ in the space of the kernel, for one machine."""
        square = self._only().square
        return float(1.0 / np.sqrt(square)) if square > 0.0 else np.inf

    def _spread(self, values: Floats) -> Floats:
        wide = np.zeros(self.rows_given_)
        wide[self._only().rows] = values
        return wide

    def _only(self) -> BinarySVM:
        check_is_fitted(self)
        if len(self.svms_) != 1:
            raise AttributeError(
                f"There are {len(self.svms_)} machines here: look at machines_, one by one."
            )
        return self.svms_[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = given or isinstance(self.kernel, Precomputed)
        return tags
