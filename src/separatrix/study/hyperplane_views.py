"""Three views of one hyperplane between two classes: least squares, Gaussian and logistic.

    least squares   min Σ (s − w·x − t)²,  s = ±1
    Gaussian        w = Σ⁻¹(μ₁ − μ₀),  classes normal with one covariance Σ (linear discriminant)
    logistic        max Σ log p(y | x),  log odds w·x + t

The first two have the same direction on any table, and different offsets unless the classes are
equally large; the third has it in the limit where the classes are normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.discriminant.linear_discriminant import LinearDiscriminantAnalysis
from separatrix.estimators.class_labels import coded_rows
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.linear.linear_regression import LeastSquaresClassifier
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.messages import InputError
from separatrix.notebook import Grid, Item, Sentence, Shown
from separatrix.rows.schema import to_array

VIEWS = ("least squares", "Gaussian", "logistic")


@dataclass(frozen=True, repr=False)
class HyperplaneViews(Shown):
    """Hyperplanes of three models between two classes, compared; prints as a table.

    Row k of all arrays belongs to ``names[k]``. Scores are positive for ``classes[1]``.

    ``angles`` (degrees, 3 x 3) are those between the normals once columns are uncorrelated within
    classes: the arc cosines of the correlations of scores within classes, which do not depend on
    units. ``offsets`` are scores halfway between the class means, in standard deviations within
    classes: positive if the boundary is nearer to ``classes[0]``. ``errors`` are error rates on the
    rows given, ``disagreement`` (3 x 3) the fractions of rows that two views classify differently.
    """

    names: tuple[str, ...]
    classes: NDArray[Any]
    hyperplanes: tuple[Hyperplane, ...]
    angles: Floats
    offsets: Floats
    errors: Floats
    disagreement: Floats
    separable: bool

    def _display(self) -> list[Item]:
        heads = ("view", "offset", "error", *(f"° to {name}" for name in self.names))
        lines = [
            (name, f"{offset:.4f}", f"{error:.2%}", *(f"{angle:.3f}" for angle in angles))
            for name, offset, error, angles in zip(
                self.names, self.offsets, self.errors, self.angles, strict=True
            )
        ]
        items: list[Item] = [
            Grid(heads, lines),
            Sentence(f"Scores are positive for {self.classes[1]}."),
        ]
        if self.separable:
            why = "The classes are separable: the logistic view has no finite estimate."
            items.append(Sentence(why))
        return items


def hyperplane_views(X: Any, y: Any = None, sample_weight: Any = None) -> HyperplaneViews:
    """Compare the least-squares, Gaussian and logistic hyperplanes between two classes.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or Rows
        The rows; Rows bring their target.
    y : array-like of shape (n,), optional
        Two classes.
    sample_weight : array-like of shape (n,), optional
        Weights; a weight of w is the same as w equal rows.

    Returns
    -------
    HyperplaneViews
        ``hyperplanes``, ``angles``, ``offsets``, ``errors``, ``disagreement``; prints as a table.

    See Also
    --------
    LeastSquaresClassifier : Least squares on ±1.
    LinearDiscriminantAnalysis : Normal classes with one covariance.
    LogisticRegression : Conditional likelihood.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [2.0, 3.0], [3.0, 1.0], [4.0, 4.0]]
    >>> views = sx.hyperplane_views(X, ["a", "a", "b", "a", "b", "b"])
    >>> views.names, bool(views.angles[0, 1] < 1e-4)
    (('least squares', 'Gaussian', 'logistic'), True)
    >>> views.offsets.round(3).tolist()[:2]  # classes of one size: halfway between the means
    [0.0, 0.0]
    """
    reader = LogisticRegression(C=np.inf)
    coded = coded_rows(reader, X, y, sample_weight)
    classes = reader.classes_
    if len(classes) != 2:
        raise InputError(
            f"Views of a hyperplane compare two classes, and there are {len(classes)}.",
            remedy="Use y == label for one class against the others.",
        )
    x, labels = to_array(coded.x), classes[coded.codes]
    models = (LeastSquaresClassifier(), LinearDiscriminantAnalysis(), reader)
    for model in models:
        model.fit(x, labels, coded.w)
    scores = np.column_stack([model.decision_function(x) for model in models])
    angles, offsets = _angles_and_offsets(scores, coded.codes, coded.w)
    right = (scores > 0.0) == (coded.codes[:, None] == 1)
    share = coded.w / coded.w.sum()
    names = coded.encoding.names
    return HyperplaneViews(
        VIEWS,
        classes,
        tuple(Hyperplane(np.atleast_2d(m.coef_), np.ravel(m.intercept_), names) for m in models),
        angles,
        offsets,
        errors=share @ ~right,
        disagreement=np.array([share @ (right != right[:, [k]]) for k in range(len(VIEWS))]),
        separable=reader.separation_ is not None,
    )


def _angles_and_offsets(scores: Floats, codes: Ints, w: Floats) -> tuple[Floats, Floats]:
    """Angles by the correlations of scores within classes, and scores between the class means."""
    means = np.array(
        [np.average(scores[codes == k], axis=0, weights=w[codes == k]) for k in (0, 1)]
    )
    within = scores - means[codes]
    within *= np.sqrt(w / w.sum())[:, None]
    deviation = np.linalg.norm(within, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # no spread within classes: undefined
        unit, offsets = within / deviation, means.mean(axis=0) / deviation
    chord = np.linalg.norm(unit[:, :, None] - unit[:, None, :], axis=0)  # exact for small angles
    return np.degrees(2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))), offsets
