"""Polynomial regression: least squares on powers and products of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import comb
from typing import Any, Self

import numpy as np
from scipy import linalg
from scipy.special import expit
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import base
from separatrix.estimators.inference import no_summary
from separatrix.estimators.radial_centers import neighbor_distance, place_centers
from separatrix.formula import nodes
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.linear.inference import FitStatistics, InferenceMixin, Influence, Summary
from separatrix.linear.least_squares import solve_moments
from separatrix.linear.ridge import solve_ridge
from separatrix.linear.spectrum import RidgeOptions
from separatrix.messages import InputError, did_you_mean
from separatrix.mixins import RegressorMixin, TransformerMixin
from separatrix.optimize.convex import LeastSquares
from separatrix.parameters import declare_parameters
from separatrix.rows import schema
from separatrix.rows.expansion import Expansion, exponents_of, name_of
from separatrix.rows.rows import ArrayRows, MappedRows, Rows, column_means
from separatrix.selection.tuning import Tuning, TuningData, best_by_fold
from separatrix.statistics.moments import FieldStatistic, Moments, Standardizer, prepare
from separatrix.threads import on_one_blas_thread

#: Numbers that an expanded chunk of rows may hold.
CHUNK_VALUES = 2_000_000


@declare_parameters
class PolynomialRegression(InferenceMixin, RegressorMixin, base.LinearModel):
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
    _basis_statistics: FitStatistics | None = field(init=False, default=None)

    degree: int = 2
    _: KW_ONLY
    interaction_only: bool = False
    fit_intercept: bool = True
    alpha: float = 0.0

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare degrees and penalties on the folds of ``data``."""
        return tune_polynomial(data)

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the degree and the penalty that were chosen."""
        self.set_params(**tuning.parameters)
        return self.fit(rows)

    @base.reads_tables
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
        base.numeric(prepared.targets)
        terms = prepared.moments.terms.items
        expansion = self._expansion(prepared.rows, terms, prepared.encoding)
        self.exponents_, self.term_names_ = expansion.exponents, expansion.names
        self.center_, self.scale_ = expansion.center, expansion.scale
        self.chebyshev_ = expansion.chebyshev
        self._rows = self._expand(prepared.rows)
        self.moments_ = self._rows.reduce(Moments())
        return self._update(prepared.encoding, flat=base.is_flat(source, y))

    @on_one_blas_thread
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with all rows given before.

        The basis stays that of the first rows: Chebyshev polynomials over their range.
        """
        if not hasattr(self, "moments_"):
            return self.fit(X, y, sample_weight)
        rows = base.numeric_rows(self._training_rows(X, y, sample_weight, reset=False))
        self._rows = None
        self.moments_ = self.moments_ + self._expand(rows).reduce(Moments())
        return self._update(schema.identity(rows.schema), flat=base.is_flat(rows, y))

    def _update(self, encoding: schema.Encoding, *, flat: bool) -> Self:
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
        fitted = of(powers, m, fit_intercept=fit_intercept)
        self.fit_statistics_ = replace(fitted, scatter=np.zeros(0))
        self._accept(powers, encoding, flat=flat)
        return self

    def _update_penalized(
        self, expansion: Expansion, encoding: schema.Encoding, *, flat: bool
    ) -> Self:
        """Ridge regression on the terms of the basis."""
        m, options = self.moments_, RidgeOptions(bool(self.fit_intercept), standardize=True)
        penalty = np.full(m.y_mean.shape, float(self.alpha))
        solution = solve_ridge(base.TrainingData(m), penalty, options)
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

    def _expansion(
        self, rows: Rows, terms: Sequence[schema.Term], encoding: schema.Encoding
    ) -> Expansion:
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

    def _expand(self, rows: Rows) -> MappedRows:
        chunk = max(64, CHUNK_VALUES // len(self.exponents_))
        return MappedRows(rows, self._fitted_expansion(), chunk)

    @property
    def hyperplane_(self) -> Hyperplane:
        """The fitted hyperplane over powers and products."""
        check_is_fitted(self)
        return Hyperplane(
            np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), tuple(self.term_names_)
        )

    @on_one_blas_thread
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
        w = schema.check_sample_weight(sample_weight, len(y))
        weight = schema.unit_weights(w, len(y))
        total = float(np.sum(weight @ (y - np.average(y, axis=0, weights=weight)) ** 2))
        if total == 0.0:
            raise InputError(
                "The target is constant, so that the relative error is not defined.",
                remedy="Use rows with different targets.",
            )
        return float(np.sum(weight @ (y - self.predict(X)) ** 2)) / total

    def _summary_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        source = self._valid_rows(X, y, sample_weight, reset=False)
        return self._expand(prepare(source).rows)

    def _new_rows(self, X: Any) -> Rows:
        return self._expand(super()._new_rows(X))

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

    def formula(self) -> nodes.NumberFormula:
        """Σ coef · products of T₀ … T_k((x − center)/scale): Chebyshev polynomials, or powers."""
        x, flat = nodes.design_of(self), np.ndim(self.coef_) == 1
        coef, constant = np.asarray(self.basis_coef_), np.atleast_1d(self.basis_intercept_)
        if not len(self.exponents_):
            return nodes.regression(
                nodes.Constants(x, constant), self, flat=flat, count=len(constant)
            )
        terms = nodes.PolynomialTerms(
            x, self.center_, self.scale_, self.exponents_, self.chebyshev_
        )
        mean = nodes.Affine(terms, coef, constant)
        return nodes.regression(mean, self, flat=flat, count=len(constant))


def polynomial_expansion(
    rows: Rows,
    terms: Sequence[schema.Term],
    encoding: schema.Encoding,
    degree: int,
    *,
    interaction_only: bool = False,
    fit_intercept: bool = True,
) -> Expansion:
    """The terms of a polynomial by degree, and the range to which each column is scaled."""
    extremes = rows.reduce(Extremes())
    boolean = {c.name for c in encoding.schema.columns if c.kind is schema.Kind.BOOLEAN}
    indicator = np.array([t.level is not None or t.missing or t.column in boolean for t in terms])
    highest = [1 if flag else degree for flag in indicator]
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

    def update(self, block: schema.Block) -> None:
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


# -------------------------------------------------------------------------------------------------
# Degree and penalty of polynomial regression, from one spectrum a degree and fold.
#
#     min over b, a of Σ w (y − a − b·t)² + λ n ‖b‖²,     t the standardized terms of the polynomial
#
# The scatter of the terms is summed by fold; that of the training rows of a fold is the sum over
# the others, and its eigenvectors serve every penalty.


#: Penalties for each row, largest first: of standardized terms, so that no unit matters.
PENALTIES = 10.0 ** np.arange(1.0, -6.25, -0.5)


@dataclass(frozen=True)
class _Candidate:
    """One degree: predictions out of fold (rows x penalties), and losses (penalties x folds)."""

    degree: int
    predictions: Floats
    losses: Floats


def tune_polynomial(data: TuningData) -> Tuning:
    """Compare degrees and penalties on the folds of ``data``."""
    degrees = [degree for degree in (2, 3, 4) if _affordable(data, degree)]
    if not degrees:
        d = data.x.shape[1]
        raise InputError(
            f"A polynomial of {d} columns has {_terms(d, 2)} terms.",
            remedy="Use fewer columns, or a model with a kernel.",
        )
    candidates: list[_Candidate] = []
    for degree in degrees:
        candidates.append(_cross_validate(data, degree))
        if len(candidates) > 1 and _least(candidates[-1]) > _least(candidates[-2]):
            break  # a higher degree did not help
    losses = np.concatenate([c.losses for c in candidates])
    grid = [(c.degree, penalty) for c in candidates for penalty in PENALTIES]
    best, by_fold = best_by_fold(losses, np.bincount(data.fold[data.fold >= 0]).astype(float))
    predictions = np.concatenate([c.predictions for c in candidates], axis=1)
    rows = np.flatnonzero(data.fold >= 0)
    degree, penalty = grid[best]
    return Tuning(
        {"degree": degree, "alpha": float(penalty * data.w.sum())},
        tuple({"degree": degree, "alpha": float(p * data.w.sum())} for degree, p in grid),
        losses,
        by_fold,
        rows,
        predictions[rows, by_fold[data.fold[rows]]],
        "values",
    )


def _least(candidate: _Candidate) -> float:
    return float(candidate.losses.mean(axis=1).min())


def _terms(d: int, degree: int) -> int:
    return comb(d + degree, degree) - 1


def _affordable(data: TuningData, degree: int) -> bool:
    """Scatter of the terms, and one eigendecomposition a fold, within the work allowed."""
    terms, folds = _terms(data.x.shape[1], degree), len(data.folds)
    work = 2.0 * data.n * terms**2 + folds * 15.0 * terms**3
    # Terms that a polynomial may have: in all, and for each training row.
    limit = min(1_500, 2.0 * data.n)
    return terms <= limit and work <= data.work


def _cross_validate(data: TuningData, degree: int) -> _Candidate:
    """All penalties of one degree."""
    t = _standardized_terms(data, degree)
    predictions = np.full((data.n, len(PENALTIES)), np.nan)
    parts = _moments_by_part(t, data)
    losses = np.empty((len(PENALTIES), len(data.folds)))
    for fold, (train, test) in enumerate(data.folds.pairs):
        predictions[test] = _predict_fold(t, _total(parts, t, data, fold, train), test)
        error = predictions[test] - data.y[test, None]
        loss = np.abs(error) if data.loss == "absolute" else error**2
        losses[:, fold] = data.w[test] @ loss / data.w[test].sum()
    return _Candidate(degree, predictions, losses)


def _standardized_terms(data: TuningData, degree: int) -> Floats:
    """Products of Chebyshev polynomials of the columns, standardized; indicators have no powers."""
    x = np.asarray(data.x, dtype=float)
    low, high = x.min(axis=0), x.max(axis=0)
    indicator = ((x == 0.0) | (x == 1.0)).all(axis=0)
    names = [schema.Term(f"x{j}") for j in range(x.shape[1])]
    highest = np.where(indicator, 1, degree).tolist()
    exponents = exponents_of(names, highest, degree, interaction_only=False)
    half = np.where(indicator | (high == low), 1.0, (high - low) / 2)
    center = np.where(indicator, 0.0, (high + low) / 2)
    terms = Expansion(exponents, center, half, ("",) * len(exponents)).transform(x)
    return np.asarray(Standardizer.from_rows(terms, data.w).transform(terms))


@dataclass(frozen=True)
class _Moments:
    """Σw, Σw t, Σw y, Σw ttᵀ, Σw t y."""

    weight: float
    t: Floats
    y: float
    tt: Floats
    ty: Floats

    @classmethod
    def of(cls, t: Floats, y: Floats, w: Floats) -> _Moments:
        weighted = t * w[:, None]
        return cls(
            float(w.sum()), weighted.sum(axis=0), float(w @ y), weighted.T @ t, weighted.T @ y
        )

    def __add__(self, other: _Moments) -> _Moments:
        return _Moments(
            self.weight + other.weight,
            self.t + other.t,
            self.y + other.y,
            self.tt + other.tt,
            self.ty + other.ty,
        )


def _moments_by_part(t: Floats, data: TuningData) -> list[_Moments]:
    """Moments of the rows of every fold, if the folds partition the rows."""
    if data.folds.labels is None:
        return []
    tests = (test for _, test in data.folds.pairs)
    return [_Moments.of(t[test], data.y[test], data.w[test]) for test in tests]


def _total(parts: list[_Moments], t: Floats, data: TuningData, fold: int, train: Ints) -> _Moments:
    """Moments of the training rows of a fold."""
    if not parts:
        return _Moments.of(t[train], data.y[train], data.w[train])
    others = [part for number, part in enumerate(parts) if number != fold]
    return sum(others[1:], start=others[0])


def _predict_fold(t: Floats, m: _Moments, test: Ints) -> Floats:
    """Predictions of the test rows by every penalty (rows x penalties)."""
    center, mean = m.t / m.weight, m.y / m.weight
    scatter = m.tt - np.outer(m.t, center)
    values, directions = linalg.eigh(scatter, check_finite=False, overwrite_a=True)
    cross = directions.T @ (m.ty - m.t * mean)
    shrunk = cross[:, None] / (np.maximum(values, 0.0)[:, None] + PENALTIES * m.weight)
    return np.asarray(((t[test] - center) @ directions) @ shrunk + mean)


# -------------------------------------------------------------------------------------------------
# Basis expansion: functions of the columns as columns of a linear model.


#: What each name stands for, and what may follow it.
FUNCTIONS = {
    "linear": "the columns themselves",
    "squares": "x²",
    "products": "x z for every two columns",
    "quadratic": "columns, squares and products: ('polynomial', 2)",
    "polynomial": "monomials up to a degree: ('polynomial', degree)",
    "cosine": "cos(k x): 'cosine', or ('cosine', k, …)",
    "jump": "1 where x < a, else 0: ('jump', a, …)",
    "sigmoid": "1/(1 + exp(−(x − c)/s)) at quantiles of every column: 'sigmoid', "
    "('sigmoid', how many) or ('sigmoid', [c, …])",
    "gaussian": "exp(−‖x − c‖²/2h²) at centers by K-means: 'gaussian', ('gaussian', how many) or "
    "('gaussian', [[…], …])",
}

#: Centers where no number is given: sigmoids of a column bend at its middle and on both sides;
#: the rows need more, as they have more directions.
COUNTS = {"sigmoid": 3, "gaussian": 10}

#: Centers (m × d), and 1/width of every column; no center of a column is NaN.
Placement = tuple[Floats, Floats]

#: Functions of the rows by the names of the columns they give, in order.
BasisFunctions = dict[str, Callable[[Floats], Any]]


@declare_parameters
class BasisExpansion(TransformerMixin, base.RowsEstimator):
    """Basis expansion: any linear model of φ(x) is a nonlinear model of x.

        φ(x) = (φ₁(x), …, φₘ(x))

    Parameters
    ----------
    functions : sequence, default=("linear", "squares")
        Names, names with numbers, or functions of your own:
        "linear"; "squares"; "products"; "quadratic"; ("polynomial", degree); "cosine" or
        ("cosine", k, …) for cos(kx); ("jump", a, …) for 1{x < a}; "sigmoid", ("sigmoid", m) or
        ("sigmoid", [c, …]) for 1/(1 + exp(−(x − c)/s)) at m quantiles or at the centers given;
        a callable that maps the values of one column to as many numbers, or ("name", callable).
        Each is applied to every column; a term that occurs twice is used once.
        "gaussian", ("gaussian", m) or ("gaussian", C) are functions of all columns,
        exp(−‖z − c‖²/2h²) of standardized rows z, at m centers by K-means or at the rows of C.
    random_state : int, RandomState instance or None, default=0
        Seed of K-means.

    Attributes
    ----------
    term_names_ : tuple of str
        Names of the terms, such as ``("x", "z", "x^2", "cos(2 x)", "1{z<0.5}", "log1p(x)",
        "sigmoid 1 of x", "gaussian 1")``.
    placements_ : list of (None or tuple of two ndarrays)
        For each function that has centers, these in the units of the columns, and 1/s or 1/h of
        each column, from the training rows: s is the mean distance between neighboring centers of
        the column, h the median distance from a center to its nearest other one.
    encoding_ : Encoding
        The columns that were read.

    See Also
    --------
    PolynomialRegression : Polynomials with a well-conditioned basis.
    RadialBasisRegressor : Gaussian functions and ridge regression, their width chosen.
    Lasso : Selects among many terms.

    Notes
    -----
    "linear", "squares" and "products" together give the quadratic log ratio of two Gaussian
    classes; many functions with an ℓ₁ penalty leave the selection to the data.

    Examples
    --------
    >>> import separatrix as sx
    >>> expansion = sx.BasisExpansion(["linear", "squares", ("jump", 2.5)])
    >>> expansion.fit_transform([[2.0], [3.0]])
    array([[2., 4., 1.],
           [3., 9., 0.]])
    >>> expansion.get_feature_names_out()
    array(['x0', 'x0^2', '1{x0<2.5}'], dtype=object)
    >>> radial = sx.BasisExpansion([("gaussian", [[0.0], [2.0]])])
    >>> radial.fit_transform([[0.0], [1.0], [2.0]]).round(3)
    array([[1.   , 0.607],
           [0.882, 0.882],
           [0.607, 1.   ]])
    """

    _sparse_ok = False

    functions: Sequence[Any] = ("linear", "squares")
    _: KW_ONLY
    random_state: Any = 0

    @base.reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Read the names of the columns of ``X`` (a matrix or Rows), and place the centers.

        ``y`` is not used; without functions that have centers the values of the rows are not read.
        """
        rows: Rows
        if isinstance(X, Rows):
            self._name_columns(X)
            prepared = prepare(X)
            rows, self.encoding_ = prepared.rows, prepared.encoding
        else:
            x = base.validate_data(self, X, dtype=np.float64)
            names = getattr(self, "feature_names_in_", None)
            means = column_means(x, None) if schema.is_frame(X) else None
            rows = ArrayRows(x, names=names, placeholders=means)
            self.encoding_ = schema.identity(rows.schema)
        self.placements_ = self._place(rows)
        self.term_names_ = tuple(self._functions(self.encoding_.terms.items))
        return self

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """φ(x) for every row."""
        x = np.asarray(self._design(X))
        functions = self._functions(self.encoding_.terms.items)
        out = np.empty((len(x), len(functions)), order="F")
        for j, (name, function) in enumerate(functions.items()):
            out[:, j] = _check_values(function(x), name, len(x))
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the terms; ``input_features`` renames the columns of a matrix without names."""
        check_is_fitted(self)
        if self.encoding_.is_identity:
            given = _check_feature_names_in(self, input_features)
            return np.array(
                list(self._functions([schema.Term(str(n)) for n in given])), dtype=object
            )
        return np.array(self.term_names_, dtype=object)

    def _place(self, rows: Rows) -> list[Placement | None]:
        """Centers and widths of every function that has them, by the rows of positive weight."""
        if isinstance(self.functions, str) or not isinstance(self.functions, Iterable):
            raise InputError(
                f"functions={self.functions!r} is not a list of functions.",
                remedy="Use a list such as ['linear', 'squares', ('jump', 0.5)].",
            )
        split = [_split(item) for item in self.functions]
        if not any(kind in COUNTS for kind, _ in split if isinstance(kind, str)):
            return [None] * len(split)
        block = rows.collect()
        some = np.flatnonzero(block.weights > 0.0)
        x, w = np.asarray(block.dense(0, block.n))[some], block.weights[some]
        return [
            _placement(kind, numbers, x, w, self.random_state)
            if isinstance(kind, str) and kind in COUNTS
            else None
            for kind, numbers in split
        ]

    def _functions(self, columns: Sequence[schema.Term]) -> BasisFunctions:
        basis_functions: BasisFunctions = {}
        boolean = {c.name for c in self.encoding_.schema.columns if c.kind is schema.Kind.BOOLEAN}
        count = dict.fromkeys(COUNTS, 0)  # so that a second entry goes on counting
        for item, placement in zip(self.functions, self.placements_, strict=True):
            kind, _ = _split(item)
            if placement is None:
                terms = _terms_of(item, columns, boolean)
            else:
                make = _gaussians if kind == "gaussian" else _sigmoids
                terms = make(placement, columns, count[kind])
                count[kind] += len(placement[0])
            for name, function in terms.items():
                basis_functions.setdefault(name, function)
        if not basis_functions:
            raise InputError("functions give no term.", remedy="Name at least one function.")
        return basis_functions

    def transform_formula(self) -> nodes.Node:
        """Powers, products, cosines, jumps and sigmoids of columns, and Gaussian functions."""
        functions = tuple(self._functions(self.encoding_.terms.items).values())
        return nodes.Basis(nodes.design_of(self), functions)


def _split(item: Any) -> tuple[Any, list[Any]]:
    """The name or callable of an entry of ``functions``, and what follows it."""
    kind, *numbers = (item,) if isinstance(item, str) or callable(item) else tuple(item)
    return kind, numbers


def _placement(kind: str, numbers: list[Any], x: Floats, w: Floats, random_state: Any) -> Placement:
    """Centers and 1/width of every column, for the sigmoids or Gaussian functions of one entry."""
    given = numbers[0] if numbers else COUNTS[kind]
    wrong = InputError(f"{(kind, *numbers)!r} is not a function.", remedy=f"{FUNCTIONS[kind]}.")
    if len(numbers) > 1:
        raise wrong
    count = int(given) if isinstance(given, int | np.integer) and given >= 1 else None
    try:
        centers = None if count else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong from None
    d = x.shape[1]
    if centers is not None:
        shape = (len(centers), d) if kind == "gaussian" and centers.ndim else (centers.size,)
        if centers.shape != shape or not centers.size or not np.isfinite(centers).all():
            raise wrong
    standard = Standardizer.from_rows(x, w)
    if kind == "sigmoid":
        if centers is None:
            return _spread_out([_quantiles(column, w, count or 1) for column in x.T], standard)
        return _spread_out([np.unique(centers)] * d, standard)
    if centers is None:
        z = place_centers(standard.transform(x), w, count or 1, random_state)
        centers = np.asarray(standard.inverse_transform(z))
    else:
        z = np.unique(standard.transform(centers), axis=0)
    return centers, standard.inverse_scale / neighbor_distance(z)


def _quantiles(column: Floats, w: Floats, count: int) -> Floats:
    """The distinct quantiles of (j + ½)/count; weights count as repeated rows."""
    order = np.argsort(column, kind="stable")
    total = np.cumsum(w[order])
    levels = (np.arange(count) + 0.5) / count
    return np.unique(column[order[np.searchsorted(total, levels * total[-1])]])


def _spread_out(centers: list[Floats], standard: Standardizer) -> Placement:
    """Centers of each column, and 1 by their mean distance; of one center 1/σ of the column."""
    rates = standard.inverse_scale.copy()
    table = np.full((max(map(len, centers)), len(centers)), np.nan)
    for j, places in enumerate(centers):
        table[: len(places), j] = places
        if len(places) > 1:
            rates[j] = (len(places) - 1) / (places[-1] - places[0])
    return table, rates


def _gaussians(
    placement: Placement,
    columns: Sequence[schema.Term],  # noqa: ARG001
    before: int,
) -> BasisFunctions:
    """A function of the rows for every center."""
    centers, rates = placement
    return {
        f"gaussian {before + k}": partial(_gaussian, center, rates)
        for k, center in enumerate(centers, 1)
    }


def _sigmoids(placement: Placement, columns: Sequence[schema.Term], before: int) -> BasisFunctions:
    """A function of every column for each of its centers."""
    centers, rates = placement
    return {
        f"sigmoid {before + k} of {column}": partial(
            _of_column, j, partial(_sigmoid, float(center), float(rates[j]))
        )
        for j, column in enumerate(columns)
        for k, center in enumerate(centers[:, j], 1)
        if not np.isnan(center)
    }


def _gaussian(center: Floats, rates: Floats, x: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * np.sum(((x - center) * rates) ** 2, axis=1)))


def _sigmoid(center: float, rate: float, column: Floats) -> Floats:
    return np.asarray(expit((column - center) * rate))


def _terms_of(item: Any, columns: Sequence[schema.Term], boolean: set[str]) -> BasisFunctions:
    """The terms of one entry of ``functions`` that has no centers."""
    kind, numbers = _split(item)
    if callable(kind):
        return _by_column(f"{getattr(kind, '__name__', type(kind).__name__)}(", ")", kind, columns)
    if len(numbers) == 1 and callable(numbers[0]):
        return _by_column(f"{kind}(", ")", numbers[0], columns)
    if kind not in FUNCTIONS:
        raise InputError(
            f"There is no function {kind!r}.", remedy=did_you_mean(str(kind), FUNCTIONS)
        )
    usable = all(isinstance(v, int | float | np.number) and np.isfinite(v) for v in numbers)
    if not usable or not _enough(kind, numbers):
        raise InputError(f"{item!r} is not a function.", remedy=f"{kind}: {FUNCTIONS[kind]}.")
    if kind == "cosine":
        waves = [("cos(" if k == 1 else f"cos({k:g} ", k) for k in numbers or [1]]
        return _all(_by_column(name, ")", partial(_cosine, k), columns) for name, k in waves)
    if kind == "jump":
        return _all(_by_column("1{", f"<{a:g}}}", partial(_below, a), columns) for a in numbers)
    degree = int(numbers[0]) if numbers else 1 if kind == "linear" else 2
    return _powers(kind, degree, columns, boolean)


def _enough(kind: str, numbers: Sequence[float]) -> bool:
    """Whether the numbers after a name are as many as it takes, and of the right kind."""
    if kind == "polynomial":
        return len(numbers) == 1 and numbers[0] == int(numbers[0]) >= 1
    return kind == "cosine" or (kind == "jump") == bool(numbers)


def _powers(
    kind: str, degree: int, columns: Sequence[schema.Term], boolean: set[str]
) -> BasisFunctions:
    """Products and powers by their exponents; an indicator is its own square and gets none."""
    indicator = [t.level is not None or t.missing or t.column in boolean for t in columns]
    highest = [1 if flag else degree for flag in indicator]
    exponents = exponents_of(columns, highest, degree, interaction_only=False)
    if kind == "squares":
        exponents = exponents[(exponents == 2).any(axis=1)]
    elif kind == "products":
        exponents = exponents[(exponents > 0).sum(axis=1) == 2]
    return {name_of(e, columns): partial(_product, np.flatnonzero(e), e) for e in exponents}


def _product(used: NDArray[np.int64], exponent: NDArray[np.int64], x: Floats) -> Floats:
    return np.asarray(np.prod(x[:, used] ** exponent[used], axis=1))


def _cosine(k: float, column: Floats) -> Floats:
    return np.asarray(np.cos(k * column))


def _below(a: float, column: Floats) -> Floats:
    return np.asarray(column < a, dtype=float)


def _by_column(
    before: str, after: str, function: Callable[[Any], Any], columns: Sequence[schema.Term]
) -> BasisFunctions:
    """One function of every column, named by what stands before and after the column's name."""
    return {
        f"{before}{column}{after}": partial(_of_column, j, function)
        for j, column in enumerate(columns)
    }


def _of_column(j: int, function: Callable[[Any], Any], x: Floats) -> Any:
    return function(x[:, j])


def _all(parts: Iterable[BasisFunctions]) -> BasisFunctions:
    return {name: function for part in parts for name, function in part.items()}


def _check_values(values: Any, name: str, n: int) -> Floats:
    """Check what a function returned: one finite number for every row."""
    column = np.asarray(values, dtype=float)
    if column.shape != (n,):
        raise InputError(
            f"{name} gave {column.shape} numbers for {n} rows.",
            remedy="A function takes the values of one column and returns as many.",
        )
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InputError(
            f"{name} is {column[bad[0]]}.",
            row=int(bad[0]) + 1,
            remedy="Choose a function that is finite for all values of the column.",
        )
    return column
