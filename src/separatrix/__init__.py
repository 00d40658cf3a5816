"""separatrix: lines, boundaries and clusters from tables, each with a certificate.

Public names are imported on first use, so that ``import separatrix`` is fast; their types are in
``__init__.pyi``.
"""

TYPE_CHECKING = False  # so that the command heeds signals sooner
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

#: Public names that are no estimators, by the module that defines them.
_BESIDE = {
    "catalogue": "register",
    "messages": "InputError SeparatrixWarning",
    "exploration.serve": "explore",
    "rows.scan": "scan",
    "rows.rows": "Rows",
    "rows.parts": "Parts",
    "statistics.moments": "Moments",
    "statistics.triangular": "TriangularFactor",
    "additive.base": "AdditiveTerm Curve AdditiveSummary",
    "bayes.sampling": "LogisticSamples",
    "bayes.bayesian_logistic_regression": "PosteriorComparison",
    "geometry.normal": "MultivariateNormal",
    "bayes.predictive": "PredictiveDistribution",
    "bayes.evidence": "EvidenceCurve",
    "discriminant.covariance_tests": "mardia box_m",
    "theory.hypothesis_class": "Hypothesis HypothesisClass UnionsOfIntervals Predicates",
    "theory.polygons": "Boxes Intervals ConvexPolygons Triangles",
    "theory.half_spaces": "Hyperplanes Balls",
    "theory.boolean": "BooleanFunctions",
    "theory.bias_variance": (
        "BiasVariance bias_variance polynomial_bias_variance BootstrapBiasVariance "
        "bootstrap_bias_variance ClassBiasVariance class_bias_variance "
        "bootstrap_class_bias_variance"
    ),
    "theory.vc_dimension": (
        "Shattering shatters VCDimension vc_dimension SampleSize pac_sample_size PACSimulation "
        "pac_simulation"
    ),
    "statistics.estimation": "estimate_mean estimate_normal estimate_proportions",
    "hypotheses.query": "query Query active_curve ActiveCurve",
    "hypotheses.generation": "generate_query GeneratedQuery",
    "selection.curves": "learning_curves LearningCurves",
    "selection.criteria": "criteria CriteriaTable",
    "conformal.base": "Coverage",
    "probability.roc": "roc_curve coverage_risk",
    "probability.reliability": "reliability expected_calibration_error brier_score",
    "distances.metrics": (
        "Minkowski Manhattan Euclidean SquaredEuclidean Chebyshev Cosine Canberra BrayCurtis "
        "Correlation JaccardDistance BooleanDistance Haversine"
    ),
    "distances.sequences": "Hamming Edit",
    "distances.elliptical": "Mahalanobis Elliptical StandardizedEuclidean",
    "distances.gower": "NanEuclidean Gower",
    "distances.kernelized": "KernelDistance",
    "distances.graphs": "GraphDistance",
    "distances.axioms": "metric_axioms distance_concentration",
    "estimators.predict_frame": "predict_frame",
    "estimators.extrapolation": "check_extrapolation ExtrapolationCheck",
    "distances.exemplars": "geometric_median medoid",
    "study.curves": "run_curve",
    "study.drift": "check_drift",
    "study.pairing": "compare_predictions",
    "study.run": "run_study",
    "study.hyperplane_views": "hyperplane_views",
    "study.cluster.run": "run_clusters",
    "kernels": (
        "Linear Polynomial Gaussian Sigmoid Laplace Matern RationalQuadratic Periodic Constant "
        "White Fixed Bounded Precomputed Spectrum Subsequence SetKernel Jaccard TreeKernel "
        "SubtreeKernel GraphKernel TermKernel KernelExpansion kernel_distance kernel_cosine"
    ),
    "kernels.gradients": "average_gradient_outer_product",
    "kernels.mercer": "is_mercer",
    "estimators.transformers": "homogeneous",
    "optimize.descent": "newton conjugate_gradient Quadratic LogisticLoss",
    "geometry.separability": "linear_separability pairwise_separability nearest_hull_points",
    "cluster.linkage": "Dendrogram",
    "cluster.silhouette": "silhouette",
    "cluster.scatter": "scatter_decomposition",
    "export.export": "export_model Export",
    "storage": "save load",
    "verification.verify": "verify",
    "verification.verdict": "Verification",
}


def __getattr__(name: str) -> "Any":
    import importlib

    homes = _locate_names()
    if name == "HOMES":
        return homes
    if name == "__all__":
        return ["__version__", *homes]
    if name not in homes:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(importlib.import_module(homes[name]), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return ["__version__", *_locate_names()]


def _locate_names() -> "dict[str, str]":
    """Public name → the module that defines it; what is declared is read only when it is needed."""
    if "HOMES" not in globals():
        from separatrix.catalogue import DECLARATIONS

        homes = {name: declared.home for name, declared in DECLARATIONS.items()}
        for home, names in _BESIDE.items():
            homes |= dict.fromkeys(names.split(), f"separatrix.{home}")
        globals()["HOMES"] = homes
    return globals()["HOMES"]  # type: ignore[no-any-return]
