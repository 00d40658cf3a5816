"""The closed list of what a file may contain. A name in a file is looked up here, never imported.

Nothing outside this table can be written or read, so that opening a file runs no code but our own.
"""

from __future__ import annotations

import importlib
from typing import Any

from separatrix import HOMES

#: Folders that hold estimators.
_FAMILIES = (
    "estimators",
    "probability",
    "linear",
    "logistic",
    "discriminant",
    "perceptron",
    "svm",
    "neighbors",
    "cluster",
)

#: Distances by name: the public ones.
METRICS = {
    name: home
    for name, home in HOMES.items()
    if home.startswith("separatrix.distances.") and name[0].isupper()
}

#: Plain data: rebuilt by calling the class with the fields that its constructor names.
RECORDS = {
    **METRICS,
    "Term": "separatrix.rows.schema",
    "Terms": "separatrix.rows.schema",
    "Column": "separatrix.rows.schema",
    "Schema": "separatrix.rows.schema",
    "Encoding": "separatrix.rows.encoding",
    "Imputation": "separatrix.rows.imputation",
    "Parts": "separatrix.rows.parts",
    "ColumnProfile": "separatrix.rows.profile",
    "Moments": "separatrix.statistics.moments",
    "TriangularFactor": "separatrix.statistics.triangular",
    "Grouped": "separatrix.statistics.grouped",
    "Exemplars": "separatrix.cluster.exemplars",
    "Dendrogram": "separatrix.cluster.dendrogram",
    "Certificate": "separatrix.optimize.solution",
    "Solution": "separatrix.optimize.solution",
    "LeastSquares": "separatrix.optimize.solution",
    "Spectrum": "separatrix.linear.ridge.spectrum",
    "FitStatistics": "separatrix.linear.summary",
    "LogisticEvidence": "separatrix.logistic.summary",
    "Separation": "separatrix.logistic.separation",
    "SVMTrace": "separatrix.svm.path.trace",
    "Hyperplane": "separatrix.geometry.hyperplane",
    "KernelExpansion": "separatrix.geometry.kernel_expansion",
    "PerceptronState": "separatrix.perceptron.training_rows",
    "MistakeTrace": "separatrix.perceptron.training",
    "ResidualTrace": "separatrix.perceptron.perceptron_regressor",
    "Separability": "separatrix.geometry.separability",
    "HullPoints": "separatrix.geometry.separability",
    "ClassMoments": "separatrix.statistics.class_moments",
    "LinearScores": "separatrix.geometry.class_scores",
    "AxisScores": "separatrix.geometry.class_scores",
    "QuadraticScores": "separatrix.geometry.class_scores",
    "Quadric": "separatrix.geometry.quadric",
    "BinarySVM": "separatrix.svm.binary_svm",
    "Standardizer": "separatrix.statistics.standardizer",
    "MardiaTest": "separatrix.discriminant.covariance_tests",
    "BoxTest": "separatrix.discriminant.covariance_tests",
    "MultivariateNormal": "separatrix.geometry.normal",
    "SigmoidMap": "separatrix.probability.sigmoid",
    "IsotonicMap": "separatrix.probability.isotonic",
    "TemperatureMap": "separatrix.probability.temperature",
    "Costs": "separatrix.probability.costs",
    "DiscriminantPlane": "separatrix.geometry.discriminant_plane",
    "DecisionSurface": "separatrix.probability.decision_surface",
    "ClassColumnMoments": "separatrix.discriminant.class_column_moments",
    "NaiveBayesDensity": "separatrix.discriminant.naive_bayes_density",
    "Trace": "separatrix.logistic.gradient_descent",
    "PrecomputedDistances": "separatrix.distances.names",
    "LeaveOneOutErrors": "separatrix.neighbors.leave_one_out",
    "BandwidthSearch": "separatrix.neighbors.bandwidth",
    "Score": "separatrix.study.result",
    "CrossValidatedScore": "separatrix.study.result",
    "Entry": "separatrix.study.result",
    "Predictions": "separatrix.study.result",
    "LearningCurve": "separatrix.study.result",
    "TrainingRows": "separatrix.study.result",
    "CalibrationCheck": "separatrix.study.result",
    "Decision": "separatrix.study.result",
    "CovarianceTests": "separatrix.study.result",
    "PlaneView": "separatrix.study.result",
    "Margins": "separatrix.study.result",
    "Study": "separatrix.study.result",
    "Step": "separatrix.study.clustering.result",
    "Reference": "separatrix.study.clustering.result",
    "Structure": "separatrix.study.clustering.result",
    "Stability": "separatrix.study.clustering.result",
    "Group": "separatrix.study.clustering.result",
    "ClusterProjection": "separatrix.cluster.projection",
    "Drawn": "separatrix.study.clustering.result",
    "ClusterStudy": "separatrix.study.clustering.result",
}

#: Estimators by name, with the module of ours that holds each: the public ones.
MODELS = {
    name: home
    for name, home in HOMES.items()
    if home.split(".")[1] in _FAMILIES and name[0].isupper() and name not in RECORDS
}

#: Kernels, in a table of their own: some share a name with other plain data.
KERNELS = {
    "Sum": "separatrix.kernels.algebra",
    "Product": "separatrix.kernels.algebra",
    "Scaled": "separatrix.kernels.algebra",
    "Exponential": "separatrix.kernels.algebra",
    "Normalized": "separatrix.kernels.algebra",
    "Gaussian": "separatrix.kernels.gaussian",
    "Precomputed": "separatrix.kernels.precomputed",
    "Linear": "separatrix.kernels.vectors",
    "Polynomial": "separatrix.kernels.vectors",
    "Sigmoid": "separatrix.kernels.vectors",
    "Spectrum": "separatrix.kernels.strings",
    "Subsequence": "separatrix.kernels.strings",
    "SetKernel": "separatrix.kernels.sets",
    "Jaccard": "separatrix.kernels.sets",
    "TreeKernel": "separatrix.kernels.trees",
    "SubtreeKernel": "separatrix.kernels.trees",
    "GraphKernel": "separatrix.kernels.graphs",
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
