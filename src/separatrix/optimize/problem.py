"""What the optimizers need of a problem: its value and derivatives at a point.

Optional parts are protocols of their own, so that an optimizer can ask ``isinstance``.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from separatrix.rows.block import Floats


@runtime_checkable
class Problem(Protocol):
    """A differentiable function to be minimized."""

    def value(self, x: Floats) -> float:
        """f(x)."""

    def gradient(self, x: Floats) -> Floats:
        """∇f(x)."""


@runtime_checkable
class TwiceDifferentiable(Problem, Protocol):
    """A function with a Hessian matrix."""

    def hessian(self, x: Floats) -> Floats:
        """∇²f(x)."""


@runtime_checkable
class HasLipschitz(Protocol):
    """A function that knows a Lipschitz constant of its gradient."""

    def lipschitz(self) -> float:
        """The largest eigenvalue of ∇²f, or a bound of it."""


@runtime_checkable
class HasHessianVector(Protocol):
    """A function with products of its Hessian and a vector."""

    def hessian_vector(self, x: Floats, v: Floats) -> Floats:
        """∇²f(x) v."""


@runtime_checkable
class HasLowerBounds(Protocol):
    """A function whose variables have lower bounds."""

    def lower(self, x: Floats) -> Floats:
        """The bounds for a step from x."""


@runtime_checkable
class HasHessianBound(Protocol):
    """A function with bounds of its second derivatives."""

    def metric(self, x: Floats) -> Floats:
        """Bounds of the diagonal of ∇²f near x."""


#: What each part of a problem is, for error messages.
_PARTS = {
    "value": "value(x), the function to be minimized",
    "gradient": "gradient(x), the gradient",
    "hessian": "hessian(x), the Hessian matrix",
    "hessian_vector": "hessian_vector(x, v), the Hessian times v",
    "matvec": "matvec(b), the product X·b",
    "rmatvec": "rmatvec(r), the product Xᵀ·r",
    "shape": "shape, the numbers of rows and columns",
}


def require(method: str, problem: object, *parts: str) -> None:
    """Refuse a problem that lacks what ``method`` needs, and say what that is."""
    missing = [part for part in parts if not hasattr(problem, part)]
    if missing:
        wanted = "; ".join(_PARTS[part] for part in missing)
        raise TypeError(
            f"{method} cannot work on {type(problem).__name__}: it lacks {wanted}. "
            "Add what is missing, or choose a method that needs less."
        )
