"""Additive classification: smooth curves of the log odds, their smoothness by evidence."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.additive.likelihood import AdditiveLikelihoodModel
from separatrix.arrays import Floats
from separatrix.estimators import class_labels
from separatrix.estimators.base import reads_tables
from separatrix.estimators.linear_classifier import LogisticScores
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.optimize.likelihoods import ClassLikelihood
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import to_array


@declare_parameters
class AdditiveClassifier(LogisticScores, AdditiveLikelihoodModel):
    """Additive logistic regression: log odds are a sum of smooth curves, one for each column.

        log p(1 | x) / p(0 | x) = f(x) = b₀ + Σ_j f_j(x_j) + Σ_jk f_jk(x_j, x_k)
        min of Σ w log(1 + exp(∓f(x))) + ½ Σ_j (λ_j ‖line_j‖² + μ_j ‖curve_j‖²)

    Curves and surfaces are those of :class:`AdditiveRegressor`. Several classes have a function
    each, p(k | x) ∝ exp f_k(x). All penalties maximize Laplace's approximation of the evidence, its
    weights as they are at the solution; of several classes, that of each given the functions of
    the others. A curve that the evidence does not bend is a line, one that it does not need is left
    out.

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
        Column → +1 for a curve that must not fall, −1 for one that must not rise: of the log odds
        of the second of two classes.
    class_weight : dict, "balanced" or None, default=None
    max_iter : int, default=100
        Rounds of the search for the penalties, at most; ten to twenty are usual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    terms_ : tuple of AdditiveTerm
        Curves and surfaces, of the second of two classes or of each: basis, coefficients, degrees
        of freedom, tests. Those of several classes take the functions of the others as they are.
    intercept_ : float or ndarray of shape (n_classes,)
        Constants, about which all curves vary.
    effective_degrees_of_freedom_ : float
        Those of the whole fit, constants included.
    log_evidence_ : float
        Laplace's approximation, up to a constant of the design.
    certificate_ : Certificate
        Duality gap and KKT residual of the coefficients given their penalties.
    n_iter_ : int
        Rounds of the search for the penalties.

    See Also
    --------
    AdditiveRegressor : The same for numbers.
    AdditivePoissonRegressor : The same for counts.
    LogisticRegression : Lines in place of curves.
    KernelLogisticRegression : Interactions of any order.

    References
    ----------
    T. J. Hastie and R. J. Tibshirani, Generalized additive models, 1990. S. N. Wood, Y. Goude and
    S. Shaw, Generalized additive models for large data sets, Journal of the Royal Statistical
    Society C 64, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (500, 3))
    >>> y = rng.uniform(size=500) < 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) - X[:, 1]))
    >>> model = sx.AdditiveClassifier().fit(X, y)
    >>> [round(float(term.freedom[0])) for term in model.terms_]
    [7, 1, 2]
    >>> model.predict_proba([[0.8, 1.0, 0.0]]).round(1).tolist(), model.certificate_.holds
    ([[0.0, 1.0]], True)
    """

    intercept_: Any = field(init=False)

    _: KW_ONLY
    n_knots: int = 16
    interactions: Any = 0
    monotone: Any = None
    class_weight: Any = None
    max_iter: int = 100

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_options()
        coded = class_labels.coded_rows(self, X, y, sample_weight, self.class_weight)
        self.encoding_ = coded.encoding
        hot = np.eye(len(self.classes_))[coded.codes]
        if len(self.classes_) == 2:
            hot = hot[:, 1:]
        elif self.monotone:
            raise InputError(
                f"monotone={self.monotone!r} with {len(self.classes_)} classes: a probability that "
                "rises makes others fall.",
                remedy="Leave monotone out, or fit one class against the rest.",
            )
        x = np.asarray(to_array(coded.x), dtype=float)
        fit = self._maximize(x, ClassLikelihood(hot, coded.w), coded.w, noise=1.0)
        self.intercept_ = float(fit.constants[0]) if hot.shape[1] == 1 else fit.constants
        self.log_evidence_ = fit.log_evidence
        return self

    _claim = "Penalized log likelihood of smooth curves, given their penalties"

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "terms_")
        return self._add_terms(np.asarray(to_array(self._design(X)), dtype=float))

    @property
    def _scores_formula(self) -> nodes.Node:
        return self._sum_node(nodes.score_names(self.classes_))

    def _output(self, label: Any) -> int:
        if len(self.classes_) == 2:
            return super()._output(label)
        known = self.classes_.tolist()
        if label not in known:
            raise InputError(
                f"output={label!r} is not one of the classes {known[:12]}.",
                remedy="Name the class whose curve it is.",
            )
        return int(known.index(label))

    def _labelled_terms(self) -> list[str]:
        labels = self.classes_.tolist()
        if len(labels) == 2:
            return super()._labelled_terms()
        return [f"{term.name}, {label}" for term in self.terms_ for label in labels]
