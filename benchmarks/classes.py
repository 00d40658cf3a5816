"""Many classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import sklearn.linear_model
from sklearn.naive_bayes import CategoricalNB

import separatrix as sx
from race import race


def pairs_of_svc(quick: bool) -> None:
    """A Gaussian SVC of all pairs of 50 classes; its dual values, summed over the pairs."""
    from sklearn.svm import SVC
    from sklearnex.svm import SVC as FastSVC

    n, d, k = (2_000, 20, 20) if quick else (10_000, 50, 50)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, k, n)
    x = 1.2 * rng.standard_normal((k, d))[codes] + rng.standard_normal((n, d))
    gamma = 1.0 / (d * x.var())

    def dual(model: Any) -> str:
        gram = sx.Gaussian(np.sqrt(0.5 / gamma)).gram(x[model.support_])
        own, total = codes[model.support_], 0.0
        for i, j in combinations(range(k), 2):
            a, b = np.flatnonzero(own == i), np.flatnonzero(own == j)
            rows = np.concatenate([a, b])
            beta = np.concatenate([model.dual_coef_[j - 1, a], model.dual_coef_[i, b]])
            total += np.abs(beta).sum() - 0.5 * beta @ gram[np.ix_(rows, rows)] @ beta
        return f"dual {total:.4f}, {len(model.support_)} vectors"

    race(
        f"Gaussian SVC, {n:,} × {d}, {k} classes",
        ("separatrix", lambda: sx.SVC().fit(x, codes)),
        {
            "scikit-learn": lambda: SVC().fit(x, codes),
            "scikit-learn-intelex": lambda: FastSVC().fit(x, codes),
        },
        note=dual,
        target=1.5,
    )


def categorical_naive_bayes(quick: bool) -> None:
    import pandas as pd

    n = 30_000 if quick else 300_000
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 50, (n, 10)), rng.integers(0, 5, n)
    frame = pd.DataFrame({f"c{j}": pd.Categorical(x[:, j]) for j in range(10)})
    own = {
        "a frame of categories": lambda: sx.NaiveBayes().fit(frame, y),
        "codes": lambda: sx.NaiveBayes(kinds="discrete").fit(x, y),
    }
    for kind, fit in own.items():
        race(
            f"Categorical naive Bayes, {n} x 10, 50 levels: {kind} (scikit-learn: codes)",
            ("separatrix", fit),
            {"scikit-learn": lambda: CategoricalNB().fit(x, y)},
            rounds=5,
            peer_rounds=5,
            note=lambda m: f"classes {len(m.classes_)}",
            target=1.5,
        )


def softmax(quick: bool) -> None:
    """Logistic regression, L2 penalty, C = 1."""
    n, d, k = (5_000, 20, 30) if quick else (50_000, 30, 100)
    rng = np.random.default_rng(0)
    centers, y = rng.standard_normal((k, d)), rng.integers(0, k, n)
    x = centers[y] + rng.standard_normal((n, d))

    def objective(m) -> str:
        s = m.decision_function(x)
        loss = (np.logaddexp.reduce(s, axis=1) - s[np.arange(n), y]).sum()
        return f"objective {loss + 0.5 * (m.coef_**2).sum():.3f}"

    race(
        f"Softmax regression, {n} x {d}, {k} classes",
        ("separatrix", lambda: sx.LogisticRegression().fit(x, y)),
        {"scikit-learn": lambda: sklearn.linear_model.LogisticRegression().fit(x, y)},
        note=objective,
        target=1.5,
    )


def discriminants(quick: bool) -> None:
    """Fits to, and predictions of, rows of very many Gaussian classes."""
    from sklearn import discriminant_analysis, naive_bayes

    n, d, k = (5_000, 10, 100) if quick else (50_000, 30, 1_000)
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    x = 1.5 * rng.standard_normal((k, d))[y] + rng.standard_normal((n, d))
    new = x[: n // 5]
    peers = {
        "LinearDiscriminantAnalysis": discriminant_analysis,
        "QuadraticDiscriminantAnalysis": discriminant_analysis,
        "GaussianNB": naive_bayes,
    }
    for name, module in peers.items():
        own, theirs = getattr(sx, name)(), getattr(module, name)()
        race(
            f"{name}, fit, {n} x {d}, {k} classes",
            ("separatrix", lambda own=own: own.fit(x, y)),
            {"scikit-learn": lambda theirs=theirs: theirs.fit(x, y)},
            target=1.5,
        )
        race(
            f"{name}, predictions of {len(new)} rows, {k} classes",
            ("separatrix", lambda own=own: own.predict(new)),
            {"scikit-learn": lambda theirs=theirs: theirs.predict(new)},
            note=lambda found: f"accuracy {np.mean(found == y[: len(new)]):.4f}",
            target=1.5,
        )


#: Every race of this file, in order; each takes ``quick``.
RACES: tuple[Callable[[bool], None], ...] = (
    softmax,
    categorical_naive_bayes,
    pairs_of_svc,
    discriminants,
)


def main(quick: bool = False) -> None:
    for run in RACES:
        run(quick)


if __name__ == "__main__":
    main()
