"""Additive regression of counts: smooth curves of the logarithm of the mean."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.additive.likelihood import AdditiveLikelihoodModel
from separatrix.arrays import Floats
from separatrix.estimators.base import one_number, reads_tables
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.mixins import RegressorMixin
from separatrix.optimize.likelihoods import (
    LARGEST_EXPONENT,
    CountLikelihood,
    refuse_negative_counts,
    refuse_no_events,
)
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import to_array
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread


@declare_parameters
class AdditivePoissonRegressor(RegressorMixin, AdditiveLikelihoodModel):
    """Additive regression of counts: the logarithm of the mean is a sum of smooth curves.

        E y = μ(x) = exp f(x),      f(x) = b₀ + Σ_j f_j(x_j) + Σ_jk f_jk(x_j, x_k)
        min of Σ w (μ − y + y log(y/μ)) / ȳ + ½ Σ_j (λ_j ‖line_j‖² + μ_j ‖curve_j‖²)

    The loss is half the Poisson deviance in units of the mean count ȳ. Any numbers that are not
    negative may be counts; rates are counts over an exposure, with the exposure as weight. Curves
    and surfaces are those of :class:`AdditiveRegressor`. The variance of a count is φ μ, and the
    dispersion φ is learned: events that come in groups vary more than independent ones (φ = 1).

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
        Rounds of the search for the penalties, at most; ten to twenty are usual.

    Attributes
    ----------
    terms_ : tuple of AdditiveTerm
        Curves and surfaces of log μ: basis, coefficients, degrees of freedom, tests.
    intercept_ : float
        The constant, about which all curves vary.
    dispersion_ : float
        φ.
    effective_degrees_of_freedom_ : float
        Those of the whole fit, the constant included.
    certificate_ : Certificate
        Duality gap and KKT residual of the coefficients given their penalties.
    n_iter_ : int
        Rounds of the search for the penalties.

    See Also
    --------
    AdditiveRegressor : The same for numbers of any sign.
    LogTargetRegressor : Fits the logarithm of a target by another model.

    References
    ----------
    T. J. Hastie and R. J. Tibshirani, Generalized additive models, 1990. P. McCullagh and J. A.
    Nelder, Generalized linear models, 2nd edition, 1989.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (500, 2))
    >>> y = rng.poisson(np.exp(1 + np.sin(2 * X[:, 0])))
    >>> model = sx.AdditivePoissonRegressor().fit(X, y)
    >>> [round(float(term.freedom[0])) for term in model.terms_]
    [8, 0]
    >>> round(model.dispersion_, 1), model.certificate_.holds
    (0.9, True)
    """

    intercept_: float = field(init=False)

    _: KW_ONLY
    n_knots: int = 16
    interactions: Any = 0
    monotone: Any = None
    max_iter: int = 100

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and counts ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_options()
        prepared = prepare(self._training_rows(X, y, sample_weight))
        one_number(prepared.targets)
        block = prepared.rows.collect()
        there = block.weights > 0.0
        if not there.any():
            raise InputError("There are no rows to fit.", remedy="Give rows of positive weight.")
        counts = np.asarray(block.y[there], dtype=float)
        refuse_negative_counts(counts)
        refuse_no_events(float(counts.sum()))
        self.encoding_ = prepared.encoding
        x = np.asarray(block.dense(0, block.n), dtype=float)
        x = x if there.all() else x[there]
        w = np.asarray(block.weights[there], dtype=float)
        mean = float(w @ counts[:, 0]) / float(w.sum())
        fit = self._maximize(x, CountLikelihood(counts, w / mean), w, noise=None)
        self.intercept_ = float(fit.constants[0])
        self.dispersion_ = fit.noise * mean
        return self

    _claim = "Penalized Poisson deviance of smooth curves, given their penalties"

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The expected count of every row, exp f(x)."""
        check_is_fitted(self, "terms_")
        x = np.asarray(to_array(self._design(X)), dtype=float)
        return np.asarray(np.exp(np.minimum(self._add_terms(x)[:, 0], LARGEST_EXPONENT)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def formula(self) -> nodes.NumberFormula:
        """The exponential of the constant and the piecewise polynomials of the columns."""
        mean = nodes.Elementwise(self._sum_node(), "bounded_exp")
        return nodes.regression(mean, self, flat=True)
