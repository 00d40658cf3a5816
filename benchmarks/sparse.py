"""Sparse tables: text-like counts and weights, never filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.cluster
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.svm
from scipy import sparse

import penalized
import separatrix as sx
from race import race


def texts(n: int, d: int, k: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts of words by Zipf's law, a third of them particular to the class."""
    rng = np.random.default_rng(0)
    p = 1.0 / np.arange(1, d + 1) ** 1.05
    y, length = rng.integers(0, k, n), rng.poisson(150, n)
    rows = np.repeat(np.arange(n), length)
    words = rng.choice(d, size=len(rows), p=p / p.sum())
    own = rng.random(len(rows)) < 0.3
    words[own] = (7 * words[own] + rng.integers(0, d, k)[y[rows[own]]]) % d
    x = sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(n, d))
    x.sum_duplicates()
    return x, y


def naive_bayes(quick: bool) -> None:
    n, d = (2_000, 10_000) if quick else (11_000, 60_000)
    x, y = texts(n, d, 20)
    dense = np.random.default_rng(1).poisson(1.0, (n, 500)).astype(float)
    for name in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
        own, peer = getattr(sx, name), getattr(sklearn.naive_bayes, name)
        for table, kind in ((x, "sparse"), (dense, "dense")):
            race(
                f"{name}, {kind} counts {table.shape[0]} x {table.shape[1]}, 20 classes",
                ("separatrix", lambda own=own, table=table: own().fit(table, y)),
                {"scikit-learn": lambda peer=peer, table=table: peer().fit(table, y)},
                rounds=5,
                peer_rounds=5,
                note=lambda m, table=table: f"accuracy {(m.predict(table) == y).mean():.3f}",
                target=1.5,
            )


def linear_svm(quick: bool) -> None:
    n, d = (4_000, 10_000) if quick else (20_000, 50_000)
    rng = np.random.default_rng(0)
    entries = n * d // 500
    at = rng.integers(0, n, entries), rng.integers(0, d, entries)
    x = sparse.csr_matrix((rng.random(entries), at), shape=(n, d))
    y = np.asarray(x @ (3.0 * rng.standard_normal(d)) + 0.3 * rng.standard_normal(n) > 0.0)
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):

        def objective(m: Any, power: int = power) -> str:
            w, b = np.ravel(m.coef_), float(m.intercept_[0])
            slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (x @ w + b))
            own = 0.5 * (w @ w + (b**2 if power == 2 else 0.0)) + np.sum(slack**power)
            return f"objective {own:.4f}"

        peers = {"liblinear, dual": sklearn.svm.LinearSVC(loss=loss, dual=True)}
        if loss == "squared_hinge":
            peers["liblinear, primal"] = sklearn.svm.LinearSVC(loss=loss, dual=False)
        race(
            f"LinearSVC, {loss}, CSR {n} x {d}",
            ("separatrix", lambda loss=loss: sx.LinearSVC(loss=loss).fit(x, y)),
            {name: lambda peer=peer: peer.fit(x, y) for name, peer in peers.items()},
            note=objective,
            target=1.5,
        )


def l1_objective(model: Any, x: Any, y: np.ndarray, C: float) -> str:
    """C Σ ℓ + ‖b‖₁, computed alike for all."""
    coef = np.atleast_2d(model.coef_)
    scores = np.asarray(x @ coef.T)[:, 0] + np.ravel(model.intercept_)[0]
    loss = np.logaddexp(0.0, np.where(y == 1, -scores, scores)).sum()
    return f"objective {C * loss + np.abs(coef).sum():.4f}"


def l1_peers(x: Any, y: np.ndarray, C: float) -> dict[str, Callable[[], Any]]:
    """liblinear, and skglm where it is installed; each with its default tolerance."""
    from sklearn.linear_model import LogisticRegression

    peers: dict[str, Callable[[], Any]] = {
        "scikit-learn liblinear": lambda: LogisticRegression(
            l1_ratio=1.0, C=C, solver="liblinear"
        ).fit(x, y)
    }
    try:
        from skglm import SparseLogisticRegression
    except ImportError:
        return peers
    alpha = 1.0 / (C * x.shape[0])
    peers["skglm"] = lambda: SparseLogisticRegression(alpha=alpha, tol=1e-5).fit(x, y)
    return peers


def l1_logistic(quick: bool) -> None:
    n, d = (2_000, 5_000) if quick else (20_000, 50_000)
    rng = np.random.default_rng(0)
    m = n * d // 500
    at = rng.integers(0, n, m, dtype=np.int32), rng.integers(0, d, m, dtype=np.int32)
    x = sparse.csr_matrix((rng.random(m), at), shape=(n, d))
    b = np.where(rng.random(d) < 0.02, 10.0 * rng.standard_normal(d), 0.0)
    y = (x @ b + 0.3 * rng.standard_normal(n) > 0.0).astype(int)
    words, topic = texts(*((2_000, 10_000) if quick else (11_000, 60_000)), 20)
    for name, table, label, C in (
        ("uniform", x, y, 1.0),
        ("Zipf counts", words, (topic < 10).astype(int), 0.1),
    ):
        race(
            f"l1 logistic, CSR {table.shape[0]} x {table.shape[1]} ({name}), C = {C:g}",
            (
                "separatrix",
                lambda t=table, v=label, C=C: sx.LogisticRegression(C=C, l1_ratio=1.0).fit(t, v),
            ),
            l1_peers(table, label, C),
            note=lambda m, t=table, v=label, C=C: l1_objective(m, t, v, C),
            target=1.5,
        )


def ridge(quick: bool) -> None:
    solvers = (("sparse_cg", 1e-8), ("lsqr", 1e-8))
    n, d = (2_500, 10_000) if quick else (20_000, 50_000)
    penalized.ridge(*penalized.sparse_table(n, d, n * 100), solvers)
    x, y = texts(n, d, 2)
    penalized.ridge(sparse.csr_matrix(x.log1p()), y.astype(float), solvers)


def lasso_path(quick: bool) -> None:
    n, d = (2_500, 10_000) if quick else (20_000, 50_000)
    penalized.lasso_path(*penalized.sparse_table(n, d, n * 100), 50, 2e-2)


def kmeans(quick: bool) -> None:
    """From the same start, until no row moves."""
    n, d, k = (2_000, 10_000, 8) if quick else (11_000, 60_000, 20)
    x, _ = texts(n, d, k)
    x.data = np.log1p(x.data)
    start = x[np.random.default_rng(1).choice(n, k, replace=False)].toarray()
    settings = {"init": start, "n_init": 1, "tol": 0.0, "max_iter": 300}
    peer = sklearn.cluster.KMeans
    sx.KMeans(k, init=start).fit(x)  # compiled before the race
    race(
        f"K-means, CSR {n:,} x {d:,}, k = {k}, to the end",
        ("separatrix KMeans", lambda: sx.KMeans(k, init=start).fit(x)),
        {
            "scikit-learn KMeans": lambda: peer(k, **settings).fit(x),
            "scikit-learn KMeans, elkan": lambda: peer(k, algorithm="elkan", **settings).fit(x),
        },
        note=lambda model: f"inertia {model.inertia_:.4f}, {model.n_iter_} iterations",
        target=1.5,
    )


def logistic(quick: bool) -> None:
    """L2 penalty, C = 10, two classes, 0.2 % of the entries.

    With the tolerance at which their objective is as low, or nearly so: by default lbfgs and
    newton-cg end far above.
    """
    n, d = (4_000, 10_000) if quick else (20_000, 50_000)
    rng = np.random.default_rng(0)
    at = (np.repeat(np.arange(n), d // 500), rng.integers(0, d, n * (d // 500)))
    x = sparse.csr_matrix((rng.random(len(at[0])), at), shape=(n, d))
    y = (x @ (3 * rng.standard_normal(d)) + 0.3 * rng.standard_normal(n) > 0).astype(int)

    def objective(m) -> str:
        s = m.decision_function(x) * np.where(y == 1, 1, -1)
        return f"objective {10 * np.logaddexp(0, -s).sum() + 0.5 * (m.coef_**2).sum():.3f}"

    peer = sklearn.linear_model.LogisticRegression
    race(
        f"Logistic regression, L2, CSR {n} x {d}",
        ("separatrix", lambda: sx.LogisticRegression(C=10).fit(x, y)),
        {
            f"scikit-learn {solver}, tol={tol:g}": lambda solver=solver, tol=tol: peer(
                C=10, solver=solver, tol=tol, max_iter=1000
            ).fit(x, y)
            for solver, tol in (("lbfgs", 1e-6), ("newton-cg", 1e-5), ("liblinear", 1e-4))
        },
        rounds=5,
        note=objective,
        target=1.5,
    )


def neighbors(quick: bool) -> None:
    """The 10 nearest of 1 000 rows by words; scikit-learn's search of all pairs."""
    from sklearn.neighbors import NearestNeighbors

    n, d = (2_000, 10_000) if quick else (20_000, 50_000)
    x, _ = texts(n, d, 20)
    queries = x[:: n // 1_000]
    for metric in ("cosine", "euclidean"):
        settings = {"n_neighbors": 10, "metric": metric, "algorithm": "brute"}
        own, peer = (kind(**settings).fit(x) for kind in (sx.NearestNeighbors, NearestNeighbors))
        race(
            f"10 nearest of 1,000 rows among {n} x {d}, CSR, {metric}",
            ("separatrix", lambda own=own: own.kneighbors(queries)),
            {"scikit-learn": lambda peer=peer: peer.kneighbors(queries)},
            note=lambda found: f"mean distance {found[0].mean():.9f}",
            target=1.5,
        )


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (
    logistic,
    naive_bayes,
    linear_svm,
    l1_logistic,
    ridge,
    lasso_path,
    kmeans,
    neighbors,
)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()
