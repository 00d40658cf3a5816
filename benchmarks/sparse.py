"""Sparse tables: text-like counts and weights, never filled in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sklearn.naive_bayes
from scipy import sparse

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


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (naive_bayes,)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()
