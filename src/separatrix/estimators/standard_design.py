"""Rows in memory as (1, z) with z = (x − μ)/σ, and the way back to the columns as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.estimators.scaling import deviation
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class StandardDesign:
    """``z`` (n x (1 + d)), weights ``w`` that add up to one, and what was done to the columns.

    Iterative methods walk alike whatever the units once columns have unit variance; a column that
    never varies is zero and so keeps the coefficient zero.
    """

    z: Floats
    w: Floats
    centre: Floats
    scale: Floats

    def in_columns(self, b: Floats) -> tuple[Floats, Floats]:
        """(d x k coefficients, k intercepts) of x from those of (1, z), (1 + d) x k."""
        safe = np.where(self.scale > 0, self.scale, 1.0)
        coef = np.where(self.scale[:, None] > 0, b[1:] / safe[:, None], 0.0)
        return coef, b[0] - self.centre @ coef


def standard_design(block: Block, moments: Moments, *, scaled: bool = True) -> StandardDesign:
    """The design of the rows of positive weight; not ``scaled``, columns stay as they are."""
    d = moments.d
    spread = deviation(moments)
    centre = moments.x_mean if scaled else np.zeros(d)
    scale = spread if scaled else np.ones(d)
    z = np.ones((block.n, 1 + d))
    np.subtract(block.dense(), centre, out=z[:, 1:])
    z[:, 1:] /= np.where(scale > 0, scale, np.inf)
    w = np.ones(block.n) if block.w is None else block.w
    return StandardDesign(z, w / w.sum(), centre, scale)
