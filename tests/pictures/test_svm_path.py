"""The path over C of our own machines: exact, or as a search walked it."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.pictures import DualCoefficientDisplay, SVMPathDisplay


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((70, 2))
    return x, x[:, 0] + 0.6 * rng.standard_normal(70) > 0


def test_of_an_exact_path(rows) -> None:
    path = sx.SVMPath().fit(*rows)
    picture = SVMPathDisplay.from_estimator(path)
    assert picture.chosen == path.C_
    assert len(picture.Cs) <= 200
    for C, count in list(zip(picture.Cs, picture.n_support, strict=True))[::20]:
        assert count == (path.alpha_at(C) > 0).sum()
    with pytest.raises(InputError, match="not cross-validated"):
        SVMPathDisplay.from_estimator(sx.SVMPath(C=1.0).fit(*rows))


def test_of_a_search(rows) -> None:
    model = sx.SVCSearch().fit(*rows)
    picture = SVMPathDisplay.from_estimator(model, metric="log_loss")
    assert picture.scores == pytest.approx(model.score_path_)
    with_rows = SVMPathDisplay(model.Cs_, model.n_support_path_, n_rows=model.n_search_rows_)
    assert "support vectors (of 70 rows) goes" in with_rows.description
    dual = DualCoefficientDisplay.from_estimator(model, rows[1])
    assert dual.C[0] == model.C_
    assert dual.alpha == pytest.approx(model.alpha_)
