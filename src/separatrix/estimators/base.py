"""Base classes: validation of training and new rows, linear predictions, and kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import getattr_static, isfunction
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.frames import as_matrix, like_training, reads_tables
from separatrix.estimators.targets import refuse_texts
from separatrix.estimators.targets import require_labels as require_labels
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels import Kernel, Precomputed, kernel_from
from separatrix.matrices.products import multiply
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats, Matrix, check_sizes, to_array
from separatrix.rows.block import check_sample_weight as check_sample_weight
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows, column_means, target_names
from separatrix.rows.schema import Term, column_names
from separatrix.rows.sources.frames import (
    is_frame,
    odd_column,
    refuse_infinite,
    refuse_not_finite,
    refuse_odd_column,
)
from separatrix.rows.sources.new_rows import rows_like
from separatrix.statistics.moments import Moments
from separatrix.threads import on_one_blas_thread

#: Methods whose matrix work must not depend on the threads of BLAS: work that is worth several is
#: cut by :func:`separatrix.threads.parallel_map`.
COMPUTING = {
    "fit",
    "partial_fit",
    "fit_predict",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "predictive",
    "predict_interval",
    "sample",
    "sample_posterior",
    "tune",
    "fit_tuned",
}


@contextmanager
def in_words(**given: Any) -> Iterator[None]:
    """Turn failed conversions to numbers into refusals that name the row and column at fault."""
    try:
        yield
    except InputError:
        raise
    except (OverflowError, TypeError, ValueError) as problem:
        for name, values in given.items():
            if values is None:
                continue
            if np.iscomplexobj(values):
                raise InputError(
                    "Complex data not supported.", remedy="Give two real columns for each."
                ) from problem
            place, what = _no_number(values)
            if what:
                raise InputError(
                    f"Input {name} contains {what}.",
                    row=place[0] + 1,
                    column=_column_at(values, place[1]) if len(place) > 1 else None,
                    remedy="Correct it, remove the row, or impute missing values (TableEncoder).",
                ) from problem
        raise


def _no_number(values: Any) -> tuple[tuple[int, ...], str]:
    """The place of the first value that is no finite number, and what it is; "" if none is."""
    try:
        table = np.asarray(to_array(values))
    except ValueError:  # rows of different lengths
        return (), ""
    if table.dtype.kind == "f":
        table = np.where(np.isfinite(table), 0.0, table)
    elif table.dtype.kind != "O":
        return (), ""
    for place, item in np.ndenumerate(table):
        if item is None or type(item).__name__ == "NAType" or (_is_real(item) and item != item):
            return place, "NaN"
        if _is_real(item) and abs(item) > sys.float_info.max:
            return place, "infinity, or a number beyond 1.8e308"
    return (), ""


def _column_at(values: Any, j: int) -> str:
    return str(values.columns[j]) if hasattr(values, "columns") else column_names(j + 1)[j]


def _is_real(item: Any) -> bool:
    return isinstance(item, int | float | np.floating)


def refuse_targets(y: Any, sample_weight: Any) -> None:
    """Refuse targets and weights beside :class:`~separatrix.rows.rows.Rows`."""
    if y is not None or sample_weight is not None:
        raise InputError(
            "Rows carry their own target and weights.",
            remedy="Name them in scan(…, target=…, weight=…) and call fit(rows).",
        )


def validate_data(model: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Rows checked by scikit-learn; what is no finite number is refused by row and column."""
    with in_words(X=X, y=y[0] if y else None):
        try:
            return validation.validate_data(model, X, *y, **options)
        except ValueError:
            finite = options.get("ensure_all_finite", True)
            if finite:
                refuse_not_finite(X, nan=finite == "allow-nan")
            raise


class RowsEstimator(BaseEstimator):
    """An estimator that fits plain ``X, y`` or :class:`~separatrix.rows.rows.Rows`."""

    _sparse_ok = True
    _multi_output = False
    _missing_ok = False  # NaN is a missing value, and the model can handle it
    _any_size = False  # the model computes no squares of numbers, or only of scaled ones
    _checks_sums = False  # the fit finds NaN and infinity in its sums, and calls _refuse_missing
    encoding_: Encoding
    _rows: Rows | None = None  # training rows of the last fit in this process, for leverage

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Every ``fit`` takes data frames of any columns; BLAS has one thread in all methods."""
        super().__init_subclass__(**kwargs)
        if "fit" in vars(cls):
            cls.fit = reads_tables(cls.fit)  # type: ignore[attr-defined]
        for name in COMPUTING:
            method = getattr_static(cls, name, None)  # of the class, or of a mixin
            # not one that is there under a condition only, nor one that is limited already
            if isfunction(method) and not hasattr(method, "limits_blas"):
                setattr(cls, name, on_one_blas_thread(method))

    def _use_of_frames(self) -> str:
        """Data frames are encoded ("encode"), matrices ("matrix"), or passed on ("objects")."""
        return "encode"

    def _training_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        encode_target: Callable[[Any], tuple[Floats, list[Term]]] | None = None,
        reset: bool = True,
    ) -> Rows:
        """Validate the arguments of ``fit``; sets ``n_features_in_`` and ``feature_names_in_``.

        ``encode_target`` turns class labels into numbers (n x k) with a term for each column.
        """
        if isinstance(X, Rows):
            refuse_targets(y, sample_weight)
            if not X.schema.targets:
                raise InputError("The rows have no target.", remedy="Use scan(…, target='column').")
            if not reset and not self.encoding_.is_identity:
                return EncodedRows(rows_like(X, self.encoding_.schema, target=True), self.encoding_)
            self._name_columns(X)
            return X
        if isinstance(X, Moments):
            raise InputError(
                f"{type(self).__name__} needs rows, and moments were given.",
                remedy="Give X and y, or scan(…). Moments suffice to fit LinearRegression, Ridge, "
                "RidgePath, Lasso, ElasticNet and LassoPath; add those of several tables with +.",
            )
        frame = is_frame(X)
        if frame and odd_column(X, nan=self._missing_ok) is not None:
            return self._odd_rows(X, y, sample_weight)
        later = self._checks_sums and sample_weight is None and not sparse.issparse(X)
        if encode_target is None:
            refuse_texts(y)
        if frame:
            refuse_infinite(X)
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr" if self._sparse_ok else False,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if self._missing_ok else not later,
            multi_output=self._multi_output,
            y_numeric=encode_target is None,
        )
        if encode_target is None:
            target, terms = np.asarray(y, dtype=np.float64), None
            columns = target.reshape(len(target), -1)
            check_sizes(columns, target_names(columns.shape[1]), any_size=self._any_size)
        else:
            target, terms = encode_target(y)
        names = getattr(self, "feature_names_in_", None)
        check_sizes(X, names, any_size=self._any_size)
        w = check_sample_weight(sample_weight, X.shape[0])
        return ArrayRows(
            sparse.csr_array(X) if sparse.issparse(X) else X,
            target,
            w,
            names=None if names is None else [str(name) for name in names],
            targets=terms,
            placeholders=column_means(X, w) if frame else None,
        )

    def _odd_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """A frame with columns that are no plain numbers, after or in place of a fit."""
        encoding: Encoding | None = getattr(self, "encoding_", None)
        if encoding is None or encoding.is_identity:
            refuse_odd_column(
                X,
                "portions of a table must be plain numbers",
                "Call fit with the whole table, or encode it first (TableEncoder).",
                nan=self._missing_ok,
            )
        return like_training(self, X, y, sample_weight)

    def _refuse_missing(self, rows: InMemory) -> None:
        """Raise if the rows contain NaN or infinity."""
        refuse_not_finite(rows.block.x)

    def _name_columns(self, rows: Rows) -> None:
        """Set ``n_features_in_`` and, unless the rows are a bare matrix, ``feature_names_in_``."""
        self.n_features_in_ = len(rows.schema.names)
        self.__dict__.pop("feature_names_in_", None)
        if not isinstance(rows, ArrayRows) or rows.has_names:
            self.feature_names_in_ = np.array(rows.schema.names, dtype=object)

    def _design(self, X: Any) -> Matrix:
        """The design matrix of new rows, encoded as the training rows were."""
        check_is_fitted(self)
        encoding: Encoding | None = getattr(self, "encoding_", None)
        if encoding is not None and not encoding.is_identity:
            return encoding.apply(rows_like(X, encoding.schema).collect()).x
        if isinstance(X, Rows):
            x = X.collect().x
            if x.shape[1] != self.n_features_in_:
                raise InputError(
                    f"The rows have {x.shape[1]} columns, but the model was fitted to "
                    f"{self.n_features_in_}."
                )
            return x
        odd = is_frame(X) and odd_column(X, nan=self._missing_ok) is not None
        if odd and encoding is not None and self._use_of_frames() == "encode":
            return as_matrix(X, encoding.schema, named=hasattr(self, "feature_names_in_"))
        refuse_infinite(X)
        return validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if self._sparse_ok else False,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if self._missing_ok else True,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Training rows are not pickled: a model is not a copy of its data."""
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_rows"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse_ok
        tags.input_tags.allow_nan = self._missing_ok
        tags.target_tags.multi_output = self._multi_output
        return tags


class LinearModel(RowsEstimator):
    """A model whose prediction is the affine map x ↦ coef·x + intercept."""

    coef_: Floats
    intercept_: Any
    certificate_: Certificate
    #: Why there are no standard errors; models that have them define ``summary`` themselves.
    _no_inference = (
        "standard errors, t and p values are those of least squares with a numeric target, and "
        "this model minimizes another objective. Use LinearRegression for inference."
    )

    def _accept(self, solution: Solution, encoding: Encoding, *, flat: bool) -> None:
        """Set the fitted attributes in scikit-learn's layout: 1-D for a 1-D target."""
        self.coef_ = solution.coef[:, 0].copy() if flat else solution.coef.T.copy()
        self.intercept_ = solution.intercept[0] if flat else solution.intercept.copy()
        self.certificate_ = solution.certificate
        self.n_iter_: Any = max(1, solution.iterations)
        self.encoding_ = encoding

    @property
    def hyperplane_(self) -> Hyperplane:
        """The fitted hyperplane: signed distances, margins and projections."""
        check_is_fitted(self)
        return Hyperplane(
            np.atleast_2d(to_array(self.coef_)),
            np.atleast_1d(self.intercept_),
            self.encoding_.names,
        )

    def summary(self, *_: Any, **__: Any) -> Any:
        """Raises, with the reason: standard errors are not defined for this model."""
        raise InputError(f"No summary: {self._no_inference}")

    def predict(self, X: Any) -> Floats:
        """coef·x + intercept for every row."""
        return np.asarray(multiply(self._design(X), self.coef_.T) + self.intercept_)


class KernelModel(RowsEstimator):
    """A model with a kernel, given as an object, a function, or one of scikit-learn's names."""

    kernel: Any
    gamma: str | float
    degree: int
    coef0: float
    kernel_: Kernel

    @property
    def _structures(self) -> bool:
        """Whether the kernel compares Python objects: strings, sets, trees, graphs."""
        return isinstance(self.kernel, Kernel) and not self.kernel.of_vectors

    @property
    def _precomputed(self) -> bool:
        """Whether ``X`` is a Gram matrix."""
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return named or isinstance(self.kernel, Precomputed)

    def _use_of_frames(self) -> str:
        """Structures are Python objects, and a Gram matrix is a matrix."""
        if self._structures:
            return "objects"
        return "matrix" if self._precomputed else "encode"

    def _set_kernel(self, x: Any, w: Floats | None = None) -> None:
        """Set ``kernel_``; ``gamma="scale"`` is that of the weighted rows."""
        self.kernel_ = kernel_from(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            x=x,
            sample_weight=w,
        )
        if self.kernel_.without_noise() is not self.kernel_:
            raise InputError(
                f"The kernel of {type(self).__name__} contains white noise, White.",
                remedy="Leave it out: it belongs to Gaussian processes, whose targets are noisy.",
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags
