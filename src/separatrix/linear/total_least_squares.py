"""Total least squares: regression with errors in the columns as well as in the target.

    min over B, a of Σ w ‖(x, y) − nearest point of {(x, a + Bᵀx)}‖²

The normals of the plane are the k right singular vectors (V₁₂; V₂₂) of the centered [X Y] with the
smallest singular values, and B = −V₁₂ V₂₂⁻¹; the minimum is the sum of those values squared. There
are three degenerate cases:

    the smallest values repeat     several planes are optimal; the minimum-norm B is returned
    V₂₂ is singular                the optimal plane contains the direction of y: no function of x
    columns are dependent          B + tN, XN = 0, predicts the same and its distances go to 0 as t
                                   grows: there is no minimum but among B in the row space of X
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.estimators.base import LinearModel, is_flat, numeric, numeric_rows, reads_tables
from separatrix.messages import InputError, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import Encoding, identity
from separatrix.statistics.moments import Moments, dependent_columns, prepare, zero_if_constant
from separatrix.statistics.triangular import TriangularFactor
from separatrix.threads import on_one_blas_thread

EPS = float(np.finfo(float).eps)


@declare_parameters
class TotalLeastSquares(RegressorMixin, LinearModel):
    """Total least squares, also called orthogonal regression.

        min over b, a of Σ w (y − a − b·x)² / (1 + ‖b‖²)

    Errors are assumed in the columns as well as in the target. The orthogonal distance adds
    squares of all columns, so that it depends on their units by definition: use units in which
    the errors of columns and target have about equal variance.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has an intercept; the plane then contains the means.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
    intercept_ : float or ndarray of shape (k,)
    certificate_ : Certificate
        Sum of squared distances, and its lower bound by singular values.
    moments_ : Moments
        Moments of the training rows.
    factor_ : TriangularFactor
        Triangular factor of [1 X Y], to which ``partial_fit`` adds.

    See Also
    --------
    LinearRegression : Errors in the target alone.
    HuberRegressor : Robust to outliers in the target.

    Notes
    -----
    Warns (SEP004) where several planes are optimal, and refuses where the optimal plane is
    parallel to the direction of the target. Where columns are dependent (SEP001) the planes are
    those whose normals lie in the space that the rows span: tilting a plane out of it changes no
    prediction, and shortens every distance without end. Several targets are fitted together, by
    one flat of lower dimension.

    References
    ----------
    Golub and Van Loan, An analysis of the total least squares problem, 1980.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0], [0.0], [1.0]]
    >>> model = sx.TotalLeastSquares().fit(x, [-2.0, 0.0, 2.0])
    >>> model.coef_.round(6), round(model.certificate_.primal, 6)
    (array([2.]), 0.0)
    """

    _multi_output = True

    _: KW_ONLY
    fit_intercept: bool = True

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._training_rows(X, y, sample_weight)
        prepared = prepare(rows)
        numeric(prepared.targets)
        self.moments_ = prepared.moments
        mean = self.moments_.mean
        shift = mean if self.fit_intercept else np.zeros_like(mean)
        self.factor_ = prepared.rows.reduce(TriangularFactor(shift=shift))
        return self._update(prepared.encoding, flat=is_flat(rows, y))

    @on_one_blas_thread
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with all rows given before: triangular factors add up."""
        if not hasattr(self, "factor_"):
            return self.fit(X, y, sample_weight)
        rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=False))
        self.moments_ = self.moments_ + rows.reduce(Moments())
        self.factor_ = self.factor_ + rows.reduce(self.factor_)
        return self._update(identity(rows.schema), flat=is_flat(rows, y))

    def _update(self, encoding: Encoding, *, flat: bool) -> Self:
        solution = solve_total_least_squares(
            self.factor_, self.moments_, fit_intercept=self.fit_intercept
        )
        self._accept(solution, encoding, flat=flat)
        return self


@dataclass(frozen=True)
class _Normals:
    """Normals ``v`` of the optimal planes (by column), and the singular values around them.

    ``smallest`` are the k smallest values, ``following`` the next one that is distinct, ``level``
    their rounding error.
    """

    v: Floats
    smallest: Floats
    following: float
    level: float

    @property
    def repeated(self) -> bool:
        """Whether more normals are optimal than are needed."""
        return bool(self.v.shape[1] > len(self.smallest))


def solve_total_least_squares(
    factor: TriangularFactor, moments: Moments, *, fit_intercept: bool
) -> Solution:
    """Solve from the triangular factor of [1 X Y], which has the digits that moments would lose."""
    m = moments if fit_intercept else moments.about_origin()
    # below its first row, the factor of [1 X Y] is that of the centered [X Y]
    r = factor.r[1:, 1:] if fit_intercept else factor.r[:, 1:]
    basis, dependent = _row_space(r[:, : m.d], m)
    k = len(m.targets)
    rotated = np.concatenate([r[:, : m.d] @ basis, r[:, m.d :]], axis=1)
    normals = _smallest_singular_vectors(rotated, k)
    inner = _coefficients(normals, k)
    certificate = _certificate(rotated, inner, normals, dependent)
    if dependent:
        warn(
            "SEP001",
            f"linearly dependent columns: {', '.join(dependent[:5])}"
            f"{', …' if len(dependent) > 5 else ''}. Distances are measured within the space that "
            "the rows span; coefficients that point out of it would shorten all of them and change "
            "no prediction. Remove these columns.",
        )
    if normals.repeated and not dependent:
        warn(
            "SEP004",
            "total least squares: several planes are optimal, since the smallest singular value "
            "repeats; the one with the smallest coefficients was returned.",
        )
    coef = basis @ inner
    return Solution(coef, m.y_mean - m.x_mean @ coef, certificate)


def _row_space(r: Floats, m: Moments) -> tuple[Floats, tuple[str, ...]]:
    """An orthonormal basis of the row space of X, and the names of dependent columns.

    Rotating X within its row space changes no distance. Dependence is determined on equilibrated
    columns.
    """
    root = np.sqrt(m.weight)
    scale = root * zero_if_constant(np.linalg.norm(r, axis=0) / root, m.x_mean)
    unit = np.where(scale > 0, scale, 1.0)
    scaled = np.where(scale > 0, r / unit, 0.0)
    singular, v = linalg.svd(scaled, full_matrices=False)[1:] if m.d else (np.zeros(0), scaled)
    rank = int((singular > 10 * max(m.d, 10) * EPS * singular.max(initial=0.0)).sum())
    if rank == m.d:
        return np.eye(m.d), ()
    basis = linalg.qr(unit[:, None] * v[:rank].T, mode="economic")[0]
    dependent = dependent_columns(scaled, max(m.d, 10) * EPS)
    return basis, tuple(str(m.terms.items[j]) for j in dependent)


def _smallest_singular_vectors(r: Floats, k: int) -> _Normals:
    """Right singular vectors for the k smallest values, and for all that tie with them."""
    p = r.shape[1]
    if len(r) < p:  # fewer rows than columns: the other singular values are zero
        r = np.concatenate([r, np.zeros((p - len(r), p))])
    # largest columns first: the small singular values then keep their digits when units differ
    upper, order = linalg.qr(r, mode="r", pivoting=True)
    values, permuted = linalg.svd(upper[:p])[1:]
    v = np.empty_like(permuted)
    v[:, order] = permuted
    level = 10 * p * EPS * float(values.max(initial=0.0))
    cutoff = values[p - k] + max(level, 1e-10 * values[p - k])
    tied = values <= cutoff
    following = float(values[~tied].min()) if not tied.all() else np.inf
    return _Normals(v[tied].T, values[p - k :], following, level)


def _coefficients(normals: _Normals, k: int) -> Floats:
    """B = −V₁₂ V₂₂⁻¹; by the pseudo-inverse, hence of minimum norm, where there is a choice."""
    upper, lower = normals.v[:-k], normals.v[-k:]
    # Component of a normal along y, relative to its length, that is taken for rounding.
    vertical = 1e-10
    if np.linalg.svd(lower, compute_uv=False)[-1] <= vertical:
        raise InputError(
            "The optimal plane is vertical: it contains the direction of the target and predicts "
            "nothing (the columns vary less than the target and are not correlated with it).",
            remedy="Use LinearRegression, or give the target a larger unit.",
        )
    return np.asarray(-upper @ np.linalg.pinv(lower, rcond=vertical))


def _certificate(
    r: Floats, coef: Floats, normals: _Normals, dependent: tuple[str, ...]
) -> Certificate:
    """Distances to the plane that was found, against the bound by singular values."""
    k = coef.shape[1]
    normal = linalg.qr(np.concatenate([coef, -np.eye(k)]), mode="economic")[0]
    primal = float(np.sum((r @ normal) ** 2))
    dual = min(float(np.sum(normals.smallest**2)), primal)
    separation = normals.following - float(normals.smallest.max(initial=0.0))
    note = (
        f"Smallest singular value {normals.smallest[-1]:.6g}; the next distinct one is "
        f"{normals.following:.6g}."
    )
    if normals.repeated:
        note = "The smallest singular value repeats: other planes have the same distances."
    claim = "Total least squares: no plane has a smaller sum of squared orthogonal distances"
    if dependent:
        claim = (
            "Total least squares: no plane with a normal in the space that the rows span has a "
            "smaller sum of squared orthogonal distances"
        )
    return Certificate(
        claim,
        primal=primal,
        dual=dual,
        gap=primal - dual,
        tolerance=1e-8,
        # singular values are known to ``level``
        rounding=float(np.sum(2.0 * normals.smallest * normals.level + normals.level**2)),
        condition=float(np.linalg.norm(r) / separation) if separation > 0 else np.inf,
        rank=len(coef),
        dependent=dependent,
        notes=(note,),
        promised=("gap",),
    )
