"""Classifiers with one hypothesis for each class: scores, and rejection where claims conflict."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formula import nodes
from separatrix.formula.values import Value, concat
from separatrix.hypotheses.version_space import Box
from separatrix.probability.costs import labels_with_reject
from separatrix.threads import on_one_blas_thread


class Claims:
    """Predictions from the margins by which hypotheses claim a row, positive inside.

    A classifier has one hypothesis for each class, or one alone, of the class in ``concepts_``.
    """

    classes_: NDArray[Any]
    concepts_: NDArray[Any]
    labels_: NDArray[Any]
    counts_: Floats
    reject: bool
    reject_label: Any

    @abstractmethod
    def _margins(self, X: Any) -> Floats:
        """The margin of each row to each hypothesis, positive inside (n x K, or n x 1)."""

    @abstractmethod
    def _claims(self, X: Any) -> NDArray[np.bool_]:
        """Whether each hypothesis contains each row."""

    def _uncertain(self, X: Any) -> NDArray[np.bool_]:
        """Rows that no hypothesis or several claim."""
        return np.asarray(self._claims(X).sum(axis=1) != 1)

    @abstractmethod
    def _texts(self) -> list[str]:
        """The hypotheses in words."""

    def describe(self) -> str:
        """One line for each hypothesis: its words, and the rows of its class and others inside."""
        return "\n".join(
            f"{label}: {text} ({inside:g} of {weight:g} rows, {other:g} of other classes)"
            for label, text, (inside, weight, other) in zip(
                self.concepts_.tolist(), self._texts(), self.counts_.tolist(), strict=True
            )
        )

    def _set_labels(self) -> None:
        """Set ``labels_``, the classes and, with ``reject``, the label of a rejection."""
        self.labels_ = (
            labels_with_reject(self.classes_, self.reject_label) if self.reject else self.classes_
        )

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Margins by which each class claims the row, positive inside.

        Of two classes, the margin of the second minus that of the first.
        """
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return margins[:, 0] if self.concepts_[0] == self.classes_[1] else -margins[:, 0]
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest margin; with ``reject``, ``reject_label`` where in doubt."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        if not self.reject:
            return np.asarray(self.classes_[codes])
        return np.asarray(self.labels_[np.where(self._uncertain(X), len(self.classes_), codes)])

    def _formula_of(self, margins: nodes.Node, marks: nodes.Node | None) -> nodes.ClassFormula:
        """The largest margin; with ``reject``, only where one hypothesis alone has its mark."""
        labels, k = self.classes_, len(self.concepts_)
        if k == 1:
            sign = 1.0 if self.concepts_[0] == labels[1] else -1.0
            scores: nodes.Node = nodes.Affine(margins, np.array([[sign]]), names=("score",))
        else:
            scores = nodes.difference(margins, ["score"]) if k == 2 else margins
        plain = nodes.by_score(scores, labels)
        if marks is None:
            return plain
        chosen = nodes.OneClaim(marks, len(labels), plain.chosen)
        return replace(plain, chosen=chosen, labels=self.labels_)


# -------------------------------------------------------------------------------------------------
# Margins of boxes as nodes of a formula.


def inside_box(box: Box, x: Value) -> Value:
    """Whether a row is in a box (n x 1)."""
    if box.empty:
        return x.fill(0.0, 1) > 0.5
    low, high = np.flatnonzero(np.isfinite(box.lower)), np.flatnonzero(np.isfinite(box.upper))
    outside = x.fill(0.0, 1) > 0.5
    if len(low):
        some, ends = x.columns(*low.tolist()), box.lower[None, low]
        outside = outside | (some <= ends if box.open else some < ends).any()
    if len(high):
        some, ends = x.columns(*high.tolist()), box.upper[None, high]
        outside = outside | (some >= ends if box.open else some > ends).any()
    return ~outside


@dataclass(frozen=True, eq=False)
class BoxMargins(nodes.Node):
    """The largest margin of the boxes of each hypothesis.

    The margin of a box is the distance to the nearest face inside, at most 1, and minus the total
    excess outside; ``scale`` are the units of the columns.
    """

    x: nodes.Node
    boxes: tuple[tuple[Box, ...], ...]
    scale: Floats
    stage: ClassVar[str] = "margins"

    def typical_points(self) -> Floats | None:
        """The corners of the boxes, 0 where one has no end."""
        boxes = [box for one in self.boxes for box in one if not box.empty]
        if not boxes:
            return None
        ends = np.array([*(box.lower for box in boxes), *(box.upper for box in boxes)])
        return np.where(np.isfinite(ends), ends, 0.0)

    def compute(self, of: nodes.Evaluation) -> Any:
        """Face by face."""
        x = of(self.x)
        return concat([concat([self._margin(b, x) for b in one]).max() for one in self.boxes])

    def _margin(self, box: Box, x: Value) -> Value:
        if box.empty:
            return x.fill(-np.inf, 1)
        faces = []
        for j, unit in enumerate(self.scale.tolist()):
            low, high = float(box.lower[j]), float(box.upper[j])
            column = x.column(j)
            sides = [column - low] if np.isfinite(low) else []
            sides += [high - column] if np.isfinite(high) else []
            if sides:
                near = sides[0] if len(sides) == 1 else sides[0].apply("Min", sides[1])
                faces.append(near / unit if unit > 0.0 else (near < 0.0).where(-1.0, 1.0))
        if not faces:
            return x.fill(1.0, 1)
        inner = concat(faces).named("faces", ["face"] * len(faces))
        least = float(np.finfo(float).tiny)  # a point on a face is inside or outside
        depth = inner.min().at_most(1.0).at_least(least)
        excess = (-inner).at_least(0.0).sum()
        return inside_box(box, x).where(depth, (-excess).at_most(-least))


@dataclass(frozen=True, eq=False)
class BoxMarks(nodes.Node):
    """1 for each hypothesis one of whose boxes contains the row, else 0."""

    x: nodes.Node
    boxes: tuple[tuple[Box, ...], ...]
    stage: ClassVar[str] = "claims"

    def compute(self, of: nodes.Evaluation) -> Any:
        """Box by box."""
        x = of(self.x)
        marks = [concat([inside_box(box, x).double() for box in one]) for one in self.boxes]
        return concat([each.max() for each in marks])


@dataclass(frozen=True, eq=False)
class CertainBox(nodes.Node):
    """1 but for rows outside of the most specific box that some consistent box contains.

    Then the box around the most specific one and the row contains none of the ``negatives``.
    """

    x: nodes.Node
    specific: Box
    negatives: Floats

    def compute(self, of: nodes.Evaluation) -> Any:
        """Column by column."""
        x, box = of(self.x), self.specific
        inside = inside_box(box, x)
        if not len(self.negatives):
            return inside.double()

        def beyond(total: Value, at: list[Value]) -> Value:
            """Columns by which a negative row is not in the box."""
            value, row, low, high = at
            left_out = (row < value.apply("Min", low)) | (row > value.apply("Max", high))
            return total + left_out.double()

        stored = [self.negatives, box.lower[None, :], box.upper[None, :]]
        left_out = x.over_columns(x.fill(0.0, len(self.negatives)), stored, beyond)
        return (inside | (left_out.min() < 0.5)).double()


def boxes_formula(model: Any) -> nodes.ClassFormula:
    """The formula of a classifier of boxes, or of unions of boxes."""
    x: nodes.Node = nodes.design_of(model)
    each = [one if isinstance(one, list | tuple) else [one] for one in model.boxes_]
    boxes = tuple(tuple(one) for one in each)
    names = nodes.score_names([*model.concepts_.tolist(), ""], "margin")[: len(boxes)]
    margins = BoxMargins(x, boxes, np.asarray(model.scale_, dtype=np.float64), names=names)
    marks: nodes.Node | None = None
    if model.reject and getattr(model, "concept", None) is not None:
        space = model.spaces_[0]
        bounds, both = getattr(model, "perturbation_", np.zeros(0)), x
        if bounds.any():
            space, eye = space.doubled, np.eye(len(bounds))
            moved = np.concatenate([-bounds, bounds])
            both = nodes.Affine(x, np.concatenate([eye, eye], axis=1), moved)
        marks = CertainBox(both, space.specific, space.negatives)
    elif model.reject:
        marks = BoxMarks(x, boxes)
    found: nodes.ClassFormula = model._formula_of(margins, marks)
    return found
