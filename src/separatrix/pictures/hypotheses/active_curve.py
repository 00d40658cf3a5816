"""Errors over the number of labels, queried and at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from separatrix.pictures.display import Display
from separatrix.pictures.points import fill_band
from separatrix.pictures.style import BLUE, ORANGE, percent_axis, style_axes

if TYPE_CHECKING:
    from separatrix.hypotheses.query.active_curve import ActiveCurve


@dataclass(eq=False)
class ActiveCurveDisplay(Display):
    """Test error against the number of labels, with intervals over the repeats.

    Parameters
    ----------
    curve : ActiveCurve
        What :func:`~separatrix.active_curve` returns.

    See Also
    --------
    VersionSpaceDisplay : What is not yet known of boxes.
    LearningCurveDisplay : Scores against the number of training rows.

    References
    ----------
    B. Settles, Active learning literature survey, University of Wisconsin–Madison, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import ActiveCurveDisplay
    >>> errors = np.array([[0.4, 0.1, 0.1], [0.4, 0.2, 0.1]])
    >>> curve = sx.ActiveCurve(np.array([5, 10, 15]), errors, np.array([[0.4, 0.3, 0.15]] * 2))
    >>> ActiveCurveDisplay(curve).plot().ax_.get_xlabel()
    'labels'
    """

    curve: ActiveCurve

    title: ClassVar[str] = "Labels that queries save"

    @property
    def description(self) -> str:
        """Both errors at the end, their difference, and the labels saved, with intervals."""
        return str(self.curve)

    def _draw(self, ax: Any) -> None:
        labels = self.curve.labels.astype(float)
        for errors, color, marker, label in (
            (self.curve.random, ORANGE, "s", "at random"),
            (self.curve.queried, BLUE, "o", "queried"),
        ):
            mean, low, high = self.curve.interval(errors)
            fill_band(ax, labels, low, high, color=color)
            ax.plot(labels, mean, marker=marker, ms=4, color=color, label=label)
        ax.set_ylim(bottom=0)
        style_axes(ax)
        percent_axis(ax.yaxis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("labels")
        ax.set_ylabel("test error")
        ax.legend(frameon=False, fontsize=9, loc="best")
