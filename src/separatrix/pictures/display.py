"""What every picture is: data held, drawn on any axes, and told in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from separatrix.pictures.style import HEIGHT, SETTINGS, WIDTH


class Display(ABC):
    """A picture in scikit-learn's Display style.

    ``plot(ax=…)`` draws on the axes given, or on a figure of its own that belongs to no global
    state, and leaves them as ``ax_`` and ``figure_``. A notebook shows the picture by itself.
    """

    title: ClassVar[str]
    ax_: Any
    figure_: Any

    @property
    @abstractmethod
    def description(self) -> str:
        """The picture in words, with the numbers that matter: what a reader who cannot see gets."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a figure of its own."""
        return WIDTH, HEIGHT

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes."""

    def plot(self, ax: Any = None) -> Self:
        """Draw; ``ax`` is a matplotlib axes, or None for a figure of its own."""
        if ax is None:
            from matplotlib import rc_context
            from matplotlib.figure import Figure

            with rc_context(SETTINGS):
                figure = Figure(figsize=self.size, layout="constrained")
                ax = figure.add_subplot()
                self._draw(ax)
        else:
            self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_svg(self, prefix: str = "picture") -> str:
        """The picture as an ``<svg>`` element with title and description; ids start as asked."""
        from separatrix.pictures.svg import to_svg

        return to_svg(self, prefix)

    def _repr_svg_(self) -> str:
        return self.to_svg().replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
