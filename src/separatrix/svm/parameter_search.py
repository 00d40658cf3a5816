"""What SVMs that choose their own parameters share: the combinations compared, and the choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.svm.problem import deadline_after
from separatrix.svm.tuning.result import SVMTuning
from separatrix.svm.tuning.work import search_rows


class ParameterSearch:
    """The combinations of a search, and the one that was chosen."""

    cv: Any
    search_rows: int | None
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
        if self.search_rows is not None and not self.search_rows >= 10:
            raise InputError(f"search_rows={self.search_rows!r}.", remedy="Give 10 or more.")
        return deadline_after(self.time_budget, 0.5)

    def _most_rows(self, data: TuningData) -> int:
        """Rows that the search may use."""
        if self.search_rows is not None:
            return int(self.search_rows)
        return search_rows(data.n, data.n_classes, data.work)

    @staticmethod
    def _fitted_rows(tuning: Tuning, rows: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The arguments of the final fit: of too many rows, evenly spaced ones."""
        most = tuning.fit_rows if isinstance(tuning, SVMTuning) else 0
        if not most:
            return rows, y, sample_weight
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        some = np.linspace(0, n - 1, min(most, n)).astype(np.int64)
        taken = rows.take(some) if isinstance(rows, InMemory) else take_items(rows, some)
        y, w = (None if a is None else np.asarray(a)[some] for a in (y, sample_weight))
        return taken, y, w

    @property
    def _time_for_fit(self) -> float | None:
        return None if self.time_budget is None else self.time_budget / 2.0

    def _choose(self, tuning: Tuning) -> None:
        """The chosen C, with the path along C at the other parameters chosen."""
        chosen = dict(tuning.parameters)
        self.C_ = float(chosen.pop("C"))
        along = [
            i for i, p in enumerate(tuning.grid) if all(p[name] == chosen[name] for name in chosen)
        ]
        self.Cs_ = np.array([tuning.grid[i]["C"] for i in along])
        self.score_path_ = tuning.losses[along]
        bandwidth = np.array([p.get("bandwidth", 0.0) for p in tuning.grid])
        means = tuning.losses.mean(axis=1)
        self.bandwidths_ = np.unique(bandwidth)
        self.bandwidth_scores_ = np.array([means[bandwidth == h].min() for h in self.bandwidths_])
        assert isinstance(tuning, SVMTuning)
        self.n_support_path_ = tuning.n_support[along]
        self.n_search_rows_ = tuning.n_search_rows

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
