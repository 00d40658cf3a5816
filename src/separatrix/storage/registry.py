"""The closed list of what a file may contain. A name in a file is looked up here, never imported.

Nothing outside this table can be written or read, so that opening a file runs no code but our own.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Estimators by name, with the module of ours that holds each.
MODELS = {
    "LinearRegression": "separatrix.models.linear_regression",
    "Ridge": "separatrix.models.ridge",
    "RidgePath": "separatrix.models.ridge_path",
    "RidgeCV": "separatrix.models.ridge_path",
    "Lasso": "separatrix.models.lasso",
    "ElasticNet": "separatrix.models.lasso",
    "LassoPath": "separatrix.models.lasso_path",
    "LassoCV": "separatrix.models.lasso_path",
    "TotalLeastSquares": "separatrix.models.total_least_squares",
    "PolynomialRegression": "separatrix.models.polynomial",
    "HuberRegressor": "separatrix.models.robust",
    "LeastAbsoluteRegressor": "separatrix.models.robust",
    "LeastSquaresClassifier": "separatrix.models.least_squares_classifier",
    "BasicLinearClassifier": "separatrix.models.basic_linear_classifier",
    "Center": "separatrix.models.scaling",
    "Standardize": "separatrix.models.scaling",
    "Whiten": "separatrix.models.scaling",
    "MeanRegressor": "separatrix.models.baseline",
    "MostFrequentClassifier": "separatrix.models.baseline",
}

#: Plain data: rebuilt by calling the class with the fields that its constructor names.
RECORDS = {
    "Term": "separatrix.rows.schema",
    "Terms": "separatrix.rows.schema",
    "Column": "separatrix.rows.schema",
    "Schema": "separatrix.rows.schema",
    "Encoding": "separatrix.rows.encoding",
    "Completion": "separatrix.rows.completion",
    "Parts": "separatrix.rows.parts",
    "ColumnProfile": "separatrix.rows.profile",
    "Moments": "separatrix.statistics.moments",
    "TriangularFactor": "separatrix.statistics.triangular",
    "Grouped": "separatrix.statistics.grouped",
    "Certificate": "separatrix.solvers.solution",
    "Solution": "separatrix.solvers.solution",
    "LeastSquares": "separatrix.solvers.solution",
    "Spectrum": "separatrix.solvers.ridge",
    "Evidence": "separatrix.models.summary",
    "Hyperplane": "separatrix.shapes.hyperplane",
    "Score": "separatrix.study.result",
    "Entry": "separatrix.study.result",
    "Held": "separatrix.study.result",
    "Curve": "separatrix.study.result",
    "Training": "separatrix.study.result",
    "Study": "separatrix.study.result",
}

#: Enumerations, stored by value.
ENUMS = {"Kind": "separatrix.rows.schema"}


def class_in(table: dict[str, str], name: object) -> type[Any] | None:
    """The class that ``table`` lists under ``name``; None for any other name."""
    home = table.get(name) if isinstance(name, str) else None
    if home is None:
        return None
    found: type[Any] = getattr(importlib.import_module(home), str(name))
    return found


def listed(table: dict[str, str], value: object) -> bool:
    """Whether the very class of ``value`` (not one of the same name) is in the table."""
    kind = type(value)
    return table.get(kind.__name__) == kind.__module__
