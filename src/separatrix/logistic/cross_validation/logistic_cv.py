"""Logistic regression with the penalty chosen by folds, along the regularization path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.logistic.fit import solve_logistic, starting_point
from separatrix.logistic.logistic_path import LogisticPathBase
from separatrix.logistic.path import PathPoints, losses_of_folds
from separatrix.logistic.problem import LogisticOptions
from separatrix.logistic.tuning import coefficient_path, grid_of_penalties, tune_ridge
from separatrix.messages import check_option
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.selection import rules
from separatrix.selection.folds import folding
from separatrix.selection.tuning import Tuning, TuningData


class LogisticCV(LogisticPathBase):
    """Logistic regression with C chosen by cross-validated log loss along the path.

        C = argmin mean over folds of −(1/n) Σ log p(y | x)      over the test rows of each fold

    A table that is read as a stream is read into memory first, since folds name its rows.

    Parameters
    ----------
    Cs : int or array-like, default=20
        Values of C, or how many, as in :class:`LogisticPath`.
    l1_ratio : float, default=0.0
        ρ, the fraction of the ℓ₁ part: 0 is ridge, 1 is lasso.
    eps : float, default=1e-4
        The first C as a fraction of the last.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn; a number makes stratified ones. None is 5, or as many as the
        rarest class has rows, but 2 at least.
    rule : {"min", "one_se", "elbow"}, default="min"
        Take the C of the smallest mean log loss, or the smallest C whose mean log loss is within
        one standard error of it: that of its mean, or of the differences from it ("elbow").
    fit_intercept : bool, default=True
        Whether scores have an intercept, which is never penalized.
    standardize : bool, default=False
        Apply the penalty to standardized columns, so that the fit does not depend on units.
    reference : label or None, default=None
        With more than two classes, the class whose scores are zero.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply the sample weights.
    tol : float, default=1e-6
        Tolerance at each point, as in :class:`LogisticRegression`.
    max_iter : int, default=200
        Passes over the rows at most, at each point.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    log_loss_path_ : ndarray of shape (n_points, n_folds)
        Mean log loss of the test rows for every C and fold.
    Cs_ : ndarray of shape (n_points,)
        Values of C, strongest penalty first.
    coefs_ : ndarray of shape (n_points, 1 or n_classes, n_features)
        Coefficients along the path over all rows.
    intercepts_ : ndarray of shape (n_points, 1 or n_classes)
        Intercepts along the path over all rows.
    gaps_ : ndarray of shape (n_points,)
        Duality gap of every point.
    degrees_of_freedom_ : ndarray of shape (n_points,)
        Effective number of coefficients.
    log_likelihoods_ : ndarray of shape (n_points,)
        Log-likelihood of all rows along the path.
    weight_ : float
        Sum of the weights of the rows.
    C_ : float
        The chosen C.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients at the chosen C, fitted to all rows.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts at the chosen C.
    certificate_ : Certificate
        That of the chosen point.
    n_iter_ : int
        Passes over the rows for the chosen point.

    See Also
    --------
    LogisticPath : C by an information criterion.
    LogisticRegression : One value of C.
    LassoCV : The same for least squares.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X[:, 0] + rng.logistic(size=100) > 0
    >>> model = sx.LogisticCV(5, cv=3).fit(X, y)
    >>> model.log_loss_path_.shape, bool(model.C_ in model.Cs_)
    ((5, 3), True)
    """

    def __init__(
        self,
        Cs: Any = 20,
        *,
        l1_ratio: float = 0.0,
        eps: float = 1e-4,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        standardize: bool = False,
        reference: Any = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.Cs = Cs
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.reference = reference
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def tune(self, data: TuningData) -> Tuning:
        """Compare values of C on the folds of ``data``, by ridge penalties only.

        Paths are solved to about four digits of the loss, and end where it has clearly risen.
        Standardized columns are standardized over all rows, as in a fit to all of them.
        """
        Cs = rules.number_or_values("Cs", self.Cs, "Give a list of values, or their number.")
        points = Cs if isinstance(Cs, int) else len(Cs)
        folds = self._ridge_folds(data, 1.0, points)
        if isinstance(Cs, int):
            Cs = grid_of_penalties(folds.rows, Cs, float(self.eps))
        return tune_ridge(folds, Cs, data.loss)

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the C that was chosen; there is a path for two classes only."""
        self.C_ = float(tuning.parameters["C"])
        self.Cs_ = np.array([point["C"] for point in tuning.grid])
        self.log_loss_path_ = tuning.losses
        options = replace(self._options(self.C_), tol=min(float(self.tol), 1e-8))
        table = self._weighted_rows(rows, None, None).read()
        data, targets = self._read(table, options)
        start = starting_point(data, targets, options)
        two = len(self.classes_) == 2
        # of more classes the path is not shown: a few points lead to the chosen one
        Cs = self.Cs_ if two else self.C_ * np.array([0.01, 0.1, 1.0])
        coefs, intercepts = coefficient_path(data.rows.collect(), targets, Cs, options)
        if two:
            self.coefs_, self.intercepts_ = coefs, intercepts
        at = int(np.argmin(np.abs(Cs - self.C_)))
        near = start.problem.rescale(coefs[at].T, intercepts[at])
        near = start.theta if near is None else near
        self._store(solve_logistic(start.problem, near, options, start.priors), data.encoding)
        return self

    def _path_rows(self, rows: Rows) -> InMemory:
        check_option("rule", self.rule, rules.RULES)
        table = rows.read()
        return table.take(folding(table.block.w, self.cv))

    def _best(self, path: PathPoints, rows: Rows, targets: Terms, options: LogisticOptions) -> int:
        assert isinstance(rows, InMemory)
        losses = losses_of_folds(rows, targets, self.cv, self.classes_, path.Cs, options)
        self.log_loss_path_ = np.stack(losses, axis=1)
        return rules.RULES[self.rule](1.0 / path.Cs, self.log_loss_path_)
