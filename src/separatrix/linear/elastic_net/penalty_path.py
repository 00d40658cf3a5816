"""Coefficients of lasso and elastic net on a grid of penalties, as functions of X and y.

    min over b of (1/2n) ‖y − Xb‖² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²        for every α of the grid

There is no intercept here: center X and y, or use :class:`LassoPath`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, column_or_1d

from separatrix.linear.elastic_net.columns import elastic_net_problem
from separatrix.linear.elastic_net.path import StoppingRule
from separatrix.linear.elastic_net.problem import ElasticNetOptions
from separatrix.messages import InputError, warn
from separatrix.rows.rows import ArrayRows
from separatrix.selection import rules
from separatrix.statistics.moments import Moments

#: Relative duality gap at every penalty; a finer ``tol`` is followed.
ACCURACY = 1e-8


def lasso_path(
    X: Any, y: Any, *, l1_ratio: float = 1.0, eps: float = 1e-3, alphas: Any = 100, **options: Any
) -> Any:
    """Lasso coefficients at every penalty of a grid: :func:`elastic_net_path` with ρ = 1."""
    return elastic_net_path(X, y, l1_ratio=l1_ratio, eps=eps, alphas=alphas, **options)


def elastic_net_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    coef_init: Any = None,
    return_n_iter: bool = False,
    positive: bool = False,
    **options: Any,
) -> Any:
    """Elastic-net coefficients at every penalty of a grid.

    ``alphas`` are the penalties, or how many to place between the least one that sets all
    coefficients to zero and ``eps`` times it. Returns (alphas, coefs (d x m), gaps (m)), and the
    numbers of sweeps with ``return_n_iter``. Of the ``options``, ``tol``, ``max_iter`` and
    ``n_alphas``, an older name of the number of ``alphas``, count; others of scikit-learn's
    (precompute, Xy, copy_X, verbose, check_input, …) have no effect.
    """
    x, target = check_X_y(X, y, accept_sparse="csr", multi_output=True, y_numeric=True)
    if target.ndim == 2 and target.shape[1] > 1:
        raise InputError(
            "A path is that of one target.", remedy="Call it for every column of y by itself."
        )
    if isinstance(alphas, str) or alphas is None:  # scikit-learn's "warn"
        alphas = 100
    if np.ndim(alphas) == 0 and not isinstance(options.get("n_alphas", "deprecated"), str):
        alphas = options["n_alphas"]
    single = x.dtype == np.float32
    x = sparse.csr_array(x, dtype=float) if sparse.issparse(x) else np.asarray(x, dtype=float)
    rows = ArrayRows(x, column_or_1d(target).astype(float), None)
    source = rows.reduce(Moments()) if x.shape[0] > x.shape[1] else rows.block
    settings = ElasticNetOptions(
        l1_ratio=float(l1_ratio),
        fit_intercept=False,
        positive=bool(positive),
        tol=min(float(options.get("tol", ACCURACY)), ACCURACY) or ACCURACY,
        max_iter=int(options.get("max_iter", 1000)),
    )
    problem = elastic_net_problem(source, settings)
    grid = rules.number_or_values("alphas", alphas, "Use LinearRegression without penalty.")
    grid = problem.grid(grid, float(eps)) if isinstance(grid, int) else grid[::-1]
    start = None
    if coef_init is not None:
        start = check_array(coef_init, ensure_2d=False).astype(float).ravel()
    path = problem.path(grid, StoppingRule(settings.tol, sweeps=settings.max_iter), start)
    if not path.converged.all():
        warn("SEP003", f"{np.count_nonzero(~path.converged)} points of the path stopped early.")
    coefs = path.coefs.T.astype(np.float32 if single else float)
    found = (path.alphas, coefs, path.gaps)
    return (*found, list(path.sweeps_by_point)) if return_n_iter else found
