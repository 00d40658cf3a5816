"""Estimators that need only moments: they fit arrays, streams, merged moments and updates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import LinearModel
from separatrix.estimators.targets import numeric
from separatrix.messages import InputError
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows, column_names
from separatrix.rows.schema import Column, Schema
from separatrix.selection.folds import (
    CV,
    FoldMoments,
    Folds,
    folded,
    folding,
    folds_of,
    warn_of_parted_copies,
)
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare

#: What a fit is solved from: moments, or rows in memory where columns outnumber rows.
Source = Moments | Block
#: Columns up to which a table with fewer rows than columns stores its moments for updates.
MAX_STORED_COLUMNS = 2_000


@dataclass(frozen=True)
class TrainingData:
    """Input of a fit: ``moments`` of the design, its ``rows`` where they can be read again.

    ``block`` holds the rows in memory where they are no more than the columns; the moments are
    None where those are too many. ``halves`` are the training and test moments of every fold, for
    cross-validated models.
    """

    moments: Moments | None
    rows: Rows | None = None
    halves: tuple[FoldMoments, ...] | None = None
    block: Block | None = None

    @classmethod
    def with_folds(cls, rows: Rows, cv: CV) -> tuple[Self, Encoding]:
        """The moments of the rows and of their folds, in one pass."""
        parts = folded(rows, cv)
        return cls(parts.moments, None, tuple(parts.halves)), parts.encoding

    def folds(self, cv: CV) -> Sequence[tuple[Source, Source]]:
        """The training and test side of every fold, as moments or as rows."""
        if self.block is not None:
            rows, folds = self.row_folds(cv)
            return folds.map(lambda a, b: _design_blocks(rows.take(a), rows.take(b)))
        if self.halves is None:
            raise needs_rows()
        return self.halves

    def row_folds(self, cv: CV) -> tuple[InMemory, Folds]:
        """The rows in memory that take part, and their folds; warns where these part copies."""
        rows = self.rows.rows if isinstance(self.rows, EncodedRows) else self.rows
        assert isinstance(rows, InMemory)
        rows = rows.take(folding(rows.block.w, cv))
        folds = folds_of(cv, len(rows), rows.block.y[:, 0])
        warn_of_parted_copies(rows, folds, cv)
        return rows, folds

    @property
    def source(self) -> Source:
        """The moments, or the rows where there are none."""
        found = self.moments if self.moments is not None else self.block
        assert found is not None
        return found


def _design_blocks(train: InMemory, test: InMemory) -> tuple[Block, Block]:
    """The design of training rows, and that of test rows as training encodes them."""
    if isinstance(train, ArrayRows):
        return train.block, test.block
    prepared = prepare(train)
    return prepared.rows.collect(), EncodedRows(test, prepared.encoding).collect()


def needs_rows() -> InputError:
    """The error of cross-validation where only moments are known."""
    return InputError(
        "Cross-validation needs the rows, and only their moments were given.",
        remedy="Use RidgePath or LassoPath, which select by AIC or BIC from moments alone.",
    )


class MomentEstimator(LinearModel):
    """``fit`` takes X and y, Rows, or Moments; the latter unless ``fits_moments`` is False."""

    fits_moments: ClassVar[bool] = True
    moments_: Moments | None
    _rows: Rows | None
    _column_is_vector = False  # whether y of shape (n, 1) counts as a vector, as in scikit-learn
    _column_keeps_intercept = False  # whether the intercept then stays an array, as in scikit-learn
    _keeps_float32 = False  # whether coefficients of single-precision columns are rounded to it

    @abstractmethod
    def _solve(self, data: TrainingData) -> Solution:
        """Solve from the moments, or from rows that are no more than their columns."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments alone."""
        if isinstance(X, Moments):
            return self._fit_moments(X)
        rows = self._training_rows(X, y, sample_weight)
        flat = is_flat(rows, None if self._column_is_vector else y)
        wide = self._read_wide(rows) if isinstance(rows, InMemory) else None
        if wide is not None:
            data, encoding = wide
        else:
            data, encoding = self._read(rows)
            m = data.moments
            if data.rows is not None and m is not None and m.count <= m.d:
                data = replace(data, block=data.rows.collect())
        numeric(data.source.targets)
        self._fit_data(data, encoding, flat=flat)
        if self._column_keeps_intercept and np.asarray(y).ndim == 2 and flat:
            self.intercept_ = np.array([self.intercept_])
        if self._keeps_float32 and getattr(X, "dtype", None) == np.float32:
            self.coef_ = self.coef_.astype(np.float32)  # type: ignore[assignment]
            self.intercept_ = np.asarray(self.intercept_, dtype=np.float32)[()]
        return self

    def _fit_data(self, data: TrainingData, encoding: Encoding, *, flat: bool) -> Self:
        self.moments_, self._rows = data.moments, data.rows
        self._accept(self._solve(data), encoding, flat=flat)
        return self

    def predict(self, X: Any) -> Floats:
        """coef·x + intercept for every row."""
        found = super().predict(X)
        single = getattr(X, "dtype", None) == np.float32 == self.coef_.dtype
        return found.astype(np.float32) if single else found  # type: ignore[return-value]

    def _wide(self, block: Block) -> bool:
        """Whether there are no more rows than columns."""
        return bool(block.n <= block.x.shape[1])

    def _read_wide(self, rows: InMemory) -> tuple[TrainingData, Encoding] | None:
        """The rows themselves, without moments of very many columns; None if there are few."""
        if not self._wide(rows.block):
            return None
        prepared = prepare(rows)
        block = prepared.rows.collect()
        if not self._wide(block):  # indicators of missing values are no columns of the design
            return None
        small = block.x.shape[1] <= MAX_STORED_COLUMNS
        moments = prepared.moments if small else None
        return TrainingData(moments, prepared.rows, block=block), prepared.encoding

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        """One pass over the rows."""
        prepared = prepare(rows)
        return TrainingData(prepared.moments, prepared.rows), prepared.encoding

    def _fit_moments(self, moments: Moments) -> Self:
        numeric(moments.targets)
        names = tuple(str(term) for term in moments.terms)
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if names != column_names(len(names)):  # a bare matrix has no names of its own
            self.feature_names_in_ = np.array(names, dtype=object)
        encoding = identity(Schema(tuple(Column(name) for name in names)))
        return self._fit_data(TrainingData(moments), encoding, flat=len(moments.targets) == 1)

    def with_encoding(self, encoding: Encoding) -> Self:
        """Encode new tables by ``encoding``: for a model fitted to moments of its design."""
        check_is_fitted(self)
        self.encoding_ = encoding
        self.n_features_in_ = len(encoding.schema.names)
        self.feature_names_in_ = np.array(encoding.schema.names, dtype=object)
        return self


class PartialFitMixin:
    """``partial_fit``: the moments of new rows are added to those of earlier calls."""

    moments_: Moments | None
    _rows: Rows | None

    def partial_fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to these rows together with those of all earlier calls."""
        first = not hasattr(self, "coef_")
        rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=first))
        moments = rows.reduce(Moments())
        if not first:
            if self.moments_ is None:
                raise InputError(
                    "The first fit had fewer rows than columns and stored no moments to update.",
                    remedy="Start with partial_fit, or give all rows to fit.",
                )
            moments = self.moments_ + moments
        flat = is_flat(rows, None if self._column_is_vector else y)
        return self._fit_data(TrainingData(moments), identity(rows.schema), flat=flat)


def numeric_rows(rows: Rows) -> ArrayRows:
    """The rows of a ``partial_fit``, which must be numeric."""
    if not isinstance(rows, ArrayRows):
        raise InputError(
            "partial_fit takes numeric X and y.",
            remedy="For tables with categorical columns, merge their moments and fit those.",
        )
    return rows


def is_flat(rows: Rows, y: Any) -> bool:
    """Whether coefficients come as one vector: one target, not given as a matrix."""
    return len(rows.schema.targets) == 1 and (y is None or np.asarray(y).ndim == 1)
