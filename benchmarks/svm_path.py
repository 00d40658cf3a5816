"""The whole path over C of 500 points, against fifty fits of scikit-learn."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.svm import SVC

import separatrix as sx
from race import race


def note(found: Any) -> str:
    if isinstance(found, list):
        return f"{len(found)} values of C"
    worst = float(np.max(found.gaps()))
    return f"{len(found.breakpoints_)} breakpoints, worst relative gap {worst:.0e}"


def main(quick: bool = False) -> None:
    n = 200 if quick else 500
    rng = np.random.default_rng(0)
    for d, kernel in ((2, "linear"), (10, "linear"), (2, "rbf"), (10, "rbf")):
        x = rng.standard_normal((n, d))
        y = np.where(x.sum(axis=1) / np.sqrt(d) + 0.5 * rng.standard_normal(n) > 0.2, 1, -1)
        path = sx.SVMPath(kernel, C=1.0).fit(x, y)
        Cs = np.geomspace(path.breakpoints_[0], path.breakpoints_[-1], 50)
        race(
            f"Path of support vector machines, {n} × {d}, {kernel} kernel",
            ("separatrix, every C", lambda x=x, y=y, k=kernel: sx.SVMPath(k, C=1.0).fit(x, y)),
            {
                "scikit-learn, 50 fits": lambda x=x, y=y, k=kernel, Cs=Cs: [
                    SVC(C=C, kernel=k).fit(x, y) for C in Cs
                ]
            },
            note=note,
            target=1,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
