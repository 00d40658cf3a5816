"""What holds for every clustering, flat or hierarchical: units, refusals, scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.laws.data import points
from tests.registry import CLUSTERERS, HIERARCHIES, Row

EVERY = [*CLUSTERERS, *HIERARCHIES]
every = pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)


@every
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_one_unit_for_all_columns_does_not_matter(row: Row, factor: float) -> None:
    x = points()
    assert_array_equal(row.make().fit(x * factor).labels_, row.make().fit(x).labels_)


@every
@pytest.mark.parametrize("k", [6, 0, -1, 2.5])
def test_invalid_n_clusters(row: Row, k: float) -> None:
    with pytest.raises(ValueError, match="n_clusters"):
        row.make().set_params(n_clusters=k).fit(points(5))


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(row: Row, bad: float) -> None:
    x = points()
    x[3, 1] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinit"):
        row.make().fit(x)


@parametrize_with_checks([row.make() for row in EVERY])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)
