"""separatrix: lines, boundaries and clusters from tables, each with a certificate.

Public names are imported on first use, so that ``import separatrix`` is fast; their types are in
``__init__.pyi``.
"""

from separatrix.catalogue import DECLARATIONS  # which imports nothing

TYPE_CHECKING = False  # so that the command heeds signals sooner
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

#: Public name → the module that defines it: estimators as declared, and what is beside them.
HOMES = {name: declared.home for name, declared in DECLARATIONS.items()} | {
    "register": "separatrix.catalogue",
    "InputError": "separatrix.messages",
    "SeparatrixWarning": "separatrix.messages",
    "explore": "separatrix.exploration.serve",
    "scan": "separatrix.rows.scan",
    "Rows": "separatrix.rows.rows",
    "Parts": "separatrix.rows.parts",
    "Moments": "separatrix.statistics.moments",
    "TriangularFactor": "separatrix.statistics.triangular",
    "LogisticSamples": "separatrix.bayes.sampling",
    "PosteriorComparison": "separatrix.bayes.bayesian_logistic_regression",
    "MultivariateNormal": "separatrix.geometry.normal",
    "PredictiveDistribution": "separatrix.bayes.predictive",
    "EvidenceCurve": "separatrix.bayes.evidence",
    "mardia": "separatrix.discriminant.covariance_tests",
    "box_m": "separatrix.discriminant.covariance_tests",
    "Hypothesis": "separatrix.theory.hypothesis_class",
    "HypothesisClass": "separatrix.theory.hypothesis_class",
    "Boxes": "separatrix.theory.polygons",
    "Intervals": "separatrix.theory.polygons",
    "UnionsOfIntervals": "separatrix.theory.hypothesis_class",
    "Hyperplanes": "separatrix.theory.half_spaces",
    "Balls": "separatrix.theory.half_spaces",
    "ConvexPolygons": "separatrix.theory.polygons",
    "Triangles": "separatrix.theory.polygons",
    "Predicates": "separatrix.theory.hypothesis_class",
    "BooleanFunctions": "separatrix.theory.boolean",
    "SampleSize": "separatrix.theory.pac",
    "pac_sample_size": "separatrix.theory.pac",
    "PACSimulation": "separatrix.theory.pac",
    "pac_simulation": "separatrix.theory.pac",
    "BiasVariance": "separatrix.theory.bias_variance",
    "bias_variance": "separatrix.theory.bias_variance",
    "polynomial_bias_variance": "separatrix.theory.bias_variance",
    "BootstrapBiasVariance": "separatrix.theory.bias_variance",
    "bootstrap_bias_variance": "separatrix.theory.bias_variance",
    "Shattering": "separatrix.theory.vc_dimension",
    "shatters": "separatrix.theory.vc_dimension",
    "VCDimension": "separatrix.theory.vc_dimension",
    "vc_dimension": "separatrix.theory.vc_dimension",
    "estimate_mean": "separatrix.statistics.estimation",
    "estimate_normal": "separatrix.statistics.estimation",
    "estimate_proportions": "separatrix.statistics.estimation",
    "query": "separatrix.hypotheses.query",
    "Query": "separatrix.hypotheses.query",
    "active_curve": "separatrix.hypotheses.query",
    "ActiveCurve": "separatrix.hypotheses.query",
    "learning_curves": "separatrix.selection.curves",
    "LearningCurves": "separatrix.selection.curves",
    "criteria": "separatrix.selection.criteria",
    "CriteriaTable": "separatrix.selection.criteria",
    "Coverage": "separatrix.conformal.base",
    "roc_curve": "separatrix.probability.roc",
    "reliability": "separatrix.probability.reliability",
    "expected_calibration_error": "separatrix.probability.reliability",
    "brier_score": "separatrix.probability.reliability",
    "coverage_risk": "separatrix.probability.roc",
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
    "StandardizedEuclidean": "separatrix.distances.elliptical",
    "Canberra": "separatrix.distances.vectors",
    "BrayCurtis": "separatrix.distances.vectors",
    "Correlation": "separatrix.distances.vectors",
    "JaccardDistance": "separatrix.distances.vectors",
    "BooleanDistance": "separatrix.distances.vectors",
    "Haversine": "separatrix.distances.vectors",
    "NanEuclidean": "separatrix.distances.gower",
    "Gower": "separatrix.distances.gower",
    "KernelDistance": "separatrix.distances.kernelized",
    "metric_axioms": "separatrix.distances.axioms",
    "distance_concentration": "separatrix.distances.axioms",
    "geometric_median": "separatrix.distances.exemplars",
    "medoid": "separatrix.distances.exemplars",
    "run_curve": "separatrix.study.curves",
    "run_study": "separatrix.study.run",
    "hyperplane_views": "separatrix.study.hyperplane_views",
    "run_clusters": "separatrix.study.cluster.run",
    "Linear": "separatrix.kernels",
    "Polynomial": "separatrix.kernels",
    "Gaussian": "separatrix.kernels",
    "Sigmoid": "separatrix.kernels",
    "Matern": "separatrix.kernels",
    "RationalQuadratic": "separatrix.kernels",
    "Periodic": "separatrix.kernels",
    "Constant": "separatrix.kernels",
    "White": "separatrix.kernels",
    "Fixed": "separatrix.kernels",
    "Bounded": "separatrix.kernels",
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
    "KernelExpansion": "separatrix.geometry.hyperplane",
    "homogeneous": "separatrix.estimators.scaling",
    "newton": "separatrix.optimize.descent",
    "conjugate_gradient": "separatrix.optimize.descent",
    "Quadratic": "separatrix.optimize.descent",
    "LogisticLoss": "separatrix.optimize.descent",
    "linear_separability": "separatrix.geometry.separability",
    "pairwise_separability": "separatrix.geometry.separability",
    "nearest_hull_points": "separatrix.geometry.separability",
    "Dendrogram": "separatrix.cluster.linkage",
    "silhouette": "separatrix.cluster.silhouette",
    "scatter_decomposition": "separatrix.cluster.scatter",
    "export_model": "separatrix.export.export",
    "Export": "separatrix.export.export",
    "save": "separatrix.storage",
    "verify": "separatrix.verification.verify",
    "Verification": "separatrix.verification.verdict",
    "load": "separatrix.storage",
}

__all__ = ["__version__", *HOMES]


def __getattr__(name: str) -> "Any":
    import importlib

    home = HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
