"""Polynomial regression: least squares on products and powers of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import is_flat, numeric_rows
from separatrix.estimators.base import LinearModel, check_sample_weight
from separatrix.estimators.targets import numeric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.linear.least_squares.extent import Extent
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.linear.summary import FitStatistics, InferenceMixin, Influence, Summary, summarize
from separatrix.messages import InputError
from separatrix.optimize.solution import LeastSquares
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.expansion import Expansion, exponents_of, name_of
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind, Term
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare

#: Numbers that an expanded piece of rows may hold.
PIECE = 2_000_000


class PolynomialRegression(InferenceMixin, RegressorMixin, LinearModel):
    """min over b, a of Σ w (y − a − Σ bₑ xᵉ)², over all products xᵉ of degree 1 to ``degree``.

    The fit is made in Chebyshev polynomials over the range of each column, which stay nearly
    independent, and predictions are made from those; ``coef_`` states it for the plain powers.

    Parameters
    ----------
    degree : int, default=2
        The highest number of factors in a term.
    interaction_only : bool, default=False
        Whether to leave out powers and keep only products of different columns.
    fit_intercept : bool, default=True
        Whether there is a constant ``a``.

    Attributes
    ----------
    term_names_ : such as ``("x", "z", "x^2", "x z", "z^2")``, in the order of ``coef_``.
    coef_, intercept_ : coefficients of the powers and products of the columns as given.
    exponents_ : the power of every column in every term.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import PolynomialRegression
    >>> x = np.arange(6.0)[:, None]
    >>> model = PolynomialRegression(2).fit(x, 1 + 2 * x[:, 0] + 3 * x[:, 0] ** 2)
    >>> model.term_names_, model.coef_.round(6)
    (('x0', 'x0^2'), array([2., 3.]))
    """

    _multi_output = True
    _sparse_ok = False

    def __init__(
        self, degree: int = 2, *, interaction_only: bool = False, fit_intercept: bool = True
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        if int(self.degree) != self.degree or self.degree < 1:
            raise InputError(
                f"degree={self.degree!r} is no degree.", remedy="Use a whole number from 1."
            )
        source = self._training_rows(X, y, sample_weight)
        prepared = prepare(source)
        numeric(prepared.moments.targets)
        terms = prepared.moments.terms.items
        self._remember(self._expansion(prepared.rows, terms, prepared.encoding))
        self._rows = self._expanded(prepared.rows)
        self.moments_ = self._rows.reduce(Moments())
        return self._learn(prepared.encoding, flat=is_flat(source, y))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with all rows given before.

        The columns stay those of the first rows: Chebyshev polynomials over their range.
        """
        if not hasattr(self, "moments_"):
            return self.fit(X, y, sample_weight)
        rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=False))
        self._rows = None
        self.moments_ = self.moments_ + self._expanded(rows).reduce(Moments())
        return self._learn(identity(rows.schema), flat=is_flat(rows, y))

    def _learn(self, encoding: Encoding, *, flat: bool) -> Self:
        with_constant = bool(self.fit_intercept)
        solution = solve_moments(self._rows, self.moments_, fit_intercept=with_constant)
        if not solution.identified.all():
            solution = shortest_in_powers(solution, self._learned(), self.moments_)
        self.local_coef_, self.local_intercept_ = solution.coef, solution.intercept
        self._local = FitStatistics.from_solution(
            solution, self.moments_, fit_intercept=with_constant
        )
        powers = in_powers(solution, self._learned(), fit_intercept=with_constant)
        self.fit_statistics_ = FitStatistics.from_solution(
            powers, self.moments_, fit_intercept=with_constant
        )
        self._accept(powers, encoding, flat=flat)
        return self

    def _expansion(self, rows: Rows, terms: Sequence[Term], encoding: Encoding) -> Expansion:
        """Terms, and the range over which each column is measured."""
        extent = rows.reduce(Extent())
        assert extent.low is not None
        assert extent.high is not None
        yes_no = {c.name for c in encoding.schema.columns if c.kind is Kind.BOOLEAN}
        indicator = np.array(
            [t.level is not None or t.missing or t.column in yes_no for t in terms]
        )
        exponents = exponents_of(
            terms,
            [1 if one else int(self.degree) for one in indicator],
            int(self.degree),
            interaction_only=self.interaction_only,
        )
        if self.fit_intercept:
            centre, scale = (extent.low + extent.high) / 2, (extent.high - extent.low) / 2
        else:  # without a constant, shifted columns would not span the same functions
            centre = np.zeros(len(terms))
            scale = np.maximum(np.abs(extent.low), np.abs(extent.high))
        centre, scale = np.where(indicator, 0.0, centre), np.where(indicator, 1.0, scale)
        scale[scale == 0] = 1.0
        names = tuple(name_of(e, terms) for e in exponents)
        return Expansion(exponents, centre, scale, names, chebyshev=bool(self.fit_intercept))

    def _remember(self, e: Expansion) -> None:
        self.exponents_, self.centre_, self.scale_ = e.exponents, e.center, e.scale
        self.term_names_, self.rounded_ = e.names, e.chebyshev

    def _learned(self) -> Expansion:
        return Expansion(
            self.exponents_, self.centre_, self.scale_, tuple(self.term_names_), self.rounded_
        )

    def _expanded(self, rows: Rows) -> MappedRows:
        return MappedRows(rows, self._learned(), max(64, PIECE // len(self.exponents_)))

    @property
    def hyperplane_(self) -> Hyperplane:
        """What was learned: a hyperplane over the powers and products."""
        check_is_fitted(self)
        return Hyperplane(
            np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), tuple(self.term_names_)
        )

    def predict(self, X: Any) -> Floats:
        """The value of the polynomial for every row."""
        x, expansion = np.asarray(self._design(X)), self._learned()
        out = np.empty((len(x), self.local_coef_.shape[1]))
        step = max(64, PIECE // len(self.exponents_))
        for start in range(0, len(x), step):
            z = expansion.transform(x[start : start + step])
            out[start : start + step] = z @ self.local_coef_ + self.local_intercept_
        return out[:, 0] if np.ndim(self.coef_) == 1 else out

    def relative_square_error(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Σ w (y − ŷ)² / Σ w (y − ȳ)²: 0 for a perfect fit, 1 for one no better than the mean.

        Over all targets together; 1 − R² for one target.
        """
        y = np.asarray(y, dtype=float)
        w = check_sample_weight(sample_weight, len(y))
        weight = unit_weights(w, len(y))
        spread = float(np.sum(weight @ (y - np.average(y, axis=0, weights=weight)) ** 2))
        if spread == 0.0:
            raise InputError(
                "The target does not vary, so there is no error of the mean to compare with.",
                remedy="Use rows with different targets.",
            )
        return float(np.sum(weight @ (y - self.predict(X)) ** 2)) / spread

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        level: float = 0.95,
        output: int = 0,
    ) -> Summary:
        """Estimates for the powers; leverage and Cook's distance from the Chebyshev columns."""
        check_is_fitted(self)
        rows = self._rows
        if X is not None:
            source = self._training_rows(X, y, sample_weight, reset=False)
            rows = self._expanded(prepare(source).rows)
        found = summarize(self, None, level, output)
        local = getattr(self, "_local", None)
        if rows is None or local is None:
            return found
        coef, constant = self.local_coef_[:, output], float(self.local_intercept_[output])
        influence = Influence(rows.collect(), coef, constant, output, local, found.sigma**2)
        return replace(found, _influence=influence)


def in_powers(solution: LeastSquares, expansion: Expansion, *, fit_intercept: bool) -> LeastSquares:
    """A fit in the expansion's columns, stated for powers of x, its covariance included."""
    a = expansion.to_powers()
    whole = a @ np.concatenate([solution.intercept[None, :], solution.coef])
    if not fit_intercept:
        a = a[1:, 1:]
    open_ = np.abs(a) @ (~solution.identified).astype(float)
    return replace(
        solution,
        coef=whole[1:],
        intercept=whole[0],
        inverse=np.asarray(a @ (a @ solution.inverse).T),
        identified=np.asarray(open_ == 0.0),
    )


def shortest_in_powers(solution: LeastSquares, expansion: Expansion, m: Moments) -> LeastSquares:
    """Of all fits with the same values, the one whose coefficients of powers are the shortest.

    With G a generalised inverse of S = XᵀX, the columns of I − GS span the directions in which
    coefficients can move without moving a fitted value.
    """
    with_constant = len(solution.inverse) > m.d
    about = m if with_constant else m.about_origin()
    free = np.eye(m.d) - solution.inverse[-m.d :, -m.d :] @ about.xx
    to_powers = expansion.to_powers()[1:, 1:]
    steps = np.linalg.lstsq(to_powers @ free, to_powers @ solution.coef, rcond=1e-10)[0]
    coef = solution.coef - free @ steps
    intercept = about.y_mean - about.x_mean @ coef if with_constant else solution.intercept
    return replace(solution, coef=coef, intercept=intercept)
