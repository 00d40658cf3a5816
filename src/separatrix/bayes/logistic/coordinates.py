"""Coordinates in which the prior is the same for every coefficient, and the way back.

    z = ((x − center) / scale, 1),        s = C V z,        V ~ N(0, σ²)

Columns are standardized, so that the prior does not depend on units. A common term of all scores
changes no probability: V has one row less than there are classes, and C has columns that add up to
zero. The log odds of any two classes have coefficients of variance σ²; with two classes V itself
are those of the second against the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats


def class_basis(n_classes: int) -> Floats:
    """C (K x (K − 1)): columns that add up to zero, with CᵀC = ½ I and rows at distance one."""
    return np.asarray(linalg.helmert(n_classes).T / np.sqrt(2.0))


@dataclass(frozen=True)
class Coordinates:
    """The design z of a table and what its coefficients mean in the units of the table.

    ``scale`` is infinite for a constant column, whose z is zero. Where there are more columns than
    rows, ``span`` (d x r) is an orthonormal basis of the standardized rows: z then has r columns,
    and the coefficients outside of the span, of which the rows say nothing, follow their prior.
    """

    center: Floats
    scale: Floats
    intercept: bool
    n_classes: int
    span: Floats | None = field(default=None)

    @property
    def width(self) -> int:
        """Length of z."""
        columns = len(self.center) if self.span is None else self.span.shape[1]
        return columns + int(self.intercept)

    @property
    def n_scores(self) -> int:
        """Rows of V."""
        return self.n_classes - 1

    @property
    def basis(self) -> Floats:
        """What the scores are in rows of V: C, or 1 for the one score of two classes."""
        return np.ones((1, 1)) if self.n_classes == 2 else class_basis(self.n_classes)

    def standardized(self, x: Floats) -> Floats:
        """(x − center) / scale."""
        return np.asarray((x - self.center) / self.scale)

    def design(self, x: Floats) -> Floats:
        """Rows of z."""
        z = self.standardized(x)
        if self.span is not None:
            z = z @ self.span
        return np.column_stack([z, np.ones(len(z))]) if self.intercept else z

    def unscale(self, v: Floats) -> tuple[Floats, Floats]:
        """Coefficients (… x scores x d) and intercepts (… x scores) of the table from V (… x m)."""
        r = self.width - int(self.intercept)
        columns = v[..., :r] if self.span is None else v[..., :r] @ self.span.T
        return self.to_table(columns, v[..., r] if self.intercept else np.zeros(v.shape[:-1]))

    def to_table(self, columns: Floats, constant: Floats) -> tuple[Floats, Floats]:
        """The same from coefficients of all standardized columns and of the constant."""
        coef = np.einsum("kc,...cd->...kd", self.basis, columns) / self.scale
        intercept = np.einsum("kc,...c->...k", self.basis, constant) - coef @ self.center
        return coef, intercept
