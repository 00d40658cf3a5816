"""Classification by boxes: the version space between most specific and most general box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels, coded_arrays, coded_rows
from separatrix.hypotheses.boxes.box import Box
from separatrix.hypotheses.boxes.fit import ClassSpace, certificate, class_space
from separatrix.hypotheses.boxes.rules import rule
from separatrix.hypotheses.boxes.streaming import consistent_spaces
from separatrix.hypotheses.boxes.version_space import VersionSpace
from separatrix.hypotheses.claims import Claims
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows

HYPOTHESES = ("specific", "average", "short", "general")


@dataclass(frozen=True)
class Examples:
    """Rows that ``partial_fit`` has seen: values, class codes and weights."""

    x: Floats
    codes: Ints
    w: Floats

    def __add__(self, other: Examples) -> Examples:
        return Examples(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.w, other.w]),
        )


class BoxClassifier(ClassifierMixin, Claims, ClassLabels):
    """One box for each class, between the most specific and the most general that fit the rows.

        S ⊆ h ⊆ some member of G   for every box h with the rows of the class and no other

    S is the bounding box of the class. G, the boxes that cannot grow without taking another class
    in, is a set in general, and may be too large to list: it is represented by the rows of other
    classes that bound it, from which membership follows exactly
    (:class:`~separatrix.hypotheses.boxes.version_space.VersionSpace`). The average lies halfway
    between S and the box common to all members of G.

    Where no box separates a class from the others, the box with the fewest errors is found by
    branch and bound, the rows on its wrong side are errors, and the version space is that of the
    others. The certificate states the errors and the fewest that any box can have: they are equal
    for few columns, and usually else. Only the order of values decides S, G and the errors; the
    average, and the scores, scale with the columns.

    Parameters
    ----------
    hypothesis : {"specific", "average", "short", "general"}, default="average"
        The box that predicts: S, the average, the average without needless conditions, or the box
        common to all of G.
    concept : label, default=None
        The class that is a box, of two, while the other one is all the rest; None gives a box to
        each class.
    max_nodes : int, default=5000
        Nodes of branch and bound, for each class, after which the errors are bounded only.
    reject : bool, default=False
        Whether rows are rejected that no box or several boxes contain. With a ``concept``, rows
        between S and G.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class) among numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels.
    concepts_ : ndarray
        The labels of the classes that have a box.
    spaces_ : list of VersionSpace
        S and G of each: ``specific``, ``common``, ``average``, ``general()``, ``possible(X)``.
    boxes_ : list of Box
        The boxes that predict: ``lower`` and ``upper`` faces.
    rules_ : list of str
        The boxes as conditions on the columns by name.
    errors_ : ndarray
        Weight of the rows of a class outside of its box and of others inside.
    error_bounds_ : ndarray
        The fewest errors that any box can have.
    scale_ : ndarray of shape (d,)
        The range of each column, the unit of scores.
    n_samples_fit_ : int
        Rows of positive weight; those of other classes that bound G are stored in ``spaces_``.
    certificate_ : Certificate
        All errors, and the fewest that are possible.

    See Also
    --------
    UnionOfBoxes : Several boxes for each class.
    BallClassifier : The smallest enclosing ball of each class.
    EllipsoidClassifier : The ellipsoid of least volume around each class.
    query : Rows worth labeling: those between S and G.
    RejectOption : Rejection where no class is likely enough.

    Notes
    -----
    ``fit`` reads tables that are streamed in two passes and stores none of their rows, unless they
    contradict all boxes. ``partial_fit`` stores the rows, since rows to come may do so, and gives
    what ``fit`` gives on all of them.

    References
    ----------
    T. M. Mitchell, Generalization as search, Artificial Intelligence 18, 1982.

    D. P. Dobkin, D. Gunopulos, W. Maass, Computing the maximum bichromatic discrepancy, 1996.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0, 1.0], [2.0, 3.0], [6.0, 2.0], [8.0, 3.0]]
    >>> model = sx.BoxClassifier(reject=True).fit(X, ["a", "a", "b", "b"])
    >>> print(model.describe())
    a: x0 ≤ 4 (2 of 2 rows, 0 of other classes)
    b: x0 ≥ 4 (2 of 2 rows, 0 of other classes)
    >>> model.spaces_[0].specific.upper.tolist(), model.spaces_[0].common.upper.tolist()
    ([2.0, 3.0], [6.0, inf])
    >>> model.predict([[0.0, 2.0], [4.0, 2.0], [5.0, 2.0]]).tolist()
    ['a', 'reject', 'b']
    """

    _sparse_ok = False
    _any_size = True
    spaces_: list[VersionSpace]

    def __init__(
        self,
        hypothesis: str = "average",
        *,
        concept: Any = None,
        max_nodes: int = 5000,
        reject: bool = False,
        reject_label: Any = None,
    ) -> None:
        self.hypothesis = hypothesis
        self.concept = concept
        self.max_nodes = max_nodes
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        self.__dict__.pop("examples_", None)
        if isinstance(X, Rows):
            found = consistent_spaces(self, X)
            if found is not None:
                return self._accept(*found)
        coded = coded_rows(self, X, y, sample_weight)
        return self._fit_rows(Examples(dense(coded.x), coded.codes, coded.w), coded.encoding)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows of earlier calls, which are stored.

        ``classes`` lists all labels, if the first call does not have them all.
        """
        self._check()
        seen: Examples | None = getattr(self, "examples_", None)
        if seen is None:
            self.__dict__.pop("classes_", None)
        known = self._known_classes(X, classes)
        rows = self._coded_rows(
            X, y, sample_weight, known=known, closed=known is not None, reset=seen is None
        )
        coded = coded_arrays(rows)
        new = Examples(dense(coded.x), coded.codes, coded.w)
        self.examples_ = new if seen is None else seen + new
        return self._fit_rows(self.examples_, coded.encoding)

    def _check(self) -> None:
        check_option("hypothesis", self.hypothesis, HYPOTHESES)
        if not isinstance(self.max_nodes, int | np.integer) or self.max_nodes < 1:
            raise InputError(f"max_nodes={self.max_nodes!r} must be a whole number above zero.")

    def _fit_rows(self, rows: Examples, encoding: Encoding) -> Self:
        concepts = self._concept_codes()
        found = [class_space(rows.x, rows.codes, rows.w, k, self.max_nodes) for k in concepts]
        return self._accept(found, encoding, np.ptp(rows.x, axis=0), len(rows.w))

    def _concept_codes(self) -> list[int]:
        """Positions of the classes that have a box."""
        labels = self.classes_.tolist()
        if self.concept is None:
            return list(range(len(labels)))
        if self.concept not in labels or len(labels) > 2:
            raise InputError(
                f"concept={self.concept!r} must be one of two classes, and they are {labels[:12]}.",
                remedy="Leave concept out to give each class a box.",
            )
        return [labels.index(self.concept)]

    def _accept(self, found: list[ClassSpace], encoding: Encoding, scale: Floats, n: int) -> Self:
        self.encoding_ = encoding
        self.concepts_ = self.classes_[self._concept_codes()]
        self.spaces_ = [one.space for one in found]
        self.errors_ = np.array([one.errors for one in found])
        self.error_bounds_ = np.array([one.bound for one in found])
        self.counts_ = np.array([[one.covered, one.weight, one.others] for one in found])
        self.scale_ = scale
        self.n_samples_fit_ = n
        self.certificate_ = certificate(found)
        self._set_labels()
        return self

    @property
    def boxes_(self) -> list[Box]:
        """The boxes that predict."""
        check_is_fitted(self)
        name = {"general": "common"}.get(self.hypothesis, self.hypothesis)
        return [getattr(space, name) for space in self.spaces_]

    @property
    def rules_(self) -> list[str]:
        """The boxes as conditions on the columns by name."""
        return [rule(box, self.encoding_.terms.items) for box in self.boxes_]

    def _texts(self) -> list[str]:
        return self.rules_

    def certainty(self, X: Any) -> NDArray[np.int8]:
        """What the version spaces say of each row: 1, 0 or −1 for each class with a box.

        1: the row is in S, and so in every consistent box. −1: it is in none. 0, doubt: in some.
        """
        x = np.asarray(self._design(X))
        found = np.empty((len(x), len(self.spaces_)), dtype=np.int8)
        for k, space in enumerate(self.spaces_):
            inside = space.specific.contains(x)
            found[:, k] = np.where(inside, 1, np.where(space.possible(x), 0, -1))
        return found

    def _claimed(self, X: Any) -> NDArray[np.bool_]:
        x = np.asarray(self._design(X))
        return np.stack([box.contains(x) for box in self.boxes_], axis=1)

    def _margins(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.stack([box.margins(x, self.scale_) for box in self.boxes_], axis=1)

    def _uncertain(self, X: Any) -> NDArray[np.bool_]:
        if self.concept is None:
            return super()._uncertain(X)
        return np.asarray(self.certainty(X)[:, 0] == 0)


def dense(x: Any) -> Floats:
    """Rows of a design, dense and in one piece."""
    return np.ascontiguousarray(to_array(x), dtype=np.float64)
