"""What SVMs that choose their own parameters share: the candidates, and the chosen one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import Folds
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.problem import deadline_after
from separatrix.svm.tuning import Candidate, CrossValidation, Task

#: Decimal places, in standard deviations, of the numbers that the search uses.
DECIMALS = 6


class ParameterSearch:
    """The candidates of a search, and the one that was chosen."""

    cv: Any
    search_rows: int
    time_budget: float | None
    C_: float
    Cs_: Floats
    score_path_: Floats
    n_support_path_: Floats
    bandwidths_: Floats
    bandwidth_scores_: Floats
    n_search_rows_: int
    certificate_: Certificate

    def _deadline(self) -> float:
        """When the search stops: half of the time budget is for the final fit."""
        if not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        return deadline_after(self.time_budget, 0.5)

    @property
    def _time_for_fit(self) -> float | None:
        return None if self.time_budget is None else self.time_budget / 2.0

    def _choose(
        self, best: Candidate, candidates: list[Candidate], validation: CrossValidation
    ) -> None:
        self.C_ = float(best.Cs[best.best])
        self.Cs_, self.score_path_ = best.Cs, best.losses
        self.n_support_path_ = validation.support_counts(best)
        self.bandwidths_ = np.array([c.bandwidth for c in candidates])
        self.bandwidth_scores_ = np.array([c.loss for c in candidates])
        self.n_search_rows_ = len(validation.w)

    def _adopt(self, svm: Any) -> Self:
        """Take over the fitted attributes of the SVM of the chosen parameters."""
        for name, value in vars(svm).items():
            if name.endswith("_") or name == "_svms":
                setattr(self, name, value)
        many = len(self.bandwidths_)
        bandwidths = f" and {many} bandwidths" if many > 1 else ""
        note = (
            f"Chosen by cross-validation on {self.n_search_rows_} rows "
            f"({self.score_path_.shape[1]} folds) among {len(self.Cs_)} values of C{bandwidths}; "
            "the certificate does not cover this choice."
        )
        self.certificate_ = replace(svm.certificate_, notes=(*svm.certificate_.notes, note))
        return self


def cross_validation(
    x: Any, w: Floats, task: Task, folds: Folds, rows: Ints, deadline: float = np.inf
) -> CrossValidation:
    """Some of the rows, standardized as all rows are, and rounded.

    The last digits depend on the units of the columns; without them the choice does not.
    """
    z = Standardizer.from_rows(x, w).transform(take_items(x, rows))
    if sparse.issparse(z):
        z.data = z.data.round(DECIMALS)
    else:
        z = z.round(DECIMALS)
    return CrossValidation(z, w[rows], folds, task, deadline)
