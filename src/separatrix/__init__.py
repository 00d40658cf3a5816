"""separatrix: lines, boundaries and clusters from tables, each with a certificate.

Public names are imported on first use, so that ``import separatrix`` is fast; their types are in
``__init__.pyi``.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public name → the module that defines it.
HOMES = {
    "InputError": "separatrix.messages",
    "SeparatrixWarning": "separatrix.messages",
    "scan": "separatrix.rows.scan",
    "Rows": "separatrix.rows.rows",
    "Parts": "separatrix.rows.parts",
    "Moments": "separatrix.statistics.moments",
    "TriangularFactor": "separatrix.statistics.triangular",
    "LinearRegression": "separatrix.linear.least_squares.linear_regression",
    "Ridge": "separatrix.linear.ridge.ridge",
    "RidgePath": "separatrix.linear.ridge.ridge_path",
    "RidgeCV": "separatrix.linear.ridge.ridge_path",
    "Lasso": "separatrix.linear.elastic_net.lasso",
    "ElasticNet": "separatrix.linear.elastic_net.lasso",
    "LassoPath": "separatrix.linear.elastic_net.lasso_path",
    "LassoCV": "separatrix.linear.elastic_net.lasso_cv",
    "TotalLeastSquares": "separatrix.linear.total_least_squares",
    "PolynomialRegression": "separatrix.linear.polynomial",
    "HuberRegressor": "separatrix.linear.robust.regressors",
    "LeastAbsoluteRegressor": "separatrix.linear.robust.regressors",
    "LeastSquaresClassifier": "separatrix.linear.least_squares.least_squares_classifier",
    "BasicLinearClassifier": "separatrix.discriminant.basic_linear_classifier",
    "LogisticRegression": "separatrix.logistic.logistic_regression",
    "LogisticPath": "separatrix.logistic.logistic_path",
    "LogisticCV": "separatrix.logistic.logistic_path",
    "SVC": "separatrix.svm.svc",
    "SVR": "separatrix.svm.svr",
    "GaussianDiscriminant": "separatrix.discriminant.gaussian_discriminant",
    "QuadraticDiscriminantAnalysis": "separatrix.discriminant.quadratic_discriminant",
    "LinearDiscriminantAnalysis": "separatrix.discriminant.linear_discriminant",
    "GaussianNB": "separatrix.discriminant.gaussian_nb",
    "NearestMean": "separatrix.discriminant.gaussian_discriminant",
    "RegularizedDiscriminantAnalysis": "separatrix.discriminant.regularized_discriminant",
    "MultivariateNormal": "separatrix.geometry.normal",
    "mardia": "separatrix.discriminant.covariance_tests",
    "box_m": "separatrix.discriminant.covariance_tests",
    "NaiveBayes": "separatrix.discriminant.naive_bayes",
    "SigmoidRegressionClassifier": "separatrix.logistic.sigmoid_regression",
    "GradientDescent": "separatrix.logistic.gradient_descent",
    "LinearSVC": "separatrix.svm.linear_svc",
    "LinearSVR": "separatrix.svm.linear_svr",
    "SVMPath": "separatrix.svm.svm_path",
    "SVCSearch": "separatrix.svm.search",
    "SVRSearch": "separatrix.svm.svr_search",
    "LinearSVCSearch": "separatrix.svm.search",
    "estimate_mean": "separatrix.statistics.estimation",
    "estimate_normal": "separatrix.statistics.estimation",
    "estimate_proportions": "separatrix.statistics.estimation",
    "KNeighborsClassifier": "separatrix.neighbors.k_neighbors",
    "KNeighborsRegressor": "separatrix.neighbors.k_neighbors",
    "NearestNeighbors": "separatrix.neighbors.nearest_neighbors",
    "KernelVoteClassifier": "separatrix.neighbors.kernel_smoothers",
    "NadarayaWatson": "separatrix.neighbors.kernel_smoothers",
    "NearestExemplar": "separatrix.neighbors.nearest_exemplar",
    "MeanRegressor": "separatrix.estimators.baseline",
    "MostFrequentClassifier": "separatrix.estimators.baseline",
    "AveragedClassifier": "separatrix.estimators.averaged",
    "AveragedRegressor": "separatrix.estimators.averaged",
    "CalibratedClassifier": "separatrix.probability.calibrated",
    "LogisticCalibration": "separatrix.probability.calibrations",
    "PlattCalibration": "separatrix.probability.calibrations",
    "IsotonicCalibration": "separatrix.probability.calibrations",
    "TemperatureCalibration": "separatrix.probability.calibrations",
    "RejectOption": "separatrix.probability.reject",
    "OneVsRest": "separatrix.probability.multiclass",
    "OneVsOne": "separatrix.probability.multiclass",
    "roc_curve": "separatrix.probability.roc",
    "reliability": "separatrix.probability.reliability",
    "expected_calibration_error": "separatrix.probability.reliability",
    "brier_score": "separatrix.probability.reliability",
    "coverage_risk": "separatrix.probability.coverage",
    "Minkowski": "separatrix.distances.vectors",
    "Manhattan": "separatrix.distances.vectors",
    "Euclidean": "separatrix.distances.vectors",
    "SquaredEuclidean": "separatrix.distances.vectors",
    "Chebyshev": "separatrix.distances.vectors",
    "Cosine": "separatrix.distances.vectors",
    "Hamming": "separatrix.distances.sequences",
    "Edit": "separatrix.distances.sequences",
    "Mahalanobis": "separatrix.distances.elliptical",
    "Elliptical": "separatrix.distances.elliptical",
    "Gower": "separatrix.distances.gower",
    "KernelDistance": "separatrix.distances.kernelized",
    "metric_axioms": "separatrix.distances.axioms",
    "distance_concentration": "separatrix.distances.concentration",
    "geometric_median": "separatrix.distances.exemplars",
    "medoid": "separatrix.distances.exemplars",
    "run_study": "separatrix.study.run",
    "run_clusters": "separatrix.study.clustering.run",
    "Linear": "separatrix.kernels",
    "Polynomial": "separatrix.kernels",
    "Gaussian": "separatrix.kernels",
    "Sigmoid": "separatrix.kernels",
    "Precomputed": "separatrix.kernels",
    "Spectrum": "separatrix.kernels",
    "Subsequence": "separatrix.kernels",
    "SetKernel": "separatrix.kernels",
    "Jaccard": "separatrix.kernels",
    "TreeKernel": "separatrix.kernels",
    "SubtreeKernel": "separatrix.kernels",
    "GraphKernel": "separatrix.kernels",
    "kernel_distance": "separatrix.kernels",
    "kernel_cosine": "separatrix.kernels",
    "is_mercer": "separatrix.kernels.mercer",
    "KernelExpansion": "separatrix.geometry.kernel_expansion",
    "Center": "separatrix.estimators.scaling",
    "Standardize": "separatrix.estimators.scaling",
    "TableEncoder": "separatrix.estimators.table_encoder",
    "Whiten": "separatrix.estimators.scaling",
    "BasisExpansion": "separatrix.linear.basis",
    "homogeneous": "separatrix.estimators.scaling",
    "Perceptron": "separatrix.perceptron.perceptron",
    "KernelPerceptron": "separatrix.perceptron.kernel_perceptron",
    "PerceptronRegressor": "separatrix.perceptron.perceptron_regressor",
    "linear_separability": "separatrix.geometry.separability",
    "pairwise_separability": "separatrix.geometry.separability",
    "nearest_hull_points": "separatrix.geometry.separability",
    "KMeans": "separatrix.cluster.kmeans",
    "KMedoids": "separatrix.cluster.kmedoids",
    "KernelKMeans": "separatrix.cluster.kernel_kmeans",
    "AgglomerativeClustering": "separatrix.cluster.agglomerative",
    "Dendrogram": "separatrix.cluster.dendrogram",
    "silhouette": "separatrix.cluster.silhouette",
    "scatter_decomposition": "separatrix.cluster.scatter",
    "save": "separatrix.storage",
    "load": "separatrix.storage",
}

__all__ = ["__version__", *HOMES]


def __getattr__(name: str) -> Any:
    home = HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
