"""Columns beside predictions: ends of intervals, probabilities, scores, distances, label sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from separatrix.cli.output import say
from separatrix.cli.places import MODEL

#: What stands between the labels of a set.
SEPARATOR = "|"


@dataclass(frozen=True)
class Extra:
    """Columns beside the predictions: their headings, and their values for some rows."""

    headings: list[str]
    values: Callable[[Any], Any] | None = None
    others: tuple[Extra, ...] = ()

    @property
    def all_headings(self) -> list[str]:
        """Of these columns and of those joined to them."""
        return [*self.headings, *(name for other in self.others for name in other.all_headings)]

    def columns(self, rows: Any) -> list[Any]:
        """One array for each heading."""
        import numpy as np

        found: list[Any] = []
        if self.values is not None:
            values = np.asarray(self.values(rows))
            found = list(values.reshape(len(values), -1).T)
        return found + [column for other in self.others for column in other.columns(rows)]

    def joined(self, other: Extra | None) -> Extra:
        """These columns, then others."""
        return self if other is None else Extra(self.headings, self.values, (other,))


def own_columns(fitted: Any, level: float) -> Extra:
    """Ends of intervals; probabilities or scores of classes; distances to centers of clusters.

    Methods are optional in scikit-learn's interface, so they are looked for.
    """
    from sklearn.base import is_classifier, is_clusterer

    from separatrix.cli.results import class_headings, interval_headings

    if (
        is_clusterer(fitted)
        and hasattr(fitted, "cluster_centers_")
        and hasattr(fitted, "transform")
    ):
        return Extra(["distance"], lambda rows: fitted.transform(rows).min(axis=1, keepdims=True))
    if not is_classifier(fitted):
        if not hasattr(fitted, "predictive"):
            return Extra([])
        ends = interval_headings(level)
        return Extra(ends, lambda rows: fitted.predictive(rows).interval(level))
    classes = [str(name) for name in fitted.classes_]
    if hasattr(fitted, "predict_proba"):
        return Extra(class_headings("probability", classes, len(classes)), fitted.predict_proba)
    if not hasattr(fitted, "decision_function"):
        return Extra([])
    count = len(classes) if len(classes) > 2 else 1
    return Extra(class_headings("score", classes, count), fitted.decision_function)


def guaranteed_columns(model: str, fitted: Any, level: float, *, quiet: bool) -> Extra | None:
    """Guaranteed intervals or sets by the test rows of the study that chose the model.

    Says what is guaranteed, or why there is nothing.
    """
    from separatrix.storage.model_file import load_study

    path = Path(model)
    study = load_study(path / MODEL if path.is_dir() else path)
    found = getattr(study, "guaranteed", None)
    if found is None or found.refusal:
        why = "the file holds no scores of test rows." if found is None else found.refusal
        say(f"· No guaranteed intervals: {why}", quiet=quiet)
        return None
    for remark in found.remarks(level):
        say(f"· {remark}", quiet=quiet)
    heading = f"{100 * level:.6g}%"
    if not found.classes:
        return Extra(
            [f"guaranteed lower {heading}", f"guaranteed upper {heading}"],
            lambda rows: found.intervals(fitted, rows, level),
        )
    return Extra(
        [f"guaranteed set {heading}"],
        lambda rows: set_texts(found.sets(fitted, rows, level), fitted),
    )


def set_texts(sets: Any, fitted: Any) -> Any:
    """Labels joined by a bar, which is escaped by a backslash within a label."""
    import numpy as np

    names = [
        str(label).replace("\\", "\\\\").replace(SEPARATOR, "\\" + SEPARATOR)
        for label in fitted.classes_
    ]
    found = np.empty(len(sets), dtype=object)
    found[:] = [
        SEPARATOR.join(name for name, inside in zip(names, row, strict=True) if inside)
        for row in sets.tolist()
    ]
    return found
