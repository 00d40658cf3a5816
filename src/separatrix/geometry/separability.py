"""Linear separability of classes, and the nearest points of two convex hulls.

The public functions read the data, call the proof below or Wolfe's algorithm
(:mod:`~separatrix.geometry.convex_hulls`), and return results with certificates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.geometry import convex_hulls
from separatrix.geometry.convex_hulls import combinations as convex_combinations
from separatrix.geometry.convex_hulls import common_point, nearest_points
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.kernels.base import squared_norms
from separatrix.messages import InputError
from separatrix.notebook import Item, Sentence, Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.rows import Rows
from separatrix.rows.schema import column_names, to_array
from separatrix.statistics.moments import prepare

# -------------------------------------------------------------------------------------------------
# Proof that two classes are linearly separable, or that they are not.
#
#     separable:      w·a + t > 0 > w·b + t            for all rows a and b
#     not separable:  Σ λ a = Σ μ b,  λ, μ ≥ 0,  Σλ = Σμ = 1
#
# By the separation theorem exactly one of the two exists, whatever the units, so columns are scaled
# to one range first. A hyperplane is accepted only if every row is strictly on its side: where
# rounding leaves it open, scores are computed in exact rational arithmetic. So hulls that merely
# touch are never called separable. A common point is a convex combination of at most d + 2 rows
# (Carathéodory). It is accepted if its weights are so far above zero that no rounding could make
# one negative, or after an exact linear program over the rows that decide; in many columns, up to
# rounding errors, and said to be so.
#
# Up to 1 000 columns the nearest points of the hulls are found first, with the
# hyperplane of maximum margin; in more columns, often sparse ones, least squares on violated rows.


#: Largest difference of the two convex combinations of a common point, over the column's range.
AGREEMENT = 1e-9
#: Multiplications that a proof may cost; beyond, the answer is that there is none.
MAX_WORK = 1e10


@dataclass(frozen=True)
class SeparatingHyperplane:
    """w·x + t ≥ 1 for the rows of a and ≤ −1 for those of b; ``margin`` is 1/‖w‖."""

    coef: Floats
    intercept: float
    margin: float


@dataclass(frozen=True)
class Undecided:
    """Neither was found within the work allowed; the hulls are at most ``distance`` apart.

    The distance is a fraction of the size of the rows, every column scaled to the same range.
    """

    distance: float
    work: float

    def refusal(self) -> InputError:
        """For callers that need an answer."""
        return InputError(
            f"Whether the classes are separable was not decided in {self.work:.1g} multiplications "
            f"(their hulls are at most {self.distance:.1e} of their size apart).",
            remedy="Use a finite C, or fewer columns.",
        )


def separation_proof(
    a: Matrix, b: Matrix, *, max_work: float = MAX_WORK
) -> SeparatingHyperplane | convex_hulls.CommonPoint | Undecided:
    """A separating hyperplane or a common point of two sets of rows (dense or CSR)."""
    center, half_range = convex_hulls.midrange_and_half_range(a, b)
    scale = np.where(half_range > 0.0, half_range, 1.0)
    scaled_a, scaled_b = _transform(a, center, scale), _transform(b, center, scale)
    if a.shape[1] > 1_000:
        tolerance, budget = AGREEMENT / 10.0, max_work / 2.0
        least = minimize_squared_hinge(scaled_a, scaled_b, tolerance=tolerance, budget=budget)
        proof = _by_least_squares(a, b, scaled_a, scaled_b, scale, least)
        if proof is not None:
            return _in_units(proof, center, scale)
        max_work -= least.work
    nearest = nearest_points(scaled_a, scaled_b, max_work=max_work)
    with np.errstate(over="ignore", under="ignore"):
        separated = _separating_hyperplane(a, b, nearest.normal / scale)
    if separated is not None:
        return separated
    if nearest.work >= max_work:
        return Undecided(nearest.distance / nearest.scale, max_work)
    common = common_point(scaled_a, scaled_b, nearest)
    # Columns up to which close calls are decided by an exact linear program.
    if not common.proved and a.shape[1] <= 20:
        return _exact_proof(a, b, common)
    return _in_units(_agreeing(common, nearest), center, scale)


def _in_units(
    proof: SeparatingHyperplane | convex_hulls.CommonPoint, center: Floats | float, scale: Floats
) -> SeparatingHyperplane | convex_hulls.CommonPoint:
    if isinstance(proof, SeparatingHyperplane):
        return proof
    return replace(proof, point=center + scale * proof.point)


def _agreeing(
    common: convex_hulls.CommonPoint, nearest_points: convex_hulls.NearestPoints
) -> convex_hulls.CommonPoint:
    """The common point, or a refusal where its combinations do not agree."""
    if common.disagreement > AGREEMENT:
        raise InputError(
            "Whether the classes are separable is beyond floating-point numbers here: their hulls "
            f"are {nearest_points.distance / nearest_points.scale:.1e} of their size apart, but "
            "no hyperplane written in floats in these units passes between them.",
            remedy="Subtract a constant from columns that are large but vary little.",
        )
    return common


def _by_least_squares(
    a: Matrix,
    b: Matrix,
    scaled_a: Matrix,
    scaled_b: Matrix,
    scale: Floats,
    hinge_minimum: HingeMinimum,
) -> SeparatingHyperplane | convex_hulls.CommonPoint | None:
    """What a minimum of the squared hinge loss proves, if anything."""
    if hinge_minimum.separates:
        return _separating_hyperplane(a, b, hinge_minimum.coef / scale)
    if hinge_minimum.mismatch > AGREEMENT:
        return None
    slack_a, slack_b = hinge_minimum.slack[: a.shape[0]], hinge_minimum.slack[a.shape[0] :]
    rows_a, rows_b = np.flatnonzero(slack_a), np.flatnonzero(slack_b)
    weights_a, weights_b = slack_a[rows_a], slack_b[rows_b]
    weights_a, weights_b = weights_a / weights_a.sum(), weights_b / weights_b.sum()
    common = convex_combinations(scaled_a, scaled_b, rows_a, weights_a, rows_b, weights_b)
    return common if common.disagreement <= AGREEMENT else None


def _transform(x: Matrix, center: Floats | float, scale: Floats) -> Matrix:
    if sparse.issparse(x):
        return sparse.csr_array(x @ sparse.diags_array(1.0 / scale))
    return (x - center) / scale


# -- proof by a hyperplane ---------------------------------------------------------------------


def _separating_hyperplane(a: Matrix, b: Matrix, coef: Floats) -> SeparatingHyperplane | None:
    """The hyperplane normal to ``coef`` halfway between the classes, if it separates them."""
    low, high = float((a @ coef).min()), float((b @ coef).max())
    if not (np.isfinite(coef).all() and coef.any()):
        return None
    if low > high:
        coef = coef * (2.0 / (low - high))  # nearest rows: scores ±1
    score_a, score_b = a @ coef, b @ coef
    low, high = float(score_a.min()), float(score_b.max())
    reach = float(np.maximum(convex_hulls.max_abs(a), convex_hulls.max_abs(b)) @ np.abs(coef))
    rounding = 2.0 * (len(coef) + 2) * convex_hulls.EPS * reach
    if high - low > 4.0 * rounding:
        return None
    threshold = low / 2 + high / 2
    if not low - high > 4.0 * rounding:
        near_a = _distinct_rows(a, np.flatnonzero(score_a <= low + 2.0 * rounding))
        near_b = _distinct_rows(b, np.flatnonzero(score_b >= high - 2.0 * rounding))
        if near_a is None or near_b is None:
            return None
        least, most = min(_exact_scores(near_a, coef)), max(_exact_scores(near_b, coef))
        threshold = float((least + most) / 2)
        if not least > Fraction(threshold) > most:
            return None
        low, high = float(least), float(most)
    margin = (low - high) / 2 / _norm(coef)
    return SeparatingHyperplane(coef, -threshold, margin)


def _distinct_rows(x: Matrix, rows: Ints) -> Floats | None:
    """Distinct rows among these; None if they are too many to be computed exactly."""
    max_exact_rows = 4_000  # most distinct rows whose scores are computed exactly
    if len(rows) > 50 * max_exact_rows:
        return None
    distinct = np.unique(to_array(x[rows]), axis=0)
    return distinct if len(distinct) <= max_exact_rows else None


def _exact_scores(x: Floats, coef: Floats) -> list[Fraction]:
    """x·coef for every row in rational arithmetic, without rounding."""
    c = [Fraction(v) for v in coef.tolist()]
    return [
        sum((Fraction(v) * w for v, w in zip(row, c, strict=True) if v), Fraction(0))
        for row in x.tolist()
    ]


# -- close calls --------------------------------------------------------------------------------


def _exact_proof(
    a: Matrix, b: Matrix, near: convex_hulls.CommonPoint
) -> SeparatingHyperplane | convex_hulls.CommonPoint:
    """An exact linear program over the rows of ``near``, and those that its answer violates."""
    rows_a, rows_b = near.rows_a, near.rows_b
    for _ in range(30):  # rounds of the exact linear program
        some_a, some_b = to_array(a[rows_a]), to_array(b[rows_b])
        weights, direction = exact_weights_or_direction(some_a, some_b)
        if weights is not None:
            weights_a, weights_b = weights[: len(rows_a)], weights[len(rows_a) :]
            keep_a, keep_b = weights_a > 0.0, weights_b > 0.0
            rows_a, weights_a = rows_a[keep_a], weights_a[keep_a]
            rows_b, weights_b = rows_b[keep_b], weights_b[keep_b]
            point = (weights_a @ to_array(a[rows_a]) + weights_b @ to_array(b[rows_b])) / 2.0
            return convex_hulls.CommonPoint(
                point, rows_a, weights_a, rows_b, weights_b, 0.0, proved=True
            )
        assert direction is not None
        separated = _separating_hyperplane(a, b, direction)
        if separated is not None:
            return separated
        new_a = np.setdiff1d(np.argsort(a @ direction, kind="stable")[:4], rows_a)
        new_b = np.setdiff1d(np.argsort(-(b @ direction), kind="stable")[:4], rows_b)
        if not len(new_a) + len(new_b):
            break
        rows_a, rows_b = np.concatenate([rows_a, new_a]), np.concatenate([rows_b, new_b])
    raise InputError(
        "Whether the classes are separable is beyond floating-point numbers here: no hyperplane "
        "written in floats in these units passes between rows that are this close.",
        remedy="Subtract a constant from columns that are large but vary little.",
    )


def _norm(v: Floats) -> float:
    """The Euclidean norm, also where squares would overflow or underflow."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


@dataclass(frozen=True, repr=False)
class Separability(Shown):
    """Whether two classes are linearly separable, with the proof.

    Separable: ``hyperplane`` has scores ≥ 1 for ``classes[1]`` and ≤ −1 for ``classes[0]``,
    ``margin`` is the distance of the nearest row, and ``mistake_bound`` bounds the mistakes of a
    perceptron that starts from zero. Not separable: ``common_point`` is the convex combination of
    the rows ``support[k]`` of class k with ``weights[k]``, for k = 0 and for k = 1; at most d + 2
    rows in all, unless there are more than 1000 columns. Undecided within the work allowed:
    ``separable`` is None, and the certificate does not hold.
    """

    separable: bool | None
    classes: NDArray[Any]
    certificate: Certificate
    hyperplane: Hyperplane | None = None
    margin: float = 0.0
    mistake_bound: float = np.inf
    common_point: Floats | None = None
    support: tuple[Ints, Ints] | None = None
    weights: tuple[Floats, Floats] | None = None

    def _display(self) -> list[Item]:
        names = " and ".join(str(name) for name in self.classes)
        if self.separable:
            text = f"A hyperplane separates {names}; the nearest row is {self.margin:.4g} from it."
        elif self.separable is None:
            text = f"Whether a hyperplane separates {names} was not decided."
        else:
            text = f"No hyperplane separates {names}: their convex hulls have a common point."
        return [Sentence(text), *self.certificate._display()]


@dataclass(frozen=True, repr=False)
class HullPoints(Shown):
    """Nearest points of two convex hulls, and the maximum-margin hyperplane between them.

    Row k of ``points`` is the convex combination of the rows ``support[k]`` with ``weights[k]``.
    ``hyperplane`` (None if the hulls intersect) has scores ≥ 1 for the rows of A and ≤ −1 for
    those of B, and 2/‖w‖ = ``distance``.
    """

    points: Floats
    support: tuple[Ints, Ints]
    weights: tuple[Floats, Floats]
    distance: float
    hyperplane: Hyperplane | None
    certificate: Certificate

    def _display(self) -> list[Item]:
        text = f"The convex hulls are {self.distance:.4g} apart."
        if self.hyperplane is None:
            text = "The convex hulls intersect."
        return [Sentence(text), *self.certificate._display()]


def linear_separability(X: Any, y: Any = None, *, max_work: float = MAX_WORK) -> Separability:
    """Whether two classes are strictly linearly separable, with a proof either way.

        separable:      w·x + t > 0 for one class, < 0 for the other
        not separable:  Σ λᵢ aᵢ = Σ μⱼ bⱼ,  λ, μ ≥ 0,  Σλ = Σμ = 1

    The answer does not depend on the units of the columns. The hyperplane is the one of maximum
    margin with every column scaled to the range −1 … 1 (in more than 1000 columns: any that
    separates); for the maximum margin in the columns' own units see :func:`nearest_hull_points`.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or Rows
        The rows; Rows bring their target.
    y : array-like of shape (n,), optional
        Two classes.
    max_work : float, default=1e10
        Multiplications at most, about. Work is counted and not timed, so that answers repeat.

    Returns
    -------
    Separability
        ``separable`` (bool, or None if undecided), ``classes``, ``certificate``, and
        ``hyperplane``, ``margin`` and
        ``mistake_bound``, or ``common_point``, ``support`` and ``weights``.

    See Also
    --------
    pairwise_separability : every pair of several classes.
    nearest_hull_points : the maximum-margin hyperplane.
    Perceptron : finds some separating hyperplane.

    Examples
    --------
    >>> import separatrix as sx
    >>> xor = sx.linear_separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> xor.separable, xor.common_point.tolist()
    (False, [0.5, 0.5])
    >>> round(sx.linear_separability([[0.0], [1.0], [3.0]], ["a", "a", "b"]).margin, 6)
    1.0
    """
    x, codes, classes, names = _check_labeled(X, y)
    if len(classes) > 2:
        raise InputError(
            f"linear_separability is for two classes, and there are {len(classes)}.",
            remedy="Use pairwise_separability, or y == label for one class against the others.",
        )
    return _separability(x, codes, (0, 1), classes, names, max_work)


def pairwise_separability(
    X: Any, y: Any = None, *, max_work: float = MAX_WORK
) -> dict[tuple[Any, Any], Separability]:
    """Linear separability of every pair of classes.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or Rows
        The rows; Rows bring their target.
    y : array-like of shape (n,), optional
        Two or more classes.
    max_work : float, default=1e10
        Multiplications at most for every pair.

    Returns
    -------
    dict
        By the pair of labels, what :func:`linear_separability` returns.

    See Also
    --------
    linear_separability : two classes.
    OneVsOne : a classifier for every pair of classes.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.pairwise_separability([[0.0], [2.0], [1.0], [5.0]], ["a", "a", "b", "c"])
    >>> {pair: result.separable for pair, result in found.items()}
    {('a', 'b'): False, ('a', 'c'): True, ('b', 'c'): True}
    """
    x, codes, classes, names = _check_labeled(X, y)
    labels = classes.tolist()
    return {
        (labels[i], labels[j]): _separability(x, codes, (i, j), classes[[i, j]], names, max_work)
        for i, j in combinations(range(len(labels)), 2)
    }


def nearest_hull_points(A: Any, B: Any) -> HullPoints:
    """Nearest points of the convex hulls of two sets of rows.

        min ‖Aᵀλ − Bᵀμ‖   over λ, μ ≥ 0 with Σλ = Σμ = 1

    The hyperplane halfway between them is that of the hard-margin support vector machine. The
    points depend on the units of the columns.

    Parameters
    ----------
    A : array-like or sparse matrix of shape (n, d)
        One set of rows.
    B : array-like or sparse matrix of shape (m, d)
        The other set.

    Returns
    -------
    HullPoints
        ``points``, ``distance``, ``hyperplane``, ``support`` and ``weights`` (the convex
        combinations) and ``certificate``.

    See Also
    --------
    linear_separability : whether the hulls are disjoint.
    LinearSVC : the soft-margin support vector machine.

    Notes
    -----
    Wolfe's algorithm for the minimum-norm point of a polytope.

    References
    ----------
    P. Wolfe, Finding the nearest point in a polytope, 1976.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.nearest_hull_points([[0, 0], [0, 2]], [[3, 1], [5, 1]])
    >>> round(found.distance, 6), found.points.round(6).tolist()
    (3.0, [[0.0, 1.0], [3.0, 1.0]])
    """
    a = check_array(A, accept_sparse="csr", dtype=np.float64, input_name="A")
    b = check_array(B, accept_sparse="csr", dtype=np.float64, input_name="B")
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"A has {a.shape[1]} columns and B has {b.shape[1]}.",
            remedy="Give rows of the same space.",
        )
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        a, b = sparse.csr_array(a), sparse.csr_array(b)
    nearest = nearest_points(a, b)
    nearest_a = nearest.weights_a @ to_array(a[nearest.rows_a])
    nearest_b = nearest.weights_b @ to_array(b[nearest.rows_b])
    disjoint = max(nearest.low - nearest.high, 0.0) > 8.0 * convex_hulls.EPS * nearest.scale
    hyperplane = None
    if disjoint:
        w = nearest.normal * (2.0 / nearest.distance)
        threshold = float((a @ w).min() + (b @ w).max()) / 2
        hyperplane = Hyperplane(w[None, :], np.array([-threshold]), _names(A, a.shape[1]))
    return HullPoints(
        np.array([nearest_a, nearest_b]),
        (nearest.rows_a, nearest.rows_b),
        (nearest.weights_a, nearest.weights_b),
        nearest.distance if disjoint else 0.0,
        hyperplane,
        _hull_certificate(nearest, disjoint),
    )


def _hull_certificate(nearest_points: convex_hulls.NearestPoints, disjoint: bool) -> Certificate:
    claim = "all rows lie beyond the planes through them" if disjoint else "the hulls intersect"
    return Certificate(
        f"Nearest points of two hulls: {claim}",
        primal=nearest_points.distance,
        dual=max(nearest_points.low - nearest_points.high, 0.0),
        gap=nearest_points.duality_gap,
        tolerance=1e-9,
        rounding=8.0 * convex_hulls.EPS * nearest_points.scale,
        notes=(
            f"They are convex combinations of {_row_count(nearest_points.rows_a)} of A and of "
            f"{_row_count(nearest_points.rows_b)} of B.",
        ),
        promised=("gap",),
    )


def _separability(
    x: Matrix,
    codes: NDArray[np.int64],
    pair: tuple[int, int],
    classes: NDArray[Any],
    names: tuple[str, ...],
    max_work: float,
) -> Separability:
    """The proof for two classes, and its certificate."""
    rows_b, rows_a = (np.flatnonzero(codes == k) for k in pair)
    a, b = x[rows_a], x[rows_b]
    proof = separation_proof(a, b, max_work=max_work)
    if isinstance(proof, SeparatingHyperplane):
        bound = mistake_bound(a, b, proof.coef, proof.intercept)
        hyperplane = Hyperplane(proof.coef[None, :], np.array([proof.intercept]), names)
        certificate = Certificate(
            "Linearly separable: every row is strictly on its own side of the hyperplane",
            notes=(
                f"Its margin is {proof.margin:.6g}, the distance of the nearest row.",
                f"A perceptron makes at most {bound:.6g} mistakes.",
            ),
            promised=(),
        )
        return Separability(True, classes, certificate, hyperplane, proof.margin, bound)
    if isinstance(proof, Undecided):
        return Separability(None, classes, _undecided_certificate(proof))
    rounding = "" if proof.proved else " up to rounding errors"
    certificate = Certificate(
        f"Not linearly separable{rounding}: a point lies in the convex hulls of both classes",
        kkt=proof.disagreement,
        tolerance=AGREEMENT,
        notes=(
            f"It is a convex combination of {_row_count(proof.rows_b)} of {classes[0]!s} and of "
            f"{_row_count(proof.rows_a)} of {classes[1]!s}.",
        ),
        promised=("kkt",),
    )
    return Separability(
        False,
        classes,
        certificate,
        common_point=proof.point,
        support=(rows_b[proof.rows_b], rows_a[proof.rows_a]),
        weights=(proof.weights_b, proof.weights_a),
    )


def _undecided_certificate(proof: Undecided) -> Certificate:
    return Certificate(
        "Undecided: neither a separating hyperplane nor a common point of the hulls was found",
        kkt=proof.distance,
        tolerance=AGREEMENT,
        notes=(
            f"The hulls are at most {proof.distance:.1e} of their size apart; {proof.work:.1g} "
            "multiplications were spent. Raise max_work.",
        ),
        promised=("gap",),
    )


def _check_labeled(
    X: Any, y: Any
) -> tuple[Matrix, NDArray[np.int64], NDArray[Any], tuple[str, ...]]:
    """Matrix, class codes, classes and names of the columns; at least two classes."""
    if isinstance(X, Rows):
        prepared = prepare(X)
        block = prepared.rows.collect()
        levels = np.array([term.level for term in block.targets], dtype=object)
        if y is not None or len(levels) < 2 or any(level is None for level in levels):
            raise InputError(
                "The rows need one target with two classes or more.",
                remedy="Scan the table with target= a column of classes.",
            )
        counts = block.y.sum(axis=0) > 0
        order = [int(k) for k in np.argsort(levels.astype(str)) if counts[k]]
        codes, classes = block.y[:, order].argmax(axis=1), levels[order]
        x, names = block.x, prepared.encoding.names
    else:
        if y is None:
            raise InputError("The classes y are missing.", remedy="Give X and y.")
        x, labels = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        x = x if isinstance(x, np.ndarray) else sparse.csr_array(x)
        names = _names(X, x.shape[1])
    if len(classes) < 2:
        raise InputError(
            "All rows are of one class.",
            remedy="Give rows of two classes.",
        )
    return x, codes.astype(np.int64), classes, names


def _row_count(rows: Ints) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _names(x: Any, d: int) -> tuple[str, ...]:
    columns = getattr(x, "columns", None)
    return column_names(d) if columns is None else tuple(str(name) for name in columns)


# -------------------------------------------------------------------------------------------------
# Separability by least squares on violated rows: a hyperplane, or weights of a common point.
#
#     min over w, t of ½ Σ max(0, 1 − s (w·x + t))²,      s = 1 for rows of a, −1 for rows of b
#
# If the minimum is zero, its hyperplane separates the classes. If it is not, the slacks α of its
# rows are the weights of a common point, because the gradient vanishes:
#
#     Σ_a α x = Σ_b α x      and      Σ_a α = Σ_b α
#
# Each Newton step is a least-squares problem over the rows that violate the margin, solved by
# conjugate gradients: products with the rows, which may be sparse, are all that is needed. Work is
# counted in multiplications, so that the answer does not depend on the speed of a machine.


@dataclass(frozen=True)
class HingeMinimum:
    """Where the descent ended: a hyperplane, the slacks of all rows, and the gradient's size.

    ``mismatch`` is the largest entry of the gradient as a fraction of the sum of slacks: how far
    the two convex combinations are from each other.
    """

    coef: Floats
    intercept: float
    slack: Floats
    mismatch: float
    work: float

    @property
    def separates(self) -> bool:
        """Whether every row has a positive score on its side."""
        return bool((self.slack < 1.0).all())


def minimize_squared_hinge(
    a: Matrix, b: Matrix, *, tolerance: float, budget: float
) -> HingeMinimum:
    """The minimum over rows of ``a`` and ``b``, for at most ``budget`` multiplications.

    Ends at the first hyperplane that separates, or when the combinations agree to ``tolerance``.
    """
    rows = signed_rows(a, b)
    transposed = rows.T.tocsr() if sparse.issparse(rows) else rows.T
    cost = float(rows.nnz if sparse.issparse(rows) else rows.size) + rows.shape[0]
    w = np.zeros(rows.shape[1])
    score, work = np.zeros(rows.shape[0]), 0.0
    for _ in range(200):  # Newton steps at most
        slack = np.maximum(1.0 - score, 0.0)
        gradient = -np.asarray(transposed @ slack)
        work += cost
        mismatch = float(np.abs(gradient).max()) / max(float(slack.sum()), np.finfo(float).tiny)
        hinge_minimum = HingeMinimum(w[1:], float(w[0]), slack, mismatch, work)
        if hinge_minimum.separates or mismatch <= tolerance or work > budget:
            return hinge_minimum
        violated = slack > 0.0
        accuracy = min(0.1, mismatch) * float(np.linalg.norm(gradient))
        step, used = _conjugate_gradients(
            rows, transposed, violated, gradient, accuracy, (budget - work) / (2.0 * cost)
        )
        work += 2.0 * cost * used
        move = np.asarray(rows @ step)
        work += cost
        t = _line_search(score, move)
        if not t > 0.0:
            return hinge_minimum
        w, score = w + t * step, score + t * move
    return hinge_minimum


def signed_rows(a: Matrix, b: Matrix) -> Matrix:
    """The rows s·(1, x)."""
    signs = np.concatenate([np.ones(a.shape[0]), -np.ones(b.shape[0])])[:, None]
    if sparse.issparse(a):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(signs), sparse.vstack([a, -b])]))
    return np.hstack([signs, np.vstack([a, -b])])


def _conjugate_gradients(
    rows: Matrix,
    transposed: Matrix,
    violated: NDArray[np.bool_],
    gradient: Floats,
    accuracy: float,
    most: float,
) -> tuple[Floats, int]:
    """−H⁻¹ gradient with H = Σ over violated rows of x xᵀ, and the number of products used."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, size, used = residual.copy(), float(residual @ residual), 0
    while np.sqrt(size) > accuracy and used < most:
        product = np.asarray(rows @ direction) * violated
        curvature = float(product @ product)
        used += 1
        if not curvature > 1e-14 * float(direction @ direction):
            break
        length = size / curvature
        step = step + length * direction
        residual = residual - length * np.asarray(transposed @ product)
        size, before = float(residual @ residual), size
        direction = residual + (size / before) * direction
    return step, used


def _line_search(score: Floats, move: Floats) -> float:
    """The minimum over t ≥ 0 of ½ Σ max(0, 1 − score − t·move)², a piecewise quadratic."""
    slack = 1.0 - score
    with np.errstate(divide="ignore", invalid="ignore"):
        knots = slack / move
    inside = (move != 0.0) & (knots > 0.0) & np.isfinite(knots)
    order = np.argsort(np.where(inside, knots, np.inf), kind="stable")[: int(inside.sum())]
    active = (slack > 0.0) | ((slack == 0.0) & (move < 0.0))
    slope = -float((slack * move)[active].sum())  # derivative is slope + t·curvature
    curvature = float((move**2)[active].sum())
    sign = np.where(move[order] > 0.0, -1.0, 1.0)  # a row leaves where its score grows
    slopes = slope + np.concatenate([[0.0], np.cumsum(sign * -(slack * move)[order])])
    curvatures = curvature + np.concatenate([[0.0], np.cumsum(sign * (move**2)[order])])
    ends = np.append(knots[order], np.inf)
    with np.errstate(invalid="ignore"):
        zero = slopes + ends * np.maximum(curvatures, 0.0) >= 0.0
    piece = int(np.argmax(zero)) if zero.any() else len(ends) - 1
    if not curvatures[piece] > 0.0:
        return float(ends[piece - 1]) if piece else 1.0
    return float(max(-slopes[piece] / curvatures[piece], 0.0))


# -------------------------------------------------------------------------------------------------
# Novikoff's bound on the mistakes of a perceptron, from a separating hyperplane.


def mistake_bound(a: Matrix, b: Matrix, coef: Floats, intercept: float) -> float:
    """Novikoff's bound (R/γ)² on the mistakes of a perceptron that starts from zero.

    R is the largest norm of the rows (1, x), γ the margin of a hyperplane through the origin. Any
    separating hyperplane gives a valid bound; the minimum-norm point of the hull of ±(1, x) gives
    the smallest one. Infinite where the bound is not a floating-point number.
    """
    signed = signed_rows(a, b)
    largest = float(abs(signed).max())  # the bound has no unit: squares must not overflow
    signed = signed / largest
    radius = float(np.sqrt(squared_norms(signed).max()))
    weights = np.concatenate([[intercept], coef])
    weights = weights / np.abs(weights).max()
    gamma = float((signed @ weights).min()) / float(np.linalg.norm(weights))
    if a.shape[1] <= 1_000:  # columns up to which the smallest bound is sought
        origin = np.zeros((1, signed.shape[1]))
        origin = sparse.csr_array(origin) if sparse.issparse(a) else origin
        # Most iterations for the smallest mistake bound; one that holds is known before.
        nearest = nearest_points(signed, origin, tolerance=1e-9, max_iter=2_000)
        best = float((signed @ nearest.normal).min())
        gamma = max(gamma, best if best > 1e-12 * radius else 0.0)
    ratio = radius / gamma if gamma > 0.0 else np.inf
    return ratio**2 if ratio < 1e150 else np.inf


# -------------------------------------------------------------------------------------------------
# Linear separability in rational arithmetic, for the few rows that decide a close call.
#
#     Σ λ a = Σ μ b,  Σλ = Σμ = 1,  λ, μ ≥ 0            (a common point)
#     or else w·a ≥ s > t ≥ w·b                            (a separating direction; Farkas)
#
# The first phase of the simplex method with Bland's rule decides which, without rounding.


Row = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def exact_weights_or_direction(a: Floats, b: Floats) -> tuple[Floats | None, Floats | None]:
    """Weights of a common point of the rows (those of a first), or a direction w; one is None."""
    m = a.shape[1] + 2
    columns = [[*map(Fraction, row), ONE, ZERO] for row in a.tolist()]
    columns += [[*(-Fraction(v) for v in row), ZERO, ONE] for row in b.tolist()]
    right = [ZERO] * (m - 2) + [ONE, ONE]
    tableau = first_phase([[column[i] for column in columns] for i in range(m)], right)
    p = len(columns)
    if not tableau.cost[-1]:
        weights = np.zeros(p)
        for i, j in enumerate(tableau.basis):
            if j < p:
                weights[j] = float(tableau.rows[i][-1])
        return weights, None
    # the reduced costs of the artificial variables are 1 − y, y the prices of the equations
    y = [ONE - tableau.cost[p + i] for i in range(m - 2)]
    largest = max(map(abs, y))
    return None, np.array([float(-v / largest) if largest else 0.0 for v in y])


class Tableau:
    """Rows of [B⁻¹M, B⁻¹, B⁻¹t], reduced costs with minus the objective last, and the basis."""

    def __init__(self, equations: list[Row], right: Row) -> None:
        m, p = len(equations), len(equations[0])
        self.rows = [
            [*row, *(ONE if i == j else ZERO for j in range(m)), right[i]]
            for i, row in enumerate(equations)
        ]
        self.basis = list(range(p, p + m))
        self.cost = [-sum((row[j] for row in self.rows), ZERO) for j in range(p)]
        self.cost += [ZERO] * m + [-sum(right, ZERO)]

    def pivot(self, i: int, j: int) -> None:
        """Bring column j into the basis in place of row i."""
        pivot = self.rows[i][j]
        self.rows[i] = leaving = [v / pivot if v else v for v in self.rows[i]]
        for k, row in enumerate(self.rows):
            if k != i and row[j]:
                self.rows[k] = _reduce_row(row, leaving, row[j])
        if self.cost[j]:
            self.cost = _reduce_row(self.cost, leaving, self.cost[j])
        self.basis[i] = j


def _reduce_row(row: Row, by: Row, factor: Fraction) -> Row:
    return [u - factor * v if v else u for u, v in zip(row, by, strict=True)]


def first_phase(equations: list[Row], right: Row) -> Tableau:
    """Minimize the sum of artificial variables over equations · λ = right ≥ 0, λ ≥ 0.

    By Bland's rule no basis recurs. Zero is reached where the equations have a solution.
    """
    tableau, p = Tableau(equations, right), len(equations[0])
    while True:
        enter = next((j for j in range(p) if tableau.cost[j] < 0), None)
        if enter is None or not tableau.cost[-1]:
            return tableau
        ratios = [
            (row[-1] / row[enter], tableau.basis[i], i)
            for i, row in enumerate(tableau.rows)
            if row[enter] > 0
        ]
        tableau.pivot(min(ratios)[2], enter)


# -------------------------------------------------------------------------------------------------
# Strict linear inequalities in rational arithmetic: a solution, or the proof that there is none.
#
#     A z > 0    or else    Aᵀλ = 0,  λ ≥ 0,  Σλ = 1                            (Gordan)
#
# Which of the two exists is decided without rounding, for few rows and columns.


def strict_solution(rows: Sequence[Sequence[Fraction | int]]) -> tuple[Row | None, Row | None]:
    """A vector z with a·z > 0 for every row a, or weights λ with Σ λ a = 0; the other is None."""
    p, k = len(rows), len(rows[0])
    # rows of whole numbers, each times a positive factor: sums of fractions cost far more
    factors = [lcm(*(v.denominator for v in row)) for row in rows]
    equations = [
        [Fraction(int(row[j] * factor)) for row, factor in zip(rows, factors, strict=True)]
        for j in range(k)
    ]
    tableau = first_phase([*equations, [ONE] * p], [ZERO] * k + [ONE])
    if not tableau.cost[-1]:
        weights = [ZERO] * p
        for i, j in enumerate(tableau.basis):
            if j < p:
                weights[j] = tableau.rows[i][-1] * factors[j]
        total = sum(weights, ZERO)
        return None, [w / total for w in weights]
    # the reduced costs of the artificial variables are 1 − y, and a·y ≤ −y₀ < 0 for every row a
    return [tableau.cost[p + j] - ONE for j in range(k)], None


def null_vector(columns: Sequence[Sequence[Fraction | int]]) -> Row | None:
    """Numbers λ, not all zero, with Σ λⱼ columnⱼ = 0; None if the columns are independent."""
    m, p = len(columns[0]), len(columns)
    rows = [[Fraction(column[i]) for column in columns] for i in range(m)]
    pivots: list[int] = []
    for j in range(p):
        i = len(pivots)
        found = next((k for k in range(i, m) if rows[k][j]), None)
        if found is None:
            null = [ZERO] * p
            null[j] = ONE
            for row, pivot in zip(rows, pivots, strict=False):
                null[pivot] = -row[j]
            return null
        rows[i], rows[found] = rows[found], rows[i]
        lead = rows[i][j]
        rows[i] = [v / lead for v in rows[i]]
        for k in range(m):
            if k != i and rows[k][j]:
                factor = rows[k][j]
                rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i], strict=True)]
        pivots.append(j)
    return None
