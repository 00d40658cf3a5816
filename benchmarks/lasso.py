"""The lasso's path: long tables from fold moments, wide tables from columns, gaps beside times.

The gap shown is the largest on the path, as a share of ½ Σ (y − ȳ)²/n, computed here by one and
the same function from everybody's coefficients. Wide races are run at more than one tolerance; a
peer that stays above the tolerance is given more by its own settings, up to ``max_iter``.
"""

from __future__ import annotations

from race import race

# isort: split
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, lasso_path

import separatrix as sx
from separatrix.linear.elastic_net import ElasticNetOptions, elastic_net_problem
from separatrix.linear.working_sets import StoppingRule
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block

warnings.filterwarnings("ignore")


def worst_gap(x: np.ndarray, y: np.ndarray, alphas: np.ndarray, coefs: np.ndarray) -> float:
    """The largest duality gap of ``coefs`` (d x m) for centred x and y, relative to ½ y·y/n."""
    n = len(y)
    residual = y[:, None] - x @ coefs
    top = np.abs(x.T @ residual).max(axis=0) / n
    share = np.minimum(1.0, alphas / np.maximum(top, 1e-300))
    primal = 0.5 * (residual**2).sum(axis=0) / n + alphas * np.abs(coefs).sum(axis=0)
    dual = share * (y @ residual) / n - 0.5 * share**2 * (residual**2).sum(axis=0) / n
    return float(np.max(primal - dual) / (0.5 * y @ y / n))


def long_race(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    y = x[:, : d // 4] @ rng.standard_normal(d // 4) + 5 * rng.standard_normal(n)
    sx.LassoCV(alphas=5).fit(x[:500], y[:500])  # kernels out of the cache
    race(
        f"Lasso, {n:,} × {d}, 100 penalties, 5 folds",
        ("separatrix LassoCV", lambda: sx.LassoCV().fit(x, y)),
        {"scikit-learn LassoCV(n_jobs=2)": lambda: LassoCV(n_jobs=2).fit(x, y)},
        rounds=4,
        note=lambda m: f"alpha {m.alpha_:.6g}, error {m.mse_path_.mean(axis=1).min():.8g}",
        target=5,
    )


def own_path(block: Block, alphas: np.ndarray, tol: float) -> np.ndarray:
    path = elastic_net_problem(block, ElasticNetOptions(fit_intercept=False)).path(
        alphas, StoppingRule(tol)
    )
    return path.coefs.T


def peers(
    x: np.ndarray, y: np.ndarray, alphas: np.ndarray, tol: float
) -> dict[str, Callable[[], Any]]:
    """Whoever is installed, at settings that reach the same gap."""
    found: dict[str, Callable[[], Any]] = {}
    if tol >= 1e-5:  # below, it takes minutes
        found["scikit-learn lasso_path"] = lambda: lasso_path(
            x, y, alphas=alphas, tol=tol / 2, max_iter=100_000
        )[1]
    try:
        from celer import celer_path

        found["celer_path"] = lambda: celer_path(
            x, y, "lasso", alphas=alphas, tol=tol / 2, max_iter=500
        )[1]
    except ImportError:
        print("celer is not installed")
    try:
        import skglm

        lasso = skglm.Lasso(tol=tol * float(np.std(y)) * 0.1, fit_intercept=False, max_iter=500)
        found["skglm Lasso.path"] = lambda: lasso.path(x, y, alphas)[1]
    except ImportError:
        print("skglm is not installed")
    return found


def wide_race(n: int, d: int, tol: float) -> None:
    rng = np.random.default_rng(0)
    x = np.asfortranarray(rng.standard_normal((n, d)))
    signal = x[:, :50] @ rng.standard_normal(50)
    y = signal + 0.3 * signal.std() * rng.standard_normal(n)
    x -= x.mean(axis=0)
    y -= y.mean()
    top = np.abs(x.T @ y).max() / n
    alphas = np.geomspace(top, 1e-3 * top, 100)
    others = peers(x, y, alphas, tol)
    block = ArrayRows(x, y).block  # names its columns, which no peer does
    own_path(block, alphas[:3], tol)
    for warm_up in peers(x, y, alphas[:3], tol).values():
        warm_up()
    race(
        f"Lasso, {n:,} × {d:,}, path of 100 penalties, gap {tol:.0e}",
        ("separatrix path", lambda: own_path(block, alphas, tol)),
        others,
        rounds=4,
        note=lambda coefs: f"worst gap {worst_gap(x, y, alphas, coefs):.1e}",
        target=1,
    )


def main(quick: bool = False) -> None:
    long_race(*((20_000, 60) if quick else (100_000, 200)))
    for tol in (1e-4, 1e-6):
        wide_race(*((100, 2_000) if quick else (500, 10_000)), tol)


if __name__ == "__main__":
    main("--quick" in sys.argv)
