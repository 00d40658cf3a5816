"""Columns as bases of smooth functions, and rows as the few functions that are not zero there.

    f(x) = Σ_k c_k B_k(x)

B_k are cubic B-splines on knots at quantiles of the distinct values of a column, piecewise linear
functions through all values where these are few, or indicators of levels. They add up to one.
Beyond the knots every function goes on as a line. Coefficients are put into natural coordinates,

    f = b₀ · line + Σ_m b_m · curve_m,      roughness  Σ_i (h_i Δslope_i)² = Σ_m b_m²

so that the penalty of a term is a multiple of the identity in each of its blocks: one for what is
a line, one for what bends. Δslope_i is the change of slope at the i-th coefficient and h_i the
distance of its neighbors: second differences, which are zero for lines on any knots. A pair of
columns has the products of their functions, and so a block for each product of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.interpolate import BSpline

from separatrix.additive import loops
from separatrix.arrays import Floats, Ints
from separatrix.formula import nodes
from separatrix.formula.values import Value, concat
from separatrix.messages import InputError
from separatrix.rows.schema import Encoding
from separatrix.threads import parallel_map, pieces

#: Intervals of the functions whose products are those of a pair of columns.
PAIR_INTERVALS = 3
#: Knots nearer to each other than this, relative to the range, are one.
LEAST_DISTANCE = 1e-9
LINE, CURVE, LEVELS = "line", "curve", "levels"


@dataclass(frozen=True)
class ColumnBasis:
    """Basis functions of one column of a table, which add up to one.

    ``terms`` are its columns in the design. A column of numbers is z = (x − low)/width, and
    ``table`` (pieces x powers x functions) holds the functions as polynomials in z − knot on every
    piece between the knots and beyond them. A column of ``levels`` has a function for each; the
    first is that of the level without a column in the design. ``transform`` makes natural
    coordinates of coefficients, of which ``line`` are those of a line.
    """

    name: str
    terms: Ints
    low: float = 0.0
    width: float = 1.0
    knots: Floats | None = None
    table: Floats | None = None
    levels: tuple[str, ...] = ()
    transform: Floats | None = None
    line: int = 0

    def __post_init__(self) -> None:
        n_knots = 0 if self.knots is None else len(self.knots)
        if self.table is not None and len(self.table) != n_knots + 1:
            raise InputError(f"{len(self.table)} pieces for {n_knots} knots.")
        if self.transform is not None and len(self.transform) != self.size:
            raise InputError(f"{len(self.transform)} coefficients for {self.size} functions.")

    @property
    def size(self) -> int:
        """Number of functions."""
        return len(self.levels) if self.table is None else self.table.shape[2]

    @property
    def is_smooth(self) -> bool:
        """Whether its values are numbers, and not levels."""
        return self.table is not None

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """What each block of coordinates is, and how many it has."""
        if not self.is_smooth:
            return [(LEVELS, self.size)]
        assert self.transform is not None
        curves = self.transform.shape[1] - self.line
        return [(LINE, self.line), *([(CURVE, curves)] if curves else [])]

    def standardize(self, x: Floats) -> Floats:
        """Z of a column of numbers."""
        return np.ascontiguousarray((x[:, self.terms[0]] - self.low) / self.width)

    def values(self, x: Floats) -> Floats:
        """All functions at the rows of a design (n x functions)."""
        if not self.is_smooth:
            indicators = x[:, self.terms]
            return np.column_stack([1.0 - indicators.sum(axis=1), indicators])
        return self.add(x, np.eye(self.size), np.zeros((len(x), self.size)))

    def add(self, x: Floats, coef: Floats, out: Floats) -> Floats:
        """``out`` plus Σ_k c_k B_k at the rows, for each column of ``coef``."""
        if not self.is_smooth:
            out += self.values(x) @ coef
            return out
        assert self.table is not None
        loops.add_piecewise(
            self.standardize(x), self.knots, np.ascontiguousarray(self.table @ coef), out
        )
        return out

    def node(self, x: nodes.Node, coef: Floats) -> nodes.Node:
        """The formula of Σ_k c_k B_k for each column of ``coef``."""
        if not self.is_smooth:
            indicators = nodes.Columns(x, tuple(self.terms.tolist()))
            return nodes.Affine(indicators, coef[1:] - coef[:1], coef[0])
        assert self.table is not None
        assert self.knots is not None
        column = int(self.terms[0])
        return PiecewisePolynomials(x, column, self.low, self.width, self.knots, self.table @ coef)

    def entries(self, x: Floats, offset: int, index: Any, value: Floats) -> None:
        """The functions that are not zero at the rows."""
        if not self.is_smooth:
            level = x[:, self.terms].argmax(axis=1) + 1
            index[:, 0] = offset + np.where(x[:, self.terms].any(axis=1), level, 0)
            value[:, 0] = 1.0
            return
        assert self.table is not None
        assert self.knots is not None
        n_pieces = len(self.knots) - 1
        degree = self.size - n_pieces
        first = np.clip(np.arange(n_pieces + 2) - 1, 0, n_pieces - 1)
        at = first[:, None] + np.arange(degree + 1)
        table = np.take_along_axis(self.table, at[:, None, :], axis=2)
        z = self.standardize(x)
        loops.spline_entries(
            z, self.knots, first, np.ascontiguousarray(table), offset, index, value
        )

    @property
    def width_of_rows(self) -> int:
        """How many functions are not zero at a row."""
        if not self.is_smooth:
            return 1
        assert self.knots is not None
        return self.size - len(self.knots) + 2

    def with_coordinates(self, gram: Floats) -> ColumnBasis:
        """With natural coordinates, from mean products of the functions over the rows."""
        mean = gram.sum(axis=1)
        if not self.is_smooth:
            centered = np.eye(self.size) - mean
            spread = float(np.einsum("ij,ik,kj->", centered, gram, centered)) / self.size
            return replace(self, transform=centered / np.sqrt(spread or 1.0))
        ones, place = np.ones(self.size), self._abscissae()
        line = place - mean @ place
        line = line / np.sqrt(float(line @ gram @ line) or 1.0)
        curves = self._curves(place)
        curves = curves - np.outer(ones, mean @ curves) - np.outer(line, line @ gram @ curves)
        if curves.shape[1]:
            spread = float(np.einsum("ij,ik,kj->", curves, gram, curves)) / curves.shape[1]
            curves = curves / np.sqrt(spread or 1.0)
        return replace(self, transform=np.column_stack([line, curves]), line=1)

    def _abscissae(self) -> Floats:
        """Coefficients of the function z."""
        assert self.knots is not None
        degree = self.size - len(self.knots) + 1
        t = _extend_knots(self.knots, degree)
        return np.array([t[k + 1 : k + degree + 1].mean() for k in range(self.size)])

    def _curves(self, place: Floats) -> Floats:
        """Coefficients of functions of which Σ b² is the roughness of Σ_m b_m curve_m."""
        if self.size < 3:
            return np.zeros((self.size, 0))
        gap = np.diff(place)
        h = (gap[1:] + gap[:-1]) / 2.0
        second = np.zeros((self.size - 2, self.size))
        rows = np.arange(self.size - 2)
        second[rows, rows] = h / gap[:-1]
        second[rows, rows + 2] = h / gap[1:]
        second[rows, rows + 1] = -h / gap[:-1] - h / gap[1:]
        _, size, directions = linalg.svd(second, full_matrices=False)
        return np.asarray(directions.T / size)


def column_bases(encoding: Encoding, x: Floats, intervals: int) -> list[ColumnBasis]:
    """A basis for every column of the table that is not constant."""
    bases: list[ColumnBasis | None] = []
    terms = encoding.terms.items
    levels: dict[str, list[int]] = {}
    for j, term in enumerate(terms):
        if term.level is not None:
            levels.setdefault(term.column, []).append(j)
    for j, term in enumerate(terms):
        of_level = levels.get(term.column, [])
        if term.level is None:
            bases.append(spline_basis(str(term), j, x[:, j], intervals))
        elif j == of_level[0]:
            bases += _level_bases(term.column, of_level, encoding, x)
    return [basis for basis in bases if basis is not None]


def _level_bases(
    name: str, at: list[int], encoding: Encoding, x: Floats
) -> list[ColumnBasis | None]:
    """Indicators of the levels of a column; each by itself where imputation made fractions."""
    terms = encoding.terms.items
    # column by column: a copy of all of them could be the larger part of the table
    if not all(((x[:, j] == 0.0) | (x[:, j] == 1.0)).all() for j in at):
        return [spline_basis(str(terms[j]), j, x[:, j], 1) for j in at]
    if not any(x[:, j].any() for j in at):
        return []
    reference = encoding.reference_levels.get(name, "other")
    names = (reference, *(str(terms[j].level) for j in at))
    return [ColumnBasis(name, np.array(at, dtype=np.int64), levels=names)]


def spline_basis(
    name: str, j: int, column: Floats, intervals: int, few: int = 10
) -> ColumnBasis | None:
    """B-splines of a column of numbers on at most so many intervals; None if it is constant.

    A column of up to ``few`` distinct values is a straight line from each to the next.
    """
    low, high = float(column.min()), float(column.max())
    width = high - low
    if not width > 0.0 or not np.isfinite(width):
        return None
    z = np.unique((column - low) / width)
    z = z[np.concatenate([[True], np.diff(z) > LEAST_DISTANCE])]
    z[-1] = 1.0
    terms = np.array([j], dtype=np.int64)
    if len(z) <= few or intervals == 1:
        knots = z if intervals > 1 else z[[0, -1]]
        return ColumnBasis(name, terms, low, width, knots, spline_table(knots, 1))
    count = max(2, min(intervals, len(z) // 2))  # at least two values between neighboring knots
    knots = np.quantile(z, np.linspace(0.0, 1.0, count + 1))
    knots = knots[np.concatenate([[True], np.diff(knots) > LEAST_DISTANCE])]
    return ColumnBasis(name, terms, low, width, knots, spline_table(knots, 3))


def _extend_knots(knots: Floats, degree: int) -> Floats:
    """The knots, and as many beyond each end as a basis of that degree needs."""
    steps = np.arange(1, degree + 1)
    before = knots[0] - (knots[1] - knots[0]) * steps[::-1]
    return np.concatenate([before, knots, knots[-1] + (knots[-1] - knots[-2]) * steps])


def spline_table(knots: Floats, degree: int) -> Floats:
    """B-splines as polynomials: (before, between and after the knots) x powers x functions."""
    t, m = _extend_knots(knots, degree), len(knots) - 1
    splines = BSpline(t, np.eye(m + degree), degree)
    table = np.zeros((m + 2, degree + 1, m + degree))
    for power in range(degree + 1):
        table[1:-1, power] = splines(knots[:-1], power) / factorial(power)
    table[0, :2] = table[1, :2]
    step = knots[-1] - knots[-2]
    powers = step ** np.arange(degree + 1)
    table[-1, 0] = powers @ table[-2]
    table[-1, 1] = (np.arange(1, degree + 1) * powers[:-1]) @ table[-2, 1:]
    return table


@dataclass(frozen=True)
class PairBasis:
    """Products of the functions of two columns: k-th of the left times l-th of the right."""

    left: ColumnBasis
    right: ColumnBasis

    @property
    def name(self) -> str:
        """Both columns."""
        return f"{self.left.name} × {self.right.name}"

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.left.size * self.right.size

    @property
    def width_of_rows(self) -> int:
        """How many functions are not zero at a row."""
        return self.left.width_of_rows * self.right.width_of_rows

    @cached_property
    def _order(self) -> tuple[list[tuple[str, int]], Ints]:
        """Blocks, and the products of coordinates in their order."""
        blocks, order = [], []
        wide = sum(n for _, n in self.right.blocks)
        start = 0
        for one, m in self.left.blocks:
            begin = 0
            for other, n in self.right.blocks:
                blocks.append((f"{one} × {other}", m * n))
                here = (start + np.arange(m))[:, None] * wide + begin + np.arange(n)
                order.append(here.ravel())
                begin += n
            start += m
        return blocks, np.concatenate(order)

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """What each block of coordinates is, and how many it has."""
        return self._order[0]

    @cached_property
    def transform(self) -> Floats:
        """Natural coordinates as coefficients of the products."""
        assert self.left.transform is not None
        assert self.right.transform is not None
        return np.asarray(np.kron(self.left.transform, self.right.transform)[:, self._order[1]])

    def with_coordinates(self, gram: Floats) -> PairBasis:
        """With natural coordinates of both columns, from mean products of the products.

        Those of a column's functions are sums over the functions of the other, which add up to one.
        """
        shape = (self.left.size, self.right.size)
        products = gram.reshape(shape + shape)
        left, right = products.sum(axis=(1, 3)), products.sum(axis=(0, 2))
        return PairBasis(
            self.left.with_coordinates(left),
            self.right.with_coordinates(right),
        )

    def values(self, x: Floats) -> Floats:
        """All products at the rows."""
        left, right = self.left.values(x), self.right.values(x)
        return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(x), -1))

    def add(self, x: Floats, coef: Floats, out: Floats) -> Floats:
        """``out`` plus the sum of products, for each column of ``coef``."""
        left, right = self.left.values(x), self.right.values(x)
        for k in range(coef.shape[1]):
            matrix = coef[:, k].reshape(self.left.size, self.right.size)
            out[:, k] += np.einsum("ij,ij->i", left @ matrix, right)
        return out

    def node(self, x: nodes.Node, coef: Floats) -> nodes.Node:
        """The formula of the sum of products for each column of ``coef``."""
        left = self.left.node(x, np.eye(self.left.size))
        right = self.right.node(x, np.eye(self.right.size))
        shape = (self.left.size, self.right.size, coef.shape[1])
        return BilinearForms(left, right, coef.reshape(shape))

    def entries(self, x: Floats, offset: int, index: Any, value: Floats) -> None:
        """The products that are not zero at the rows."""
        sides = []
        for side in (self.left, self.right):
            shape = (len(x), side.width_of_rows)
            at, entry = np.empty(shape, dtype=np.int32), np.empty(shape)
            side.entries(x, 0, at, entry)
            sides += [at, entry]
        loops.product_entries(*sides, self.right.size, offset, index, value)


Basis = ColumnBasis | PairBasis


class SplineDesign:
    """Rows as the basis functions that are not zero there, and sums over them.

    Products of functions are counted only where both are not zero: a row of d columns has
    (4d)²/2 of them, however many functions there are.
    """

    def __init__(self, bases: Sequence[Basis], x: Floats) -> None:
        self.bases = tuple(bases)
        self.offsets = np.cumsum([0, *(basis.size for basis in self.bases)])
        columns = np.cumsum([0, *(basis.width_of_rows for basis in self.bases)])
        self.n = len(x)
        self.index = np.empty((self.n, columns[-1]), dtype=np.int32)
        self.value = np.empty((self.n, columns[-1]))

        def fill(rows: slice) -> None:
            for j, basis in enumerate(self.bases):
                here = slice(columns[j], columns[j + 1])
                basis.entries(
                    x[rows], int(self.offsets[j]), self.index[rows, here], self.value[rows, here]
                )

        self._over_rows(fill)

    def _over_rows(self, work: Any) -> list[Any]:
        # Rows of a piece: fewer would take longer to start and to add than to compute.
        return parallel_map(work, pieces(self.n, 5_000))

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.offsets[-1])

    def gram(self, w: Floats) -> Floats:
        """Σ w b bᵀ."""

        def part(rows: slice) -> Floats:
            out = np.zeros((self.size, self.size))
            loops.add_gram(rows.start, rows.stop, self.index, self.value, w, out)
            return out

        upper = _total(self._over_rows(part))
        return np.asarray(upper + np.triu(upper, 1).T)

    def cross(self, r: Floats) -> Floats:
        """Σ b r for each column of r."""
        r = np.ascontiguousarray(r)

        def part(rows: slice) -> Floats:
            out = np.zeros((self.size, r.shape[1]))
            loops.add_cross(rows.start, rows.stop, self.index, self.value, r, out)
            return out

        return _total(self._over_rows(part))

    def times(self, coef: Floats) -> Floats:
        """Σ_k c_k B_k at every row (n x outputs)."""
        out, coef = np.empty((self.n, coef.shape[1])), np.ascontiguousarray(coef)
        self._over_rows(
            lambda rows: loops.rows_times(rows.start, rows.stop, self.index, self.value, coef, out)
        )
        return out


def _total(parts: list[Floats]) -> Floats:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class NaturalCoordinates:
    """Natural coordinates of several bases side by side, block by block."""

    def __init__(self, bases: Sequence[Basis]) -> None:
        self.bases = tuple(bases)
        found = [(j, what, size) for j, b in enumerate(bases) for what, size in b.blocks]
        self.term = np.array([j for j, _, _ in found], dtype=np.int64)
        self.what = tuple(what for _, what, _ in found)
        self.sizes = np.array([size for _, _, size in found], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        blocks = [sparse.csr_array((0, 0)), *(b.transform for b in bases)]
        self.matrix = sparse.csr_array(sparse.block_diag(blocks))

    def gram(self, gram: Floats) -> Floats:
        """Products of functions as products of coordinates."""
        half = self.matrix.T @ gram
        return np.asarray((self.matrix.T @ half.T).T)

    def cross(self, cross: Floats) -> Floats:
        """Sums of functions as sums of coordinates."""
        return np.asarray(self.matrix.T @ cross)

    def coefficients(self, b: Floats) -> Floats:
        """Coordinates as coefficients of the functions."""
        return np.asarray(self.matrix @ b)

    def of_term(self, j: int) -> slice:
        """The coordinates of a term."""
        blocks = np.flatnonzero(self.term == j)
        return slice(int(self.starts[blocks[0]]), int(self.starts[blocks[-1] + 1]))


# -------------------------------------------------------------------------------------------------
# Nodes of formulas.


@dataclass(frozen=True, eq=False)
class PiecewisePolynomials(nodes.Node):
    """Piecewise polynomials of one column, z = (x − low)/width: Σ_p table[s, p] (z − knot_s)ᵖ.

    s counts the knots that are at most z; before the first knot the origin is the first.
    """

    x: nodes.Node
    column: int
    low: float
    width: float
    knots: Floats
    table: Floats
    stage = "curves"

    def typical_points(self) -> None:
        """None: one column says nothing of the others."""

    def compute(self, of: nodes.Evaluation) -> Any:
        """By Horner's rule on each piece."""
        z = (of(self.x).column(self.column) - self.low) / self.width
        z = z.named("curves", ["place"])
        if len(self.knots) == 2 and self.table.shape[1] == 2:
            return z.affine(self.table[1, 1:2], self.table[1, :1])
        piece = (z >= self.knots[None, :]).double().sum().integers().named("curves", ["piece"])
        origin = np.concatenate([self.knots[:1], self.knots])
        u = z - piece.look_up(origin)
        u = u.named("curves", ["distance from knot"])
        return concat([self._horner(u, piece, k) for k in range(self.table.shape[2])])

    def _horner(self, u: Value, piece: Value, k: int) -> Value:
        powers = self.table.shape[1]
        total = piece.look_up(np.ascontiguousarray(self.table[:, powers - 1, k]))
        for power in range(powers - 2, -1, -1):
            total = total * u + piece.look_up(np.ascontiguousarray(self.table[:, power, k]))
        return total


@dataclass(frozen=True, eq=False)
class BilinearForms(nodes.Node):
    """Σ_kl C_klo left_k right_l for every output o."""

    left: nodes.Node
    right: nodes.Node
    matrices: Floats
    stage = "pairs"

    def compute(self, of: nodes.Evaluation) -> Any:
        """One matrix product an output."""
        left, right = of(self.left), of(self.right)
        outputs = [
            ((left @ np.ascontiguousarray(self.matrices[:, :, o])) * right).sum()
            for o in range(self.matrices.shape[2])
        ]
        return concat(outputs)
