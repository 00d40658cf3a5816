"""Additive regression: a sum of smooth curves, their smoothness by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from separatrix.additive.base import AdditiveModel, describe_terms, transform_of
from separatrix.additive.basis import Basis, NaturalCoordinates, SplineDesign
from separatrix.additive.evidence import (
    NEARLY_FLAT,
    EvidenceSearch,
    RidgeFit,
    RidgeMoments,
    certify_penalized,
    monotone_constraints,
    natural_coordinates,
    solve_constrained,
    with_slopes,
)
from separatrix.arrays import Floats
from separatrix.estimators.base import one_number, reads_tables
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import to_array
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread


@declare_parameters
class AdditiveRegressor(RegressorMixin, AdditiveModel):
    """Additive regression: a sum of smooth curves, one for each column, and of chosen surfaces.

        f(x) = b₀ + Σ_j f_j(x_j) + Σ_jk f_jk(x_j, x_k)
        min of ½ Σ w (y − f(x))² + ½ Σ_j (λ_j ‖line_j‖² + μ_j ‖curve_j‖²)

    f_j is a cubic spline with knots at quantiles of the distinct values of a column, or goes
    straight from value to value where these are few, or has a number for each level. Its second
    differences are penalized, and its slope by itself: a column whose curve does not bend ends at a
    line, one that explains nothing at zero. All penalties maximize the evidence (restricted maximum
    likelihood) from one pass of moments. Beyond the training range curves go on as lines.

    Parameters
    ----------
    n_knots : int, default=16
        Intervals between knots of a column, at most; there are fewer where it has few distinct
        values. Smoothness is a matter of the penalty: more knots cost time only.
    interactions : int or list of pairs, default=0
        Pairs of columns that have a surface beside their curves: by name, such as
        ``[("age", "income")]``, or how many at most are to be found
        among the residuals of the curves: those that explain more than chance would.
    monotone : dict or None, default=None
        Column → +1 for a curve that must not fall, −1 for one that must not rise.
    max_iter : int, default=100
        Newton steps for the penalties, at most; ten to twenty are usual.

    Attributes
    ----------
    terms_ : tuple of AdditiveTerm
        Curves and surfaces: basis, coefficients, degrees of freedom, tests.
    intercept_ : float
        Mean of the target, about which all curves vary.
    scale_ : float
        Standard deviation of the noise.
    effective_degrees_of_freedom_ : float
        Those of the whole fit, the constant included.
    log_evidence_ : float
        Logarithm of the restricted likelihood of the standardized target, up to a constant of the
        design.
    certificate_ : Certificate
        Duality gap and KKT residual of the coefficients given their penalties.
    n_iter_ : int
        Newton steps for the penalties.

    See Also
    --------
    AdditiveClassifier : The same for classes.
    PolynomialRegression : Powers and products, which extrapolate badly.
    GaussianProcessRegressor : Interactions of any order, at most some thousand rows.

    References
    ----------
    P. H. C. Eilers and B. D. Marx, Flexible smoothing with B-splines and penalties, Statistical
    Science 11, 1996. S. N. Wood, Generalized additive models, 2nd edition, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (300, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(300)
    >>> model = sx.AdditiveRegressor().fit(X, y)
    >>> [round(float(term.freedom[0])) for term in model.terms_]
    [13, 1, 0]
    >>> round(model.scale_, 1), model.certificate_.holds
    (0.1, True)
    """

    intercept_: float = field(init=False)

    _: KW_ONLY
    n_knots: int = 16
    interactions: Any = 0
    monotone: Any = None
    max_iter: int = 100

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_options()
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        block = prepared.rows.collect()
        there = block.weights > 0.0
        if not there.any():
            raise InputError("There are no rows to fit.", remedy="Give rows of positive weight.")
        x, w = np.asarray(block.dense(0, block.n), dtype=float), block.weights[there]
        x = x if there.all() else x[there]
        self.encoding_ = prepared.encoding
        self.n_design_columns_ = x.shape[1]
        data = _Target.of(block.y[there, 0], np.asarray(w, dtype=float))

        def solve(bases: Sequence[Basis]) -> tuple[_Solved, Floats, Floats]:
            solved = self._solve(bases, x, data)
            residual = (data.y - solved.values) * data.w / (solved.noise**0.5 or 1.0)
            return solved, residual[:, None], data.w[:, None]

        return self._accept(self._with_pairs(x, solve), x, data)

    def _solve(self, bases: Sequence[Basis], x: Floats, data: _Target) -> _Solved:
        """Penalties and coefficients of these terms, from the moments of their functions."""
        design = SplineDesign(bases, x)
        products = design.gram(data.w)
        coordinates = natural_coordinates(design, products, data.w)
        center = coordinates.cross(design.cross(data.w[:, None])[:, 0] / data.total)
        gram = coordinates.gram(products) - data.total * np.outer(center, center)
        cross = coordinates.cross(design.cross((data.w * data.y)[:, None])[:, 0])
        square, freedom = float(data.w @ data.y**2), data.freedom
        moments = RidgeMoments(gram, cross, square, freedom)
        search = EvidenceSearch(moments, coordinates.sizes)
        fit = search.maximize(max_iter=int(self.max_iter))
        constraints, multipliers = np.zeros((0, len(gram))), np.zeros(0)
        signs = self._signs(self.encoding_, bases)
        if signs:
            fit = with_slopes(fit, coordinates, signs, search)
            constraints = monotone_constraints(coordinates, signs)[:, fit.active]
            a = gram[np.ix_(fit.active, fit.active)] + np.diag(
                fit.penalty_of_coordinates[fit.active]
            )
            active, multipliers = solve_constrained(a, cross[fit.active], constraints)
            coef = np.zeros(len(gram))
            coef[fit.active] = active
            deviance = square - float(active @ (2.0 * cross[fit.active] - a @ active))
            fit = replace(fit, coef=coef, deviance=deviance)
        raw = coordinates.coefficients(fit.coef)
        values = design.times(raw[:, None])[:, 0] - float(center @ fit.coef)
        noise = fit.deviance / freedom if freedom > 0.0 else 0.0
        return _Solved(
            design, coordinates, gram, center, fit, values, noise, constraints, multipliers
        )

    def _accept(self, solved: _Solved, x: Floats, data: _Target) -> Self:
        fit, unit = solved.fit, data.scale
        total = 1.0 + fit.freedom
        residual_freedom = max(data.freedom + 1.0 - total, 1.0)
        self.terms_ = describe_terms(
            solved.coordinates,
            [fit],
            unit * fit.coef[:, None],
            [solved.gram],
            unit**2 * solved.noise,
            x,
            residual_freedom,
        )
        self.intercept_ = float(data.mean - unit * (solved.center @ fit.coef))
        self.scale_ = float(unit * np.sqrt(solved.noise))
        self.effective_degrees_of_freedom_ = total
        self.log_evidence_ = float(fit.evidence)
        self.n_iter_ = max(1, fit.steps)
        self.coordinate_means_ = solved.center
        self.penalized_coordinates_, self.posterior_covariance_ = fit.active, fit.covariance
        self.total_weight_ = data.total
        self.certificate_ = _certify(solved, data)
        if fit.slope > NEARLY_FLAT:
            warn(
                "SEP003",
                f"the penalties stopped after {fit.steps} steps, before the evidence was flat. "
                "Raise max_iter.",
            )
        return self

    @on_one_blas_thread
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """b₀ + Σ f_j(x_j) + Σ f_jk for every row; with the standard deviation of its target."""
        check_is_fitted(self, "terms_")
        x = np.asarray(to_array(self._design(X)), dtype=float)
        mean = self._add_terms(x)[:, 0]
        return (mean, np.sqrt(self._variances(x) + self.scale_**2)) if return_std else mean

    @on_one_blas_thread
    def predict_interval(self, X: Any, *, level: float = 0.95, kind: str = "prediction") -> Floats:
        """Central intervals (n x 2) of the target ("prediction") or of f(x) ("confidence")."""
        check_is_fitted(self, "terms_")
        check_option("kind", kind, ("prediction", "confidence"))
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        x = np.asarray(to_array(self._design(X)), dtype=float)
        variance = self._variances(x) + (self.scale_**2 if kind == "prediction" else 0.0)
        half = float(ndtri(0.5 + level / 2.0)) * np.sqrt(variance)
        mean = self._add_terms(x)[:, 0]
        return np.stack([mean - half, mean + half], axis=1)

    def _variances(self, x: Floats) -> Floats:
        """Posterior variances of f(x): zᵀA⁻¹z φ + φ/Σw in natural coordinates."""
        out = np.empty(len(x))
        step = 4_000  # rows whose coordinates are held at a time
        for start in range(0, len(x), step):
            part = x[start : start + step]
            each = [t.basis.values(part) @ transform_of(t.basis) for t in self.terms_]
            z = np.concatenate([np.zeros((len(part), 0)), *each], axis=1)
            z = (z - self.coordinate_means_)[:, self.penalized_coordinates_]
            out[start : start + step] = np.einsum("ij,ij->i", z @ self.posterior_covariance_, z)
        return np.asarray(self.scale_**2 * (np.maximum(out, 0.0) + 1.0 / self.total_weight_))

    def formula(self) -> nodes.NumberFormula:
        """The constant and the piecewise polynomials of the columns, added up."""
        return nodes.regression(self._sum_node(), self, flat=True)

    def _summary_lines(self) -> tuple[str, ...]:
        return (
            f"noise {self.scale_:.6g}, {self.effective_degrees_of_freedom_:.1f} effective degrees "
            "of freedom",
            str(self.certificate_),
        )


@dataclass(frozen=True)
class _Target:
    """The target standardized, with its weights."""

    y: Floats
    w: Floats
    mean: float
    scale: float

    @classmethod
    def of(cls, y: Floats, w: Floats) -> _Target:
        """By mean and standard deviation; a constant one is left as it is."""
        shift = float(y[0])  # a mean of differences has all of its digits
        mean = shift + float(w @ (y - shift)) / float(w.sum())
        centered = y - mean
        scale = float(np.sqrt(w @ centered**2 / w.sum()))
        if not scale > 8.0 * np.finfo(float).eps * float(np.abs(y).max()):
            return cls(np.zeros_like(y), w, mean, 1.0)
        return cls(centered / scale, w, mean, scale)

    @property
    def total(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    @property
    def freedom(self) -> float:
        """Σ w − 1; of weights below one a share of the rows but one."""
        n = len(self.w)
        return max(self.total - 1.0, self.total * (n - 1) / n)


@dataclass(frozen=True)
class _Solved:
    """A solution in units of the standardized target."""

    design: SplineDesign
    coordinates: NaturalCoordinates
    gram: Floats
    center: Floats
    fit: RidgeFit
    values: Floats
    noise: float
    constraints: Floats
    multipliers: Floats


def _certify(solved: _Solved, data: _Target) -> Certificate:
    """The gap of the coefficients from the rows, in units of the target."""
    fit, unit, design = solved.fit, data.scale, solved.design
    residual = data.y - solved.values
    weighted = data.w * residual
    raw = design.cross(weighted[:, None])[:, 0]
    imbalance = float(weighted.sum())
    gradient = imbalance * solved.center - solved.coordinates.cross(raw)
    active = fit.active
    size = float(np.sqrt(data.w @ data.y**2))
    sizes = np.sqrt(np.maximum(np.diag(solved.gram)[active], 0.0)) * size
    return certify_penalized(
        0.5 * unit**2 * float(weighted @ residual),
        unit * gradient[active],
        unit * fit.coef[active],
        fit.penalty_of_coordinates[active],
        np.array([unit * imbalance]),
        claim="Penalized least squares of smooth curves, given their penalties",
        sizes=unit * sizes,
        balance=float(unit * size * np.sqrt(data.total)),
        constraints=solved.constraints,
        multipliers=unit * solved.multipliers,
        scale=0.5 * unit**2 * size**2,
        scale_of="half the sum of squares of the target",
    )
