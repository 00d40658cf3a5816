"""Automatic relevance determination: a precision for every column, learned by evidence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from math import exp, isinf, log, log1p, sqrt

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.bayes.bayesian_ridge import BayesianLinearModel, hyperprior_of
from separatrix.bayes.evidence import TOLERANCE, ColumnScaling, Posterior, digits
from separatrix.estimators.base import TrainingData
from separatrix.matrices.products import Standardized, products
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import Certificate, Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import Block
from separatrix.statistics.moments import Moments
from separatrix.threads import on_one_blas_thread


@declare_parameters
class ARDRegression(BayesianLinearModel):
    """Bayesian regression with a precision for every column, learned by evidence maximization.

        y = a + b·x + ε,    ε ~ N(0, α⁻¹),    bⱼ ~ N(0, λⱼ⁻¹)
        (α, λ) = argmax log N(y; 0, α⁻¹I + XΛ⁻¹Xᵀ) + log Gamma(α) + Σ log Gamma(λⱼ)

    Columns that explain less than chance leave the model (automatic relevance determination). The
    search changes one precision at a time, each to its best value in closed form, and ends with
    Newton's method on all logarithms: a local maximum is found to rounding, the better of two
    searches where columns are few. Many columns are searched by working sets. The intercept is
    estimated and has no distribution, and of columns that are copies of one another one is used:
    the first, unless the threshold leaves that out.

    Parameters
    ----------
    max_iter : int, default=300
        Ignored; accepted for scikit-learn compatibility.
    tol : float, default=1e-3
        Accepted for compatibility with scikit-learn; the maximum is found to rounding.
    alpha_1 : float, default=1e-6
    alpha_2 : float, default=1e-6
    lambda_1 : float, default=1e-6
    lambda_2 : float, default=1e-6
    compute_score : bool, default=False
        Whether ``scores_`` are stored.
    threshold_lambda : float, default=1e4
        A column whose precision reaches this is left out; in the units of the table.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
    verbose : bool, default=False
    standardize : bool, default=False
        Whether rates and threshold are those of standardized columns and target: then nothing
        depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Posterior mean of the coefficients b, zero for columns left out.
    intercept_ : float
    alpha_ : float
        Precision α of the noise.
    lambda_ : ndarray of shape (d,)
        Precisions λ of the coefficients; infinite for columns left out.
    sigma_ : ndarray of shape (k, k)
        Posterior covariance of the coefficients of the k columns in use.
    log_evidence_ : float
        log N(y; 0, α⁻¹I + XΛ⁻¹Xᵀ) of the centered target, all constants included.
    scores_ : ndarray
        With ``compute_score``, log evidence plus log hyperpriors at the start and after every
        round of the search.
    n_iter_ : int
        Number of sweeps over the columns and of Newton steps.
    r_squared_ : float
    n_rows_ : float
    posterior_ : Posterior
        The posterior as a factor.
    X_offset_ : ndarray of shape (d,)
    X_scale_ : ndarray of shape (d,)
    certificate_ : Certificate
        Derivatives of the evidence at the precisions, computed by separate code.
    moments_ : Moments or None

    See Also
    --------
    BayesianRidge : One precision for all columns.
    Lasso : Columns left out by an ℓ₁ penalty.

    References
    ----------
    - MacKay, Bayesian interpolation, Neural Computation 4, 1992.
    - Tipping and Faul, Fast marginal likelihood maximisation for sparse Bayesian models, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((500, 4))
    >>> y = x @ [1.0, -2.0, 0.0, 0.0] + 0.5 * rng.standard_normal(500)
    >>> sx.ARDRegression().fit(x, y).coef_.round(1) + 0.0
    array([ 1., -2.,  0.,  0.])
    """

    _: KW_ONLY
    max_iter: int = 300
    tol: float = 1e-3
    alpha_1: float = 1e-6
    alpha_2: float = 1e-6
    lambda_1: float = 1e-6
    lambda_2: float = 1e-6
    compute_score: bool = False
    threshold_lambda: float = 1e4
    fit_intercept: bool = True
    copy_X: bool = True
    verbose: bool = False
    standardize: bool = False

    def _infer(self, data: TrainingData) -> Solution:
        source = data.block or data.source
        plain = ColumnScaling.of(source, fit_intercept=bool(self.fit_intercept), standardize=False)
        if data.block is not None:
            columns = UnitColumns.of_rows(data.block, plain)
        else:
            assert data.moments is not None
            m = data.moments if self.fit_intercept else data.moments.about_origin()
            columns = UnitColumns.of_moments(m, plain)
        rates = self._rates(columns)
        relevance = maximize_relevance(columns, rates)
        active = np.flatnonzero(np.isfinite(relevance.lam))
        fit = Fit.at(columns, relevance.alpha, relevance.lam, active)
        unit_coef = np.zeros(len(relevance.lam))
        unit_coef[active] = fit.mean
        checked = certify_relevance(columns, rates, relevance.alpha, relevance.lam, unit_coef)
        self._expose(columns, rates, relevance)
        root = np.sqrt(columns.units)
        half = np.zeros((len(root), len(active)))
        half[active] = fit.half / root[active, None]
        ones = np.ones(len(active))
        self.posterior_ = Posterior(plain.mean, np.ones(len(root)), half, ones)
        self.r_squared_ = 1.0 - checked.residual if columns.y_length else 0.0
        self._place(plain.mean)
        self._warn(columns, rates, checked, data)
        coef = unit_coef / root
        intercept = plain.y_mean - float(plain.mean @ coef)
        return Solution(
            coef[:, None], np.array([intercept]), checked.certificate, iterations=relevance.steps
        )

    def _rates(self, columns: UnitColumns) -> Rates:
        """Rates and threshold for columns and target of length one."""
        given, threshold = hyperprior_of(self), float(self.threshold_lambda)
        if not threshold >= 0.0:
            raise InputError(f"threshold_lambda={self.threshold_lambda!r} must be 0 or more.")
        if not columns.yy + given.alpha_2 > 0.0:
            raise InputError(
                "The target is constant, so that without alpha_2 > 0 the noise has no variance.",
                remedy="Use alpha_2=1e-6, or leave the model out.",
            )
        units, square = columns.units, columns.y_length**2 or 1.0
        if self.standardize:
            units, square = np.ones_like(units), columns.weight
        return Rates(
            given.alpha_1,
            given.alpha_2 / square,
            given.lambda_1,
            given.lambda_2 * units,
            threshold / units,
        )

    def _expose(self, columns: UnitColumns, rates: Rates, relevance: Relevance) -> None:
        """Precisions, evidence and scores in the units of the table."""
        length = columns.y_length or 1.0
        change = -columns.weight * float(np.log(length))
        self.alpha_ = relevance.alpha / length**2
        self.lambda_ = relevance.lam * columns.units
        self.log_evidence_ = log_evidence_at(columns, relevance.alpha, relevance.lam) + change
        steps = relevance.history if self.compute_score else ()
        self.scores_ = np.array([score(columns, rates, *step) for step in steps]) + change

    def _warn(
        self, columns: UnitColumns, rates: Rates, checked: Checked, data: TrainingData
    ) -> None:
        """Warn where threshold or rates, which have units, decide, or the search ended early."""
        if not checked.certificate.holds:
            warn(
                "SEP003",
                "the search for precisions ended before its maximum: "
                f"a derivative of the log evidence is {checked.certificate.kkt:.1e}.",
            )
        if self.standardize or not columns.y_length:
            return
        # Log evidence that a column left out would add, worth a warning.
        lost = np.flatnonzero(checked.gains > 2.0)
        if len(lost):
            names = [str(data.source.terms.items[j]) for j in lost[:5]]
            warn(
                "SEP019",
                f"threshold_lambda={self.threshold_lambda:g} has units, and in those of this table "
                f"it leaves out columns that raise the evidence: {', '.join(names)}"
                f"{' …' if len(lost) > 5 else ''}. Use standardize=True, or a higher threshold.",
            )
        elif checked.residual > 1e-12 and 2.0 * rates.alpha_2 > 1e-2 * checked.residual:
            # Part of the noise that is worth a warning.
            warn(
                "SEP019",
                f"the rate alpha_2={self.alpha_2:g} has units, and in those of this table it is "
                "felt in the noise. Use standardize=True, or alpha_2=0.",
            )

    def _rebuilt(self, block: Block) -> Posterior | None:  # noqa: ARG002
        return self.posterior_

    @property
    @on_one_blas_thread
    def sigma_(self) -> Floats:
        """Covariance matrix of the coefficients of the columns in use."""
        check_is_fitted(self)
        active = np.flatnonzero(np.isfinite(self.lambda_))
        covariance = self._posterior().covariance[np.ix_(active, active)]
        return covariance.astype(self.coef_.dtype, copy=False)


# -------------------------------------------------------------------------------------------------
# Evidence maximized over a precision for every column (automatic relevance determination).
#
#     y = X b + ε,    bⱼ ~ N(0, λⱼ⁻¹),    ε ~ N(0, α⁻¹)
#
#     log p(y | α, λ) as a function of one λ:   ½ [log λ − log(λ + s) + q²/(λ + s)] + const.
#
# Its maximum is s²/(q² − s) where q² > s and infinite otherwise: a column that explains less than
# chance leaves the model (Tipping and Faul, 2003). Columns are changed one at a time, the one with
# the most to gain first, then in turn; the last digits come from Newton's method on all logarithms
# at once. Many columns are searched by working sets: those in the model and those with the most to
# gain, until none outside has any. Gamma hyperpriors add λ₁ log λ − λ₂ λ to every such function.


#: Rounds of sweeps over the columns and Newton's method; sweeps in a round; Newton steps.
ROUNDS, SWEEPS, NEWTON = 12, 30, 25
#: Change of log λ in a sweep below which Newton's method takes over; its last step.
SMALL, TINY = 1e-3, 1e-11
#: A column of which the others leave less than this part is a copy of them.
COPY = 1e-11


@dataclass(frozen=True)
class Relevance:
    """Precisions of noise and columns (infinite: left out), their score, and those on the way."""

    alpha: float
    lam: Floats
    score: float
    history: tuple[tuple[float, Floats], ...]
    steps: int


def maximize_relevance(columns: UnitColumns, rates: Rates) -> Relevance:
    """The best of two searches: from no column at all, and from all of them if they are few."""
    d, copies = len(columns.xy), columns.copies(rates.threshold)
    # the evidence does not say how copies divide a coefficient: the first has all of it
    rates = replace(rates, threshold=np.where(copies, 0.0, rates.threshold))
    alpha = (columns.weight + 2.0 * rates.alpha_1) / (columns.yy + 2.0 * rates.alpha_2)
    # Columns up to which a search has all of them, and starts from all of them, too.
    if columns.gram is None or d > 500:
        return _by_working_sets(columns, rates, alpha)
    starts = [np.full(d, np.inf)]
    if d <= columns.weight:
        starts.append(np.where(copies, np.inf, float(d)))
    searches = [_search(RelevanceState(columns, alpha, lam), rates) for lam in starts]
    return max(searches, key=lambda r: r.score)


def _by_working_sets(columns: UnitColumns, rates: Rates, alpha: float) -> Relevance:
    """Searches over some columns, each from where the last one ended."""
    lam = np.full(len(columns.xy), np.inf)
    relevance, exact = Relevance(alpha, lam, score(columns, rates, alpha, lam), (), 0), False
    for _ in range(60):  # working sets at most
        new = _candidates(columns, rates, relevance)
        if not len(new) and exact:
            break
        exact = not len(new)
        index = np.union1d(np.flatnonzero(np.isfinite(lam)), new)
        start = RelevanceState(columns.subset(index), relevance.alpha, lam[index])
        subset_search = (_search if exact else _approach)(start, rates.subset(index))
        whole = [(alpha, _spread(part, index, len(lam))) for alpha, part in subset_search.history]
        history, steps = (*relevance.history, *whole), relevance.steps + subset_search.steps
        lam = _spread(subset_search.lam, index, len(lam))
        relevance = Relevance(subset_search.alpha, lam, subset_search.score, history, steps)
    return relevance


def _spread(lam: Floats, index: NDArray[np.int64], d: int) -> Floats:
    """Precisions of some columns among those of all."""
    every = np.full(d, np.inf)
    every[index] = lam
    return every


def _candidates(columns: UnitColumns, rates: Rates, relevance: Relevance) -> NDArray[np.int64]:
    """Columns left out that have the most to gain."""
    s, q = columns.strengths(relevance.alpha, relevance.lam)
    gains = np.where(_enters(s, q, rates), _gain(s, q, _precisions(s, q)), 0.0)
    gains[np.isfinite(relevance.lam) | (s <= COPY * relevance.alpha)] = 0.0
    most = np.argsort(-gains, kind="stable")[:100]  # columns that each may add
    # The gain that is worth another working set.
    real = [gains[j] > 1e-9 and choice(s[j], q[j], j, rates) < np.inf for j in most]
    return np.asarray(most[np.array(real, dtype=bool)])


def _approach(state: RelevanceState, rates: Rates, sweeps: int = 4) -> Relevance:
    """Columns with the most to gain, then some sweeps over all, and the noise after each."""
    history = [(state.alpha, state.lam.copy())]
    if np.isinf(state.lam).any():
        _greedy(state, rates)
    for _ in range(sweeps):
        moved = max(_sweep(state, rates), _set_noise(state, rates))
        history.append((state.alpha, state.lam.copy()))
        if moved < SMALL:
            break
    reached = score(state.columns, rates, state.alpha, state.lam)
    return Relevance(state.alpha, state.lam, reached, tuple(history), len(history) - 1)


def _search(state: RelevanceState, rates: Rates) -> Relevance:
    """The same with as many sweeps as it takes, and Newton's method at the end."""
    history, steps = list[tuple[float, Floats]](), 0
    for _ in range(ROUNDS):
        relevance = _approach(state, rates, SWEEPS)
        newton = _newton(state, rates)
        steps += relevance.steps + newton
        history += [*relevance.history, (state.alpha, state.lam.copy())]
        left_out = np.isfinite(state.lam) & (state.lam >= rates.threshold)
        state.lam[left_out] = np.inf
        state.refresh()
        ended = newton < NEWTON and not left_out.any()
        if ended and _sweep(state, rates, change=False) < SMALL:
            break
    reached = score(state.columns, rates, *history[-1])
    return Relevance(state.alpha, state.lam, reached, tuple(history), steps)


# -- one column ----------------------------------------------------------------------------------


def best_precision(s: float, q: float, lambda_1: float, lambda_2: float) -> float:
    """The λ that maximizes the evidence in one column, hyperpriors included; infinite if none does.

    The derivative by log λ, ½ (s/(λ + s) − q²λ/(λ + s)²) + λ₁ − λ₂λ, is positive at 0; its root is
    found by Newton's method in log λ within a bracket.
    """
    gain = q * q - s
    if not lambda_1 and not lambda_2:
        return s * s / gain if gain > 0.0 else np.inf
    low, high = 0.0, (lambda_1 + 0.5) / lambda_2 * 1.01 if lambda_2 else 1e300
    lam = s * s / gain if gain > 0.0 else np.inf
    if not low < lam < high:
        lam = sqrt((lambda_1 + sqrt(max(-0.5 * gain * lambda_2, 0.0))) * high) or 1.0
        lam = min(lam, 0.5 * high)
    for _ in range(200):
        share = s / (lam + s)
        pull = q * q * lam / (lam + s) ** 2
        slope = 0.5 * (share - pull) + lambda_1 - lambda_2 * lam
        if slope > 0.0:
            low = lam
        else:
            high = lam
        bend = -0.5 * share * (1.0 - share) - 0.5 * pull * (2.0 * share - 1.0) - lambda_2 * lam
        step = -slope / bend if bend < 0.0 else (1.0 if slope > 0.0 else -1.0)
        new = lam * exp(max(min(step, 5.0), -5.0))
        if not low < new < high:
            new = sqrt(low * high) if low else 0.01 * high
        if abs(new - lam) <= 1e-13 * lam:
            return new
        lam = new
        if lam > 1e250:
            return np.inf
    return lam


def gain(s: float, q: float, lam: float) -> float:
    """What a column adds to the log evidence at a precision, over leaving it out."""
    return 0.0 if isinf(lam) else 0.5 * (q * q / (lam + s) - log1p(s / lam))


def choice(s: float, q: float, j: int, rates: Rates) -> float:
    """The best precision of column j; infinite where that leaves it out or adds no evidence.

    Without the last condition the hyperpriors would hold useless columns below the threshold.
    """
    if q * q <= s:  # no λ has a gain
        return np.inf
    lam = best_precision(s, q, rates.lambda_1, float(rates.lambda_2[j]))
    return lam if lam < rates.threshold[j] and gain(s, q, lam) > 0.0 else np.inf


def _copies(state: RelevanceState) -> NDArray[np.bool_]:
    """Columns of which the active ones leave nothing but rounding; constant ones too."""
    return np.asarray(state.s <= COPY * state.alpha)


def _greedy(state: RelevanceState, rates: Rates) -> None:
    """Change the column with the most to gain, until little is left; noise now and then."""
    most = 3 * min(len(state.s), int(state.columns.weight)) + 10
    for step in range(most):
        s, q = state.all_own()
        lam = np.where(_enters(s, q, rates), _precisions(s, q), np.inf)
        lam[np.isinf(state.lam) & _copies(state)] = np.inf
        gains = _gain(s, q, lam) - _gain(s, q, state.lam)
        j = int(np.argmax(gains))
        if not gains[j] > 1e-2:
            break
        state.set(j, float(lam[j]))
        if step % 5 == 4:
            _set_noise(state, rates)
    _set_noise(state, rates)


def _enters(s: Floats, q: Floats, rates: Rates) -> NDArray[np.bool_]:
    """Columns whose best precision is below the threshold: where the derivative is negative."""
    at = np.minimum(rates.threshold, 1e300)
    share, pull = s / (at + s), q**2 * (at / (at + s)) / (at + s)
    slope = 0.5 * (share - pull) + rates.lambda_1 - rates.lambda_2 * at
    return np.asarray((q**2 > s) & (at > 0.0) & ((slope < 0.0) | np.isinf(rates.threshold)))


def _precisions(s: Floats, q: Floats) -> Floats:
    """The best precision of every column without hyperpriors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q**2 > s, s**2 / (q**2 - s), np.inf)


def _gain(s: Floats, q: Floats, lam: Floats) -> Floats:
    """The gain of every column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 0.5 * (q**2 / (lam + s) - np.log1p(s / lam))
    return np.where(np.isfinite(lam), gain, 0.0)


def _sweep(state: RelevanceState, rates: Rates, *, change: bool = True) -> float:
    """Every column in turn; returns the largest change of log λ, made or only wished."""
    moved, (s, q) = 0.0, state.all_own()
    for j in np.flatnonzero(np.isfinite(state.lam) | ((q**2 > s) & ~_copies(state))).tolist():
        before = float(state.lam[j])
        lam = choice(*state.own(j), j, rates)
        size = _change(before, lam)
        if change and size > 0.1 * SMALL:
            state.set(j, lam)
        moved = max(moved, size)
    return moved


def _change(before: float, after: float) -> float:
    if isinf(before) or isinf(after):
        return 0.0 if before == after else 1.0
    return abs(log(after / before))


# -- the noise -----------------------------------------------------------------------------------


def _set_noise(state: RelevanceState, rates: Rates) -> float:
    """MacKay's step of the noise precision; S and Q afresh."""
    active = np.flatnonzero(np.isfinite(state.lam))
    fit = Fit.at(state.columns, state.alpha, state.lam, active)
    freedom = state.columns.weight - float((1.0 - state.lam[active] * fit.variances).sum())
    alpha = (freedom + 2.0 * rates.alpha_1) / (fit.residual + 2.0 * rates.alpha_2)
    change = abs(float(np.log(alpha / state.alpha)))
    state.alpha = alpha
    state.refresh()
    return change


# -- all logarithms at once ------------------------------------------------------------------------


def _newton(state: RelevanceState, rates: Rates) -> int:
    """Newton's method in log α and log λ of the active columns; returns the steps taken."""
    columns, active = state.columns, np.flatnonzero(np.isfinite(state.lam))
    fit = Fit.at(columns, state.alpha, state.lam, active)
    value = score(columns, rates, state.alpha, state.lam, fit)
    gradient, hessian = derivatives(columns, rates, state.alpha, state.lam, active, fit)
    for step in range(NEWTON):
        direction = _ascent(gradient, hessian)
        longest = float(np.abs(direction).max(initial=0.0))
        size = min(1.0, 2.0 / max(longest, 1e-300))
        while True:
            alpha = state.alpha * float(np.exp(size * direction[0]))
            lam = state.lam.copy()
            lam[active] *= np.exp(size * direction[1:])
            fit = Fit.at(columns, alpha, lam, active)
            new = score(columns, rates, alpha, lam, fit)
            if longest < SMALL or new >= value - 1e-12 * abs(value):
                break
            size *= 0.5
            if size < 1e-4:
                return step
        largest = np.abs(gradient).max()
        gradient, hessian = derivatives(columns, rates, alpha, lam, active, fit)
        # of the last digits the derivatives tell, and no longer the score
        if longest < SMALL and not np.abs(gradient).max() < largest:
            return step
        state.alpha, state.lam, value = alpha, lam, new
        if size * longest < TINY:
            return step + 1
    return NEWTON


def _ascent(gradient: Floats, hessian: Floats) -> Floats:
    """−H⁻¹g, with curvature made negative where it is not."""
    values, vectors = linalg.eigh(-hessian, check_finite=False)
    floor = 1e-10 * float(np.abs(values).max(initial=0.0)) + 1e-300
    return np.asarray(vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), floor)))


# -------------------------------------------------------------------------------------------------
# What a column would add to the evidence, for all columns at once, updated by rank one.
#
#     C = α⁻¹I + Σ λⱼ⁻¹ xⱼxⱼᵀ,    Sⱼ = xⱼᵀC⁻¹xⱼ,    Qⱼ = xⱼᵀC⁻¹y
#
# A change of λⱼ changes C by a multiple of xⱼxⱼᵀ, so that C⁻¹ changes by a matrix of rank one;
# adding a column (λ from ∞), removing it and changing its precision are the same formula.


@dataclass(frozen=True)
class UnitRows:
    """√w (x − x̄)/ℓ of rows in memory, dense or sparse, and y in the same way."""

    z: Standardized
    root: Floats
    y: Floats

    def columns(self, index: NDArray[np.int64]) -> Floats:
        """Some columns (n x k)."""
        return self.root[:, None] * self.z.columns(index)

    def transposed_times(self, v: Floats) -> Floats:
        """Xᵀ v, for one v or several."""
        return self.z.transposed_times((self.root * v.T).T)


@dataclass(frozen=True)
class UnitColumns:
    """Columns and target of length one, with their lengths; from moments or from rows.

    ``gram`` holds the products of the columns, ``rows`` the columns themselves; one of them may be
    None. A constant column has length 0 and is a column of zeros.
    """

    xy: Floats
    length: Floats
    y_length: float
    weight: float
    gram: Floats | None = None
    rows: UnitRows | None = None

    @classmethod
    def of_moments(cls, m: Moments, columns: ColumnScaling) -> UnitColumns:
        """From moments, centered or about 0."""
        length = np.sqrt(np.maximum(np.diag(m.xx), 0.0)) * (columns.scale > 0.0)
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
        y_length = float(np.sqrt(columns.yy))
        gram = m.xx * np.multiply.outer(unit, unit)
        return cls(unit * m.xy[:, 0] / (y_length or 1.0), length, y_length, m.weight, gram)

    @classmethod
    def of_rows(cls, block: Block, columns: ColumnScaling) -> UnitColumns:
        """From rows in memory."""
        root, x = np.sqrt(block.weights), products(block.x)
        plain = Standardized(x, columns.mean, np.ones_like(columns.mean))
        length = np.sqrt(plain.weighted_squares(root**2)) * (columns.scale > 0.0)
        with np.errstate(divide="ignore"):
            divisor = np.where(length > 0.0, length, np.inf)
        y_length = float(np.sqrt(columns.yy))
        y = root * (block.y[:, 0] - columns.y_mean) / (y_length or 1.0)
        rows = UnitRows(Standardized(x, columns.mean, divisor), root, y if y_length else 0.0 * y)
        xy = rows.transposed_times(rows.y)
        return cls(xy, length, y_length, columns.weight, None, rows)

    def subset(self, index: NDArray[np.int64]) -> UnitColumns:
        """Some of the columns, with their products."""
        gram, xy = self.products(index)
        rows, targets = self.rows, (self.length[index], self.y_length, self.weight)
        if rows is not None:
            z = Standardized(products(rows.columns(index)), np.zeros(len(xy)), np.ones(len(xy)))
            rows = UnitRows(z, np.ones(len(rows.y)), rows.y)
        return UnitColumns(xy, *targets, gram, rows)

    def strengths(self, alpha: float, lam: Floats) -> tuple[Floats, Floats]:
        """S and Q of all columns: α XᵀX − α² XᵀX_A Σ X_AᵀX on the diagonal, and likewise Xᵀy."""
        active = np.flatnonzero(np.isfinite(lam))
        gram, xy = self.products(active)
        half = half_inverse(gram, alpha, lam[active])
        s, q = alpha * (self.length > 0.0), alpha * self.xy
        some = 32  # directions whose products with all columns are held at a time
        if self.rows is not None:
            scaled_columns = self.rows.columns(active) @ (alpha * half)
            for start in range(0, len(active), some):
                inner = self.rows.transposed_times(scaled_columns[:, start : start + some])
                s -= np.einsum("ij,ij->i", inner, inner)
            return np.maximum(s, 0.0), q - self.rows.transposed_times(
                scaled_columns @ (alpha * (half.T @ xy))
            )
        assert self.gram is not None
        inner = self.gram[:, active] @ (alpha * half)
        s -= np.einsum("ij,ij->i", inner, inner)
        return np.maximum(s, 0.0), q - inner @ (alpha * (half.T @ xy))

    @property
    def yy(self) -> float:
        """‖y‖²: 1, or 0 for a constant target."""
        return 1.0 if self.y_length else 0.0

    @property
    def units(self) -> Floats:
        """ℓⱼ²/ℓ²: precisions in the units of the table from those of columns of length one."""
        length = np.where(self.length > 0.0, self.length, 1.0)
        return np.asarray((length / (self.y_length or 1.0)) ** 2)

    def products(self, active: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """XᵀX and Xᵀy of some columns."""
        if self.gram is not None:
            if len(active) == len(self.gram):
                return self.gram, self.xy
            return self.gram[np.ix_(active, active)], self.xy[active]
        assert self.rows is not None
        active_columns = self.rows.columns(active)
        return active_columns.T @ active_columns, self.xy[active]

    def copies(self, threshold: Floats) -> NDArray[np.bool_]:
        """Columns that equal another but for sign and units, which is earlier or less limited."""
        rng = np.random.default_rng(0)
        if self.rows is not None:
            keys = self.rows.transposed_times(rng.standard_normal(len(self.rows.y)))
        else:
            assert self.gram is not None
            keys = self.gram @ rng.standard_normal(len(self.gram))
        is_copy = np.zeros(len(keys), dtype=bool)
        order = np.argsort(np.abs(keys), kind="stable")
        equal = 1e-12  # difference of columns of length one that counts as none
        close = np.diff(np.abs(keys)[order]) <= equal * np.abs(keys).max(initial=0.0)
        for i in np.flatnonzero(close):
            first, second = sorted((int(order[i]), int(order[i + 1])))
            if threshold[first] < (1.0 - equal) * threshold[second]:
                first, second = second, first
            gram, _ = self.products(np.array([first, second]))
            if abs(gram[0, 1]) >= (1.0 - equal) * min(gram[0, 0], gram[1, 1]) > 0.0:
                is_copy[second] = True
        return is_copy

    def residual(self, active: NDArray[np.int64], mean: Floats) -> float:
        """‖y − Xb‖² for coefficients of some columns."""
        if self.rows is not None:
            left = self.rows.y - self.rows.columns(active) @ mean
            return float(left @ left)
        gram, xy = self.products(active)
        return max(self.yy - 2.0 * float(mean @ xy) + float(mean @ gram @ mean), 0.0)


class RelevanceState:
    """S and Q of columns at some precisions (infinite for columns left out), with XᵀC⁻¹X."""

    def __init__(self, columns: UnitColumns, alpha: float, lam: Floats) -> None:
        self.columns, self.alpha, self.lam = columns, alpha, lam.copy()
        self.refresh()

    def refresh(self) -> None:
        """α G − α² G_A Σ G_Aᵀ, computed afresh."""
        columns, active = self.columns, np.flatnonzero(np.isfinite(self.lam))
        assert columns.gram is not None
        gram, xy = columns.products(active)
        half = half_inverse(gram, self.alpha, self.lam[active])
        across = self.alpha * (columns.gram[:, active] @ half)
        self.matrix = self.alpha * columns.gram - across @ across.T
        self.q = self.alpha * columns.xy - across @ (self.alpha * (half.T @ xy))
        self.s = np.maximum(np.diag(self.matrix), 0.0)

    def own(self, j: int) -> tuple[float, float]:
        """s and q of one column: those of C without it."""
        s, q, lam = float(self.s[j]), float(self.q[j]), float(self.lam[j])
        if not np.isfinite(lam):
            return max(s, 0.0), q
        left = max(lam - s, np.finfo(float).eps * lam)
        return max(lam * s / left, 0.0), lam * q / left

    def all_own(self) -> tuple[Floats, Floats]:
        """The same of all columns."""
        finite = np.isfinite(self.lam)
        lam = np.where(finite, self.lam, 1.0)
        left = np.maximum(lam - self.s, np.finfo(float).eps * lam)
        factor = np.where(finite, lam / left, 1.0)
        return np.maximum(factor * self.s, 0.0), factor * self.q

    def set(self, j: int, lam: float) -> None:
        """Change the precision of one column."""
        step = 1.0 / lam - 1.0 / float(self.lam[j])
        row, q = self.matrix[j].copy(), float(self.q[j])
        factor = step / (1.0 + step * float(self.s[j]))
        self.matrix -= np.multiply.outer(factor * row, row)
        self.q -= (factor * q) * row
        self.s -= factor * row**2
        self.lam[j] = lam


def half_inverse(gram: Floats, alpha: float, lam: Floats) -> Floats:
    """H with HHᵀ = (α G + Λ)⁻¹, by a factor of unit diagonal."""
    n = len(lam)
    matrix = alpha * gram
    matrix.flat[:: n + 1] += lam
    unit = 1.0 / np.sqrt(matrix.diagonal())
    matrix *= np.multiply.outer(unit, unit)
    if not n:
        return matrix
    # LAPACK itself: of few columns the checks of a wrapper take longer
    factor, failed = linalg.lapack.dpotrf(matrix, lower=1)
    if failed:  # columns that are copies but for rounding
        values, vectors = linalg.eigh(matrix, check_finite=False)
        floor = n * np.finfo(float).eps
        return np.asarray(unit[:, None] * vectors / np.sqrt(np.maximum(values, floor)))
    inverse, _ = linalg.lapack.dtrtri(factor, lower=1)
    return np.asarray((inverse * unit).T)


# -------------------------------------------------------------------------------------------------
# Evidence at given precisions of noise and columns, with its derivatives in their logarithms.


@dataclass(frozen=True)
class Rates:
    """Hyperpriors for columns and target of length one: rates by column, shapes, and a threshold.

    A column whose precision reaches its ``threshold`` is left out.
    """

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: Floats
    threshold: Floats

    def subset(self, index: NDArray[np.int64]) -> Rates:
        """Those of some columns."""
        return replace(self, lambda_2=self.lambda_2[index], threshold=self.threshold[index])


@dataclass(frozen=True)
class Fit:
    """Posterior of the active columns: mean, a root H of Σ = HHᵀ, its diagonal, ‖y − Xb‖²."""

    mean: Floats
    half: Floats
    residual: float

    @classmethod
    def at(cls, columns: UnitColumns, alpha: float, lam: Floats, active: NDArray[np.int64]) -> Fit:
        """At precisions of noise and columns."""
        gram, xy = columns.products(active)
        half = half_inverse(gram, alpha, lam[active])
        mean = alpha * (half @ (half.T @ xy))
        return cls(mean, half, columns.residual(active, mean))

    @property
    def variances(self) -> Floats:
        """The diagonal of Σ."""
        return np.asarray(np.einsum("ij,ij->i", self.half, self.half))


def score(
    columns: UnitColumns, rates: Rates, alpha: float, lam: Floats, fit: Fit | None = None
) -> float:
    """Log evidence plus log hyperpriors of the noise and of the columns that are not left out."""
    active = np.flatnonzero(np.isfinite(lam))
    penalties = lam[active]
    evidence = log_evidence_at(columns, alpha, lam, fit)
    evidence += rates.alpha_1 * float(np.log(alpha)) - rates.alpha_2 * alpha
    return evidence + float(
        (rates.lambda_1 * np.log(penalties) - rates.lambda_2[active] * penalties).sum()
    )


def log_evidence_at(
    columns: UnitColumns, alpha: float, lam: Floats, fit: Fit | None = None
) -> float:
    """log N(y; 0, C) of the target of length one; ``fit`` is the posterior, where it is known."""
    active = np.flatnonzero(np.isfinite(lam))
    fit = Fit.at(columns, alpha, lam, active) if fit is None else fit
    penalties, (gram, _) = lam[active], columns.products(active)
    scaled = alpha * gram / np.sqrt(np.multiply.outer(penalties, penalties))
    scaled.flat[:: len(scaled) + 1] += 1.0
    determinant = float(np.linalg.slogdet(scaled)[1])
    energy = alpha * fit.residual + float(penalties @ fit.mean**2)
    return 0.5 * (columns.weight * float(np.log(alpha / (2 * np.pi))) - determinant - energy)


def derivatives(
    columns: UnitColumns,
    rates: Rates,
    alpha: float,
    lam: Floats,
    active: NDArray[np.int64],
    fit: Fit | None = None,
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the score in (log α, log λ of the active columns)."""
    fit = Fit.at(columns, alpha, lam, active) if fit is None else fit
    penalties = lam[active]
    mean, sigma = fit.mean, fit.half @ fit.half.T
    freedom, pull = 1.0 - penalties * fit.variances, penalties * mean**2
    weighted = penalties[:, None] * sigma * penalties
    inward = sigma @ (penalties * mean)  # ΣΛμ
    by_noise = penalties * (fit.variances - (sigma**2) @ penalties)  # ∂γ/∂log α
    gradient = np.empty(len(active) + 1)
    gradient[1:] = rates.lambda_1 - rates.lambda_2[active] * penalties + 0.5 * (freedom - pull)
    gradient[0] = rates.alpha_1 - rates.alpha_2 * alpha
    gradient[0] += 0.5 * (columns.weight - freedom.sum() - alpha * fit.residual)
    hessian = np.empty((len(gradient), len(gradient)))
    hessian[1:, 1:] = 0.5 * weighted * sigma + weighted * np.multiply.outer(mean, mean)
    diagonal = rates.lambda_2[active] * penalties + 0.5 * (penalties * fit.variances + pull)
    hessian[1:, 1:][np.diag_indices(len(active))] -= diagonal
    hessian[0, 1:] = hessian[1:, 0] = 0.5 * by_noise - penalties * mean * inward
    hessian[0, 0] = -rates.alpha_2 * alpha
    hessian[0, 0] -= 0.5 * (by_noise.sum() + alpha * fit.residual)
    hessian[0, 0] += float((penalties * mean) @ inward)
    return gradient, hessian


# -------------------------------------------------------------------------------------------------
# Certificate of automatic relevance determination: derivatives in all log precisions.
#
#     ∂/∂log λⱼ = λ₁ − λ₂ λⱼ + ½ (1 − λⱼ Σⱼⱼ − λⱼ bⱼ²)        of a column in use
#     no λⱼ below the threshold raises the evidence            of a column left out
#
# From the products of the columns in the units of the table and a factor made for this alone.


@dataclass(frozen=True)
class Checked:
    """The certificate, ‖y − Xb‖² in units of ‖y‖², and what columns left out would gain."""

    certificate: Certificate
    residual: float
    gains: Floats


def certify_relevance(
    columns: UnitColumns, rates: Rates, alpha: float, lam: Floats, coef: Floats
) -> Checked:
    """At precisions and coefficients of columns of length one."""
    active = np.flatnonzero(np.isfinite(lam))
    gram, _ = columns.products(active)
    penalties, b = lam[active], coef[active]
    matrix = alpha * gram + np.diag(penalties)
    unit = 1.0 / np.sqrt(np.diag(matrix))
    values, vectors = linalg.eigh(matrix * np.multiply.outer(unit, unit), check_finite=False)
    least = max(float(values.min(initial=1.0)), len(values) * np.finfo(float).eps)
    half = unit[:, None] * vectors / np.sqrt(np.maximum(values, least))
    variances = (half**2).sum(axis=1)
    residual = columns.residual(active, b)
    slopes = (
        rates.lambda_1
        - rates.lambda_2[active] * penalties
        + 0.5 * (1 - penalties * variances - penalties * b**2)
    )
    freedom = float((1.0 - penalties * variances).sum())
    of_noise = rates.alpha_1 - rates.alpha_2 * alpha
    of_noise += 0.5 * (columns.weight - freedom - alpha * residual)
    gains, outside = _left_out(columns, rates, alpha, lam, active, half)
    worst = float(np.max(np.abs(slopes), initial=0.0))
    certificate = Certificate(
        claim="No other precision of noise or column near these has a higher evidence",
        primal=0.5 * (alpha * residual + float(penalties @ b**2)),
        kkt=max(abs(of_noise) / (0.5 * columns.weight), worst, outside),
        tolerance=TOLERANCE,
        rank=len(active),
        digits=digits(float(values.max(initial=1.0)) / least),
        statistic="moments" if columns.rows is None else "the rows",
        notes=(
            f"Derivatives of the log evidence: {of_noise:.1e} by log α, {worst:.1e} at most by log "
            f"λ; {len(lam) - len(active)} of {len(lam)} columns are left out.",
        ),
        promised=("kkt",),
    )
    return Checked(certificate, residual, gains)


def _left_out(
    columns: UnitColumns,
    rates: Rates,
    alpha: float,
    lam: Floats,
    active: NDArray[np.int64],
    half: Floats,
) -> tuple[Floats, float]:
    """What each column left out would add to the evidence, and the most that is allowed to."""
    out = np.flatnonzero(np.isinf(lam))
    gains = np.zeros(len(lam))
    if not len(out):
        return gains, 0.0
    across = _against(columns, out, active)
    inner = alpha * (across @ half)
    present = columns.length[out] > 0.0
    s = alpha * present - np.einsum("ij,ij->i", inner, inner)
    q = alpha * (columns.xy[out] - inner @ (half.T @ columns.xy[active]))
    # A column of which the others leave less than this part is a copy of them.
    real = present & (s > 1e-10 * alpha)
    worst = 0.0
    for j, strength, pull in zip(out[real], s[real].tolist(), q[real].tolist(), strict=True):
        if pull * pull > strength:
            gains[j] = gain(strength, pull, strength * strength / (pull * pull - strength))
            worst = max(worst, gain(strength, pull, choice(strength, pull, int(j), rates)))
    return gains, worst


def _against(columns: UnitColumns, out: NDArray[np.int64], active: NDArray[np.int64]) -> Floats:
    """Products of the columns left out with those in use."""
    if columns.gram is not None:
        return columns.gram[np.ix_(out, active)]
    assert columns.rows is not None
    return columns.rows.transposed_times(columns.rows.columns(active))[out]
