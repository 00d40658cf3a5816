"""Gaussian naive Bayes: columns independent within classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats
from separatrix.discriminant.count_naive_bayes import stated_classes
from separatrix.discriminant.covariances import CovarianceShrinkage
from separatrix.discriminant.gaussian_classifier import (
    GaussianOptions,
    IncrementalGaussianClassifier,
    Statistics,
)
from separatrix.discriminant.leave_one_out import DiagonalFits, diagonal_fits
from separatrix.messages import InputError
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import MappedStatistic, Rows
from separatrix.rows.schema import Block
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.columns import column_extremes
from separatrix.threads import on_one_blas_thread


@declare_parameters
class GaussianNB(IncrementalGaussianClassifier):
    """Gaussian naive Bayes: columns independent within classes.

        gₖ(x) = ln P(k) − Σⱼ [ln σₖⱼ + ½ (xⱼ − μₖⱼ)² / σₖⱼ²]

    Where the n rows of a class agree in a column, its variance there is s²/(n + 1), s² being that
    of all rows: as if one more row of the class were drawn from all rows.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
    var_smoothing : float, default=1e-9
        What is added to the class variances of a column, as a fraction of the largest variance
        that is possible within the column's range, (max − min)²/4. (scikit-learn adds a fraction of
        the largest variance of all columns, which depends on units.) A table that is streamed is
        read twice for it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    theta_ : ndarray of shape (n_classes, n_features)
        Class means.
    var_ : ndarray of shape (n_classes, n_features)
        Class variances.
    epsilon_ : ndarray of shape (n_features,)
        What was added to the class variances of each column.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.
    class_count_ : ndarray of shape (n_classes,)
    range_ : ndarray of shape (2, n_features)
        Smallest and largest value of each column.
    certificate_ : Certificate
        Rank and condition number.

    See Also
    --------
    NaiveBayes : Numeric, boolean and discrete columns together, with missing values.
    GaussianDiscriminant : Other covariance structures, and a prior on means and variances.

    References
    ----------
    D. J. Hand and K. Yu, Idiot's Bayes: not so stupid after all?, International Statistical
    Review 69, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [5.0, 4.0], [6.0, 6.0]], ["a", "a", "b", "b"]
    >>> model = sx.GaussianNB().fit(X, y)
    >>> model.theta_
    array([[0.5, 0.5],
           [5.5, 5. ]])
    >>> model.predict([[4.0, 4.0]])
    array(['b'], dtype='<U1')
    """

    range_: Floats = field(init=False)

    _: KW_ONLY
    priors: Any = None
    var_smoothing: float = 1e-9

    def _options(self) -> GaussianOptions:
        if not 0 <= self.var_smoothing < np.inf:
            raise InputError(f"var_smoothing={self.var_smoothing} must not be negative.")
        likeliest = self.var_smoothing == 0
        return GaussianOptions("diagonal", CovarianceShrinkage(), self.priors, likeliest=likeliest)

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> Statistics:
        self.__dict__.pop("range_", None)
        statistics = super()._statistics(X, y, sample_weight)
        if isinstance(X, Rows):  # only now is the encoding of its columns known
            self.range_ = X.reduce(MappedStatistic(ColumnRange(), statistics[1])).inner.range
        return statistics

    def _array_moments(self, rows: Any, structure: str) -> ClassMoments:
        moments = super()._array_moments(rows, structure)
        extremes = moments.__dict__.pop("extremes", None)
        here = rows.reduce(ColumnRange()) if extremes is None else ColumnRange(extremes)
        self.range_ = (ColumnRange(getattr(self, "range_", None)) + here).range
        return moments

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before.

        ``classes`` lists all possible labels, and is required in the first call.
        """
        return super().partial_fit(X, y, stated_classes(self, classes), sample_weight)

    def _added_variances(self) -> Floats:
        return self.epsilon_

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> DiagonalFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        given = None if self.priors is None else self.priors_
        return diagonal_fits(self, X, y, sample_weight, given)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) of every row and class."""
        constant = 0.5 * (self.certificate_.rank or 0) * np.log(2.0 * np.pi)
        return np.asarray(self._scores(X) - constant)

    @property
    def theta_(self) -> Floats:
        """Class means (K x d)."""
        return self.means_

    @property
    def var_(self) -> Floats:
        """Class variances (K x d)."""
        return self.covariance_

    @property
    def epsilon_(self) -> Floats:
        """What was added to the class variances of each column."""
        return np.asarray(self.var_smoothing * (0.5 * (self.range_[1] - self.range_[0])) ** 2)

    @property
    def class_prior_(self) -> Floats:
        """Prior probabilities of the classes."""
        return self.priors_

    @property
    def class_count_(self) -> Floats:
        """Total sample weight of each class."""
        return np.asarray(self._round(self.class_moments_.weight))


class ColumnRange:
    """Smallest and largest value of each column over the rows of positive weight."""

    def __init__(self, found: Floats | None = None) -> None:
        self.found = found

    @property
    def range(self) -> Floats:
        """2 x d."""
        assert self.found is not None, "there are no rows"
        return self.found

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        x = block.x if block.w is None or block.w.all() else block.take(block.w > 0).x
        if not x.shape[0]:
            return
        if isinstance(x, np.ndarray):
            extremes = column_extremes(x)
        else:
            extremes = np.stack([part.toarray().ravel() for part in (x.min(axis=0), x.max(axis=0))])
        self.found = (self + type(self)(extremes)).range

    def __add__(self, other: Self) -> Self:
        if self.found is None or other.found is None:
            return type(self)(other.found if self.found is None else self.found)
        low = np.minimum(self.found[0], other.found[0])
        return type(self)(np.stack([low, np.maximum(self.found[1], other.found[1])]))
