"""Ridge and lasso on wide and sparse tables, beside the best solver of each peer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.linear_model as sk
from scipy import sparse

import separatrix as sx
from race import race


def dense_table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    return x, x[:, :50] @ rng.normal(size=50) + 2.0 * rng.normal(size=n)


def sparse_table(n: int, d: int, entries: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    at = rng.integers(0, n, entries), rng.integers(0, d, entries)
    x = sparse.csr_matrix((rng.normal(size=entries), at), shape=(n, d))
    return x, x[:, :200] @ rng.normal(size=200) + 0.3 * rng.normal(size=n)


def ridge(x: Any, y: np.ndarray, solvers: tuple[tuple[str, float], ...]) -> None:
    """One penalty; the objective relative to the best one found."""

    def value(model: Any) -> str:
        residual = y - model.predict(x)
        return f"objective {residual @ residual + model.coef_ @ model.coef_:.10g}"

    def peer(solver: str, tol: float) -> Callable[[], Any]:
        return lambda: sk.Ridge(solver=solver, tol=tol).fit(x, y)

    race(
        f"Ridge, {'CSR' if sparse.issparse(x) else 'dense'} {x.shape[0]} x {x.shape[1]}",
        ("separatrix", lambda: sx.Ridge().fit(x, y)),
        {f"scikit-learn {s}, tol {t:g}": peer(s, t) for s, t in solvers},
        rounds=5,
        peer_rounds=3,
        note=value,
        target=1.5,
    )


def lasso_path(x: Any, y: np.ndarray, alphas: int, eps: float, tol: float = 1e-4) -> None:
    """A path at the same relative duality gap; peers get centered columns where they are dense."""
    top = sx.LassoPath(2, eps=0.5).fit(x, y).alphas_[0]
    grid = np.geomspace(top, eps * top, alphas)
    peers: dict[str, Callable[[], Any]] = {}
    if not sparse.issparse(x):
        centered, target = np.asfortranarray(x - x.mean(axis=0)), y - y.mean()
        peers["scikit-learn"] = lambda: sk.lasso_path(centered, target, alphas=grid, tol=tol)
    else:
        centered, target = sparse.csc_matrix(x), y - y.mean()
        peers["scikit-learn, not centered"] = lambda: sk.lasso_path(
            centered, target, alphas=grid, tol=tol
        )
    try:
        from celer import celer_path

        peers["celer"] = lambda: celer_path(centered, target, "lasso", alphas=grid, tol=0.5 * tol)
    except ImportError:
        pass
    kind = "CSR" if sparse.issparse(x) else "dense"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        race(
            f"Lasso path, {alphas} penalties, {kind} {x.shape[0]} x {x.shape[1]}, gap {tol:g}",
            ("separatrix", lambda: sx.LassoPath(grid, tol=tol).fit(x, y)),
            peers,
            note=lambda m: _nonzero(m),
            target=1.5,
        )


def _nonzero(found: Any) -> str:
    last = found.coefs_[-1] if hasattr(found, "coefs_") else np.asarray(found[1])[:, -1]
    return f"{np.count_nonzero(last)} columns at the last penalty"
