"""Classes of neighbors: one target or several, and the votes for each class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from separatrix.estimators.metric_inputs import holds_objects
from separatrix.messages import InputError
from separatrix.neighbors import loops
from separatrix.neighbors.base import InstanceBasedClassifier, chosen_items, stored_points
from separatrix.rows.block import Floats, Ints
from separatrix.rows.encoding import identity
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.threads import parallel_map, pieces

#: Rows whose votes are worth another piece.
MIN_ROWS = 1024


class NeighborsClassifier(ClassifierMixin, InstanceBasedClassifier):
    """Neighbors vote for their classes; with several targets, for one class of each.

    With several targets ``classes_`` is a list of arrays, and ``output_codes_`` has the place of
    ``codes_``, with a column for each.
    """

    _multi_output = True
    classes_: Any
    output_codes_: Ints

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.outputs_2d_ = False
        for name in ("codes_", "output_codes_"):
            self.__dict__.pop(name, None)
        if not isinstance(X, Rows) and y is not None and np.asarray(y).ndim == 2:
            labels = np.asarray(y)
            if labels.shape[1] != 1:
                self._fit_outputs(stored_points(X), labels, sample_weight)
                return
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected: y.ravel().",
                DataConversionWarning,
                4,
            )
            y = labels[:, 0]
        super()._fit_classes(X, y, sample_weight)

    def _fit_outputs(self, X: Any, y: NDArray[Any], sample_weight: Any) -> None:
        """Several targets, a column of y for each."""
        if holds_objects(self._chosen_metric(), X):
            raise InputError("Objects have one target.", remedy="Fit a model for each target.")
        check_classification_targets(y)
        self.outputs_2d_ = True

        def encode(labels: Any) -> tuple[Floats, list[Any]]:
            return np.empty((len(labels), 0)), []

        rows = self._training_rows(X, y, sample_weight, encode_target=encode)
        assert isinstance(rows, ArrayRows)
        w = rows.block.weights
        positive = np.flatnonzero(w > 0.0)
        found = [np.unique(column, return_inverse=True) for column in y[positive].T]
        self.encoding_ = identity(rows.schema)
        self.classes_ = [classes for classes, _ in found]
        self.output_codes_ = np.column_stack([codes for _, codes in found]).astype(np.int64)
        self._fit_points(chosen_items(rows.block.x, positive), w[positive], positive, len(w))

    @property
    def _outputs(self) -> list[NDArray[Any]]:
        """The classes of every target."""
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    @property
    def _codes(self) -> Ints:
        """The classes of the training rows, a column for every target."""
        return self.output_codes_ if self.outputs_2d_ else self.codes_[:, None]

    def _votes(self, starts: Ints, indices: Ints, weights: Floats) -> list[Floats]:
        """Σ weight by row and class, for every target.

        The neighbors of row i are ``indices[starts[i]:starts[i + 1]]``, their weights likewise.
        """
        found = []
        for codes, classes in zip(self._codes.T, self._outputs, strict=True):
            own, out = np.ascontiguousarray(codes), np.zeros((len(starts) - 1, len(classes)))

            def add(part: slice, own: Ints = own, out: Floats = out) -> None:
                loops.add_votes(starts[part.start :], indices, weights, own, out[part])

            parallel_map(add, pieces(len(out), MIN_ROWS))
            found.append(out)
        return found

    def _most_voted(self, starts: Ints, indices: Ints, weights: Floats) -> Ints:
        """The class with most votes, a column for every target, as positions; −1 without votes.

        Votes are counted row by row: memory does not grow with the number of classes.
        """
        outputs = self._outputs
        found = np.empty((len(outputs), len(starts) - 1), dtype=np.int64)
        columns = [np.ascontiguousarray(codes) for codes in self._codes.T]

        def count(part: slice) -> None:
            for codes, classes, out in zip(columns, outputs, found, strict=True):
                loops.most_voted(
                    starts[part.start :], indices, weights, codes, len(classes), out[part]
                )

        parallel_map(count, pieces(found.shape[1], MIN_ROWS))
        return found.T

    def _labels(self, codes: Ints) -> NDArray[Any]:
        """Labels of classes by their positions, a column of codes for every target."""
        columns = [classes[c] for classes, c in zip(self._outputs, codes.T, strict=True)]
        return np.stack(columns, axis=1) if self.outputs_2d_ else np.asarray(columns[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
