"""Bias and variance: over complexity, and as the fits that they are means of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import fill_band, mark_point
from separatrix.pictures.style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    label_text,
    style_axes,
)

if TYPE_CHECKING:
    from separatrix.selection.theory.bias_variance import BiasVariance

#: Errors of more than so many times the least are cut off.
TALLEST = 4.0
#: Fits drawn at most.
MAX_FITS = 20
#: Points of a curve at most.
MAX_POINTS = 50


@dataclass(eq=False)
class BiasVarianceDisplay(Display):
    """Squared bias, variance and error of models of growing complexity.

    Parameters
    ----------
    labels : sequence
        Complexity of each model, in order: orders of polynomials, numbers of neighbors, names.
    results : sequence of BiasVariance
        One for each.
    complexity : str, default="order"
        What the labels are.

    Attributes
    ----------
    best : int
        Position of the least error.

    See Also
    --------
    FitsDisplay : The fits themselves.
    ValidationCurveDisplay : The error alone, on a table.

    References
    ----------
    S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma,
    Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import BiasVarianceDisplay
    >>> sine = lambda x: 2 * np.sin(1.5 * x[:, 0])
    >>> found = sx.polynomial_bias_variance([1, 3, 5], sine, 1.0, x=np.linspace(0, 4, 20))
    >>> BiasVarianceDisplay([1, 3, 5], found).description
    'Error without the noise is least at order 3: 0.2190, of it squared bias 0.01902 and variance
    0.2000. At order 1 the squared bias is 0.8102, at order 5 the variance is 0.3000.'
    """

    labels: Sequence[Any]
    results: Sequence[BiasVariance]
    complexity: str = "order"

    title: ClassVar[str] = "Bias and variance"

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.results) or not self.results:
            raise InputError(f"{len(self.labels)} labels for {len(self.results)} results.")

    @property
    def best(self) -> int:
        """Position of the least error."""
        return int(np.argmin([one.error for one in self.results]))

    @property
    def description(self) -> str:
        """The least error and its parts, and the ends of both curves."""
        one, at = self.results[self.best], self.labels[self.best]
        return (
            f"Error without the noise is least at {self.complexity} {at}: "
            f"{number(one.error - one.noise)}, of it squared bias {number(one.squared_bias)} and "
            f"variance {number(one.variance)}. At {self.complexity} {self.labels[0]} the squared "
            f"bias is {number(self.results[0].squared_bias)}, at {self.complexity} "
            f"{self.labels[-1]} the variance is {number(self.results[-1].variance)}."
        )

    def _draw(self, ax: Any) -> None:
        at = np.arange(len(self.labels), dtype=float)
        lines = (
            ("squared_bias", "squared bias", BLUE, "o", 0.0),
            ("variance", "variance", ORANGE, "s", 0.0),
            ("error", "error without the noise", GREEN, "^", 1.0),
        )
        highest = 0.0
        for name, label, color, marker, less in lines:
            noise = less * np.array([one.noise for one in self.results])
            values = np.array([getattr(one, name) for one in self.results]) - noise
            ends = np.array([getattr(one, f"{name}_interval") for one in self.results])
            if not all(one.exact for one in self.results):
                fill_band(ax, at, ends[:, 0] - noise, ends[:, 1] - noise, color=color)
            ax.plot(at, values, marker=marker, ms=4, color=color, label=label)
            highest = max(highest, float(values[0]), float(values[self.best]))
        best = self.results[self.best]
        least = best.error - best.noise
        mark_point(ax, at[self.best], least, "least error", color=PURPLE)
        top = max(min(TALLEST * least, 1.2 * self._largest()), 1.15 * highest)
        ax.set_ylim(min(0.0, -0.02 * top), top)
        ax.set_xticks(at, [label_text(label, 12) for label in self.labels])
        style_axes(ax)
        ax.set_xlabel(self.complexity)
        ax.set_ylabel("mean squared error")
        ax.legend(frameon=False, fontsize=9, loc="best")

    def _largest(self) -> float:
        return max(one.error - one.noise for one in self.results)


@dataclass(eq=False)
class FitsDisplay(Display):
    """Fits of simulated data sets, their mean, and the truth, along one input.

    The spread of the fits is the variance; the distance of their mean from the truth, the bias.

    Parameters
    ----------
    result : BiasVariance
        What :func:`separatrix.bias_variance` returned, for one input.
    max_fits : int, default=20
        Number of fits drawn at most.

    See Also
    --------
    BiasVarianceDisplay : Over complexity.

    References
    ----------
    S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma,
    Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import FitsDisplay
    >>> line = sx.PolynomialRegression(1)
    >>> found = sx.bias_variance(line, lambda x: x[:, 0] ** 2, 0.1, repeats=30)
    >>> FitsDisplay(found).description
    '20 of 30 fits to 20 rows. Their mean is 0.075 from the truth (root mean square), and they
    spread by 0.049 around it (standard deviation).'
    """

    result: BiasVariance
    max_fits: int = MAX_FITS

    title: ClassVar[str] = "Fits and their mean"

    def __post_init__(self) -> None:
        if self.result.x.shape[1] != 1:
            raise InputError(
                f"There are {self.result.x.shape[1]} inputs; fits are drawn along one."
            )

    @property
    def description(self) -> str:
        """How far the mean is from the truth, and how far fits spread."""
        one = self.result
        drawn = min(self.max_fits, len(one.predictions))
        away = np.sqrt(np.mean((one.mean_prediction - one.truth) ** 2))
        spread = np.sqrt(one.variance)
        return (
            f"{drawn} of {plural(len(one.predictions), 'fit')} to {one.n} rows. Their mean is "
            f"{away:.2g} from the truth (root mean square), and they spread by {spread:.2g} around "
            "it (standard deviation)."
        )

    def _draw(self, ax: Any) -> None:
        one = self.result
        order = np.argsort(one.x[:, 0], kind="stable")
        order = order[:: -(-len(order) // MAX_POINTS)]
        x = one.x[order, 0]
        for i, fit in enumerate(one.predictions[: self.max_fits]):
            label = "fits" if i == 0 else None
            ax.plot(x, fit[order], color=MUTED, linewidth=0.6, alpha=0.6, label=label)
        ax.plot(x, one.truth[order], color=INK, linewidth=1.4, linestyle=(0, (4, 3)), label="truth")
        ax.plot(x, one.mean_prediction[order], color=ORANGE, linewidth=2, label="mean of the fits")
        together = np.concatenate([one.truth, one.mean_prediction])
        low, high = float(together.min()), float(together.max())
        room = 0.6 * (high - low) + 2 * float(np.sqrt(np.median(one.prediction_variance)))
        ax.set_ylim(low - room - 1e-9, high + room + 1e-9)
        style_axes(ax)
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.legend(frameon=False, fontsize=9, loc="best")
