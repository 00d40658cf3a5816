"""The check of an ONNX file: onnxruntime and the model answer the same rows.

    |onnx − model| ≤ 10⁻⁹ max(|model|, median |model|)

Sums of huge terms that cancel, as those of a process whose function is nearly a line, are rounded
by more in the model itself: there this rounding is the tolerance, and is said
(:mod:`separatrix.export.onnx.rounding`).
Labels must be equal but where the numbers that decide tie within the tolerance; ties are counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.export.inputs import InputColumn
from separatrix.export.onnx.document import Built
from separatrix.export.onnx.sources import input_name
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.schema import Kind

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Agreement:
    """How the answers of ``rows`` rows compare: the largest relative ``error`` by output.

    ``excess`` is the largest difference as a multiple of what is tolerated. ``ties`` rows have
    another label where the numbers that decide are equal within the tolerance; ``different`` rows
    have one where they are not. ``rounding`` is the largest relative rounding of the model's own
    numbers where that is more than the tolerance.
    """

    rows: int
    error: Mapping[str, float]
    excess: Mapping[str, float]
    ties: int = 0
    different: int = 0
    rounding: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether all numbers agree, and all labels but ties."""
        return not self.different and all(e <= 1.0 for e in self.excess.values())

    def __str__(self) -> str:
        worst = max(self.error.values(), default=0.0)
        text = f"{self.rows} rows answered by onnxruntime and by the model"
        if not self.holds:
            parts = [f"{n} by {self.error[n]:.1e}" for n, e in self.excess.items() if not e <= 1.0]
            parts += [f"{self.different} labels"] if self.different else []
            return f"{text} differ: {', '.join(parts)}."
        ties = f"; {self.ties} labels at ties differ" if self.ties else ""
        text = f"{text} agree: numbers to {worst:.1e}{ties}."
        return " ".join([text, *self.remarks])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why numbers differ by more than the tolerance all the same."""
        if max(self.error.values(), default=0.0) <= TOLERANCE:
            return ()
        return (f"The model's own sums are rounded by as much as {self.rounding:.1e}.",)


def runtime() -> Any:
    """onnxruntime, or one sentence on how to install it."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as problem:
        raise InputError(
            "ONNX files are written with onnx and checked with onnxruntime.",
            remedy="pip install 'separatrix[onnx]'",
        ) from problem
    return onnxruntime


def run(built: Built, feeds: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The outputs of a graph by name, and the numbers that decide labels as ``decided by``."""
    import onnx
    from onnx import helper

    ort = runtime()
    document = built.document
    if built.decided_by is not None:
        document = onnx.ModelProto()
        document.CopyFrom(built.document)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
        document.graph.output.append(helper.make_tensor_value_info(built.decided_by, kind, None))
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(
        document.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(names, dict(feeds)), strict=True))
    if built.decided_by is not None:
        found["decided by"] = found.pop(built.decided_by)
    return found


def expected(model: Any, X: Any, level: float) -> dict[str, NDArray[Any]]:
    """What the model answers, by the names of outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"prediction": np.asarray(model.predict(X))}
        if hasattr(model, "predict_proba"):
            found["probabilities"] = np.asarray(model.predict_proba(X))
        if hasattr(model, "decision_function"):
            scores = np.asarray(model.decision_function(X))
            found["scores"] = scores[:, None] if scores.ndim == 1 else scores
        if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
            found["distance"] = np.asarray(model.transform(X)).min(axis=1)
        if hasattr(model, "scores_") and hasattr(model, "predict_set"):
            found["set"] = np.asarray(model.predict_set(X, level=level))
        if hasattr(model, "guarantee") and hasattr(model, "predict_interval"):
            found["interval"] = np.asarray(model.predict_interval(X, level=level))
        elif hasattr(model, "predictive"):
            found |= _spread(model, X, level, several=found["prediction"].ndim > 1)
    return found


def _spread(model: Any, X: Any, level: float, *, several: bool) -> dict[str, NDArray[Any]]:
    """Standard deviations and intervals; nothing of a posterior too large to be stored."""
    if several:
        return {"standard_deviation": np.asarray(model.predict(X, return_std=True)[1])}
    try:
        normal = model.predictive(X)
    except InputError:
        return {}
    ends = np.asarray(normal.interval(level))
    return {"standard_deviation": np.asarray(normal.scale), "interval": ends}


def agreement(
    built: Built,
    feeds: Mapping[str, Any],
    answers: Mapping[str, Any],
    roundings: Mapping[str, Any] | None = None,
) -> Agreement:
    """Compare the answers of the graph with those of the model, which are rounded themselves."""
    found = run(built, feeds)
    n = len(answers["prediction"])
    decided = found.pop("decided by", None)
    errors, excess, ties, different, rounding = {}, {}, 0, 0, 0.0
    for name, value in found.items():
        if name not in answers:
            errors[name] = excess[name] = np.inf  # nothing is given that was not compared
        elif name == "prediction" and decided is not None:
            wrong = np.asarray(value != answers[name]).reshape(n, -1).any(axis=1)
            tied = _ties(np.asarray(decided), by_sign=built.by_sign)
            ties, different = int((wrong & tied).sum()), int((wrong & ~tied).sum())
        else:
            own = (roundings or {}).get(name, 0.0)
            errors[name] = _excess(value, answers[name], 0.0) * TOLERANCE
            excess[name] = _excess(value, answers[name], own)
            rounding = max(rounding, _excess(answers[name] + own, answers[name], 0.0) * TOLERANCE)
    return Agreement(n, errors, excess, ties, different, rounding)


def _excess(found: Any, answer: Any, rounding: Any) -> float:
    """The largest difference as a multiple of what is tolerated; NaN and ±∞ must be the same."""
    a, b = np.asarray(found, dtype=np.float64), np.asarray(answer, dtype=np.float64)
    own = np.broadcast_to(rounding, b.shape)
    if a.shape != b.shape:
        return np.inf
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    a, b, own = a[finite], b[finite], own[finite]
    if not b.size:
        return 0.0
    unit = np.maximum(np.abs(b), np.median(np.abs(b)))
    tolerated = np.maximum(TOLERANCE * np.where(unit > 0.0, unit, 1.0), own)
    ratio = np.abs(a - b) / tolerated
    return float(ratio.max()) if np.isfinite(ratio).all() else np.inf


def _ties(decided: Floats, *, by_sign: bool) -> NDArray[np.bool_]:
    """Rows whose two best numbers, or whose number nearest to zero, are equal but for rounding."""
    finite = np.where(np.isfinite(decided), decided, -np.finfo(float).max)
    size = np.median(np.abs(decided[np.isfinite(decided)])) if np.isfinite(decided).any() else 1.0
    if by_sign or decided.shape[1] == 1:
        return np.asarray(np.abs(finite).min(axis=1) <= TOLERANCE * size)
    best = np.sort(finite, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] <= TOLERANCE * np.maximum(np.abs(best[:, 1]), size))


def table_feeds(columns: tuple[InputColumn, ...], table: Any) -> dict[str, Any]:
    """Columns of an Arrow table as inputs: NaN and empty texts where a value is missing."""
    found: dict[str, Any] = {}
    for column in columns:
        values = table.column(column.name)
        if column.kind is Kind.DISCRETE:
            texts = ["" if text is None else text for text in values.to_pylist()]
            array = np.array(texts, dtype=object)
        else:
            array = _numbers(values)
        found[input_name(column.name)] = array[:, None]
    return found


def _numbers(values: Any) -> Floats:
    """Numbers, with dates as days since 1970-01-01 and truth values as 1 and 0."""
    import pyarrow as pa

    unit = 1.0
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values, unit = values.cast(pa.int64()), 86400e6
    plain = [np.nan if v is None else float(v) for v in values.to_pylist()]
    return np.array(plain, dtype=np.float64) / unit
