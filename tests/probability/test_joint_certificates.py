"""Certificates of models that wrap others: every number once, and what falls short named."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx


def table(n: int = 120):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, np.where(x[:, 0] + rng.logistic(size=n) > 0, "b", "a")


def test_a_single_part_is_quoted_once() -> None:
    x, y = table()
    model = sx.RejectOption(sx.LogisticRegression(C=1.0), costs=0.2).fit(x, y)
    text = str(model.certificate_)
    assert text.startswith("The decision of least expected cost")
    assert text.count("KKT residual") == 1
    assert text.count("uality gap") == 1
    assert "Logistic regression: no other coefficients have a lower objective" in text
    assert model.certificate_.holds
    assert model.certificate_.kkt == model.estimator_.certificate_.kkt


def test_several_parts_that_hold() -> None:
    x, y = table()
    text = str(sx.CalibratedClassifier(sx.LogisticRegression(C=1.0), cv=3).fit(x, y).certificate_)
    assert "Both parts are certified." in text
    assert text.count("KKT residual") == 1


@pytest.mark.filterwarnings("ignore::separatrix.SeparatrixWarning")
def test_what_falls_short_is_named() -> None:
    x, y = table()
    x = np.column_stack([x, np.zeros(len(x))])
    x[np.flatnonzero(y == "a")[:12], 2] = 1.0
    found = sx.CalibratedClassifier(sx.LogisticRegression(C=np.inf), cv=3).fit(x, y).certificate_
    text = str(found)
    assert not found.holds
    assert "1 of 2 parts falls short: The classes are quasi-completely separable" in text
    assert "tolerance" not in text  # nothing was measured that could have reached one
