"""Ridge regression with the penalty of the best score on rows left out."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import TrainingData, needs_rows
from separatrix.linear.ridge.implicit import by_products
from separatrix.linear.ridge.ridge import solve_ridge
from separatrix.linear.ridge.ridge_path import RidgePathBase, refuse_without_spectrum
from separatrix.linear.ridge.spectrum import RidgeTrace, Spectrum
from separatrix.linear.ridge.validation import (
    FROM_SQUARES,
    FixedRegressor,
    FoldErrors,
    fold_errors,
    fold_scores,
    leave_one_out_errors,
    left_out_residuals,
    wide_fold_errors,
)
from separatrix.messages import InputError, check_option, warn_as
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.selection import rules
from separatrix.selection.routing import fold_router, named_folds, routed
from separatrix.statistics.moments import Moments


class RidgeCV(RidgePathBase):
    """Ridge regression with the penalty of the best cross-validated score.

        min over b, a of Σ w (y − a − b·x)² + α ‖b‖²,      α selected on rows left out

    Parameters
    ----------
    alphas : float, array or None, default=(0.1, 1.0, 10.0)
        Penalties; None places 100 on a log scale that spans the eigenvalues of XᵀX, which suits
        every table.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    scoring : str, callable or None, default=None
        The score, as in scikit-learn. None is minus the squared error of rows left out one by
        one; with folds it is R², or minus the squared error where the target of a fold is
        constant.
    cv : None, int, splitter or iterable of (train, test), default=None
        None is leave-one-out in closed form; otherwise folds, whose moments come from one pass
        over the rows. Rows that are copies are left out together, as are the w equal rows that
        a row of weight w stands for.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    store_cv_results : bool, default=False
        Whether to store ``cv_results_`` (leave-one-out only).
    alpha_per_target : bool, default=False
        Whether every target has its own penalty (leave-one-out only).
    rule : {"min", "one_se", "elbow"}, default="min"
        The best mean score, or the largest penalty within one standard error of it: that of its
        mean, or of the differences from it ("elbow"). The latter two need folds.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (k,)
        The selected penalty, or one for each target.
    best_score_ : float or ndarray of shape (k,)
        The mean score at ``alpha_``.
    cv_results_ : ndarray of shape (n, m) or (n, k, m)
        Squared errors of rows left out, times their weights; or their predictions if ``scoring``
        is given.
    mse_path_ : ndarray of shape (m, folds)
        Mean squared errors of test rows for every penalty; one column for leave-one-out.
    alphas_ : ndarray of shape (m,)
        The penalties.
    coefs_ : ndarray of shape (m, d) or (m, k, d)
        Coefficients for every penalty, fitted to all rows.
    intercepts_ : ndarray of shape (m,) or (m, k)
        Intercepts for every penalty.
    gaps_ : ndarray of shape (m,)
        Duality gap at every penalty.
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients at ``alpha_``.
    intercept_ : float or ndarray of shape (k,)
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    RidgePath : Selection by a criterion, from moments alone.
    Ridge : One penalty.
    LassoCV : The same for the lasso.

    References
    ----------
    G. H. Golub, M. Heath and G. Wahba, Generalized cross-validation as a method for choosing a
    good ridge parameter, Technometrics 21, 1979.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> model = sx.RidgeCV([0.1, 10.0]).fit(x, [-4.1, -1.9, 0.0, 2.0, 4.0])
    >>> model.alpha_
    0.1
    >>> model.mse_path_.shape
    (2, 1)
    """

    fits_moments = False  # the rows are left out one by one, or fold by fold
    alpha_: Any
    best_score_: Any
    cv_results_: Floats

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        rule: str = "min",
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.rule = rule
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter ``cv`` and to the scorer by scikit-learn's
        metadata routing.
        """
        self._check()
        if self.gcv_mode == "svd" and self.cv is None and sparse.issparse(X):
            warn_as(
                FutureWarning,
                "The 'svd' mode is not supported for sparse X in scikit-learn; gcv_mode is ignored "
                "here.",
            )
        found = routed(self, params, sample_weight)
        self._folds = named_folds(self.cv, X, y, found["split"])
        self._score_arguments: Mapping[str, Any] = found["score"]
        self.__dict__.pop("cv_results_", None)
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._folds, self._score_arguments
        if self.store_cv_results and np.asarray(y).ndim == 2 and self.cv_results_.ndim == 2:
            self.cv_results_ = self.cv_results_[:, None, :]
        return self

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the scorer and to the splitter."""
        scorer = check_scoring(self, scoring=self.scoring, allow_none=True)
        if self.scoring is None:
            scorer = get_scorer("r2").set_score_request(sample_weight=True)
        return fold_router(self, scorer=scorer)

    def _check(self) -> None:
        check_option("rule", self.rule, rules.RULES)
        check_option("gcv_mode", self.gcv_mode, (None, "auto", "svd", "eigen"))  # type: ignore[arg-type]
        if self.cv is None:
            return
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise InputError(
                    f"cv!=None and {name}=True are incompatible: it belongs to leave-one-out."
                )

    def _grid(self, spectrum: Spectrum) -> Floats:
        if isinstance(self.alphas, Real):  # a number is a penalty here, not how many there are
            return self._penalties([float(self.alphas)])
        return super()._grid(spectrum)

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        if self.cv is None:
            return super()._read(rows)
        if self._from_squares:
            return TrainingData.with_folds(rows, self._folds)
        if not isinstance(rows, ArrayRows):
            raise InputError(
                f"scoring={self.scoring!r} needs a numeric matrix, and a table was given.",
                remedy=f"Use one of {', '.join(map(repr, FROM_SQUARES))}.",
            )
        data = TrainingData(rows.reduce(Moments()), rows, block=rows.block)
        return data, identity(rows.schema)

    @property
    def _from_squares(self) -> bool:
        return self.scoring is None or (
            isinstance(self.scoring, str) and self.scoring in FROM_SQUARES
        )

    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        found = self._fold_errors(path, data)
        best = self._chosen(path.alphas, found.scores)
        self.mse_path_, self.best_score_ = found.mse, float(found.scores[best].mean())
        return best

    def _fold_errors(self, path: RidgeTrace, data: TrainingData) -> FoldErrors:
        options = self._options()
        wide = (
            data.block is not None
            and not by_products(data.block)
            and not options.standardize
            and not path.graded
            and (path.alphas > 0.0).all()
        )
        if self._from_squares and wide:
            return wide_fold_errors(data, self._folds, path.alphas, options, self.scoring)
        if self._from_squares:
            return fold_errors(data.folds(self._folds), path.alphas, options, self.scoring)
        scorer = check_scoring(self, scoring=self.scoring)
        return fold_scores(data, self._folds, path.alphas, options, scorer, self._score_arguments)

    def _solve(self, data: TrainingData) -> Solution:
        if self.cv is not None:
            return super()._solve(data)
        if data.rows is None:
            raise needs_rows()
        path = self._trace(data)
        refuse_without_spectrum(path)
        scores = self._leave_one_out(path, data.rows)
        self._store(path)
        best = [self._chosen(path.alphas, column[:, None]) for column in scores.T]
        if len(best) == 1:
            self.best_score_, self.alpha_ = float(scores[best[0], 0]), float(path.alphas[best[0]])
            return Solution(
                path.coefs[best[0]], path.intercepts[best[0]], path.certificates[best[0]]
            )
        self.best_score_ = scores[best, np.arange(len(best))]
        self.alpha_ = path.alphas[best]
        return solve_ridge(data, self.alpha_, self._options())

    def _chosen(self, alphas: Floats, scores: Floats) -> int:
        """By the rule; of equal scores the first, as in scikit-learn."""
        if self.rule == "min":
            return int(np.argmax(scores.mean(axis=1)))
        return rules.RULES[self.rule](alphas, -scores)

    def _leave_one_out(self, path: RidgeTrace, rows: Rows) -> Floats:
        """Scores of rows left out, by penalty (m x 1) or by penalty and target (m x k)."""
        fit_intercept = bool(self.fit_intercept)
        if not self.store_cv_results and self.scoring is None:
            mse = leave_one_out_errors(path, rows, fit_intercept=fit_intercept)
            self.mse_path_ = mse.mean(axis=1)[:, None]
            return -mse if self.alpha_per_target else -self.mse_path_
        block = rows.collect()
        residuals = left_out_residuals(path, block, fit_intercept=fit_intercept)
        mse = np.average(residuals**2, axis=0, weights=block.w).T
        self.mse_path_ = mse.mean(axis=1)[:, None]
        if self.scoring is None:
            results = residuals**2 * block.weights[:, None, None]
        else:
            results = block.y[:, :, None] - residuals
        if self.store_cv_results:
            self.cv_results_ = results[:, 0] if results.shape[1] == 1 else results
        if self.scoring is None:
            return -mse if self.alpha_per_target else -self.mse_path_
        return self._scored(results, block.y, block.w)

    def _scored(self, predictions: Floats, y: Floats, w: Floats | None) -> Floats:
        """What the scorer makes of the predictions (n x k x m)."""
        scorer = check_scoring(self, scoring=self.scoring)
        arguments = dict(self._score_arguments)
        if w is not None:
            arguments.setdefault("sample_weight", w)
        model, m = FixedRegressor(), predictions.shape[2]
        if self.alpha_per_target or y.shape[1] == 1:
            columns = range(y.shape[1])
            return np.array(
                [
                    [scorer(model, predictions[:, j, i], y[:, j], **arguments) for j in columns]
                    for i in range(m)
                ]
            )
        return np.array([[scorer(model, predictions[:, :, i], y, **arguments)] for i in range(m)])

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        check_is_fitted(self)
        return super().coef_at(alpha)
