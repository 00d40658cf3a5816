"""Learning curves: error by size of the training set, complexity and fold; prints as a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.selection.curves.power_law import PowerLaw, fit_power_law

#: Complexities of which a table has columns.
MOST_COLUMNS = 8


@dataclass(frozen=True)
class Extrapolation:
    """The error of one complexity at ``n`` rows, with an interval of 90 %.

    ``gain`` is how much less that is than now, by the same power law, with its interval.
    ``determined`` says whether the curve determines its limit.
    """

    name: str
    n: float
    error: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    determined: bool


@dataclass(frozen=True)
class LearningCurves:
    """Error over complexity and amount of data, fold by fold; prints as a table.

    Parameters
    ----------
    sizes : ndarray of shape (s,)
        Numbers of training rows, mean over the folds (Σw where rows have weights).
    names : tuple of str
        The complexities, simplest first.
    validation : ndarray of shape (s, c, folds)
        Mean loss of the test rows of each fold; NaN where a model could not be fitted.
    training : ndarray of shape (s, c, folds)
        Mean loss of the training rows.
    loss : str, default="squared error"
        What is averaged. Tables, pictures and extrapolations show the root of a squared error.
    passes : int, default=0
        Passes over the rows; 0 where models were refitted.

    Attributes
    ----------
    best : ndarray of shape (s,)
        Position of the complexity of least error, by size.

    See Also
    --------
    learning_curves : Computes them.

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((400, 5))
    >>> y = x @ [1.0, 0.5, 0.0, 0.0, 0.0] + rng.standard_normal(400)
    >>> curves = sx.learning_curves([sx.Ridge(1000.0), sx.Ridge(1.0)], x, y)
    >>> curves.names[curves.best[-1]], curves.passes
    ('1.0', 1)
    >>> found = curves.extrapolate(4000)[-1]
    >>> bool(found.low <= found.error <= found.high)
    True
    """

    sizes: Floats
    names: tuple[str, ...]
    validation: Floats
    training: Floats
    loss: str = "squared error"
    passes: int = 0

    @property
    def metric(self) -> str:
        """The name of what is shown: "rmse" for squared errors, else the loss."""
        return {"squared error": "rmse", "error rate": "error"}.get(self.loss, self.loss)

    @property
    def mean(self) -> Floats:
        """What is shown, by size and complexity: means over folds, their root if of squares."""
        return self.shown(self.validation.mean(axis=2))

    @property
    def standard_error(self) -> Floats:
        """Standard error of ``mean`` over the folds."""
        k = self.validation.shape[2]
        spread = self.validation.std(axis=2, ddof=1) / np.sqrt(k)
        if self.loss != "squared error":
            return np.asarray(spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.mean > 0.0, spread / (2.0 * self.mean), 0.0))

    def shown(self, losses: Floats) -> Floats:
        """Losses as they are shown."""
        return np.asarray(np.sqrt(losses) if self.loss == "squared error" else losses)

    @property
    def best(self) -> Ints:
        """Position of the least mean error, by size; of equals the simplest, −1 if none is known.

        Differences beyond twelve digits are rounding.
        """
        mean = np.where(np.isfinite(self.mean), self.mean, np.inf)
        least = mean.min(axis=1, keepdims=True)
        first = (mean <= least * (1.0 + 1e-12)).argmax(axis=1)
        return np.asarray(np.where(np.isfinite(least[:, 0]), first, -1), dtype=np.int64)

    @cached_property
    def power_laws(self) -> tuple[PowerLaw | None, ...]:
        """One for each complexity; None where too few points follow the last peak."""
        columns = (self.validation[:, j] for j in range(len(self.names)))
        return tuple(fit_power_law(self.sizes, column) for column in columns)

    def extrapolate(self, n: float) -> list[Extrapolation]:
        """The error at ``n`` training rows (∞ for the limit) of every curve that allows it.

        Folds of n rows are meant: the model of the whole table has a fold more.
        """
        if not n > 0:
            raise InputError(f"n={n!r} must be a number of rows.")
        found = []
        for j, name in enumerate(self.names):
            law = self.power_laws[j]
            if law is None:
                continue
            then, now = self.draws_at(j, n), self.draws_at(j, float(self.sizes[-1]))
            error, low, high = law.interval(then)
            gain = law.interval(now - then)
            found.append(Extrapolation(name, n, error, low, high, *gain, law.determined))
        return found

    def draws_at(self, j: int, n: float) -> Floats:
        """The error of complexity j at ``n`` rows by every draw of its power law, as shown.

        The law is moved to pass through the error of the largest training sets.
        """
        law = self.power_laws[j]
        assert law is not None
        end = float(law.at(float(self.sizes[-1]))[0])
        through = float(self.validation[-1, j].mean()) / end if end > 0.0 else 1.0
        return self.shown(law.at(n) * through)

    def __str__(self) -> str:
        at = np.unique(
            np.linspace(0, len(self.names) - 1, min(len(self.names), MOST_COLUMNS)).round()
        ).astype(int)
        heads = ["rows", *(self.names[j] for j in at)]
        mean, spread, best = self.mean, self.standard_error, self.best
        lines = []
        for i, size in enumerate(self.sizes):
            cells = []
            for j in at:
                text = "–"
                if np.isfinite(mean[i, j]):
                    text = f"{digits(mean[i, j], 4)} ± {digits(spread[i, j], 2)}"
                cells.append(f"{text}*" if j == best[i] else text)
            lines.append([f"{size:.0f}", *cells])
        widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
        table = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True))
            for line in (heads, *lines)
        ]
        return "\n".join(
            [*table, f"{self.metric} on test rows ± standard error; * least in its row"]
        )


def digits(value: float, count: int) -> str:
    """A number of so many digits, without a power of ten where it is not needed."""
    text = f"{value:.{count}g}"
    return f"{float(text):,.0f}" if 1e2 <= abs(value) < 1e9 and "e" in text else text
