"""The rows to group, and the plane in which they are drawn.

two columns           the plane is theirs, in their units
principal directions  of all columns of numbers, standardized: groups are found in all of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.cluster.scatter import cluster_projection
from separatrix.exploration.session import Session
from separatrix.exploration.state import State
from separatrix.exploration.views.groups.rings import rings
from separatrix.messages import InputError
from separatrix.pictures.clusters.projection import ClusterProjectionDisplay
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.standardizer import Standardizer


@dataclass(frozen=True)
class Cloud:
    """Rows ``x`` (n × d), the same as methods see them (``z``), and what draws them."""

    x: Floats
    z: Floats
    numbers: Ints
    axes: tuple[str, str]
    python: tuple[str, ...]
    standardizer: Standardizer | None = None
    directions: Floats | None = None
    share: float = 1.0

    @property
    def places(self) -> Floats:
        """Where the rows are drawn (n × 2)."""
        return self.x if self.directions is None else self.z @ self.directions

    @property
    def scale(self) -> Floats:
        """By how much distances in the plane of two columns are divided."""
        return np.ones(2) if self.standardizer is None else self.standardizer.scale

    def project(self, z: Floats) -> Floats:
        """Where centers are drawn."""
        return self.raw(z) if self.directions is None else z @ self.directions

    def lift(self, places: Floats) -> Floats:
        """Centers of a place of the plane, as methods see them."""
        if self.directions is not None:
            return np.asarray(places @ self.directions.T)
        return places if self.standardizer is None else self.standardizer.transform(places)

    def raw(self, z: Floats) -> Floats:
        """Rows or centers in the units of the table."""
        return z if self.standardizer is None else self.standardizer.inverse_transform(z)


def cloud(session: Session, state: State) -> Cloud:
    """The rows that the state names."""
    key = [state.values.get(name) for name in ("data", "plane", "x", "y", "standardize")]
    return session.once(("cloud", repr(key)), lambda: _cloud(session, state))


def _cloud(session: Session, state: State) -> Cloud:
    if state.choice("data", ["table", "rings"]) == "rings":
        x = rings()
        text = ("from separatrix.exploration.views.groups.rings import rings", "", "X = rings()")
        return Cloud(x, x, np.arange(len(x)), ("across", "up"), text)
    table = session.table
    principal = state.choice("plane", ["principal", "columns"]) == "principal"
    names = list(table.numbers)
    if not names:
        raise InputError(
            "groups need a column of numbers that vary.", remedy="Choose another view."
        )
    if not principal:
        names = [state.choice("x", names), state.choice("y", names, names[-1])]
    rows = table.complete(names)
    if len(rows) < 3:
        raise InputError(f"only {len(rows)} rows have no missing value in {', '.join(names)}.")
    x = table.matrix(names)[rows]
    lines = (
        "from separatrix.exploration import read_table",
        "",
        f"table = {table.source}",
        f"names = {names!r}",
        "X = table.matrix(names)[table.complete(names)]",
    )
    if not principal and not state.flag("standardize", True):
        return Cloud(x, x, rows, (names[0], names[1]), lines)
    standardizer = Standardizer.from_rows(x, np.ones(len(x)))
    z = standardizer.transform(x)
    if not principal:
        return Cloud(x, z, rows, (names[0], names[1]), lines, standardizer)
    codes = np.zeros(len(z), dtype=np.int64)  # one cluster: the plane of largest scatter
    plane = cluster_projection(z, codes)
    display = ClusterProjectionDisplay(plane, codes, ["all"], names)
    first, second = (f"direction {i + 1}: {', '.join(display.main_columns(i))}" for i in (0, 1))
    return Cloud(x, z, rows, (first, second), lines, standardizer, plane.directions, plane.total)
