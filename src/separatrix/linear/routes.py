"""What a linear model is solved from, by what each way costs for the shape of its table.

    route      solved from                        in memory        multiplications
    moments    products of columns, XᵀX           d²               gram + d³/3
    rows       products of rows, XXᵀ              n²               gram of rows + n³/3
    products   X v and Xᵀ r of sparse rows        the table        STEPS · 2 z, or m times that
    columns    working sets of columns (ℓ₁)       the table        (FIRST + EACH · m) · z

for n rows, d columns, z stored numbers and m penalties, which share the products of conjugate
gradients where units allow it. The cheapest of those that fit into memory is taken: sparse rows may
be kept once more, not filled in. Multiplications count as those of dense products, so that one of a
compressed row counts :data:`SPARSE`. ``benchmarks/shapes.py`` measures whether the choice is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import sparse

from separatrix.estimators.base import MAX_STORED_COLUMNS
from separatrix.rows.schema import Block

#: A multiplication of a stored entry, in those of BLAS: ten or more of which take one look-up.
SPARSE = 10.0
#: Steps of conjugate gradients at one penalty: those of text and of tables of zeros and ones.
STEPS = 60.0
#: Working sets: reading, scaling and certifying a number of the table, in multiplications of BLAS,
#: and what each further penalty adds.
FIRST, EACH = 200.0, 10.0
#: Numbers of a square matrix that fit beside any table (half a megabyte), and beside a sparse one
#: for each of its own: sums of threads, factors and certificates hold a few such matrices.
FEW_NUMBERS, BESIDE = 1 << 16, 0.25
#: A sparse table with more columns has no columns x columns matrix.
MANY_COLUMNS = 5_000


class Route(StrEnum):
    """What a fit is solved from."""

    MOMENTS = "moments"
    ROWS = "rows"
    PRODUCTS = "products"
    COLUMNS = "columns"


@dataclass(frozen=True)
class Shape:
    """Rows, columns, stored numbers, and the multiplications of XᵀX."""

    n: int
    d: int
    stored: int
    gram: float
    sparse: bool

    @classmethod
    def of(cls, block: Block) -> Shape:
        """The shape of a table in memory."""
        (n, d), x = block.x.shape, block.x
        dense = 0.5 * n * float(d) ** 2
        if not sparse.issparse(x):
            return cls(n, d, n * d, dense, False)
        pairs = float((np.diff(x.indptr).astype(float) ** 2).sum())
        return cls(n, d, int(x.nnz), min(dense, SPARSE * pairs), True)

    def fits(self, numbers: float) -> bool:
        """Whether so many numbers may be kept beside the table."""
        if self.sparse:
            return numbers <= max(FEW_NUMBERS, BESIDE * self.stored)
        return numbers <= max(MAX_STORED_COLUMNS**2, self.stored)


def quadratic_route(block: Block, penalties: float = 1.0, *, spectrum: bool = False) -> Route:
    """Least squares and ridge; ``spectrum`` where all eigenvalues are asked for."""
    shape = Shape.of(block)
    n, d = shape.n, shape.d
    if not shape.sparse:
        return Route.ROWS if n <= d else Route.MOMENTS
    square = Route.ROWS if n <= d else Route.MOMENTS
    few = min(n, d)
    if spectrum:
        # With fewer rows all eigenvalues are those of the rows x rows matrix.
        return Route.PRODUCTS if d > MANY_COLUMNS and n > 2_000 else square
    gram = shape.gram if square is Route.MOMENTS else SPARSE * shape.stored * n
    products = penalties * STEPS * 2.0 * SPARSE * shape.stored
    cheaper = gram + penalties * few**3 / 3 <= products
    return square if cheaper and shape.fits(few**2) else Route.PRODUCTS


def penalty_by_penalty(penalties: int) -> bool:
    """Whether a Cholesky factor for each penalty, d³/3, is cheaper than all eigenvalues at once."""
    # All eigenvalues take 5 d³ multiplications of the speed of products: 1 500 rows take as long as
    # 16 factors.
    return penalties / 3.0 < 5.0


def absolute_route(block: Block, penalties: float = 1.0) -> Route:
    """Lasso and elastic net: columns, or moments where these serve many penalties."""
    shape = Shape.of(block)
    columns = (FIRST + EACH * penalties) * shape.stored
    cheaper = shape.gram <= columns
    return Route.MOMENTS if cheaper and shape.fits(shape.d**2) else Route.COLUMNS


def folds_at_once(block: Block, paths: int) -> int:
    """How many folds of so many targets x penalties go through conjugate gradients together."""
    shape = Shape.of(block)
    small, large = sorted((shape.n, shape.d))
    one = (4 + 3 * paths) * small + (2 + paths) * large + 4 * shape.n
    # Products of folds that are solved together read each entry once: worth 16 megabytes.
    return max(1, int(max(1 << 21, BESIDE * shape.stored) / one))


def step_limit(block: Block) -> int | None:
    """Steps of conjugate gradients that cost what the square matrix does; None where it is none.

    Where units or nearly equal columns ask for more of them, that matrix is made after all.
    """
    shape = Shape.of(block)
    few = min(shape.n, shape.d)
    if few > MANY_COLUMNS:
        return None
    gram = shape.gram if shape.n > shape.d else SPARSE * shape.stored * shape.n
    return int(2 * STEPS + (gram + few**3 / 3) / (2.0 * SPARSE * max(shape.stored, 1)))


def by_products(block: Block, penalties: float = 1.0, *, spectrum: bool = False) -> bool:
    """Whether least squares and ridge are solved by products alone."""
    return quadratic_route(block, penalties, spectrum=spectrum) is Route.PRODUCTS


def from_rows(
    block: Block, penalties: float = 1.0, *, spectrum: bool = False, positive: bool = False
) -> bool:
    """Whether they are solved from the rows in memory: by their products, or by products alone."""
    wide = block.n <= block.x.shape[1]
    return wide or (not positive and by_products(block, penalties, spectrum=spectrum))
