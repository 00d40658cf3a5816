"""Linear separability of classes, and the nearest points of two convex hulls.

The public functions: they read the data, call the proof (:mod:`separation_proof`) or Wolfe's
algorithm (:mod:`min_norm_point`), and return results with certificates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y

from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.min_norm_point import EPS, NearestPoints, nearest_points
from separatrix.geometry.mistake_bound import mistake_bound
from separatrix.geometry.separation_proof import (
    AGREEMENT,
    MAX_WORK,
    SeparatingHyperplane,
    Undecided,
    separation_proof,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints, Matrix, to_array
from separatrix.rows.rows import Rows, column_names
from separatrix.statistics.preparation import prepare


@dataclass(frozen=True)
class Separability:
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


@dataclass(frozen=True)
class HullPoints:
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
    x, codes, classes, names = _labeled(X, y)
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
    x, codes, classes, names = _labeled(X, y)
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
    found = nearest_points(a, b)
    nearest_a = found.weights_a @ to_array(a[found.rows_a])
    nearest_b = found.weights_b @ to_array(b[found.rows_b])
    disjoint = max(found.low - found.high, 0.0) > 8.0 * EPS * found.scale
    hyperplane = None
    if disjoint:
        w = found.normal * (2.0 / found.distance)
        threshold = float((a @ w).min() + (b @ w).max()) / 2
        hyperplane = Hyperplane(w[None, :], np.array([-threshold]), _names(A, a.shape[1]))
    return HullPoints(
        np.array([nearest_a, nearest_b]),
        (found.rows_a, found.rows_b),
        (found.weights_a, found.weights_b),
        found.distance if disjoint else 0.0,
        hyperplane,
        _hull_certificate(found, disjoint),
    )


def _hull_certificate(found: NearestPoints, disjoint: bool) -> Certificate:
    claim = "all rows lie beyond the planes through them" if disjoint else "the hulls intersect"
    return Certificate(
        f"Nearest points of two hulls: {claim}",
        primal=found.distance,
        dual=max(found.low - found.high, 0.0),
        gap=found.duality_gap,
        tolerance=1e-9,
        rounding=8.0 * EPS * found.scale,
        notes=(
            f"They are convex combinations of {_row_count(found.rows_a)} of A and of "
            f"{_row_count(found.rows_b)} of B.",
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


def _labeled(X: Any, y: Any) -> tuple[Matrix, NDArray[np.int64], NDArray[Any], tuple[str, ...]]:
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
