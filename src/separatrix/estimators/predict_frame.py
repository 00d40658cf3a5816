"""Predictions as columns of the frame that they are for, where its rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError

#: Names of the columns that are added.
PREDICTED, PROBABILITY = "predicted", "probability"


def predict_frame(model: Any, frame: Any, *, probabilities: bool = False) -> Any:
    """The frame with the predictions of a model as further columns.

    Rows stay where they are: partitions of Dask are predicted when they are computed, and those of
    Spark by its executors, which need this library.

    Parameters
    ----------
    model : estimator
        A fitted regressor, classifier or clustering.
    frame : pandas, polars, PyArrow, Dask or Spark table
        The rows. Columns are found by their names; others stay as they are.
    probabilities : bool, default=False
        Whether the probability of each class is added too, for classifiers that have them.

    Returns
    -------
    frame
        A table of the same library with ``predicted`` at its end: a label as text, a number, or the
        number of a cluster; then ``probability LABEL`` for every class. Tables of Dask and Spark
        are computed when they are used.

    See Also
    --------
    scan : Fit a model to such tables.

    Examples
    --------
    >>> import pandas as pd
    >>> import separatrix as sx
    >>> homes = pd.DataFrame({"area": [50.0, 80.0, 60.0], "price": [100.0, 160.0, 120.0]})
    >>> model = sx.LinearRegression().fit(sx.scan(homes, target="price"))
    >>> new = pd.DataFrame({"id": ["a", "b"], "area": [70.0, 90.0]})
    >>> sx.predict_frame(model, new)["predicted"].round(6).tolist()
    [140.0, 180.0]
    """
    answer = _Answer.of(model, probabilities=probabilities)
    taken = [name for name in answer.names if name in _names(frame)]
    if taken:
        raise InputError(
            "the frame has a column of this name already.",
            column=taken[0],
            remedy="Rename it: predictions are added under this name.",
        )
    library = type(frame).__module__.split(".")[0]
    if library == "pyspark":
        return _predict_spark(answer, frame)
    if library in ("dask", "dask_expr"):
        meta = answer.extend(frame._meta)
        return frame.map_partitions(answer.extend, meta=meta)
    return answer.extend(frame)


def _names(frame: Any) -> list[str]:
    columns = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return [str(name) for name in columns]


@dataclass(frozen=True)
class _Answer:
    """A model and the columns that it adds, with their types: "text", "number" or "cluster"."""

    model: Any
    types: dict[str, str]

    @classmethod
    def of(cls, model: Any, *, probabilities: bool) -> _Answer:
        """The columns that a model adds."""
        classes = getattr(model, "classes_", None)
        kind = "text" if classes is not None else "number"
        types = {PREDICTED: "cluster" if hasattr(model, "cluster_centers_") else kind}
        if probabilities:
            if classes is None or not hasattr(model, "predict_proba"):
                raise InputError(
                    f"{type(model).__name__} has no probabilities of classes.",
                    remedy="Use CalibratedClassifier for classes, or leave out `probabilities`.",
                )
            types |= {f"{PROBABILITY} {label}": "number" for label in classes}
        return cls(model, types)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.types)

    def columns(self, frame: Any) -> dict[str, Any]:
        """The columns for the rows of a frame in memory."""
        empty = {"text": object, "number": np.float64, "cluster": np.int64}
        if not len(frame):
            return {name: np.empty(0, dtype=empty[kind]) for name, kind in self.types.items()}
        given = self._given(frame)
        predicted = np.asarray(self.model.predict(given))
        if self.types[PREDICTED] == "text":
            predicted = np.array([str(label) for label in predicted.tolist()], dtype=object)
        found = {PREDICTED: predicted.astype(empty[self.types[PREDICTED]], copy=False)}
        if len(self.types) > 1:
            found |= dict(zip(self.names[1:], self.model.predict_proba(given).T, strict=True))
        return found

    def _given(self, frame: Any) -> Any:
        """The columns that the model reads, where it has names for them and all are there."""
        names = [str(name) for name in getattr(self.model, "feature_names_in_", ())]
        if not names or not set(names) <= set(_names(frame)):
            return frame  # the model says what is missing
        return frame.select(names) if hasattr(frame, "select") else frame[names]

    def extend(self, frame: Any) -> Any:
        """A frame in memory with the columns."""
        import narwhals as nw

        columns = self.columns(frame)
        known = nw.from_native(frame, eager_only=True)
        if known.implementation.is_pandas():  # rows are told apart by an index of their own
            import pandas as pd

            text = [name for name, kind in self.types.items() if kind == "text"]
            added = {name: pd.Series(v, index=frame.index) for name, v in columns.items()}
            return frame.assign(**added | {name: added[name].astype("str") for name in text})
        series = [
            nw.new_series(
                name, values.tolist(), _TYPES[self.types[name]](nw), backend=known.implementation
            )
            for name, values in columns.items()
        ]
        return nw.to_native(known.with_columns(*series))


#: Types of columns in narwhals, by kind.
_TYPES = {
    "text": lambda nw: nw.String,
    "number": lambda nw: nw.Float64,
    "cluster": lambda nw: nw.Int64,
}


@dataclass(frozen=True)
class _OfBatches:
    """The batches of a partition with the columns, on its executor."""

    answer: _Answer

    def __call__(self, batches: Any) -> Any:
        import pyarrow as pa

        for batch in batches:
            yield from self.answer.extend(pa.Table.from_batches([batch])).to_batches()


def _predict_spark(answer: _Answer, frame: Any) -> Any:
    from pyspark.sql import types

    spark = {"text": types.StringType(), "number": types.DoubleType(), "cluster": types.LongType()}
    added = [types.StructField(name, spark[kind]) for name, kind in answer.types.items()]
    return frame.mapInArrow(_OfBatches(answer), types.StructType([*frame.schema.fields, *added]))
