"""What classifiers by enclosing sets share: one set around all rows of each class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from separatrix.estimators.class_labels import ClassLabels, coded_rows
from separatrix.hypotheses.claims import Claims
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.statistics.standardizer import Standardizer

#: Relative excess at which a point on the boundary is still inside: rounding errors.
ROUNDING = 1e-9


class EnclosingClassifier(ClassifierMixin, Claims, ClassLabels):
    """Standardized rows, a set around each class, and how many rows each set contains."""

    _sparse_ok = False
    standardizer_: Standardizer

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        coded = coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        x = to_array(coded.x)
        self.standardizer_ = self._standardizer(x, coded.w)
        z = self.standardizer_.transform(x)
        self.concepts_ = self.classes_
        labels = range(len(self.classes_))
        self._fit_classes(x, z, [np.flatnonzero(coded.codes == k) for k in labels])
        inside = self._contained(z)
        own = coded.codes[:, None] == np.arange(len(self.classes_))
        self.counts_ = np.stack(
            [coded.w @ (inside & own), coded.w @ own, coded.w @ (inside & ~own)], axis=1
        )
        self._set_labels()
        return self

    def _standardizer(self, x: Floats, w: Floats) -> Standardizer:
        return Standardizer.from_rows(x, w)

    @abstractmethod
    def _fit_classes(self, x: Floats, z: Floats, rows: list[Ints]) -> None:
        """Set the fitted attributes from the rows of each class, given and standardized."""

    @abstractmethod
    def _class_margins(self, z: Floats) -> Floats:
        """Margins of standardized rows, positive inside (n x K)."""

    def _contained(self, z: Floats) -> NDArray[np.bool_]:
        return self._class_margins(z) >= -ROUNDING

    def _margins(self, X: Any) -> Floats:
        return self._class_margins(self._standardized(X))

    def _claimed(self, X: Any) -> NDArray[np.bool_]:
        return self._contained(self._standardized(X))

    def _standardized(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.asarray(self.standardizer_.transform(x))

    def _center_text(self, center: Floats, most: int = 4) -> str:
        """The center, by the names of the columns; of many, the first."""
        named = list(zip(self.encoding_.names, center.tolist(), strict=True))
        shown = ", ".join(f"{name} = {value:.4g}" for name, value in named[:most])
        return shown + (", …" if len(named) > most else "")
