"""The table of criteria: their values along a path, what each chooses, and why some do not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.selection.criteria.figures import PathFigures

#: Points of a long path that are printed, beside those that are chosen.
MOST_LINES = 12
WIDTH = 100


@dataclass(frozen=True)
class Criterion:
    """One criterion: ``values`` along the path, the ``chosen`` point, and a note in words.

    ``values`` and ``chosen`` are None where the criterion does not apply; ``note`` says why, or
    what the values stand for.
    """

    name: str
    values: Floats | None = None
    chosen: int | None = None
    note: str = ""


@dataclass(frozen=True)
class CriteriaTable:
    """Criteria of complexity along a path, with the choice of each; prints as a table.

    Parameters
    ----------
    figures : PathFigures
        What the path says of its points: degrees of freedom, likelihoods, losses of folds.
    criteria : tuple of Criterion
        Name, values, chosen point and note of each.

    Attributes
    ----------
    choices : dict of str
        By criterion the chosen value of the parameter; None where the criterion does not apply.
    reasons : dict of str
        By criterion why it does not apply, or what its values stand for.

    See Also
    --------
    criteria : Makes one.

    References
    ----------
    K. P. Burnham and D. R. Anderson, Model Selection and Multimodel Inference, 2nd edition,
    Springer, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((60, 5))
    >>> y = x[:, 0] + 0.5 * rng.standard_normal(60)
    >>> table = sx.criteria(sx.LassoPath([0.5, 0.1, 0.02]).fit(x, y))
    >>> table.choices["BIC"], table.choices["elbow"]
    (0.1, None)
    >>> table.reasons["evidence"]
    'the prior of the lasso has no evidence in closed form.'
    """

    figures: PathFigures
    criteria: tuple[Criterion, ...]

    def __getitem__(self, name: str) -> Criterion:
        """A criterion by name."""
        return next(c for c in self.criteria if c.name == name)

    @property
    def choices(self) -> dict[str, Any]:
        """By criterion the chosen value of the parameter."""
        values = self.figures.values
        return {c.name: None if c.chosen is None else values[c.chosen] for c in self.criteria}

    @property
    def reasons(self) -> dict[str, str]:
        """By criterion why it does not apply, or what its values stand for."""
        return {c.name: c.note for c in self.criteria if c.note}

    def to_frame(self, backend: Any = None) -> Any:
        """One line a point of the path, as a dataframe (pandas if installed, else PyArrow)."""
        import narwhals as nw

        columns: dict[str, Any] = {self.figures.parameter: list(self.figures.values)}
        if self.figures.freedom is not None:
            columns["degrees_of_freedom"] = self.figures.freedom
        columns |= {c.name: c.values for c in self._valued}
        if backend is None:
            backend = "pandas" if find_spec("pandas") is not None else "pyarrow"
        return nw.from_dict(columns, backend=backend).to_native()

    @property
    def _valued(self) -> list[Criterion]:
        return [c for c in self.criteria if c.values is not None]

    def __str__(self) -> str:
        valued, shown = self._valued, self._shown()
        heads = [self.figures.parameter, "df", *(c.name for c in valued)]
        freedom = self.figures.freedom
        lines = []
        for i in shown:
            df = "–" if freedom is None else _number(freedom[i])
            marks = ["*" if c.chosen == i else "" for c in valued]
            cells = [_number(_values(c)[i]) for c in valued]
            own = [f"{cell}{mark}" for cell, mark in zip(cells, marks, strict=True)]
            lines.append([_label(self.figures.values[i]), df, *own])
        text = _aligned([heads, *lines])
        if len(shown) < len(self.figures.values):
            text.append(f"{len(self.figures.values) - len(shown)} points between are not shown.")
        return "\n".join([*text, "", *self._choices()])

    def _shown(self) -> Ints:
        m = len(self.figures.values)
        evenly = np.linspace(0, m - 1, min(m, MOST_LINES)).round().astype(np.int64)
        chosen = [c.chosen for c in self.criteria if c.chosen is not None]
        order = np.argsort(-self.figures.simplicity, kind="stable")
        place = np.empty(m, dtype=np.int64)
        place[order] = np.arange(m)
        return np.asarray(order[np.unique(np.concatenate([evenly, place[chosen]]).astype(int))])

    def _choices(self) -> list[str]:
        from textwrap import fill

        width = max(len(c.name) for c in self.criteria) + 2
        lines = []
        for c in self.criteria:
            what = "–"
            if c.chosen is not None:
                what = f"{self.figures.parameter} = {_label(self.figures.values[c.chosen])}"
            sentence = f"{what}   {c.note}".rstrip()
            lines.append(
                fill(
                    f"{c.name:<{width}}{sentence}",
                    WIDTH,
                    subsequent_indent=" " * width,
                    drop_whitespace=True,
                )
            )
        return lines


def _values(criterion: Criterion) -> Floats:
    assert criterion.values is not None
    return criterion.values


def _number(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "∞" if np.isposinf(value) else f"{value:.5g}"


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _aligned(rows: list[list[str]]) -> list[str]:
    # a mark of the choice does not move the digits above and below it
    padded = [[cell if cell.endswith("*") else f"{cell} " for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*padded, strict=True)]
    lines = (
        "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in padded
    )
    return list(lines)
