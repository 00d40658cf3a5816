"""Copied rows with random targets are no easier to predict, wherever we draw the folds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import separatrix as sx
from separatrix.messages import InputError, SeparatrixWarning

RNG = np.random.default_rng(3)
ONCE, TARGET = RNG.normal(size=(60, 3)), RNG.normal(size=60)
X, Y = np.tile(ONCE, (5, 1)), np.tile(TARGET, 5)
LABELS = np.tile(RNG.permutation(np.repeat(["u", "v"], 30)), 5)
#: Root mean square of random targets about any constant; a nearest row doubles the square.
SPREAD = TARGET.std()
NEAREST = sx.KNeighborsRegressor(1)
NARROW = sx.GaussianProcessRegressor(sx.Gaussian(0.1), alpha=1e-6, optimizer=None)


def warned(call: Any) -> Any:
    with pytest.warns(SeparatrixWarning, match="SEP009.*240 of 300 rows are exact copies"):
        return call()


@pytest.mark.parametrize("models", [[NEAREST], [sx.Ridge(1e-6)]], ids=["refits", "moments"])
def test_learning_curves(models: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curves = sx.learning_curves(models, X, Y)
    assert curves.mean[-1, 0] > 0.9 * SPREAD


def test_learning_curves_warn_of_copies() -> None:
    warned(lambda: sx.learning_curves([NEAREST], X, Y))
    curves = warned(lambda: sx.learning_curves([sx.KNeighborsClassifier(1)], X, LABELS))
    assert curves.mean[-1, 0] > 0.3


@pytest.mark.parametrize(
    ("model", "classes"),
    [(sx.KNeighborsRegressor("auto"), False), (sx.KNeighborsClassifier("auto"), True)],
    ids=["numbers", "classes"],
)
def test_the_number_of_neighbors_is_not_chosen_by_memory(model: Any, classes: bool) -> None:
    target = LABELS if classes else Y
    copied = clone(model).fit(X, target)
    assert copied.n_neighbors_ > 1
    assert copied.leave_one_out_.error.min() > (0.3 if classes else 0.8 * SPREAD**2)
    weighted = clone(model).fit(ONCE, target[:60], sample_weight=np.full(60, 5))
    np.testing.assert_allclose(
        weighted.leave_one_out_.error, copied.leave_one_out_.error, rtol=1e-9
    )
    np.testing.assert_allclose(
        weighted.leave_one_out_.standard_error, copied.leave_one_out_.standard_error, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("model", "classes"),
    [(sx.NadarayaWatson(), False), (sx.KernelVoteClassifier(), True)],
    ids=["numbers", "classes"],
)
def test_a_bandwidth_is_not_chosen_by_memory(model: Any, classes: bool) -> None:
    target = LABELS if classes else Y
    once = clone(model).fit(ONCE, target[:60])
    weighted = clone(model).fit(ONCE, target[:60], sample_weight=np.full(60, 5))
    copied = clone(model).fit(X, target)
    for other in (copied, weighted):
        assert other.bandwidth_ == pytest.approx(once.bandwidth_, rel=1e-6)
        assert other.bandwidth_search_.loss == pytest.approx(once.bandwidth_search_.loss)


def test_weights_of_a_few_cells_are_rows_left_out_one_at_a_time() -> None:
    cells = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0) for _ in "uv"])
    labels, w = np.tile(["u", "v"], 4), np.array([40, 10, 31, 19, 12, 30, 9, 49])
    for model in (sx.KNeighborsClassifier("auto"), sx.KernelVoteClassifier()):
        a = clone(model).fit(cells, labels, sample_weight=w)
        b = clone(model).fit(np.repeat(cells, w, axis=0), np.repeat(labels, w))
        if isinstance(model, sx.KNeighborsClassifier):
            np.testing.assert_allclose(a.leave_one_out_.error, b.leave_one_out_.error)
            assert a.leave_one_out_.error.min() == pytest.approx(50 / 200)
        else:
            assert a.bandwidth_ == pytest.approx(b.bandwidth_, rel=1e-6)


def test_criteria() -> None:
    models = [sx.KNeighborsRegressor(k) for k in (20, 1)]
    found = warned(lambda: sx.criteria(models, X, Y))
    losses = found.figures.fold_losses
    assert losses.mean(axis=1).min() > 0.8 * SPREAD**2
    assert found.choices["cross-validation"] == 20


def test_an_average_gives_no_weight_to_memory() -> None:
    average = warned(lambda: sx.AveragedRegressor([sx.Ridge(1e6), NEAREST]).fit(X, Y))
    assert average.weights_[1] < 0.5
    average = warned(lambda: sx.ModelAverage([sx.Ridge(1e6), NEAREST], "stacking").fit(X, Y))
    assert average.weights_[1] < 0.5
    models = [sx.LogisticRegression(C=1e-6), sx.KNeighborsClassifier(1)]
    average = warned(lambda: sx.AveragedClassifier(models).fit(X, LABELS))
    assert average.weights_[1] < 0.5


def test_bias_and_variance_by_the_bootstrap() -> None:
    found = warned(lambda: sx.bootstrap_bias_variance(NEAREST, X, Y, 50))
    assert found.bias_and_noise > 0.8 * SPREAD**2
    assert found.variance > 0.2 * SPREAD**2


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (NEAREST, "split"),
        (NEAREST, "cv+"),
        (NEAREST, "cross-conformal"),
        *(
            (model, method)
            for model in (NEAREST, NARROW)
            for method in ("jackknife+", "jackknife-minmax")
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_conformal_intervals_are_as_wide_as_new_rows_need(
    rng: np.random.Generator, model: Any, method: str
) -> None:
    model = warned(lambda: sx.ConformalRegressor(model, method=method).fit(X, Y))
    new, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    low, high = model.predict_interval(new, level=0.8).T
    assert np.mean((low <= y) & (y <= high)) > 0.65
    # 80 % of a normal distribution are within 1.28 standard deviations
    assert np.mean(high - low) > 0.9 * 2.56 * SPREAD


@pytest.mark.parametrize(
    ("model", "once"),
    [(sx.LinearRegression(), sx.LinearRegression()), (sx.Ridge(1e-3), sx.Ridge(2e-4))],
    ids=["least squares", "ridge"],
)
def test_rows_are_left_out_with_their_copies_as_if_each_were_there_once(
    rng: np.random.Generator, model: Any, once: Any
) -> None:
    wide, rows = rng.normal(size=(60, 40)), np.arange(60)
    many = sx.ConformalRegressor(model, method="jackknife+")
    warned(lambda: many.fit(np.tile(wide, (5, 1)), Y))
    refits = [clone(once).fit(wide[rows != i], TARGET[rows != i]) for i in rows]
    own = np.array([refit.predict(wide[[i]])[0] for i, refit in enumerate(refits)])
    np.testing.assert_allclose(many.fits_.own, np.tile(own, 5), rtol=1e-6)


def test_rows_of_a_table_are_left_out_with_their_copies() -> None:
    table = sx.scan(X, Y)
    for model in (sx.Ridge(0.1), NEAREST):
        made = sx.ConformalRegressor(model, method="jackknife+")
        a, b = warned(lambda m=made: clone(m).fit(table)), warned(lambda m=made: m.fit(X, Y))
        np.testing.assert_allclose(a.scores_, b.scores_)
        np.testing.assert_allclose(a.predict_interval(X[:5]), b.predict_interval(X[:5]))


def test_copies_of_one_row_cannot_be_left_out() -> None:
    made, x = sx.ConformalRegressor(sx.Ridge(), method="jackknife+"), np.tile(ONCE[:1], (9, 1))
    with pytest.raises(InputError, match="two rows that differ"):
        made.fit(x, np.tile(TARGET[:1], 9))


def test_sets_of_labels_are_as_large_as_new_rows_need(rng: np.random.Generator) -> None:
    nearest = sx.KNeighborsClassifier(1)
    made = sx.ConformalClassifier(nearest, method="jackknife+")
    model = warned(lambda: made.fit(X, LABELS))
    new, labels = rng.normal(size=(400, 3)), rng.choice(["u", "v"], 400)
    assert model.coverage(new, labels, level=0.8).proportion > 0.65


def test_calibrated_probabilities(rng: np.random.Generator) -> None:
    for estimator in (sx.KNeighborsClassifier(1), sx.SVC(C=1e3, gamma=10.0)):
        model = sx.CalibratedClassifier(estimator, method="platt")
        warned(lambda model=model: model.fit(X, LABELS))
        assert model.predict_proba(rng.normal(size=(50, 3))).max() < 0.9


def test_probabilities_of_an_svm(rng: np.random.Generator) -> None:
    model = sx.SVC(C=1e3, gamma=10.0, probability=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, LABELS)
    assert model.predict_proba(rng.normal(size=(50, 3))).max() < 0.9


@pytest.mark.parametrize(
    ("model", "columns"),
    [(sx.SVCSearch(), 3), (sx.LinearSVCSearch(), 60)],  # of 60 any rows are separable
    ids=["kernel", "linear"],
)
def test_searches_of_classes_do_not_remember(model: Any, columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(60, columns))
    warned(lambda: model.fit(np.tile(x, (5, 1)), LABELS))
    assert model.score_path_.mean(axis=1).min() > 0.8 * np.log(2)


def test_a_search_of_numbers_does_not_remember() -> None:
    model = warned(lambda: sx.SVRSearch().fit(X, Y))
    assert model.score_path_.mean(axis=1).min() > 0.8 * SPREAD**2


def test_the_path_of_an_svm_does_not_remember() -> None:
    path = warned(lambda: sx.SVMPath(kernel=sx.Gaussian(0.1)).fit(X, LABELS))
    assert path.errors_.mean(axis=1).min() > 0.3
    one = np.tile(np.where(np.arange(60) == 0, "u", "v"), 5)
    with pytest.raises(InputError, match="rarest class has 1 that differ"):
        warned(lambda: sx.SVMPath(kernel=sx.Gaussian(0.1)).fit(X, one))


def test_rows_that_chance_repeats_are_rows_like_any_other(rng: np.random.Generator) -> None:
    few = rng.integers(0, 2, size=(200, 2)).astype(float)
    y = rng.integers(0, 2, size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparatrixWarning)
        sx.learning_curves([sx.KNeighborsClassifier(5)], few, y)
        sx.CalibratedClassifier(sx.LogisticRegression()).fit(few, y)


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (sx.LassoCV(cv=5), False),
        (sx.RidgeCV(cv=5), False),
        (sx.LogisticCV(5, cv=5), True),
        (sx.LogisticRegressionCV(Cs=3, cv=5), True),
        (sx.RegularizedDiscriminantAnalysis(cv=5), True),
    ],
    ids=lambda v: type(v).__name__,
)
def test_folds_of_scikit_learn_stay_and_warn_where_they_part_copies(
    model: Any, classes: bool
) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    row, x, y = np.tile(np.arange(60), 5)[order], X[order], (LABELS if classes else Y)[order]
    with pytest.warns(SeparatrixWarning, match="SEP009.*which part copies"):
        model.fit(x, y)
    together = [(np.flatnonzero(row % 5 != f), np.flatnonzero(row % 5 == f)) for f in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparatrixWarning)
        clone(model).set_params(cv=together).fit(x, y)
        if not classes:  # contiguous folds of sixty rows: copies of a row are beside one another
            beside = np.argsort(row, kind="stable")
            clone(model).fit(x[beside], y[beside])


@pytest.mark.parametrize(
    "model",
    [
        sx.LassoCV(cv=5),
        sx.RidgeCV(cv=5),
        sx.RidgeCV(cv=5, scoring="neg_mean_absolute_error"),
    ],
    ids=["lasso", "ridge", "ridge by another score"],
)
def test_folds_of_few_rows_and_many_columns_warn_too(rng: np.random.Generator, model: Any) -> None:
    order = rng.permutation(80)
    x, y = np.tile(rng.normal(size=(40, 200)), (2, 1))[order], np.tile(Y[:40], 2)[order]
    with pytest.warns(SeparatrixWarning, match="SEP009 40 of 80 rows.*which part copies"):
        model.fit(x, y)


def test_copies_are_found_among_many_rows(rng: np.random.Generator) -> None:
    many, y = np.tile(rng.normal(size=(4_000, 2)), (5, 1)), np.tile(rng.normal(size=4_000), 5)
    with pytest.warns(SeparatrixWarning, match="SEP009.*which part copies"):
        sx.LassoCV(cv=5).fit(many, y)
