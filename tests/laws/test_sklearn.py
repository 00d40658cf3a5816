"""scikit-learn's own checks, for every estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

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
    if isinstance(estimator, ON_LINE) and not getattr(estimator, "pocket", False):
        return dict.fromkeys(REPEATED, "a weight multiplies a step")
    if isinstance(estimator, sx.SVC | sx.LinearSVC) and estimator.probability is True:
        held_out = dict.fromkeys(REPEATED, "a class of one row cannot be held out")
        likelier = {"check_classifiers_train": "the most probable class, not the score's side"}
        return held_out | (likelier if isinstance(estimator, sx.LinearSVC) else {})
    own = isinstance(estimator, sx.QuadraticDiscriminantAnalysis) or (
        isinstance(estimator, sx.GaussianDiscriminant)
        and not estimator.alpha
        and not estimator.covariance.startswith("shared")
    )
    if not own:
        return {}
    sphere = getattr(estimator, "covariance", "") == "spherical"  # needs one column that varies
    return FEW_ROWS if sphere else CONSTANT | FEW_ROWS


@parametrize_with_checks(
    [row.make() for row in REGISTRY], expected_failed_checks=by_definition, xfail_strict=True
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
