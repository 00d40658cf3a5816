"""Encoding of a table and moments of its design, in one pass; for each fold of a split, too.

Imputation by a constant and dummy coding are linear in the raw terms, so the encoding is learned
from raw moments and applied to raw moments: a fold is imputed with the means of its training rows
without another pass. Only regression imputation reads the rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.encoding import Encoding, TermMap, identity
from separatrix.rows.imputation import Imputation
from separatrix.rows.mapped import EncodedRows, MappedStatistic, SelectedParts
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms
from separatrix.rows.sources.reader import MAX_LEVELS, no_usable_rows, too_many_levels
from separatrix.statistics.fit_imputation import fit_imputation, observed_fraction, observed_mean
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.means import Means
from separatrix.statistics.moments import Moments

M = TypeVar("M", Moments, Means)

#: Label of the test part.
TEST = -1


#: Columns from which those who need no moments of rows in memory should not pay for them.
MANY_COLUMNS = 100


class Prepared:
    """The design of a table: its rows, the encoding, the targets, and the moments when asked for.

    Parameters
    ----------
    rows, encoding, targets
        The design rows, how they were encoded, and the terms of their targets.
    moments : callable
        The moments of the design: known already, or computed in another pass.
    """

    def __init__(
        self, rows: Rows, encoding: Encoding, targets: Terms, moments: Callable[[], Moments]
    ) -> None:
        self.rows, self.encoding, self.targets = rows, encoding, targets
        self._compute = moments

    @cached_property
    def moments(self) -> Moments:
        """The moments of the design."""
        return self._compute()


def prepare(rows: Rows) -> Prepared:
    """Learn the encoding of a table in one pass over its rows (more for regression).

    The same pass finds the moments of a stream or of few columns. Those of many columns in memory
    are a large matrix, which is computed only if it is asked for.
    """
    if isinstance(rows, ArrayRows):
        targets = rows.block.targets
        return Prepared(rows, identity(rows.schema), targets, partial(rows.reduce, Moments()))
    if isinstance(rows, EncodedRows):
        known = not rows.encoding.is_identity
        targets = rows.encoding.targets if known else rows.reduce(Means()).targets
        return Prepared(rows, rows.encoding, targets, partial(rows.reduce, Moments()))
    schema = rows.schema
    if _many_columns(rows) and schema.missing != "regress":
        encoding = learn_encoding(schema, _some(rows, rows.reduce(Means())))
        moments = partial(_raw_moments, rows, encoding)
        return Prepared(EncodedRows(rows, encoding), encoding, encoding.targets, moments)
    raw = _some(rows, rows.reduce(Moments()))
    if schema.missing == "regress":
        imputation, raw = fit_imputation(rows.reduce, schema, raw)
        encoding = learn_encoding(schema, raw, imputation)
    else:
        encoding = learn_encoding(schema, raw)
    moments = partial(design_moments, encoding, raw)
    return Prepared(EncodedRows(rows, encoding), encoding, encoding.targets, moments)


def _many_columns(rows: Rows) -> bool:
    return isinstance(rows, InMemory) and rows.block.x.shape[1] >= MANY_COLUMNS


def _raw_moments(rows: Rows, encoding: Encoding) -> Moments:
    return design_moments(encoding, rows.reduce(Moments()))


def _some(rows: Rows, raw: M) -> M:
    """A statistic of at least one row."""
    if not raw.count:
        raise no_usable_rows(rows.schema, rows.dropped, None)
    return raw


@dataclass(frozen=True)
class PreparedSplit:
    """Moments of the training rows and of the test rows of a split.

    Both are over the design of ``encoding``, which was learned from the training rows alone.
    """

    encoding: Encoding
    train: Moments
    test: Moments


@dataclass(frozen=True)
class PreparedParts:
    """Raw moments of every part. Part −1 is the test part and is never trained on."""

    rows: Rows
    raw: Grouped[Moments]

    @property
    def folds(self) -> tuple[int, ...]:
        """The labels of the folds."""
        return tuple(sorted(part for part in self.raw.parts if part != TEST))

    def split(self, test: int = TEST) -> PreparedSplit:
        """The split into a test part (a fold, or the test part itself) and all other folds."""
        parts = frozenset(part for part in self.folds if part != test)
        train = Grouped(Moments(), {p: self.raw.parts[p] for p in sorted(parts)}).total()
        left_out = self.raw.parts.get(test, Moments())
        if not train.count:
            raise InputError(
                "a fold leaves no row to train on.", remedy="Use fewer folds or more rows."
            )
        if isinstance(self.rows, ArrayRows):
            return PreparedSplit(identity(self.rows.schema), train, left_out)
        if self.rows.schema.missing != "regress":
            encoding = learn_encoding(self.rows.schema, train)
            return PreparedSplit(
                encoding, design_moments(encoding, train), design_moments(encoding, left_out)
            )
        return self._by_regression(parts, test, train)

    def _by_regression(self, parts: frozenset[int], test: int, raw: Moments) -> PreparedSplit:
        """Imputed values depend on whole rows here, so both parts are read again."""

        def run(statistic: MappedStatistic[Moments]) -> MappedStatistic[Moments]:
            return MappedStatistic(
                self.rows.reduce(MappedStatistic(statistic, SelectedParts(parts))).inner.inner
            )

        schema = self.rows.schema
        imputation, completed = fit_imputation(run, schema, raw)
        encoding = learn_encoding(schema, completed, imputation)
        test_rows = MappedStatistic(Moments(), SelectedParts(frozenset({test})), encoding)
        return PreparedSplit(
            encoding, design_moments(encoding, completed), self.rows.reduce(test_rows).inner
        )


def prepare_parts(rows: Rows) -> PreparedParts:
    """Raw moments of each part, in one pass over rows with parts."""
    raw = rows.reduce(Grouped(Moments()))
    if not any(part.count for part in raw.parts.values()):
        raise no_usable_rows(rows.schema, rows.dropped, None)
    return PreparedParts(rows, raw)


# -- the encoding, from moments ----------------------------------------------------------------


def learn_encoding(
    schema: Schema, raw: Moments | Means, imputation: Imputation | None = None
) -> Encoding:
    """Fill values, levels and reference levels of a table, from its raw (or completed) moments."""
    terms: list[Term] = []
    columns: list[Column] = []
    fill_values: dict[str, float] = {}
    reference_levels: dict[str, str] = {}
    notes: list[str] = []
    for column in schema.columns:
        means = {term: raw.mean[raw.terms.position[term]] for term in _own_terms(column, raw)}
        if not means or not observed_fraction(raw, column.name):
            notes.append(f"Column {column.name!r} is left out: it has no value in any row.")
        elif column.kind is Kind.DISCRETE:
            levels = sorted(str(term.level) for term in means)
            reference = _most_frequent(means)
            if column.pooled in levels:  # a level without a coefficient, as those that come later
                reference = column.pooled
            reference_levels[column.name] = reference
            terms += [Term(column.name, level) for level in levels if level != reference]
            column = replace(column, levels=tuple(sorted({*column.levels, *levels})))
        else:
            mean = observed_mean(raw, Term(column.name), column.placeholder)
            fill_values[column.name] = float(mean > 0.5) if column.kind is Kind.BOOLEAN else mean
            terms.append(Term(column.name))
        if schema.missing == "indicator" and 0 < observed_fraction(raw, column.name) < 1:
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
        targets=schema.ordered(_observed_targets(raw)),
        fill_values={} if imputation is not None else fill_values,
        reference_levels=reference_levels,
        imputation=imputation,
        notes=tuple(notes),
    )


def _own_terms(column: Column, raw: Moments | Means) -> list[Term]:
    """The value of a numeric column, or the levels that occur."""
    if column.kind is not Kind.DISCRETE:
        return [term for term in (Term(column.name),) if term in raw.terms.position]
    levels = [
        term
        for term, mean in zip(raw.terms, raw.x_mean, strict=True)
        if term.column == column.name and term.level is not None and mean > 0
    ]
    if len(levels) > MAX_LEVELS:
        raise too_many_levels(column.name, None)
    return levels


def _most_frequent(means: dict[Term, float]) -> str:
    """The most frequent level; of equally frequent ones the first by name."""
    most = max(means.values())
    return min(str(t.level) for t, mean in means.items() if mean >= most * (1 - 1e-9))


def _observed_targets(raw: Moments | Means) -> list[Term]:
    return [
        term
        for term, mean in zip(raw.targets, raw.y_mean, strict=True)
        if term.level is None or mean > 0
    ]


def design_moments(encoding: Encoding, raw: Moments) -> Moments:
    """Moments of the design from raw moments: μ ↦ Aᵀμ, S ↦ AᵀSA.

    Levels and classes absent from the encoding are zero in the design.
    """
    if encoding.is_identity:
        return raw
    features, targets = encoding.map_from(raw.terms), encoding.targets_from(raw.targets)
    if features.is_identity and targets.is_identity:
        return raw
    return raw.mapped(features.matrix, targets.matrix, features.new, targets.new)


def with_placeholders(moments: Moments, old: Schema, new: Schema) -> Moments:
    """Raw moments restated for a schema with other placeholders, ready to be added."""
    before = {column.name: column.placeholder for column in old.columns}
    entries = [(i, i, 1.0) for i in range(len(moments.terms))]
    for column in new.columns:
        missing = moments.terms.position.get(Term(column.name, missing=True))
        value = moments.terms.position.get(Term(column.name))
        if missing is not None and value is not None and column.placeholder != before[column.name]:
            entries.append((missing, value, column.placeholder - before[column.name]))
    features = TermMap(moments.terms, moments.terms, tuple(entries))
    same = sparse.eye_array(len(moments.targets))
    return moments.mapped(features.matrix, same, moments.terms, moments.targets)
