"""A label that every training row has, or none: there is nothing to learn, and it is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from separatrix.rows.block import Floats, Ints


@dataclass(frozen=True)
class ConstantLabel:
    """A binary classifier that gives every row the same ``label``, 0 or 1."""

    label: int

    @property
    def classes_(self) -> Ints:
        """Zero and one."""
        return np.arange(2)

    def predict(self, X: Any) -> Ints:
        """The label, for every row."""
        return np.full(_num_samples(X), self.label)

    def decision_function(self, X: Any) -> Floats:
        """The label as a score, as in scikit-learn."""
        return self.predict(X).astype(float)

    def predict_proba(self, X: Any) -> Floats:
        """One for the label, zero for the other."""
        own = self.decision_function(X)
        return np.column_stack([1.0 - own, own])
