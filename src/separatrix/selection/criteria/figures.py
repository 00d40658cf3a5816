"""What criteria read of the models along a path: the contract between paths and criteria.

A path (ridge, lasso, logistic, SVM …) has a method ``path_figures``, a single model has
``fit_figures``: families say what they know, and why they do not know the rest. No criterion
inspects an estimator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Subsets:
    """Least squares on subsets of the columns, one for each point of a path.

    ``coefficients`` counts them without the intercept, ``squares`` are residual sums of squares,
    ``explained`` the sums of squares of the fitted values, and ``rows`` the number of rows less
    the intercept: all about the mean where there is an intercept.
    """

    coefficients: Floats
    squares: Floats
    explained: Floats
    rows: float


@dataclass(frozen=True)
class PathFigures:
    """The models along a path of m points; None for what they do not have.

    ``values`` of ``parameter`` name the points, ``simplicity`` (m) orders them: the largest belongs
    to the simplest model. ``n`` is the number of rows, Σw.

    ``freedom`` (m) are effective degrees of freedom, intercepts included; ``others`` counts the
    parameters that all points share and ``freedom`` does not count (1 for the variance of the
    noise). ``capacity`` are VC dimensions, or what stands for them, as ``capacity_note`` says;
    ``squares`` are residual sums of squares and ``errors`` fractions of training rows that are
    classified wrong. ``fold_losses`` (m x folds) are mean losses of test rows. ``reasons`` say by
    criterion why a figure is None, or what it stands for.
    """

    parameter: str
    values: tuple[Any, ...]
    simplicity: Floats
    n: float
    freedom: Floats | None = None
    log_likelihood: Floats | None = None
    others: int = 0
    squares: Floats | None = None
    errors: Floats | None = None
    capacity: Floats | None = None
    subsets: Subsets | None = None
    log_evidence: Floats | None = None
    fold_losses: Floats | None = None
    loss: str = "squared error"
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FitFigures:
    """One fitted model: Σw, log-likelihood, degrees of freedom, and sums of squares if it has any.

    ``squares`` and ``explained`` are those of least squares, about the mean where ``intercept``.
    """

    n: float
    freedom: float
    log_likelihood: float
    others: int = 0
    squares: float | None = None
    explained: float | None = None
    intercept: bool = True


class ComparablePath(Protocol):
    """A fitted path whose points criteria can compare."""

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What criteria need; the rows are those of the fit, where they are wanted again."""
