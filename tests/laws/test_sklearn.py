"""scikit-learn's own checks, for every estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from tests.registry import REGISTRY

#: The tables of these checks have classes of equal rows, or of fewer rows than columns.
SINGULAR = (
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
#: Where the order of rows counts, a row twice is not one row with twice the step.
REPEATED = SINGULAR[2:]
ON_LINE = (sx.Perceptron, sx.KernelPerceptron, sx.PerceptronRegressor)


def by_definition(estimator: Any) -> dict[str, str]:
    """Checks that a model must refuse: a covariance of its own for every class needs rows.

    And those that an on-line method cannot pass: its weights are not repeats.
    """
    if isinstance(estimator, ON_LINE):
        return dict.fromkeys(REPEATED, "a weight multiplies a step")
    own = isinstance(estimator, sx.QuadraticDiscriminantAnalysis) or (
        isinstance(estimator, sx.GaussianDiscriminant)
        and not estimator.alpha
        and not estimator.covariance.startswith("shared")
    )
    return dict.fromkeys(SINGULAR, "a class is singular and is refused") if own else {}


@parametrize_with_checks([row.make() for row in REGISTRY], expected_failed_checks=by_definition)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
