"""Gaussian kernel rows, and sums over them: what every kernel method waits for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, m, d = (5_000, 1_000, 20) if quick else (20_000, 2_000, 20)
    rng = np.random.default_rng(0)
    z, x = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    sigma = 3.0
    gamma = 0.5 / sigma**2
    exact = np.exp(-gamma * ((x[0] - z) ** 2).sum(axis=1))
    prepared = sx.Gaussian(sigma).prepare(z)
    single = sx.Gaussian(sigma).prepare(z.astype(np.float32))
    x32 = x.astype(np.float32)

    def error(block: Any) -> str:
        return f"{block.dtype}, error {np.abs(block[0] - exact).max():.1e}"

    race(
        f"Gaussian kernel, {m:,} × {n:,} entries, {d} columns",
        ("separatrix", lambda: prepared.rows(x)),
        {
            "scikit-learn": lambda: rbf_kernel(x, z, gamma=gamma),
            "separatrix, single precision": lambda: single.rows(x32),
        },
        rounds=7,
        peer_rounds=7,
        note=error,
    )
    weights = rng.standard_normal((m, 1))
    shape = sx.KernelExpansion(sx.Gaussian(sigma), x, weights, 0.0)
    race(
        f"Sums of {m:,} Gaussian kernels at {n:,} rows",
        ("separatrix", lambda: shape.scores(z)),
        {"scikit-learn's kernel, NumPy": lambda: rbf_kernel(z, x, gamma=gamma) @ weights},
        rounds=7,
        peer_rounds=7,
        note=lambda scores: f"first {scores[0, 0]:.12f}",
    )
    words = ["".join(rng.choice(list("acgt"), 60)) for _ in range(100 if quick else 400)]
    kernel = sx.Subsequence(4, 0.5)
    race(
        f"Subsequences of 4 letters, {len(words)} strings of 60: a Gram matrix",
        ("separatrix", lambda: kernel.gram(words)),
        {},
        note=lambda gram: f"{gram.size / 2:,.0f} pairs",
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
