"""A finished study with what the columns are like and what its model makes of them.

Importance is measured on the test rows, after everything was chosen; all else is drawn from the
training rows. Work is bounded by counts, so the same seed gives the same bytes.
"""

from __future__ import annotations

from dataclasses import replace

from separatrix.study.candidates import BASELINE
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.explanation.answers import row_loss
from separatrix.study.explanation.dependence import partial_dependence
from separatrix.study.explanation.distributions import correlations, distributions
from separatrix.study.explanation.importance import column_importance
from separatrix.study.explanation.records import ColumnImportance, PartialDependence
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned
from separatrix.study.result import Study

#: Columns that are drawn even where chance could explain their importance.
FEW = 3


def explained(study: Study, folds: RowFolds) -> Study:
    """The study with importance, partial dependence, histograms and correlations of its columns."""
    training = folds.table.take(thinned(folds.training, SHOWN_ROWS))
    names = [c.name for c in folds.table.schema.columns]
    importance: ColumnImportance | None = None
    dependence: tuple[PartialDependence, ...] = ()
    if study.winner != BASELINE:
        loss, outputs = row_loss(study), max(1, len(study.classes))
        with muted():
            test = folds.table.take(folds.test)
            importance = column_importance(loss, test, training, study.model, outputs, study.seed)
            if importance is not None:
                dependence = partial_dependence(study, training, _with_curves(importance))
                leading = [*(curve.column for curve in dependence), *importance.columns]
                names = [*dict.fromkeys([*leading, *names])]
    return replace(
        study,
        importance=importance,
        dependence=dependence,
        distributions=distributions(training, names, study.classes),
        correlations=correlations(training, names, study.columns, study.target),
    )


def _with_curves(found: ColumnImportance) -> list[str]:
    """Columns whose interval is above zero; with few of those, others that seem to matter."""
    rises = zip(found.columns, found.low, found.increase, strict=True)
    return [name for i, (name, low, rise) in enumerate(rises) if low > 0 or (rise > 0 and i < FEW)]
