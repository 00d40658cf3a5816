"""New points whose labels would tell most, generated rather than chosen from a pool.

    boxes         between S and G, halfway along the widest face: whatever the label, one of them
                  moves there
    classes       where the predicted class changes, as far from all known rows as that happens
    numbers       where the predictive distribution is widest, or no known row is near

Points respect ranges or bounds of the columns, whole numbers and levels. What is said of a point is
asked of the model at the point itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import qmc
from sklearn.base import is_clusterer, is_regressor
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.hypotheses.query import (
    committee,
    disagreement,
    has_deviation,
    predictive_deviation,
)
from separatrix.messages import InputError
from separatrix.notebook import Item, Sentence, Shown
from separatrix.rows.schema import Kind, column_names

#: Points that are drawn evenly before any is improved; a power of two, as Sobol sequences want.
DRAWN = 2048


@dataclass(frozen=True, repr=False)
class GeneratedQuery(Shown):
    """New points to be labeled, the most telling first.

    Parameters
    ----------
    points : list of dict
        For each point the value of every column by name.
    reasons : tuple of str
        What is known of each point, asked of the model.
    matrix : ndarray of shape (k, d) or None
        The points as rows of numbers, where all columns are numbers.

    See Also
    --------
    generate_query : Generate points.
    query : Choose rows of a pool instead.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    >>> print(sx.generate_query(model))
    Label x0 = 4: between the most specific and the most general boxes of 1.
    """

    points: list[dict[str, Any]]
    reasons: tuple[str, ...]
    matrix: Floats | None

    def __len__(self) -> int:
        return len(self.points)

    def _display(self) -> list[Item]:
        """One sentence for each point."""
        if not self.points:
            return [Sentence("No label would tell anything: all consistent boxes agree.")]
        return [
            Sentence(
                "Label "
                + ", ".join(f"{name} = {_text(value)}" for name, value in point.items())
                + f": {reason}."
            )
            for point, reason in zip(self.points, self.reasons, strict=True)
        ]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Space:
    """Where points are generated: the columns with ranges of numbers, or levels.

    Points are arrays of numbers; a level is its position.
    """

    names: tuple[str, ...]
    low: Floats
    high: Floats
    whole: Any  # columns of whole numbers
    levels: tuple[tuple[Any, ...], ...]  # none for numbers
    framed: bool  # whether the model reads columns by name

    @property
    def discrete(self) -> Any:
        """Columns of levels."""
        return np.array([bool(levels) for levels in self.levels])

    @property
    def scale(self) -> Floats:
        """The unit of distances in each column; every two levels are one apart."""
        return np.where(self.discrete | (self.high <= self.low), 1.0, self.high - self.low)

    def rows(self, x: Floats) -> Any:
        """Points as the model reads rows."""
        if not self.framed:
            return x
        columns = {}
        for j, name in enumerate(self.names):
            levels = self.levels[j]
            columns[name] = [levels[int(v)] for v in x[:, j]] if levels else x[:, j]
        return pa.table(columns)

    def snap(self, x: Floats) -> Floats:
        """Points within the ranges, whole numbers where they have to be."""
        rounded = np.where(self.whole | self.discrete, np.rint(x), x)
        return np.clip(rounded, self.low, self.high)

    def draw(self, n: int, seed: int) -> Floats:
        """Points that fill the space evenly."""
        unit = qmc.Sobol(len(self.names), rng=np.random.default_rng(seed)).random(n)
        step = np.where(self.whole | self.discrete, 1.0, 0.0)  # each whole number as likely
        return self.snap(self.low - step / 2 + unit * (self.high - self.low + step))

    def distances(self, x: Floats, known: Floats) -> Floats:
        """From each point to the nearest known one, in units of the ranges; ones if none is."""
        if not len(known):
            return np.ones(len(x))
        nearest = np.full(len(x), np.inf)
        for start in range(0, len(known), 512):  # tiles of known rows
            other = known[start : start + 512]
            difference = (x[:, None] - other) / self.scale
            difference = np.where(self.discrete, difference != 0.0, difference)
            np.minimum(nearest, np.sqrt((difference**2).sum(axis=2)).min(axis=1), out=nearest)
        return nearest

    def point(self, x: Floats) -> dict[str, Any]:
        """A point by the names of the columns."""
        values: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            levels = self.levels[j]
            number = int(x[j]) if self.whole[j] else float(x[j])
            values[name] = levels[int(x[j])] if levels else number
        return values


def generate_query(
    model: Any,
    k: int = 1,
    *,
    bounds: Any = None,
    integers: Sequence[Any] = (),
    training: tuple[Any, Any] | None = None,
    seed: int = 0,
) -> GeneratedQuery:
    """Generate new points whose labels would tell most.

    Where nature or an experiment can be asked for any point, none of a pool need be taken. Of a
    :class:`BoxClassifier` points are between S and G, halfway along the widest face. Of any other
    classifier they are where the predicted class changes, and there as far as possible from the
    training rows and from each other. Of regressors, they are where the predictive distribution is
    widest, else where models of a list, or of draws of the training rows, differ most, else where
    no training row is near.

    Parameters
    ----------
    model : classifier or regressor, or list of regressors
        Fitted.
    k : int, default=1
        How many points.
    bounds : array-like of shape (2, d), or dict, default=None
        The least and the greatest value of each column, or (least, greatest) by name; None, and
        columns that a dictionary does not name, takes the range of the training rows.
    integers : sequence of int or str, default=()
        Columns of whole numbers, by position or name; those of ``training`` that hold no others
        are found by themselves.
    training : (X, y), default=None
        The labeled rows, from which points keep away.
    seed : int, default=0
        For the points that are drawn.

    Returns
    -------
    GeneratedQuery
        ``points``, ``reasons`` and ``matrix``; fewer than k where no label would tell anything.

    See Also
    --------
    query : Rows of a pool that are worth labeling.
    BoxClassifier : The version space of boxes.

    References
    ----------
    D. Angluin, Queries and concept learning, Machine Learning 2, 1988.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]], [0, 0, 1, 1]
    >>> model = sx.LogisticRegression().fit(X, y)
    >>> generated = sx.generate_query(model, training=(X, y))
    >>> generated.points[0]["x0"]
    2
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number above zero.")
    members = list(model) if isinstance(model, Sequence) else [model]
    for member in members:
        check_is_fitted(member)
        if is_clusterer(member) or not hasattr(member, "predict"):
            raise InputError(f"{type(member).__name__} predicts no labels to ask for.")
    several = len(members) > 1
    if several and not all(is_regressor(member) for member in members):
        raise InputError(
            "A list of classifiers has no boundary of its own.",
            remedy="Give one classifier, or a VotingClassifier.",
        )
    space, known = space_of(members[0], bounds, integers, training)
    if is_regressor(members[0]):
        points, reasons = widest(members, space, known, int(k), training, seed)
    elif hasattr(model, "certainty") and hasattr(model, "spaces_"):
        points, reasons = between_boxes(model, space, known, int(k), seed)
    else:
        points, reasons = on_boundary(model, space, known, int(k), seed)
    matrix = None if space.discrete.any() else np.reshape(points, (-1, len(space.names)))
    return GeneratedQuery([space.point(x) for x in points], tuple(reasons), matrix)


def space_of(
    model: Any, bounds: Any, integers: Sequence[Any], training: Any
) -> tuple[Space, Floats]:
    """The space of a model's columns, and the known rows as points of it."""
    encoding = getattr(model, "encoding_", None)
    table = encoding is not None and not encoding.is_identity
    given = getattr(model, "feature_names_in_", None)
    if encoding is not None and table:
        columns = [column for column in encoding.schema.columns if not column.part]
        names = tuple(column.name for column in columns)
        levels = tuple(c.levels if c.kind is not Kind.NUMERIC else () for c in columns)
    else:
        d = int(getattr(model, "n_features_in_", 0))
        names = tuple(map(str, column_names(d) if given is None else given))
        levels = ((),) * len(names)
    if not names:
        raise InputError(f"{type(model).__name__} has no columns to generate points in.")
    known = np.empty((0, len(names)))
    if training is not None:
        known = known_points(training[0], names, levels)
    ends = np.array([[0.0, len(each) - 1.0] if each else [np.nan, np.nan] for each in levels]).T
    numbers = np.isnan(ends[0])
    if len(known):
        ends[:, numbers] = [known.min(axis=0)[numbers], known.max(axis=0)[numbers]]
    else:
        ranges = getattr(model, "training_range_", None)
        if ranges is not None and ranges.shape[1] == len(names):
            ends[:, numbers] = ranges[:, numbers]
    if isinstance(bounds, Mapping):
        for name, pair in bounds.items():
            ends[:, position_of(name, names)] = pair
    elif bounds is not None:
        ends[:, numbers] = np.broadcast_to(np.asarray(bounds, dtype=float), ends.shape)[:, numbers]
    if not np.isfinite(ends).all() or (ends[0] > ends[1]).any():
        at = int(np.flatnonzero(~np.isfinite(ends).all(axis=0) | (ends[0] > ends[1]))[0])
        raise InputError(
            f"The column {names[at]!r} has no range from {ends[0, at]:g} to {ends[1, at]:g}.",
            remedy="Give bounds, least and greatest value of each column, or training=(X, y).",
        )
    whole = np.zeros(len(names), dtype=bool)
    whole[[position_of(name, names) for name in integers]] = True
    if len(known):
        whole |= (known == np.rint(known)).all(axis=0) & numbers
    ends = np.where(whole, [np.ceil(ends[0]), np.floor(ends[1])], ends)
    return Space(names, ends[0], ends[1], whole, levels, table or given is not None), known


def position_of(name: Any, names: tuple[str, ...]) -> int:
    """The position of a column given by name or position."""
    if isinstance(name, int | np.integer) and 0 <= name < len(names):
        return int(name)
    if name not in names:
        raise InputError(f"There is no column {name!r} among {', '.join(names[:9])}.")
    return names.index(name)


def known_points(X: Any, names: tuple[str, ...], levels: tuple[tuple[Any, ...], ...]) -> Floats:
    """Training rows as points; those with missing values are left out."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [frame[name].to_list() for name in names]
    else:
        columns = list(np.asarray(X).T)
        if len(columns) != len(names):
            raise InputError(f"training has {len(columns)} columns, and the model {len(names)}.")
    points = np.full((len(columns[0]), len(names)), np.nan)
    for j, values in enumerate(columns):
        at = {str(level): i for i, level in enumerate(levels[j])}
        for i, value in enumerate(values):
            if value is not None:
                points[i, j] = at.get(str(value), np.nan) if at else float(value)
    whole: Floats = points[~np.isnan(points).any(axis=1)]
    return whole


# -------------------------------------------------------------------------------------------------
# Classification: points between S and G of boxes, or on the boundary.


def between_boxes(
    model: Any, space: Space, known: Floats, k: int, seed: int
) -> tuple[list[Floats], list[str]]:
    """Points in doubt: halfway along faces where columns are numbers, and of those drawn."""
    found = [space.draw(DRAWN, seed)]
    gains = [np.zeros(DRAWN)]
    if not space.framed or model.encoding_.is_identity:
        for version in model.spaces_:
            points, gaps = halfway(version, space)
            found.insert(0, points)
            gains.insert(0, gaps)
    x, gain = np.concatenate(found), np.concatenate(gains)
    certainty = np.asarray(model.certainty(space.rows(x)))
    undecided = (certainty == 0).any(axis=1)
    x, gain, certainty = x[undecided], gain[undecided], certainty[undecided]
    chosen: list[Floats] = []
    reasons: list[str] = []
    while len(chosen) < k and len(x):
        away = space.distances(x, np.array(chosen) if chosen else known)
        # the widest face first; among points of equal faces the one far from what is known
        at = int(np.lexsort((-away, -gain))[0]) if not chosen else int(away.argmax())
        if chosen and away[at] == 0.0:
            break
        labels = model.concepts_[certainty[at] == 0].tolist()
        chosen.append(x[at])
        which = " and ".join(str(label) for label in labels[:4])
        reasons.append(f"between the most specific and the most general boxes of {which}")
    return chosen, reasons


def halfway(version: Any, space: Space) -> tuple[Floats, Floats]:
    """Points beyond the middle of S by half the way to each face of the box common to G.

    The gain is the width of what is in doubt there, as a fraction of the range.
    """
    specific, common = version.specific, version.common
    if specific.empty:
        return np.empty((0, len(space.names))), np.empty(0)
    low, high = np.maximum(specific.lower, space.low), np.minimum(specific.upper, space.high)
    middle = (low + high) / 2.0
    points, gaps = [], []
    for j in range(len(middle)):
        for inner, outer in (
            (specific.lower[j], max(common.lower[j], space.low[j])),
            (specific.upper[j], min(common.upper[j], space.high[j])),
        ):
            point = middle.copy()
            point[j] = (inner + outer) / 2.0
            points.append(point)
            gaps.append(abs(outer - inner) / space.scale[j])
    return space.snap(np.array(points)), np.array(gaps)


def on_boundary(
    model: Any, space: Space, known: Floats, k: int, seed: int
) -> tuple[list[Floats], list[str]]:
    """Points where the class changes, each the farthest from known rows and those before it."""
    x = space.draw(DRAWN, seed)
    labels = np.asarray(model.predict(space.rows(x)))
    rng = np.random.default_rng(seed)
    segments = 256  # that are followed to the boundary, of those that lead to another class
    first, second = rng.integers(0, len(x), (2, 16 * segments))
    a, b = x[first], np.where(space.discrete, x[first], x[second])  # levels stay
    of_b = np.asarray(model.predict(space.rows(b)))
    apart = np.flatnonzero(labels[first] != of_b)[:segments]
    if not len(apart):
        far = int(space.distances(x, known).argmax())
        return [x[far]], [
            f"the model predicts {labels[far]} everywhere that was tried, and this is the point "
            "farthest from known rows"
        ]
    a, b, of_a, of_b = a[apart], b[apart], labels[first][apart], of_b[apart]
    for _ in range(52):  # the ends are then neighbors, or nearly, among floating-point numbers
        middle = space.snap((a + b) / 2.0)
        of_middle = np.asarray(model.predict(space.rows(middle)))
        same = of_middle == of_a
        # of whole numbers the middle may be one of the ends: then both are neighbors
        a = np.where(same[:, None], middle, a)
        b, of_b = np.where(same[:, None], b, middle), np.where(same, of_b, of_middle)
    chosen: list[Floats] = []
    reasons: list[str] = []
    reference = known
    while len(chosen) < k:
        away = space.distances(a, reference)
        at = int(away.argmax())
        if chosen and away[at] <= 1e-6:  # all others are next to those chosen
            break
        gap = float(np.linalg.norm((a[at] - b[at]) / space.scale))
        near = "" if not len(known) else f", {away[at]:.2g} ranges from the nearest known row"
        chosen.append(a[at])
        reasons.append(
            f"the predicted class changes from {of_a[at]} to {of_b[at]} within {gap:.1g} ranges"
            f"{near}"
        )
        reference = np.concatenate([reference, a[at][None]])
    return chosen, reasons


# -------------------------------------------------------------------------------------------------
# Regression: points where they are known least.


def widest(
    members: list[Any], space: Space, known: Floats, k: int, training: Any, seed: int
) -> tuple[list[Floats], list[str]]:
    """Points of the largest spread, improved one column after the other; far from each other."""
    if len(members) == 1 and not has_deviation(members[0]) and training is not None:
        members = committee(members[0], training[0], training[1], seed)
    if len(members) > 1:
        what = "models of a committee differ most"
    elif has_deviation(members[0]):
        what = "the predictive distribution is widest"
    else:
        what = "no known row is near"
        if not len(known):
            raise InputError(
                f"{type(members[0]).__name__} does not say where it is uncertain.",
                remedy="Give training=(X, y), or a model with a predictive distribution.",
            )

    def spread(x: Floats, reference: Floats) -> Floats:
        rows = space.rows(x)
        if len(members) > 1:
            return disagreement(members, rows)
        return (
            predictive_deviation(members[0], rows)
            if has_deviation(members[0])
            else space.distances(x, reference)
        )

    chosen: list[Floats] = []
    reasons: list[str] = []
    reference, x = known, space.draw(DRAWN, seed)
    while len(chosen) < k:
        value = spread(x, reference)
        if chosen:  # points alike tell the same
            value = value * space.distances(x, np.array(chosen))
        best = x[int(value.argmax())][None]
        if not chosen:
            best = climb(best, space, lambda new: spread(new, known))
        largest = float(spread(best, reference)[0])
        chosen.append(best[0])
        reasons.append(f"{what} of {len(x):,} points tried ({largest:.4g})")
        reference = np.concatenate([reference, best])
    return chosen, reasons


def climb(x: Floats, space: Space, value: Any) -> Floats:
    """Steps along single columns, halved while none is up; levels are tried all."""
    width = space.high - space.low
    best, step = float(value(x)[0]), 0.25
    while step > 1e-4:  # fractions of the range: finer ones are no other experiment
        moves = np.concatenate([np.diag(width * step), -np.diag(width * step)])
        tried = space.snap(x + moves)
        values = value(tried)
        at = int(values.argmax())
        if float(values[at]) > best * (1.0 + 1e-12):
            x, best = tried[at][None], float(values[at])
        else:
            step /= 2.0
    return x
