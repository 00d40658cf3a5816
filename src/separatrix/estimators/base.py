"""Base classes: validation of training and new rows, linear predictions, and kernels."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from inspect import signature
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, column_or_1d, validation
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.catalogue import DECLARATIONS
from separatrix.estimators.extrapolation import extrapolates
from separatrix.formula import nodes
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels import Kernel, Precomputed, kernel_from
from separatrix.kernels.structures import as_list
from separatrix.matrices.products import multiply
from separatrix.messages import InputError, warn
from separatrix.mixins import BaseEstimator, ClassifierMixin, RegressorMixin
from separatrix.optimize.convex import Certificate, Solution
from separatrix.rows.rows import (
    ArrayRows,
    EncodedRows,
    InMemory,
    Rows,
    column_means,
    target_names,
    training_range,
)
from separatrix.rows.schema import (
    LARGEST,
    LARGEST_DIFFERENCES,
    Block,
    Column,
    Encoding,
    Kind,
    Schema,
    Term,
    Terms,
    all_finite,
    check_sample_weight,
    check_sizes,
    column_names,
    identity,
    is_frame,
    largest_magnitude,
    refuse_beyond,
    sizes_are_safe,
    to_array,
    unit_weights,
)
from separatrix.rows.sources.columns import level_text
from separatrix.rows.sources.frames import (
    as_table,
    items_of,
    odd_column,
    refuse_infinite,
    refuse_not_finite,
    refuse_odd_column,
)
from separatrix.rows.sources.new_rows import rows_like
from separatrix.rows.sources.stream import BatchedRows
from separatrix.selection.folds import (
    CV,
    FoldMoments,
    Folds,
    fold_rows,
    folding,
    folds_of,
    warn_of_parted_copies,
)
from separatrix.statistics.moments import Moments, prepare
from separatrix.threads import memory_budget, on_one_blas_thread, one_blas_thread, thread_limit


class ColumnSums(Protocol):
    """ColumnSums over rows that know the mean squares of the columns."""

    @property
    def mean_squares(self) -> Floats:
        """Σ w x² / Σ w of the columns."""


T = TypeVar("T")


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
    """The place of the first value that is not a finite number, and what it is; "" if none is."""
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
    """Rows checked by scikit-learn; what is not a finite number is refused by row and column."""
    if _converted(model, X, *y, **options):
        if options.get("reset", True):
            model.n_features_in_ = X.shape[1]
            model.__dict__.pop("feature_names_in_", None)
        return (X, *y) if y else X
    with in_words(X=X, y=y[0] if y else None):
        try:
            return validation.validate_data(model, X, *y, **options)
        except ValueError:
            finite = options.get("ensure_all_finite", True)
            if finite:
                refuse_not_finite(X, nan=finite == "allow-nan")
            raise


def _converted(
    model: Any,
    X: Any,
    *y: Any,
    reset: bool = True,
    ensure_all_finite: bool | str = True,
    dtype: Any = None,
    **_: Any,
) -> bool:
    """Whether scikit-learn would hand these arrays over as they are: most of a small fit's time.

    They are a plain matrix of doubles and a vector for its rows, without missing values, and
    new rows are like those of the fit.
    """
    if dtype is not np.float64 or type(X) is not np.ndarray or X.dtype != dtype or X.ndim != 2:
        return False
    if not X.size or (ensure_all_finite and not all_finite(X)):
        return False
    for vector in y:
        if type(vector) is not np.ndarray or vector.dtype.kind not in "biufU":
            return False
        if vector.shape != X.shape[:1] or (
            vector.dtype.kind == "f" and not np.isfinite(vector).all()
        ):
            return False
    known = getattr(model, "n_features_in_", X.shape[1]) == X.shape[1]
    return reset or (known and not hasattr(model, "feature_names_in_"))


class RowsEstimator(BaseEstimator):
    """An estimator that fits plain ``X, y`` or :class:`~separatrix.rows.rows.Rows`.

    Its ``fit`` is decorated by :func:`reads_tables`, and other methods with matrix work by
    :func:`~separatrix.threads.on_one_blas_thread`: work that is worth several threads is cut by
    :func:`~separatrix.threads.parallel_map`.
    """

    _sparse_ok = True
    _multi_output = False
    _missing_ok = False  # NaN is a missing value, and the model can handle it
    _any_size = False  # the model computes no squares of numbers, or only of scaled ones
    _any_new_size = False  # its answers stay finite however large the numbers of new rows are
    _checks_sums = False  # the fit finds values that are not finite, or too large, by _checked_sums
    encoding_: Encoding
    classes_: NDArray[Any]  # of a classifier, sorted
    _rows: Rows | None = None  # training rows of the last fit in this process, for leverage
    _ranged: Rows | None = None  # those whose ranges were not needed so far

    @property
    def _learns(self) -> str:
        """What its targets are: "classes", "numbers", or "" for none."""
        if isinstance(self, ClassifierMixin):
            return "classes"
        return "numbers" if isinstance(self, RegressorMixin) else ""

    def _use_of_frames(self) -> str:
        """Data frames are encoded ("encode"), matrices ("matrix"), or passed on ("objects")."""
        return "encode"

    @cached_property
    def training_range_(self) -> Floats | None:
        """The least and the greatest value of every column among the training rows.

        NaN for columns without values; of a column of levels, whether its level is missing. None
        after a fit to moments, or to a table beyond memory.
        """
        check_is_fitted(self)
        return None if self._ranged is None else training_range(self._ranged)

    extrapolates = extrapolates

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
        rows = self._valid_rows(X, y, sample_weight, encode_target, reset=reset)
        self._keep_range(rows, reset=reset)
        return rows

    def _keep_range(self, rows: Rows, *, reset: bool) -> None:
        """Keep the ranges of training rows; where sums check them, only when they are needed.

        So are those of sparse rows, whose entries take longer to compare than to sum.
        """
        begun = not reset and hasattr(self, "training_range_")
        before = self.training_range_ if begun else None
        self.__dict__.pop("training_range_", None)
        self._ranged = None
        if reset and isinstance(rows, ArrayRows):
            x = rows.block.x
            if sparse.issparse(x) or self._found_by_sums(x, rows.block.w):
                self._ranged = rows
                return
        ranges = training_range(rows) if before is not None or not begun else None
        if before is not None and ranges is not None:
            low, high = zip(before, ranges, strict=True)
            ranges = np.vstack([np.fmin(*low), np.fmax(*high)])
        self.training_range_ = ranges

    def _valid_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        encode_target: Callable[[Any], tuple[Floats, list[Term]]] | None = None,
        *,
        reset: bool,
    ) -> Rows:
        """The checked rows; nothing is kept of them."""
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
                remedy="Give X and y, or scan(…). Moments suffice to fit "
                f"{', '.join(name for name, other in DECLARATIONS.items() if other.moments)}; add "
                "those of several tables with +.",
            )
        frame = is_frame(X)
        if frame and odd_column(X, nan=self._missing_ok) is not None:
            return self._odd_rows(X, y, sample_weight)
        if encode_target is None:
            refuse_texts(y)
        if frame:
            refuse_infinite(X)
        given = X
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr" if self._sparse_ok else False,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if self._missing_ok else False,
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
        w = check_sample_weight(sample_weight, X.shape[0])
        if not self._found_by_sums(X, w):
            self._check_numbers(X, given)
        return ArrayRows(
            sparse.csr_array(X) if sparse.issparse(X) else X,
            target,
            w,
            names=None if names is None else [str(name) for name in names],
            targets=terms,
            placeholders=column_means(X, w) if frame else None,
        )

    def _odd_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """A frame with columns that are not plain numbers, after or in place of a fit."""
        encoding: Encoding | None = getattr(self, "encoding_", None)
        if encoding is None or encoding.is_identity:
            refuse_odd_column(
                X,
                "portions of a table must be plain numbers",
                "Call fit with the whole table, or encode it first (TableEncoder).",
                nan=self._missing_ok,
            )
        return like_training(self, X, y, sample_weight)

    def _check_numbers(self, x: Matrix, given: Any = None) -> None:
        """Refuse NaN, infinity, and sizes whose squares are neither; ``given`` knows its names."""
        names = getattr(self, "feature_names_in_", None)
        if not check_sizes(x, names, any_size=self._any_size) and not self._missing_ok:
            refuse_not_finite(x if given is None else given)
            refuse_not_finite(x)

    def _found_by_sums(self, x: Matrix, w: Floats | None) -> bool:
        """Whether the sums of the fit show numbers to refuse, so that no pass is made for them."""
        return self._checks_sums and w is None and isinstance(x, np.ndarray)

    def _checked_sums(
        self, rows: Rows, compute: Callable[[], T], sums: Callable[[T], ColumnSums | None]
    ) -> T:
        """What ``compute`` finds; the rows are looked at where its ``sums`` are not safe."""
        if not isinstance(rows, ArrayRows):
            return compute()
        x, w = rows.block.x, rows.block.w
        try:
            result = compute()
        except InputError:
            self._check_numbers(x)
            raise
        total = sums(result)
        if total and self._found_by_sums(x, w) and not sizes_are_safe(total.mean_squares, len(x)):
            self._check_numbers(x)
        return result

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
        x = self._encode(X, encoding)
        values = x.data if sparse.issparse(x) else x
        most = LARGEST_DIFFERENCES if self._any_size else LARGEST
        most = sys.float_info.max if self._any_new_size else most
        if values.size and not largest_magnitude(values) <= most:  # NaN is not
            refuse_not_finite(x if isinstance(X, Rows) else X, nan=self._missing_ok)
            refuse_beyond(most, x, None if encoding is None else encoding.names)
        return x

    def _encode(self, X: Any, encoding: Encoding | None) -> Matrix:
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
        frame = is_frame(X)
        odd = frame and odd_column(X, nan=self._missing_ok) is not None
        if odd and encoding is not None and self._use_of_frames() == "encode":
            return as_matrix(X, encoding.schema, named=hasattr(self, "feature_names_in_"))
        if frame:
            refuse_infinite(X)
        return validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if self._sparse_ok else False,
            dtype=np.float64,
            ensure_all_finite=False,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Training rows are not pickled: a model is not a copy of its data."""
        if self._ranged is not None:
            self.training_range_  # noqa: B018 - what is kept of them
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key not in ("_rows", "_ranged")}

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

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """coef·x + intercept for every row."""
        return np.asarray(multiply(self._design(X), self.coef_.T) + self.intercept_)

    def formula(self) -> nodes.Formula:
        """coef·x + intercept."""
        mean, flat = nodes.hyperplanes(self), np.ndim(self.coef_) == 1
        return nodes.regression(mean, self, flat=flat, count=mean.matrix.shape[1])


class KernelModel(RowsEstimator):
    """A model with a kernel, given as an object, a function, or one of scikit-learn's names."""

    kernel: Any
    gamma: str | float
    degree: Any
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

    def _chosen_kernel(self, x: Any, w: Floats | None) -> Kernel:
        return kernel_from(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            x=x,
            sample_weight=w,
        )

    def _set_kernel(self, x: Any, w: Floats | None = None) -> None:
        """Set ``kernel_``; ``gamma="scale"`` is that of the weighted rows."""
        self.kernel_ = self._chosen_kernel(x, w)
        if self.kernel_.without_noise() is not self.kernel_:
            raise InputError(
                f"The kernel of {type(self).__name__} contains white noise, White.",
                remedy="Leave it out: it belongs to Gaussian processes, whose targets are noisy.",
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


# -------------------------------------------------------------------------------------------------
# What ``fit`` of a kernel machine of numbers was given: rows of any source, or Python objects.


def rows_or_items(
    model: RowsEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Floats, Floats]:
    """All rows (n x d) or objects, targets (n x k) and weights; sets the encoding of the rows."""
    if getattr(model, "_structures", False):
        require_labels(model, y)
        for name in ("feature_names_in_", "encoding_"):
            model.__dict__.pop(name, None)
        model.n_features_in_ = 1  # one object for each row
        y = check_array(y, ensure_2d=False, dtype=np.float64)
        check_consistent_length(X, y)
        w = check_sample_weight(sample_weight, len(y))
        return as_list(X), y.reshape(len(y), -1), unit_weights(w, len(y))
    rows = model._training_rows(X, y, sample_weight)
    if isinstance(rows, ArrayRows):
        block, model.encoding_ = rows.block, identity(rows.schema)
    else:
        prepared = prepare(rows)
        block, model.encoding_ = prepared.rows.collect(), prepared.encoding
    numeric(block.targets)
    return block.x, block.y, block.weights


# -------------------------------------------------------------------------------------------------
# Data frames in place of a matrix: columns of text, levels, dates and missing values are encoded.
#
# A frame of plain numbers stays a matrix. Any other is read as :func:`separatrix.scan` reads it,
# and the model is fitted to the same ``Rows``; new rows are encoded as those were.


Fit = TypeVar("Fit", bound=Callable[..., Any])


def reads_tables(fit: Fit) -> Fit:
    """``fit`` that takes data frames of any columns too, and whole numbers of tables as classes.

    An ``n_jobs`` of the estimator limits the threads of everything within; BLAS has one, so that
    results do not depend on their number.
    """
    parameters = signature(fit)

    @wraps(fit)
    def fit_table(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        with one_blas_thread(), thread_limit(getattr(self, "n_jobs", None)):
            return fit_any(self, X, *args, **kwargs)

    def fit_any(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(X, Rows):
            refuse_too_many(self, X)
            is_class = self._learns == "classes"
            return fit(self, with_classes(X) if is_class else X, *args, **kwargs)
        if is_frame(X) and getattr(self, "_structures", False):
            return fit(self, items_of(X), *args, **kwargs)
        if not is_frame(X) or not _has_encoding(self, X):
            return fit(self, X, *args, **kwargs)
        given = parameters.bind(self, X, *args, **kwargs)
        y, weight = (given.arguments.pop(name, None) for name in ("y", "sample_weight"))
        given.arguments["X"] = training_rows(self, X, y, weight)
        return fit(*given.args, **given.kwargs)

    return cast(Fit, fit_table)


def refuse_too_many(model: Any, rows: Rows) -> None:
    """Refuse a stream that the fit would have to read whole, and that is too large for that."""
    declared = DECLARATIONS.get(type(model).__name__)
    if declared is None or declared.streams(model) or not isinstance(rows, BatchedRows):
        return
    columns = len(rows.schema.by_name)
    by_memory = memory_budget() / (8.0 * columns)
    most = min(declared.most_rows, by_memory)
    about = rows.about_rows()
    if about is not None and about <= most / 2:  # sizes are judged by files: right within twice
        return
    if about is not None and about >= 8 * most:  # far more than files of text could mislead
        size = f"about {float(f'{about:.1g}'):,.0f}"
    else:
        n = rows.count_rows()
        if n <= most:
            return
        size = f"{n:,}"
    why = "compares rows with each other" if most < by_memory else "needs all rows in memory"
    instead = f"Use {declared.beyond}, or fit a sample" if declared.beyond else "Fit a sample"
    limit = "" if most < by_memory else " SEPARATRIX_MEMORY=megabytes raises the limit."
    raise InputError(
        f"{declared.name} {why}: it takes {most:,.0f} rows of a stream, and this one has {size}.",
        remedy=f"{instead}: rows.sample({min(int(most), 10_000):_d}).{limit}",
    )


def _has_encoding(model: Any, X: Any) -> bool:
    """Whether the columns of a frame are encoded: some are not plain numbers, and the model can."""
    use = model._use_of_frames()
    if use == "encode":
        return odd_column(X, nan=model._missing_ok) is not None
    if use == "matrix":
        refuse_odd_column(
            X,
            "a precomputed matrix holds one number for each pair of rows",
            "Compute kernel or distances from the frame first, or let the model do so.",
        )
    return False


def training_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """A frame, its targets and weights as the Rows that :func:`separatrix.scan` makes of it."""
    from separatrix.rows.scan import scan

    rows = scan(X)
    if rows.left_out:
        warn("SEP013", " ".join(rows.left_out))
    return with_target(model, rows.read(), y, sample_weight)


def with_target(model: Any, rows: InMemory, y: Any, sample_weight: Any) -> Rows:
    """Rows with the targets and weights that were given beside them."""
    block = replace(rows.block, w=check_sample_weight(sample_weight, len(rows)))
    if not model._learns:
        return InMemory(rows.schema, block)
    require_labels(model, y)
    check_consistent_length(np.empty((len(rows), 0)), y)
    values, columns, terms = _classes(y) if model._learns == "classes" else _numbers(model, y)
    names = _explain_unused([c.name for c in columns], rows.schema)
    columns = tuple(replace(c, name=names[c.name]) for c in columns)
    terms = tuple(replace(t, column=names[t.column]) for t in terms)
    block = replace(block, y=values, targets=Terms(terms))
    return InMemory(replace(rows.schema, targets=columns), block)


Target = tuple[Floats, tuple[Column, ...], tuple[Term, ...]]


def _classes(y: Any) -> Target:
    """Labels as an indicator for each class."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise InputError(
            "Several labels for each row, and a frame with columns that are not plain numbers.",
            remedy="Encode the frame first: make_pipeline(TableEncoder(), model).",
        )
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_labels(labels)
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    levels = tuple(str(label) for label in classes.tolist())
    column = Column("y", Kind.DISCRETE, levels, display=label_type(classes))
    return indicators(codes, len(classes)), (column,), tuple(Term("y", level) for level in levels)


def _numbers(model: Any, y: Any) -> Target:
    """Numbers as they are: one column, or several where the model predicts several."""
    refuse_texts(y)
    if not model._multi_output:
        y = column_or_1d(y, warn=True)
    values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    values = values.reshape(len(values), -1)
    names = target_names(values.shape[1])
    return values, tuple(Column(name) for name in names), tuple(Term(name) for name in names)


def _explain_unused(names: list[str], schema: Schema) -> dict[str, str]:
    """Names of the targets that no column has."""
    taken = set(schema.names)
    reasons = {}
    for name in names:
        other = name
        while other in taken:
            other += "_"
        reasons[name] = other
    return reasons


def as_matrix(X: Any, schema: Schema, *, named: bool) -> Any:
    """New rows of a frame for a model of plain numbers; missing ones become those of training.

    Columns are matched by name, or by position where training had no names (``named``).
    """
    names = dict(zip(schema.names, schema.names, strict=True))
    if not named:
        table = as_table(X)
        if table.num_columns != len(schema.names):
            raise InputError(
                f"X has {table.num_columns} features, but training had {len(schema.names)}."
            )
        names = dict(zip(schema.names, table.column_names, strict=True))
        X = table.rename_columns(list(schema.names))
    block = rows_like(X, schema).collect()
    missing = next((term.column for term in block.terms if term.missing), None)
    if missing is not None and not any(column.placeholder for column in schema.columns):
        raise InputError(
            "has missing values, and the model was fitted to a matrix without any.",
            column=names[missing],
            remedy="Fit it to a data frame too, or impute them first (TableEncoder).",
        )
    at = [block.terms.position[Term(name)] for name in schema.names]
    return block.x[:, at]


def like_training(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """A frame and targets under the encoding of the fitted model."""
    block = rows_like(X, model.encoding_.schema).collect()
    rows = with_target(model, InMemory(model.encoding_.schema, block), y, sample_weight)
    return EncodedRows(rows, model.encoding_)


# -------------------------------------------------------------------------------------------------
# Checks of targets: one number, several numbers, or classes; labels as integer codes.


def numeric(targets: Iterable[Term]) -> None:
    """Raise if the target holds classes."""
    column = next((term.column for term in targets if term.level is not None), None)
    if column is not None:
        raise InputError(
            "the target holds classes, and this model predicts numbers.",
            column=column,
            remedy="Use a classifier, or read it as a number with scan(…, kinds={…: 'numeric'}).",
        )


def refuse_texts(y: Any) -> None:
    """Raise if targets in memory are texts, which this model cannot predict."""
    values = np.asarray(y) if hasattr(y, "dtype") or isinstance(y, (list, tuple)) else None
    if values is None or values.dtype.kind not in "OU" or values.ndim != 1:
        return
    row = next((i for i, value in enumerate(values.tolist()) if isinstance(value, str)), None)
    if row is None or _is_number(values[row]):
        return
    raise InputError(
        f"The target is {values[row]!r}, and this model predicts numbers.",
        row=row + 1,
        column=getattr(y, "name", None),
        remedy="Use a classifier, or give numbers.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def one_number(targets: Iterable[Term]) -> None:
    """Raise unless the target is one numeric column."""
    terms = tuple(targets)
    numeric(terms)
    if len(terms) != 1:
        raise InputError(
            f"This model predicts one number per row, but there are {len(terms)} targets: "
            f"{', '.join(map(str, terms))}.",
            remedy="Fit each target by itself.",
        )


def classes(targets: Iterable[Term]) -> tuple[str, ...]:
    """The levels of a target that holds classes."""
    terms = tuple(targets)
    columns = {term.column for term in terms}
    if len(columns) != 1 or any(term.level is None for term in terms):
        names = ", ".join(sorted(columns))
        raise InputError(
            "a classifier needs one target that holds classes, and this one holds numbers.",
            column=names,
            remedy="Read it as classes: scan(…, kinds={…: 'discrete'}).",
        )
    return tuple(str(term.level) for term in terms)


def codes_of(labels: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the known classes; −1 for any other."""
    position = {label: k for k, label in enumerate(known.tolist())}
    classes, inverse = np.unique(np.asarray(labels), return_inverse=True)
    codes = np.array([position.get(label, -1) for label in classes.tolist()], dtype=np.int64)
    return np.asarray(codes[inverse])


def require_labels(model: object, y: Any) -> None:
    """Refuse to fit without targets, in the words of scikit-learn."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )


def with_every_class(p: Any, known: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Probabilities of the ``known`` classes with a column for each of ``classes``; zero if new."""
    probabilities: Floats = np.asarray(p, dtype=float)
    at = codes_of(known, classes)
    if np.array_equal(at, np.arange(len(classes))):
        return probabilities
    whole = np.zeros((len(probabilities), len(classes)))
    whole[:, at[at >= 0]] = probabilities[:, at >= 0]
    return whole


def known_codes(labels: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among the classes of the training rows; others are refused."""
    codes = codes_of(labels, known)
    if (codes < 0).any():
        unknown = np.asarray(labels)[codes < 0].tolist()[0]
        raise InputError(
            f"Class {unknown!r} was not among the training rows.",
            remedy="Leave such rows out, or train on rows of this class too.",
        )
    return codes


def label_array(labels: Any) -> NDArray[Any]:
    """Labels of any kind as an array; objects that cannot be sorted are refused."""
    array = np.asarray(labels)
    if array.dtype == object:
        check_labels(array)
    return array


def check_labels(labels: NDArray[Any]) -> None:
    """Refuse missing labels, texts mixed with numbers, and numbers that are not classes."""
    if labels.dtype.kind in "iub":  # integers are always class labels
        return
    if labels.dtype == object:
        refuse_missing_labels(labels)
        items = labels.ravel().tolist()
        if len({isinstance(item, str) for item in items}) > 1:
            raise InputError(
                "The labels mix texts with other values.", remedy="Make all of them texts."
            )
    check_classification_targets(labels)


def refuse_missing_labels(labels: Any) -> None:
    """Refuse None, NaN and pandas' NA among labels that are objects."""
    kind = getattr(labels, "dtype", None)
    if kind is None or (isinstance(kind, np.dtype) and kind.kind != "O"):
        return
    lacking = [i for i, item in enumerate(np.ravel(labels).tolist()) if _is_missing(item)]
    if lacking:
        raise InputError(
            "the label is missing.",
            row=lacking[0] + 1,
            remedy=f"Remove such rows ({len(lacking)}) first.",
        )


def _is_missing(item: Any) -> bool:
    """Whether a label is None, NaN or pandas' NA, whose comparisons have no truth value."""
    try:
        return item is None or bool(item != item)
    except TypeError:
        return True


# -------------------------------------------------------------------------------------------------
# Classes of tables: whole numbers in the target as classes, and labels in their own type.


def label_type(labels: NDArray[Any]) -> str:
    """The type of labels, as :attr:`Column.display` of the target; empty for text."""
    return {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}.get(
        labels.dtype.kind, ""
    )


def labels_in_order(column: Column, levels: Sequence[str]) -> NDArray[Any]:
    """The labels that the levels of a target stand for."""
    if column.display == "integer":
        return np.array([int(level) for level in levels])
    if column.display == "number":
        return np.array([float(level) for level in levels])
    if column.display == "boolean":
        return np.array([level == "True" for level in levels])
    return np.array(levels, dtype=object)


def class_labels(column: Column, levels: Sequence[str]) -> NDArray[Any]:
    """The labels that the levels of a target stand for, sorted."""
    return np.sort(labels_in_order(column, levels))


def with_classes(rows: Rows) -> Rows:
    """Rows whose one numeric target holds classes: whole numbers. Others are returned as is."""
    targets = rows.schema.targets
    if len(targets) != 1 or targets[0].kind is not Kind.NUMERIC or targets[0].display:
        return rows
    if not isinstance(rows, InMemory | BatchedRows) or not _whole(rows):
        return rows
    target = Column(targets[0].name, Kind.DISCRETE, display="integer")
    schema = replace(rows.schema, targets=(target,))
    if isinstance(rows, BatchedRows):
        return rows.under(schema, rows.notes)
    classes, codes = np.unique(rows.block.y[:, 0], return_inverse=True)
    terms = tuple(Term(target.name, level_text(value)) for value in classes.tolist())
    copy = rows.take(slice(None))
    copy.schema = replace(
        schema, targets=(replace(target, levels=tuple(str(t.level) for t in terms)),)
    )
    copy.block = replace(rows.block, y=indicators(codes, len(classes)), targets=Terms(terms))
    return copy


def indicators(codes: NDArray[Any], classes: int) -> Floats:
    """One 0/1 column for each class."""
    hot = np.zeros((len(codes), classes), order="F")
    hot[np.arange(len(codes)), np.ravel(codes)] = 1.0
    return hot


def _whole(rows: Rows) -> bool:
    """Whether the target of the first rows holds few distinct whole numbers."""
    y = next(iter(rows.blocks())).y[:, 0]
    whole = bool(len(y)) and bool((y == np.floor(y)).all())
    return whole and len(np.unique(y)) <= 1_000  # more distinct numbers than this are not classes


# -------------------------------------------------------------------------------------------------
# Estimators that need only moments: they fit arrays, streams, merged moments and updates.


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
        parts = fold_rows(rows, cv)
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
        moments = self.moments if self.moments is not None else self.block
        assert moments is not None
        return moments


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
    _checks_sums = True
    _rows: Rows | None
    _column_is_vector = False  # whether y of shape (n, 1) counts as a vector, as in scikit-learn
    _column_keeps_intercept = False  # whether the intercept then stays an array, as in scikit-learn
    _keeps_float32 = False  # whether coefficients of single-precision columns are rounded to it

    @cached_property
    def moments_(self) -> Moments | None:
        """Moments of the training rows; computed when asked for, if the fit needed none.

        None where columns are many, and after the rows are gone.
        """
        check_is_fitted(self, "coef_")
        few = self._rows is not None and len(self.encoding_.terms) <= MAX_STORED_COLUMNS
        return self._rows.reduce(Moments()) if few and self._rows is not None else None

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "coef_"):
            self.moments_  # noqa: B018 - an update after loading adds to them
        return super().__getstate__()

    @abstractmethod
    def _solve(self, data: TrainingData) -> Solution:
        """Solve from the moments, or from the rows themselves."""

    @reads_tables
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
            data, encoding = self._checked_sums(
                rows, lambda: self._read(rows), lambda read: read[0].moments
            )
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
        self.__dict__.pop("moments_", None)
        if data.moments is not None:
            self.moments_ = data.moments
        self._rows = data.rows
        self._accept(self._solve(data), encoding, flat=flat)
        return self

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """coef·x + intercept for every row."""
        predictions = super().predict(X)
        single = getattr(X, "dtype", None) == np.float32 == self.coef_.dtype
        return predictions.astype(np.float32) if single else predictions  # type: ignore[return-value]

    def _found_by_sums(self, x: Matrix, w: Floats | None) -> bool:
        return super()._found_by_sums(x, w) and x.shape[0] > x.shape[1]

    def _wide(self, block: Block) -> bool:
        """Whether there are no more rows than columns."""
        return bool(block.n <= block.x.shape[1])

    def _read_wide(self, rows: InMemory) -> tuple[TrainingData, Encoding] | None:
        """The rows themselves, without moments; None where the fit is solved from moments."""
        if not self._wide(rows.block):
            return None
        prepared = prepare(rows)
        block = prepared.rows.collect()
        if not self._wide(block):  # indicators of missing values are not columns of the design
            return None
        return TrainingData(None, prepared.rows, block=block), prepared.encoding

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


@on_one_blas_thread
def partial_fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Fit to these rows together with those of all earlier calls: their moments are added."""
    first = not hasattr(self, "coef_")
    rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=first))
    moments = self._checked_sums(rows, lambda: rows.reduce(Moments()), lambda sums: sums)
    if not first:
        if self.moments_ is None:
            raise InputError(
                "The first fit had too many columns to store their moments for an update.",
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


# -------------------------------------------------------------------------------------------------
# Single precision in, single precision out, as in scikit-learn.


def number_type(x: Any) -> Any:
    """Single precision for arrays, sparse matrices and frames of it, else double."""
    types = getattr(x, "dtypes", None)
    types = [getattr(x, "dtype", None)] if types is None else list(types)
    single = bool(types) and all(isinstance(t, np.dtype) and t == np.float32 for t in types)
    return np.float32 if single else np.float64
