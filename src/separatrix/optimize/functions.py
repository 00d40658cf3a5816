"""Functions to try a descent on: a quadratic, and the logistic loss of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from separatrix.messages import InputError
from separatrix.rows.block import Floats


class Quadratic:
    """f(x) = ½ xᵀA x − b·x with a symmetric matrix A.

    Its minimum, if A is positive definite, solves A x = b.

    Parameters
    ----------
    A : array-like of shape (d, d)
        A symmetric matrix.
    b : array-like of shape (d,)
        The right-hand side.

    See Also
    --------
    conjugate_gradient : Minimizes it in at most d steps.
    newton : Minimizes it in one.

    Examples
    --------
    >>> import separatrix as sx
    >>> bowl = sx.Quadratic([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0])
    >>> bowl.value([1.0, 1.0]), bowl.gradient([0.0, 0.0]).tolist()
    (-3.0, [-2.0, -4.0])
    """

    def __init__(self, A: Any, b: Any) -> None:
        self.A, self.b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        if self.A.shape != (len(self.b), len(self.b)):
            raise InputError(f"A has the shape {self.A.shape}, and b the length {len(self.b)}.")
        if not np.allclose(self.A, self.A.T, rtol=1e-12, atol=0.0):
            raise InputError("A is not symmetric.", remedy="Use (A + Aᵀ) / 2: f is the same.")

    def value(self, x: Any) -> float:
        """f(x)."""
        x = np.asarray(x, dtype=float)
        return float(0.5 * x @ self.A @ x - self.b @ x)

    def gradient(self, x: Any) -> Floats:
        """A x − b."""
        return np.asarray(self.A @ np.asarray(x, dtype=float) - self.b)

    def hessian(self, x: Any) -> Floats:  # noqa: ARG002
        """A, everywhere."""
        return self.A

    def hessian_vector(self, x: Any, v: Floats) -> Floats:  # noqa: ARG002
        """A v."""
        return np.asarray(self.A @ v)

    def lipschitz(self) -> float:
        """The largest eigenvalue of A."""
        return float(np.linalg.eigvalsh(self.A)[-1])


class LogisticLoss:
    """Mean logistic loss of a table of two classes, with an ℓ₂ penalty if wanted.

        f(w, t) = (1/n) Σ log(1 + e^−s(w·x + t)) + ½ α ‖w‖²,      s = ±1

    The point of a descent is (w, t), the intercept last.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        Two classes; s = 1 for the larger label.
    alpha : float, default=0.0
        The penalty.

    See Also
    --------
    newton : Minimizes it in a few steps.
    conjugate_gradient : Minimizes it without Hessian matrices.
    LogisticRegression : The estimator.

    Examples
    --------
    >>> import separatrix as sx
    >>> loss = sx.LogisticLoss([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> round(loss.value([0.0, 0.0]), 6)  # log 2
    0.693147
    """

    def __init__(self, X: Any, y: Any, alpha: float = 0.0) -> None:
        x, labels = np.asarray(X, dtype=float), np.asarray(y)
        classes = np.unique(labels)
        if x.ndim != 2 or len(x) != len(labels) or len(classes) != 2:
            raise InputError(
                f"X of shape {x.shape} and {len(labels)} labels of {len(classes)} classes.",
                remedy="Give one row for each label, and two classes.",
            )
        self.alpha = float(alpha)
        self.z = np.column_stack([x, np.ones(len(x))])
        self.r = (labels == classes[1]).astype(float)
        self.ridge = np.append(np.full(x.shape[1], self.alpha), 0.0)

    def value(self, x: Any) -> float:
        """f(w, t)."""
        x = np.asarray(x, dtype=float)
        s = self.z @ x
        return float(np.mean(np.logaddexp(0.0, s) - self.r * s) + 0.5 * self.ridge @ x**2)

    def gradient(self, x: Any) -> Floats:
        """(1/n) Σ (p − y) (x, 1), and the penalty's."""
        x = np.asarray(x, dtype=float)
        return np.asarray(self.z.T @ (expit(self.z @ x) - self.r) / len(self.z) + self.ridge * x)

    def hessian(self, x: Any) -> Floats:
        """(1/n) Σ p (1 − p) (x, 1)(x, 1)ᵀ, and the penalty's."""
        p = expit(self.z @ np.asarray(x, dtype=float))
        weighted = self.z * (p * (1.0 - p))[:, None]
        return np.asarray(self.z.T @ weighted / len(self.z) + np.diag(self.ridge))

    def hessian_vector(self, x: Any, v: Floats) -> Floats:
        """The Hessian times v, without forming it."""
        p = expit(self.z @ np.asarray(x, dtype=float))
        scores = self.z @ v
        return np.asarray(self.z.T @ (p * (1.0 - p) * scores) / len(self.z) + self.ridge * v)
