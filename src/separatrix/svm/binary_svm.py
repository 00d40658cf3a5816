"""One machine of support vectors, trained and proved; what classes and numbers have in common."""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.separation_proof import CommonPoint, separation_proof
from separatrix.kernels import Kernel, Linear, kernel_from
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.blocks import Effort
from separatrix.svm.dual.certificate import certify_support
from separatrix.svm.dual.points import Points
from separatrix.svm.dual.primal_route import few_columns, solve_columns
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.dual.solve import Support, solve_support

#: Pairs at most where no limit is given: so many, and so many more for each row.
_PAIRS, _PAIRS_PER_ROW = 1_000_000, 1_000
#: Least margin of a separable table, as a share of the longest row.
_NARROW = 1e-5
#: Size of a term of the scores from which on it is named as a cause.
_RESOLVED = 1e10
#: Ratio of column deviations from which on scaling is named as a cause of slowness.
_UNEVEN = 1e3


@dataclass(frozen=True)
class BinarySVM:
    """What training found: the ``rows`` of the table it saw, β and slack of each, and the offset b.

    The score of x is Σ β κ(xᵢ, x) + b, the squared length of the normal ``square`` = βᵀKβ.
    """

    rows: Ints
    beta: Floats
    slack: Floats
    offset: float
    square: float
    certificate: Certificate

    @property
    def support(self) -> Ints:
        """Rows of the table that carry the boundary."""
        return np.asarray(self.rows[self.beta != 0.0])


@dataclass(frozen=True)
class SolverOptions:
    """How to train: tolerance, memory for kernel rows in MB, limits (0 pairs: the usual one)."""

    tol: float
    megabytes: float
    deadline: float
    pairs: int

    @classmethod
    def of(cls, model: Any) -> SolverOptions:
        """The settings of an estimator, checked."""
        if not isinstance(model.C, Real) or not float(model.C) > 0.0:
            raise InputError(f"C={model.C!r} must be a number greater than 0.")
        if not model.tol > 0.0:
            raise InputError(f"tol={model.tol!r} must be greater than 0.")
        if not model.cache_size > 0.0:
            raise InputError(f"cache_size={model.cache_size!r} holds nothing.", remedy="Give MB.")
        if model.time_budget is not None and not model.time_budget > 0.0:
            raise InputError(
                f"time_budget={model.time_budget!r} must be greater than 0 seconds.",
                remedy="None sets no limit.",
            )
        budget = np.inf if model.time_budget is None else float(model.time_budget)
        limit = 0 if model.max_iter < 1 else int(model.max_iter)
        return cls(float(model.tol), float(model.cache_size), time.perf_counter() + budget, limit)

    def effort(self, n: int) -> Effort:
        """A fresh count, for n rows."""
        return Effort(self.deadline, self.pairs or _PAIRS + _PAIRS_PER_ROW * n)


def train(
    points: Points, rows: Ints, problem: DualProblem, how: SolverOptions, unit: float = 1.0
) -> BinarySVM:
    """Solve, prove, and refuse hard margins that do not exist."""
    found, work = _by_columns(points, problem, how, unit) or _by_pairs(points, problem, how, unit)
    offset = problem.offset(found.beta, found.f)
    u = found.f + offset
    slack = np.where(problem.high > 0, problem.t - u - problem.eps, 0.0)
    slack = np.maximum(slack, np.where(problem.low < 0, u - problem.t - problem.eps, 0.0))
    certificate = certify_support(
        problem,
        found.beta,
        found.f,
        offset,
        unit=unit,
        tolerance=how.tol,
        mercer=points.mercer,
        notes=(work,),
    )
    square = float(found.beta @ found.f)
    return BinarySVM(rows, found.beta, np.maximum(slack, 0.0), offset, square, certificate)


def _by_columns(
    points: Points, problem: DualProblem, how: SolverOptions, unit: float
) -> tuple[Support, str] | None:
    """The linear kernel of few columns; None where coefficients are to be changed by pairs."""
    if not isinstance(points.kernel, Linear) or how.pairs or not few_columns(points.x):
        return None
    posed = problem
    if problem.hard:
        # the margin γ of any hyperplane bounds Σα by 1/γ²: no coefficient reaches such a bound
        above, below = problem.t > 0, problem.t < 0
        proof = separation_proof(points.x[above], points.x[below])
        if isinstance(proof, CommonPoint):
            raise _no_hyperplane(proof)
        posed = problem.capped(2.0 / proof.margin**2)
    found, steps = solve_columns(points.x, posed, how.deadline)
    short = found.violation > how.tol * unit and time.perf_counter() < how.deadline
    return None if short else (found, f"{steps} steps to w and b.")


def _by_pairs(
    points: Points, problem: DualProblem, how: SolverOptions, unit: float
) -> tuple[Support, str]:
    """Any kernel; hard margins that do not exist are refused."""
    effort = how.effort(problem.n)
    posed = problem
    if problem.hard:
        posed = problem.capped(1.0 / (_NARROW**2 * max(float(points.diagonal.max()), 1e-300)))
    found = solve_support(
        points, posed, tol=how.tol, unit=unit, effort=effort, megabytes=how.megabytes
    )
    if problem.hard and (np.abs(found.beta) >= 0.999 * np.maximum(posed.high, -posed.low)).any():
        _refuse(points, problem, found)
    return found, f"{effort.done} pairs of coefficients were changed."


def changes(svm: BinarySVM) -> int:
    """How many steps it took, as the certificate says; at least one."""
    return max(1, int(svm.certificate.notes[0].split()[0]))


def warn_if_short(svms: list[BinarySVM], points: Points) -> None:
    """Doubt SEP003 where a tolerance was not reached, with the cause if the columns show one."""
    short = [m for m in svms if not m.certificate.holds]
    if not short:
        return
    worst = max(short, key=lambda m: m.certificate.kkt)
    warn("SEP003", f"{worst.certificate} {_cause(points, worst)}".strip())


def _cause(points: Points, svm: BinarySVM) -> str:
    """Why it is slow, if columns or sizes show it."""
    return _uneven(points) or _large(points, svm)


def _large(points: Points, svm: BinarySVM) -> str:
    """Scores are sums of terms of C κ(x, x), of which rounding must leave the last unit."""
    size = float(np.abs(svm.beta).max()) * float(np.abs(points.diagonal).max())
    if size < _RESOLVED:
        return ""
    return (
        f"C times the largest similarity is {size:.0e}, and scores are sums of such terms that "
        "must come out near ±1: standardize=True or a smaller C mends it, and for the linear "
        "kernel LinearSVC or LinearSVR, which do without these sums."
    )


def _uneven(points: Points) -> str:
    x = points.x
    if not isinstance(x, np.ndarray) or points.given or x.ndim != 2:
        return ""
    spread = x.std(axis=0)
    spread = spread[spread > 0]
    if not len(spread) or spread.max() < _UNEVEN * spread.min():
        return ""
    return (
        f"The deviations of the columns differ by a factor of {spread.max() / spread.min():.0e}, "
        "which makes the problem nearly flat in some directions: standardize=True mends it."
    )


def _refuse(points: Points, problem: DualProblem, found: Support) -> None:
    """Classes that no hyperplane in the space of the kernel separates, with the proof."""
    above, below = problem.t > 0, problem.t < 0
    if isinstance(points.kernel, Linear):
        proof = separation_proof(points.x[above], points.x[below])
        if isinstance(proof, CommonPoint):
            raise _no_hyperplane(proof)
    weight = found.beta[above].sum()
    apart = np.sqrt(max(float(found.beta @ found.f), 0.0)) / weight
    size = np.sqrt(float(points.diagonal.max()))
    raise InputError(
        "C=inf asks for a hyperplane without mistakes, and in the space of the kernel there is "
        f"none with a margin above {apart / size:.0e} of the longest row: weighted means of "
        f"{int((found.beta[above] > 0).sum())} rows of one class and of "
        f"{int((found.beta[below] < 0).sum())} of the other are this close.",
        remedy="Choose a finite C, or a kernel that tells the rows apart.",
    )


def _no_hyperplane(proof: CommonPoint) -> InputError:
    return InputError(
        "C=inf asks for a hyperplane without mistakes, and there is none: a mean of "
        f"{len(proof.rows_a)} rows of one class and one of {len(proof.rows_b)} rows of the "
        f"other are the same point (to {proof.disagreement:.0e} of the columns' ranges).",
        remedy="Choose a finite C; linear_separability(X, y) shows the rows and weights.",
    )


# -- rows and kernels --------------------------------------------------------------------------


def chosen_kernel(model: Any, x: Any, w: Floats) -> Kernel:
    """The kernel of an estimator; ``gamma="scale"`` counts a row as often as its weight says."""
    return kernel_from(
        model.kernel,
        gamma=model.gamma,
        degree=model.degree,
        coef0=model.coef0,
        x=x,
        sample_weight=w,
    )


def groups(svm: BinarySVM, problem_high: Floats, n: int) -> NDArray[np.str_]:
    """Where each of n rows stands: ``outside`` (β = 0), ``on the margin`` or ``inside`` (β = C)."""
    names = np.full(n, "outside", dtype="<U13")
    size = np.abs(svm.beta)
    names[svm.rows[size > 0]] = "on the margin"
    names[svm.rows[(size > 0) & (size >= problem_high)]] = "inside"
    return names
