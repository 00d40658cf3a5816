"""What a stored model answers for new rows: its predictions, and the columns beside them.

Beside a number stand the ends of its interval, beside a class its probabilities or scores, beside a
cluster the distance to its center; where asked for, conformal intervals or sets, marks of rows
beyond the training rows, and what each column contributed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer

from separatrix.arrays import NDArray
from separatrix.estimators.extrapolation import keeps_ranges
from separatrix.estimators.wrapped import schema_of
from separatrix.messages import InputError
from separatrix.rows.schema import Schema
from separatrix.storage.model_file import load, load_study
from separatrix.study.effects import Effects, typical_row

#: The model in the directory of a study.
MODEL = "model.sx"
#: What stands between the labels of a set.
SEPARATOR = "|"


def file_of_model(model: str | Path) -> Path:
    """The file of a model, also where the directory of its study is named."""
    file = Path(model)
    if file.is_dir():
        file = file / MODEL
        if not file.exists():
            raise InputError(
                f"contains no {MODEL}.",
                file=str(model),
                remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
            )
    return file


def load_predictor(model: str | Path) -> tuple[Any, Schema]:
    """A stored model that predicts from tables, and the schema of its training rows."""
    file = file_of_model(model)
    fitted = load(file)
    schema = schema_of(fitted)
    if hasattr(fitted, "dendrogram_"):
        raise InputError(
            "holds a dendrogram, which does not assign new rows.",
            file=str(file),
            remedy="Cluster again with --method kmeans, kmedoids or kernel.",
        )
    if not hasattr(fitted, "predict") or schema is None:
        raise InputError(
            f"holds a {type(fitted).__name__}, which does not predict from tables.",
            file=str(file),
            remedy=f"Name a {MODEL} file that separatrix fit or cluster wrote.",
        )
    return fitted, schema


# -------------------------------------------------------------------------------------------------
# Columns of an answer.


@dataclass(frozen=True)
class AnswerColumns:
    """Headings of columns, their values for some rows, and remarks about what they promise."""

    headings: tuple[str, ...] = ()
    values: Callable[[Any], Any] | None = None
    others: tuple[AnswerColumns, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def all_headings(self) -> list[str]:
        """Of these columns and of those joined to them."""
        return [*self.headings, *(name for other in self.others for name in other.all_headings)]

    @property
    def all_remarks(self) -> list[str]:
        """Of these columns and of those joined to them."""
        return [*self.remarks, *(text for other in self.others for text in other.all_remarks)]

    def columns(self, rows: Any) -> list[Any]:
        """One array for each heading."""
        values = [] if self.values is None else self.values(rows)
        found = values if isinstance(values, list) else _side_by_side(values)
        return found + [column for other in self.others for column in other.columns(rows)]

    def join(self, other: AnswerColumns) -> AnswerColumns:
        """These columns, then others."""
        return replace(self, others=(*self.others, other))


def _side_by_side(values: Any) -> list[Any]:
    values = np.asarray(values)
    return list(values.reshape(len(values), -1).T)


def answer_columns(
    model: str | Path,
    fitted: Any,
    schema: Schema,
    *,
    level: float,
    conformal: bool = False,
    extrapolation: bool = False,
    effects: int = 0,
) -> AnswerColumns:
    """The prediction, then what stands beside it.

    Probabilities, scores or an interval of its own; and where asked for a conformal interval or
    set, whether a row extrapolates, and the ``effects`` columns that matter most.
    """
    answer = "cluster" if is_clusterer(fitted) else "predicted"
    found = AnswerColumns((answer,), fitted.predict).join(_own_columns(fitted, level))
    study = load_study(file_of_model(model)) if conformal or effects else None
    if conformal:
        found = found.join(_conformal_columns(study, fitted, level))
    if extrapolation:
        found = found.join(AnswerColumns(("extrapolates",), fitted.extrapolates))
    if effects:
        found = found.join(_effect_columns(study, fitted, schema, effects))
    return found


def _own_columns(fitted: Any, level: float) -> AnswerColumns:
    """Ends of intervals; probabilities or scores of classes; distances to centers of clusters.

    Methods are optional in scikit-learn's interface, so they are looked for.
    """
    if (
        is_clusterer(fitted)
        and hasattr(fitted, "cluster_centers_")
        and hasattr(fitted, "transform")
    ):
        return AnswerColumns(
            ("distance",), lambda rows: fitted.transform(rows).min(axis=1, keepdims=True)
        )
    if not is_classifier(fitted):
        if not hasattr(fitted, "predictive"):
            return AnswerColumns()
        ends = interval_headings(level)
        return AnswerColumns(ends, lambda rows: fitted.predictive(rows).interval(level))
    classes = [str(name) for name in fitted.classes_]
    if hasattr(fitted, "predict_proba"):
        headings = class_headings("probability", classes, len(classes))
        return AnswerColumns(headings, fitted.predict_proba)
    if not hasattr(fitted, "decision_function"):
        return AnswerColumns()
    count = len(classes) if len(classes) > 2 else 1
    return AnswerColumns(class_headings("score", classes, count), fitted.decision_function)


def interval_headings(level: float) -> tuple[str, ...]:
    """Headings of the ends of predictive intervals of this level."""
    return tuple(f"{end} {100 * level:.6g}%" for end in ("lower", "upper"))


def class_headings(kind: str, classes: Sequence[str], count: int) -> tuple[str, ...]:
    """Headings of ``count`` columns: one for each class, or for the second of two alone."""
    named = classes if count == len(classes) else classes[-1:]
    return tuple(f"{kind} {name}" for name in named)


def _conformal_columns(study: Any, fitted: Any, level: float) -> AnswerColumns:
    """Conformal intervals or sets by the test rows of the study that chose the model."""
    conformal = getattr(study, "conformal", None)
    if conformal is None or conformal.refusal:
        why = "the file holds no scores of test rows." if conformal is None else conformal.refusal
        return AnswerColumns(remarks=(f"No conformal intervals: {why}",))
    remarks, heading = tuple(conformal.remarks(level)), f"{100 * level:.6g}%"
    if not conformal.classes:
        return AnswerColumns(
            (f"conformal lower {heading}", f"conformal upper {heading}"),
            lambda rows: conformal.intervals(fitted, rows, level),
            remarks=remarks,
        )
    return AnswerColumns(
        (f"conformal set {heading}",),
        lambda rows: _set_texts(conformal.sets(fitted, rows, level), fitted),
        remarks=remarks,
    )


def _set_texts(sets: Any, fitted: Any) -> NDArray[Any]:
    """Labels joined by a bar, which is escaped by a backslash within a label."""
    names = [
        str(label).replace("\\", "\\\\").replace(SEPARATOR, "\\" + SEPARATOR)
        for label in fitted.classes_
    ]
    texts = np.empty(len(sets), dtype=object)
    texts[:] = [
        SEPARATOR.join(name for name, inside in zip(names, row, strict=True) if inside)
        for row in sets.tolist()
    ]
    return texts


def _effect_columns(study: Any, fitted: Any, schema: Schema, most: int) -> AnswerColumns:
    """The columns with the largest effects, the sum of all others, and where they start from."""
    effects = Effects(fitted, typical_row(schema, getattr(study, "references", ())))
    most = min(most, len(effects.names))
    pairs = [f"{what} {i + 1}" for i in range(most) for what in ("column", "effect")]

    def values(rows: Any) -> list[NDArray[Any]]:
        found = effects.of(rows)
        leading = np.argsort(-np.abs(found.values), axis=1, kind="stable")[:, :most]
        sizes = np.take_along_axis(found.values, leading, axis=1)
        names = np.array(effects.names, dtype=object)[leading]
        columns = [found.base]
        for i in range(most):
            columns += [names[:, i], sizes[:, i]]
        return [*columns, found.total - found.base - sizes.sum(axis=1)]

    return AnswerColumns(("base", *pairs, "other effects"), values, remarks=(effects.meaning,))


# -------------------------------------------------------------------------------------------------
# Rows beyond the training rows, counted.


#: What rows beyond any column are counted under, beside the names of columns.
ANY = ""


def count_extrapolating(fitted: Any, rows: Any) -> dict[str, int]:
    """How many rows lie beyond the training rows, in any column and in each; empty if none do."""
    from separatrix.estimators.extrapolation import check_extrapolation

    if not keeps_ranges(fitted):
        return {}
    found = check_extrapolation(fitted, rows)
    any_column = int(found.outside.sum())
    return {ANY: any_column, **found.counts} if any_column else {}
