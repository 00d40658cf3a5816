"""One pass that readies a table for a model: its moments, and how its columns become a design."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.rows.arrays import ArrayRows
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class Prepared:
    """``moments`` and ``rows`` over the design (no gaps, dummies in place) and the ``encoding``."""

    rows: Rows
    moments: Moments
    encoding: Encoding


def prepare(rows: Rows) -> Prepared:
    """Read the rows once; learn the encoding from them; return the moments of the design."""
    assert isinstance(rows, ArrayRows)
    return Prepared(rows, rows.reduce(Moments()), identity(rows.schema))
