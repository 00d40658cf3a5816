"""Two clouds of rows: is there a hyperplane between them, and how wide is the gap?

``linear_separability`` answers with a proof, a hyperplane or a point common to both hulls.
``nearest_hull_points`` finds the two points of the hulls that are nearest to each other: the
hyperplane halfway between them is that of the hard-margin support vector machine.
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
from separatrix.geometry.min_norm_point import EPS, nearest_points
from separatrix.geometry.separation_proof import (
    AGREE,
    SeparatingHyperplane,
    mistake_bound,
    separation_proof,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.arrays import column_names
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare


@dataclass(frozen=True)
class Separability:
    """The answer and its proof.

    Separable: ``hyperplane`` has every row on its own side, positive for ``classes[1]``, and scores
    of at least 1 in size; ``margin`` is the distance of the nearest row, in the units of the
    columns; a perceptron that starts from zero makes at most ``mistake_bound`` mistakes.
    Not separable: ``common_point`` is the mean of the rows ``support[k]`` of class k with the
    convex ``weights[k]``, for both k = 0 and k = 1; these are at most d + 2 rows in all.
    """

    separable: bool
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
    """The nearest points of two hulls: row k of ``points`` is the mean of the rows ``support[k]``.

    ``distance`` is the width of the gap, and ``hyperplane`` (None where the hulls meet) bisects it:
    its scores are at least 1 for the rows of A, at most −1 for those of B, and 2/‖w‖ = distance.
    """

    points: Floats
    support: tuple[Ints, Ints]
    weights: tuple[Floats, Floats]
    distance: float
    hyperplane: Hyperplane | None
    certificate: Certificate


def linear_separability(X: Any, y: Any = None) -> Separability:
    """Whether a hyperplane has the two classes of ``y`` strictly on its two sides, with the proof.

    ``X`` is a matrix, a dataframe, CSR, or :class:`~separatrix.rows.rows.Rows` with their target.
    The answer does not depend on units. Of all separating hyperplanes it is the one of the widest
    margin where every column has the range −1 … 1; for the widest in the columns' own units see
    :func:`nearest_hull_points`. For more than two classes see :func:`pairwise_separability`.
    """
    x, codes, classes, names = _labelled(X, y)
    if len(classes) > 2:
        raise InputError(
            f"Separability is a question about two classes, and there are {len(classes)}.",
            remedy="Use pairwise_separability, or y == label for one class against the others.",
        )
    return _between(x, codes, (0, 1), classes, names)


def pairwise_separability(X: Any, y: Any = None) -> dict[tuple[Any, Any], Separability]:
    """:func:`linear_separability` of every two classes, by their labels."""
    x, codes, classes, names = _labelled(X, y)
    labels = classes.tolist()
    return {
        (labels[i], labels[j]): _between(x, codes, (i, j), classes[[i, j]], names)
        for i, j in combinations(range(len(labels)), 2)
    }


def nearest_hull_points(A: Any, B: Any) -> HullPoints:
    """The nearest points of the convex hulls of the rows of ``A`` and of ``B``.

    Distances are measured in the columns as they are: a column in other units gives other points.
    """
    a = check_array(A, accept_sparse="csr", dtype=np.float64, input_name="A")
    b = check_array(B, accept_sparse="csr", dtype=np.float64, input_name="B")
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"A has {a.shape[1]} columns and B has {b.shape[1]}.",
            remedy="Give rows of the same space.",
        )
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        a, b = _sparse(a), _sparse(b)
    found = nearest_points(a, b)
    points = np.array(
        [found.weights_a @ _taken(a, found.rows_a), found.weights_b @ _taken(b, found.rows_b)]
    )
    apart = max(found.low - found.high, 0.0) > 8.0 * EPS * found.scale
    plane = None
    if apart:
        w = found.normal * (2.0 / found.distance)
        middle = float((a @ w).min() + (b @ w).max()) / 2
        plane = Hyperplane(w[None, :], np.array([-middle]), _names(A, a.shape[1]))
    certificate = Certificate(
        "Nearest points of two hulls: "
        + ("all rows lie beyond the planes through them" if apart else "the hulls meet"),
        primal=found.distance,
        dual=max(found.low - found.high, 0.0),
        gap=found.gap,
        tolerance=1e-9,
        scale=found.scale,
        notes=(f"{_counted(found.rows_a)} of A and {_counted(found.rows_b)} of B carry them.",),
        promised=("gap",),
    )
    return HullPoints(
        points,
        (found.rows_a, found.rows_b),
        (found.weights_a, found.weights_b),
        found.distance if apart else 0.0,
        plane,
        certificate,
    )


def _between(
    x: Matrix,
    codes: NDArray[np.int64],
    pair: tuple[int, int],
    classes: NDArray[Any],
    names: tuple[str, ...],
) -> Separability:
    """Class pair[1] against class pair[0]."""
    rows_b, rows_a = (np.flatnonzero(codes == k) for k in pair)
    a, b = x[rows_a], x[rows_b]
    proof = separation_proof(a, b)
    if isinstance(proof, SeparatingHyperplane):
        bound = mistake_bound(a, b, proof.coef, proof.intercept)
        plane = Hyperplane(proof.coef[None, :], np.array([proof.intercept]), names)
        certificate = Certificate(
            "Linearly separable: every row is strictly on its own side of the hyperplane",
            notes=(
                f"The nearest of {len(codes)} rows is {proof.margin:.6g} away from it.",
                f"A perceptron makes at most {bound:.6g} mistakes.",
            ),
            promised=(),
        )
        return Separability(True, classes, certificate, plane, proof.margin, bound)
    certificate = Certificate(
        "Not linearly separable: a point lies in the convex hulls of both classes",
        kkt=proof.disagreement,
        tolerance=AGREE,
        notes=(
            f"It is a mean of {_counted(proof.rows_b)} of {classes[0]!s} and of "
            f"{_counted(proof.rows_a)} of {classes[1]!s}.",
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


def _labelled(X: Any, y: Any) -> tuple[Matrix, NDArray[np.int64], NDArray[Any], tuple[str, ...]]:
    """Matrix, codes, classes and names of the columns; at least two classes."""
    if isinstance(X, Rows):
        prepared = prepare(X)
        block = prepared.rows.collect()
        levels = np.array([term.level for term in block.targets], dtype=object)
        if y is not None or len(levels) < 2 or any(level is None for level in levels):
            raise InputError("The rows must bring one target that holds two classes or more.")
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
        x = x if isinstance(x, np.ndarray) else _sparse(x)
        names = _names(X, x.shape[1])
    if len(classes) < 2:
        raise InputError(
            "All rows are of one class: there is nothing to separate.",
            remedy="Give rows of two classes.",
        )
    return x, codes.astype(np.int64), classes, names


def _counted(rows: Ints) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _sparse(x: Any) -> Matrix:
    return sparse.csr_array(x)


def _taken(x: Matrix, rows: Ints) -> Floats:
    part = x[rows]
    return np.asarray(part if isinstance(part, np.ndarray) else part.toarray())


def _names(x: Any, d: int) -> tuple[str, ...]:
    columns = getattr(x, "columns", None)
    return column_names(d) if columns is None else tuple(str(name) for name in columns)
