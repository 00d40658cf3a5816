"""Columns brought to a common footing: centred, standardised, or whitened.

    Center       x − μ
    Standardize  (x − μ) / σ
    Whiten       (x − μ) · M with MᵀΣM = I
    homogeneous  (1, x)

All from the moments of the rows, so they learn from streams and from parts. σ is the deviation
with 1/N; a column that never varies becomes 0.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.encoding import identity
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer

EPS = float(np.finfo(float).eps)


class _Scaling(TransformerMixin, RowsEstimator):
    """Learns from moments: ``fit``, ``partial_fit``; subclasses say what the moments mean."""

    _sparse_ok = False
    moments_: Moments

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn from the rows of ``X`` (a matrix or Rows); ``y`` is not used."""
        if isinstance(X, Rows):
            prepared = prepare(X)
            self._name_columns(X)
            moments, self.encoding_ = prepared.moments, prepared.encoding
        else:
            moments = self._moments_of(X, sample_weight, reset=True)
        return self._finish(moments)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn from these rows together with all rows given before."""
        first = not hasattr(self, "moments_")
        moments = self._moments_of(X, sample_weight, reset=first)
        return self._finish(moments if first else self.moments_ + moments)

    def _moments_of(self, X: Any, sample_weight: Any, *, reset: bool) -> Moments:
        x = validate_data(self, X, reset=reset, dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        rows = ArrayRows(x, None, check_sample_weight(sample_weight, len(x)), names=names)
        self.encoding_ = identity(rows.schema)
        return rows.reduce(Moments())

    def _finish(self, moments: Moments) -> Self:
        self.moments_ = Moments(
            moments.terms,
            count=moments.count,
            weight=moments.weight,
            mean=moments.x_mean,
            scatter=moments.xx,
        )
        self.mean_ = self.moments_.mean
        self._learn(self.moments_)
        return self

    def _learn(self, moments: Moments) -> None:
        """Set what the transformation needs beyond the mean."""

    def _new(self, X: Any) -> Floats:
        return np.asarray(self._design(X))

    def _back(self, X: Any, columns: int) -> Floats:
        """Transformed rows, checked, on their way back."""
        check_is_fitted(self)
        x = check_array(X, dtype=np.float64)
        if x.shape[1] != columns:
            raise InputError(
                f"The rows have {x.shape[1]} columns, but transformed ones have {columns}.",
                remedy="Pass what transform returned.",
            )
        return np.asarray(x)


class _SameColumns(OneToOneFeatureMixin):
    """Columns keep their names; those of a table with levels are named as its design is."""

    def get_feature_names_out(self: Any, input_features: Any = None) -> Any:
        """Names of the transformed columns."""
        check_is_fitted(self)
        if self.encoding_.plain:
            return super().get_feature_names_out(input_features)
        return np.array(self.encoding_.names, dtype=object)


class Center(_SameColumns, _Scaling):
    """x − μ: the mean of every column becomes 0."""

    def transform(self, X: Any) -> Floats:
        """Subtract the means."""
        return self._new(X) - self.mean_

    def inverse_transform(self, X: Any) -> Floats:
        """Add the means back."""
        return self._back(X, len(self.mean_)) + self.mean_


class Standardize(_SameColumns, _Scaling):
    """(x − μ)/σ: mean 0 and deviation 1; a column that never varies becomes 0.

    Attributes
    ----------
    mean_, scale_ : μ and σ (1/N) per column; σ is 0 for a constant one.
    """

    def _learn(self, moments: Moments) -> None:
        self.scale_ = Standardizer.from_moments(moments).scale

    def transform(self, X: Any) -> Floats:
        """Subtract the means, divide by the deviations."""
        z = self._new(X) - self.mean_
        return np.divide(z, self.scale_, out=np.zeros_like(z), where=self.scale_ > 0)

    def inverse_transform(self, X: Any) -> Floats:
        """Multiply by the deviations, add the means."""
        return self._back(X, len(self.mean_)) * self.scale_ + self.mean_


class Whiten(ClassNamePrefixFeaturesOutMixin, _Scaling):
    """(x − μ)·M: uncorrelated columns of deviation 1, one per independent direction.

    The directions are the principal ones of the correlations, the largest first, so that they do
    not depend on units. Columns that are combinations of others add no direction: the result has
    as many columns as the rank, and ``inverse_transform`` gives such columns back all the same.

    Attributes
    ----------
    matrix_ : M, (d, rank).
    inverse_ : (rank, d), what leads back.
    eigenvalues_ : variances of the standardised columns along the directions.
    """

    def _learn(self, moments: Moments) -> None:
        scale = Standardizer.from_moments(moments).scale
        unit = np.where(scale > 0, scale, 1.0)
        correlation = np.where(
            np.outer(scale, scale) > 0, moments.covariance / np.outer(unit, unit), 0.0
        )
        values, v = linalg.eigh(correlation)
        values, v = values[::-1], v[:, ::-1]
        rank = int((values > 10 * len(unit) * EPS * values.max(initial=0.0)).sum())
        values, v = values[:rank], v[:, :rank]
        # a direction and its opposite are the same: let its largest entry be positive
        v = v * np.sign(v[np.abs(v).argmax(axis=0), np.arange(rank)])
        self.eigenvalues_ = values
        self.matrix_ = v / np.sqrt(values) / unit[:, None]
        self.inverse_ = (v * np.sqrt(values)).T * scale

    @property
    def _n_features_out(self) -> int:
        return int(self.matrix_.shape[1])

    def transform(self, X: Any) -> Floats:
        """Coordinates along the directions, in units of their deviations."""
        return np.asarray((self._new(X) - self.mean_) @ self.matrix_)

    def inverse_transform(self, X: Any) -> Floats:
        """The rows that have these coordinates."""
        return np.asarray(self._back(X, self._n_features_out) @ self.inverse_ + self.mean_)


def homogeneous(X: Any) -> Matrix:
    """(1, x): a column of ones in front, so that w·x = t becomes (−t, w)·(1, x) = 0.

    Planes that miss the origin become planes through it; sparse input stays sparse.
    """
    x = check_array(X, accept_sparse="csr", dtype=np.float64)
    ones = np.ones((x.shape[0], 1))
    if sparse.issparse(x):
        return sparse.hstack([sparse.csr_array(ones), sparse.csr_array(x)], format="csr")
    return np.concatenate([ones, x], axis=1)
