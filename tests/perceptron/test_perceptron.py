"""The perceptron against a plain loop over rows, and against its own theory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model

import separatrix as sx
from separatrix.pictures import PerceptronTraceDisplay
from separatrix.rows.rows import ArrayRows

ORDERS = {
    "given": lambda random, n: np.arange(n),
    "shuffled": lambda random, n: random.permutation(n),
    "random": lambda random, n: random.randint(0, n, n),
}


lattice = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 8), st.integers(1, 3)),
    elements=st.integers(-2, 2).map(float),
)


def plain_loop(x, side, *, rate=1.0, epochs=10, order="given", w=None, weights=None, seed=0):
    """One output, row after row: weights after every row, and mistakes of every epoch."""
    z = np.column_stack([np.ones(len(x)), x])
    w = np.zeros(z.shape[1]) if w is None else np.array(w)
    weights = np.ones(len(x)) if weights is None else weights
    random = np.random.RandomState(seed)
    seen, mistakes = [], []
    for _ in range(epochs):
        wrong = 0
        for i in ORDERS[order](random, len(x)):
            if side[i] * (w @ z[i]) <= 0:
                w = w + rate * weights[i] * side[i] * z[i]
                wrong += 1
            seen.append(w)
        mistakes.append(wrong)
        if wrong == 0 and (side * (z @ w) > 0).all():
            break
    return np.array(seen), np.array(mistakes)


def table(n=60, d=3, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (n, d)).astype(float)  # whole numbers: sums without rounding
    y = np.where(x @ rng.integers(-3, 4, d) + 0.5 + noise * rng.standard_normal(n) > 0, 1, -1)
    return x, y


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("noise", [0.0, 12.0])
def test_agrees_with_a_plain_loop(order: str, noise: float) -> None:
    x, y = table(noise=noise)
    model = sx.Perceptron(order=order, max_epochs=30, random_state=3, store_weights=True).fit(x, y)
    seen, mistakes = plain_loop(x, y, order=order, epochs=30, seed=3)
    assert_array_equal(model.coef_[0], seen[-1][1:])
    assert_array_equal(model.intercept_, seen[-1][:1])
    assert_array_equal(model.trace_.mistakes[:, 0], mistakes)
    assert_array_equal(model.trace_.coef[:, 0], seen[len(x) - 1 :: len(x), 1:])
    assert_array_equal(model.trace_.intercept[:, 0], seen[len(x) - 1 :: len(x), 0])
    assert model.mistakes_.tolist() == [mistakes.sum()]
    assert model.n_iter_ == len(mistakes)


def test_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((300, 8))
    y = (x @ rng.standard_normal(8) + rng.standard_normal(300) > 0).astype(int)
    other = linear_model.Perceptron(max_iter=6, tol=None, shuffle=False).fit(x, y)
    model = sx.Perceptron(max_epochs=6).fit(x, y)
    assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    assert_allclose(model.intercept_, other.intercept_, rtol=1e-9)


def test_average_is_the_mean_of_the_weights_over_all_rows_seen() -> None:
    x, y = table(noise=12.0)
    model = sx.Perceptron(average=True, max_epochs=7).fit(x, y)
    seen, _ = plain_loop(x, y, epochs=7)
    assert_allclose(model.coef_[0], seen.mean(axis=0)[1:], rtol=1e-12)
    assert_allclose(model.intercept_, seen.mean(axis=0)[:1], rtol=1e-12)


def test_pocket_returns_the_weights_with_the_fewest_mistakes() -> None:
    x, y = table(n=150, noise=12.0)
    wrong = {}
    for pocket in (False, True):
        model = sx.Perceptron(pocket=pocket, max_epochs=40, store_weights=True).fit(x, y)
        wrong[pocket] = int((y * model.decision_function(x) <= 0).sum())
    epochs = zip(model.trace_.coef[:, 0], model.trace_.intercept[:, 0], strict=True)
    assert wrong[True] <= min((y * (x @ w + b) <= 0).sum() for w, b in epochs)
    assert wrong[True] < wrong[False]
    assert f"{wrong[True]} of 150 training rows" in str(model.certificate_)


def test_sample_weight_multiplies_the_update_and_zero_removes_the_row() -> None:
    x, y = table(noise=12.0)
    w = np.random.default_rng(1).integers(0, 3, len(x)).astype(float)
    model = sx.Perceptron(eta0=0.5, max_epochs=5).fit(x, y, sample_weight=w)
    positive = w > 0
    seen, _ = plain_loop(x[positive], y[positive], rate=0.5, weights=w[positive], epochs=5)
    assert_array_equal(model.coef_[0], seen[-1][1:])


def test_from_zero_the_eta0_only_sets_the_norm() -> None:
    x, y = table(noise=12.0)
    one, half = (sx.Perceptron(eta0=rate, max_epochs=9).fit(x, y) for rate in (1.0, 0.25))
    assert_array_equal(half.coef_ * 4, one.coef_)
    assert_array_equal(half.trace_.mistakes, one.trace_.mistakes)


def test_start_from_the_class_means() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 40)
    x = rng.standard_normal((80, 3)) + 9.0 * y[:, None]
    basic, model = sx.BasicLinearClassifier().fit(x, y), sx.Perceptron(start="means").fit(x, y)
    assert model.mistakes_.sum() == 0
    assert_allclose(model.coef_, basic.coef_, rtol=1e-10)
    assert_allclose(model.intercept_, basic.intercept_, rtol=1e-10)
    moved = sx.Perceptron(eta0=0.1, start="means", max_epochs=3).fit(*table(noise=12.0))
    up, down = (table(noise=12.0)[0][table(noise=12.0)[1] == s].mean(axis=0) for s in (1, -1))
    start = np.append(-(up - down) @ (up + down) / 2, up - down)
    seen, _ = plain_loop(*table(noise=12.0), rate=0.1, epochs=3, w=start)
    assert_allclose(moved.coef_[0], seen[-1][1:], rtol=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(lattice, st.data())
def test_converges_if_and_only_if_the_rows_are_separable(x: np.ndarray, data) -> None:
    y = np.array(data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x))))
    y[:2] = False, True
    model = sx.Perceptron(max_epochs=3000).fit(x, y)
    proof = sx.linear_separability(x, y)
    assert (model.trace_.status == "converged") == proof.separable
    if proof.separable:
        assert model.mistakes_.sum() <= proof.mistake_bound * (1 + 1e-9)
        assert (model.predict(x) == y).all()
        assert (model.margin(x, y) > 0).all()


def test_certificate_and_warning() -> None:
    x, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = sx.Perceptron(max_epochs=1000).fit(x, y)
    assert good.certificate_.holds
    assert "every training row is classified correctly" in str(good.certificate_)
    assert np.inf > good.mistake_bound_ >= good.mistakes_.sum()
    assert f"at most {good.mistake_bound_:.4g} mistakes" in str(good.certificate_)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003.*misclassified.*linear_separability"):
        bad = sx.Perceptron(max_epochs=4).fit(*table(noise=12.0))
    assert not bad.certificate_.holds
    assert bad.mistake_bound_ == np.inf


# -- several classes, sparse rows, units -------------------------------------------------------


def three(n=90, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (n, 4)).astype(float)
    return x, np.array(["a", "b", "c"])[np.argmax(x @ rng.integers(-3, 4, (4, 3)), axis=1)]


@pytest.mark.parametrize(
    "settings_", [{}, {"average": True}, {"order": "shuffled"}, {"pocket": True}]
)
def test_one_vs_rest_in_a_shared_pass(settings_: dict[str, object]) -> None:
    x, y = three()
    model = sx.Perceptron(max_epochs=12, random_state=0, **settings_).fit(x, y)
    for k, label in enumerate("abc"):
        alone = sx.Perceptron(max_epochs=12, random_state=0, **settings_).fit(x, y == label)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-12)
        made = alone.trace_.mistakes[:, 0]
        assert_array_equal(model.trace_.mistakes[: len(made), k], made)
    assert_array_equal(model.predict(x), model.classes_[model.decision_function(x).argmax(axis=1)])


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("extra", [{}, {"average": True}, {"start": "means"}, {"pocket": True}])
def test_sparse_rows_agree_with_dense_ones(standardize: bool, extra: dict[str, object]) -> None:
    rng = np.random.default_rng(4)
    x = sparse.random(200, 9, 0.4, random_state=4, format="csr")
    x.data = np.round(x.data * 8)
    y = np.digitize(x @ rng.standard_normal(9), [-2.0, 2.0])
    make = dict(max_epochs=15, standardize=standardize, **extra)
    sparse_fit, dense = sx.Perceptron(**make).fit(x, y), sx.Perceptron(**make).fit(x.toarray(), y)
    assert_allclose(sparse_fit.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(
        sparse_fit.decision_function(x), dense.decision_function(x), rtol=1e-8, atol=1e-8
    )


def test_standardize_is_training_on_standardized_columns() -> None:
    x, y = table(noise=12.0)
    x = x * np.array([1e-6, 1.0, 1e6]) + np.array([0.0, 50.0, 0.0])
    z = sx.Standardize().fit(x).transform(x)
    model, other = sx.Perceptron(standardize=True).fit(x, y), sx.Perceptron(order="given").fit(z, y)
    assert_array_equal(model.trace_.mistakes, other.trace_.mistakes)
    assert_allclose(model.decision_function(x), other.decision_function(z), rtol=1e-8, atol=1e-8)


def test_table_with_a_discrete_column(tmp_path) -> None:
    lines = [f"{i},{'red' if i % 3 else 'blue'},{'yes' if i > 20 else 'no'}" for i in range(40)]
    (tmp_path / "t.csv").write_text("size,colour,bought\n" + "\n".join(lines))
    rows = sx.scan(tmp_path / "t.csv", target="bought")
    model = sx.Perceptron(standardize=True, max_epochs=2000).fit(rows)
    assert model.trace_.status == "converged"
    assert model.predict(rows).tolist() == ["yes" if i > 20 else "no" for i in range(40)]


# -- online ------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("size", [1, 7, 90])
def test_partial_fit_in_batches_of_any_size_is_one_epoch(size: int, average: bool) -> None:
    x, y = three()
    model = sx.Perceptron(average=average, order="given")
    for at in range(0, len(x), size):
        model.partial_fit(x[at : at + size], y[at : at + size], classes=["a", "b", "c"])
    once = sx.Perceptron(average=average, max_epochs=1).fit(x, y)
    assert_array_equal(model.mistakes_, once.mistakes_)
    assert f"{once.mistakes_.sum()} mistakes in 90 rows" in str(model.certificate_)
    assert_array_equal(model.coef_, once.coef_)
    assert_array_equal(model.intercept_, once.intercept_)
    again = once.partial_fit(x, y)
    twice = sx.Perceptron(average=average, max_epochs=2).fit(x, y)
    assert_array_equal(again.coef_, twice.coef_)


def test_saved_model_continues_training(tmp_path) -> None:
    x, y = three()
    model = sx.Perceptron(average=True).partial_fit(x[:40], y[:40], classes=["a", "b", "c"])
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx").partial_fit(x[40:], y[40:])
    assert_array_equal(loaded.coef_, model.partial_fit(x[40:], y[40:]).coef_)


def test_partial_fit_needs_all_classes_in_the_first_call() -> None:
    x, y = three()
    with pytest.raises(sx.InputError, match="Call fit for a table"):
        sx.Perceptron(order="given").partial_fit(
            ArrayRows(x, (y[:, None] == ["a", "b", "c"]).astype(float))
        )
    with pytest.raises(sx.InputError, match="only one class"):
        sx.Perceptron(order="given").partial_fit(x[:1], y[:1])
    two = y != "c"
    model = sx.Perceptron(order="given").partial_fit(x[two], y[two])
    before = model.coef_.copy()
    with pytest.raises(sx.InputError, match="Class 'c' is new"):
        model.partial_fit(x, y)
    assert_array_equal(model.classes_, ["a", "b"])
    assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("name", [{"standardize": True}, {"pocket": True}, {"start": "means"}])
def test_options_that_need_all_rows_have_no_partial_fit(name: dict[str, object]) -> None:
    model = sx.Perceptron(**name)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit([[1.0]], [1])


@pytest.mark.parametrize(
    "bad",
    [
        {"eta0": 0.0},
        {"eta0": np.inf},
        {"start": "there"},
        {"order": "any"},
        {"max_epochs": 0},
        {"average": True, "pocket": True},
    ],
)
def test_invalid_parameters(bad: dict[str, object]) -> None:
    with pytest.raises(sx.InputError):
        sx.Perceptron(**{"max_epochs": 20} | bad).fit(*table())


def test_display_shows_the_counted_mistakes() -> None:
    model = sx.Perceptron(max_epochs=25).fit(*three())
    picture = PerceptronTraceDisplay.from_estimator(model)
    assert f"{model.mistakes_.sum():,} mistakes in {model.n_iter_} epochs" in picture.description
    line = picture.plot().ax_.lines[0]
    assert_array_equal(line.get_ydata(), model.trace_.mistakes.sum(axis=1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": False, "tol": None, "max_iter": 7, "eta0": 0.3},
        {"penalty": "elasticnet", "alpha": 1e-3, "random_state": 5},
        {"early_stopping": True, "class_weight": "balanced"},
    ],
    ids=str,
)
def test_training_is_that_of_scikit_learn(options: dict) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    codes = np.digitize(x[:, 0] + 0.5 * rng.normal(size=120), [-0.4, 0.4])
    first = np.argsort(np.unique(codes, return_index=True)[1])
    y = np.array(["a", "b", "c"])[np.argsort(first)[codes]]  # in the order in which they appear
    w = rng.uniform(0.5, 2.0, 120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = sx.Perceptron(**options).fit(x, y, sample_weight=w)
        theirs = sklearn.linear_model.Perceptron(**options).fit(x, y, sample_weight=w)
    assert_allclose(own.coef_, theirs.coef_)
    assert_allclose(own.intercept_, theirs.intercept_)
    assert own.n_iter_ == theirs.n_iter_
    assert not hasattr(own, "trace_")
    if "early_stopping" not in options:
        for part in (slice(0, 50), slice(50, 120)):
            own.partial_fit(x[part], y[part])
            theirs.partial_fit(x[part], y[part])
        assert_allclose(own.coef_, theirs.coef_)
    assert_allclose(own.sparsify().decision_function(x), theirs.decision_function(x))


def test_the_textbook_has_no_penalty() -> None:
    with pytest.raises(sx.InputError, match="textbooks"):
        sx.Perceptron(order="given", penalty="l2").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"class_weight": "balanced"}])
def test_names_of_classes_and_storage_of_rows_do_not_matter(options: dict) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(90, 4)) + 2.0, rng.integers(0, 3, 90)
    x[:, 0] += y
    names = np.array(["one", "two", "three"])
    model = sx.Perceptron(**options).fit(x, y)
    stored = sx.Perceptron(**options).fit(sparse.csr_array(x), y)
    assert_array_equal(stored.coef_, model.coef_)
    assert_array_equal(stored.intercept_, model.intercept_)
    named = sx.Perceptron(**options).fit(x, names[y])
    assert_array_equal(named.predict(x), names[model.predict(x)])


def test_parts_of_sparse_rows_train_as_dense_ones() -> None:
    x, y = table(noise=9.0)
    models = [
        sx.Perceptron()
        .partial_fit(rows[:30], y[:30], classes=[-1, 1])
        .partial_fit(rows[30:], y[30:])
        for rows in (x, sparse.csr_array(x))
    ]
    assert_array_equal(models[0].coef_, models[1].coef_)
    again = [
        sx.Perceptron(warm_start=True, max_iter=2, tol=None).fit(rows, y).fit(rows, y)
        for rows in (x, sparse.csr_array(x))
    ]
    assert_array_equal(again[0].intercept_, again[1].intercept_)


# -- one step an epoch, summed over all misclassified rows -----------------------------------------


def _in_batches(x: np.ndarray, signs: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The batch perceptron by its definition, until no row is misclassified."""
    rows, v, counts = np.column_stack([np.ones(len(x)), x]), np.zeros(1 + x.shape[1]), []
    while True:
        wrong = [i for i in range(len(x)) if signs[i] * (rows[i] @ v) <= 0.0]
        counts.append(len(wrong))
        if not wrong:
            return v, counts
        v = v + sum(w[i] * signs[i] * rows[i] for i in wrong)


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_batches_are_sums_over_the_misclassified_rows(matrix) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-4, 5, size=(60, 3)).astype(float)
    x = x[abs(x.sum(axis=1)) > 1]
    y, w = (x.sum(axis=1) > 0).astype(int), rng.integers(1, 4, len(x)).astype(float)
    model = sx.Perceptron(update="batch", max_epochs=10_000).fit(matrix(x), y, sample_weight=w)
    v, counts = _in_batches(x, 2.0 * y - 1.0, w)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_[0]), v, atol=1e-9)
    assert model.trace_.mistakes[:, 0].tolist() == counts
    assert model.certificate_.holds
    repeated = sx.Perceptron(update="batch", max_epochs=10_000)
    repeated.fit(np.repeat(x, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    np.testing.assert_allclose(repeated.coef_, model.coef_, atol=1e-9)
    order = rng.permutation(len(x))
    again = sx.Perceptron(update="batch", max_epochs=10_000).fit(
        x[order], y[order], sample_weight=w[order]
    )
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_batches_end_within_their_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    x = rng.normal(size=(int(rng.integers(2, 40)), 2)) * 3.0
    scores = np.column_stack([np.ones(len(x)), x]) @ normal
    x, y = x[abs(scores) > 0.3], (scores > 0)[abs(scores) > 0.3]
    assume(len(set(y.tolist())) == 2)
    model = sx.Perceptron(update="batch", max_epochs=1_000_000).fit(x, y)
    widest = sx.linear_separability(x, y).mistake_bound * len(x)
    assert model.certificate_.holds
    assert model.mistakes_[0] <= min(widest, model.mistake_bound_) * (1 + 1e-9)


def test_batches_with_averages_pockets_classes_and_updates() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(90, 2)), rng.integers(0, 3, 90)
    x += 2.0 * np.column_stack([y == 1, y == 2])
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        pocket = sx.Perceptron(update="batch", pocket=True, max_epochs=60).fit(x, y)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        mean = sx.Perceptron(update="batch", average=True, store_weights=True, max_epochs=60).fit(
            x, y
        )
    assert pocket.score(x, y) > 0.7
    np.testing.assert_allclose(mean.coef_, mean.trace_.coef.mean(axis=0), atol=1e-9)
    online = sx.Perceptron(update="batch")
    for _ in range(5):
        online.partial_fit(x, y)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        whole = sx.Perceptron(update="batch", max_epochs=5).fit(x, y)
    np.testing.assert_allclose(online.coef_, whole.coef_, atol=1e-9)
    with pytest.raises(sx.InputError, match="has no order"):
        sx.Perceptron(update="batch", order="shuffled").fit(x, y)
