"""What linear classifiers share: labels in, scores and labels out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix.messages import InputError
from separatrix.models.base import LinearModel, weights_of
from separatrix.models.targets import classes, two_or_more
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term, Terms


class LinearClassifier(ClassifierMixin, LinearModel):
    """One hyperplane for two classes, or one score per class and the largest wins."""

    classes_: NDArray[Any]

    def _class_rows(
        self, X: Any, y: Any, sample_weight: Any, *, known: Any = None, reset: bool = True
    ) -> Rows:
        """Training rows with one indicator per class as targets; sets ``classes_`` from ``X, y``.

        Classes that have only rows of weight zero are as good as absent.
        """
        if isinstance(X, Rows):
            self.__dict__.pop("classes_", None)  # a table brings its own
        elif y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )

        def encode(labels: Any) -> tuple[Floats, list[Term]]:
            check_classification_targets(labels)
            w = weights_of(sample_weight, len(labels))
            met = np.unique(labels if w is None else labels[w > 0])
            self.classes_ = met if known is None else np.unique(np.concatenate([known, met]))
            hot = (np.asarray(labels)[:, None] == self.classes_).astype(np.float64)
            return hot, self._terms()

        return self._training_rows(X, y, sample_weight, encode_target=encode, reset=reset)

    def _terms(self, column: str = "y") -> list[Term]:
        return [Term(column, str(label)) for label in self.classes_.tolist()]

    def _class_terms(self, rows: Rows, targets: Terms) -> Terms:
        """The indicators in the order of ``classes_``, which a table with names brings along."""
        levels = classes(targets)
        if not hasattr(self, "classes_"):
            self.classes_ = np.array(sorted(levels), dtype=object)
        two_or_more(self.classes_.tolist())
        return Terms(tuple(self._terms(rows.schema.targets[0].name)))

    def _remembered(self, classes: Any) -> Any:
        """Labels to expect in ``partial_fit``: those seen or announced before, and these."""
        before = getattr(self, "classes_", None)
        if classes is None:
            return before
        given = np.unique(np.asarray(classes))
        if before is not None and not np.isin(before, given).all():
            raise InputError(
                f"classes={given.tolist()} leaves out classes seen before: {before.tolist()}.",
                remedy="Give all classes in the first call, or none.",
            )
        return given

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        check_is_fitted(self)
        scores = np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: by the side of the hyperplane, or by the largest score."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])
