"""Transformers of columns: centering, standardization, whitening, and tables as numbers.

    Center       x − μ
    Standardize  (x − μ) / σ
    Whiten       (x − μ) · M with MᵀΣM = I
    homogeneous  (1, x)

All are computed from moments, so they fit streams and support ``partial_fit``. σ is the standard
deviation with 1/N; a constant column becomes 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted

from separatrix.arrays import Floats, Matrix
from separatrix.estimators.base import RowsEstimator, reads_tables, validate_data
from separatrix.formula import nodes
from separatrix.formula.inputs import inputs_of
from separatrix.messages import InputError
from separatrix.mixins import (
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from separatrix.parameters import declare_parameters, describe_parameters
from separatrix.rows.rows import ArrayRows, Rows, column_means
from separatrix.rows.scan import scan
from separatrix.rows.schema import (
    Block,
    Encoding,
    Term,
    check_sample_weight,
    column_names,
    identity,
    is_frame,
    to_array,
)
from separatrix.rows.sources.frames import refuse_odd_column
from separatrix.rows.sources.new_rows import rows_like
from separatrix.statistics.moments import Moments, Standardizer, prepare
from separatrix.threads import on_one_blas_thread

EPS = float(np.finfo(float).eps)


class _Scaling(TransformerMixin, RowsEstimator):
    """``fit`` and ``partial_fit`` from moments; subclasses define the transformation."""

    _sparse_ok = False
    moments_: Moments

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to the rows of ``X`` (a matrix or Rows); ``y`` is not used."""
        if isinstance(X, Rows):
            prepared = prepare(X)
            self._name_columns(X)
            moments, self.encoding_ = prepared.moments, prepared.encoding
        else:
            moments = self._moments_of(X, sample_weight, reset=True)
        return self._finish(moments)

    @on_one_blas_thread
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to these rows together with those of all earlier calls."""
        first = not hasattr(self, "moments_")
        moments = self._moments_of(X, sample_weight, reset=first)
        return self._finish(moments if first else self.moments_ + moments)

    def _moments_of(self, X: Any, sample_weight: Any, *, reset: bool) -> Moments:
        refuse_odd_column(
            X,
            "portions of a table must be plain numbers",
            "Call fit with the whole table, or encode it first (TableEncoder).",
        )
        x = validate_data(self, X, reset=reset, dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        w = check_sample_weight(sample_weight, len(x))
        means = column_means(x, w) if is_frame(X) else None
        rows = ArrayRows(x, None, w, names=names, placeholders=means)
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
        """Set the fitted attributes beyond ``mean_``."""

    def _back(self, X: Any, columns: int) -> Floats:
        """Validated rows of the transformed space."""
        check_is_fitted(self)
        x = check_array(X, dtype=np.float64)
        if x.shape[1] != columns:
            raise InputError(
                f"The rows have {x.shape[1]} columns, but transformed ones have {columns}.",
                remedy="Pass what transform returned.",
            )
        return np.asarray(x)


class _SameColumns(OneToOneFeatureMixin):
    """Output columns are named as the design columns are."""

    def get_feature_names_out(self: Any, input_features: Any = None) -> Any:
        """Names of the transformed columns."""
        check_is_fitted(self)
        if self.encoding_.is_identity:
            return super().get_feature_names_out(input_features)
        return np.array(self.encoding_.names, dtype=object)


@describe_parameters
class Center(_SameColumns, _Scaling):
    """Center columns: subtract the mean.

        z = x − μ

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    Standardize : Also divides by the standard deviation.
    Whiten : Also removes correlations.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Center().fit_transform([[1.0, 10.0], [3.0, 30.0]]).tolist()
    [[-1.0, -10.0], [1.0, 10.0]]
    """

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """Subtract the means."""
        return np.asarray(self._design(X)) - self.mean_

    def inverse_transform(self, X: Any) -> Floats:
        """Add the means back."""
        return self._back(X, len(self.mean_)) + self.mean_

    def transform_formula(self) -> nodes.Node:
        """x − μ."""
        return nodes.Standardization(nodes.design_of(self), self.mean_, np.ones(len(self.mean_)))


@describe_parameters
class Standardize(_SameColumns, _Scaling):
    """Standardize columns to mean 0 and standard deviation 1.

        z = (x − μ)/σ;     a constant column becomes 0

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    scale_ : ndarray of shape (d,)
        σ (1/N), exactly 0 for a constant column.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    Center : Subtracts the mean only.
    Whiten : Also removes correlations.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Standardize().fit_transform([[1.0, 5.0], [3.0, 5.0]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    def _learn(self, moments: Moments) -> None:
        self.scale_ = Standardizer.from_moments(moments).scale

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """Subtract the means, divide by the deviations."""
        z = np.asarray(self._design(X)) - self.mean_
        return np.divide(z, self.scale_, out=np.zeros_like(z), where=self.scale_ > 0)

    def inverse_transform(self, X: Any) -> Floats:
        """Multiply by the deviations, add the means."""
        return self._back(X, len(self.mean_)) * self.scale_ + self.mean_

    def transform_formula(self) -> nodes.Node:
        """(x − μ)/σ; a constant column is 0."""
        varies = self.scale_ > 0.0
        inverse = np.where(varies, 1.0 / np.where(varies, self.scale_, 1.0), 0.0)
        return nodes.Standardization(nodes.design_of(self), self.mean_, inverse)


@describe_parameters
class Whiten(ClassNamePrefixFeaturesOutMixin, _Scaling):
    """Whitening: uncorrelated columns of standard deviation 1.

        z = (x − μ) M,     Mᵀ Σ M = I

    The directions are the principal components of the correlation matrix, largest first, so that
    they do not depend on units. Linearly dependent columns add no direction: the result has as many
    columns as the rank, and ``inverse_transform`` restores all columns.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    matrix_ : ndarray of shape (d, rank)
        M.
    inverse_ : ndarray of shape (rank, d)
        The matrix of ``inverse_transform``.
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues of the correlation matrix.

    See Also
    --------
    Standardize : Scales columns one by one.
    Mahalanobis : Euclidean distance after whitening.

    References
    ----------
    A. Kessy, A. Lewin and K. Strimmer, Optimal whitening and decorrelation, The American
    Statistician 72, 2018.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> Z = sx.Whiten().fit_transform([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.5]])
    >>> np.cov(Z.T, bias=True).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
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
        # the sign of an eigenvector is arbitrary: its largest entry is made positive
        v = v * np.sign(v[np.abs(v).argmax(axis=0), np.arange(rank)])
        self.eigenvalues_ = values
        self.matrix_ = v / np.sqrt(values) / unit[:, None]
        self.inverse_ = (v * np.sqrt(values)).T * scale

    @property
    def _n_features_out(self) -> int:
        return int(self.matrix_.shape[1])

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """(x − μ) M."""
        return np.asarray((np.asarray(self._design(X)) - self.mean_) @ self.matrix_)

    def inverse_transform(self, X: Any) -> Floats:
        """z M⁺ + μ: rows in the units of the table."""
        return np.asarray(self._back(X, self._n_features_out) @ self.inverse_ + self.mean_)

    def transform_formula(self) -> nodes.Node:
        """(x − μ) M."""
        return nodes.Affine(nodes.design_of(self), self.matrix_, 0.0, self.mean_)


def homogeneous(X: Any) -> Matrix:
    """Homogeneous coordinates: a column of ones in front.

        x ↦ (1, x),     so that w·x = t becomes (−t, w)·(1, x) = 0

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The rows.

    Returns
    -------
    ndarray or csr_array of shape (n, d + 1)
        Sparse input stays sparse.

    See Also
    --------
    Center : Subtracts the mean instead.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.homogeneous([[2.0, 3.0]])
    array([[1., 2., 3.]])
    """
    x = check_array(X, accept_sparse="csr", dtype=np.float64)
    ones = np.ones((x.shape[0], 1))
    if sparse.issparse(x):
        return sparse.hstack([sparse.csr_array(ones), sparse.csr_array(x)], format="csr")
    return np.concatenate([ones, x], axis=1)


# -------------------------------------------------------------------------------------------------
# The standardized design (1, z) of rows in memory, and coefficients back in the table's units.


@dataclass(frozen=True)
class StandardDesign:
    """``z`` (n x (1 + d)) with z = (1, (x − μ)/σ), and weights ``w`` that add up to one.

    Iterative methods behave alike whatever the units once columns have unit variance; a constant
    column is zero and so keeps the coefficient zero.
    """

    z: Floats
    w: Floats
    standardizer: Standardizer

    def unscale(self, b: Floats) -> tuple[Floats, Floats]:
        """(d x k coefficients, k intercepts) of x from those of (1, z), (1 + d) x k."""
        coef, intercept = self.standardizer.unscale(b[1:].T, b[0])
        return coef.T, intercept


def standard_design(
    block: Block, moments: Moments, *, scaled: bool = True, centered: bool = True
) -> StandardDesign:
    """The design of the rows of positive weight; not ``scaled``, columns stay as they are."""
    d = moments.d
    identity = Standardizer(np.zeros(d), np.ones(d))
    standardizer = Standardizer.from_moments(moments) if scaled else identity
    if not centered:
        standardizer = replace(standardizer, mean=np.zeros(d))
    z = np.ones((block.n, 1 + d))
    np.subtract(block.dense(), standardizer.mean, out=z[:, 1:])
    z[:, 1:] *= standardizer.inverse_scale
    w = block.weights
    return StandardDesign(z, w / w.sum(), standardizer)


# -------------------------------------------------------------------------------------------------
# ``TableEncoder``: tables as matrices of numbers, in pipelines of any library.


@declare_parameters
class TableEncoder(TransformerMixin, RowsEstimator):
    """Encode a table as numbers and impute its missing values, as :func:`separatrix.scan` does.

        numeric column    its value, missing ones imputed
        discrete column   one 0/1 column for each level but the most frequent one

    Dates become days, truth values 0 and 1, and texts that are written as numbers become numbers.
    The estimators of this library encode data frames by themselves, in the same way; this is the
    same encoding for a pipeline, in front of models of any library.

    Parameters
    ----------
    missing : {"mean", "drop", "regress", "indicator"}, default="mean"
        Policy for missing values: impute the mean or the most frequent level; learn these from
        complete rows alone; impute by regression on the other columns; or impute the mean and
        add an indicator column. ``transform`` never drops a row.
    unseen : {"missing", "zeros", "error"}, default="missing"
        Policy for a level that training did not have: impute it as a missing value or encode it as
        zeros, with a warning (SEP005); or refuse it.
    kinds : mapping of str to {"numeric", "boolean", "discrete", "ignore"}, default=None
        Kinds of columns by name, where the kind inferred from the type is not the right one.
        Columns of an array are called ``x0``, ``x1`` …

    Attributes
    ----------
    encoding_ : Encoding
        Levels, fill values and reference levels by column.
    notes_ : tuple of str
        One sentence for everything that was inferred, and for each column that was left out.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they have any.

    See Also
    --------
    scan : Reads tables of any size, for the estimators of this library.
    Standardize : Also divides by standard deviations.

    Examples
    --------
    >>> import pandas as pd
    >>> import separatrix as sx
    >>> table = pd.DataFrame({"town": ["a", "b", "b", None], "area": [50.0, None, 80.0, 65.0]})
    >>> encoder = sx.TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['town=a', 'area'], dtype=object)
    >>> encoder.transform(table)
    array([[ 1., 50.],
           [ 0., 65.],
           [ 0., 80.],
           [ 0., 65.]])
    """

    _missing_ok = True
    encoding_: Encoding = field(init=False)

    missing: str = "mean"
    _: KW_ONLY
    unseen: str = "missing"
    kinds: Mapping[str, str] | None = None

    def _use_of_frames(self) -> str:
        """Frames are read by the options of this encoder."""
        return "objects"

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn levels and fill values of ``X`` (a table, a matrix or Rows); ``y`` is not used."""
        if isinstance(X, Rows):
            self._name_columns(X)
            rows = X
        else:
            table = self._table(X, reset=True)
            rows = scan(table, missing=self.missing, unseen=self.unseen, kinds=self.kinds)
        self.encoding_ = prepare(rows).encoding
        self.notes_ = tuple(map(str, (*rows.notes, *self.encoding_.notes)))
        return self

    def _table(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is; a matrix as columns with names."""
        if is_frame(X):
            if reset:
                validate_data(self, X, skip_check_array=True)
            return X
        x = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
        if sparse.issparse(x):
            x = to_array(x)
        x = _plain_objects(x)
        names = getattr(self, "feature_names_in_", column_names(x.shape[1]))
        return {str(name): x[:, j] for j, name in enumerate(names)}

    @on_one_blas_thread
    def transform(self, X: Any) -> Matrix:
        """The numbers of every row: dense, or sparse where there are many levels."""
        check_is_fitted(self)
        rows = X if isinstance(X, Rows) else self._table(X, reset=False)
        x = self.encoding_.apply(rows_like(rows, self.encoding_.schema).collect()).x
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        return x if wanted == "default" else to_array(x)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the numbers: columns, ``column=level`` and ``column missing``."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        own = getattr(self, "feature_names_in_", column_names(self.n_features_in_))
        names = dict(zip(map(str, own), map(str, given), strict=True))
        terms = (Term(names[t.column], t.level, t.missing) for t in self.encoding_.terms)
        return np.array([str(term) for term in terms], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def transform_formula(self) -> nodes.Node:
        """The numbers of a table."""
        return nodes.EncodedColumns(inputs_of(self), self.transform, is_table=True)


def _plain_objects(x: Any) -> Any:
    """Refuse values that are neither numbers nor text, as scikit-learn does; pandas' NA is None."""
    if x.dtype.kind != "O":
        return x
    plain = x.copy()
    for (i, j), value in np.ndenumerate(x):
        if type(value).__name__ == "NAType":
            plain[i, j] = None
        elif value is not None and not isinstance(value, str | int | float | np.generic):
            what = type(value).__name__
            where = f"row {i + 1}, column {j + 1}"
            raise TypeError(f"{where}: argument must be a string or a number, not {what}.")
    return plain
