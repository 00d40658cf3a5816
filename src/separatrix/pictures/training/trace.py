"""Training traces of iterative classifiers: gradient descent by step, perceptrons by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural, score_info, score_text
from separatrix.pictures.style import BLUE, ORANGE, score_axis_right, style_axes
from separatrix.rows.block import Floats, Ints

#: Points of a line at most.
_POINTS = 240
_REASONS = {
    "solved": "the gradient vanished",
    "stopped early": "the error rate stopped falling",
    "limit reached": "the maximum number of steps was reached",
    "diverged": "the loss increased: the learning rate is too large",
    "oscillating": "the iterates oscillated: the learning rate is too large",
}


def _selected(last: int) -> NDArray[np.int_]:
    """Positions 0 … last, evenly thinned if there are many."""
    return np.unique(np.linspace(0, last, min(_POINTS, last + 1)).round().astype(int))


@dataclass(eq=False)
class TrainingTraceDisplay(Display):
    """Mean loss and training error rate at each step of gradient descent.

    Parameters
    ----------
    losses : array-like of shape (steps + 1,)
        Mean loss at the start and after each step.
    error_rates : array-like of shape (steps + 1,)
        Proportion of misclassified training rows.
    status : str, default="solved"
        Why the descent stopped: "solved", "stopped early", "limit reached", "diverged" or
        "oscillating".

    See Also
    --------
    PerceptronTraceDisplay : Mistakes of a perceptron by epoch.
    LearningCurveDisplay : Error against the number of training rows.

    Examples
    --------
    >>> from separatrix.pictures import TrainingTraceDisplay
    >>> display = TrainingTraceDisplay([0.69, 0.4, 0.3], [0.5, 0.1, 0.2])
    >>> display.description
    'In 2 steps the mean loss went from 0.690 to 0.300 and the error rate from 50.0 % to 20.0 %;
    its minimum, 10.0 %, was after 1 step. The descent stopped because the gradient vanished.'
    """

    losses: Floats
    error_rates: Floats
    status: str = "solved"

    title: ClassVar[str] = "Training trace"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted :class:`~separatrix.GradientDescent`."""
        trace = model.trace_
        return cls(trace.objective, trace.misclassified, trace.status)

    @property
    def description(self) -> str:
        """First and last values, the lowest error rate, and why the descent stopped."""
        errors = np.asarray(self.error_rates)
        best = int(errors.argmin())
        return (
            f"In {plural(len(errors) - 1, 'step')} the mean loss went from "
            f"{number(self.losses[0], 3)} to {number(self.losses[-1], 3)} and the error rate from "
            f"{score_text(errors[0], 'error')} to {score_text(errors[-1], 'error')}; its minimum, "
            f"{score_text(errors[best], 'error')}, was after {plural(best, 'step')}. The descent "
            f"stopped because {_REASONS.get(self.status, self.status)}."
        )

    def _draw(self, ax: Any) -> None:
        steps = len(self.losses) - 1
        shown, marker = _selected(steps), "." if steps < 2 else ""
        ax.plot(shown, np.asarray(self.losses)[shown], color=BLUE, marker=marker)
        ax.set_xlabel("step")
        ax.set_ylabel("mean loss", color=BLUE)
        style_axes(ax)
        other = score_axis_right(ax, score_info("error"), ORANGE)
        errors = np.asarray(self.error_rates)[shown]
        other.plot(shown, errors, color=ORANGE, linestyle="--", marker=marker)
        other.set_ylim(0, max(0.02, 1.1 * float(errors.max())))


@dataclass(eq=False)
class PerceptronTraceDisplay(Display):
    """Mistakes of a perceptron in each epoch.

    Parameters
    ----------
    mistakes : array-like of int, shape (epochs,)
        Updates in each epoch, over all outputs.
    n_rows : int
        Number of training rows.
    status : str, default="converged"
        "converged" if the last epoch was without mistakes.

    See Also
    --------
    TrainingTraceDisplay : Loss and error rate of gradient descent.
    DecisionBoundaryDisplay : The decision regions on a plane.

    References
    ----------
    F. Rosenblatt, The perceptron: a probabilistic model for information storage and
    organization in the brain, Psychological Review 65, 1958.

    Examples
    --------
    >>> from separatrix.pictures import PerceptronTraceDisplay
    >>> PerceptronTraceDisplay([5, 2, 0], n_rows=10).description
    '7 mistakes in 3 epochs over 10 rows: 5 in the first epoch, fewest (0) in epoch 3, 0 in the
    last. Converged: the classes are linearly separable in the feature space.'
    """

    mistakes: Ints
    n_rows: int
    status: str = "converged"

    title: ClassVar[str] = "Perceptron mistakes by epoch"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted perceptron, with or without kernel."""
        trace = model.trace_
        return cls(trace.mistakes.sum(axis=1), trace.rows, trace.status)

    @property
    def description(self) -> str:
        """Mistakes in the first, best and last epoch, and whether the training converged."""
        mistakes = np.asarray(self.mistakes)
        best = int(mistakes.argmin())
        end = (
            "Converged: the classes are linearly separable in the feature space."
            if self.status == "converged"
            else "Not converged within the maximum number of epochs."
        )
        return (
            f"{plural(int(mistakes.sum()), 'mistake')} in {plural(len(mistakes), 'epoch')} over "
            f"{plural(self.n_rows, 'row')}: {int(mistakes[0])} in the first epoch, fewest "
            f"({int(mistakes[best])}) in epoch {best + 1}, {int(mistakes[-1])} in the last. {end}"
        )

    def _draw(self, ax: Any) -> None:
        mistakes = np.asarray(self.mistakes)
        shown = _selected(len(mistakes) - 1)
        ax.plot(shown + 1, mistakes[shown], color=BLUE, marker="." if len(shown) < 60 else "")
        ax.set_ylim(0, max(1.0, 1.05 * float(mistakes.max())))
        ax.set_xlabel("epoch")
        ax.set_ylabel("mistakes")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.yaxis.get_major_locator().set_params(integer=True)
        style_axes(ax)
