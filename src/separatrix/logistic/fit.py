"""From rows to a certified logistic fit: build the problem, start, minimize, certify."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, NDArray
from separatrix.logistic import newton
from separatrix.logistic.lasso import MAX_WITHOUT_WORKING_SET, minimize_l1
from separatrix.logistic.problem import (
    LogisticOptions,
    LogisticProblem,
    Separation,
    build_problem,
    certify_logistic,
    constant_start,
    discriminant_start,
)
from separatrix.logistic.wide import (
    WideLogistic,
    minimize_wide,
    near_minimum,
    span_of_rows,
    wide_problem,
)
from separatrix.messages import warn
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.probability.likelihood import LogisticRows
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.moments import Preconditioner
from separatrix.threads import one_blas_thread

#: Columns from which products with the rows replace Hessians.
MAX_HESSIAN = 600


def many_columns(n: int, d: int) -> bool:
    """Whether the span of the rows is smaller than a d x d matrix, or this too costly."""
    return d > max(n, 200) or d > MAX_HESSIAN


def _use_products(rows: Rows, n_classes: int, options: LogisticOptions) -> bool:
    """Whether products with rows in memory cost less than Hessians."""
    if not isinstance(rows, ArrayRows):
        return False
    n, d = len(rows), int(rows.block.x.shape[1])
    if many_columns(n, d):
        return True
    if options.penalty == 0.0 or options.has_l1:  # what inference and sweeps need is a Hessian
        return False
    if n_classes > 2:
        return (d + 1) * n_classes > newton.NEWTON_MULTICLASS
    # With an L2 penalty also from these columns of two classes, where a Hessian of all rows takes
    # more multiplications than this.
    return d >= 64 and n * d**2 >= 1e8


@dataclass(frozen=True)
class StartingPoint:
    """A problem, where to start on it, and the class proportions."""

    problem: LogisticProblem
    theta: Floats
    priors: Floats


@dataclass(frozen=True)
class LogisticSolution(Solution):
    """A logistic fit with what inference needs.

    ``loss`` is Σ w ℓ; ``covariance`` is H⁻¹ over (score, coefficients, intercept) with scores
    outermost, empty where it does not exist; ``identified`` marks coefficients (and, last, the
    intercept) that dependent columns leave unique; ``weight`` is Σ w, ``priors`` the class
    proportions; ``limit`` is what quasi-completely separable classes leave finite.
    """

    loss: float = np.nan
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    identified: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    separation: Separation | None = None
    rank: int = 0
    weight: float = np.nan
    priors: Floats = field(default_factory=lambda: np.zeros(0))
    limit: Limit | None = None


def fit_logistic(data: LogisticRows, targets: Terms, options: LogisticOptions) -> LogisticSolution:
    """Build, solve and certify; ``targets`` are the indicators in the order of the classes."""
    start = starting_point(data, targets, options)
    return solve_logistic(start.problem, start.theta, options, start.priors)


def starting_point(data: LogisticRows, targets: Terms, options: LogisticOptions) -> StartingPoint:
    """The problem of these rows, and the scores of a simpler model to start from."""
    if _use_products(data.rows, len(targets), options):
        assert isinstance(data.rows, ArrayRows)
        n, d = data.rows.block.x.shape
        # Few rows of more columns have coordinates within their span.
        if not options.has_l1 and n < d and n <= 500 and n * d <= 20_000_000:
            problem, priors = span_of_rows(data.rows, targets, options)
        else:
            problem, priors = wide_problem(data.rows, targets, options, data.x)
        return StartingPoint(problem, constant_start(problem, priors), priors)
    problem = build_problem(data.rows, data.moments, targets, options)
    moments = data.moments.aligned(data.moments.terms, targets)
    width, k = problem.shape
    if options.has_l1 and width * k > MAX_WITHOUT_WORKING_SET:  # working sets grow from nothing
        theta = constant_start(problem, moments.y_mean)
    else:
        theta = discriminant_start(problem, moments)
    return StartingPoint(problem, theta, moments.y_mean)


def minimize(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> newton.DescentResult:
    """Minimize F from ``start`` by the method that its penalty needs."""
    if isinstance(problem, WideLogistic) and not options.has_l1:
        return minimize_wide(problem, start, options)
    if options.has_l1:
        return minimize_l1(problem, start, options)
    near = near_minimum(problem, start, options) if newton.has_costly_hessian(problem) else None
    if near is None:
        return newton.minimize_smooth(problem, start, options)
    return newton.newton(problem, near, options)


def solve_logistic(
    problem: LogisticProblem, start: Floats, options: LogisticOptions, priors: Floats
) -> LogisticSolution:
    """Minimize from ``start`` and certify; ``priors`` are the class proportions."""
    descent_result = minimize(problem, start, options)
    factor = 1.0 / options.penalty if options.penalty > 0.0 else 1.0
    certificate, theta, loss = certify_logistic(
        problem, descent_result.theta, descent_result.step, factor, tolerance=options.tol
    )
    preconditioner, wide = problem.preconditioner, isinstance(problem, WideLogistic)
    certificate = replace(
        certificate,
        rank=None if options.penalty > 0.0 or wide else preconditioner.rank,
        dependent=preconditioner.dependent,
    )
    if descent_result.separation is not None:
        certificate = _separation_certificate(certificate, descent_result.separation)
    _warn(problem, descent_result, certificate.holds, options)
    coef, intercept = problem.unscale(theta)
    return LogisticSolution(
        coef,
        intercept,
        certificate,
        descent_result.status,
        descent_result.passes,
        descent_result.history,
        loss=loss,
        covariance=_covariance(problem, descent_result, options),
        limit=_limit(problem, descent_result),
        identified=_find_identified(preconditioner, options),
        separation=descent_result.separation,
        rank=preconditioner.rank,
        weight=problem.weight,
        priors=priors,
    )


def _separation_certificate(certificate: Certificate, separation: Separation) -> Certificate:
    """What is known where no maximum likelihood estimate exists; it does not hold.

    The infimum of the loss is 0 for completely separated classes; otherwise it is not known.
    """
    kind = "completely" if separation.complete else "quasi-completely"
    low, high = separation.smallest_margin, separation.largest_margin
    return replace(
        certificate,
        claim=f"The classes are {kind} separable: the maximum likelihood estimate does not exist",
        dual=0.0 if separation.complete else np.nan,
        gap=certificate.primal if separation.complete else np.nan,
        kkt=np.nan,
        notes=(
            "Along separation_ no margin of a row decreases (the changes lie between "
            f"{low:.1e} and {high:.1e}).",
        ),
    )


def _warn(
    problem: LogisticProblem,
    descent_result: newton.DescentResult,
    holds: bool,
    options: LogisticOptions,
) -> None:
    dependent = problem.preconditioner.dependent
    if dependent and options.penalty == 0.0:
        warn(
            "SEP001",
            f"dependent columns: {', '.join(dependent)}. The probabilities are unique, the "
            "coefficients are not; those of smallest norm were returned.",
        )
    if descent_result.separation is not None:
        warn(
            "SEP006",
            "the classes are separable: the maximum likelihood estimate does not exist, because "
            "the likelihood increases without a maximum along separation_. The coefficients are "
            "those of the last iteration. Use a penalty, such as C=1.",
        )
    elif not holds:
        reason = f"stopped after {descent_result.passes} passes ({descent_result.status}). "
        if descent_result.status is Status.LIMIT:
            reason = "The max_iter was reached which means the coef_ did not converge. "
        reason += "Increase the number of iterations, or see certificate_."
        warn("SEP003", f"{options.method} failed to converge: {reason}")


def _covariance(
    problem: LogisticProblem, descent_result: newton.DescentResult, options: LogisticOptions
) -> Floats:
    """H⁻¹ in the coefficients of the table; only for maximum likelihood."""
    width, k = problem.shape
    if (
        options.penalty > 0.0
        or descent_result.separation is not None
        or width * k > newton.MAX_FULL
    ):
        return np.zeros((0, 0))
    if isinstance(problem, WideLogistic) and (
        problem.is_sparse or descent_result.status is not Status.SOLVED
    ):
        return np.zeros((0, 0))
    hessian = descent_result.hessian
    if hessian is None:
        hessian = problem.hessian(descent_result.theta - descent_result.step).hessian
    assert hessian is not None
    if isinstance(problem, WideLogistic) and (k > 1 or not _definite(hessian)):
        return np.zeros((0, 0))  # columns that depend on others were not looked for
    jacobian = linalg.block_diag(*[jacobian_of(problem)] * k)
    with one_blas_thread():
        return np.asarray(jacobian @ newton.flat_solver(hessian, problem)(jacobian.T))


def _definite(hessian: Floats) -> bool:
    """Whether the Hessian has no eigenvalue within rounding errors of zero."""
    values = linalg.eigvalsh(hessian)
    return bool(values[0] > 1e-10 * values[-1])


def _limit(problem: LogisticProblem, descent_result: newton.DescentResult) -> Limit | None:
    """What stays finite; None where the classes are not separable, or completely so."""
    width, k = problem.shape
    if (
        descent_result.separation is None
        or descent_result.separation.complete
        or width * k > newton.MAX_FULL
    ):
        return None
    if isinstance(problem, WideLogistic):
        return None
    # Multiplications of a Hessian up to which quasi-separable classes are followed to the limit.
    if problem.weight * (width * k) ** 2 > 2e8:
        return None
    return limit_of(problem, descent_result.theta, descent_result.separation)


def _find_identified(preconditioner: Preconditioner, options: LogisticOptions) -> NDArray[np.bool_]:
    """Which coefficients are unique among all maximum likelihood estimates; a penalty makes all so.

    eⱼ, or for the intercept the center, must lie in the span of the centered rows; a constant
    column is left out.
    """
    p = preconditioner
    if not p.rotated or options.penalty > 0.0:
        return np.ones(len(p.center) + 1, dtype=bool)
    norm = np.linalg.norm(p.matrix, axis=1)
    unit = np.where(norm > 0.0, norm, 1.0)
    span = linalg.orth(p.matrix / unit[:, None], rcond=1e-10)
    in_span = np.sum(span**2, axis=1) > 1.0 - 1e-8
    center = np.where(norm > 0.0, p.center / unit, 0.0)
    outside = np.linalg.norm(center - span @ (span.T @ center))
    return np.append(in_span, outside <= 1e-8 * np.linalg.norm(center))


# -------------------------------------------------------------------------------------------------
# Inference where classes are quasi-completely separable: what stays finite in the limit.
#
# Along a direction of recession v the likelihood increases towards its supremum at infinity. In the
# limit the margins that v moves no longer count, and the others determine every combination of
# coefficients that is orthogonal to all such directions, as maximum likelihood does elsewhere:
#
#     θ(t) = θ* + t v,    ∇²F(θ(t)) → H,    H v = 0,    covariance H⁺ on the complement of null H
#
# A level that occurs in one class alone thus has no finite coefficient, and takes nothing away from
# the coefficients of other columns.


@dataclass(frozen=True)
class Limit:
    """Coefficients (scores x terms, the intercept last) and their covariance in the limit.

    ``infinite`` (scores · terms x directions) spans the directions of recession: a coefficient with
    an entry other than zero has no finite estimate. ``loss`` is the infimum of Σ w ℓ.
    """

    estimates: Floats
    covariance: Floats
    infinite: Floats
    loss: float


def limit_of(problem: LogisticProblem, theta: Floats, separation: Separation) -> Limit | None:
    """The limit of quasi-completely separable classes; None where it was not reached."""
    width, k = problem.shape
    shift = np.zeros((width * k, width * k))
    if k > 1:  # a common shift of all scores, which changes nothing, is given a curvature
        shift += np.kron(np.ones((k, k)), np.eye(width)) * (problem.weight / k**2)
    # Largest margin along the direction of recession: rows of a ten-thousandth of it count no more.
    theta = theta + 4e5 / separation.largest_margin * _direction(problem, separation)
    at = problem.hessian(theta)
    # Passes at most; directions that the first one does not include need some thirty.
    for _ in range(80):
        assert at.hessian is not None
        values, vectors = linalg.eigh(at.hessian + shift)
        # Curvatures below this fraction of the largest are zero in the limit.
        finite = values > 1e-10 * values[-1]
        root = vectors[:, finite] / np.sqrt(values[finite])
        step = (root @ (root.T @ at.gradient.T.ravel())).reshape(k, width).T
        if np.abs(step).max() <= 1e-7:
            return _in_table_units(problem, theta - step, root, vectors[:, ~finite], at.value)
        new = problem.hessian(theta - step)
        while new.value > at.value + 1e-9 * problem.weight and np.abs(step).max() > 1e-7:
            step = step / 2
            new = problem.hessian(theta - step)
        theta, at = theta - step, new
    return None


def _direction(problem: LogisticProblem, separation: Separation) -> Floats:
    """The direction of recession in the coordinates of the problem."""
    p = problem.preconditioner
    z = linalg.lstsq(p.matrix, separation.coef)[0]
    if not problem.design.intercept:
        return np.asarray(z)
    return np.vstack([z, separation.intercept + p.center @ separation.coef])


def _in_table_units(
    problem: LogisticProblem, theta: Floats, root: Floats, flat: Floats, loss: float
) -> Limit:
    """Coefficients, covariance and directions of recession; ``root`` rootᵀ is H⁺."""
    k = theta.shape[1]
    coef, intercept = problem.unscale(theta)
    jacobian = linalg.block_diag(*[jacobian_of(problem)] * k)
    infinite = jacobian @ flat
    infinite[np.abs(infinite) <= 1e-6 * np.linalg.norm(jacobian, axis=1)[:, None]] = 0.0
    spread = jacobian @ root
    estimates = np.column_stack([coef.T, intercept])
    return Limit(estimates, np.asarray(spread @ spread.T), infinite, loss)


def jacobian_of(problem: LogisticProblem) -> Floats:
    """The coefficients of the table, and last the intercept, as linear in those of one score."""
    p, r = problem.preconditioner, problem.preconditioner.rank
    jacobian = np.zeros((len(p.center) + 1, problem.shape[0]))
    jacobian[:-1, :r] = p.matrix
    jacobian[-1, :r] = -p.center @ p.matrix
    jacobian[-1, r:] = 1.0
    return jacobian
