"""Classification by a union of boxes for each class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import ClassLabels, coded_rows
from separatrix.hypotheses.boxes.box import Box
from separatrix.hypotheses.boxes.box_classifier import HYPOTHESES, dense
from separatrix.hypotheses.boxes.fit import without_a_box
from separatrix.hypotheses.boxes.rules import any_of, rule
from separatrix.hypotheses.boxes.union import ClassUnion, class_union
from separatrix.hypotheses.boxes.version_space import VersionSpace
from separatrix.hypotheses.claims import Claims
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


class UnionOfBoxes(ClassifierMixin, Claims, ClassLabels):
    """At most m boxes for each class; a row belongs where some box has it deepest inside.

        minimize over B₁ … Bₘ   Σ w [x ∉ ∪ B, of the class] + Σ w [x ∈ ∪ B, of another]

    Boxes are chosen one by one, each by branch and bound with the largest gain beside those before,
    and then every one is replaced by the best beside the others until none gains. Enough boxes can
    represent any labels of distinct rows; few boxes are rules to read.

    Parameters
    ----------
    n_boxes : int, default=2
        m, the most boxes of a class.
    hypothesis : {"specific", "average", "short", "general"}, default="average"
        The boxes that predict: the tight ones, those halfway to the most general, these without
        needless conditions, or the most general ones (see :class:`BoxClassifier`).
    max_nodes : int, default=1000
        Nodes of branch and bound for each box, after which it is the best one found.
    reject : bool, default=False
        Whether rows are rejected that no class or several classes claim.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows; None is "reject", or −1 (one less than the
        smallest class) among numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels.
    spaces_ : list of list of VersionSpace
        For each class the version spaces of its boxes.
    boxes_ : list of list of Box
        For each class the boxes that predict.
    rules_ : list of str
        The boxes as conditions on the columns by name, joined by "or".
    errors_ : ndarray of shape (K,)
        Weight of the rows of a class outside of its boxes and of others inside.
    scale_ : ndarray of shape (d,)
        The range of each column, the unit of scores.
    certificate_ : Certificate
        The errors, and whether no change of one box makes fewer.

    See Also
    --------
    BoxClassifier : One box for each class, with the fewest errors.
    EllipsoidClassifier : The ellipsoid of least volume around each class.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0], [2.0], [4.0], [5.0], [7.0], [8.0]]
    >>> model = sx.UnionOfBoxes(2).fit(X, list("aabbaa"))
    >>> print(model.describe())
    a: x0 ≤ 3 or x0 ≥ 6 (4 of 4 rows, 0 of other classes)
    b: 3 ≤ x0 ≤ 6 (2 of 2 rows, 0 of other classes)
    """

    _sparse_ok = False
    _any_size = True
    spaces_: list[list[VersionSpace]]

    def __init__(
        self,
        n_boxes: int = 2,
        *,
        hypothesis: str = "average",
        max_nodes: int = 1000,
        reject: bool = False,
        reject_label: Any = None,
    ) -> None:
        self.n_boxes = n_boxes
        self.hypothesis = hypothesis
        self.max_nodes = max_nodes
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("hypothesis", self.hypothesis, HYPOTHESES)
        for name in ("n_boxes", "max_nodes"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name}={value!r} must be a whole number above zero.")
        coded = coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        x = dense(coded.x)
        labels = range(len(self.classes_))
        found = [
            class_union(x, coded.codes, coded.w, k, self.n_boxes, self.max_nodes) for k in labels
        ]
        self._accept(found, np.ptp(x, axis=0))
        return self

    def _accept(self, found: list[ClassUnion], scale: Floats) -> None:
        self.concepts_ = self.classes_
        self.spaces_ = [one.spaces for one in found]
        self.errors_ = np.array([one.errors for one in found])
        self.counts_ = np.array([[one.covered, one.weight, one.others] for one in found])
        self.scale_ = scale
        errors = float(self.errors_.sum())
        claim = "Each union of boxes contains all rows of its class and no other row"
        if errors > 0.0:
            exact = all(one.exact for one in found)
            claim = (
                "No other place of one box, and none more or less, makes fewer errors"
                if exact
                else "No change of one box in one column makes fewer errors"
            ) + " (rows of a class outside of its boxes, others inside)"
            claim += without_a_box([(one.errors, one.weight) for one in found])
        self.certificate_ = Certificate(claim, primal=errors, promised=())
        self._set_labels()

    @property
    def boxes_(self) -> list[list[Box]]:
        """For each class the boxes that predict."""
        check_is_fitted(self)
        name = {"general": "common"}.get(self.hypothesis, self.hypothesis)
        return [[getattr(space, name) for space in spaces] for spaces in self.spaces_]

    @property
    def rules_(self) -> list[str]:
        """The boxes as conditions on the columns by name."""
        terms = self.encoding_.terms.items
        return [any_of([rule(box, terms) for box in boxes]) for boxes in self.boxes_]

    def _texts(self) -> list[str]:
        return self.rules_

    def _claimed(self, X: Any) -> NDArray[np.bool_]:
        x = np.asarray(self._design(X))
        return np.stack(
            [np.any([box.contains(x) for box in boxes], axis=0) for boxes in self.boxes_], axis=1
        )

    def _margins(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.stack(
            [
                np.max([box.margins(x, self.scale_) for box in boxes], axis=0)
                for boxes in self.boxes_
            ],
            axis=1,
        )
