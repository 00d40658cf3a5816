"""Evidence of ridge regression, and its maximum over noise and prior, from one decomposition.

    log p(y | α, λ) = ½ [n log α/2π − α Q(ρ) − Σ log(1 + s/ρ)],    ρ = λ/α,
    Q(ρ) = min over b of ‖y − Xb‖² + ρ‖b‖²

For a given ratio ρ the best α is known in closed form, also with Gamma densities as hyperpriors:

    α = (n + 2α₁ + 2λ₁) / (Q(ρ) + 2α₂ + 2λ₂ρ)

so that one function of log ρ is left, whose maxima are bracketed on a grid and found as roots of
its derivative. MacKay's fixed point, which scikit-learn iterates, is the same stationary point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse

from separatrix.arrays import Floats, Matrix
from separatrix.matrices.gram import GradedRows, row_gram, standardized_copy
from separatrix.matrices.products import Standardized, products
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.schema import Block
from separatrix.statistics.moments import Moments, Standardizer, zero_if_constant
from separatrix.threads import parallel_map, pieces


class Hyperprior(NamedTuple):
    """Shapes and rates of Gamma densities: of the noise precision, and of that of the prior."""

    alpha_1: float = 0.0
    alpha_2: float = 0.0
    lambda_1: float = 0.0
    lambda_2: float = 0.0

    def in_units(self, square: float) -> Hyperprior:
        """With rates in units of the target's variance."""
        return self._replace(alpha_2=self.alpha_2 * square, lambda_2=self.lambda_2 * square)


def log_evidence(spectrum: EvidenceSpectrum, alpha: float, lam: float) -> float:
    """log N(y; 0, α⁻¹I + λ⁻¹XXᵀ), all constants included; λ may be infinite."""
    with np.errstate(divide="ignore", over="ignore"):
        squares = float(spectrum.squares(lam / alpha))
        determinant = float(np.log1p(spectrum.values * (alpha / lam)).sum())
    size = spectrum.weight * float(np.log(alpha / (2.0 * np.pi)))
    return 0.5 * (size - alpha * squares - determinant)


def log_hyperprior(prior: Hyperprior, alpha: float, lam: float) -> float:
    """Logarithm of the Gamma densities, without their constants, as scikit-learn's scores."""
    log_density = prior.alpha_1 * np.log(alpha) - prior.alpha_2 * alpha
    if prior.lambda_1 or prior.lambda_2:
        log_density += prior.lambda_1 * np.log(lam) - prior.lambda_2 * lam
    return float(log_density)


@dataclass(frozen=True)
class EvidenceMaximum:
    """The best precisions, and the ones on the way to them (steps x 2)."""

    alpha: float
    lam: float
    steps: Floats


class _Profile:
    """The evidence with hyperpriors as a function of t = log ρ alone, and its derivative."""

    def __init__(self, spectrum: EvidenceSpectrum, prior: Hyperprior) -> None:
        self.spectrum, self.prior = spectrum, prior
        self.count = 0.5 * spectrum.weight + prior.alpha_1 + prior.lambda_1

    def alpha(self, ratio: float) -> float:
        """The best noise precision at this ratio."""
        return float(self.precision(np.array([ratio]))[0])

    def precision(self, ratio: Floats) -> Floats:
        return self.count / self._rate(ratio)

    def _fit(self, ratio: float) -> float:
        """The part of the evidence that fit and noise have in it."""
        return float(-self.count * np.log(self._rate(np.array([ratio]))[0]))

    def _rate(self, ratio: Floats) -> Floats:
        rate = 0.5 * self.spectrum.squares(ratio) + self.prior.alpha_2
        if self.prior.lambda_2:
            rate = rate + self.prior.lambda_2 * ratio
        return np.asarray(rate)

    def value(self, ratio: float) -> float:
        """Up to a constant."""
        with np.errstate(divide="ignore"):
            shape = self.prior.lambda_1 * np.log(ratio) if self.prior.lambda_1 else 0.0
            spread = float(np.log1p(self.spectrum.values / ratio).sum())
        return self._fit(ratio) + shape - 0.5 * spread

    def from_rows(self, ratio: float, share: float = 0.1) -> bool:
        """Whether rows hold this maximum: the rates are less than a share of its conditions."""
        spectrum, left = self.spectrum, 1.0 / (1.0 + self.spectrum.values / ratio)
        residual = spectrum.outside + float(left**2 @ spectrum.inner**2)
        freedom = float((1.0 - left).sum())
        lam = self.alpha(ratio) * ratio if self.prior.lambda_2 else 0.0
        least = 2.0 / share
        return (
            residual >= least * self.prior.alpha_2 and freedom >= least * self.prior.lambda_2 * lam
        )

    def slope(self, ratio: Floats) -> Floats:
        """Derivative with respect to log ρ."""
        share = 1.0 / (1.0 + np.divide.outer(ratio, self.spectrum.values))  # s/(s + ρ)
        rise = 0.5 * ((share * (1.0 - share)) @ self.spectrum.inner**2)
        rise = rise + self.prior.lambda_2 * ratio
        found = 0.5 * share.sum(axis=1) - self.precision(ratio) * rise
        return np.asarray(self.prior.lambda_1 + found)

    def grid(self) -> Floats:
        """Ratios that span all scales: eigenvalues, noise against coefficients, and the rates."""
        spectrum, prior = self.spectrum, self.prior
        half, everything = 0.5 * spectrum.outside + prior.alpha_2, 0.5 * spectrum.yy + prior.alpha_2
        slope = 0.5 * float((spectrum.inner**2 / spectrum.values).sum()) + prior.lambda_2
        least = spectrum.values.min(initial=np.inf)
        shape = 0.5 * spectrum.rank + prior.lambda_1
        if slope > 0.0 and shape > 0.0:
            least = min(least, shape * half / (max(self.count - shape, 0.5) * slope))
        most = spectrum.values.max(initial=0.0)
        if prior.lambda_2:
            most = max(most, everything / prior.lambda_2)
        if not 0.0 < least < np.inf:
            least = 1e-8 * (most or 1.0)
        # Points on which maxima are bracketed.
        return np.geomspace(1e-4 * least, 1e6 * max(most, least), 600)


class _KnownNoise(_Profile):
    """The same with a given noise precision."""

    def __init__(self, spectrum: EvidenceSpectrum, prior: Hyperprior, alpha: float) -> None:
        super().__init__(spectrum, prior)
        self.noise = alpha

    def precision(self, ratio: Floats) -> Floats:
        return np.full(len(ratio), self.noise)

    def _fit(self, ratio: float) -> float:
        return float(-self.noise * self._rate(np.array([ratio]))[0])


def maximize(
    spectrum: EvidenceSpectrum, prior: Hyperprior, *, alpha: float | None = None
) -> EvidenceMaximum:
    """The highest maximum; λ is infinite where the rows say nothing for any coefficient.

    With no more rows than columns the evidence grows without bound as the noise vanishes, and its
    rate alone holds that maximum: it is taken only where the rows hold no other. With ``alpha``
    the noise precision is given, and the prior's alone is sought.
    """
    profile = _Profile(spectrum, prior) if alpha is None else _KnownNoise(spectrum, prior, alpha)
    if alpha is None and not 0.5 * spectrum.yy + prior.alpha_2 > 0.0:
        raise InputError(
            "The target is constant, so that without alpha_2 > 0 the noise has no variance.",
            remedy="Use alpha_2=1e-6, or leave the model out.",
        )
    grid = profile.grid()
    slopes = profile.slope(grid)
    tops = np.flatnonzero((slopes[:-1] > 0.0) & (slopes[1:] <= 0.0))
    paths = [_root(profile, grid[top], grid[top + 1]) for top in tops]
    if not prior.lambda_1 and not prior.lambda_2:
        paths.append([np.inf])
    if not paths:
        paths = [[np.inf]] if slopes[-1] > 0.0 else []
    if not paths:
        raise InputError(
            "The columns explain the target exactly, so that without alpha_2 > 0 the noise has "
            "no variance.",
            remedy="Use alpha_2=1e-6.",
        )
    best = max(paths, key=lambda path: (profile.from_rows(path[-1]), profile.value(path[-1])))
    ratios = np.array(best)
    alphas = profile.precision(ratios)
    lams = alphas * ratios
    return EvidenceMaximum(float(alphas[-1]), float(lams[-1]), np.column_stack([alphas, lams]))


def rates_are_small(
    spectrum: EvidenceSpectrum, prior: Hyperprior, ratio: float, share: float
) -> bool:
    """Whether the rates are less than a share of what holds the maximum at this λ/α."""
    return bool(np.isfinite(ratio)) and _Profile(spectrum, prior).from_rows(ratio, share)


def _root(profile: _Profile, low: float, high: float) -> list[float]:
    """The ratio between these two at which the slope is zero: the last of some."""
    path: list[float] = []

    @cache  # the bracket is looked at before
    def slope(t: float) -> float:
        path.append(float(np.exp(t)))
        return float(profile.slope(np.array([path[-1]]))[0])

    a, b = float(np.log(low)), float(np.log(high))
    if not slope(a) > 0.0 > slope(b):
        return path
    root = optimize.brentq(slope, a, b, xtol=1e-14, rtol=1e-14)
    return [*path[2:], float(np.exp(root))]


def best_alphas(spectrum: EvidenceSpectrum, prior: Hyperprior, lambdas: Floats) -> Floats:
    """The noise precision that maximizes the evidence at every λ, by bisection on log α."""
    everything = 0.5 * spectrum.yy + prior.alpha_2
    count = 0.5 * spectrum.weight + prior.alpha_1
    floor = max(0.5 * spectrum.outside + prior.alpha_2, 1e-14 * everything)
    low = np.full(len(lambdas), np.log(max(count - 0.5 * spectrum.rank, 1e-3) / everything) - 2.0)
    high = np.full(len(lambdas), np.log(count / floor) + 2.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        alpha = np.exp(middle)
        gain = np.divide.outer(alpha / lambdas, 1.0 / spectrum.values)  # αs/λ
        left = 1.0 / (1.0 + gain)
        residual = spectrum.outside + left**2 @ spectrum.inner**2
        # ∂/∂log α of the evidence: n − γ − α‖y − Xb‖², at the posterior mean b
        slope = count - 0.5 * (gain * left).sum(axis=1) - alpha * (0.5 * residual + prior.alpha_2)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    return np.asarray(np.exp(0.5 * (low + high)))


@dataclass(frozen=True, repr=False)
class EvidenceCurve(Shown):
    """Log evidence over the precision of the prior, from one decomposition.

        λ ↦ log N(y; 0, α⁻¹I + λ⁻¹XXᵀ),    α the best for each λ, or given

    Logarithms of hyperpriors are added where there are any, without their constants.

    Parameters
    ----------
    lambdas : ndarray of shape (m,)
        Precisions λ of the prior.
    alphas : ndarray of shape (m,)
        Noise precision α at each.
    log_evidence : ndarray of shape (m,)
        The log evidence at each.
    best_lambda : float
        The λ of the highest evidence, found on all λ and not on these alone.
    best_alpha : float
        Its α.
    best_log_evidence : float
        The log evidence there.

    See Also
    --------
    BayesianRidge : its ``evidence_curve`` returns one.

    References
    ----------
    D. J. C. MacKay, Bayesian interpolation, Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((50, 3))
    >>> y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(50)
    >>> curve = sx.BayesianRidge().fit(x, y).evidence_curve()
    >>> bool(curve.best_log_evidence >= curve.log_evidence.max())
    True
    """

    lambdas: Floats
    alphas: Floats
    log_evidence: Floats
    best_lambda: float
    best_alpha: float
    best_log_evidence: float

    def __str__(self) -> str:
        return (
            f"Log evidence {self.best_log_evidence:.6g} at its maximum, λ = {self.best_lambda:.4g} "
            f"and α = {self.best_alpha:.4g}; {len(self.lambdas)} values of λ from "
            f"{self.lambdas.min():.3g} to {self.lambdas.max():.3g}."
        )


# -------------------------------------------------------------------------------------------------
# The posterior of the coefficients, as a factor that needs no d x d matrix.
#
#     b ~ N(m, Σ),    Σ = D (V diag(v) Vᵀ + ω (I − VVᵀ)) D,    D = diag(scale)
#
# V holds the directions that the rows inform about, ω is the prior's variance in all others.


@dataclass(frozen=True)
class Posterior:
    """Normal posterior of the coefficients about their mean.

    ``directions`` are V (d x r) for columns times ``scale``, orthonormal unless ``rest`` is 0;
    ``variances`` are v, and ``rest`` is ω. ``center`` is subtracted from new rows, and
    ``intercept_variance`` is that of the intercept at the center.
    """

    center: Floats
    scale: Floats
    directions: Floats
    variances: Floats
    rest: float = 0.0
    intercept_variance: float = 0.0

    def variance_of(self, x: Matrix) -> Floats:
        """Variance of a + b·x for every row."""
        out = np.empty(x.shape[0])

        def part(rows: slice) -> None:
            out[rows] = self._variance(x[rows])

        parallel_map(part, pieces(x.shape[0], 512))  # rows of new tables in a piece
        return out + self.intercept_variance

    def covariance_of(self, x: Matrix) -> Floats:
        """Covariance of a + b·x between all pairs of rows."""
        u = self._scale_by(x)
        inner = u @ self.directions
        covariance = (inner * self.variances) @ inner.T + self.intercept_variance
        if self.rest:
            left = u - inner @ self.directions.T
            covariance += self.rest * (left @ left.T)
        return np.asarray(covariance)

    @property
    def covariance(self) -> Floats:
        """Σ (d x d)."""
        v, d = self.directions, len(self.scale)
        found = (v * self.variances) @ v.T
        if self.rest:
            found += self.rest * (np.eye(d) - v @ v.T)
        return np.asarray(found * np.multiply.outer(self.scale, self.scale))

    @property
    def column_variances(self) -> Floats:
        """The diagonal of Σ."""
        square = self.directions**2
        variances = square @ self.variances
        if self.rest:
            variances = variances + self.rest * np.maximum(1.0 - square.sum(axis=1), 0.0)
        return np.asarray(variances * self.scale**2)

    def draws(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws (count x d) of b − m."""
        v = self.directions
        found = (rng.standard_normal((count, v.shape[1])) * np.sqrt(self.variances)) @ v.T
        if self.rest:
            free = np.sqrt(self.rest) * rng.standard_normal((count, len(self.scale)))
            found += free - (free @ v) @ v.T
        return np.asarray(found * self.scale)

    def _scale_by(self, x: Matrix) -> Floats:
        dense = x.toarray() if sparse.issparse(x) else x
        return np.asarray((dense - self.center) * self.scale)

    def _variance(self, x: Any) -> Floats:
        if sparse.issparse(x):
            return self._sparse_variance(x)
        u = self._scale_by(x)
        inner = u @ self.directions
        variance = inner**2 @ self.variances
        if self.rest:
            left = u - inner @ self.directions.T
            variance += self.rest * np.einsum("ij,ij->i", left, left)
        return np.asarray(variance)

    def _sparse_variance(self, x: Any) -> Floats:
        """The same without filling in: ‖u − VVᵀu‖² = ‖u‖² − ‖Vᵀu‖²."""
        middle = self.center * self.scale
        inner = x @ (self.scale[:, None] * self.directions) - middle @ self.directions
        variance = inner**2 @ self.variances
        if self.rest:
            square = x.multiply(x) @ self.scale**2 - 2.0 * (x @ (self.scale * middle))
            left = square + middle @ middle - np.einsum("ij,ij->i", inner, inner)
            variance += self.rest * np.maximum(left, 0.0)
        return np.asarray(variance)


# -------------------------------------------------------------------------------------------------
# One decomposition, from which posterior and evidence follow for every prior.
#
#     XᵀX = V diag(s) Vᵀ,    XXᵀ = U diag(s) Uᵀ,    z = Uᵀy,    r² = ‖y‖² − ‖z‖²
#
#     y ~ N(0, α⁻¹I + λ⁻¹XXᵀ)   ⇔   zⱼ ~ N(0, α⁻¹ + λ⁻¹sⱼ), and N(0, α⁻¹) outside of the columns
#
# X and y are centered where there is an intercept; a weight of w counts as w rows. From moments, or
# from the products of the rows where those are no more than the columns.


EPS = float(np.finfo(float).eps)
#: Numbers in the matrix of directions beyond which it is not stored.
MAX_STORED = 20_000_000


@dataclass(frozen=True)
class ColumnScaling:
    """Means and standard deviations of columns and target, and how columns enter the prior.

    Columns are multiplied by ``scale``: 1, or 1/σ where they are standardized, and 0 for constant
    ones. ``weight`` is Σw and ``yy`` the sum of squares of the centered target.
    """

    mean: Floats
    scale: Floats
    y_mean: float
    yy: float
    weight: float

    @classmethod
    def of(
        cls, source: Moments | Block, *, fit_intercept: bool, standardize: bool
    ) -> ColumnScaling:
        """Of moments or rows; about 0 where there is no intercept."""
        if isinstance(source, Moments):
            m = source if fit_intercept else source.about_origin()
            standardizer = Standardizer.from_moments(m)
            # about 0, a constant column is like any other
            standardized_moments = (
                standardizer.mean,
                standardizer.scale,
                float(m.y_mean[0]),
                float(m.yy[0, 0]),
                m.weight,
            )
            return cls._with(*standardized_moments, standardize)
        w, total = source.weights, float(source.weights.sum())
        if fit_intercept:
            standardizer = Standardizer.from_rows(source.x, w, keep_mean=True)
        else:
            x = source.x
            square = x.multiply(x).T @ w if sparse.issparse(x) else w @ x**2
            zeros = np.zeros(x.shape[1])
            standardizer = Standardizer(
                zeros, zero_if_constant(np.sqrt(np.asarray(square) / total), zeros)
            )
        y = source.y[:, 0]
        middle = float(w @ y) / total if fit_intercept else 0.0
        middle += float(w @ (y - middle)) / total if fit_intercept else 0.0
        return cls._with(
            standardizer.mean,
            standardizer.scale,
            middle,
            float(w @ (y - middle) ** 2),
            total,
            standardize,
        )

    @classmethod
    def _with(
        cls, mean: Floats, deviation: Floats, y_mean: float, yy: float, total: float, standard: bool
    ) -> ColumnScaling:
        varies = deviation > 0.0
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        scale = scale if standard else np.asarray(varies, dtype=float)
        y_scale = float(zero_if_constant(np.sqrt(np.array([yy / total])), np.array([y_mean]))[0])
        return cls(mean, scale, y_mean, yy if y_scale else 0.0, total)

    @property
    def variance(self) -> float:
        """Variance (1/n) of the target."""
        return self.yy / self.weight


@dataclass(frozen=True)
class EvidenceSpectrum:
    """Eigenvalues s > 0 of XXᵀ, the target along its eigenvectors, and what is outside of them.

    ``inner`` is z = Uᵀy and ``outside`` is ‖y‖² − ‖z‖². ``directions`` are V (d x r) for columns
    that were multiplied by ``scale``; None where they would be more numbers than are stored.
    """

    values: Floats
    inner: Floats
    outside: float
    weight: float
    columns: int
    directions: Floats | None = None

    @property
    def yy(self) -> float:
        """‖y‖²."""
        return self.outside + float(self.inner @ self.inner)

    @property
    def exact(self) -> bool:
        """Whether the columns explain the target, but for rounding."""
        return self.outside <= 1e-12 * self.yy

    @property
    def rank(self) -> int:
        """Number of independent columns."""
        return len(self.values)

    def squares(self, ratio: Any) -> Any:
        """Least value of ‖y − Xb‖² + ρ‖b‖² for every ρ = λ/α."""
        ratio = np.asarray(ratio, dtype=float)
        left = 1.0 / (1.0 + np.divide.outer(self.values, ratio).T)
        return self.outside + left @ self.inner**2

    def coef(self, ratio: float) -> Floats:
        """b = V √s z / (s + ρ), of columns times their scale, at ρ = λ/α."""
        assert self.directions is not None
        inner = np.sqrt(self.values) * self.inner / (self.values + ratio)
        return np.asarray(self.directions @ inner)


def from_moments(m: Moments, columns: ColumnScaling) -> EvidenceSpectrum:
    """From moments (centered, or about 0) in the units of ``columns``."""
    scale = columns.scale
    xx, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    if _apart(np.diag(xx)):
        _, s, directions = GradedRows.of_products(xx).singular()
        values, floor = s**2, 0.0
    else:
        values, directions = linalg.eigh(xx, check_finite=False)
        floor = float(values.max(initial=0.0)) * m.d * EPS
    positive = values > floor
    values, directions = values[positive], np.ascontiguousarray(directions[:, positive])
    inner = (directions.T @ xy) / np.sqrt(values)
    square = float(inner @ inner)
    if square > columns.yy:  # rounding of directions that hardly vary
        inner *= np.sqrt(columns.yy / square)
    outside = max(columns.yy - square, 0.0)
    return EvidenceSpectrum(values, inner, outside, m.weight, m.d, directions)


def coef_from_moments(
    m: Moments, columns: ColumnScaling, evidence_spectrum: EvidenceSpectrum, ratio: float
) -> Floats:
    """(XᵀX + ρI)⁻¹Xᵀy by a Cholesky factor of unit diagonal: digits of small columns stay.

    Eigenvectors are accurate as a whole, and their small entries need not be. Where the matrix is
    too near to singular for a factor they have to do.
    """
    scale = columns.scale
    matrix, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    matrix[np.diag_indices(m.d)] += ratio
    unit = 1.0 / np.sqrt(np.diag(matrix))
    try:
        factor = linalg.cho_factor(
            matrix * np.multiply.outer(unit, unit), lower=True, check_finite=False
        )
    except linalg.LinAlgError:
        return evidence_spectrum.coef(ratio)
    coef = unit * linalg.cho_solve(factor, unit * xy, check_finite=False)
    return np.asarray(coef + unit * linalg.cho_solve(factor, unit * (xy - matrix @ coef)))


@dataclass(frozen=True)
class EvidenceRowSpectrum:
    """The spectrum of rows in memory with its eigenvectors U and the columns by their products."""

    spectrum: EvidenceSpectrum
    vectors: Floats
    z: Standardized
    root: Floats

    def coef(self, ratio: float) -> Floats:
        """b = Zᵀ U (z / (s + ρ)), without directions."""
        spectrum = self.spectrum
        dual = self.vectors @ (spectrum.inner / (spectrum.values + ratio))
        return self.z.transposed_times(self.root * dual)

    def directions(self) -> Floats:
        """V = Zᵀ U / √s (d x r).

        Rounding of a direction of small s is mostly along those of large s, which come first when
        the columns are made orthogonal.
        """
        first = np.argsort(-self.spectrum.values)
        found = self.z.transposed_times(self.root[:, None] * self.vectors[:, first])
        q, r = linalg.qr(
            found / np.sqrt(self.spectrum.values[first]), mode="economic", check_finite=False
        )
        directions = np.empty_like(q)
        directions[:, first] = q * np.where(np.diag(r) < 0.0, -1.0, 1.0)
        return np.asarray(directions)


def from_rows(block: Block, columns: ColumnScaling, *, store: bool = False) -> EvidenceRowSpectrum:
    """From rows in memory, in the space of the rows.

    On graded rows where units differ so much that the products of rows lose the small columns.
    ``store`` asks for the directions even where they are very many numbers.
    """
    root = np.sqrt(block.weights)
    with np.errstate(divide="ignore"):
        divisor = 1.0 / columns.scale  # infinite for constant columns, which become 0
    y = root * (block.y[:, 0] - columns.y_mean)
    z = Standardized(products(block.x), columns.mean, divisor)
    directions = None
    if not sparse.issparse(block.x) and _apart(z.weighted_squares(root**2)):
        graded = GradedRows.of(standardized_copy(block.x, columns.mean, divisor, root))
        vectors, s, directions = graded.singular()
        values = s**2
    else:
        gram = row_gram(block.x, columns.mean, divisor, root)
        values, vectors = linalg.eigh(gram, check_finite=False)
        positive = values > values.max(initial=0.0) * 10 * len(values) * EPS
        values, vectors = values[positive], np.ascontiguousarray(vectors[:, positive])
    inner = vectors.T @ y
    left = y - vectors @ inner
    spectrum = EvidenceSpectrum(
        values, inner, float(left @ left), columns.weight, len(columns.scale), directions
    )
    evidence_row_spectrum = EvidenceRowSpectrum(spectrum, vectors, z, root)
    if directions is None and (store or len(columns.scale) * len(values) <= MAX_STORED):
        return replace(
            evidence_row_spectrum,
            spectrum=replace(spectrum, directions=evidence_row_spectrum.directions()),
        )
    return evidence_row_spectrum


def _apart(squares: Floats) -> bool:
    """Whether the sums of squares of the columns differ too much for plain products."""
    positive = squares[squares > 0.0]
    # Ratio of variances from which eigenvectors of the products lose the small columns.
    return bool(positive.max(initial=0.0) > 1e10 * positive.min(initial=np.inf))


# -------------------------------------------------------------------------------------------------
# Certificates of evidence maximization: gradients in log units, by separate code.
#
#     ∂/∂log α = α₁ − α₂ α + ½ (n − γ − α ‖y − Xb‖²),    γ = d − tr ΛΣ
#     ∂/∂log λⱼ = λ₁ − λ₂ λⱼ + ½ (1 − λⱼ Σⱼⱼ − λⱼ bⱼ²)
#
# Σ comes from a Cholesky factor of αXᵀX + Λ (or of XΛ⁻¹Xᵀ + α⁻¹I), not from the decomposition or
# the updates by which the precisions were found; the residual is that of the coefficients returned.


#: Largest derivative, relative to the number of rows or coefficients it is about.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Recomputed:
    """‖y − Xb‖², Σⱼⱼ of every column (None in the space of the rows), and γ."""

    residual: float
    variances: Floats | None
    freedom: float
    condition: float


def recompute_moments(
    m: Moments, columns: ColumnScaling, coef: Floats, alpha: float, lam: Floats
) -> Recomputed:
    """From moments, for coefficients of columns times ``columns.scale``."""
    scale = columns.scale
    xx, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    return recompute_products(xx, xy, columns.yy, coef, alpha, lam)


def recompute_products(
    xx: Floats, xy: Floats, yy: float, coef: Floats, alpha: float, lam: Floats
) -> Recomputed:
    """From products of columns and target."""
    residual = yy - 2.0 * float(coef @ xy) + float(coef @ xx @ coef)
    unit = 1.0 / np.sqrt(alpha * np.diag(xx) + lam)
    matrix = alpha * xx
    matrix[np.diag_indices_from(matrix)] += lam
    matrix *= np.multiply.outer(unit, unit)
    inverse = _inverse_root(matrix)
    if inverse is None:
        return Recomputed(max(residual, 0.0), np.full(len(unit), np.nan), np.nan, np.inf)
    variances = np.einsum("ij,ij->j", inverse, inverse) * unit**2
    freedom = float(len(unit) - lam @ variances)
    condition = float(np.square(np.linalg.norm(inverse, 2)) * len(unit))
    return Recomputed(max(residual, 0.0), variances, freedom, condition)


def recompute_rows(
    block: Block, columns: ColumnScaling, coef: Floats, alpha: float, lam: float
) -> Recomputed:
    """From rows in memory with one λ: γ = n − ρ tr(ZZᵀ + ρI)⁻¹."""
    root = np.sqrt(block.weights)
    with np.errstate(divide="ignore"):
        divisor = 1.0 / columns.scale
    z = Standardized(products(block.x), columns.mean, divisor)
    left = root * (block.y[:, 0] - columns.y_mean - z.times(coef))
    ratio, n = lam / alpha, len(root)
    gram = row_gram(block.x, columns.mean, divisor, root)
    size = float(np.diag(gram).max(initial=0.0)) + ratio
    gram[np.diag_indices(n)] += ratio
    inverse = _inverse_root(gram)
    if inverse is None:
        return Recomputed(float(left @ left), None, np.nan, np.inf)
    trace = float(np.einsum("ij,ij->", inverse, inverse))
    return Recomputed(float(left @ left), None, n - ratio * trace, size * trace)


def _inverse_root(matrix: Floats) -> Floats | None:
    """L⁻¹ of matrix = LLᵀ; None where rounding leaves it no positive definite matrix."""
    try:
        factor = linalg.cholesky(matrix, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    unit = np.eye(len(matrix))
    return np.asarray(linalg.solve_triangular(factor, unit, lower=True, check_finite=False))


def certify(
    recomputed: Recomputed,
    prior: Hyperprior,
    columns: ColumnScaling,
    coef: Floats,
    alpha: float,
    lam: float,
    *,
    rank: int,
    statistic: str,
    notes: tuple[str, ...] = (),
) -> Certificate:
    """Of one λ: derivatives with respect to log α and log λ at the precisions that were found."""
    n, d, square = columns.weight, len(coef), float(coef @ coef)
    strength = lam * square if square else 0.0  # λ is infinite where all coefficients are 0
    of_noise = 0.5 * (n - recomputed.freedom - alpha * recomputed.residual)
    of_noise += prior.alpha_1 - prior.alpha_2 * alpha
    of_prior = 0.5 * (recomputed.freedom - strength) + prior.lambda_1
    of_prior -= prior.lambda_2 * lam if prior.lambda_2 else 0.0
    primal = 0.5 * (alpha * recomputed.residual + strength)
    return Certificate(
        claim="No other noise and prior precision near these have a higher evidence",
        primal=primal,
        kkt=max(abs(of_noise) / (0.5 * n), abs(of_prior) / (0.5 * d)),
        tolerance=TOLERANCE,
        rank=rank,
        digits=digits(recomputed.condition),
        statistic=statistic,
        notes=(
            f"Derivatives of the log evidence: {of_noise:.1e} by log α, {of_prior:.1e} by log λ.",
            *notes,
        ),
        promised=("kkt",),
    )


def digits(condition: float) -> float:
    """Decimal digits of the coefficients that rounding leaves."""
    return float(np.clip(-np.log10(EPS * max(condition, 1.0)), 0.0, -np.log10(EPS)))
