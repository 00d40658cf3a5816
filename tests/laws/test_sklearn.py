"""scikit-learn's own checks, for every estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.registry import REGISTRY


@parametrize_with_checks([row.make() for row in REGISTRY])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
