"""Dummy coding and imputation as a linear map from raw terms to the columns of the design.

    numeric:   design = value + (fill − placeholder) · missing
    discrete:  one 0/1 column per level, except the reference level (the most frequent one)

Both are linear in the raw terms (a value, level indicators, missing indicators), so the same map
applies to blocks and to moments. Only regression imputation uses several columns of a row at a
time; it is applied before this map.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from separatrix.rows.block import Block, Matrix
from separatrix.rows.imputation import Imputation
from separatrix.rows.schema import NO_TERMS, Schema, Term, Terms, value_terms


@dataclass(frozen=True)
class TermMap:
    """Linear map of terms: new_j = Σ_i weight_ij · old_i, by its ``entries`` (i, j, weight)."""

    old: Terms
    new: Terms
    entries: tuple[tuple[int, int, float], ...]

    @property
    def is_identity(self) -> bool:
        """Whether the terms are the same, in the same order."""
        return self.old.items == self.new.items and all(
            i == j and weight == 1.0 for i, j, weight in self.entries
        )

    def rows(self, x: Matrix) -> Matrix:
        """Map rows of old terms to rows of new terms; sparse rows stay sparse."""
        if self.is_identity:
            return x
        if sparse.issparse(x):
            mapped = sparse.csr_array(x @ self.matrix)
            mapped.sort_indices()
            return mapped
        out = np.zeros((x.shape[0], len(self.new)), order="F")
        for i, j, weight in self.entries:
            out[:, j] += x[:, i] if weight == 1.0 else weight * x[:, i]
        return out

    @property
    def matrix(self) -> Matrix:
        """The matrix of the map (old terms x new terms), sparse."""
        i, j, weight = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        return sparse.csr_array(
            (np.array(weight, dtype=float), (np.array(i, np.int32), np.array(j, np.int32))),
            shape=(len(self.old), len(self.new)),
        )


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the columns of a design.

    ``is_identity`` says that the raw terms are the design (a numeric matrix). ``fill_values`` holds
    the replacement of a missing value of each numeric column, ``reference_levels`` the level of
    each discrete column that has no dummy. ``notes`` are sentences on columns that were left out.
    """

    schema: Schema
    terms: Terms
    is_identity: bool = False
    targets: Terms = NO_TERMS
    fill_values: dict[str, float] = field(default_factory=dict)
    reference_levels: dict[str, str] = field(default_factory=dict)
    imputation: Imputation | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design by name, in order."""
        return tuple(str(term) for term in self.terms)

    @property
    def n_iter(self) -> int:
        """Iterations of regression imputation (0 without it)."""
        return 0 if self.imputation is None else self.imputation.n_iter

    @property
    def last_change(self) -> float:
        """Change in the last iteration, in standard deviations (0 without imputation)."""
        return 0.0 if self.imputation is None else self.imputation.last_change

    def apply(self, block: Block) -> Block:
        """Encode a raw block as design rows; targets in the order of training."""
        if self.is_identity:
            return block
        if self.imputation is not None:
            block = self.imputation.apply(block)
        x = self.map_from(block.terms).rows(block.x)
        y, targets = block.y, block.targets
        if len(targets) and targets.items != self.targets.items:
            y = self.targets_from(targets).rows(y)
            targets = self.targets
        return replace(block, x=x, y=y, terms=self.terms, targets=targets)

    def map_from(self, raw: Terms) -> TermMap:
        """The linear map from raw terms to the design; a term absent there is zero in every row."""
        placeholder = {column.name: column.placeholder for column in self.schema.columns}
        entries = []
        for j, term in enumerate(self.terms):
            i = raw.position.get(term)
            if i is not None:
                entries.append((i, j, 1.0))
            missing = raw.position.get(Term(term.column, missing=True))
            if missing is not None and term.column in self.fill_values and not term.missing:
                shift = self.fill_values[term.column] - placeholder[term.column]
                entries.append((missing, j, shift))
        return TermMap(raw, self.terms, tuple(entries))

    def targets_from(self, found: Terms) -> TermMap:
        """The map to the targets of training; a class absent from training becomes all zeros."""
        entries = [
            (i, self.targets.position[term], 1.0)
            for i, term in enumerate(found)
            if term in self.targets.position
        ]
        return TermMap(found, self.targets, tuple(entries))


def identity(schema: Schema) -> Encoding:
    """The encoding of a table that is a numeric matrix."""
    return Encoding(schema, value_terms(schema.columns), is_identity=True)
