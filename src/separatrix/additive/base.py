"""What additive models of numbers and of classes share: their terms, curves, table and formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import linalg, optimize, stats
from sklearn.utils.validation import check_is_fitted

from separatrix.additive.basis import (
    PAIR_INTERVALS,
    Basis,
    ColumnBasis,
    NaturalCoordinates,
    PairBasis,
    column_bases,
    spline_basis,
)
from separatrix.additive.evidence import RidgeFit
from separatrix.additive.pairs import SIDE, best_pairs
from separatrix.arrays import Floats
from separatrix.estimators.base import RowsEstimator
from separatrix.estimators.inference import p_text
from separatrix.formula import nodes
from separatrix.messages import InputError, did_you_mean
from separatrix.notebook import Grid, Item, Sentence, Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.schema import Encoding
from separatrix.threads import on_one_blas_thread

S = TypeVar("S")
#: Points at which a curve is shown.
CURVE_POINTS = 200


@dataclass(frozen=True, repr=False)
class AdditiveTerm(Shown):
    """A term of an additive model: a curve of one column, or a surface of two.

        f_j(x) = Σ_k c_k B_k(x),      c = T b,      penalty ½ Σ_blocks λ ‖b_block‖²

    Parameters
    ----------
    basis : ColumnBasis or PairBasis
        The functions B_k, and the matrix T of natural coordinates.
    coordinates : ndarray of shape (coordinates, outputs)
        Natural coordinates b; one output, or one for each of several classes.
    penalties : ndarray of shape (blocks, outputs)
        λ of each block; infinite where it is left out.
    covariance : ndarray of shape (outputs, coordinates, coordinates)
        Posterior covariance of the coordinates.
    freedom : ndarray of shape (outputs,)
        Effective degrees of freedom.
    statistics : ndarray of shape (outputs,)
        Wald statistics of the term being zero, in ``ranks`` directions.
    ranks : ndarray of shape (outputs,)
        Rounded degrees of freedom.
    p_values : ndarray of shape (outputs,)
        Approximate p values.
    marks : ndarray
        Values of the column among the training rows.

    See Also
    --------
    AdditiveRegressor : Its ``terms_`` are these.

    References
    ----------
    P. H. C. Eilers and B. D. Marx, Flexible smoothing with B-splines and penalties, Statistical
    Science 11, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.linspace(0.0, 3.0, 60)[:, None]
    >>> term = sx.AdditiveRegressor().fit(x, 2 * x[:, 0]).terms_[0]
    >>> term.name, term.penalties.shape, term.coef.shape
    ('x0', (2, 1), (19, 1))
    """

    basis: Basis
    coordinates: Floats
    penalties: Floats
    covariance: Floats
    freedom: Floats
    statistics: Floats
    ranks: Floats
    p_values: Floats
    marks: Floats

    def __str__(self) -> str:
        if not self.freedom.any():
            return f"{self.name}: left out."
        freedom = ", ".join(f"{f:.2f}" for f in self.freedom)
        p = ", ".join(p_text(value) for value in self.p_values)
        return f"{self.name}: effective degrees of freedom {freedom}; p {p}."

    def __post_init__(self) -> None:
        shape = (transform_of(self.basis).shape[1], len(self.basis.blocks))
        if (len(self.coordinates), len(self.penalties)) != shape:
            raise InputError("coordinates and penalties do not match the functions of the term.")

    @property
    def name(self) -> str:
        """The column, or both."""
        return self.basis.name

    @cached_property
    def coef(self) -> Floats:
        """Coefficients of the functions (functions x outputs)."""
        return np.asarray(transform_of(self.basis) @ self.coordinates)

    def add(self, x: Floats, out: Floats) -> None:
        """Add its values at the rows of a design."""
        if self.coef.any():
            self.basis.add(x, self.coef, out)

    def deviations(self, x: Floats, output: int) -> Floats:
        """Posterior standard deviations of its values."""
        z = self.basis.values(x) @ transform_of(self.basis)
        squares = np.einsum("ij,jk,ik->i", z, self.covariance[output], z, optimize=True)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def transform_of(basis: Basis) -> Floats:
    """Natural coordinates as coefficients, which a fitted basis has."""
    assert basis.transform is not None
    return basis.transform


@dataclass(frozen=True)
class Curve:
    """A term of an additive model at some values of its column, with its intervals.

    The values have mean zero over the training rows. Each point of ``interval`` holds with its
    level by itself, the whole of ``band`` at once; both are Bayesian, of the posterior of the
    coefficients given their penalties.

    Parameters
    ----------
    column : str
        Name of the column.
    x : ndarray of shape (n,) or tuple of str
        Values of the column: numbers, or its levels.
    values : ndarray of shape (n,)
        The curve, in units of the target; of classes in log odds.
    standard_errors : ndarray of shape (n,)
        Posterior standard deviations.
    level : float
        That of the intervals.
    interval, band : ndarray of shape (n, 2)
        Pointwise and simultaneous intervals.
    freedom : float
        Effective degrees of freedom of the term.
    marks : ndarray
        Values of the column among the training rows.

    See Also
    --------
    AdditiveRegressor : Its ``curve`` returns one.
    AdditiveCurveDisplay : Its picture.

    References
    ----------
    J. Sun and C. R. Loader, Simultaneous confidence bands for linear regression and smoothing,
    Annals of Statistics 22, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.linspace(0.0, 3.0, 60)[:, None]
    >>> curve = sx.AdditiveRegressor().fit(x, np.sin(2 * x[:, 0])).curve("x0")
    >>> curve.values.shape, bool((curve.band[:, 0] <= curve.interval[:, 0]).all())
    ((200,), True)
    """

    column: str
    x: Any
    values: Floats
    standard_errors: Floats
    level: float
    interval: Floats
    band: Floats
    freedom: float
    marks: Floats


@dataclass(frozen=True, repr=False)
class AdditiveSummary(Shown):
    """Terms of an additive model: degrees of freedom, and an approximate test of each being zero.

    Parameters
    ----------
    names : tuple of str
        The terms; with several classes the class after it.
    freedom : ndarray
        Effective degrees of freedom; 0 of a term that was left out.
    statistics : ndarray
        Wald statistics of the fitted values of the term, by ``ranks`` degrees of freedom.
    ranks : ndarray
        Rounded degrees of freedom, by which statistics are compared.
    p_values : ndarray
        Approximate p values; 1 of a term that was left out.
    lines : tuple of str
        What else is known of the fit.

    See Also
    --------
    AdditiveRegressor : Its ``summary`` returns one.

    References
    ----------
    S. N. Wood, On p-values for smooth components of an extended generalized additive model,
    Biometrika 100, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.linspace(0.0, 3.0, 60)[:, None]
    >>> summary = sx.AdditiveRegressor().fit(x, np.sin(2 * x[:, 0])).summary()
    >>> summary.names, bool(summary.p_values[0] < 1e-6)
    (('x0',), True)
    """

    names: tuple[str, ...]
    freedom: Floats
    statistics: Floats
    ranks: Floats
    p_values: Floats
    lines: tuple[str, ...] = ()

    def _display(self) -> list[Item]:
        lines = [
            (name, f"{freedom:.2f}", f"{statistic:.5g}", p_text(p))
            if freedom > 0.0
            else (name, "left out", "", "")
            for name, freedom, statistic, p in zip(
                self.names, self.freedom, self.statistics, self.p_values, strict=True
            )
        ]
        table = Grid(("term", "effective d.o.f.", "statistic", "p"), lines)
        return [table, *map(Sentence, self.lines)]


class AdditiveModel(RowsEstimator):
    """A constant, a smooth function of each column, and of pairs of columns."""

    _sparse_ok = False
    n_knots: int
    interactions: Any
    monotone: Any
    max_iter: int
    terms_: tuple[AdditiveTerm, ...]
    certificate_: Certificate

    # -- parameters --------------------------------------------------------------------------------

    def _check_options(self) -> None:
        if int(self.n_knots) != self.n_knots or self.n_knots < 2:
            raise InputError(f"n_knots={self.n_knots!r}.", remedy="Use a whole number from 2.")
        if not self.max_iter >= 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")
        whole = isinstance(self.interactions, int | np.integer) and self.interactions >= 0
        pairs = isinstance(self.interactions, Sequence) and not isinstance(self.interactions, str)
        if not (whole or (pairs and all(_is_pair(pair) for pair in self.interactions))):
            raise InputError(
                f"interactions={self.interactions!r} is neither a number of pairs nor a list.",
                remedy="Give a number, or pairs such as [('age', 'income')].",
            )

    def _bases(self, encoding: Encoding, x: Floats) -> list[ColumnBasis]:
        """One for each column; of monotone ones it is checked that they can be."""
        bases = column_bases(encoding, x, int(self.n_knots))
        signs = self._signs(encoding, bases)
        for basis in bases:
            if basis.name in signs and not basis.is_smooth:
                raise InputError(
                    "has levels, of which none is greater than another.",
                    column=basis.name,
                    remedy="Leave it out of monotone.",
                )
        return bases

    def _signs(self, encoding: Encoding, bases: Sequence[Basis]) -> dict[str, int]:
        """+1 for columns whose curve must not fall, −1 for those whose curve must not rise."""
        if self.monotone is None:
            return {}
        if not isinstance(self.monotone, Mapping):
            raise InputError(
                f"monotone={self.monotone!r} is not a mapping.", remedy="Use {'column': +1}."
            )
        signs = {}
        known = {basis.name for basis in bases}
        for given, sign in self.monotone.items():
            name = _name(given, encoding)
            if sign not in (1, -1):
                raise InputError(
                    f"monotone is {sign!r}.", column=name, remedy="Use +1 (rising) or −1 (falling)."
                )
            if name in known:
                signs[name] = int(sign)
        return signs

    def _with_pairs(
        self, x: Floats, solve: Callable[[Sequence[Basis]], tuple[S, Floats, Floats]]
    ) -> S:
        """The fit of all curves; where pairs are wanted, of curves and surfaces.

        ``solve`` fits given terms, and returns scores and their variances by row.
        """
        bases = self._bases(self.encoding_, x)
        solved, residual, weight = solve(bases)
        if self.interactions and len(bases) > 1:
            pairs = self._pairs(self.encoding_, bases, x, residual, weight)
            if pairs:
                solved, _, _ = solve([*bases, *pairs])
        return solved

    def _pairs(
        self,
        encoding: Encoding,
        bases: Sequence[ColumnBasis],
        x: Floats,
        residual: Floats,
        weight: Floats,
    ) -> list[PairBasis]:
        """Pairs that were asked for, or those that explain most of the residuals."""
        signs = self._signs(encoding, bases)
        by_name = {basis.name: basis for basis in bases}
        if not isinstance(self.interactions, int | np.integer):
            chosen = [tuple(_name(one, encoding) for one in pair) for pair in self.interactions]
        else:
            free = [basis for basis in bases if basis.name not in signs]
            found = best_pairs(free, x, residual, weight, int(self.interactions))
            chosen = [(free[j].name, free[k].name) for j, k in found]
        pairs = []
        for left, right in chosen:
            for name in (left, right):
                if name in signs:
                    raise InputError(
                        "is monotone, and a pair could make it fall.",
                        column=name,
                        remedy="Leave it out of monotone, or out of interactions.",
                    )
            if left == right:
                raise InputError("is paired with itself.", column=left, remedy="Name two columns.")
            if left in by_name and right in by_name:  # a constant column has no products
                pairs.append(_pair(by_name[left], by_name[right], x))
        return pairs

    # -- predictions -------------------------------------------------------------------------------

    @property
    def _outputs(self) -> int:
        """How many functions are added up: one, or one for each of several classes."""
        return int(np.size(self.intercept_))

    intercept_: Any

    def _add_terms(self, x: Floats) -> Floats:
        """Σ of the constant and all terms at the rows of a design (n x outputs)."""
        out = np.empty((len(x), self._outputs))
        out[:] = self.intercept_
        x = np.asarray(x, dtype=np.float64)
        for term in self.terms_:
            term.add(x, out)
        return out

    def _sum_node(self, names: Sequence[str] = ()) -> nodes.Node:
        """The formula of the sum."""
        x = nodes.design_of(self)
        constants = nodes.Constants(x, np.atleast_1d(np.asarray(self.intercept_, dtype=float)))
        parts = [t.basis.node(x, t.coef) for t in self.terms_ if t.coef.any()]
        return nodes.WeightedSum((constants, *parts), np.ones(1 + len(parts)), names=tuple(names))

    # -- curves ------------------------------------------------------------------------------------

    def _term(self, name: str) -> AdditiveTerm:
        check_is_fitted(self, "terms_")
        for term in self.terms_:
            if term.name == name:
                return term
        raise InputError(
            f"There is no term {name!r}.",
            remedy=did_you_mean(name, [term.name for term in self.terms_]),
        )

    def _output(self, label: Any) -> int:
        """The number of an output."""
        if label is not None:
            raise InputError(f"output={label!r}: there is one output only.", remedy="Leave it out.")
        return 0

    @on_one_blas_thread
    def curve(self, column: Any, *, level: float = 0.95, output: Any = None) -> Curve:
        """The function of a column at values over its range, with its intervals.

        ``output`` is the class, where there are several.
        """
        check_is_fitted(self, "terms_")
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        term, k = self._term(_name(column, self.encoding_)), self._output(output)
        basis = term.basis
        if not isinstance(basis, ColumnBasis):
            raise InputError(
                f"{term.name} is a pair.", remedy="Call surface with the names of both columns."
            )
        at, x = _places(basis, self.n_design_columns_)
        values = np.zeros((len(x), self._outputs))
        term.add(x, values)
        errors = term.deviations(x, k)
        z = float(stats.norm.isf((1.0 - level) / 2.0))
        z_all = _simultaneous(basis, term.covariance[k], x, level)
        ends = np.array([-1.0, 1.0])
        return Curve(
            term.name,
            at,
            values[:, k],
            errors,
            level,
            values[:, k, None] + z * errors[:, None] * ends,
            values[:, k, None] + z_all * errors[:, None] * ends,
            float(term.freedom[k]),
            term.marks,
        )

    def curves(self, *, level: float = 0.95, output: Any = None) -> tuple[Curve, ...]:
        """The curves of all columns, pairs left out."""
        check_is_fitted(self, "terms_")
        names = [t.name for t in self.terms_ if isinstance(t.basis, ColumnBasis)]
        return tuple(self.curve(name, level=level, output=output) for name in names)

    @on_one_blas_thread
    def surface(
        self, left: Any, right: Any, *, points: int = 40, output: Any = None
    ) -> tuple[Any, Any, Floats]:
        """The function of a pair of columns beyond their curves: both axes, and values."""
        check_is_fitted(self, "terms_")
        names = (_name(left, self.encoding_), _name(right, self.encoding_))
        term, k = self._term(f"{names[0]} × {names[1]}"), self._output(output)
        assert isinstance(term.basis, PairBasis)
        a, x = _places(term.basis.left, self.n_design_columns_, points)
        b, z = _places(term.basis.right, self.n_design_columns_, points)
        grid = np.repeat(x, len(z), axis=0)
        grid[:, term.basis.right.terms] = np.tile(z[:, term.basis.right.terms], (len(x), 1))
        values = np.zeros((len(grid), self._outputs))
        term.add(grid, values)
        return a, b, values[:, k].reshape(len(x), len(z))

    def summary(self) -> AdditiveSummary:
        """Degrees of freedom of every term, and an approximate test of it being zero."""
        check_is_fitted(self, "terms_")
        names = tuple(self._labelled_terms())
        parts = [(t, k) for t in self.terms_ for k in range(self._outputs)]

        def column(field: str) -> Floats:
            return np.array([getattr(t, field)[k] for t, k in parts])

        return AdditiveSummary(
            names,
            column("freedom"),
            column("statistics"),
            column("ranks"),
            column("p_values"),
            self._summary_lines(),
        )

    def _labelled_terms(self) -> list[str]:
        """Names of all terms, output by output."""
        return [term.name for term in self.terms_]

    def _summary_lines(self) -> tuple[str, ...]:
        return (str(self.certificate_),)


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2


def _name(column: Any, encoding: Encoding) -> str:
    """The name of a column, which may be given by its position."""
    names = [*encoding.schema.names, *encoding.names]
    if isinstance(column, int | np.integer) and 0 <= column < len(encoding.schema.names):
        return encoding.schema.names[int(column)]
    if column not in names:
        remedy = did_you_mean(str(column), names)
        raise InputError(f"There is no column {column!r}.", remedy=remedy)
    return str(column)


def _pair(left: ColumnBasis, right: ColumnBasis, x: Floats) -> PairBasis:
    """The products of two columns, on fewer knots than their curves have."""
    sides = []
    for basis in (left, right):
        coarse = None
        if basis.is_smooth and basis.size > SIDE:
            j = int(basis.terms[0])
            coarse = spline_basis(basis.name, j, x[:, j], PAIR_INTERVALS, few=SIDE)
        sides.append(coarse or basis)
    # Coefficients that one pair of columns may have, where it is asked for.
    if sides[0].size * sides[1].size > 2_500:
        raise InputError(
            f"The pair of {left.name} and {right.name} would have "
            f"{sides[0].size * sides[1].size:,} coefficients.",
            remedy="Leave it out, or pool rare levels first.",
        )
    return PairBasis(*sides)


def _places(basis: ColumnBasis, width: int, points: int = CURVE_POINTS) -> tuple[Any, Floats]:
    """Values of a column over its range, or its levels, and rows of a design that have them."""
    if not basis.is_smooth:
        x = np.zeros((basis.size, width))
        x[np.arange(1, basis.size), basis.terms] = 1.0
        return basis.levels, x
    at = basis.low + basis.width * np.linspace(0.0, 1.0, points)
    x = np.zeros((points, width))
    x[:, basis.terms[0]] = at
    return at, x


# -------------------------------------------------------------------------------------------------
# Inference: the posterior N(b̂, φ A⁻¹) of the coefficients, their penalties taken as known.


def describe_terms(
    coordinates: NaturalCoordinates,
    fits: Sequence[RidgeFit],
    coef: Floats,
    grams: Sequence[Floats],
    noise: float,
    x: Floats,
    residual_freedom: float | None,
) -> tuple[AdditiveTerm, ...]:
    """Terms with the covariance of their coordinates and the tests of their being zero.

    ``fits`` and ``grams`` are those of the outputs, the columns of ``coef``; ``noise`` is φ in
    their units. Statistics are compared with F where ``residual_freedom`` is known.
    """
    terms = []
    for j, basis in enumerate(coordinates.bases):
        here = coordinates.of_term(j)
        columns = [
            _test_term(fit, coef[:, k], gram, here, noise)
            for k, (fit, gram) in enumerate(zip(fits, grams, strict=True))
        ]
        covariance, freedom, statistic, rank = (np.array(c) for c in zip(*columns, strict=True))
        whole = statistic / np.maximum(rank, 1.0)
        if residual_freedom is None:
            p = stats.chi2.sf(statistic, np.maximum(rank, 1.0))
        else:
            p = stats.f.sf(whole, np.maximum(rank, 1.0), max(residual_freedom, 1.0))
        blocks = coordinates.term == j
        penalties = np.column_stack([fit.penalty[blocks] for fit in fits])
        p = np.where(rank > 0.0, p, 1.0)
        marks = _marks(basis, x)
        terms.append(
            AdditiveTerm(
                basis,
                coef[here],
                penalties,
                covariance,
                freedom,
                statistic,
                rank,
                p,
                marks,
            )
        )
    return tuple(terms)


def _test_term(
    fit: RidgeFit, coef: Floats, gram: Floats, here: slice, noise: float
) -> tuple[Floats, float, float, float]:
    """Covariance of the coordinates of a term, its degrees of freedom, the statistic, its rank.

    The statistic is f̂ᵀ V⁻ f̂ of the fitted values f̂ with covariance V, in its r leading directions,
    r being the rounded degrees of freedom.
    """
    size = here.stop - here.start
    covariance = np.zeros((size, size))
    inside = (fit.active >= here.start) & (fit.active < here.stop)
    at = np.flatnonzero(inside)
    if not len(at):
        return covariance, 0.0, 0.0, 0.0
    local = fit.active[at] - here.start
    inverse = fit.covariance[np.ix_(at, at)]
    covariance[np.ix_(local, local)] = noise * inverse
    freedom = float((1.0 - fit.penalty_of_coordinates[fit.active[at]] * np.diag(inverse)).sum())
    rank = max(1.0, round(freedom))
    products = gram[here, here][np.ix_(local, local)]
    values, directions = linalg.eigh(products, check_finite=False)
    root = (directions * np.sqrt(np.maximum(values, 0.0))).T
    spread, axes = linalg.eigh(root @ (noise * inverse) @ root.T, check_finite=False)
    lead = np.argsort(spread)[::-1][: int(rank)]
    along = axes[:, lead].T @ (root @ coef[fit.active[at]])
    known = spread[lead] > 0.0
    statistic = float((along[known] ** 2 / spread[lead][known]).sum())
    return covariance, freedom, statistic, rank


def _marks(basis: Basis, x: Floats) -> Floats:
    """Values of a column among the rows, at most as many as a picture can show."""
    if not (isinstance(basis, ColumnBasis) and basis.is_smooth):
        return np.zeros(0)
    column = np.unique(x[:, basis.terms[0]])
    if len(column) <= CURVE_POINTS:
        return column
    return np.quantile(column, np.linspace(0.0, 1.0, CURVE_POINTS))


def _simultaneous(basis: ColumnBasis, covariance: Floats, x: Floats, level: float) -> float:
    """Standard errors by which a whole curve is left with probability 1 − level.

    The maximum of a smooth normal process over its range exceeds c with probability

        2 (1 − Φ(c)) + κ/π exp(−c²/2)      at most,

    κ being the length of the path of its direction on the unit sphere; of levels it is at most the
    sum over them.
    """
    z = basis.values(x) @ transform_of(basis)
    values, directions = linalg.eigh(covariance, check_finite=False)
    u = z @ (directions * np.sqrt(np.maximum(values, 0.0)))
    length = np.linalg.norm(u, axis=1)
    some = length > 1e-9 * max(float(length.max(initial=0.0)), 1e-300)
    u = u[some] / length[some, None]
    # the sign of a direction does not matter: where a curve crosses zero it is turned
    path = np.minimum(
        np.linalg.norm(np.diff(u, axis=0), axis=1),
        np.linalg.norm(u[1:] + u[:-1], axis=1),
    )
    kappa = float(path.sum()) if basis.is_smooth else 0.0
    count = 1 if basis.is_smooth else max(len(u), 1)

    def beyond(c: float) -> float:
        tail = 2.0 * count * float(stats.norm.sf(c)) + kappa / np.pi * np.exp(-0.5 * c * c)
        return float(tail - (1.0 - level))

    least = float(stats.norm.isf((1.0 - level) / 2.0))
    if beyond(least) <= 0.0:
        return least
    return float(optimize.brentq(beyond, least, 40.0))
