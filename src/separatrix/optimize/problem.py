"""What an optimiser asks of a problem: its value and derivatives at a point, and nothing else."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from separatrix.rows.block import Floats


@runtime_checkable
class Problem(Protocol):
    """A function to be minimised, with its slope."""

    def value(self, x: Floats) -> float:
        """f(x)."""

    def gradient(self, x: Floats) -> Floats:
        """∇f(x)."""


@runtime_checkable
class CurvedProblem(Problem, Protocol):
    """A function whose matrix of second derivatives can be formed."""

    def hessian(self, x: Floats) -> Floats:
        """∇²f(x)."""


#: What each optional part of a problem is for, as the refusals say it.
_PURPOSE = {
    "value": "value(x), the number to be minimised",
    "gradient": "gradient(x), the slope in every direction",
    "hessian": "hessian(x), the matrix of second derivatives",
    "hessian_vector": "hessian_vector(x, v), the curvature along v",
    "matvec": "matvec(b), the product X·b",
    "rmatvec": "rmatvec(r), the product Xᵀ·r",
    "shape": "shape, the numbers of rows and columns",
}


def require(method: str, problem: object, *parts: str) -> None:
    """Refuse at once a problem that lacks what ``method`` will call for, and say what that is."""
    missing = [part for part in parts if not hasattr(problem, part)]
    if missing:
        wanted = "; ".join(_PURPOSE[part] for part in missing)
        raise TypeError(
            f"{method} cannot work on {type(problem).__name__}: it lacks {wanted}. "
            "Add what is missing, or choose a method that needs less."
        )


def offers(problem: object, part: str) -> bool:
    """Whether a problem has an optional part."""
    return hasattr(problem, part)
