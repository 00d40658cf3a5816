"""Automatic relevance determination: a precision for every column, learned by evidence."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.linear.base import BayesianLinearModel
from separatrix.bayes.linear.parameters import hyperprior_of
from separatrix.bayes.linear.posterior import Posterior
from separatrix.bayes.linear.relevance import Relevance, maximize_relevance
from separatrix.bayes.linear.relevance_certificate import Checked, certify_relevance
from separatrix.bayes.linear.relevance_fit import Fit, Rates, log_evidence_at
from separatrix.bayes.linear.relevance_state import UnitColumns
from separatrix.bayes.linear.spectrum import Columns
from separatrix.estimators.additive import TrainingData
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.threads import on_one_blas_thread

#: Log evidence that a column left out would add, and part of the noise, worth a warning.
GAIN, FELT = 2.0, 1e-2


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
        Accepted for compatibility with scikit-learn; it has no effect.
    tol : float, default=1e-3
        Accepted for compatibility with scikit-learn; the maximum is found to rounding.
    alpha_1 : float, default=1e-6
        Shape of the Gamma density of α.
    alpha_2 : float, default=1e-6
        Rate of the Gamma density of α, in squared units of the target.
    lambda_1 : float, default=1e-6
        Shape of the Gamma density of every λ.
    lambda_2 : float, default=1e-6
        Rate of the Gamma density of every λ, in squared units of the coefficients.
    compute_score : bool, default=False
        Whether ``scores_`` are stored.
    threshold_lambda : float, default=1e4
        A column whose precision reaches this is left out; in the units of the table.
    fit_intercept : bool, default=True
        Whether the model has an intercept a.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    verbose : bool, default=False
        Accepted for compatibility with scikit-learn; it has no effect.
    standardize : bool, default=False
        Whether rates and threshold are those of standardized columns and target: then nothing
        depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Posterior mean of the coefficients b, zero for columns left out.
    intercept_ : float
        Intercept a.
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
        R² of the posterior mean on the training rows.
    n_rows_ : float
        Number of rows, the sum of their weights.
    posterior_ : Posterior
        The posterior as a factor.
    X_offset_ : ndarray of shape (d,)
        Means of the columns, or zeros without an intercept.
    X_scale_ : ndarray of shape (d,)
        Ones.
    certificate_ : Certificate
        Derivatives of the evidence at the precisions, computed by separate code.
    moments_ : Moments or None
        Moments of the training rows, to which ``partial_fit`` adds.

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

    def __init__(
        self,
        *,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        compute_score: bool = False,
        threshold_lambda: float = 1e4,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: bool = False,
        standardize: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.compute_score = compute_score
        self.threshold_lambda = threshold_lambda
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose
        self.standardize = standardize

    def _infer(self, data: TrainingData) -> Solution:
        source = data.block or data.source
        plain = Columns.of(source, fit_intercept=bool(self.fit_intercept), standardize=False)
        if data.block is not None:
            columns = UnitColumns.of_rows(data.block, plain)
        else:
            assert data.moments is not None
            m = data.moments if self.fit_intercept else data.moments.about_origin()
            columns = UnitColumns.of_moments(m, plain)
        rates = self._rates(columns)
        found = maximize_relevance(columns, rates)
        active = np.flatnonzero(np.isfinite(found.lam))
        fit = Fit.at(columns, found.alpha, found.lam, active)
        unit_coef = np.zeros(len(found.lam))
        unit_coef[active] = fit.mean
        checked = certify_relevance(columns, rates, found.alpha, found.lam, unit_coef)
        self._expose(columns, found)
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
            coef[:, None], np.array([intercept]), checked.certificate, iterations=found.steps
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

    def _expose(self, columns: UnitColumns, found: Relevance) -> None:
        """Precisions, evidence and scores in the units of the table."""
        length = columns.y_length or 1.0
        change = -columns.weight * float(np.log(length))
        self.alpha_ = found.alpha / length**2
        self.lambda_ = found.lam * columns.units
        self.log_evidence_ = log_evidence_at(columns, found.alpha, found.lam) + change
        self.scores_ = np.array(found.history if self.compute_score else ()) + change

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
        lost = np.flatnonzero(checked.gains > GAIN)
        if len(lost):
            names = [str(data.source.terms.items[j]) for j in lost[:5]]
            warn(
                "SEP019",
                f"threshold_lambda={self.threshold_lambda:g} has units, and in those of this table "
                f"it leaves out columns that raise the evidence: {', '.join(names)}"
                f"{' …' if len(lost) > 5 else ''}. Use standardize=True, or a higher threshold.",
            )
        elif checked.residual > 1e-12 and 2.0 * rates.alpha_2 > FELT * checked.residual:
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
        found = self._posterior().covariance[np.ix_(active, active)]
        return found.astype(self.coef_.dtype, copy=False)
