"""Metadata of rows reach the scorer fold by fold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import get_scorer

import separatrix as sx


@pytest.mark.parametrize("routing", [False, True])
def test_weights_of_test_rows_reach_the_scorer(routing: bool) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    y, w = (x[:, 0] + rng.normal(size=60) > 0).astype(int), rng.integers(1, 4, 60).astype(float)
    with config_context(enable_metadata_routing=routing):
        scorer = get_scorer("accuracy")
        if routing:
            scorer = scorer.set_score_request(sample_weight=True)
        ours = sx.LogisticRegressionCV(Cs=3, scoring=scorer).fit(x, y, sample_weight=w)
        peer = LogisticRegressionCV(Cs=3, scoring=scorer, tol=1e-8, max_iter=1000)
        peer.fit(x, y, sample_weight=w)
    np.testing.assert_allclose(np.asarray(ours.scores_[1]), np.asarray(peer.scores_[1]))
