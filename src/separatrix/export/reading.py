"""What a whole model reads, wrappers included: all of its columns, as a table or as a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from separatrix.discriminant.naive_bayes.naive_bayes import NaiveBayes
from separatrix.export.inputs import InputColumn, input_column, inputs_of
from separatrix.rows.schema import Kind


@dataclass(frozen=True)
class Reading:
    """The columns in the order of training; ``is_matrix`` of a model that was fitted to arrays."""

    columns: tuple[InputColumn, ...]
    is_matrix: bool

    def rows(self, table: pa.Table) -> Any:
        """Rows of a table as the model takes them."""
        if not self.is_matrix:
            return table
        columns = [table.column(column.name).to_numpy() for column in self.columns]
        return np.column_stack(columns).astype(np.float64)


def reading_of(model: Any) -> Reading:
    """What a fitted model reads."""
    core = core_of(model)
    if isinstance(core, NaiveBayes):
        columns = tuple(input_column(column, core.schema_) for column in core.schema_.columns)
        return Reading(columns, not core.from_table_)
    inputs = inputs_of(core)
    encoding = getattr(core, "encoding_", None)
    plain = encoding is None or encoding.is_identity
    refuses = all(column.refuses_missing for column in inputs.columns)
    fills = {term.column: term.fill for term in inputs.terms if term.level is None}
    columns = tuple(
        column
        if column.kind is Kind.DISCRETE or column.name not in fills or column.typical
        else replace(column, typical=fills[column.name])
        for column in inputs.columns
    )
    return Reading(columns, plain and refuses)


def core_of(model: Any) -> Any:
    """The model within calibration, costs and averages: of several the first."""
    while True:
        if hasattr(model, "estimator_"):
            model = model.estimator_
        elif len(getattr(model, "estimators_", ())) and hasattr(model, "weights_"):
            model = model.estimators_[0]
        else:
            return model
