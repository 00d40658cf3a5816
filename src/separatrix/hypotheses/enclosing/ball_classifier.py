"""Classification by the smallest enclosing ball of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.hypotheses.enclosing.ball import enclosing_ball, squared_distances
from separatrix.hypotheses.enclosing.base import EnclosingClassifier
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.statistics.standardizer import Standardizer


class BallClassifier(EnclosingClassifier):
    """The smallest ball around each class; a row belongs where it is deepest inside.

        minimize over c, R   R   subject to   ‖xᵢ − c‖ ≤ R   for all rows of the class

    The ball is unique. A few support points prove it: they are all R away from the center, which is
    a weighted mean of them. Score of a class: R − ‖x − c‖, positive inside.

    Parameters
    ----------
    standardize : bool, default=True
        Standardize the columns first, so that their units do not matter: the ball is then an
        ellipsoid along the axes in the units of the table.
    reject : bool, default=False
        Whether rows are rejected that no ball or several balls contain.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class) among numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels.
    centers_ : ndarray of shape (K, d)
        Centers, in the units of the table.
    radii_ : ndarray of shape (K,)
        Radii, of standardized columns if ``standardize``.
    support_points_ : list of ndarray
        For each class the rows on the sphere that determine it, in the units of the table.
    support_weights_ : list of ndarray
        Their weights, positive with sum 1, of which the center is the mean.
    standardizer_ : Standardizer
        Means and scales of the columns; 0 and 1 without ``standardize``.
    certificate_ : Certificate
        Σ R² over the classes, and its dual value from the support points.

    See Also
    --------
    EllipsoidClassifier : The ellipsoid of least volume.
    BoxClassifier : Boxes, with the fewest errors.
    OneClassSVM : A boundary around most rows.

    References
    ----------
    K. Fischer, B. Gärtner, M. Kutz, Fast smallest-enclosing-ball computation in high dimensions,
    2003.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [7.0, 7.0], [9.0, 7.0]]
    >>> model = sx.BallClassifier(standardize=False, reject=True).fit(X, list("aaabb"))
    >>> model.centers_.tolist(), model.radii_.tolist()
    ([[1.0, 0.0], [8.0, 7.0]], [1.0, 1.0])
    >>> model.predict([[1.0, 1.0], [4.0, 4.0]]).tolist()
    ['a', 'reject']
    """

    def __init__(
        self, standardize: bool = True, *, reject: bool = False, reject_label: Any = None
    ) -> None:
        self.standardize = standardize
        self.reject = reject
        self.reject_label = reject_label

    def _standardizer(self, x: Floats, w: Floats) -> Standardizer:
        if self.standardize:
            return super()._standardizer(x, w)
        return Standardizer(np.zeros(x.shape[1]), np.ones(x.shape[1]))

    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        balls = [enclosing_ball(z[own]) for own in rows]
        centers = np.array([ball.center for ball in balls])
        self.centers_ = self.standardizer_.inverse_transform(centers)
        self.radii_ = np.sqrt([ball.squared_radius for ball in balls])
        self.support_points_ = [x[own[ball.support]] for own, ball in zip(rows, balls, strict=True)]
        self.support_weights_ = [ball.weights for ball in balls]
        primal = sum(ball.squared_radius for ball in balls)
        gap = sum(ball.gap for ball in balls)
        self.certificate_ = Certificate(
            "No smaller ball contains all rows of a class: its support points show it",
            primal=primal,
            dual=primal - gap,
            gap=gap,
            tolerance=1e-12,
            promised=("gap",),
        )

    def _class_margins(self, z: Floats) -> Floats:
        centers = self.standardizer_.transform(self.centers_)
        return np.stack(
            [
                radius - np.sqrt(squared_distances(z, center))
                for center, radius in zip(centers, self.radii_, strict=True)
            ],
            axis=1,
        )

    def _texts(self) -> list[str]:
        unit = " standard deviations" if self.standardize else ""
        return [
            f"within {radius:.4g}{unit} of {self._center_text(center)}"
            for center, radius in zip(self.centers_, self.radii_, strict=True)
        ]
