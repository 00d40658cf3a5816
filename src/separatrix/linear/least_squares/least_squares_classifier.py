"""Classification by least squares: regress on the classes, then take the nearer code."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.linear.least_squares.solve import fit_least_squares
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.class_preparation import TargetMap
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare


class LeastSquaresClassifier(LinearClassifier):
    """min over W, a of Σ w ‖c(y) − a − W·x‖², the class whose code is nearest.

    Two classes have the codes −1 and +1, and x belongs to ``classes_[1]`` where w·x + a > 0.
    K classes have the unit vectors as codes, and the largest score wins. With one column and two
    classes the slope is 2·pos·neg·(μ⁺ − μ⁻)/σ², with pos and neg the shares of the classes, and
    the threshold is x̄ − ȳ/slope: at the mean where classes are balanced, else moved towards the
    rarer one. Scores are no probabilities, and none are offered.

    Everything follows from the moments of [X, Y]; the answer does not depend on units of X.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the hyperplanes may miss the origin.

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,) for two classes, else (K, d) and (K,).
    classes_ : the labels in order.
    """

    moments_: Moments

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._class_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = self._class_terms(rows, prepared.moments.targets)
        moments = prepared.moments.aligned(prepared.moments.terms, terms)
        self._learn(prepared.rows, moments, prepared.encoding)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        first = not hasattr(self, "moments_")
        known = self._known_classes(classes)
        rows = self._class_rows(X, y, sample_weight, known=known, reset=first)
        if not isinstance(rows, ArrayRows):
            raise InputError(
                "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
            )
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
        solution = fit_least_squares(rows, moments, fit_intercept=self.fit_intercept)
        self._accept(solution, encoding, flat=False)
