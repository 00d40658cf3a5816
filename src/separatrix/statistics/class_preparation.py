"""One pass that readies a table for models of classes: the moments of its design, class by class.

Gaps and dummies are linear in the raw terms, so the raw moments of each class become those of its
design without a second look at the rows. Only completion by regression needs further passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from separatrix.rows.arrays import ArrayRows
from separatrix.rows.encoded import EncodedRows
from separatrix.rows.encoding import Encoding
from separatrix.rows.memory import no_rows_left
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.by_class import ByClass
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments, learn_encoding, prepare

_NO_TARGETS = Terms(())


@dataclass(frozen=True)
class PreparedClasses:
    """How columns become the design, and the moments of its ``terms`` for each of the targets."""

    encoding: Encoding
    terms: Terms
    targets: Terms
    parts: dict[Term, Moments]

    def of(self, target: Term) -> Moments:
        """The moments of one class over the whole design; empty if it was not met."""
        return self.parts.get(target, Moments()).aligned(self.terms, _NO_TARGETS)


def prepare_classes(rows: Rows) -> PreparedClasses:
    """Read the rows once (those filled by regression again); learn the encoding from them."""
    if isinstance(rows, ArrayRows | EncodedRows) or rows.schema.missing == "regress":
        prepared = prepare(rows)
        parts = prepared.rows.reduce(ByClass()).parts
        terms, targets = prepared.moments.terms, prepared.moments.targets
        return PreparedClasses(prepared.encoding, terms, targets, parts)
    raw = rows.reduce(ByClass()).parts
    total = reduce(add, raw.values(), Moments())
    if not total.count:
        raise no_rows_left(rows.schema, rows.dropped, None)
    encoding = learn_encoding(rows.schema, _with_shares(total, raw))
    columns = replace(encoding, targets=_NO_TARGETS)  # indicators are constant within a class
    parts = {
        term: design_moments(columns, part.aligned(total.terms, _NO_TARGETS))
        for term, part in raw.items()
    }
    return PreparedClasses(encoding, encoding.terms, encoding.targets, parts)


def _with_shares(total: Moments, parts: dict[Term, Moments]) -> Moments:
    """Moments of all rows with the shares of the classes as means of their indicators."""
    targets = Terms(tuple(parts))
    shares = np.array([part.weight for part in parts.values()]) / total.weight
    p = total.d + len(targets)
    scatter = np.zeros((p, p))
    scatter[: total.d, : total.d] = total.xx
    mean = np.concatenate([total.x_mean, shares])
    return Moments(total.terms, targets, total.count, total.weight, mean, scatter)
