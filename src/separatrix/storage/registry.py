"""The closed list of what a file may contain. A name in a file is looked up here, never imported.

Nothing outside this table can be written or read, so that opening a file runs no code but our own.
"""

from __future__ import annotations

import importlib
from typing import Any

from separatrix import HOMES

#: Estimators by name, with the module of ours that holds each: the public ones.
MODELS = {name: home for name, home in HOMES.items() if home.startswith("separatrix.models.")}

#: Distances by name: the public ones.
METRICS = {
    name: home
    for name, home in HOMES.items()
    if home.startswith("separatrix.similarity.metrics.") and name[0].isupper()
}

#: Plain data: rebuilt by calling the class with the fields that its constructor names.
RECORDS = {
    **METRICS,
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
    "Exemplars": "separatrix.shapes.exemplars",
    "Dendrogram": "separatrix.shapes.dendrogram",
    "Certificate": "separatrix.solvers.solution",
    "Solution": "separatrix.solvers.solution",
    "LeastSquares": "separatrix.solvers.solution",
    "Spectrum": "separatrix.solvers.ridge",
    "Evidence": "separatrix.models.summary",
    "LogisticEvidence": "separatrix.models.logistic_summary",
    "Separation": "separatrix.solvers.separation",
    "SVMTrace": "separatrix.solvers.svm_path",
    "Hyperplane": "separatrix.shapes.hyperplane",
    "KernelExpansion": "separatrix.shapes.kernel_expansion",
    "WalkState": "separatrix.solvers.perceptron_ground",
    "MistakeTrace": "separatrix.solvers.perceptron",
    "ResidualTrace": "separatrix.models.perceptron_regression",
    "Separability": "separatrix.shapes.separability",
    "HullPoints": "separatrix.shapes.separability",
    "ClassMoments": "separatrix.statistics.class_moments",
    "LinearScores": "separatrix.shapes.class_scores",
    "AxisScores": "separatrix.shapes.class_scores",
    "QuadraticScores": "separatrix.shapes.class_scores",
    "Quadric": "separatrix.shapes.quadric",
    "Machine": "separatrix.models.svm_machine",
    "Footing": "separatrix.models.svm_machine",
    "MardiaTest": "separatrix.statistics.covariance_tests",
    "BoxTest": "separatrix.statistics.covariance_tests",
    "MultivariateNormal": "separatrix.shapes.normal",
    "Sigmoid": "separatrix.decision.sigmoid",
    "Plateaus": "separatrix.decision.isotonic",
    "Temperature": "separatrix.decision.temperature",
    "Costs": "separatrix.decision.costs",
    "Plane": "separatrix.shapes.plane",
    "Landscape": "separatrix.decision.landscape",
    "ClassColumns": "separatrix.statistics.class_columns",
    "IndependentColumns": "separatrix.shapes.independent",
    "Trace": "separatrix.models.gradient_descent",
    "GivenDistances": "separatrix.similarity.metrics.chosen",
    "NeighbourCounts": "separatrix.models.leave_one_out_neighbours",
    "Bandwidth": "separatrix.solvers.bandwidth",
    "Score": "separatrix.study.result",
    "Spread": "separatrix.study.result",
    "Entry": "separatrix.study.result",
    "Held": "separatrix.study.result",
    "Curve": "separatrix.study.result",
    "Training": "separatrix.study.result",
    "CalibrationCheck": "separatrix.study.result",
    "Decision": "separatrix.study.result",
    "CovarianceTests": "separatrix.study.result",
    "Sight": "separatrix.study.result",
    "Margins": "separatrix.study.result",
    "Study": "separatrix.study.result",
    "Step": "separatrix.study.clustering.result",
    "Reference": "separatrix.study.clustering.result",
    "Structure": "separatrix.study.clustering.result",
    "Stability": "separatrix.study.clustering.result",
    "Group": "separatrix.study.clustering.result",
    "ClusterPlane": "separatrix.shapes.cluster_plane",
    "Drawn": "separatrix.study.clustering.result",
    "ClusterStudy": "separatrix.study.clustering.result",
}

#: Kernels, in a table of their own: some share a name with other plain data.
KERNELS = {
    "Sum": "separatrix.similarity.kernels.algebra",
    "Product": "separatrix.similarity.kernels.algebra",
    "Scaled": "separatrix.similarity.kernels.algebra",
    "Exponential": "separatrix.similarity.kernels.algebra",
    "Normalised": "separatrix.similarity.kernels.algebra",
    "Gaussian": "separatrix.similarity.kernels.gaussian",
    "Precomputed": "separatrix.similarity.kernels.given",
    "Linear": "separatrix.similarity.kernels.vectors",
    "Polynomial": "separatrix.similarity.kernels.vectors",
    "Sigmoid": "separatrix.similarity.kernels.vectors",
    "Spectrum": "separatrix.similarity.kernels.strings",
    "Subsequence": "separatrix.similarity.kernels.strings",
    "SetKernel": "separatrix.similarity.kernels.sets",
    "Jaccard": "separatrix.similarity.kernels.sets",
    "TreeKernel": "separatrix.similarity.kernels.trees",
    "SubtreeKernel": "separatrix.similarity.kernels.trees",
    "GraphKernel": "separatrix.similarity.kernels.graphs",
}

#: Enumerations, stored by value.
ENUMS = {"Kind": "separatrix.rows.schema"}


def class_in(table: dict[str, str], name: object) -> type[Any] | None:
    """The class that ``table`` lists under ``name``; None for any other name."""
    home = table.get(name) if isinstance(name, str) else None
    if home is None:
        return None
    found = getattr(importlib.import_module(home), str(name))
    return found if isinstance(found, type) else None


def listed(table: dict[str, str], value: object) -> bool:
    """Whether the very class of ``value`` (not one of the same name) is in the table."""
    kind = type(value)
    return table.get(kind.__name__) == kind.__module__
