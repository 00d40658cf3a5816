"""What linear support vector machines share: what the dual says of every row, and when to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import LinearModel
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats, Matrix
from separatrix.rows.encoding import Encoding
from separatrix.statistics.standardizer import zero_if_constant
from separatrix.svm.primal.options import Settings
from separatrix.svm.primal.problem import Hinges
from separatrix.svm.primal.solve import SupportVectors

#: The names of the three groups of rows, by their number.
GROUPS = np.array(["outside", "on the margin", "inside"], dtype=object)


@dataclass(frozen=True)
class FittedHinges:
    """The problems that were solved, the answers, and the place of their rows among those given."""

    problems: list[Hinges]
    answers: list[SupportVectors]
    rows: NDArray[np.int64]
    given: int

    def by_row(self, values: list[Floats]) -> Floats:
        """One number per row given, (n,) or (n x K); zero for rows of no weight."""
        whole = np.zeros((self.given, len(values)))
        whole[self.rows] = np.stack(values, axis=1)
        return whole[:, 0] if len(values) == 1 else whole


class MarginModel(LinearModel):
    """What both share: what the dual says of every row, and how a fit is told to stop.

    Numbers of rows are there as long as the model is in the process that fitted it: a model is not
    a copy of its data.
    """

    C: float
    tol: float
    max_iter: int
    time_budget: float | None
    standardize: bool
    fit_intercept: bool
    _duals: FittedHinges | None = None

    def _settings(self) -> Settings:
        if not isinstance(self.C, Real) or not self.C > 0.0:
            raise InputError(f"C={self.C!r} must be a number greater than 0.")
        if not self.max_iter >= 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")
        if self.time_budget is not None and not self.time_budget > 0.0:
            raise InputError(f"time_budget={self.time_budget!r} must be seconds, or None.")
        budget = np.inf if self.time_budget is None else float(self.time_budget)
        steps = int(self.max_iter)
        return Settings(float(self.tol), steps, steps, time.monotonic() + budget)

    def _ridge(self, x: Matrix, w: Floats) -> Floats:
        """ρ of every column: its variance if standardised (one where it never varies), else 1."""
        if not self.standardize:
            return np.ones(x.shape[1])
        mean = np.asarray(w @ x).ravel() / w.sum()
        if sparse.issparse(x):
            variance = np.asarray(w @ x.multiply(x).tocsr()).ravel() / w.sum() - mean**2
        else:
            variance = sum(
                w[i : i + 20_000] @ (x[i : i + 20_000] - mean) ** 2
                for i in range(0, len(w), 20_000)
            ) / float(w.sum())
        spread = zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), mean)
        return np.where(spread > 0.0, spread, 1.0) ** 2

    def _keep(self, fitted: FittedHinges, encoding: Encoding, *, flat: bool) -> None:
        """Expose the answers, and say it where one fell short."""
        answers = fitted.answers
        self.certificates_ = [answer.certificate for answer in answers]
        solution = Solution(
            np.stack([answer.w for answer in answers], axis=1),
            np.array([answer.b for answer in answers]),
            _worst(self.certificates_),
            iterations=sum(answer.work for answer in answers),
        )
        self._accept(solution, encoding, flat=flat)
        self._duals = fitted
        if not self.certificate_.holds:
            warn(
                "SEP003",
                f"support vector machine, {_status(answers)}: {self.certificate_} Raise max_iter "
                "or time_budget; columns of very different size are slow, and standardize=True "
                "makes them alike.",
            )

    @property
    def _fitted_rows(self) -> FittedHinges:
        check_is_fitted(self)
        if self._duals is None:
            raise InputError(
                "What belongs to training rows was left behind when this model was stored.",
                remedy="Fit again, or use coef_, intercept_ and certificate_.",
            )
        return self._duals

    @property
    def alpha_(self) -> Floats:
        """The α of every training row; the difference of both sides for a tube."""
        kept = self._fitted_rows
        two_sided = len(kept.problems[0].offset) == 2
        return kept.by_row(
            [
                p.slopes(a.alpha) if two_sided else a.alpha[0]
                for p, a in zip(kept.problems, kept.answers, strict=True)
            ]
        )

    @property
    def slack_(self) -> Floats:
        """ξ of every training row: how far it falls short of its margin, or lies outside the tube.

        Zero up to rounding for rows on their margin.
        """
        kept = self._fitted_rows
        return kept.by_row(
            [
                np.maximum(p.short(p.scores(a.w, a.b)), 0.0).max(axis=0)
                for p, a in zip(kept.problems, kept.answers, strict=True)
            ]
        )

    @property
    def group_(self) -> NDArray[Any]:
        """Of every training row: "outside" (α = 0), "on the margin", or "inside" (α at its top)."""
        kept = self._fitted_rows
        codes = []
        for p, a in zip(kept.problems, kept.answers, strict=True):
            share = a.alpha.max(axis=0) / p.cost
            codes.append((share > 1e-9).astype(float) + (share > 1.0 - 1e-9))
        return np.asarray(GROUPS[kept.by_row(codes).astype(int)])

    @property
    def support_(self) -> NDArray[np.int64]:
        """Numbers of the training rows that have α > 0 in some hyperplane."""
        alpha = self.alpha_.reshape(self._fitted_rows.given, -1)
        return np.flatnonzero((alpha != 0.0).any(axis=1))

    @property
    def margin_(self) -> Any:
        """1/‖w‖ (in units of standardised columns if so fitted): infinite for w = 0."""
        kept = self._fitted_rows
        norms = [
            np.sqrt(p.ridge @ a.w**2) for p, a in zip(kept.problems, kept.answers, strict=True)
        ]
        each = np.array([1.0 / norm if norm > 0.0 else np.inf for norm in norms])
        return float(each[0]) if len(each) == 1 else each

    @property
    def t_(self) -> Any:
        """The threshold t of w·x − t: the intercept with the other sign."""
        check_is_fitted(self)
        t = -np.ravel(self.intercept_)
        return float(t[0]) if len(t) == 1 else t

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_duals"}


def _status(answers: list[SupportVectors]) -> str:
    """How the one ended whose certificate is the worst."""
    worst = _worst([answer.certificate for answer in answers])
    return next(answer.status for answer in answers if answer.certificate is worst)


def _worst(certificates: list[Certificate]) -> Certificate:
    """Of several certificates the one that is farthest from holding."""
    return max(certificates, key=lambda c: (not c.holds, c.gap / max(c.primal, 1e-300), c.kkt))
