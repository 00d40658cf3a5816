"""Isotonic calibration of many scores, sorting included."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression as scipy_isotonic
from sklearn.isotonic import IsotonicRegression, isotonic_regression

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n = 200_000 if quick else 2_000_000
    rng = np.random.default_rng(0)
    for title, decimals in (("all scores distinct", 17), ("scores to three decimals", 3)):
        s = np.round(rng.standard_normal(n), decimals)
        y = (rng.random(n) < 1 / (1 + np.exp(-1.5 * s))).astype(np.int64)
        best = IsotonicRegression(out_of_bounds="clip").fit(s, y)
        probe = s[:: n // 1000]

        def agree(model: Any, best: Any = best, probe: Any = probe) -> str:
            if not hasattr(model, "predict"):
                return "fitted values only"
            return (
                f"largest difference {np.abs(model.predict(probe) - best.predict(probe)).max():.1e}"
            )

        sx.IsotonicCalibration().fit(s[:100], y[:100])  # compiled before the race
        race(
            f"Isotonic calibration, {n:,} scores, {title}",
            ("separatrix IsotonicCalibration", lambda s=s, y=y: sx.IsotonicCalibration().fit(s, y)),
            {
                "scikit-learn IsotonicRegression": lambda s=s, y=y: IsotonicRegression(
                    out_of_bounds="clip"
                ).fit(s, y),
                "argsort, scikit-learn isotonic_regression": lambda s=s, y=y: isotonic_regression(
                    y[np.argsort(s)]
                ),
                "argsort, SciPy isotonic_regression": lambda s=s, y=y: scipy_isotonic(
                    y[np.argsort(s)]
                ),
            },
            note=agree,
            target=1,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
