"""Basis expansion: functions of the columns as columns of a linear model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from separatrix.estimators.base import RowsEstimator, validate_data
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats
from separatrix.rows.encoding import identity
from separatrix.rows.expansion import exponents_of, name_of
from separatrix.rows.rows import ArrayRows, Rows, column_means
from separatrix.rows.schema import Kind, Term
from separatrix.rows.sources.frames import is_frame
from separatrix.statistics.preparation import prepare

#: What each name stands for, and what may follow it.
FUNCTIONS = {
    "linear": "the columns themselves",
    "squares": "x²",
    "products": "x z for every two columns",
    "quadratic": "columns, squares and products: ('polynomial', 2)",
    "polynomial": "monomials up to a degree: ('polynomial', degree)",
    "cosine": "cos(k x): 'cosine', or ('cosine', k, …)",
    "jump": "1 where x < a, else 0: ('jump', a, …)",
}

#: Functions of the rows by the names of the columns they give, in order.
BasisFunctions = dict[str, Callable[[Floats], Any]]


class BasisExpansion(TransformerMixin, RowsEstimator):
    """Basis expansion: any linear model of φ(x) is a nonlinear model of x.

        φ(x) = (φ₁(x), …, φₘ(x))

    Parameters
    ----------
    functions : sequence, default=("linear", "squares")
        Names, names with numbers, or functions of your own:
        "linear"; "squares"; "products"; "quadratic"; ("polynomial", degree); "cosine" or
        ("cosine", k, …) for cos(kx); ("jump", a, …) for 1{x < a}; a callable that maps the values
        of one column to as many numbers, or ("name", callable). Each is applied to every column;
        a term that occurs twice is used once.

    Attributes
    ----------
    term_names_ : tuple of str
        Names of the terms, such as ``("x", "z", "x^2", "cos(2 x)", "1{z<0.5}", "log1p(x)")``.
    encoding_ : Encoding
        The columns that were read.

    See Also
    --------
    PolynomialRegression : Polynomials with a well-conditioned basis.
    Lasso : Selects among many terms.

    Notes
    -----
    "linear", "squares" and "products" together give the quadratic log ratio of two Gaussian
    classes; many functions with an ℓ₁ penalty leave the selection to the data.

    Examples
    --------
    >>> import separatrix as sx
    >>> expansion = sx.BasisExpansion(["linear", "squares", ("jump", 2.5)])
    >>> expansion.fit_transform([[2.0], [3.0]])
    array([[2., 4., 1.],
           [3., 9., 0.]])
    >>> expansion.get_feature_names_out()
    array(['x0', 'x0^2', '1{x0<2.5}'], dtype=object)
    """

    _sparse_ok = False

    def __init__(self, functions: Sequence[Any] = ("linear", "squares")) -> None:
        self.functions = functions

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Read the names of the columns of ``X`` (a matrix or Rows); ``y`` is not used."""
        if isinstance(X, Rows):
            self._name_columns(X)
            self.encoding_ = prepare(X).encoding
        else:
            x = validate_data(self, X, dtype=np.float64)
            names = getattr(self, "feature_names_in_", None)
            means = column_means(x, None) if is_frame(X) else None
            self.encoding_ = identity(ArrayRows(x, names=names, placeholders=means).schema)
        self.term_names_ = tuple(self._functions(self.encoding_.terms.items))
        return self

    def transform(self, X: Any) -> Floats:
        """φ(x) for every row."""
        x = np.asarray(self._design(X))
        functions = self._functions(self.encoding_.terms.items)
        out = np.empty((len(x), len(functions)), order="F")
        for j, (name, function) in enumerate(functions.items()):
            out[:, j] = _checked(function(x), name, len(x))
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the terms; ``input_features`` renames the columns of a matrix without names."""
        check_is_fitted(self)
        if self.encoding_.is_identity:
            given = _check_feature_names_in(self, input_features)
            return np.array(list(self._functions([Term(str(n)) for n in given])), dtype=object)
        return np.array(self.term_names_, dtype=object)

    def _functions(self, columns: Sequence[Term]) -> BasisFunctions:
        found: BasisFunctions = {}
        if isinstance(self.functions, str) or not isinstance(self.functions, Iterable):
            raise InputError(
                f"functions={self.functions!r} is not a list of functions.",
                remedy="Use a list such as ['linear', 'squares', ('jump', 0.5)].",
            )
        boolean = {c.name for c in self.encoding_.schema.columns if c.kind is Kind.BOOLEAN}
        for item in self.functions:
            for name, function in _terms_of(item, columns, boolean).items():
                found.setdefault(name, function)
        if not found:
            raise InputError("functions give no term.", remedy="Name at least one function.")
        return found


def _terms_of(item: Any, columns: Sequence[Term], boolean: set[str]) -> BasisFunctions:
    """The terms of one entry of ``functions``."""
    kind, *numbers = (item,) if isinstance(item, str) or callable(item) else tuple(item)
    if callable(kind):
        return _by_column(f"{getattr(kind, '__name__', type(kind).__name__)}(", ")", kind, columns)
    if len(numbers) == 1 and callable(numbers[0]):
        return _by_column(f"{kind}(", ")", numbers[0], columns)
    if kind not in FUNCTIONS:
        raise InputError(
            f"There is no function {kind!r}.", remedy=did_you_mean(str(kind), FUNCTIONS)
        )
    usable = all(isinstance(v, int | float | np.number) and np.isfinite(v) for v in numbers)
    if not usable or not _enough(kind, numbers):
        raise InputError(f"{item!r} is not a function.", remedy=f"{kind}: {FUNCTIONS[kind]}.")
    if kind == "cosine":
        waves = [("cos(" if k == 1 else f"cos({k:g} ", k) for k in numbers or [1]]
        return _all(_by_column(name, ")", partial(_cosine, k), columns) for name, k in waves)
    if kind == "jump":
        return _all(_by_column("1{", f"<{a:g}}}", partial(_below, a), columns) for a in numbers)
    degree = int(numbers[0]) if numbers else 1 if kind == "linear" else 2
    return _powers(kind, degree, columns, boolean)


def _enough(kind: str, numbers: Sequence[float]) -> bool:
    """Whether the numbers after a name are as many as it takes, and of the right kind."""
    if kind == "polynomial":
        return len(numbers) == 1 and numbers[0] == int(numbers[0]) >= 1
    return kind == "cosine" or (kind == "jump") == bool(numbers)


def _powers(kind: str, degree: int, columns: Sequence[Term], boolean: set[str]) -> BasisFunctions:
    """Products and powers by their exponents; an indicator is its own square and gets none."""
    indicator = [t.level is not None or t.missing or t.column in boolean for t in columns]
    highest = [1 if one else degree for one in indicator]
    exponents = exponents_of(columns, highest, degree, interaction_only=False)
    if kind == "squares":
        exponents = exponents[(exponents == 2).any(axis=1)]
    elif kind == "products":
        exponents = exponents[(exponents > 0).sum(axis=1) == 2]
    return {name_of(e, columns): partial(_product, np.flatnonzero(e), e) for e in exponents}


def _product(used: NDArray[np.int64], exponent: NDArray[np.int64], x: Floats) -> Floats:
    return np.asarray(np.prod(x[:, used] ** exponent[used], axis=1))


def _cosine(k: float, column: Floats) -> Floats:
    return np.asarray(np.cos(k * column))


def _below(a: float, column: Floats) -> Floats:
    return np.asarray(column < a, dtype=float)


def _by_column(
    before: str, after: str, function: Callable[[Any], Any], columns: Sequence[Term]
) -> BasisFunctions:
    """One function of every column, named by what stands before and after the column's name."""
    return {
        f"{before}{column}{after}": partial(_of_column, j, function)
        for j, column in enumerate(columns)
    }


def _of_column(j: int, function: Callable[[Any], Any], x: Floats) -> Any:
    return function(x[:, j])


def _all(parts: Iterable[BasisFunctions]) -> BasisFunctions:
    return {name: function for part in parts for name, function in part.items()}


def _checked(values: Any, name: str, n: int) -> Floats:
    """Check what a function returned: one finite number for every row."""
    column = np.asarray(values, dtype=float)
    if column.shape != (n,):
        raise InputError(
            f"{name} gave {column.shape} numbers for {n} rows.",
            remedy="A function takes the values of one column and returns as many.",
        )
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InputError(
            f"{name} is {column[bad[0]]}.",
            row=int(bad[0]) + 1,
            remedy="Choose a function that is finite for all values of the column.",
        )
    return column
