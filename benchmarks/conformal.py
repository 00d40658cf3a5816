"""Jackknife+ intervals from one fit in closed form, against one fit for each row left out (MAPIE).

Same definition, same numbers: the largest difference of the ends is printed beside each time.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mapie.regression import CrossConformalRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import LeaveOneOut
from sklearn.neighbors import KNeighborsRegressor

import separatrix as sx
from race import race

LEVEL = 0.9


def own(model: Any, x: Any, y: Any, new: Any) -> Any:
    fitted = sx.ConformalRegressor(model, method="jackknife+").fit(x, y)
    return fitted.predict_interval(new, level=LEVEL)


def mapie(model: Any, x: Any, y: Any, new: Any) -> Any:
    fitted = CrossConformalRegressor(
        model, confidence_level=LEVEL, method="plus", cv=LeaveOneOut()
    ).fit_conformalize(x, y)
    return fitted.predict_interval(new)[1][:, :, 0]


def main(quick: bool = False) -> None:
    n, d, m = (300, 10, 200) if quick else (600, 20, 600)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = x @ rng.standard_normal(d) + np.sin(x[:, 0]) + rng.standard_normal(n)
    new = rng.standard_normal((m, d))
    width = 4.0
    process = sx.GaussianProcessRegressor(sx.Gaussian(width), alpha=0.5, optimizer=None)
    for name, ours, theirs in (
        ("least squares", sx.LinearRegression(), LinearRegression()),
        ("ridge", sx.Ridge(1.0), Ridge(1.0)),
        ("5 neighbors", sx.KNeighborsRegressor(5), KNeighborsRegressor(5)),
        ("kernel ridge", process, KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5 / width**2)),
    ):
        expected = own(ours, x, y, new)
        race(
            f"Jackknife+, {name}, {n:,} × {d}, {m:,} new rows",
            ("separatrix ConformalRegressor", lambda ours=ours: own(ours, x, y, new)),
            {"MAPIE CrossConformalRegressor": lambda theirs=theirs: mapie(theirs, x, y, new)},
            rounds=3,
            peer_rounds=1,
            note=lambda ends, expected=expected: f"difference {np.abs(ends - expected).max():.1e}",
            target=20,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
