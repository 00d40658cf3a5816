"""The version space of boxes: all boxes that contain some rows and leave others out.

S, the most specific box, is the bounding box of the positive rows. A box is consistent if it
contains S and none of the negative rows, so it has, for each of these, one face between S and the
row. Boxes that cannot grow without taking a negative row in are most general. They are many: with
m negative rows in d columns G can have as many members as there are ways to choose a face for each
row. So G is represented by the negative rows themselves, those that no nearer one implies, from
which follow exactly

- whether a point is in some member of G: the box around S and the point contains no negative row;
- the box common to all members of G, which is consistent as well;
- the members one by one, up to a stated number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.hypotheses.boxes.box import Box, nothing
from separatrix.hypotheses.boxes.loops.consistency import (
    common_faces,
    free_of_rows,
    undominated,
)
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Comparisons of negative rows after which those left are stored without any.
MOST_COMPARED = 200_000_000
#: Boxes on the way to a list of G, for each that the list may have.
ON_THE_WAY = 4


@dataclass(frozen=True)
class VersionSpace:
    """The boxes between S and G, of one class.

    Parameters
    ----------
    specific : Box
        S, closed: in every consistent box.
    negatives : ndarray of shape (m, d)
        The negative rows that bound G, NaN in columns where S contains their value.
    common : Box
        The box common to all members of G, open.

    See Also
    --------
    BoxClassifier : A version space for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.hypotheses.boxes.version_space import version_space
    >>> inside, outside = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[4.0, 5.0]])
    >>> space = version_space(inside, outside)
    >>> [box.upper.tolist() for box in space.general()]
    [[4.0, inf], [inf, 5.0]]
    >>> space.common.upper.tolist(), space.average.upper.tolist()
    ([4.0, 5.0], [3.0, 3.5])
    >>> space.possible(np.array([[3.0, 9.0], [9.0, 9.0]])).tolist()
    [True, False]
    """

    specific: Box
    negatives: Floats
    common: Box

    @property
    def average(self) -> Box:
        """The box halfway between S and the one common to G; free where that is."""
        if self.specific.empty:
            return self.specific
        lower = (self.specific.lower + self.common.lower) / 2
        return Box(lower, (self.specific.upper + self.common.upper) / 2)

    @property
    def short(self) -> Box:
        """The average without the faces that others make needless: a rule of few conditions.

        Faces are chosen one by one, each for the most negative rows that none before leaves out.
        """
        average = self.average
        if average.empty:
            return average
        below, above = self.negatives < average.lower, self.negatives > average.upper
        out = np.concatenate([below, above], axis=1)
        d = len(average.lower)
        faces = np.repeat([-np.inf, np.inf], d)
        every = np.concatenate([average.lower, average.upper])
        left = np.ones(len(out), dtype=bool)
        while left.any():
            face = int(out[left].sum(axis=0).argmax())
            if not out[left, face].any():  # a row within rounding errors of S
                return average
            faces[face] = every[face]
            left &= ~out[:, face]
        return Box(faces[:d], faces[d:])

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is in some consistent box: in a member of G."""
        result = np.zeros(len(x), dtype=bool)
        if self.specific.empty:  # any point alone is a box
            known = {row.tobytes() for row in self.negatives + 0.0}
            return np.array([row.tobytes() not in known for row in x + 0.0], dtype=bool)
        lower, upper = self.specific.lower, self.specific.upper
        x = np.ascontiguousarray(x)

        def of_piece(rows: slice) -> None:
            free_of_rows(x[rows], self.negatives, lower, upper, result[rows])

        parallel_map(of_piece, pieces(len(x), 256))
        return result

    def general(self, most: int = 1000) -> list[Box] | None:
        """The members of G, each once; None if they are more than ``most`` or hard to list.

        Boxes are specialized one negative row at a time, by each of the faces that can leave it
        out, and those inside another are dropped; None also where this has more than four times
        ``most`` boxes on the way.
        """
        d = self.negatives.shape[1]
        faces = np.full((1, 2, d), np.inf) * np.array([-1.0, 1.0])[:, None]
        for row in self.negatives:
            split = self._specialized(faces, row)
            if split is None:
                continue
            faces = _largest(*split)
            if len(faces) > ON_THE_WAY * most:
                return None
        if len(faces) > most:
            return None
        flat = faces.reshape(len(faces), -1)
        return [Box(faces[i, 0], faces[i, 1], open=True) for i in np.lexsort(flat.T[::-1])]

    def _specialized(self, faces: Floats, row: Floats) -> tuple[Floats, Floats] | None:
        """Boxes without the row, and those that had to be specialized; None if none had to."""
        free = np.isnan(row)
        inside = ((faces[:, 0] < row) & (row < faces[:, 1]) | free).all(axis=1)
        if not inside.any():
            return None
        new = []
        for j in np.flatnonzero(~free):
            cut = faces[inside].copy()
            cut[:, 0 if row[j] < self.specific.lower[j] else 1, j] = row[j]
            new.append(cut)
        return faces[~inside], np.concatenate(new) if new else faces[:0]


def version_space(positive: Floats, negative: Floats) -> VersionSpace:
    """The version space of rows, none of the negative ones inside the box of the positive ones."""
    d = positive.shape[1]
    if not len(positive):
        return VersionSpace(nothing(d), np.unique(negative, axis=0), nothing(d))
    lower, upper = positive.min(axis=0), positive.max(axis=0)
    return within_bounds(np.stack([lower, upper]), bounding(negative, lower, upper))


def within_bounds(faces: Floats, negatives: Floats) -> VersionSpace:
    """The version space of S, by its lower and upper faces, and the negative rows that bound G."""
    common = np.empty(faces.shape)
    common_faces(negatives, faces[0], faces[1], common)
    return VersionSpace(Box(faces[0], faces[1]), negatives, Box(common[0], common[1], open=True))


def bounding(negative: Floats, lower: Floats, upper: Floats) -> Floats:
    """The negative rows that no nearer one implies, in one order whatever the order given.

    They are NaN where the box contains their value, so that one inside is NaN throughout. What is
    implied stays so when the box grows: rows can be added and bounded again.
    """
    rows = np.where((negative < lower) | (negative > upper), negative, np.nan)
    if not len(rows):
        return rows
    rows = np.ascontiguousarray(rows[np.argsort(_excess(rows, lower, upper), kind="stable")])
    chosen = np.empty(len(rows), dtype=np.int64)
    count = undominated(rows, lower, upper, chosen, MOST_COMPARED)
    rows = rows[chosen[:count]]
    # in units of the rows that are left: their order does not depend on the others
    order = np.lexsort((*rows.T, _excess(rows, lower, upper)))
    return np.ascontiguousarray(rows[order])


def _excess(rows: Floats, lower: Floats, upper: Floats) -> Floats:
    """How far each row is from the box, columns in units of the farthest row."""
    unit = np.nanmax(np.abs(rows - (lower / 2 + upper / 2)), axis=0, initial=0.0)
    excess = np.fmax(lower - rows, rows - upper) / np.where(unit > 0.0, unit, 1.0)
    return np.asarray(np.nansum(excess, axis=1))


def _largest(others: Floats, new: Floats) -> Floats:
    """All ``others``, and the new boxes that lie in none of them and in no other new one."""
    if not len(new):
        return others
    new = np.unique(new, axis=0)
    every = np.concatenate([others, new])
    alone = []
    for i, box in enumerate(new):
        holds = ((every[:, 0] <= box[0]) & (every[:, 1] >= box[1])).all(axis=1)
        holds[len(others) + i] = False
        alone.append(not holds.any())
    return np.concatenate([others, new[np.array(alone)]])
