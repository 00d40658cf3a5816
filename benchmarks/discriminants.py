"""Gaussian class models: fits, probabilities, and the search over mixtures of covariances."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn import discriminant_analysis as theirs
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from race import race


def clouds(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes with covariances of their own."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    x = rng.standard_normal((n, d))
    for c in range(k):
        turn = np.eye(d) + 0.1 * rng.standard_normal((d, d))
        x[y == c] = x[y == c] @ turn + 0.3 * rng.standard_normal(d)
    return x, y


def main(quick: bool = False) -> None:
    n, d = (50_000, 50) if quick else (500_000, 50)
    x, y = clouds(n, d, 5)
    size = f"{n:,} × {d}, 5 classes"

    def agrees(model: object) -> str:
        return f"accuracy {model.score(x[:20_000], y[:20_000]):.4f}"  # type: ignore[attr-defined]

    race(
        f"Linear discriminant, fit, {size}",
        ("separatrix", lambda: sx.LinearDiscriminantAnalysis().fit(x, y)),
        {
            f"scikit-learn {solver}": lambda solver=solver: theirs.LinearDiscriminantAnalysis(
                solver=solver
            ).fit(x, y)
            for solver in ("svd", "lsqr", "eigen")
        },
        note=agrees,
        target=3,
    )
    race(
        f"Quadratic discriminant, fit, {size}",
        ("separatrix", lambda: sx.QuadraticDiscriminantAnalysis().fit(x, y)),
        {
            f"scikit-learn {solver}": lambda solver=solver: theirs.QuadraticDiscriminantAnalysis(
                solver=solver
            ).fit(x, y)
            for solver in ("svd", "eigen")
        },
        note=agrees,
        target=10,
    )
    own, peer = (
        sx.QuadraticDiscriminantAnalysis().fit(x, y),
        theirs.QuadraticDiscriminantAnalysis().fit(x, y),
    )
    race(
        f"Quadratic discriminant, probabilities, {size}",
        ("separatrix", lambda: own.predict_proba(x)),
        {"scikit-learn": lambda: peer.predict_proba(x)},
        note=lambda p: f"mean of the largest {p.max(axis=1).mean():.8f}",
        target=5,
    )
    race(
        f"Gaussian naive Bayes, fit, {size}",
        ("separatrix", lambda: sx.GaussianNB().fit(x, y)),
        {"scikit-learn": lambda: GaussianNB().fit(x, y)},
        note=agrees,
        target=2,
    )
    many_classes(quick)
    search(quick)


def many_classes(quick: bool) -> None:
    """Two hundred classes: fits cost about as much as of few, probabilities grow with them."""
    n = 20_000 if quick else 100_000
    x, y = clouds(n, 20, 200)
    size = f"{n:,} × 20, 200 classes"
    for own, peer in (
        (sx.QuadraticDiscriminantAnalysis, theirs.QuadraticDiscriminantAnalysis),
        (sx.LinearDiscriminantAnalysis, theirs.LinearDiscriminantAnalysis),
        (sx.GaussianNB, GaussianNB),
    ):
        ours, other = own().fit(x, y), peer().fit(x, y)
        race(
            f"{own.__name__}, fit, {size}",
            ("separatrix", lambda own=own: own().fit(x, y)),
            {"scikit-learn": lambda peer=peer: peer().fit(x, y)},
            note=lambda model: f"accuracy {model.score(x[:20_000], y[:20_000]):.4f}",
            target=2,
        )
        race(
            f"{own.__name__}, probabilities, {size}",
            ("separatrix", lambda ours=ours: ours.predict_proba(x)),
            {"scikit-learn": lambda other=other: other.predict_proba(x)},
            note=lambda p: f"mean of the largest {p.max(axis=1).mean():.8f}",
            target=1.5,
        )


def search(quick: bool) -> None:
    """The whole triangle of mixtures against eleven values of one."""
    n = 5_000 if quick else 20_000
    x, y = clouds(n, 16, 26)
    grid = {"reg_param": np.linspace(0.0, 1.0, 11)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        race(
            f"Regularised discriminant, 5 folds, {n:,} × 16, 26 classes",
            (
                "separatrix, 66 mixtures of 11 × 11",
                lambda: sx.RegularizedDiscriminantAnalysis(criterion="error").fit(x, y),
            ),
            {
                "scikit-learn grid search, 11 values": lambda: GridSearchCV(
                    theirs.QuadraticDiscriminantAnalysis(), grid, cv=5
                ).fit(x, y)
            },
            peer_rounds=1,
            note=lambda m: f"held-out error {_error(m):.4f}",
            target=1,
        )


def _error(model: object) -> float:
    best = float(model.best_score_)  # type: ignore[attr-defined]
    return best if isinstance(model, sx.RegularizedDiscriminantAnalysis) else 1.0 - best


if __name__ == "__main__":
    main("--quick" in sys.argv)
