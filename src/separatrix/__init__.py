"""separatrix: lines, boundaries and groups from tables, each with a certificate.

Names are loaded on first use, so that ``import separatrix`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public name → module that holds it.
HOMES = {
    "InputError": "separatrix.messages",
    "Notice": "separatrix.messages",
    "scan": "separatrix.rows.scan",
    "Rows": "separatrix.rows.rows",
    "Parts": "separatrix.rows.parts",
    "Moments": "separatrix.statistics.moments",
    "TriangularFactor": "separatrix.statistics.triangular",
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
    "LogisticRegression": "separatrix.models.logistic",
    "LogisticPath": "separatrix.models.logistic_path",
    "LogisticCV": "separatrix.models.logistic_path",
    "SVC": "separatrix.models.svc",
    "SVR": "separatrix.models.svr",
    "GaussianDiscriminant": "separatrix.models.gaussian_discriminant",
    "QuadraticDiscriminantAnalysis": "separatrix.models.discriminants",
    "LinearDiscriminantAnalysis": "separatrix.models.discriminants",
    "GaussianNB": "separatrix.models.discriminants",
    "NearestMean": "separatrix.models.discriminants",
    "RegularizedDiscriminantAnalysis": "separatrix.models.regularized_discriminant",
    "MultivariateNormal": "separatrix.shapes.normal",
    "mardia": "separatrix.statistics.covariance_tests",
    "box_m": "separatrix.statistics.covariance_tests",
    "NaiveBayes": "separatrix.models.naive_bayes",
    "SigmoidRegressionClassifier": "separatrix.models.sigmoid_regression",
    "GradientDescent": "separatrix.models.gradient_descent",
    "LinearSVC": "separatrix.models.linear_svm",
    "LinearSVR": "separatrix.models.linear_svm",
    "SVMPath": "separatrix.models.svm_path",
    "SVCSearch": "separatrix.models.svm_search",
    "SVRSearch": "separatrix.models.svm_search",
    "LinearSVCSearch": "separatrix.models.svm_search",
    "estimate_mean": "separatrix.statistics.estimation",
    "estimate_normal": "separatrix.statistics.estimation",
    "estimate_shares": "separatrix.statistics.estimation",
    "KNeighborsClassifier": "separatrix.models.neighbours",
    "KNeighborsRegressor": "separatrix.models.neighbours",
    "NearestNeighbors": "separatrix.models.neighbours",
    "KernelVoteClassifier": "separatrix.models.local_averages",
    "NadarayaWatson": "separatrix.models.local_averages",
    "NearestExemplar": "separatrix.models.nearest_exemplar",
    "MeanRegressor": "separatrix.models.baseline",
    "MostFrequentClassifier": "separatrix.models.baseline",
    "CalibratedClassifier": "separatrix.models.calibrated",
    "LogisticCalibration": "separatrix.models.calibrations",
    "PlattCalibration": "separatrix.models.calibrations",
    "IsotonicCalibration": "separatrix.models.calibrations",
    "TemperatureCalibration": "separatrix.models.calibrations",
    "RejectOption": "separatrix.models.reject",
    "OneVsRest": "separatrix.models.multiclass",
    "OneVsOne": "separatrix.models.multiclass",
    "roc_curve": "separatrix.decision.roc",
    "reliability": "separatrix.decision.reliability",
    "expected_calibration_error": "separatrix.decision.reliability",
    "brier_score": "separatrix.decision.reliability",
    "coverage_risk": "separatrix.decision.coverage",
    "Minkowski": "separatrix.similarity.metrics.vectors",
    "Manhattan": "separatrix.similarity.metrics.vectors",
    "Euclidean": "separatrix.similarity.metrics.vectors",
    "SquaredEuclidean": "separatrix.similarity.metrics.vectors",
    "Chebyshev": "separatrix.similarity.metrics.vectors",
    "Cosine": "separatrix.similarity.metrics.vectors",
    "Hamming": "separatrix.similarity.metrics.sequences",
    "Edit": "separatrix.similarity.metrics.sequences",
    "Mahalanobis": "separatrix.similarity.metrics.elliptical",
    "Elliptical": "separatrix.similarity.metrics.elliptical",
    "Gower": "separatrix.similarity.metrics.mixed",
    "Kernelised": "separatrix.similarity.metrics.kernelised",
    "metric_axioms": "separatrix.similarity.metrics.axioms",
    "distance_concentration": "separatrix.similarity.concentration",
    "geometric_median": "separatrix.similarity.exemplars",
    "medoid": "separatrix.similarity.exemplars",
    "run_study": "separatrix.study.run",
    "run_clusters": "separatrix.study.clustering.run",
    "Linear": "separatrix.similarity.kernels",
    "Polynomial": "separatrix.similarity.kernels",
    "Gaussian": "separatrix.similarity.kernels",
    "Sigmoid": "separatrix.similarity.kernels",
    "Precomputed": "separatrix.similarity.kernels",
    "Spectrum": "separatrix.similarity.kernels",
    "Subsequence": "separatrix.similarity.kernels",
    "SetKernel": "separatrix.similarity.kernels",
    "Jaccard": "separatrix.similarity.kernels",
    "TreeKernel": "separatrix.similarity.kernels",
    "SubtreeKernel": "separatrix.similarity.kernels",
    "GraphKernel": "separatrix.similarity.kernels",
    "kernel_distance": "separatrix.similarity.kernels",
    "kernel_cosine": "separatrix.similarity.kernels",
    "is_mercer": "separatrix.similarity.mercer",
    "KernelExpansion": "separatrix.shapes.kernel_expansion",
    "Center": "separatrix.models.scaling",
    "Standardize": "separatrix.models.scaling",
    "Whiten": "separatrix.models.scaling",
    "BasisExpansion": "separatrix.models.basis",
    "homogeneous": "separatrix.models.scaling",
    "Perceptron": "separatrix.models.perceptron",
    "KernelPerceptron": "separatrix.models.kernel_perceptron",
    "PerceptronRegressor": "separatrix.models.perceptron_regression",
    "linear_separability": "separatrix.shapes.separability",
    "pairwise_separability": "separatrix.shapes.separability",
    "nearest_hull_points": "separatrix.shapes.separability",
    "KMeans": "separatrix.models.kmeans",
    "KMedoids": "separatrix.models.kmedoids",
    "KernelKMeans": "separatrix.models.kernel_kmeans",
    "AgglomerativeClustering": "separatrix.models.agglomerative",
    "Dendrogram": "separatrix.shapes.dendrogram",
    "silhouette": "separatrix.similarity.silhouette",
    "scatter_decomposition": "separatrix.statistics.scatter",
    "save": "separatrix.storage",
    "load": "separatrix.storage",
}

__all__ = ["__version__", *HOMES]

if TYPE_CHECKING:
    from separatrix.messages import InputError as InputError


def __getattr__(name: str) -> Any:
    home = HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
