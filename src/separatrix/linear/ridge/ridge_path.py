"""The whole ridge path, and the point of it that a criterion or rows left out would choose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.estimators.additive import PartialFitMixin, TrainingData
from separatrix.linear.least_squares.minimum_norm import solve_wide
from separatrix.linear.ridge.leave_one_out import LeaveOneOut
from separatrix.linear.ridge.ridge import RidgeFamily
from separatrix.linear.ridge.solve import RidgeWalk, Spectrum, walk_moments
from separatrix.messages import InputError
from separatrix.optimize.solution import Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.selection import rules
from separatrix.selection.folds import FoldMoments, folded, folding, folds_of

#: Rows from which leave-one-out errors average over the rounding of float32.
MANY_ROWS = 50_000


class RidgePathBase(RidgeFamily):
    """Walk the path, choose a point, keep both."""

    alphas: Any

    @abstractmethod
    def _best(self, walk: RidgeWalk, given: TrainingData | Block) -> int:
        """Index of the penalty to predict with; a block has more columns than rows."""

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        coefs, intercepts = self.spectrum_.coefs(np.array([float(alpha)]))
        if np.ndim(self.coef_) == 1:
            return coefs[0, :, 0], intercepts[0, 0]
        return coefs[0].T, intercepts[0]

    def _solve(self, given: TrainingData) -> Solution:
        m, scale = self._about(given.moments)
        spectrum = Spectrum.of_moments(m, scale)
        walk = walk_moments(m, spectrum, self._grid(spectrum))
        return self._choose(walk, self._best(walk, given))

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        spectrum = self._decompose_wide(rows.block)
        alphas = self._grid(spectrum)
        coefs, intercepts = spectrum.coefs(alphas)
        certificates = []
        for i, a in enumerate(alphas):
            if a > 0:
                every = np.full(coefs.shape[2], a)
                certificates.append(self._certify_wide(rows, spectrum, coefs[i], every))
            else:
                plain = solve_wide(rows.block, fit_intercept=self.fit_intercept)
                coefs[i], intercepts[i] = plain.coef, plain.intercept
                certificates.append(plain.certificate)
        walk = RidgeWalk(spectrum, alphas, coefs, intercepts, tuple(certificates))
        return self._choose(walk, self._best(walk, rows.block))

    def _grid(self, spectrum: Spectrum) -> Floats:
        if self.alphas is None or isinstance(self.alphas, int | np.integer):
            return spectrum.grid(100 if self.alphas is None else int(self.alphas))
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise InputError("alphas must be a list of penalties ≥ 0, a number of them, or None.")
        return alphas

    def _choose(self, walk: RidgeWalk, best: int) -> Solution:
        one = walk.coefs.shape[2] == 1
        self.spectrum_ = walk.spectrum
        self.alphas_, self.alpha_ = walk.alphas, float(walk.alphas[best])
        self.coefs_ = walk.coefs[:, :, 0] if one else walk.coefs.transpose(0, 2, 1)
        self.intercepts_ = walk.intercepts[:, 0] if one else walk.intercepts
        self.gaps_ = np.array([c.gap for c in walk.certificates])
        return Solution(walk.coefs[best], walk.intercepts[best], walk.certificates[best])


class RidgePath(PartialFitMixin, RidgePathBase):
    """Ridge for every α from one decomposition; the model of the best criterion predicts.

    Parameters
    ----------
    alphas : array, int or None, default=None
        Penalties to report; a number or None places that many (100) between "nothing moves" and
        "least squares", by the data themselves.
    criterion : {"bic", "aic", "gcv"}, default="bic"
        Chooses ``alpha_``. ``gcv`` is generalised cross-validation, n·RSS/(n − df)².
    fit_intercept : bool, default=True
    standardize : bool, default=False
        As in :class:`Ridge`.

    Attributes
    ----------
    alphas_, coefs_, intercepts_ : the path; ``coefs_`` is (m x d) for one target, else (m x k x d).
    degrees_of_freedom_, aic_, bic_, gcv_ : one number per penalty.
    gaps_ : certified distance of every point of the path from its optimum.
    spectrum_ : the decomposition, which :meth:`coef_at` evaluates at any penalty.
    """

    def __init__(
        self,
        alphas: Any = None,
        *,
        criterion: str = "bic",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _best(self, walk: RidgeWalk, _given: TrainingData | Block) -> int:
        spectrum, alphas, n = walk.spectrum, walk.alphas, walk.spectrum.weight
        freedom = spectrum.degrees_of_freedom(alphas) + int(self.fit_intercept)
        squares = spectrum.squares(alphas).mean(axis=1)
        self.degrees_of_freedom_ = freedom
        self.aic_ = rules.aic(squares, freedom, n)
        self.bic_ = rules.bic(squares, freedom, n)
        self.gcv_ = np.where(freedom < n, n * squares / np.maximum(n - freedom, 1e-12) ** 2, np.inf)
        criteria = {"aic": self.aic_, "bic": self.bic_, "gcv": self.gcv_}
        if self.criterion not in criteria:
            raise InputError(f"criterion={self.criterion!r} is none of {', '.join(criteria)}.")
        return rules.minimum(alphas, criteria[self.criterion])


class RidgeCV(RidgePathBase):
    """Ridge with the penalty that predicts best on rows left out.

    Parameters
    ----------
    alphas : array, int or None, default=None
        As in :class:`RidgePath`.
    cv : None, int, splitter or (train, test) pairs, default=None
        None leaves out every row once, in closed form; otherwise folds, whose moments come from
        one pass over the rows. A row of weight w counts as w equal rows: one of them is left out.
    rule : {"min", "one_se"}, default="min"
        The least mean error, or the largest penalty within one standard error of it (with folds).
    fit_intercept : bool, default=True
    standardize : bool, default=False
        As in :class:`Ridge`.

    Attributes
    ----------
    alpha_ : the penalty chosen.
    mse_path_ : mean squared error on rows left out, penalties x folds (one column for None).
    best_score_ : minus the mean error at ``alpha_``.
    """

    def __init__(
        self,
        alphas: Any = None,
        *,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        if self.cv is None:
            return super()._read(rows)
        parts = folded(rows, self.cv)
        return TrainingData(parts.moments, None, tuple(parts.halves)), parts.encoding

    def _best(self, walk: RidgeWalk, given: TrainingData | Block) -> int:
        if self.rule not in rules.RULES:
            raise InputError(f"rule={self.rule!r} is none of {', '.join(rules.RULES)}.")
        errors = self._errors(walk, given)
        best = rules.RULES[self.rule](walk.alphas, errors)
        self.mse_path_, self.best_score_ = errors, -float(errors[best].mean())
        return best

    def _errors(self, walk: RidgeWalk, given: TrainingData | Block) -> Floats:
        """Mean squared errors on rows left out, penalties x folds."""
        if isinstance(given, Block):
            if self.cv is None:
                return self._leave_one_out(walk, lambda statistic: _of_block(statistic, given))
            return self._errors_by_rows(walk.alphas, given)
        if given.halves is not None:
            return self._errors_by_moments(walk.alphas, given.halves)
        if given.rows is not None:
            return self._leave_one_out(walk, given.rows.reduce)
        raise InputError(
            "Errors on rows left out need the rows, and only their moments were given.",
            remedy="Use RidgePath, which chooses by BIC, AIC or GCV from moments alone.",
        )

    def _leave_one_out(
        self, walk: RidgeWalk, reduce: Callable[[LeaveOneOut], LeaveOneOut]
    ) -> Floats:
        """In float32 where that cannot matter: many rows, and residuals that are not tiny."""
        s = walk.spectrum
        unexplained = float(np.min(s.squares(walk.alphas).sum(axis=1) / max(s.yy.sum(), 1e-300)))
        if s.weight >= MANY_ROWS and unexplained > 1e-3:
            quick = reduce(self._left_out(walk, np.float32))
            if quick.least > 1e-2:  # no row is all but alone in deciding its own fit
                return np.asarray(quick.total / s.weight / s.cross.shape[1])[:, None]
        exact = reduce(self._left_out(walk, np.float64))
        return np.asarray(exact.total / s.weight / s.cross.shape[1])[:, None]

    def _left_out(self, walk: RidgeWalk, precision: Any) -> LeaveOneOut:
        s = walk.spectrum
        long = s.values > s.values.max(initial=0.0) * len(s.values) * np.finfo(float).eps
        length = np.sqrt(s.values[long])
        return LeaveOneOut(
            s.directions[:, long] / s.scale[:, None] / length,
            (s.values[:, None] * s.shrunk(walk.alphas))[long],
            s.cross[long] / length[:, None],
            s.x_mean,
            s.y_mean,
            1.0 / s.weight if self.fit_intercept else 0.0,
            precision,
        )

    def _errors_by_moments(self, alphas: Floats, halves: tuple[FoldMoments, ...]) -> Floats:
        columns = []
        for train, test in halves:
            spectrum = Spectrum.of_moments(*self._about(train))
            coefs, intercepts = spectrum.coefs(alphas)
            each = [
                rules.validation_error(test, coefs[:, :, k], intercepts[:, k], k)
                for k in range(coefs.shape[2])
            ]
            columns.append(np.mean(each, axis=0))
        return np.stack(columns, axis=1)

    def _errors_by_rows(self, alphas: Floats, whole: Block) -> Floats:
        columns = []
        whole = whole.take(folding(whole.w, self.cv))
        for train, test in folds_of(self.cv, whole.n, whole.y[:, 0]).pairs:
            coefs, intercepts = self._decompose_wide(whole.take(train)).coefs(alphas)
            block = whole.take(test)
            w = block.weights
            each = [
                w @ (block.y[:, [k]] - block.x @ coefs[:, :, k].T - intercepts[:, k]) ** 2 / w.sum()
                for k in range(coefs.shape[2])
            ]
            columns.append(np.mean(each, axis=0))
        return np.stack(columns, axis=1)


def _of_block(statistic: LeaveOneOut, block: Block) -> LeaveOneOut:
    statistic.update(block)
    return statistic
