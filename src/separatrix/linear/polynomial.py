"""Polynomial regression: least squares on powers and products of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import TrainingData, is_flat, numeric_rows
from separatrix.estimators.base import LinearModel, check_sample_weight
from separatrix.estimators.inference import no_summary
from separatrix.estimators.targets import numeric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.linear.influence import FitStatistics, Influence
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.linear.polynomial_tuning import tune_polynomial
from separatrix.linear.ridge.ridge import solve_ridge
from separatrix.linear.ridge.spectrum import RidgeOptions
from separatrix.linear.summary import InferenceMixin, Summary
from separatrix.messages import InputError
from separatrix.optimize.solution import LeastSquares
from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.expansion import Expansion, exponents_of, name_of
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind, Term
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.statistics.fields import FieldStatistic
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare

#: Numbers that an expanded chunk of rows may hold.
CHUNK_VALUES = 2_000_000


class PolynomialRegression(InferenceMixin, RegressorMixin, LinearModel):
    """Polynomial regression by least squares.

        min over b, a of Σ w (y − a − Σ bₑ xᵉ)²,     all products xᵉ of degree 1 to ``degree``

    A penalty ``alpha`` adds α times the sum of squares of the coefficients of standardized terms.
    The fit is computed in Chebyshev polynomials over the range of each column, which stay well
    conditioned, and predictions are made from those; ``coef_`` holds the coefficients of the
    monomials.

    Parameters
    ----------
    degree : int, default=2
        The highest degree of a term.
    interaction_only : bool, default=False
        Whether to use only products of distinct columns, without powers.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    alpha : float, default=0.0
        Ridge penalty on the standardized terms of the basis; 0 is least squares.

    Attributes
    ----------
    term_names_ : tuple of str
        Names of the terms, such as ``("x", "z", "x^2", "x z", "z^2")``, in the order of ``coef_``.
    exponents_ : ndarray of shape (m, d)
        The power of every column in every term.
    coef_ : ndarray of shape (m,) or (k, m)
        Coefficients of the monomials, one row per target if there are several.
    intercept_ : float or ndarray of shape (k,)
        Intercept a.
    certificate_ : Certificate
        Duality gap, KKT residual, rank and condition number in the Chebyshev basis.

    See Also
    --------
    LinearRegression : Degree one.
    BasisExpansion : Other functions of the columns, for any linear model.
    Lasso : Selects among many terms.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.arange(6.0)[:, None]
    >>> model = sx.PolynomialRegression(2).fit(x, 1 + 2 * x[:, 0] + 3 * x[:, 0] ** 2)
    >>> model.term_names_, model.coef_.round(6)
    (('x0', 'x0^2'), array([2., 3.]))
    """

    _multi_output = True
    _has_robust_errors = False
    _sparse_ok = False
    _basis_statistics: FitStatistics | None = None

    def __init__(
        self,
        degree: int = 2,
        *,
        interaction_only: bool = False,
        fit_intercept: bool = True,
        alpha: float = 0.0,
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.fit_intercept = fit_intercept
        self.alpha = alpha

    def tune(self, data: TuningData) -> Tuning:
        """Compare degrees and penalties on the folds of ``data``."""
        return tune_polynomial(data)

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the degree and the penalty that were chosen."""
        self.set_params(**tuning.parameters)
        return self.fit(rows)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        if int(self.degree) != self.degree or self.degree < 1:
            raise InputError(
                f"degree={self.degree!r} is not a degree.", remedy="Use a whole number from 1."
            )
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha={self.alpha!r}.", remedy="Use a number from 0.")
        source = self._training_rows(X, y, sample_weight)
        prepared = prepare(source)
        numeric(prepared.targets)
        terms = prepared.moments.terms.items
        expansion = self._expansion(prepared.rows, terms, prepared.encoding)
        self.exponents_, self.term_names_ = expansion.exponents, expansion.names
        self.center_, self.scale_ = expansion.center, expansion.scale
        self.chebyshev_ = expansion.chebyshev
        self._rows = self._expanded(prepared.rows)
        self.moments_ = self._rows.reduce(Moments())
        return self._update(prepared.encoding, flat=is_flat(source, y))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with all rows given before.

        The basis stays that of the first rows: Chebyshev polynomials over their range.
        """
        if not hasattr(self, "moments_"):
            return self.fit(X, y, sample_weight)
        rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=False))
        self._rows = None
        self.moments_ = self.moments_ + self._expanded(rows).reduce(Moments())
        return self._update(identity(rows.schema), flat=is_flat(rows, y))

    def _update(self, encoding: Encoding, *, flat: bool) -> Self:
        """Solve from the moments of the Chebyshev basis; state the fit for monomials as well."""
        fit_intercept, m = bool(self.fit_intercept), self.moments_
        expansion = self._fitted_expansion()
        if self.alpha > 0:
            return self._update_penalized(expansion, encoding, flat=flat)
        solution = solve_moments(self._rows, m, fit_intercept=fit_intercept)
        if not solution.identified.all():
            solution = minimum_norm_in_powers(solution, expansion, m)
        self.basis_coef_, self.basis_intercept_ = solution.coef, solution.intercept
        powers = in_powers(solution, expansion, fit_intercept=fit_intercept)
        of = FitStatistics.from_solution
        self._basis_statistics = of(solution, m, fit_intercept=fit_intercept)
        # the moments are those of the basis, not of the powers
        found = of(powers, m, fit_intercept=fit_intercept)
        self.fit_statistics_ = replace(found, scatter=np.zeros(0))
        self._accept(powers, encoding, flat=flat)
        return self

    def _update_penalized(self, expansion: Expansion, encoding: Encoding, *, flat: bool) -> Self:
        """Ridge regression on the terms of the basis."""
        m, options = self.moments_, RidgeOptions(bool(self.fit_intercept), standardize=True)
        penalty = np.full(m.y_mean.shape, float(self.alpha))
        solution = solve_ridge(TrainingData(m), penalty, options)
        self.basis_coef_, self.basis_intercept_ = solution.coef, solution.intercept
        whole = np.concatenate([solution.intercept[None, :], solution.coef])
        powers = np.asarray(expansion.to_powers() @ whole)
        self._basis_statistics = self.fit_statistics_ = None
        self._accept(replace(solution, coef=powers[1:], intercept=powers[0]), encoding, flat=flat)
        return self

    def summary(self, *args: Any, **kwargs: Any) -> Summary:
        """As that of :class:`LinearRegression`; refused for a penalty, which biases estimates."""
        check_is_fitted(self)
        if self.alpha > 0:
            no_summary("estimates that a penalty shrinks have no standard errors of this kind.")
        return super().summary(*args, **kwargs)

    def _expansion(self, rows: Rows, terms: Sequence[Term], encoding: Encoding) -> Expansion:
        """The terms, and the range to which each column is scaled."""
        return polynomial_expansion(
            rows,
            terms,
            encoding,
            int(self.degree),
            interaction_only=self.interaction_only,
            fit_intercept=bool(self.fit_intercept),
        )

    def _fitted_expansion(self) -> Expansion:
        return Expansion(
            self.exponents_, self.center_, self.scale_, tuple(self.term_names_), self.chebyshev_
        )

    def _expanded(self, rows: Rows) -> MappedRows:
        chunk = max(64, CHUNK_VALUES // len(self.exponents_))
        return MappedRows(rows, self._fitted_expansion(), chunk)

    @property
    def hyperplane_(self) -> Hyperplane:
        """The fitted hyperplane over powers and products."""
        check_is_fitted(self)
        return Hyperplane(
            np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), tuple(self.term_names_)
        )

    def predict(self, X: Any) -> Floats:
        """Value of the polynomial for every row."""
        x, expansion = np.asarray(self._design(X)), self._fitted_expansion()
        out = np.empty((len(x), self.basis_coef_.shape[1]))
        step = max(64, CHUNK_VALUES // len(self.exponents_))
        for start in range(0, len(x), step):
            z = expansion.transform(x[start : start + step])
            out[start : start + step] = z @ self.basis_coef_ + self.basis_intercept_
        return out[:, 0] if np.ndim(self.coef_) == 1 else out

    def relative_square_error(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Σ w (y − ŷ)² / Σ w (y − ȳ)², over all targets together; 1 − R² for one target."""
        y = np.asarray(y, dtype=float)
        w = check_sample_weight(sample_weight, len(y))
        weight = unit_weights(w, len(y))
        total = float(np.sum(weight @ (y - np.average(y, axis=0, weights=weight)) ** 2))
        if total == 0.0:
            raise InputError(
                "The target is constant, so that the relative error is not defined.",
                remedy="Use rows with different targets.",
            )
        return float(np.sum(weight @ (y - self.predict(X)) ** 2)) / total

    def _summary_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        source = self._training_rows(X, y, sample_weight, reset=False)
        return self._expanded(prepare(source).rows)

    def _new_rows(self, X: Any) -> Rows:
        return self._expanded(super()._new_rows(X))

    def _influence(
        self, rows: Rows, output: int, sigma2: float, *, as_fitted: bool
    ) -> Influence | None:
        """Leverage and Cook's distance from the Chebyshev basis, in which ``rows`` are given."""
        if self._basis_statistics is None:
            return None
        coef, constant = self.basis_coef_[:, output], float(self.basis_intercept_[output])
        block, e = rows.collect(), self._basis_statistics
        return Influence(block, coef, constant, output, e, sigma2, as_fitted)

    def _term_names(self) -> tuple[str, ...]:
        return tuple(self.term_names_)


def polynomial_expansion(
    rows: Rows,
    terms: Sequence[Term],
    encoding: Encoding,
    degree: int,
    *,
    interaction_only: bool = False,
    fit_intercept: bool = True,
) -> Expansion:
    """The terms of a polynomial by degree, and the range to which each column is scaled."""
    extremes = rows.reduce(Extremes())
    boolean = {c.name for c in encoding.schema.columns if c.kind is Kind.BOOLEAN}
    indicator = np.array([t.level is not None or t.missing or t.column in boolean for t in terms])
    highest = [1 if one else degree for one in indicator]
    exponents = exponents_of(terms, highest, degree, interaction_only=interaction_only)
    if fit_intercept:
        center = (extremes.low + extremes.high) / 2
        scale = (extremes.high - extremes.low) / 2
    else:  # without an intercept, shifted columns would not span the same functions
        center = np.zeros(len(terms))
        scale = np.maximum(np.abs(extremes.low), np.abs(extremes.high))
    center, scale = np.where(indicator, 0.0, center), np.where(indicator, 1.0, scale)
    scale[scale == 0] = 1.0
    names = tuple(name_of(e, terms) for e in exponents)
    return Expansion(exponents, center, scale, names, chebyshev=fit_intercept)


class Extremes(FieldStatistic):
    """Minimum ``low`` and maximum ``high`` of every column; rows of weight 0 do not count."""

    minima, maxima = ("low",), ("high",)

    def __init__(self) -> None:
        self.low: Floats | float = np.inf
        self.high: Floats | float = -np.inf

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        weighted = block if block.w is None else block.take(np.flatnonzero(block.w > 0))
        step = max(64, 1_000_000 // max(len(block.terms), 1))
        for start in range(0, weighted.n, step):
            x = weighted.dense(start, start + step)
            self.low = np.minimum(self.low, x.min(axis=0))
            self.high = np.maximum(self.high, x.max(axis=0))


def in_powers(solution: LeastSquares, expansion: Expansion, *, fit_intercept: bool) -> LeastSquares:
    """A fit in the basis of the expansion, stated for monomials, its covariance included."""
    a = expansion.to_powers()
    whole = a @ np.concatenate([solution.intercept[None, :], solution.coef])
    if not fit_intercept:
        a = a[1:, 1:]
    undetermined = np.abs(a) @ (~solution.identified).astype(float)
    return replace(
        solution,
        coef=whole[1:],
        intercept=whole[0],
        inverse=np.asarray(a @ (a @ solution.inverse).T),
        identified=np.asarray(undetermined == 0.0),
    )


def minimum_norm_in_powers(
    solution: LeastSquares, expansion: Expansion, m: Moments
) -> LeastSquares:
    """The fit with the same fitted values whose coefficients of monomials have minimum norm.

    With G a generalized inverse of S = XᵀX, the columns of I − GS span the null space of S.
    """
    fit_intercept = len(solution.inverse) > m.d
    about = m if fit_intercept else m.about_origin()
    null_space = np.eye(m.d) - solution.inverse[-m.d :, -m.d :] @ about.xx
    to_powers = expansion.to_powers()[1:, 1:]
    steps = np.linalg.lstsq(to_powers @ null_space, to_powers @ solution.coef, rcond=1e-10)[0]
    coef = solution.coef - null_space @ steps
    intercept = about.y_mean - about.x_mean @ coef if fit_intercept else solution.intercept
    return replace(solution, coef=coef, intercept=intercept)
