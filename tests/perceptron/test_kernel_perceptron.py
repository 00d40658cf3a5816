"""The kernel perceptron makes the updates of the primal one, row by row, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import separatrix as sx
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels.structures import Spectrum


def table(n=80, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-6, 7, (n, 3)).astype(float)  # whole numbers: both forms without rounding
    scores = x @ rng.integers(-3, 4, (3, classes)) + rng.integers(-6, 7, (n, classes))
    return x, scores.argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("order", ["given", "shuffled", "random"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_kernel_is_the_perceptron(classes: int, order: str, fit_intercept: bool) -> None:
    x, y = table(classes=classes)
    make = {"order": order, "max_epochs": 20, "random_state": 1, "fit_intercept": fit_intercept}
    primal = sx.Perceptron(**make).fit(x, y)
    dual = sx.KernelPerceptron(Linear(), **make).fit(x, y)
    assert_array_equal(dual.trace_.mistakes, primal.trace_.mistakes)
    assert dual.trace_.status == primal.trace_.status
    alpha = dual.alpha_.reshape(len(x), -1)
    assert_array_equal(alpha.sum(axis=0), primal.mistakes_)
    own = [1] if classes == 2 else range(3)
    side = np.where(y[:, None] == np.array(own), 1.0, -1.0)
    assert_array_equal((alpha * side).T @ x, primal.coef_)
    assert_array_equal((alpha * side).sum(axis=0) * fit_intercept, primal.intercept_)
    assert_array_equal(dual.decision_function(x), primal.decision_function(x))
    assert_array_equal(dual.predict(x), primal.predict(x))


@pytest.mark.parametrize("choice", [{"average": True}, {"pocket": True}])
def test_average_and_pocket_agree_with_the_perceptron(choice: dict[str, bool]) -> None:
    x, y = table(n=150, seed=1)
    primal = sx.Perceptron(max_epochs=15, **choice).fit(x, y)
    dual = sx.KernelPerceptron("linear", max_epochs=15, **choice).fit(x, y)
    wrong = [(np.where(y == 1, 1, -1) * m.decision_function(x) <= 0).sum() for m in (primal, dual)]
    if "average" in choice:
        assert_allclose(dual.decision_function(x), primal.decision_function(x), rtol=1e-9)
    assert wrong[1] <= wrong[0]  # every step is compared here, records of right rows only there
    assert f"{wrong[1]} of 150 training rows" in str(dual.certificate_)


def test_a_polynomial_kernel_is_the_perceptron_on_its_features() -> None:
    x, y = table(seed=2)
    a, b, c = x.T
    root = np.sqrt(2)
    features = [a * a, b * b, c * c, root * a * b, root * a * c, root * b * c]
    features += [root * a, root * b, root * c, np.ones(len(x))]
    primal = sx.Perceptron(max_epochs=10).fit(np.column_stack(features), y)
    dual = sx.KernelPerceptron(Polynomial(2, 1.0), max_epochs=10).fit(x, y)
    assert_array_equal(dual.trace_.mistakes, primal.trace_.mistakes)
    scores = primal.decision_function(np.column_stack(features))
    assert_allclose(dual.decision_function(x), scores, rtol=1e-8, atol=1e-8)


def test_sample_weights_are_added_at_mistakes_and_zero_removes_a_row() -> None:
    x, y = table(seed=3)
    w = np.random.default_rng(3).integers(0, 3, len(x)).astype(float)
    primal = sx.Perceptron(max_epochs=8).fit(x, y, sample_weight=w)
    dual = sx.KernelPerceptron(Linear(), max_epochs=8).fit(x, y, sample_weight=w)
    assert_array_equal(dual.decision_function(x), primal.decision_function(x))
    assert not dual.alpha_[w == 0].any()
    assert_array_equal(dual.support_, np.flatnonzero(dual.alpha_))


def circles(n=600):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n, 2))
    radius = np.linalg.norm(x, axis=1)
    apart = np.abs(radius - 1.1) > 0.1
    return x[apart], np.where(radius > 1.1, "out", "in")[apart]


def test_circles_are_separated_within_the_mistake_bound() -> None:
    x, y = circles()
    model = sx.KernelPerceptron("rbf", gamma=1.0).fit(x, y)
    assert model.trace_.status == "converged"
    assert model.score(x, y) == 1.0
    assert model.certificate_.holds
    assert np.inf > model.mistake_bound_ >= model.mistakes_.sum()
    assert f"at most {model.mistake_bound_:.4g} mistakes" in str(model.certificate_)
    assert len(model.expansion_) == len(model.support_) < len(x) / 3


@pytest.mark.parametrize("megabytes", [1e-9, 0.02])
def test_memory_is_bounded_and_changes_nothing(megabytes: float) -> None:
    x, y = circles()
    y[:20] = y[:20][::-1]  # hard enough for many mistakes
    much = sx.KernelPerceptron(Gaussian(0.7)).fit(x, y)
    little = sx.KernelPerceptron(Gaussian(0.7), cache_size=megabytes).fit(x, y)
    assert_array_equal(little.alpha_, much.alpha_)
    row = 8 * len(x) / 1e6
    assert little.cache_megabytes_ <= max(megabytes, row)
    assert little.n_kernel_rows_ > much.n_kernel_rows_
    assert much.n_kernel_rows_ < len(x)  # never the whole matrix
    assert len(much.support_) <= much.n_kernel_rows_


def test_precomputed_kernel_callable_and_sparse_rows() -> None:
    x, y = circles(300)
    w = np.ones(len(x))
    w[::7] = 0.0
    gram = Gaussian(0.7).gram(x)
    model = sx.KernelPerceptron(Gaussian(0.7)).fit(x, y, sample_weight=w)
    scores = model.decision_function(x)
    given = sx.KernelPerceptron("precomputed").fit(gram, y, sample_weight=w)
    assert_allclose(given.decision_function(gram), scores, rtol=1e-9, atol=1e-9)
    called = sx.KernelPerceptron(lambda a, b: Gaussian(0.7).gram(a, b)).fit(x, y, sample_weight=w)
    assert_allclose(called.decision_function(x), scores, rtol=1e-9, atol=1e-9)
    from_sparse = sx.KernelPerceptron(Gaussian(0.7)).fit(sparse.csr_array(x), y, sample_weight=w)
    assert_allclose(from_sparse.decision_function(x), scores, rtol=1e-8, atol=1e-8)


def test_string_kernel(tmp_path) -> None:
    words = ["banana", "bandana", "ananas", "canada", "mississippi", "missile", "swiss", "kissing"]
    y = ["an"] * 4 + ["ss"] * 4
    model = sx.KernelPerceptron(Spectrum(2)).fit(words, y)
    assert model.trace_.status == "converged"
    assert model.predict(["panama canal", "bliss"]).tolist() == ["an", "ss"]
    sx.save(model, tmp_path / "words.sx")
    assert sx.load(tmp_path / "words.sx").predict(["havana"]).tolist() == ["an"]
    weights = [1.0] * 7 + [0.0]
    fewer = sx.KernelPerceptron(Spectrum(2)).fit(words, y, sample_weight=weights)
    same = sx.KernelPerceptron(Spectrum(2)).fit(words[:7], y[:7])
    assert_array_equal(fewer.decision_function(words), same.decision_function(words))
    with pytest.raises(sx.InputError, match="only one class"):
        sx.KernelPerceptron(Spectrum(2)).fit(words, ["one"] * 8)


def test_reaching_the_limit_warns_and_does_not_hold() -> None:
    x, y = table(seed=5)
    x[0], y[:2] = x[1], [0, 1]
    with pytest.warns(sx.SeparatrixWarning, match="SEP003.*limit of epochs"):
        model = sx.KernelPerceptron("linear", max_epochs=3).fit(x, y)
    assert not model.certificate_.holds
    assert model.mistake_bound_ == np.inf
    with pytest.raises(sx.InputError, match="cache_size"):
        sx.KernelPerceptron(cache_size=0).fit(x, y)


def test_an_indefinite_kernel_claims_counted_mistakes_only() -> None:
    x, y = circles(120)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        model = sx.KernelPerceptron(sx.Sigmoid(1.0, -1.0), max_epochs=20).fit(x, y)
    assert np.linalg.eigvalsh(sx.Sigmoid(1.0, -1.0).gram(x))[0] < -1e-3
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    wrong = int((signs * model.decision_function(x) <= 0.0).sum())
    assert wrong > 0
    assert model.certificate_.claim.startswith(f"Kernel perceptron: {wrong} of {len(x)} ")
    assert model.mistake_bound_ == np.inf
    assert "at most" not in str(model.certificate_)
    assert not model.certificate_.holds


def test_an_indefinite_kernel_has_no_mistake_bound_even_where_all_rows_are_correct() -> None:
    x, y = np.array([[-1.0], [1.0], [2.0]]), [0, 1, 1]
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        model = sx.KernelPerceptron(sx.Sigmoid(1.0, -1.0)).fit(x, y)
    assert model.score(x, y) == 1.0
    assert model.certificate_.holds
    assert model.mistake_bound_ == np.inf
    assert "no margin" in str(model.certificate_)


@pytest.mark.parametrize("classes", [2, 3])
def test_portions_of_rows_train_as_the_linear_perceptron_does(classes: int) -> None:
    x, y = table(classes=classes)
    primal = sx.Perceptron(order="given")
    dual = sx.KernelPerceptron(Linear())
    for part in (slice(0, 30), slice(30, 55), slice(55, 80), slice(0, 80)):
        primal.partial_fit(x[part], y[part], classes=range(classes))
        dual.partial_fit(x[part], y[part], classes=range(classes))
        assert_array_equal(dual.decision_function(x), primal.decision_function(x))
    assert_array_equal(dual.mistakes_, primal.mistakes_)
    assert "of the last 80 rows" in dual.certificate_.claim
    assert sx.KernelPerceptron(Linear()).fit(x, y).alpha_.shape[0] == len(x)


def test_portions_of_texts_and_new_classes() -> None:
    words, y = ["aab", "bba", "aaa", "bbb"], [0, 1, 0, 1]
    model = sx.KernelPerceptron(Spectrum(1)).partial_fit(words[:1], y[:1], classes=[0, 1])
    for _ in range(3):
        model.partial_fit(words, y)
    assert_array_equal(model.predict(words), y)
    with pytest.raises(ValueError, match="do not exist"):
        model.partial_fit(words, [0, 1, 0, 2])
    assert not hasattr(sx.KernelPerceptron(pocket=True), "partial_fit")
    assert not hasattr(sx.KernelPerceptron("precomputed"), "partial_fit")
