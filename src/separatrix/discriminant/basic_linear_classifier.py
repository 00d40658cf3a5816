"""Classification by class means, with one of four scatter matrices to measure distance."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms, known_classes
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.messages import check_option
from separatrix.optimize.convex import Certificate, Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, MappedStatistic, Rows
from separatrix.rows.schema import Encoding, Terms, identity
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import ClassCodes, ClassMomentRows, prepare_classes
from separatrix.statistics.moments import EPS, Standardizer, prepare, zero_if_constant
from separatrix.threads import on_one_blas_thread

#: How distances are measured under each scatter matrix.
SCATTERS = {
    "identity": "Euclidean distance, which depends on the units of the columns",
    "diagonal": "distance in standard deviations of each column, free of units",
    "pooled": "Mahalanobis distance of the pooled covariance, free of units and correlation",
    "total": "distance with respect to XᵀX, free of units",
}


@declare_parameters
class BasicLinearClassifier(LinearClassifier):
    """Linear classifier from class means and a scatter matrix M.

        w = M⁻¹(n⁺μ⁺ − n⁻μ⁻)

    With n⁺ = n⁻ = 1 the hyperplane w·x = t bisects the segment between the means, t = w·(μ⁺+μ⁻)/2;
    with K classes x is assigned to the nearest mean, by scores (x − x̄)·M⁻¹mₖ − ½ mₖ·M⁻¹mₖ with
    mₖ = μₖ − x̄. With ``prevalence`` the n are the class proportions and t = 0 (K classes: scores
    nₖ x·M⁻¹μₖ); this and ``scatter="total"`` is least squares without intercept.

    Parameters
    ----------
    scatter : {"identity", "diagonal", "pooled", "total"}, default="identity"
        M: the identity; the variances of the columns; the pooled covariance; XᵀX/N. The first
        depends on the units of the columns by definition, the others do not.
    prevalence : bool, default=False
        Whether each mean is weighted by the proportion of its class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_means_ : ndarray of shape (n_classes, n_features)
        Class means.
    class_prior_ : ndarray of shape (n_classes,)
        Class proportions.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the scores.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    normal_ : ndarray
        The normal w (one row per class for more than two classes).
    threshold_ : float or ndarray
        The threshold t, where w·x = t is the boundary.
    certificate_ : Certificate
        The distance used; no optimality is claimed.

    See Also
    --------
    NearestMean : The same for the identity, with priors and probabilities.
    LinearDiscriminantAnalysis : The pooled covariance, with priors and probabilities.
    LeastSquaresClassifier : Least squares on class indicators.

    References
    ----------
    P. Flach, Machine Learning: The Art and Science of Algorithms that Make Sense of Data,
    Cambridge University Press, 2012.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]], [0, 0, 1, 1]
    >>> model = sx.BasicLinearClassifier().fit(X, y)
    >>> model.normal_, model.threshold_
    (array([4., 0.]), 8.0)
    >>> model.predict([[1.0, 5.0], [3.0, 5.0]])
    array([0, 1])
    """

    class_moments_: ClassMoments = field(init=False)

    _: KW_ONLY
    scatter: str = "identity"
    prevalence: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("scatter", self.scatter, SCATTERS)
        rows = class_rows(self, X, y, sample_weight)
        if isinstance(rows, ClassMomentRows):
            classes = prepare_classes(rows)
            known = class_terms(self, rows, classes.targets)
            parts = [classes.of(term) for term in known]
            self._fit_moments(ClassMoments.from_moments(self._structure, parts), classes.encoding)
            return self
        prepared = prepare(rows)
        terms = class_terms(self, rows, prepared.targets)
        d = len(prepared.encoding.terms)
        self._fit_moments(self._read(prepared.rows, terms, d), prepared.encoding)
        return self

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels."""
        check_option("scatter", self.scatter, SCATTERS)
        first = not hasattr(self, "class_moments_")
        before = None if first else self.classes_
        known = known_classes(self, X, classes)
        closed = classes is not None
        rows = class_rows(self, X, y, sample_weight, known=known, closed=closed, reset=first)
        assert isinstance(rows, ArrayRows)
        terms = class_terms(self, rows, rows.block.targets)
        moments = self._read(rows, terms, rows.block.x.shape[1])
        if before is not None:
            position = np.searchsorted(self.classes_, before)
            moments = self.class_moments_.expand_classes(len(self.classes_), position) + moments
        self._fit_moments(moments, identity(rows.schema))
        return self

    @property
    def _structure(self) -> str:
        """How much of the scatter within classes the distance needs."""
        return "diagonal" if self.scatter in ("identity", "diagonal") else "pooled"

    def _read(self, rows: Rows, terms: Terms, d: int) -> ClassMoments:
        """Means, and as much of the scatter within classes as the distance needs, in one pass."""
        empty = ClassMoments.empty(self._structure, len(terms), d)
        return rows.reduce(MappedStatistic(empty, ClassCodes(terms))).inner

    def _fit_moments(self, m: ClassMoments, encoding: Encoding) -> None:
        self.class_moments_ = m
        self.class_means_ = np.where(m.weight[:, None] > 0, m.mean, m.grand_mean)
        self.class_prior_ = m.weight / m.weight.sum()
        center = np.zeros(m.mean.shape[1]) if self.prevalence else m.grand_mean
        n = self.class_prior_ if self.prevalence else np.ones(len(m.weight))
        means = self.class_means_ - center
        normals = n[:, None] * scatter_solve(means, self.scatter, m)
        offsets = -normals @ center
        if not self.prevalence:
            offsets -= 0.5 * np.einsum("kd,kd->k", normals, means)
        if len(m.weight) == 2:
            normals, offsets = np.diff(normals, axis=0), np.diff(offsets)
        self._accept(Solution(normals.T, offsets, self._certificate()), encoding, flat=False)

    def _certificate(self) -> Certificate:
        notes = [f"Measured by {SCATTERS[self.scatter]}."]
        if self.prevalence and self.scatter == "total":
            notes.append("With the class proportions this is least squares without intercept.")
        claim = "Class means: a closed form; no optimality is claimed beyond "
        claim += "the direction" if self.prevalence else "lying halfway between the means"
        return Certificate(claim, notes=tuple(notes), promised=())

    @property
    def normal_(self) -> Floats:
        """The normal w of the hyperplane."""
        return self.coef_[0] if len(self.classes_) == 2 else self.coef_

    @property
    def threshold_(self) -> Any:
        """The threshold t, where w·x = t is the boundary."""
        return -float(self.intercept_[0]) if len(self.classes_) == 2 else -self.intercept_


def scatter_solve(means: Floats, scatter: str, m: ClassMoments) -> Floats:
    """M⁻¹μ for every row μ of ``means``; constant columns get no weight."""
    if scatter == "identity":
        return means.copy()
    total = m.within + m.between
    if scatter == "total":
        raw = total + np.outer(m.grand_mean, m.grand_mean)
        return _solve_in_span(raw, raw, means)
    variance = total if scatter == "diagonal" else np.diag(total)
    scale = zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), m.grand_mean)
    if scatter == "diagonal":
        return np.asarray(means * Standardizer(m.grand_mean, scale).inverse_scale ** 2)
    varies = scale > 0.0
    all_rows = np.where(np.outer(varies, varies), total, 0.0)
    return _solve_in_span(m.within, all_rows, means)


def _solve_in_span(m: Floats, all_rows: Floats, means: Floats) -> Floats:
    """M⁻¹μ within the span of the rows, whose scatter matrix is ``all_rows``.

    A direction in which no rows differ is dropped. One in which only the rows of each class agree
    separates the classes by itself: it stays, with a variance of rounding size.
    """
    unit = np.sqrt(np.maximum(np.diag(all_rows), 0.0))
    unit[unit == 0] = 1.0
    values, v = linalg.eigh(all_rows / np.outer(unit, unit))
    nonzero = values > 10 * len(unit) * EPS * values.max(initial=0.0)
    whitening = v[:, nonzero] / np.sqrt(values[nonzero]) / unit[:, None]
    inner, u = linalg.eigh(whitening.T @ m @ whitening)
    inner = np.maximum(inner, 1e-12 * inner.max(initial=0.0) + np.finfo(float).tiny)
    rotated = means @ whitening @ u
    return np.asarray((rotated / inner) @ u.T @ whitening.T)
