"""What all learned metrics share: a linear map of the rows, and the metric that it defines.

d(x, z) = ‖L (x − z)‖ = √((x − z)ᵀ M (x − z)),     M = LᵀL
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.distances.elliptical import Elliptical
from separatrix.estimators.base import RowsEstimator
from separatrix.formula import nodes
from separatrix.matrices.products import multiply
from separatrix.mixins import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from separatrix.optimize.convex import Certificate
from separatrix.threads import on_one_blas_thread


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowsEstimator):
    """A transformer whose ``components_`` are the linear map L of a learned metric."""

    _sparse_ok = False
    _learns = "classes"
    components_: Floats
    certificate_: Certificate

    @property
    def metric_(self) -> Elliptical:
        """The metric ‖L (x − z)‖ of rows in the units of the table."""
        check_is_fitted(self, "components_")
        return Elliptical(components=self.components_)

    def directions(
        self, count: int = 3, scale: Floats | None = None
    ) -> list[tuple[float, dict[str, float]]]:
        """The leading eigenvectors of M: (share of the trace, column → loading).

        They are those of columns in units of ``scale``, such as their standard deviations.
        """
        check_is_fitted(self, "components_")
        columns = self.components_ if scale is None else self.components_ * np.asarray(scale)
        _, roots, vectors = linalg.svd(columns, full_matrices=False)
        proportions = roots**2 / (float(roots @ roots) or 1.0)
        vectors = orient(vectors)
        names = [str(name) for name in self.encoding_.names]
        return [
            (float(share), dict(zip(names, vector.tolist(), strict=True)))
            for share, vector in zip(proportions[:count], vectors[:count], strict=True)
        ]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """L x of every row: Euclidean distances are then those of the metric."""
        check_is_fitted(self, "components_")
        return np.asarray(multiply(self._design(X), self.components_.T))

    def transform_formula(self) -> nodes.Node:
        """L x."""
        return nodes.Affine(nodes.design_of(self), self.components_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def orient(directions: Floats) -> Floats:
    """Directions whose largest entry is positive."""
    largest = np.abs(directions).argmax(axis=1)
    return np.asarray(
        directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    )


def root_of(m: Floats, *, diagonal: bool, most: int | None = None) -> Floats:
    """L with LᵀL = M, of the rank of M and ``most`` rows, the largest first.

    Of a ``diagonal`` M a row weighs a column, in the order of the columns.
    """
    if diagonal:
        weights = np.maximum(np.diagonal(m), 0.0)
        largest = np.argsort(-weights, kind="stable")[:most]
        return np.diag(np.sqrt(weights))[np.sort(largest)]
    values, vectors = np.linalg.eigh(m)
    rank = max(1, int(np.count_nonzero(values > 1e-12 * values[-1])))  # beyond is rounding
    values, vectors = values[::-1][:rank][:most], vectors.T[::-1][:rank][:most]
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors)
