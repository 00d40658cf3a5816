"""Which function writes which model as a graph: by class, or by the nearest class it derives from.

Modules are imported when they are needed, so that a linear model does not wait for processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from separatrix.export.onnx.answers import Answer
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows, Matrix

#: Class → module and function of ``export/onnx/families/``.
CONVERTERS = {
    "LinearModel": ("linear", "linear_regression"),
    "PolynomialRegression": ("linear", "polynomial_regression"),
    "BayesianLinearModel": ("linear", "posterior_regression"),
    "LinearClassifier": ("linear", "linear_classifier"),
    "ProbabilisticLinearClassifier": ("linear", "logistic_classifier"),
    "GradientDescent": ("linear", "gradient_descent"),
    "SigmoidRegressionClassifier": ("linear", "sigmoid_regression"),
    "MostFrequentClassifier": ("linear", "most_frequent"),
    "GaussianClassifier": ("discriminant", "gaussian_classes"),
    "LinearDiscriminantAnalysis": ("discriminant", "discriminant_analysis"),
    "RegularizedDiscriminantAnalysis": ("discriminant", "regularized_classes"),
    "NaiveBayes": ("discriminant", "naive_bayes"),
    "CountNaiveBayes": ("discriminant", "count_classes"),
    "SVCSearch": ("svm", "searched_classifier"),
    "KernelClassifier": ("svm", "support_vector_classifier"),
    "KernelRegressor": ("svm", "support_vector_regressor"),
    "OneClassSVM": ("svm", "one_class"),
    "LinearSVC": ("svm", "linear_svm"),
    "SVMPath": ("svm", "path_classifier"),
    "KernelPerceptron": ("svm", "kernel_perceptron"),
    "KNeighborsClassifier": ("neighbors", "neighbors_classifier"),
    "KNeighborsRegressor": ("neighbors", "neighbors_regressor"),
    "RadiusNeighborsClassifier": ("neighbors", "radius_classifier"),
    "RadiusNeighborsRegressor": ("neighbors", "radius_regressor"),
    "KernelVoteClassifier": ("neighbors", "kernel_vote"),
    "NadarayaWatson": ("neighbors", "kernel_mean"),
    "NearestExemplar": ("neighbors", "nearest_exemplar"),
    "KMeans": ("clusters", "kmeans"),
    "KMedoids": ("clusters", "kmedoids"),
    "KernelKMeans": ("clusters", "kernel_kmeans"),
    "BoxClassifier": ("hypotheses", "box_classifier"),
    "UnionOfBoxes": ("hypotheses", "box_classifier"),
    "BallClassifier": ("hypotheses", "ball_classifier"),
    "EllipsoidClassifier": ("hypotheses", "ellipsoid_classifier"),
    "GaussianProcessRegressor": ("processes", "process_regressor"),
    "GaussianProcessClassifier": ("processes", "process_classifier"),
    "BayesianLogisticRegression": ("processes", "bayesian_logistic"),
    "CalibratedClassifier": ("probability", "calibrated_classifier"),
    "RejectOption": ("probability", "reject_option"),
    "OneVsRest": ("probability", "one_vs_rest"),
    "OneVsOne": ("probability", "one_vs_one"),
    "ConstantLabel": ("probability", "constant_label"),
    "ConformalRegressor": ("conformal", "conformal_regressor"),
    "ConformalClassifier": ("conformal", "conformal_classifier"),
    "AveragedClassifier": ("averages", "averaged"),
    "AveragedRegressor": ("averages", "averaged"),
    "MixtureOfModels": ("averages", "averaged"),
}
#: Transformers before the last step of a pipeline.
TRANSFORMERS = {
    "Center": "centered",
    "Standardize": "standardized",
    "Whiten": "whitened",
    "TableEncoder": "encoded",
    "BasisExpansion": "expanded",
}


def convert(model: Any, source: GraphRows) -> Answer:
    """The answer of a fitted model in the graph of its source."""
    if type(model).__name__ == "Pipeline":
        rows = source
        for _, step in model.steps[:-1]:
            if step is not None and step != "passthrough":
                rows = Matrix(_transformed(step, rows))
        return convert(model.steps[-1][1], rows)
    place = _place(model, CONVERTERS)
    if place is None:
        name, home = type(model).__name__, type(model).__module__.split(".")[0]
        if home != "separatrix":
            raise GraphRefused(
                f"{name} of {home} is no model of this library, which alone have graphs."
            )
        raise GraphRefused(f"{name} predicts nothing for new rows that a graph could.")
    module, function = place
    found: Answer = getattr(import_module(f"separatrix.export.onnx.families.{module}"), function)(
        model, source
    )
    return found


def _place(model: Any, table: dict[str, Any]) -> Any:
    """The entry of the nearest class among those that the model's class derives from."""
    for each in type(model).__mro__:
        if each.__module__.startswith("separatrix.") and each.__name__ in table:
            return table[each.__name__]
    return None


def _transformed(step: Any, source: GraphRows) -> Any:
    function = _place(step, TRANSFORMERS)
    if function is None:
        raise GraphRefused(f"The step {type(step).__name__} of a pipeline has no export.")
    return getattr(import_module("separatrix.export.onnx.transformers"), function)(step, source)
