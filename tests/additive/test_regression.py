"""Additive regression against dense algebra, SciPy's optimizers and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from quadprog import solve_qp
from scipy import optimize, stats

import separatrix as sx
from separatrix.additive.base import AdditiveModel
from tests.registry import objectives as of


def wavy(n: int = 250, d: int = 3, noise: float = 0.2, seed: int = 0):
    """A sine, a line and columns of no use."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, d))
    return x, np.sin(2.0 * x[:, 0]) + x[:, 1] + noise * rng.standard_normal(n)


def dense(model: AdditiveModel, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Natural coordinates of rows, by SciPy's splines, and the block of each."""
    parts, blocks = [], []
    for j, term in enumerate(model.terms_):
        parts.append(of._spline_values(term.basis, x) @ term.basis.transform)
        blocks += [(j, b) for b, (_, size) in enumerate(term.basis.blocks) for _ in range(size)]
    return np.column_stack(parts), np.unique(blocks, axis=0, return_inverse=True)[1].ravel()


def restricted_likelihood(rho: np.ndarray, z: np.ndarray, block: np.ndarray, y: np.ndarray):
    """−2 log of the restricted likelihood of y ~ N(μ1, φ(I + Z Λ⁻¹ Zᵀ)), φ at its maximum."""
    v = np.eye(len(y)) + (z * np.exp(-rho)[block]) @ z.T
    ones, inverse = np.ones(len(y)), np.linalg.inv(v)
    mean = ones @ inverse @ y / (ones @ inverse @ ones)
    r = y - mean
    nu = len(y) - 1
    return (
        np.linalg.slogdet(v)[1] + np.log(ones @ inverse @ ones) + nu * np.log(r @ inverse @ r / nu)
    )


def test_the_penalties_maximize_the_restricted_likelihood() -> None:
    x, y = wavy(80, 2)
    model = sx.AdditiveRegressor(n_knots=5).fit(x, y)
    z, block = dense(model, x)
    rho = np.log(np.concatenate([term.penalties[:, 0] for term in model.terms_]))
    at = restricted_likelihood(np.minimum(rho, 30.0), z, block, y)
    best = optimize.minimize(
        restricted_likelihood, np.zeros(len(rho)), args=(z, block, y), method="L-BFGS-B",
        bounds=[(-10.0, 30.0)] * len(rho),
    )  # fmt: skip
    assert at <= best.fun + 1e-6
    finite = np.isfinite(rho)
    for k in np.flatnonzero(finite):
        for step in (-0.01, 0.01):
            other = np.minimum(rho + step * (np.arange(len(rho)) == k), 30.0)
            assert restricted_likelihood(other, z, block, y) >= at - 1e-7


def test_the_coefficients_solve_the_penalized_problem() -> None:
    x, y = wavy(80, 2)
    model = sx.AdditiveRegressor(n_knots=5).fit(x, y)
    z, _ = dense(model, x)
    sizes = [size for term in model.terms_ for _, size in term.basis.blocks]
    each = np.repeat(np.concatenate([t.penalties[:, 0] for t in model.terms_]), sizes)
    active = np.isfinite(each)
    design = np.column_stack([np.ones(len(y)), z[:, active]])
    a = design.T @ design + np.diag(np.r_[0.0, each[active]])
    expected = design @ np.linalg.solve(a, design.T @ y)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-9, atol=1e-9)
    phi = (y @ (y - expected)) / (len(y) - 1)  # yᵀ(y − ŷ) is the least penalized sum of squares
    np.testing.assert_allclose(model.scale_**2, phi, rtol=1e-5)
    variance = phi * np.einsum("ij,jk,ik->i", design, np.linalg.inv(a), design)
    low, high = model.predict_interval(x, kind="confidence", level=0.9).T
    np.testing.assert_allclose(high - low, 2 * stats.norm.isf(0.05) * np.sqrt(variance), rtol=1e-5)
    _, deviation = model.predict(x, return_std=True)
    np.testing.assert_allclose(deviation, np.sqrt(variance + phi), rtol=1e-5)


def test_on_equal_knots_the_roughness_is_that_of_second_differences() -> None:
    x = np.linspace(0.0, 1.0, 401)[:, None]
    basis = sx.AdditiveRegressor(n_knots=8).fit(x, x[:, 0] ** 2).terms_[0].basis
    np.testing.assert_allclose(np.diff(basis.knots), 0.125, rtol=1e-6)
    roughness = np.diff(basis.transform[:, 1:], n=2, axis=0)
    np.testing.assert_allclose(
        roughness.T @ roughness, roughness[:, 0] @ roughness[:, 0] * np.eye(9), atol=1e-8
    )
    np.testing.assert_allclose(np.diff(basis.transform[:, 0], n=2), 0.0, atol=1e-12)


def test_a_line_ends_at_a_line_and_noise_at_nothing() -> None:
    x, y = wavy(400, 5, seed=3)
    model = sx.AdditiveRegressor().fit(x, y)
    curve, line, *noise = (term.freedom[0] for term in model.terms_)
    assert curve > 4.0
    assert line == pytest.approx(1.0, abs=0.5)
    assert sum(noise) < 1.5
    assert "left out" in str(model.summary())
    far = model.predict([[0, 5.0 + k, 0, 0, 0] for k in (0.0, 1.0, 2.0)])
    np.testing.assert_allclose(np.diff(far, n=2), 0.0, atol=1e-10)  # a line beyond the range


def test_levels_have_a_number_each_shrunken_towards_their_mean() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    level = rng.integers(0, 6, 300)
    effect = np.array([0.0, 1.0, -1.0, 2.0, 0.5, -2.0])
    y = effect[level] + 0.5 * rng.standard_normal(300)
    frame = pd.DataFrame({"town": np.array(list("abcdef"))[level], "x": rng.standard_normal(300)})
    model = sx.AdditiveRegressor().fit(frame, y)
    curve = model.curve("town")
    order = np.argsort(curve.x)
    means = np.array([y[level == k].mean() for k in range(6)])
    found = curve.values[order] + model.predict(frame).mean()
    assert (np.abs(found - y.mean()) < np.abs(means - y.mean()) + 0.01).all()
    np.testing.assert_allclose(found, means, atol=0.15)
    new = pd.DataFrame({"town": ["a", "zz"], "x": [0.0, 0.0]})
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_curve_is_the_solution_of_the_quadratic_program(sign: int) -> None:
    x, y = wavy(150, 2)
    model = sx.AdditiveRegressor(n_knots=6, monotone={"x0": sign}).fit(x, y)
    assert model.certificate_.holds
    curve = model.curve("x0")
    assert (sign * np.diff(curve.values) >= -1e-9).all()
    z, _ = dense(model, x)
    sizes = [size for term in model.terms_ for _, size in term.basis.blocks]
    each = np.repeat(np.concatenate([t.penalties[:, 0] for t in model.terms_]), sizes)
    active = np.isfinite(each)
    centered = z[:, active] - z[:, active].mean(axis=0)
    basis = model.terms_[0].basis
    rows = np.zeros((basis.size - 1, z.shape[1]))
    rows[:, : basis.transform.shape[1]] = sign * np.diff(basis.transform, axis=0)
    a = centered.T @ centered + np.diag(each[active])
    b = solve_qp(a, centered.T @ (y - y.mean()), rows[:, active].T, np.zeros(len(rows)))[0]
    np.testing.assert_allclose(model.predict(x), y.mean() + centered @ b, atol=1e-7)


def test_the_pair_that_matters_is_found() -> None:
    x, y = wavy(500, 6, seed=5)
    y = y + 1.5 * x[:, 2] * x[:, 4]
    model = sx.AdditiveRegressor(n_knots=8, interactions=1).fit(x, y)
    assert model.terms_[-1].name == "x2 × x4"
    assert model.scale_ < 0.25
    assert sx.AdditiveRegressor(n_knots=8).fit(x, y).scale_ > 1.0
    left, right, values = model.surface("x2", "x4")
    np.testing.assert_allclose(values, 1.5 * np.outer(left, right), atol=0.6)
    named = sx.AdditiveRegressor(n_knots=8, interactions=[("x2", "x4")]).fit(x, y)
    np.testing.assert_allclose(named.predict(x), model.predict(x), rtol=1e-9, atol=1e-9)


def test_pairs_are_found_only_where_chance_would_not_find_them() -> None:
    """Of 45 pairs without an effect the greatest has about three standard deviations."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng([31, seed])
        x = rng.normal(size=(400, 10))
        y = x[:, 0] + np.sin(2 * x[:, 1]) + rng.normal(size=400)
        model = sx.AdditiveRegressor(n_knots=6, interactions=10).fit(x, y)
        found.append(len(model.terms_) - 10)
    assert sum(found) <= 8  # one a table; all above zero would be ten


def test_intervals_cover_the_curve_as_often_as_they_say() -> None:
    """Across the range on average, and for a whole curve at once."""
    inside, whole = [], []
    for seed in range(40):
        x, y = _one(seed)
        curve = sx.AdditiveRegressor(n_knots=10).fit(x, y).curve("x0", level=0.9)
        truth = np.sin(2.0 * curve.x) - np.sin(2.0 * x[:, 0]).mean()
        inside.append(((curve.interval[:, 0] < truth) & (truth < curve.interval[:, 1])).mean())
        whole.append(((curve.band[:, 0] < truth) & (truth < curve.band[:, 1])).all())
    assert 0.82 < np.mean(inside) < 0.97
    assert np.mean(whole) > 0.75


def _one(seed: int):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (150, 1))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * rng.standard_normal(150)


def test_p_values_of_a_useless_column_are_not_too_small() -> None:
    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((60, 2))
        model = sx.AdditiveRegressor(n_knots=5).fit(x, x[:, 0] + rng.standard_normal(60))
        assert model.summary().p_values[0] < 0.01
        small += bool(model.summary().p_values[1] < 0.05)
    assert small <= 9  # 3 expected of exact tests; more than 9 with probability 0.001


def test_bad_parameters_say_what_to_do() -> None:
    x, y = wavy(40, 2)
    for parameters, message in (
        ({"n_knots": 1}, "n_knots=1"),
        ({"interactions": "all"}, "interactions='all'"),
        ({"interactions": [("x0", "x9")]}, "no column 'x9'"),
        ({"interactions": [("x0", "x0")]}, "paired with itself"),
        ({"monotone": {"x0": 2}}, "monotone is 2"),
        ({"monotone": [1]}, "not a mapping"),
        ({"monotone": {"x0": 1}, "interactions": [("x0", "x1")]}, "is monotone"),
    ):
        with pytest.raises(sx.InputError, match=message):
            sx.AdditiveRegressor(**parameters).fit(x, y)
    with pytest.raises(sx.InputError, match="no column 'x7'"):
        sx.AdditiveRegressor().fit(x, y).curve("x7")
