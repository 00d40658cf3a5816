"""Tables with more columns than are worth a square matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sklearn.linear_model

import penalized
import separatrix as sx
from neighbors import nearest
from race import race


def neighbors(quick: bool) -> None:
    """The ten nearest of points in many columns, in the order of double precision."""
    for queries, n, d in ((5_000, 200_000, 256), (10_000, 100_000, 64)):
        shrink = 10 if quick else 1
        nearest(n // shrink, d, queries // shrink, 1.5)


def ridge(quick: bool) -> None:
    for n, d in ((300, 50_000), (2_000, 20_000), (100, 20_000)):
        x, y = penalized.dense_table(n, d // 10 if quick else d)
        penalized.ridge(x, y, (("auto", 1e-4), ("cholesky", 1e-4)))


def lasso_path(quick: bool) -> None:
    for n, d in ((500, 10_000), (100, 20_000)):
        x, y = penalized.dense_table(n, d // 10 if quick else d)
        penalized.lasso_path(x, y, 100, 1e-2)


def lda(quick: bool) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    n, d = (4_000, 300) if quick else (20_000, 1_000)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    x = 0.1 * rng.standard_normal((10, d))[y] + rng.standard_normal((n, d))
    race(
        f"Linear discriminants, {n} x {d}, 10 classes",
        ("separatrix", lambda: sx.LinearDiscriminantAnalysis().fit(x, y)),
        {
            f"scikit-learn, {solver}": lambda solver=solver: LinearDiscriminantAnalysis(
                solver=solver
            ).fit(x, y)
            for solver in ("svd", "lsqr", "eigen")
        },
        note=lambda m: f"accuracy {m.score(x, y):.4f}",
        target=1.5,
    )


def logistic_dense(quick: bool) -> None:
    """L2 penalty, C = 1, two classes."""
    n, d = (4_000, 800) if quick else (20_000, 2_000)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-x @ rng.standard_normal(d) / 20))).astype(int)

    def objective(m) -> str:
        s = m.decision_function(x) * np.where(y == 1, 1, -1)
        return f"objective {np.logaddexp(0, -s).sum() + 0.5 * (m.coef_**2).sum():.4f}"

    peer = sklearn.linear_model.LogisticRegression
    race(
        f"Logistic regression, L2, dense {n} x {d}",
        ("separatrix", lambda: sx.LogisticRegression().fit(x, y)),
        {
            f"scikit-learn {solver}": lambda solver=solver: peer(solver=solver).fit(x, y)
            for solver in ("lbfgs", "newton-cg", "liblinear")
        },
        rounds=5,
        note=objective,
        target=1.5,
    )


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (
    logistic_dense,
    lda,
    neighbors,
    ridge,
    lasso_path,
)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()
