"""A column at a glance, from one pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from separatrix import scan
from separatrix.rows.profile import Profile, profile
from separatrix.rows.schema import Kind

from .tables import mixed


@pytest.mark.parametrize("block_rows", [30, 65536])
def test_profile_equals_that_of_pandas(block_rows):
    frame = mixed().dropna(subset="price")
    found = {p.name: p for p in profile(scan(mixed(), target="price", block_rows=block_rows))}
    assert list(found) == ["height", "rooms", "town", "garden", "price"]
    for name in ("height", "rooms", "price"):
        p, column = found[name], frame[name]
        assert (p.count, p.missing) == (len(frame), int(column.isna().sum()))
        assert (p.minimum, p.maximum) == (column.min(), column.max())
        assert p.mean == pytest.approx(column.mean(), rel=1e-14)
        assert p.std == pytest.approx(column.std(ddof=0), rel=1e-8)
    assert found["rooms"].distinct == 8
    assert found["rooms"].integer
    assert found["height"].distinct is None
    assert not found["height"].integer
    town = found["town"]
    assert town.kind is Kind.DISCRETE
    assert town.missing == frame["town"].isna().sum()
    assert town.levels == frame["town"].value_counts().to_dict()
    assert list(town.levels) == ["Pisa", "Lund", "Ghent"]
    assert found["garden"].mean == pytest.approx(frame["garden"].mean())


def test_profiles_merge():
    a, b = Profile(), Profile()
    frame = mixed().dropna(subset="price")
    rows = scan(frame, target="price").read()
    a.update(rows.take(slice(0, 150)).block)
    b.update(rows.take(slice(150, None)).block)
    both, whole = (a + b).columns(rows.schema), profile(rows)
    for p, q in zip(both, whole, strict=True):
        assert (p.name, p.missing, p.minimum, p.maximum, p.levels) == (
            *(q.name, q.missing, q.minimum, q.maximum, q.levels),
        )
        np.testing.assert_allclose([p.mean, p.std], [q.mean, q.std], rtol=1e-9)


def test_sparse_rows_and_long_lists_of_levels():
    x = sparse.csr_array(np.array([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.0]]))
    first, second = profile(scan(x))
    assert (first.minimum, first.maximum, second.maximum, second.distinct) == (-1.0, 0.0, 2.0, 2)
    frame = pd.DataFrame({"t": [f"v{i % 70}" for i in range(700)], "y": range(700)})
    town = profile(scan(frame, target="y"))[0]
    assert town.distinct == 70
    assert len(town.levels) == 50
