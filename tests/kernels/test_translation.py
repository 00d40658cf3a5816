"""scikit-learn's kernel objects against their translations: values, derivatives, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

import separatrix as sx
from separatrix.kernels import Custom, kernel_from
from separatrix.kernels.names import Foreign

SCALES = (0.7, 2.0, 1.3)
KERNELS = [
    theirs.RBF(1.4),
    theirs.RBF(SCALES),
    theirs.Matern(SCALES, nu=0.5),
    theirs.Matern(SCALES, nu=1.5),
    theirs.Matern(1.4, nu=2.5),
    theirs.Matern(SCALES, nu=np.inf),
    theirs.Matern(1.4, nu=1.1),
    theirs.RationalQuadratic(1.2, 0.4),
    theirs.ExpSineSquared(1.2, 0.9),
    theirs.DotProduct(0.6),
    theirs.DotProduct(0.0),
    theirs.ConstantKernel(2.0) * theirs.RBF(1.4) + theirs.WhiteKernel(0.2),
    theirs.DotProduct(0.6) ** 3 + 0.5 * theirs.Matern(SCALES),
    theirs.PairwiseKernel(gamma=0.3, metric="rbf"),
    theirs.PairwiseKernel(gamma=0.3, metric="poly", pairwise_kernels_kwargs={"degree": 2}),
    theirs.PairwiseKernel(gamma=0.3, metric="sigmoid"),
    theirs.PairwiseKernel(gamma=0.3, metric="cosine"),
    theirs.PairwiseKernel(gamma=0.3, metric="laplacian") + theirs.WhiteKernel(0.1),
]


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    found = np.random.default_rng(0).standard_normal((130, 3))
    found[1] = found[0] + 1e-7
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_are_those_of_scikit_learn(kernel, x) -> None:
    ours = kernel_from(kernel)
    # scikit-learn takes powers with a large exponent, or subtracts squares, with fewer digits
    np.testing.assert_allclose(ours.gram(x), kernel(x), rtol=2e-12, atol=1e-14)
    np.testing.assert_allclose(ours.gram(x[:9], x), kernel(x[:9], x), rtol=2e-12, atol=1e-14)
    np.testing.assert_allclose(ours.prepare(x).take([3, 0]), kernel(x)[[3, 0]], 2e-12, 1e-14)
    np.testing.assert_allclose(ours.diagonal(x), kernel.diag(x), rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_derivatives_are_those_of_scikit_learn(kernel, x) -> None:
    ours = kernel_from(kernel)
    q = np.random.default_rng(1).standard_normal((len(x), len(x)))
    q += q.T
    _, by_theta = kernel(x, eval_gradient=True)
    expected = np.einsum("ij,ijk->k", q, by_theta)
    # log σ₀² is twice log σ₀, and log γ is −2 log σ but for a constant
    factors = {"sigma_0": 0.5, "gamma": -2.0 if "metric=rbf" in str(kernel) else 1.0}
    names = [h.name.split("__")[-1] for h in kernel.hyperparameters for _ in range(h.n_elements)]
    expected *= [factors.get(name, 1.0) for name in names]
    if "cosine" in str(kernel):
        expected = expected[:0]
    found = ours.gradient_sums(x, q)
    loose = "nu=1.1" in str(kernel) or "gamma" in names  # theirs are differences there
    np.testing.assert_allclose(
        np.sort(found), np.sort(expected[expected != 0.0]), rtol=1e-4 if loose else 1e-10, atol=1e-9
    )


def test_fixed_parameters_are_not_learned_and_bounds_are_carried() -> None:
    kernel = theirs.ConstantKernel(2.0, "fixed") * theirs.RBF(SCALES, (1e-2, 10.0))
    kernel += theirs.WhiteKernel(0.1, (1e-8, 1.0)) + theirs.DotProduct(2.0, (0.5, 3.0))
    ours = kernel_from(kernel)
    assert ours.theta_names == ["bandwidth_1", "bandwidth_2", "bandwidth_3", "variance", "constant"]
    assert ours.bounds == pytest.approx(
        np.log([(1e-2, 10.0)] * 3 + [(1e-8, 1.0), (0.25, 9.0)]), rel=1e-12
    )
    assert all(p.bounded for p in ours.parameters.values())
    assert not any(p.bounded for p in kernel_from(theirs.RBF(SCALES)).parameters.values())
    by_column = theirs.RBF((1.0, 2.0), [(0.1, 3.0), (1e-5, 1e5)])
    assert [p.bounded for p in kernel_from(by_column).parameters.values()] == [True, False]
    assert list(kernel_from(theirs.ExpSineSquared(1.0, 2.0, "fixed")).parameters) == ["period"]


class Shifted(theirs.RBF):
    """A user's own kernel, which only looks like another."""

    def __call__(self, X, Y=None, eval_gradient=False):
        found = super().__call__(X, Y, eval_gradient)
        return (0.5 * found[0], 0.5 * found[1]) if eval_gradient else 0.5 * found


def test_kernels_of_users_are_wrapped(x) -> None:
    ours = kernel_from(Shifted(1.4))
    assert isinstance(ours, Foreign)
    assert ours.gram(x, x[:5]) == pytest.approx(0.5 * theirs.RBF(1.4)(x, x[:5]))
    moved = ours.with_theta(np.log([2.0]))
    assert moved.gram(x) == pytest.approx(0.5 * theirs.RBF(2.0)(x))
    assert moved != ours
    assert ours == kernel_from(Shifted(1.4))
    assert hash(ours) == hash(kernel_from(Shifted(1.4)))
    q = np.random.default_rng(2).standard_normal((len(x), 5))
    wider = kernel_from(theirs.RBF(1.4))
    assert ours.gradient_sums(x, q, x[:5]) == pytest.approx(
        0.5 * wider.gradient_sums(x, q, x[:5].copy())
    )


def test_what_is_no_kernel_of_one_output_is_refused() -> None:
    with pytest.raises(sx.InputError, match="several kernels"):
        kernel_from(theirs.CompoundKernel([theirs.RBF(1.0), theirs.RBF(2.0)]))
    assert isinstance(kernel_from(lambda x, z: x @ z.T), Custom)


def test_svc_takes_them(x) -> None:
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    by_object = sx.SVC(kernel=theirs.Matern(1.5, nu=2.5)).fit(x, y)
    ours = sx.SVC(kernel=sx.Matern(1.5, 2.5)).fit(x, y)
    assert by_object.decision_function(x) == pytest.approx(ours.decision_function(x), abs=1e-6)
    moved = sx.SVC(kernel=sx.Matern(1.5, 2.5)).fit(x + 1e4, y)
    assert moved.decision_function(x + 1e4) == pytest.approx(ours.decision_function(x), abs=1e-6)


def test_white_noise_is_for_processes_only(x) -> None:
    with pytest.raises(sx.InputError, match="white noise"):
        sx.SVC(kernel=theirs.RBF() + theirs.WhiteKernel()).fit(x, np.arange(len(x)) % 2)
