"""Classes, rows and the boundary between answers, on the plane that tells the classes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed
from separatrix.pictures.scatter import MANY, scatter
from separatrix.pictures.style import MUTED, PAPER, SERIES, ink, plain, style_axes
from separatrix.probability.decision_surface import DecisionSurface, decision_surface, utilities
from separatrix.rows.block import Floats

#: Lines are drawn on a grid so many times as fine as that of the answers.
_FINER = 3

#: More wrong rows than this are not marked one by one.
MOST_CROSSES = 400

#: Shares of a normal law of the plane within one and two standard deviations.
_ONE, _TWO = 1 - np.exp(-0.5), 1 - np.exp(-2.0)


@dataclass(eq=False)
class DecisionBoundaryDisplay(Display):
    """A projection: dots are rows, ellipses classes at one and two standard deviations.

    Regions and lines are what the model answers on the plane itself, all else at its mean.
    """

    decision_surface: DecisionSurface
    many: int = MANY

    title: ClassVar[str] = "Boundary between the classes, in projection"

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, many: int = MANY) -> Self:
        """Of a fitted classifier and a matrix or dataframe of numbers; the plane is found on it."""
        frame = X if hasattr(X, "columns") else None
        x = np.asarray(X, dtype=float)
        classes = tuple(str(c) for c in model.classes_)
        place = {label: i for i, label in enumerate(classes)}
        codes = np.array([place.get(str(v), len(classes)) for v in y], dtype=np.intp)

        def rows(values: Floats) -> Any:
            return values if frame is None else type(frame)(values, columns=frame.columns)

        known = codes < len(classes)
        called = np.array([place.get(str(v), len(classes)) for v in model.predict(X)])
        names = () if frame is None else tuple(str(c) for c in frame.columns)
        found = decision_surface(
            (x[known], codes[known], None),
            (x, codes),
            lambda values: utilities(model, rows(values)),
            called,
            classes,
            names=names,
        )
        return cls(found, many)

    @property
    def wrong(self) -> Floats:
        """1 for a dot whose row was answered with another class than its own; doubt is no error."""
        land = self.decision_surface
        answered = land.called < len(land.classes)
        return np.asarray(answered & (land.called != land.truth), dtype=float)

    @property
    def description(self) -> str:
        """What the axes are, what was held, how far the plane tells the truth, and the errors."""
        land = self.decision_surface
        held = "all directions beside the plane stay at their means"
        if land.fixed:
            more = f" and {len(land.fixed) - 3} more" if len(land.fixed) > 3 else ""
            held += f", and {', '.join(land.fixed[:3])}{more}"
        text = (
            f"A projection: {self._axis_words()}. Regions are the answers of the model on this "
            f"plane, where {held}; ellipses hold a class at one and two standard deviations. "
        )
        if len(land.dots):
            wrong = int(self.wrong.sum())
            text += (
                f"They agree with the answer to the whole row for {100 * land.agreement:.0f} % of "
                f"{counted(len(land.dots), 'dot')}; "
            )
            text += f"{wrong:,} are wrong{self._crossed}." if wrong else "none is wrong."
        if land.rejects:
            text += f" In doubt (grey): {100 * land.rejected:.0f} %."
        if self.outside:
            text += f" {counted(self.outside, 'dot')} outside the window."
        return text

    @property
    def _crossed(self) -> str:
        return " (crossed)" if self.wrong.sum() <= MOST_CROSSES else ""

    @property
    def outside(self) -> int:
        """Dots that the window leaves out."""
        return int((~self._inside).sum())

    @property
    def _inside(self) -> NDArray[np.bool_]:
        land = self.decision_surface
        low, high = (np.array([land.x[i], land.y[i]]) for i in (0, -1))
        return np.asarray(((land.dots >= low) & (land.dots <= high)).all(axis=1))

    def _axis_words(self) -> str:
        plane = self.decision_surface.plane
        first, second = (
            listed([plain(name, 20) for name in plane.top_columns(i)]) or "nothing" for i in (0, 1)
        )
        if plane.n_discriminant == 2:
            return (
                "the two directions in which the classes lie farthest apart, mostly "
                f"{first} (across) and {second} (up)"
            )
        if plane.n_discriminant == 1:
            return (
                f"across, the direction in which the classes lie farthest apart (mostly {first}); "
                f"up, the widest scatter that remains (mostly {second})"
            )
        return (
            "the classes have equal means, so these are the two directions of widest scatter, "
            f"mostly {first} (across) and {second} (up)"
        )

    @property
    def size(self) -> tuple[float, float]:
        """A little taller than other pictures."""
        return 4.9, 3.9

    def _draw(self, ax: Any) -> None:
        land = self.decision_surface
        self._regions(ax)
        for i in range(len(land.classes)):
            self._class(ax, i)
        self._crosses(ax)
        self._names(ax)
        ax.set_xlim(land.x[0], land.x[-1])
        ax.set_ylim(land.y[0], land.y[-1])
        style_axes(ax, grid=None)
        kinds = ["discriminant"] * land.plane.n_discriminant + ["scatter"] * 2
        for i, (axis, limit) in enumerate(((ax.xaxis, 16), (ax.yaxis, 13))):
            most = ", ".join(plain(name, limit) for name in land.plane.top_columns(i))
            axis.set_label_text(f"{kinds[i]} {i + 1}: mostly {most}")

    def _regions(self, ax: Any) -> None:
        """The answer of most worth everywhere; a line where two are worth the same."""
        from contourpy import contour_generator

        land = self.decision_surface
        across, up, fine = _finer(land)
        for a in range(fine.shape[2]):
            lead = _lead(land.utility, a)
            if lead.max() <= 0:
                continue
            reject = a >= len(land.classes)
            colour = MUTED if reject else SERIES[a % len(SERIES)]
            area = {"colors": [colour], "alpha": 0.28 if reject else 0.1}
            ax.contourf(land.x, land.y, lead, levels=[0, 2 * float(lead.max())], **area)
            if a or len(land.classes) > 2 or land.rejects:  # of two, one line is both
                lines: Any = contour_generator(across, up, _lead(fine, a)).lines(0.0)
                for line in lines:
                    ax.plot(line[:, 0], line[:, 1], color=ink(ax), linewidth=1.1)

    def _class(self, ax: Any, i: int) -> None:
        land, colour = self.decision_surface, SERIES[i % len(SERIES)]
        own = np.asarray(land.dots[(land.truth == i) & self._inside], dtype=float)
        if len(own):
            many = 0 if len(land.dots) > self.many else len(own)
            clouds = len(land.classes)
            scatter(ax, own[:, 0], own[:, 1], many=many, color=colour, clouds=clouds)
        normal = land.normals[i]
        if normal is None:
            return
        # On a cloud of its own colour a line would drown.
        stroke = ink(ax) if len(land.dots) > self.many else colour
        for share, style in ((_ONE, "-"), (_TWO, (0, (4, 2)))):
            line = normal.ellipse(probability=share, n_points=72)
            ax.plot(line[:, 0], line[:, 1], color=stroke, linewidth=1.2, linestyle=style)

    def _crosses(self, ax: Any) -> None:
        """All dots that were answered wrongly, as one line of small crosses."""
        land = self.decision_surface
        at = np.asarray(land.dots[self.wrong > 0], dtype=float)
        if not 0 < len(at) <= MOST_CROSSES:
            return
        arm = 0.009 * np.array([np.ptp(land.x), np.ptp(land.y) * 4.9 / 3.9])
        gap = np.array([np.nan, np.nan])
        strokes = np.array([arm, -arm, gap, arm * [1, -1], arm * [-1, 1], gap])
        line = (at[:, None, :] + strokes).reshape(-1, 2)
        ax.plot(line[:, 0], line[:, 1], color=ink(ax), linewidth=0.9)

    def _names(self, ax: Any) -> None:
        """Each class by name at its mean, on a patch of paper."""
        land = self.decision_surface
        for i, (label, normal) in enumerate(zip(land.classes, land.normals, strict=True)):
            if normal is None:
                continue
            ax.annotate(
                plain(label, 16),
                normal.mean,
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                color=SERIES[i % len(SERIES)],
                bbox={"boxstyle": "round,pad=0.2", "fc": PAPER, "ec": "none", "alpha": 0.8},
            )


def _lead(utility: Any, a: int) -> Floats:
    """How much more an answer is worth than the best other one."""
    values = np.asarray(utility, dtype=float)
    return np.asarray(values[:, :, a] - np.delete(values, a, axis=2).max(axis=2))


def _finer(land: DecisionSurface) -> tuple[Floats, Floats, Floats]:
    """Worth between the places of the grid, by lines: regions that meet in a point then look so."""
    across, up = (
        np.interp(np.arange(_FINER * (len(at) - 1) + 1) / _FINER, np.arange(len(at)), at)
        for at in (land.x, land.y)
    )
    utility = np.asarray(land.utility, dtype=float)
    for axis, count in ((0, len(up)), (1, len(across))):
        at = np.arange(count) / _FINER
        left = np.minimum(at.astype(int), utility.shape[axis] - 2)
        share = (at - left).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        low, high = (np.take(utility, left + step, axis=axis) for step in (0, 1))
        utility = (1 - share) * low + share * high
    return across, up, utility
