"""One pass that readies a table for a model: its moments, and how its columns become a design.

Gaps and dummies are linear in the raw terms, so the encoding is learned from raw moments and
applied to raw moments: a fold is imputed with the means of its training rows without reading any
row again. Only completion by regression needs further passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.encoded import EncodedRows, OnlyParts, Through
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.imputation import Imputation
from separatrix.rows.memory import no_rows_left
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Column, Kind, Schema, Term
from separatrix.rows.sources.reader import MOST_LEVELS, too_many_levels
from separatrix.rows.term_map import TermMap
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.imputation import (
    impute_by_regression,
    observed_mean,
    observed_share,
)
from separatrix.statistics.moments import Moments

#: Part number of the test part.
TEST = -1


@dataclass(frozen=True)
class Prepared:
    """``moments`` and ``rows`` over the design (no gaps, dummies in place) and the ``encoding``."""

    rows: Rows
    moments: Moments
    encoding: Encoding


def prepare(rows: Rows) -> Prepared:
    """Read the rows once; learn the encoding from them; return the moments of the design."""
    raw = rows.reduce(Moments())
    if isinstance(rows, ArrayRows):
        return Prepared(rows, raw, identity(rows.schema))
    if isinstance(rows, EncodedRows):
        return Prepared(rows, raw, rows.encoding)
    if not raw.count:
        raise no_rows_left(rows.schema, rows.dropped, None)
    if rows.schema.missing == "regress":
        completion, raw = impute_by_regression(rows.reduce, rows.schema, raw)
        encoding = learn_encoding(rows.schema, raw, completion)
    else:
        encoding = learn_encoding(rows.schema, raw)
    return Prepared(EncodedRows(rows, encoding), design_moments(encoding, raw), encoding)


@dataclass(frozen=True)
class PreparedPart:
    """The two sides of a split: ``moments`` of the training rows, ``left`` those of the others.

    Both are over the design of ``encoding``, which was learned from the training rows alone.
    """

    encoding: Encoding
    moments: Moments
    left: Moments


@dataclass(frozen=True)
class PartsPrepared:
    """Raw moments of every part, from one pass. Part −1 is the test part and never trains."""

    rows: Rows
    raw: Grouped[Moments]

    @property
    def folds(self) -> tuple[int, ...]:
        """The training parts."""
        return tuple(sorted(part for part in self.raw.parts if part != TEST))

    def training(self, without: int | None = None) -> PreparedPart:
        """Train on all folds but one and leave that one; with None, leave the test part."""
        held = TEST if without is None else without
        parts = frozenset(part for part in self.folds if part != held)
        inner = Grouped(Moments(), {p: self.raw.parts[p] for p in sorted(parts)}).total()
        left = self.raw.parts.get(held, Moments())
        if not inner.count:
            raise InputError(
                "a fold leaves no row to train on.", remedy="Use fewer folds or more rows."
            )
        if isinstance(self.rows, ArrayRows):
            return PreparedPart(identity(self.rows.schema), inner, left)
        if self.rows.schema.missing != "regress":
            encoding = learn_encoding(self.rows.schema, inner)
            return PreparedPart(
                encoding, design_moments(encoding, inner), design_moments(encoding, left)
            )
        return self._by_regression(parts, held, inner)

    def _by_regression(self, parts: frozenset[int], held: int, raw: Moments) -> PreparedPart:
        """Fills depend on whole rows here, so both sides are read again."""

        def run(statistic: Through[Moments]) -> Through[Moments]:
            return Through(self.rows.reduce(Through(statistic, OnlyParts(parts))).inner.inner)

        schema = self.rows.schema
        completion, completed = impute_by_regression(run, schema, raw)
        encoding = learn_encoding(schema, completed, completion)
        chosen = Through(Moments(), OnlyParts(frozenset({held})), encoding)
        return PreparedPart(
            encoding, design_moments(encoding, completed), self.rows.reduce(chosen).inner
        )


def prepare_parts(rows: Rows) -> PartsPrepared:
    """One pass over rows that carry parts: raw moments of each part."""
    raw = rows.reduce(Grouped(Moments()))
    if not any(part.count for part in raw.parts.values()):
        raise no_rows_left(rows.schema, rows.dropped, None)
    return PartsPrepared(rows, raw)


# -- the encoding, from moments ----------------------------------------------------------------


def learn_encoding(schema: Schema, raw: Moments, completion: Imputation | None = None) -> Encoding:
    """Fills, levels and references of a table, from its raw (or completed) moments."""
    terms: list[Term] = []
    columns: list[Column] = []
    fills: dict[str, float] = {}
    references: dict[str, str] = {}
    notes: list[str] = []
    for column in schema.columns:
        share = {level: raw.mean[raw.terms.position[level]] for level in _own_terms(column, raw)}
        if not share or not observed_share(raw, column.name):
            notes.append(f"Column {column.name!r} is left out: it has no value in any row.")
        elif column.kind is Kind.DISCRETE:
            met = sorted(str(term.level) for term in share)
            references[column.name] = reference = _reference(share)
            terms += [Term(column.name, level) for level in met if level != reference]
            column = replace(column, levels=tuple(sorted({*column.levels, *met})))
        else:
            mean = observed_mean(raw, Term(column.name), column.origin)
            fills[column.name] = float(mean > 0.5) if column.kind is Kind.BOOLEAN else mean
            terms.append(Term(column.name))
        if schema.missing == "indicator" and 0 < observed_share(raw, column.name) < 1:
            terms.append(Term(column.name, missing=True))
        columns.append(column)
    if not terms:
        raise InputError(
            "no column can be used: each has one level only, or no values.",
            remedy="Give more columns.",
        )
    return Encoding(
        schema=replace(schema, columns=tuple(columns)),
        terms=schema.ordered(terms),
        targets=schema.ordered(_met_targets(raw)),
        fills={} if completion is not None else fills,
        references=references,
        completion=completion,
        notes=tuple(notes),
    )


def _own_terms(column: Column, raw: Moments) -> list[Term]:
    """The value of a numeric column, or the levels that were met."""
    if column.kind is not Kind.DISCRETE:
        return [term for term in (Term(column.name),) if term in raw.terms.position]
    met = [
        term
        for term, mean in zip(raw.terms, raw.x_mean, strict=True)
        if term.column == column.name and term.level is not None and mean > 0
    ]
    if len(met) > MOST_LEVELS:
        raise too_many_levels(column.name, None)
    return met


def _reference(share: dict[Term, float]) -> str:
    """The most frequent level; of equally frequent ones the first by name."""
    most = max(share.values())
    return min(str(t.level) for t, mean in share.items() if mean >= most * (1 - 1e-9))


def _met_targets(raw: Moments) -> list[Term]:
    return [
        term
        for term, mean in zip(raw.targets, raw.y_mean, strict=True)
        if term.level is None or mean > 0
    ]


def design_moments(encoding: Encoding, raw: Moments) -> Moments:
    """Moments of the design from raw moments: μ ↦ Aᵀμ, S ↦ AᵀSA. No row is read.

    Levels and classes that the encoding does not know are zero in the design.
    """
    if encoding.plain:
        return raw
    features, targets = encoding.map_from(raw.terms), encoding.targets_from(raw.targets)
    if features.trivial and targets.trivial:
        return raw
    return _mapped(raw, features, targets)


def _mapped(raw: Moments, features: TermMap, targets: TermMap) -> Moments:
    a = sparse.block_diag([features.sparse, targets.sparse], format="csr")
    half = a.T @ raw.scatter
    scatter = a.T @ half.T
    return Moments(
        features.new, targets.new, raw.count, raw.weight, a.T @ raw.mean, (scatter + scatter.T) / 2
    )


def with_origins(moments: Moments, old: Schema, new: Schema) -> Moments:
    """Raw moments restated for a schema with other stand-ins for gaps, ready to be added."""
    there = {column.name: column.origin for column in old.columns}
    entries = [(i, i, 1.0) for i in range(len(moments.terms))]
    for column in new.columns:
        gap = moments.terms.position.get(Term(column.name, missing=True))
        value = moments.terms.position.get(Term(column.name))
        if gap is not None and value is not None and column.origin != there[column.name]:
            entries.append((gap, value, column.origin - there[column.name]))
    features = TermMap(moments.terms, moments.terms, tuple(entries))
    same = tuple((i, i, 1.0) for i in range(len(moments.targets)))
    targets = TermMap(moments.targets, moments.targets, same)
    return moments if features.trivial else _mapped(moments, features, targets)
