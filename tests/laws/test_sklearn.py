"""scikit-learn's own checks, for every estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import separatrix as sx
from tests.registry import REGISTRY

#: In these checks a class has all its rows in few places: none for a column to vary in, or so few
#: rows that no covariance of its own can be of full rank.
CONSTANT = dict.fromkeys(
    ("check_sample_weights_shape", "check_sample_weights_not_overwritten"),
    "in some column all rows of a class agree, and a variance of zero is refused",
)
FEW_ROWS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a class has one row or fewer rows than columns: its own covariance is singular and refused",
)
#: Where the order of rows counts, a row twice is not one row with twice the step.
REPEATED = tuple(FEW_ROWS)
ON_LINE = (sx.Perceptron, sx.KernelPerceptron, sx.PerceptronRegressor)


def by_definition(estimator: Any) -> dict[str, str]:
    """Checks that a model must refuse: a covariance of its own for every class needs rows.

    And those that an on-line method cannot pass: its weights are not repeats.
    """
    if isinstance(estimator, ON_LINE) and getattr(estimator, "update", "online") == "online":
        steps = "a weight multiplies a step"
        pocket = getattr(estimator, "pocket", False)
        ends = (
            pocket or getattr(estimator, "order", None) == "given"
        )  # at no mistake, or the fewest
        factors = isinstance(estimator, sx.Perceptron) and ends
        repeats = {} if pocket else dict.fromkeys(REPEATED, steps)
        return repeats | ({"check_class_weight_classifiers": steps} if factors else {})
    if isinstance(estimator, sx.SVC | sx.LinearSVC) and estimator.probability is True:
        held_out = dict.fromkeys(REPEATED, "a class of one row cannot be held out")
        likelier = {"check_classifiers_train": "the most probable class, not the score's side"}
        return held_out | (likelier if isinstance(estimator, sx.LinearSVC) else {})
    if isinstance(estimator, sx.BayesianLogisticRegression):
        averaged = "a probability is a mean over the posterior, and falls with its variance"
        return {"check_decision_proba_consistency": averaged}
    if isinstance(estimator, sx.NuSVC):
        return dict.fromkeys(
            ("check_class_weight_classifiers", *REPEATED), "nu is infeasible for such weights"
        )
    own = isinstance(estimator, sx.QuadraticDiscriminantAnalysis) or (
        isinstance(estimator, sx.GaussianDiscriminant)
        and not estimator.alpha
        and not estimator.covariance.startswith("shared")
    )
    if not own:
        return {}
    if getattr(estimator, "estimation", "ml") != "ml":  # a prior varies where a class does not
        return FEW_ROWS
    structure = getattr(estimator, "covariance", "full")
    constant = {} if structure == "spherical" else CONSTANT  # which needs one column that varies
    return constant | (FEW_ROWS if structure == "full" else {})


#: What a class passes or fails whatever its options: names, tags, refusals, other containers of the
#: same numbers. The first row of a class in the registry is checked for them.
OF_A_CLASS = {
    f"check_{name}"
    for name in (
        "estimator_cloneable", "estimator_tags_renamed", "valid_tag_types", "estimator_repr",
        "no_attributes_set_in_init", "estimators_overwrite_params", "dont_overwrite_parameters",
        "estimators_fit_returns_self", "readonly_memmap_input", "estimators_unfitted",
        "do_not_raise_errors_in_init_or_set_params", "n_features_in_after_fitting", "mixin_order",
        "positive_only_tag_during_fit", "sample_weights_pandas_series",
        "sample_weights_not_an_array", "sample_weights_list", "all_zero_sample_weights_error",
        "complex_data", "dtype_object", "estimators_empty_data_messages", "estimator_sparse_matrix",
        "estimators_pickle", "array_api_input", "f_contiguous_array_estimator",
        "classifier_data_not_an_array", "regressor_data_not_an_array",
        "estimators_partial_fit_n_features", "classifiers_regression_target",
        "supervised_y_no_nan", "parameters_default_constructible", "get_params_invariance",
        "set_params", "dict_unchanged", "fit_check_is_fitted", "n_features_in", "fit1d",
        "fit2d_predict1d", "requires_y_none", "fit_score_takes_y", "sample_weights_shape",
        "sample_weights_not_overwritten", "supervised_y_2d", "pipeline_consistency",
        "estimator_sparse_tag", "non_transformer_estimators_n_iter", "estimator_sparse_array",
        "estimators_dtypes", "classifiers_classes", "estimators_nan_inf", "fit2d_1feature",
        "fit2d_1sample",
    )
}  # fmt: skip


def checks() -> Iterator[Any]:
    """Every check of the first row of a class; of the others, those that options may change.

    Sparse matrices are sparse arrays by another name: one class in each family is given both.
    """
    seen: set[type | str] = set()
    for row in REGISTRY:
        estimator = row.make()
        family = type(estimator).__module__.split(".")[1]
        again, both = type(estimator) in seen, family not in seen
        seen |= {type(estimator), family}
        expected = by_definition(estimator)
        for _, check in estimator_checks_generator(estimator):
            name, options = check.func.__name__, check.keywords
            if again and (name in OF_A_CLASS or "readonly_memmap" in options):
                continue
            if options == {"readonly_memmap": True}:  # as check_readonly_memmap_input, which is run
                continue
            if name == "check_estimator_sparse_matrix" and not both:
                continue
            words = [name, *(f"{key}={value}" for key, value in options.items())]
            yield pytest.param(
                estimator, check, expected.get(name, ""), id=f"{row.name}-{' '.join(words)}"
            )


@pytest.mark.parametrize(("estimator", "check", "refusal"), list(checks()))
def test_scikit_learn_checks(estimator: Any, check: Any, refusal: str) -> None:
    """A check passes, or fails for the reason that the model states.

    No mark for expected failures: pytest would format the traceback of each, which takes longer
    than most checks.
    """
    refused = pytest.raises((AssertionError, TypeError, ValueError)) if refusal else nullcontext()
    with refused:
        check(estimator)
