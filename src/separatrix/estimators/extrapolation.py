"""Which new rows lie outside the rows that a model was trained on.

    beyond a range:        x_j < min_i a_ij  or  x_j > max_i a_ij   for a column j
    outside of the hull:   there are g, c with  g·x > c > g·a_i     for all training rows a_i

A row within all ranges can still be outside of the convex hull: large and light at once, say, where
no training row was. The direction g proves it, and anybody can check it by one product. Ranges are
kept by every fitted model, hulls need the training rows.

Of a column of numbers the range is that of its numbers; of a column of levels, that of the
indicator that it has none of the known levels: it is missing, or unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import join_words, plural
from separatrix.geometry.convex_hulls import EPS, nearest_points
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.rows import Rows, column_values, ranges_of
from separatrix.rows.schema import (
    Schema,
    column_names,
    to_array,
)
from separatrix.rows.sources.new_rows import rows_like


@dataclass(frozen=True, repr=False)
class ExtrapolationCheck(Shown):
    """Rows that lie outside the training rows of a model, with the proof for each.

    Parameters
    ----------
    outside : ndarray of bool of shape (n,)
        Whether a row is beyond the range of a column or, where hulls are asked for, outside of the
        convex hull.
    below, above : ndarray of bool of shape (n, d)
        Whether its value is below, or above, those of the training rows.
    columns : tuple of str
        The names of the d columns.
    terms : tuple of str
        The names of the t terms of the design in which hulls are taken; empty without hulls.
    directions : ndarray of shape (n, t) or None
        Of a row outside of the hull, the direction g that separates it; NaN for others. A length of
        one is that of a training range in every term.
    thresholds : ndarray of shape (n,) or None
        The number c halfway between g·x and the largest g·a of the training rows.

    See Also
    --------
    check_extrapolation : Find such rows.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> model = sx.LinearRegression().fit(X, [1.0, 2.0, 3.0])
    >>> print(sx.check_extrapolation(model, [[1.0, 1.0], [9.0, 1.0]]))
    1 of 2 rows beyond the training rows: x0 (1)
    """

    outside: NDArray[np.bool_]
    below: NDArray[np.bool_]
    above: NDArray[np.bool_]
    columns: tuple[str, ...]
    terms: tuple[str, ...] = ()
    directions: Floats | None = None
    thresholds: Floats | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The rows beyond the range of each column that has such, most first."""
        beyond = (self.below | self.above).sum(axis=0).tolist()
        ranked = sorted(zip(beyond, self.columns, strict=True), key=lambda pair: -pair[0])
        return {name: count for count, name in ranked if count}

    def __str__(self) -> str:
        n, counts = int(self.outside.sum()), self.counts
        by_range = (self.below | self.above).any(axis=1)
        within = int((self.outside & ~by_range).sum())
        reasons = [count_columns(counts)] if counts else []
        reasons += [f"{within:,} within all ranges, but outside of the hull"] if within else []
        what = f"{n:,} of {plural(len(self.outside), 'row')} beyond the training rows"
        return f"{what}: {'; '.join(reasons)}" if reasons else what


def count_columns(counts: Mapping[str, int]) -> str:
    """The first columns with their counts."""
    shown = [f"{name} ({count:,})" for name, count in counts.items()]
    more = [f"{len(shown) - 4} more"] if len(shown) > 4 else []
    return join_words([*shown[:4], *more])


def keeps_ranges(model: Any) -> bool:
    """Whether a fitted model keeps the ranges of its training rows."""
    return getattr(_inner(model), "training_range_", None) is not None


def extrapolates(self: Any, X: Any, *, training: Any = None) -> NDArray[np.bool_]:
    """Whether rows lie outside of the training rows: beyond a range, or outside their hull.

    A method of every predictor.

    Parameters
    ----------
    X : array-like, data frame or Rows of shape (n, d)
        New rows.
    training : array-like, data frame or Rows, default=None
        The training rows, for their convex hull; None compares with the ranges that the model
        keeps. :func:`separatrix.check_extrapolation` gives columns and directions too.

    Returns
    -------
    ndarray of bool of shape (n,)
        True for a row that the model was not trained for.
    """
    return check_extrapolation(self, X, training=training).outside


def check_extrapolation(model: Any, X: Any, *, training: Any = None) -> ExtrapolationCheck:
    """Rows beyond the ranges, or outside of the convex hull, of a model's training rows.

        x_j < min_i a_ij  or  x_j > max_i a_ij;      g·x > c > g·a_i for all i

    Parameters
    ----------
    model : estimator
        A fitted model of this library.
    X : array-like, data frame or Rows of shape (n, d)
        New rows.
    training : array-like, data frame or Rows, default=None
        The training rows, for their convex hull; None compares with the ranges that the model keeps
        of them.

    Returns
    -------
    ExtrapolationCheck
        Rows, columns, and for hulls the separating directions.

    See Also
    --------
    nearest_hull_points : Nearest points of two hulls.
    distance_concentration : Whether distances still tell rows apart.

    Notes
    -----
    The hull is that of the design: of columns of levels their indicators, of missing values what
    stands for them. Its direction is the normal at the point of the hull that is nearest to x, with
    every term measured in its range: a linear program has the same answer, without a distance. In
    many columns nearly every new row is outside of the hull of the others.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> model = sx.LinearRegression().fit(X, [1.0, 2.0, 3.0])
    >>> found = sx.check_extrapolation(model, [[1.0, 1.0], [3.0, 3.0]], training=X)
    >>> found.outside.tolist(), found.directions[1].round(3).tolist()
    ([False, True], [0.177, 0.177])
    """
    model = _inner(model)
    check_is_fitted(model)
    if get_tags(model).input_tags.pairwise or getattr(model, "_structures", False):
        raise InputError(
            f"This {type(model).__name__} compares rows by given similarities or as objects, which "
            "have no ranges.",
            remedy="Ask a model of columns of numbers and levels.",
        )
    encoding = getattr(model, "encoding_", None)
    if encoding is not None and not encoding.is_identity:
        schema = encoding.schema
    else:  # class densities read the columns of a table without an encoding
        schema = model.schema_ if getattr(model, "from_table_", False) else None
    ranges = getattr(model, "training_range_", None)
    if training is not None:
        ranges = ranges_of(_values(model, training, schema))
    if ranges is None:
        raise InputError(
            f"This {type(model).__name__} keeps no ranges of its training rows: it was fitted to "
            "sums, or block by block.",
            remedy="Give the rows: check_extrapolation(model, X, training=rows).",
        )
    values = _values(model, X, schema)
    if sparse.issparse(values):
        values = to_array(values)
    with np.errstate(invalid="ignore"):  # a missing value is not outside
        below, above = values < ranges[0], values > ranges[1]
    outside = (below | above).any(axis=1)
    names = column_names(values.shape[1]) if schema is None else schema.names
    names = tuple(str(name) for name in getattr(model, "feature_names_in_", names))
    if training is None:
        return ExtrapolationCheck(outside, below, above, names)
    rows, new = (to_array(model._design(x)) for x in (training, X))
    directions, thresholds = hull_directions(rows, new)
    outside = outside | ~np.isnan(thresholds)
    terms = names if encoding is None or schema is None else encoding.names
    return ExtrapolationCheck(outside, below, above, names, terms, directions, thresholds)


def _inner(model: Any) -> Any:
    """The model that read the rows, within those that were made of it."""
    while not hasattr(model, "training_range_"):
        others = getattr(model, "estimators_", None)
        inner = getattr(model, "estimator_", others[0] if others else None)
        if inner is None:
            return model
        model = inner[0] if isinstance(inner, tuple) else inner
    return model


def _values(model: Any, X: Any, schema: Schema | None) -> Any:
    if schema is None:
        return model._design(X)
    lenient = None if isinstance(X, Rows) or schema.unseen != "error" else "missing"
    return column_values(rows_like(X, schema, unseen=lenient).collect(), schema)


def hull_directions(rows: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Of each new row the direction that separates it from all rows, and the threshold.

    NaN for a new row in the convex hull of the rows, up to rounding.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    varies = high > low
    scale = np.where(varies, high - low, np.maximum(np.abs(low), 1.0))
    scaled = (rows - low) / scale
    directions, thresholds = np.full(new.shape, np.nan), np.full(len(new), np.nan)
    for i, point in enumerate((new - low) / scale):
        nearest = nearest_points(point[None, :], scaled)
        g = nearest.normal / scale
        highest = float((rows @ g).max(initial=-np.inf))
        apart = nearest.low - nearest.high > 16.0 * EPS * nearest.scale
        if apart and float(new[i] @ g) > highest:
            directions[i], thresholds[i] = g, (highest + float(new[i] @ g)) / 2
    return directions, thresholds
