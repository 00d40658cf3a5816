"""Fits without one of their rows, from the one fit to all rows: what jackknife intervals need.

    ŷ₋ᵢ(xᵢ)     what the model fitted without row i says about row i
    ŷ₋ᵢ(x)      what it says about any other row

For a model whose predictions are linear in the targets and that does not move when a target is
replaced by its own prediction (least squares, ridge, Gaussian processes), with s(x, i) the share of
target i in ŷ(x),

    ŷ₋ᵢ(x) = ŷ(x) − s(x, i) rᵢ,     rᵢ = yᵢ − ŷ₋ᵢ(xᵢ) = (yᵢ − ŷᵢ) / (1 − s(xᵢ, i))

A family that knows such a form gives its estimators ``leave_one_out_fits``; None says that refits
are needed. A row of weight w stands for w equal rows, which are left out together; so are copies
that have the number of one unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from separatrix.arrays import Floats, Ints
from separatrix.rows.parts import hash_block
from separatrix.rows.scan import scan
from separatrix.rows.schema import to_array
from separatrix.rows.split import Copies


@dataclass(frozen=True)
class LeftOut:
    """What is left out at a time: ``out`` of the ``weight`` of some ``rows``, by position.

    All of it, that of copies included, of which the first stands for all. Where chance explains
    copies, as in a table of few cells, they are rows like any other, and one is left out: of a row
    of weight w, one of the w. A weight of w is w copies beside one another in either case.
    """

    rows: Ints
    weight: Floats
    out: Floats

    @classmethod
    def of(cls, x: Any, y: Any, w: Floats) -> LeftOut:
        """Of a matrix and its targets; copies of items of other kinds are rows like any other."""
        rows, counts = np.arange(len(w)), bool((w == w.round()).all())
        if not hasattr(x, "shape"):
            return cls(rows, w, np.ones(len(w)) if counts else w)
        block = scan(x, y).read().block
        copies = Copies(block, hash_block(block), w)
        if counts and copies.by_chance:
            return cls(rows, w, np.ones(len(w)))
        _, first, which = np.unique(copies.hashes, return_index=True, return_inverse=True)
        weight, order = np.bincount(which, w).astype(np.float64), np.argsort(first)
        out = copies.times if counts and copies.are_counts else weight
        return cls(first[order], weight[order], np.minimum(out, weight)[order])


class LeaveOneOutFits(Protocol):
    """The fits without each of n training rows, beside the model fitted to all of them."""

    @property
    def own(self) -> Floats:
        """ŷ₋ᵢ(xᵢ) of every training row: numbers (n), or probabilities (n x K)."""

    def at(self, model: Any, X: Any) -> Floats:
        """ŷ₋ᵢ(x) for each of m new rows and each row left out: (m x n), or (m x n x K)."""


def leave_one_out_fits(
    model: Any, X: Any, y: Any, sample_weight: Any, units: Ints | None = None
) -> LeaveOneOutFits | None:
    """The closed form of a fitted model, ours or any other; None where it has none.

    The rows of one number in ``units`` are left out together.
    """
    form = getattr(model, "leave_one_out_fits", None)
    copied = units is not None and len(np.unique(units)) < len(units)
    if form is None or (copied and "units" not in signature(form).parameters):
        return None
    fits: LeaveOneOutFits | None = form(X, y, sample_weight, *([units] if copied else []))
    return fits


@dataclass(frozen=True)
class AffineFits:
    """Fits of an affine model without each row: b₋ᵢ = b − gᵢ, and the same about the center c.

    ŷ₋ᵢ(x) = ŷ(x) − (x − c)·gᵢ − tᵢ
    """

    own: Floats
    center: Floats
    change: Floats
    shift: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """ŷ₋ᵢ(x) (m x n)."""
        base = np.asarray(model.predict(X), dtype=float).reshape(-1, 1)
        x = to_array(model._design(X)) if hasattr(model, "_design") else X
        changed = (np.asarray(x, dtype=float) - self.center) @ self.change.T
        changed += self.shift
        np.subtract(base, changed, out=changed)
        return changed


def affine_fits(
    model: Any, design: Any, y: Floats, w: Floats, penalty: float, units: Ints | None
) -> AffineFits | None:
    """The fits of Σ w (y − a − b·x)² + α ‖b‖² without each row, by one orthogonal decomposition.

    ``model`` is the solution, that of least norm where α = 0 and columns depend on one another; it
    is fitted again for the few rows that determine a direction alone. With W the weight of a row
    and its copies, W s(x, i) takes the place of s(x, i). None where the table is too large, or the
    rows of a unit are not equal.
    """
    n, d = design.shape
    # Numbers of a table up to which its fits, as large as the table, are formed.
    if n * d > 50_000_000 or n < 2:
        return None
    x = np.asarray(to_array(design), dtype=float)
    units = np.arange(n) if units is None else units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    if (x != x[first[unit]]).any() or (y != y[first[unit]]).any():
        return None
    out, total = np.bincount(unit, w)[unit], w.sum()
    center = w @ x / total if model.fit_intercept else np.zeros(d)
    z = x - center
    share = 1.0 / total if model.fit_intercept else 0.0
    pull = _pulls(z, w, penalty)
    left = 1.0 - out * (share + np.einsum("ij,ij->i", z, pull))
    # Below this 1 − h a row is fitted through whatever its target: leaving it out changes the rank.
    alone = left < 1e-8
    fitted = np.asarray(x @ model.coef_ + model.intercept_, dtype=float)
    r = out * (y - fitted) / np.where(alone, 1.0, left)
    change, shift = pull * r[:, None], share * r
    own_change = np.einsum("ij,ij->i", z, change) + shift
    for u in np.unique(unit[alone]):
        rows, others = unit == u, (unit != u) & (w > 0.0)
        other = clone(model).fit(x[others], y[others], sample_weight=w[others])
        change[rows] = slope = model.coef_ - other.coef_
        shift[rows] = model.intercept_ - other.intercept_ + center @ slope
        own_change[rows] = z[rows] @ slope + shift[rows]
    return AffineFits(fitted - own_change, center, change, shift)


def _pulls(z: Floats, w: Floats, penalty: float) -> Floats:
    """(ZᵀWZ + αI)⁻¹ zᵢ of every row; the pseudo-inverse where that is singular."""
    spread = np.sqrt(w @ z**2)
    varies = spread > 1e-13 * np.sqrt(w.sum()) * np.abs(z).max(axis=0, initial=0.0)
    varies &= spread > 0.0
    pulls = np.zeros_like(z)
    scale = spread[varies]
    if not len(scale):
        return pulls
    scaled = z[:, varies] / scale
    rows = np.sqrt(w)[:, None] * scaled
    if penalty > 0.0:
        rows = np.vstack([rows, np.diag(np.sqrt(penalty) / scale)])
    if len(rows) >= rows.shape[1]:
        triangle: Any = np.linalg.qr(rows, mode="r")
        inverse = _inverse_if_regular(triangle)
        if inverse is not None:
            pulls[:, varies] = scaled @ (inverse @ inverse.T) / scale
            return pulls
    # of least norm in the units of the table
    plain = np.sqrt(w)[:, None] * z[:, varies]
    _, s, vt = np.linalg.svd(plain, full_matrices=False)
    s2 = s**2 + penalty
    use = s > 1e-10 * s.max(initial=0.0)
    coordinates = z[:, varies] @ vt[use].T
    pulls[:, varies] = (coordinates / s2[use]) @ vt[use]
    return pulls


def _inverse_if_regular(triangle: Floats) -> Floats | None:
    """R⁻¹ of standardized columns; None where they depend on one another up to rounding."""
    diagonal = np.abs(np.diagonal(triangle))
    if diagonal.min() < 1e-9 * diagonal.max():
        return None
    inverse = np.asarray(np.linalg.inv(triangle), dtype=np.float64)
    return inverse if np.isfinite(inverse).all() and np.abs(inverse).max() < 1e9 else None
