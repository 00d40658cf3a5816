"""Basis functions: columns that are functions of the columns, so that straight models bend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from separatrix.estimators.base import RowsEstimator
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.encoding import identity
from separatrix.rows.expansion import exponents_of, name_of
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind, Term
from separatrix.statistics.preparation import prepare

#: What each word stands for, and what may follow it.
WORDS = {
    "linear": "the columns themselves",
    "squares": "x²",
    "products": "x z for every two columns",
    "quadratic": "columns, squares and products: ('polynomial', 2)",
    "polynomial": "products of up to so many factors: ('polynomial', degree)",
    "cosine": "cos(k x): 'cosine', or ('cosine', k, …)",
    "jump": "1 where x < a, else 0: ('jump', a, …)",
}

#: Columns of the result by name, in order, each with how it follows from the rows.
Makers = dict[str, Callable[[Floats], Any]]


class BasisExpansion(TransformerMixin, RowsEstimator):
    """φ(x) = (φ₁(x), …, φₘ(x)): any linear model of φ(x) is a curved model of x.

    A log ratio of two classes that is linear in "linear", "squares" and "products" is the quadratic
    one of two Gaussian classes; many functions and an ℓ₁ penalty leave it to the data which count.

    Parameters
    ----------
    functions : sequence, default=("linear", "squares")
        Words, words with numbers, or functions of your own:
        "linear"; "squares"; "products"; "quadratic"; ("polynomial", degree); "cosine" or
        ("cosine", k, …) for cos(kx); ("jump", a, …) for 1{x < a}; a callable that maps the values
        of one column to as many numbers, or ("name", callable). Each is applied to every column;
        a term that occurs twice is kept once.

    Attributes
    ----------
    term_names_ : such as ``("x", "z", "x^2", "cos(2 x)", "1{z<0.5}", "log1p(x)")``.

    Examples
    --------
    >>> from separatrix import BasisExpansion
    >>> expansion = BasisExpansion(["linear", "squares", ("jump", 2.5)])
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
            self.encoding_ = identity(ArrayRows(x, names=names).schema)
        self.term_names_ = tuple(self._makers(self.encoding_.terms.items))
        return self

    def transform(self, X: Any) -> Floats:
        """φ(x) for every row."""
        x = np.asarray(self._design(X))
        makers = self._makers(self.encoding_.terms.items)
        out = np.empty((len(x), len(makers)), order="F")
        for j, (name, make) in enumerate(makers.items()):
            out[:, j] = _checked(make(x), name, len(x))
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the terms; ``input_features`` renames the columns of a matrix without names."""
        check_is_fitted(self)
        if self.encoding_.is_identity:
            given = _check_feature_names_in(self, input_features)
            return np.array(list(self._makers([Term(str(n)) for n in given])), dtype=object)
        return np.array(self.term_names_, dtype=object)

    def _makers(self, columns: Sequence[Term]) -> Makers:
        made: Makers = {}
        if isinstance(self.functions, str) or not isinstance(self.functions, Iterable):
            raise InputError(
                f"functions={self.functions!r} is no list of functions.",
                remedy="Use a list such as ['linear', 'squares', ('jump', 0.5)].",
            )
        yes_no = {c.name for c in self.encoding_.schema.columns if c.kind is Kind.BOOLEAN}
        for item in self.functions:
            for name, make in _terms_of(item, columns, yes_no).items():
                made.setdefault(name, make)
        if not made:
            raise InputError("functions leave no term.", remedy="Name at least one function.")
        return made


def _terms_of(item: Any, columns: Sequence[Term], yes_no: set[str]) -> Makers:
    """All terms that one entry of ``functions`` asks for."""
    word, *numbers = (item,) if isinstance(item, str) or callable(item) else tuple(item)
    if callable(word):
        return _by_column(f"{getattr(word, '__name__', type(word).__name__)}(", ")", word, columns)
    if len(numbers) == 1 and callable(numbers[0]):
        return _by_column(f"{word}(", ")", numbers[0], columns)
    if word not in WORDS:
        raise InputError(f"There is no function {word!r}.", remedy=did_you_mean(str(word), WORDS))
    usable = all(isinstance(v, int | float | np.number) and np.isfinite(v) for v in numbers)
    if not usable or not _enough(word, numbers):
        raise InputError(f"{item!r} is no function.", remedy=f"{word}: {WORDS[word]}.")
    if word == "cosine":
        waves = [("cos(" if k == 1 else f"cos({k:g} ", k) for k in numbers or [1]]
        return _all(_by_column(name, ")", partial(_cosine, k), columns) for name, k in waves)
    if word == "jump":
        return _all(_by_column("1{", f"<{a:g}}}", partial(_below, a), columns) for a in numbers)
    degree = int(numbers[0]) if numbers else 1 if word == "linear" else 2
    return _powers(word, degree, columns, yes_no)


def _enough(word: str, numbers: Sequence[float]) -> bool:
    """Whether so many numbers may follow a word, and are of the right sort."""
    if word == "polynomial":
        return len(numbers) == 1 and numbers[0] == int(numbers[0]) >= 1
    return word == "cosine" or (word == "jump") == bool(numbers)


def _powers(word: str, degree: int, columns: Sequence[Term], yes_no: set[str]) -> Makers:
    """Products and powers by their exponents; an indicator is its own square and gets none."""
    indicator = [t.level is not None or t.missing or t.column in yes_no for t in columns]
    highest = [1 if one else degree for one in indicator]
    exponents = exponents_of(columns, highest, degree, interaction_only=False)
    if word == "squares":
        exponents = exponents[(exponents == 2).any(axis=1)]
    elif word == "products":
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
) -> Makers:
    """One function of every column, named by what stands before and after the column's name."""
    return {
        f"{before}{column}{after}": partial(_of_column, j, function)
        for j, column in enumerate(columns)
    }


def _of_column(j: int, function: Callable[[Any], Any], x: Floats) -> Any:
    return function(x[:, j])


def _all(parts: Iterable[Makers]) -> Makers:
    return {name: make for part in parts for name, make in part.items()}


def _checked(values: Any, name: str, n: int) -> Floats:
    """What a function returned: one finite number for every row."""
    column = np.asarray(values, dtype=float)
    if column.shape != (n,):
        raise InputError(
            f"{name} gave {column.shape} numbers for {n} rows.",
            remedy="A function takes the values of one column and returns as many.",
        )
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InputError(
            f"{name} is {column[bad[0]]} here.",
            row=int(bad[0]) + 1,
            remedy="Choose a function that is finite for all values of the column.",
        )
    return column
