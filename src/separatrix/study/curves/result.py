"""The result of a study of learning curves, and as a document of plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.rows.block import Floats
from separatrix.selection.curves.result import LearningCurves
from separatrix.study.document import plain

YES, NO, UNCLEAR = "yes", "no", "unclear"


@dataclass(frozen=True)
class ColumnCurve:
    """Error of the linear model over the number of columns, mean over random choices of them.

    ``counts`` (q) are numbers of columns, the last of them all; ``validation`` (q x folds) are
    mean losses of test rows.
    """

    counts: Floats
    validation: Floats


@dataclass(frozen=True)
class Advice:
    """Whether more of something would help: ``answer`` is "yes", "no" or "unclear".

    ``gain`` is how much the error would fall, between ``low`` and ``high`` with 90 % probability
    by the power law; NaN where that is not determined.
    """

    what: str
    answer: str
    sentence: str
    gain: float = np.nan
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class CurveStudy:
    """Learning curves of a table, and what would help."""

    target: str
    task: str
    n_rows: int
    n_columns: int
    curves: LearningCurves
    columns: ColumnCurve | None
    advice: tuple[Advice, ...]
    summary: str
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str = ""
    command: str = ""
    seed: int = 0

    def __str__(self) -> str:
        sentences = [advice.sentence for advice in self.advice]
        return "\n".join([str(self.curves), "", self.summary, *sentences])


def document_of(study: CurveStudy) -> dict[str, Any]:
    """The study as plain values, for ``result.json``."""
    curves = study.curves
    doubled = curves.extrapolate(2.0 * float(curves.sizes[-1]))
    return {
        "target": study.target,
        "task": study.task,
        "rows": study.n_rows,
        "columns": study.n_columns,
        "metric": curves.metric,
        "summary": study.summary,
        "advice": [
            {
                "what": a.what,
                "answer": a.answer,
                "sentence": a.sentence,
                "gain": _known(a.gain),
                "low": _known(a.low),
                "high": _known(a.high),
            }
            for a in study.advice
        ],
        "models": list(curves.names),
        "training_rows": plain(curves.sizes),
        "error": [[_known(v) for v in line] for line in curves.mean],
        "standard_error": [[_known(v) for v in line] for line in curves.standard_error],
        "with_twice_the_rows": {
            e.name: {"error": _known(e.error), "low": _known(e.low), "high": _known(e.high)}
            for e in doubled
        },
        "column_counts": [] if study.columns is None else plain(study.columns.counts),
        "messages": list(study.messages),
        "warnings": list(study.warnings),
        "source": study.source,
        "command": study.command,
        "seed": study.seed,
    }


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
