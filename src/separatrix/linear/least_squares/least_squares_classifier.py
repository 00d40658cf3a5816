"""Classification by least squares on class codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.class_preparation import TargetMap
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare


class LeastSquaresClassifier(LinearClassifier):
    """Linear classifier by least-squares regression on class codes.

        min over W, a of Σ w ‖c(y) − a − W·x‖²

    Two classes have the codes −1 and +1, and x is assigned to ``classes_[1]`` where w·x + a > 0.
    K classes have one-hot codes, and the largest score wins. Scores are no probabilities.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the hyperplanes have an intercept.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels in order.
    coef_ : ndarray of shape (1, d) or (K, d)
        Coefficients, one row for two classes, else one row per class.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts.
    certificate_ : Certificate
        Duality gap, KKT residual, rank and condition number.
    moments_ : Moments
        Moments of the columns and the one-hot classes, to which ``partial_fit`` adds.

    See Also
    --------
    LinearRegression : The same criterion for a numeric target.
    LinearDiscriminantAnalysis : Gaussian classes with a common covariance.
    LogisticRegression : A linear classifier with probabilities.

    Notes
    -----
    With one column and two classes the coefficient is 2·π⁺π⁻(μ⁺ − μ⁻)/σ², π being the class
    proportions, and the threshold is x̄ − ȳ/coef: at the mean where classes are balanced, else
    moved towards the rarer class. The solution follows from moments alone and does not depend on
    the units of X.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, 2nd edition,
    Springer, 2009, section 4.2.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0], [1.0], [3.0], [4.0]]
    >>> model = sx.LeastSquaresClassifier().fit(x, ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [3.5]])
    array(['a', 'b'], dtype='<U1')
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([[0.6]]), array([-1.2]))
    """

    moments_: Moments

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._class_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = self._class_terms(rows, prepared.targets)
        moments = prepared.moments.aligned(prepared.moments.terms, terms)
        self._learn(prepared.rows, moments, prepared.encoding)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        first = not hasattr(self, "moments_")
        known = self._known_classes(X, classes)
        rows = self._class_rows(X, y, sample_weight, known=known, reset=first)
        assert isinstance(rows, ArrayRows)
        terms = self._class_terms(rows, rows.block.targets)
        moments = rows.reduce(Moments())
        if not first:
            moments = self.moments_ + moments
        self._learn(None, moments.aligned(moments.terms, terms), identity(rows.schema))
        return self

    def _learn(self, rows: Rows | None, moments: Moments, encoding: Encoding) -> None:
        self.moments_ = moments
        if len(self.classes_) == 2:
            name = moments.targets.items[1].column
            signs = TargetMap(np.array([[-1.0], [1.0]]), Terms((Term(name),)))
            moments = signs.moments(moments)
            rows = None if rows is None else MappedRows(rows, signs)
        solution = solve_moments(rows, moments, fit_intercept=self.fit_intercept)
        self._accept(solution, encoding, flat=False)
