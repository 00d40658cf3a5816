"""Naive Bayes on counts: scikit-learn's answers from dense and sparse tables, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes as theirs
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from separatrix import threads
from separatrix.statistics import class_counts

NAMES = ("MultinomialNB", "ComplementNB", "BernoulliNB")
each = pytest.mark.parametrize("name", NAMES)


def texts(n: int = 120, d: int = 50, k: int = 4) -> tuple[Any, np.ndarray]:
    """Counts by Zipf's law, sparse, with an empty row and an empty column."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    words = rng.zipf(1.6, (n, 20)) % (d - 1)
    words[:, :5] = (words[:, :5] * 3 + 7 * y[:, None]) % (d - 1)
    x = np.zeros((n, d))
    np.add.at(x, (np.arange(n)[:, None], words), 1.0)
    x[3] = 0.0
    return sparse.csr_matrix(x), y


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "MultinomialNB": [
        {},
        {"alpha": np.linspace(0.1, 2.0, 50)},
        {"class_prior": [0.4, 0.3, 0.2, 0.1]},
    ],
    "ComplementNB": [{}, {"norm": True, "alpha": 0.3}, {"fit_prior": False}],
    "BernoulliNB": [{}, {"binarize": 1.0, "alpha": 0.5}],
}


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name in NAMES for options in OPTIONS[name]]
)
def test_answers_are_those_of_scikit_learn(name: str, options: dict[str, Any]) -> None:
    x, y = texts()
    w = np.random.default_rng(1).random(len(y))
    for table in (x, x.toarray()):
        own = getattr(sx, name)(**options).fit(table, y, w)
        other = getattr(theirs, name)(**options).fit(table, y, w)
        for attribute in (
            "feature_count_",
            "class_count_",
            "feature_log_prob_",
            "class_log_prior_",
        ):
            assert_allclose(getattr(own, attribute), getattr(other, attribute), rtol=1e-12)
        for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
            expected = getattr(other, method)(table)
            assert_allclose(getattr(own, method)(table), expected, rtol=1e-9, atol=1e-12)


@each
def test_portions_add_up_to_the_whole(name: str) -> None:
    x, y = texts()
    whole, portions = getattr(sx, name)().fit(x, y), getattr(sx, name)()
    with pytest.raises(sx.InputError, match="classes must be passed"):
        portions.partial_fit(x, y)
    for start in range(0, len(y), 40):
        here = slice(start, start + 40)
        portions.partial_fit(x[here], y[here], classes=range(4))
    assert_allclose(portions.feature_log_prob_, whole.feature_log_prob_, rtol=1e-12)
    with pytest.raises(sx.InputError, match="not the same as on last call"):
        portions.partial_fit(x, y, classes=range(3))


@each
def test_storage_of_a_sparse_table_does_not_matter(name: str) -> None:
    """Explicit zeros, duplicates, unsorted and wide indices; what is given stays as it is."""
    x, y = texts()
    expected = getattr(sx, name)().fit(x, y)
    split = sparse.csr_matrix(
        (
            np.concatenate([np.repeat(part.data[::-1] / 2.0, 2) for part in x]),
            np.concatenate([np.repeat(part.indices[::-1], 2) for part in x]).astype(np.int64),
            2 * x.indptr.astype(np.int64),
        ),
        shape=x.shape,
    )
    before = split.data.copy(), split.indices.copy()
    model = getattr(sx, name)().fit(split, y)
    assert_allclose(model.feature_log_prob_, expected.feature_log_prob_, rtol=1e-12)
    assert_allclose(model.predict_log_proba(split), expected.predict_log_proba(x), atol=1e-9)
    assert np.array_equal(split.data, before[0])
    assert np.array_equal(split.indices, before[1])


@each
def test_without_smoothing_the_fewest_impossible_words_decide(name: str) -> None:
    """Probabilities are the limit of vanishing smoothing, and never NaN."""
    x, y = texts()
    p = getattr(sx, name)(alpha=0.0).fit(x, y).predict_proba(x)
    near = getattr(sx, name)(alpha=1e-80).fit(x, y).predict_proba(x)
    assert_allclose(p, near, atol=1e-6)
    with pytest.warns(sx.SeparatrixWarning, match="SEP014"):
        raised = getattr(sx, name)(alpha=0.0, force_alpha=False).fit(x, y)
    assert_allclose(
        raised.feature_log_prob_, getattr(sx, name)(alpha=1e-10).fit(x, y).feature_log_prob_
    )


@pytest.mark.parametrize("name", NAMES[:2])
def test_what_is_no_count_is_refused(name: str) -> None:
    x, y = texts()
    for table in (-x, -x.toarray()):
        with pytest.raises(sx.InputError, match="Negative values in data"):
            getattr(sx, name)().fit(table, y)
    x.data[5] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        getattr(sx, name)().fit(x, y)
    for alpha in (-1.0, [1.0, 2.0], "a"):
        with pytest.raises(sx.InputError, match="alpha"):
            getattr(sx, name)(alpha=alpha).fit(*texts())


@pytest.mark.parametrize("dense", [False, True])
def test_sums_are_the_same_bits_on_any_number_of_threads(monkeypatch, dense: bool) -> None:
    """Cut within classes and between them; the sums are those of the definition."""
    monkeypatch.setattr(class_counts, "MIN_NUMBERS", 64)
    monkeypatch.setattr(class_counts, "REUSE", 1)
    rng = np.random.default_rng(2)
    x: Any = sparse.random(3000, 40, 0.2, format="csr", random_state=0)
    codes = np.minimum(rng.geometric(0.3, 3000), 6) - 1
    w = rng.random(3000)
    expected = np.stack([(x[codes == c].T @ w[codes == c]) for c in range(7)])
    x = x.toarray() if dense else x
    found = class_counts.class_counts(x, codes, w, 7)
    assert found.non_negative
    assert_allclose(found.counts, expected, rtol=1e-12)
    with threads.thread_limit(1):
        assert np.array_equal(class_counts.class_counts(x, codes, w, 7).counts, found.counts)
