"""Bayesian models: posterior sampling, Gaussian processes."""

from __future__ import annotations

import gc
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import separatrix as sx
from race import Result, race, show
from separatrix.bayes.sampling import diagnose


def _table(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    log_odds = x @ (0.5 * rng.standard_normal(d)) + 0.3
    return x, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(float)


def _numpyro(x: Any, y: Any, scale: float, draws: int) -> Callable[[int], Any]:
    """Chains by NumPyro's NUTS with the same prior, compiled; draws (chains x draws x d)."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    z = jax.numpy.array((x - x.mean(axis=0)) / x.std(axis=0))
    target = jax.numpy.array(y)

    def model(z: Any, y: Any) -> None:
        a = numpyro.sample("a", dist.Normal(0.0, 10.0))
        b = numpyro.sample("b", dist.Normal(0.0, scale).expand([z.shape[1]]))
        numpyro.sample("y", dist.Bernoulli(logits=z @ b + a), obs=y)

    chains = MCMC(
        NUTS(model),
        num_warmup=draws,
        num_samples=draws,
        num_chains=2,
        chain_method="parallel",
        progress_bar=False,
    )

    def run(seed: int) -> Any:
        chains.run(jax.random.PRNGKey(seed), z, target)
        return np.asarray(chains.get_samples(group_by_chain=True)["b"])

    run(0)  # compiles
    return run


def sampling(quick: bool) -> None:
    """Seconds for 1000 effective draws (bulk) of the coefficient that has the fewest."""
    n, d = (2_000, 10) if quick else (10_000, 20)
    x, y = _table(n, d)
    model = sx.BayesianLogisticRegression().fit(x, y)

    def own(method: str, draws: int) -> Callable[[int], Any]:
        model.sample(10, method=method, random_state=0)  # compiles
        return lambda seed: model.sample(draws, method=method, random_state=seed).coef[:, :, 0]

    runners = {
        "separatrix": own("auto", 2000),
        "separatrix, Hamiltonian": own("hamiltonian", 500),
        "separatrix, Pólya–Gamma": own("polya_gamma", 250),
    }
    if importlib.util.find_spec("numpyro") is not None:
        runners["NumPyro, NUTS on 2 cores"] = _numpyro(x, y, model.prior_scale_, 200)
    results: dict[str, Result] = {}
    for turn in range(2):
        for name, run in runners.items():
            gc.collect()
            start = time.perf_counter()
            draws = run(turn + 1)
            seconds = time.perf_counter() - start
            size = float(diagnose(draws).ess_bulk.min())
            note = (
                f"{draws.shape[0]} x {draws.shape[1]} draws, {size:.0f} effective, {seconds:.2f} s"
            )
            each = 1000.0 * seconds / size
            if name not in results or each < results[name].seconds:
                results[name] = Result(name, each, note)
    compared = [r for r in results.values() if r.name == "separatrix" or "NumPyro" in r.name]
    others = [r for r in results.values() if r not in compared]
    show(f"Logistic posterior, {n} x {d}: 1000 effective draws", "separatrix", compared, 2.0)
    for r in others:
        print(f"{r.name:<44}{r.seconds:>9.3f}{'':>9}  {r.note}")


def _surface(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] ** 2 - 0.4 * x[:, 2] * x[:, 3]
    return x, y + 0.2 * rng.standard_normal(n)


def process(quick: bool) -> None:
    """An exact process with a length scale for each column, learned; then 20 000 predictions."""
    if quick:
        _process(300, 4, 2_000, None)
        return
    _process(1_000, 4, 20_000, 5.0)
    _process(4_000, 8, 20_000, 8.0)


def _process(n: int, d: int, m: int, target: float | None) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y = _surface(n, d)
    new, _ = _surface(m, d)
    own = sx.GaussianProcessRegressor()
    peer = GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(d)) + WhiteKernel())
    race(
        f"Gaussian process, {n} x {d}, a length scale for each column, learned",
        ("separatrix", lambda: own.fit(x, y)),
        {"scikit-learn": lambda: peer.fit(x, y)},
        rounds=1 if n > 1_000 else 3,
        peer_rounds=1,
        note=lambda model: f"log evidence {model.log_marginal_likelihood_value_:.4f}",
        target=target,
    )
    race(
        f"Its predictions with standard deviations, {m} rows",
        ("separatrix", lambda: own.predict(new, return_std=True)),
        {"scikit-learn": lambda: peer.predict(new, return_std=True)},
        rounds=2,
        peer_rounds=1,
        target=None if target is None else 3.0,
    )


def mauna_loa(quick: bool) -> None:
    """Monthly CO₂ with a sum of four kernels: from ones here, from published values there."""
    if importlib.util.find_spec("statsmodels") is None:
        return
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import (
        RBF,
        ExpSineSquared,
        RationalQuadratic,
        WhiteKernel,
    )
    from statsmodels.datasets import co2

    def terms(v: Any, length: Any) -> Any:
        year = ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
        season = v[1] * RBF(length[1]) * year
        noise = v[3] * RBF(length[2]) + WhiteKernel(v[4])
        return v[0] * RBF(length[0]) + season + v[2] * RationalQuadratic() + noise

    monthly = co2.load_pandas().data["co2"].resample("ME").mean().dropna()
    if quick:
        monthly = monthly.iloc[-150:]
    x = np.asarray(monthly.index.year + monthly.index.month / 12)[:, None]
    y = monthly.to_numpy() - monthly.mean()
    published = terms((2500.0, 4.0, 0.25, 0.01, 0.01), (50.0, 100.0, 0.1))
    race(
        f"Carbon dioxide at Mauna Loa, {len(y)} months, four kernels",
        (
            "separatrix, from ones",
            lambda: sx.GaussianProcessRegressor(terms((1.0,) * 5, (1.0,) * 3)).fit(x, y),
        ),
        {
            "scikit-learn, from published values": lambda: GaussianProcessRegressor(published).fit(
                x, y
            )
        },
        rounds=1,
        peer_rounds=1,
        note=lambda model: f"log evidence {model.log_marginal_likelihood_value_:.4f}",
    )


def ridge(quick: bool) -> None:
    """Noise and prior by evidence: one pass over the rows here, singular values there."""
    from sklearn.linear_model import BayesianRidge

    n, d = (100_000, 50) if quick else (1_000_000, 50)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = x @ rng.standard_normal(d) + rng.standard_normal(n)
    race(
        f"Bayesian ridge regression, {n} x {d}",
        ("separatrix", lambda: sx.BayesianRidge().fit(x, y)),
        {"scikit-learn": lambda: BayesianRidge().fit(x, y)},
        peer_rounds=1,
        note=lambda m: f"α {m.alpha_:.8f}, λ {m.lambda_:.8f}",
        target=None if quick else 20.0,
    )


def relevance(quick: bool) -> None:
    """A precision for each column; scikit-learn stops at a change of 1e-3, so its own is lower."""
    from sklearn.linear_model import ARDRegression

    n, d = (500, 50) if quick else (5_000, 300)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = x[:, : d // 10] @ rng.standard_normal(d // 10) + rng.standard_normal(n)

    def evidence(m: Any) -> str:
        used = m.lambda_ < 1e4
        z, t = (x - x.mean(axis=0))[:, used], y - y.mean()
        inner = m.alpha_ * z.T @ z + np.diag(m.lambda_[used])
        left = t - z @ m.coef_[used]
        value = n * np.log(m.alpha_ / (2 * np.pi)) + np.log(m.lambda_[used]).sum()
        value -= np.linalg.slogdet(inner)[1] + m.alpha_ * left @ left
        value -= float(m.lambda_[used] @ m.coef_[used] ** 2)
        return f"log evidence {0.5 * value:.4f}, {used.sum()} columns"

    race(
        f"Automatic relevance determination, {n} x {d}",
        ("separatrix", lambda: sx.ARDRegression().fit(x, y)),
        {"scikit-learn": lambda: ARDRegression().fit(x, y)},
        note=evidence,
    )


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (ridge, relevance, sampling, process, mauna_loa)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    main()
