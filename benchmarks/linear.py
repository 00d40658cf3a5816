"""Linear regression with standard errors against plain fits."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import LinearRegression

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, d = (100_000, 50) if quick else (1_000_000, 50)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = x @ rng.standard_normal(d) + rng.standard_normal(n)

    def own() -> np.ndarray:
        summary = sx.LinearRegression().fit(x, y).summary()
        return np.append(summary.estimates[1:], summary.standard_errors)[:d]

    exact = np.linalg.lstsq(np.column_stack([np.ones(n), x]), y)[0][1:] if quick else own()
    race(
        f"Least squares with standard errors, {n:,} × {d}",
        ("separatrix LinearRegression + summary", own),
        {"scikit-learn LinearRegression, fit alone": lambda: LinearRegression().fit(x, y).coef_},
        rounds=5,
        note=lambda coef: f"max difference {np.abs(coef - exact).max():.0e}",
        target=3,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
