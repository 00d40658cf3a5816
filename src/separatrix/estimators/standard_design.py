"""The standardized design (1, z) of rows in memory, and coefficients back in the table's units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import Standardizer


@dataclass(frozen=True)
class StandardDesign:
    """``z`` (n x (1 + d)) with z = (1, (x − μ)/σ), and weights ``w`` that add up to one.

    Iterative methods behave alike whatever the units once columns have unit variance; a constant
    column is zero and so keeps the coefficient zero.
    """

    z: Floats
    w: Floats
    standardizer: Standardizer

    def unscale(self, b: Floats) -> tuple[Floats, Floats]:
        """(d x k coefficients, k intercepts) of x from those of (1, z), (1 + d) x k."""
        coef, intercept = self.standardizer.unscale(b[1:].T, b[0])
        return coef.T, intercept


def standard_design(
    block: Block, moments: Moments, *, scaled: bool = True, centered: bool = True
) -> StandardDesign:
    """The design of the rows of positive weight; not ``scaled``, columns stay as they are."""
    d = moments.d
    identity = Standardizer(np.zeros(d), np.ones(d))
    standardizer = Standardizer.from_moments(moments) if scaled else identity
    if not centered:
        standardizer = replace(standardizer, mean=np.zeros(d))
    z = np.ones((block.n, 1 + d))
    np.subtract(block.dense(), standardizer.mean, out=z[:, 1:])
    z[:, 1:] *= standardizer.inverse_scale
    w = block.weights
    return StandardDesign(z, w / w.sum(), standardizer)
