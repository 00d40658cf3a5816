"""The base class of all displays: data, drawn on any axes, with a description in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from separatrix.pictures.style import HEIGHT, PAPER, SETTINGS, WIDTH


class Display(ABC):
    """Base class of plots in scikit-learn's Display style.

    A display holds the numbers to be drawn. ``plot(ax=...)`` draws them on given axes, or on a
    figure of its own that belongs to no global state; a notebook shows the display by itself.

    Attributes
    ----------
    title : str
        Heading of the plot.
    description : str
        The plot in words, with the numbers that matter: its text alternative.
    caption : str
        The description without what the axes already say.
    heading : str
        The title, with the name of the column where the plot is of one.
    ax_ : matplotlib.axes.Axes
        Axes of the last ``plot``.
    figure_ : matplotlib.figure.Figure
        Figure of the last ``plot``.

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    ConfusionMatrixDisplay : Counts of true against predicted classes.

    Examples
    --------
    >>> from separatrix.pictures import Display, PerceptronTraceDisplay
    >>> display = PerceptronTraceDisplay([5, 2, 0], n_rows=10)
    >>> isinstance(display, Display)
    True
    >>> display.plot().ax_.get_xlabel()
    'epoch'
    >>> display.to_svg("trace").startswith("<svg")
    True
    """

    title: ClassVar[str]
    figure_size: ClassVar[tuple[float, float]] = (WIDTH, HEIGHT)
    ax_: Any
    figure_: Any

    @property
    @abstractmethod
    def description(self) -> str:
        """The plot in words, with the numbers that matter: its text alternative."""

    @property
    def caption(self) -> str:
        """What a reader who sees the plot is not shown by it: the description without the axes."""
        return self.description

    @property
    def heading(self) -> str:
        """The title, with the name of what is drawn where a page has several of the kind."""
        return self.title

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a figure of its own."""
        return self.figure_size

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure if it is None; returns the display."""
        if ax is None:
            from matplotlib import rc_context
            from matplotlib.figure import Figure

            with rc_context(SETTINGS):
                figure = Figure(figsize=self.size, layout="constrained")
                return self.plot(figure.add_subplot())
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_svg(self, prefix: str = "picture") -> str:
        """An ``<svg>`` element with title and description; ids start with ``prefix``."""
        from separatrix.pictures.svg import to_svg

        return to_svg(self, prefix)

    def _repr_svg_(self) -> str:
        """The plot on paper of its own: a notebook may be dark, and its letters are not."""
        root = f'<svg xmlns="http://www.w3.org/2000/svg" style="background: var(--paper, {PAPER})" '
        return self.to_svg().replace("<svg ", root, 1)
