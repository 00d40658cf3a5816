"""Fit a ν-SVM: solve, scale to the problem with costs that it equals, certify.

With C = 1/ρ and w, b divided by ρ, the ν-SVC is the SVC of cost Cω; the ν-SVR is the SVR of the ε
that it finds. Their certificates apply, and Σ α = νCΣω completes them: the two duality gaps are the
same then. The one-class SVM has its own,

    P − D = Σ [α (f − ρ) + ω max(0, ρ − f)],     none of its terms negative.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import (
    INDEFINITE_CLAIM,
    badness,
    certify_kernel_svm,
    certify_linear_svm,
)
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.nu.problem import NuProblem, nu_classification, nu_regression, one_class
from separatrix.svm.nu.solver import solve_nu
from separatrix.svm.problem import (
    Budget,
    SolverOptions,
    SVMProblem,
    classification_problem,
    cost_stages,
    linear_problem,
    regression_problem,
)
from separatrix.svm.solver import BinarySVM

#: Squared distance of reduced hulls, relative to ‖φ(x)‖², below which they meet.
_MEET = 1e-13
#: Coefficients below this fraction of their bound are zero.
_ZERO = 1e-12

NU_CLAIM = "ν-SVM: no other hyperplane in the kernel's feature space has a lower objective"
ONE_CLASS_CLAIM = (
    "One-class SVM: no other hyperplane in the kernel's feature space has a lower objective"
)

NO_MARGIN = "Zero is a mean of rows in the feature space: no hyperplane has them on one side."


def check_nu(nu: float) -> float:
    """ν as a number in (0, 1]."""
    if isinstance(nu, bool) or not isinstance(nu, int | float | np.number) or not 0.0 < nu <= 1.0:
        raise InputError(f"nu={nu!r} is no fraction.", remedy="Choose 0 < nu <= 1.")
    return float(nu)


def fit_nu_svc(
    gram: GramMatrix,
    y: Floats,
    w: Floats,
    nu: float,
    rows: Ints,
    options: SolverOptions,
    classes: tuple[str, str],
) -> BinarySVM:
    """The ν-SVC of labels ±1, its scores ±1 on the margin."""
    largest, budget = float(np.abs(gram.diagonal).max()), options.budget(gram.n)
    problem = nu_classification(y, w, nu, classes, largest)
    gamma, f, solved = solve_nu(gram, problem, options, budget)
    beta = problem.beta(gamma, gram.n)
    first, second = problem.level(gamma, f)
    rho, square = 0.5 * (first - second), float(beta @ f)
    size = (0.5 * float(np.abs(beta).sum())) ** 2 * largest
    if not rho > problem.unit or (gram.mercer and square <= _MEET * size):
        raise InputError(
            f"nu={nu!r} leaves no margin between {classes[0]} and {classes[1]}: means of so few "
            "of their rows can be the same point.",
            remedy="Choose a larger nu, or a narrower kernel.",
        )
    costs = classification_problem(y, w / rho)
    scaled = (beta / rho, f / rho, -0.5 * (first + second) / rho)
    return _record(gram, costs, *scaled, nu, rows, options, budget, solved)


def fit_nu_svr(
    gram: GramMatrix, t: Floats, cost: Floats, nu: float, options: SolverOptions
) -> tuple[BinarySVM, float]:
    """The ν-SVR of targets t, and the ε that it found.

    A large cost is reached by stages: w, b and ε no longer change beyond the last breakpoint, and
    α⁺ and α⁻ go on growing with the cost.
    """
    whole, budget = nu_regression(t, cost, nu), options.budget(gram.n)
    steep = float(np.abs(gram.diagonal).max()) * float(cost.max()) / whole.unit
    best, before, last = None, None, 0.0
    for fraction in cost_stages(steep) if gram.mercer else [1.0]:
        problem = nu_regression(t, fraction * cost, nu)
        steps = replace(budget, max_iter=budget.n_iter + -(-budget.remaining // 2))
        steps = steps if fraction < 1.0 else budget
        gamma, f, solved = solve_nu(gram, problem, options, steps)
        budget.n_iter = steps.n_iter
        first, second = problem.level(gamma, f)
        epsilon, b = max(0.5 * (second - first), 0.0), -0.5 * (first + second)
        coef = problem.beta(gamma, gram.n) @ gram.x if gram.linear else None
        gammas = [gamma]
        if before is not None:
            gammas.append(whole.part.extrapolated(gamma, fraction, before, last))
        costs = regression_problem(t, cost, epsilon)
        for each in gammas:
            beta = problem.beta(each, gram.n)
            beta[np.abs(beta) <= _ZERO * cost] = 0.0
            scores = f if each is gamma or coef is not None else gram.times(beta)
            every = np.arange(gram.n)
            new = _record(gram, costs, beta, scores, b, nu, every, options, budget, solved, coef)
            if best is None or badness(new.certificate) < badness(best[0].certificate):
                best = new, epsilon
        assert best is not None
        if best[0].certificate.holds or budget.exhausted:
            break
        before, last = gamma, fraction
    assert best is not None
    return best


def fit_one_class(gram: GramMatrix, w: Floats, nu: float, options: SolverOptions) -> BinarySVM:
    """The one-class SVM; its intercept is −ρ."""
    largest, budget = float(np.abs(gram.diagonal).max()), options.budget(gram.n)
    problem = one_class(w, nu, largest)
    alpha, f, solved = solve_nu(gram, problem, options, budget)
    rho = _offset(problem, alpha, f)
    square, slack = float(alpha @ f), np.maximum(rho - f, 0.0)
    unit = max(abs(rho), problem.unit, float(np.finfo(float).tiny))
    terms = alpha * (f - rho) + w * slack
    certificate = Certificate(
        ONE_CLASS_CLAIM,
        primal=0.5 * square - nu * float(w.sum()) * rho + float(w @ slack),
        dual=-0.5 * square,
        gap=max(float(terms.sum()) + rho * float(alpha.sum() - nu * w.sum()), 0.0),
        kkt=max(problem.violation(alpha, f) / unit, abs(float(alpha.sum() / (nu * w.sum())) - 1.0)),
        tolerance=options.tol,
        notes=(NO_MARGIN,) if abs(rho) <= problem.unit else (),
    )
    if not gram.mercer:
        certificate = replace(
            certificate, claim=INDEFINITE_CLAIM, dual=np.nan, gap=np.nan, promised=("kkt",)
        )
    status = str(Status.SOLVED if solved else budget.status)
    every = np.arange(gram.n)
    return BinarySVM(every, alpha, w, slack, -rho, square, certificate, budget.n_iter, status)


def _offset(problem: NuProblem, alpha: Floats, f: Floats) -> float:
    """ρ: the score of rows on the margin."""
    return problem.level(alpha, f)[0]


def _record(
    gram: GramMatrix,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    b: float,
    nu: float,
    rows: Ints,
    options: SolverOptions,
    budget: Budget,
    solved: bool,
    coef: Floats | None = None,
) -> BinarySVM:
    """The solution as that of the problem with costs, its certificate completed by Σα = νΣc.

    ``coef`` is the w of the linear kernel, which large β may have lost in their sum.
    """
    if coef is None:
        certificate = certify_kernel_svm(
            problem, beta, f, b, tolerance=options.tol, mercer=gram.mercer, claim=NU_CLAIM
        )
    else:
        linear = linear_problem(problem, gram.x)
        certificate = certify_linear_svm(
            linear, coef, b, beta, tolerance=options.tol, claim=NU_CLAIM
        )
    total = nu * float(problem.cost.sum())
    short = abs(total - float(np.abs(beta).sum())) / total
    if problem.regression:  # fewer than ν are support vectors where ε = 0
        short *= problem.epsilon / problem.unit
    certificate = replace(
        certificate,
        kkt=max(certificate.kkt, short),
        gap=certificate.gap + short * total * problem.unit,
        notes=(*certificate.notes, f"Coefficients sum to the fraction ν = {nu:g} of their bounds."),
    )
    status = str(Status.SOLVED if solved else budget.status)
    slack = problem.slack(f + b)
    square = float(beta @ f) if coef is None else float(coef @ coef)
    record = (rows, beta, problem.cost, slack, b, square, certificate, budget.n_iter, status)
    return BinarySVM(*record) if coef is None else BinarySVM(*record, coef)
