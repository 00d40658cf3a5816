"""Perceptrons: the same updates as scikit-learn's, and the kernel form within a bounded memory."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron

import separatrix as sx
from race import race
from separatrix.kernels import Gaussian

EPOCHS = 20


def noisy(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    return x, (x @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(int)


def quadrics(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    half = d // 2
    return x, ((x[:, :half] ** 2).sum(axis=1) > (x[:, half:] ** 2).sum(axis=1)).astype(int)


def dense(x: Any, y: Any, bandwidth: float) -> Any:
    """The textbook loop on the whole Gram matrix."""
    squares = (x**2).sum(axis=1)
    gram = np.exp((2 * x @ x.T - squares[:, None] - squares) / (2 * bandwidth**2)) + 1.0
    side = np.where(y == 1, 1.0, -1.0)
    alpha, scores = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(EPOCHS):
        before = alpha.sum()
        for i in range(len(x)):
            if side[i] * scores[i] <= 0:
                alpha[i] += 1
                scores += side[i] * gram[i]
        if alpha.sum() == before:
            break
    return alpha, gram.nbytes / 1e6


def summary(outcome: Any) -> str:
    if isinstance(outcome, tuple):
        return f"{outcome[0].sum():.0f} mistakes, {outcome[1]:.0f} MB of kernel"
    rows, megabytes = outcome.n_kernel_rows_, outcome.cache_megabytes_
    return f"{outcome.alpha_.sum():.0f} mistakes, {megabytes:.0f} MB of kernel, {rows} rows of it"


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore")
    n, d = (20_000, 50) if quick else (100_000, 50)
    x, y = noisy(n, d)
    race(
        f"Perceptron, {n:,} × {d}, {EPOCHS} epochs",
        ("separatrix", lambda: sx.Perceptron(max_epochs=EPOCHS).fit(x, y)),
        {
            "scikit-learn": lambda: Perceptron(max_iter=EPOCHS, tol=None, shuffle=False).fit(x, y),
        },
        note=lambda m: f"coefficient 0: {m.coef_[0, 0]:.6f}",
        target=2,
    )
    n, d, bandwidth = (3_000, 20, 4.0) if quick else (10_000, 20, 4.0)
    z, c = quadrics(n, d)
    race(
        f"Kernel perceptron, {n:,} × {d}, {EPOCHS} epochs at most",
        (
            "separatrix, cache 200 MB",
            lambda: sx.KernelPerceptron(Gaussian(bandwidth), max_epochs=EPOCHS).fit(z, c),
        ),
        {
            "NumPy, whole matrix": lambda: dense(z, c, bandwidth),
            "separatrix, cache 20 MB": lambda: sx.KernelPerceptron(
                Gaussian(bandwidth), max_epochs=EPOCHS, cache_size=20
            ).fit(z, c),
        },
        note=summary,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
