"""``TableEncoder``: tables as matrices of numbers, in pipelines of any library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from separatrix.arrays import Matrix
from separatrix.estimators.base import RowsEstimator, reads_tables, validate_data
from separatrix.formula import nodes
from separatrix.formula.inputs import inputs_of
from separatrix.mixins import TransformerMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.scan import scan
from separatrix.rows.schema import Encoding, Term, column_names, is_frame, to_array
from separatrix.rows.sources.new_rows import rows_like
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread


@declare_parameters
class TableEncoder(TransformerMixin, RowsEstimator):
    """Encode a table as numbers and impute its missing values, as :func:`separatrix.scan` does.

        numeric column    its value, missing ones imputed
        discrete column   one 0/1 column for each level but the most frequent one

    Dates become days, truth values 0 and 1, and texts that are written as numbers become numbers.
    The estimators of this library encode data frames by themselves, in the same way; this is the
    same encoding for a pipeline, in front of models of any library.

    Parameters
    ----------
    missing : {"mean", "drop", "regress", "indicator"}, default="mean"
        Policy for missing values: impute the mean or the most frequent level; learn these from
        complete rows alone; impute by regression on the other columns; or impute the mean and
        add an indicator column. ``transform`` never drops a row.
    unseen : {"missing", "zeros", "error"}, default="missing"
        Policy for a level that training did not have: impute it as a missing value or encode it as
        zeros, with a warning (SEP005); or refuse it.
    kinds : mapping of str to {"numeric", "boolean", "discrete", "ignore"}, default=None
        Kinds of columns by name, where the kind inferred from the type is not the right one.
        Columns of an array are called ``x0``, ``x1`` …

    Attributes
    ----------
    encoding_ : Encoding
        Levels, fill values and reference levels by column.
    notes_ : tuple of str
        One sentence for everything that was inferred, and for each column that was left out.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they have any.

    See Also
    --------
    scan : Reads tables of any size, for the estimators of this library.
    Standardize : Also divides by standard deviations.

    Examples
    --------
    >>> import pandas as pd
    >>> import separatrix as sx
    >>> table = pd.DataFrame({"town": ["a", "b", "b", None], "area": [50.0, None, 80.0, 65.0]})
    >>> encoder = sx.TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['town=a', 'area'], dtype=object)
    >>> encoder.transform(table)
    array([[ 1., 50.],
           [ 0., 65.],
           [ 0., 80.],
           [ 0., 65.]])
    """

    _missing_ok = True
    encoding_: Encoding = field(init=False)

    missing: str = "mean"
    _: KW_ONLY
    unseen: str = "missing"
    kinds: Mapping[str, str] | None = None

    def _use_of_frames(self) -> str:
        """Frames are read by the options of this encoder."""
        return "objects"

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn levels and fill values of ``X`` (a table, a matrix or Rows); ``y`` is not used."""
        if isinstance(X, Rows):
            self._name_columns(X)
            rows = X
        else:
            table = self._table(X, reset=True)
            rows = scan(table, missing=self.missing, unseen=self.unseen, kinds=self.kinds)
        self.encoding_ = prepare(rows).encoding
        self.notes_ = tuple(map(str, (*rows.notes, *self.encoding_.notes)))
        return self

    def _table(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is; a matrix as columns with names."""
        if is_frame(X):
            if reset:
                validate_data(self, X, skip_check_array=True)
            return X
        x = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
        if sparse.issparse(x):
            x = to_array(x)
        x = _plain_objects(x)
        names = getattr(self, "feature_names_in_", column_names(x.shape[1]))
        return {str(name): x[:, j] for j, name in enumerate(names)}

    @on_one_blas_thread
    def transform(self, X: Any) -> Matrix:
        """The numbers of every row: dense, or sparse where there are many levels."""
        check_is_fitted(self)
        rows = X if isinstance(X, Rows) else self._table(X, reset=False)
        x = self.encoding_.apply(rows_like(rows, self.encoding_.schema).collect()).x
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        return x if wanted == "default" else to_array(x)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the numbers: columns, ``column=level`` and ``column missing``."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        own = getattr(self, "feature_names_in_", column_names(self.n_features_in_))
        names = dict(zip(map(str, own), map(str, given), strict=True))
        terms = (Term(names[t.column], t.level, t.missing) for t in self.encoding_.terms)
        return np.array([str(term) for term in terms], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def transform_formula(self) -> nodes.Node:
        """The numbers of a table."""
        return nodes.EncodedColumns(inputs_of(self), self.transform, is_table=True)


def _plain_objects(x: Any) -> Any:
    """Refuse values that are neither numbers nor text, as scikit-learn does; pandas' NA is None."""
    if x.dtype.kind != "O":
        return x
    plain = x.copy()
    for (i, j), value in np.ndenumerate(x):
        if type(value).__name__ == "NAType":
            plain[i, j] = None
        elif value is not None and not isinstance(value, str | int | float | np.generic):
            what = type(value).__name__
            where = f"row {i + 1}, column {j + 1}"
            raise TypeError(f"{where}: argument must be a string or a number, not {what}.")
    return plain
