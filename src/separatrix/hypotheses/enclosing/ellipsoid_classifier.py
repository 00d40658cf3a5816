"""Classification by the ellipsoid of least volume around each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.hypotheses.enclosing.base import ROUNDING, EnclosingClassifier
from separatrix.hypotheses.enclosing.spanned import SpannedEllipsoid, spanned_ellipsoid
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints


class EllipsoidClassifier(EnclosingClassifier):
    """The ellipsoid of least volume around each class; a row belongs where it is deepest inside.

        minimize over c, S   ½ ln det S   subject to   (xᵢ − c)ᵀ S⁻¹ (xᵢ − c) ≤ 1

    for all rows of the class: the Löwner–John ellipsoid, which is unique and moves with any affine
    map of the columns, so that units do not matter. Khachiyan's method with away steps finds the
    rows that support it, and Newton's method their weights. A class in a plane or on a line, or
    with fewer rows than columns, has the ellipsoid of its affine span. Score of a class:
    1 − √((x − c)ᵀ S⁻¹ (x − c)), positive inside; off the span at most 0, less the distance from it.

    Parameters
    ----------
    reject : bool, default=False
        Whether rows are rejected that no ellipsoid or several ellipsoids contain.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class) among numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels.
    centers_ : ndarray of shape (K, d)
        Centers c, in the units of the table.
    shapes_ : ndarray of shape (K, d, d)
        Matrices S, in the units of the table, of the rank of the span.
    ranks_ : ndarray of shape (K,)
        Dimensions of the span of each class.
    support_points_ : list of ndarray
        For each class the rows on the boundary that determine it, in the units of the table.
    support_weights_ : list of ndarray
        Their weights, positive with sum 1: the mean is c, and the covariance S divided by the rank.
    standardizer_ : Standardizer
        Means and scales of the columns.
    certificate_ : Certificate
        Σ ½ ln det S over the classes, of standardized columns, and its dual value.

    See Also
    --------
    BallClassifier : The smallest ball.
    BoxClassifier : Boxes, with the fewest errors.
    QuadraticDiscriminantAnalysis : Ellipsoids of the density of each class.

    References
    ----------
    L. G. Khachiyan, Rounding of polytopes in the real number model of computation, 1996.

    M. J. Todd, E. A. Yıldırım, On Khachiyan's algorithm for the computation of minimum-volume
    enclosing ellipsoids, 2007.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [8.0, 8.0], [9.0, 9.0]]
    >>> model = sx.EllipsoidClassifier(reject=True).fit(X, list("aaaabb"))
    >>> model.shapes_[0].round(12).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    >>> model.ranks_.tolist()
    [2, 1]
    >>> model.predict([[0.5, 1.0], [1.0, 1.0], [8.5, 8.5]]).tolist()
    ['a', 'reject', 'b']
    """

    ellipsoids_: list[SpannedEllipsoid]

    def __init__(self, *, reject: bool = False, reject_label: Any = None) -> None:
        self.reject = reject
        self.reject_label = reject_label

    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        self.ellipsoids_ = [spanned_ellipsoid(z[own]) for own in rows]
        pairs = list(zip(rows, self.ellipsoids_, strict=True))
        scale = self.standardizer_.scale
        centers = np.array([one.center for one in self.ellipsoids_])
        self.centers_ = self.standardizer_.inverse_transform(centers)
        self.shapes_ = np.array([scale[:, None] * one.shape * scale for one in self.ellipsoids_])
        self.ranks_ = np.array([one.rank for one in self.ellipsoids_])
        self.support_points_ = [x[own[one.support]] for own, one in pairs]
        self.support_weights_ = [one.weights for one in self.ellipsoids_]
        self.certificate_ = self._certificate()

    def _certificate(self) -> Certificate:
        primal = sum(one.primal for one in self.ellipsoids_)
        dual = sum(one.dual for one in self.ellipsoids_)
        flat = [
            f"Class {label!r} spans {one.rank} of {len(one.center)} dimensions."
            for label, one in zip(self.classes_.tolist(), self.ellipsoids_, strict=True)
            if one.rank < len(one.center)
        ]
        return Certificate(
            "No ellipsoid of smaller volume contains all rows of a class",
            primal=primal,
            dual=dual,
            gap=primal - dual,
            tolerance=1e-9,
            # a difference of logarithms is a ratio of volumes, whatever the logarithms are
            scale=float(max(self.ranks_.sum(), 1)),
            scale_of="one for each dimension of a logarithm of volumes",
            notes=tuple(flat[:12]),
            promised=("gap",),
        )

    def _class_margins(self, z: Floats) -> Floats:
        margins = []
        for one in self.ellipsoids_:
            length, off = one.lengths(z)
            outside = np.minimum(1.0 - length, 0.0) - off
            margins.append(np.where(off > ROUNDING, outside, 1.0 - length))
        return np.stack(margins, axis=1)

    def _texts(self) -> list[str]:
        return [f"ellipsoid around {self._center_text(center)}" for center in self.centers_]
