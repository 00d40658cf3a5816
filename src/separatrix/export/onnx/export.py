"""A fitted model as the bytes of an ONNX file, checked before they are written anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, NDArray
from separatrix.bayes.gaussian_process.model import SplitKernel
from separatrix.export.check import (
    TOLERANCE,
    answers_of,
    given_rows,
    make_up_rows,
    near_ties,
    place_of,
)
from separatrix.export.onnx.document import Built, build_graph, input_name
from separatrix.formula.inputs import InputColumn, InputTable
from separatrix.formula.nodes import LinearLimits, RawTerms, formula_of
from separatrix.formula.reading import nodes_of, reading_of, typical_points
from separatrix.messages import InputError
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind, to_array


@dataclass(frozen=True)
class OnnxFile:
    """The bytes of a file, how its answers compare with those of the model, and notes."""

    content: bytes
    agreement: Agreement
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def columns_of(model: Any) -> tuple[InputColumn, ...]:
    """The columns of the table that a model reads; none for a model that reads a matrix."""
    reading = reading_of(formula_of(model))
    return reading.columns if reading.is_table else ()


def onnx_file(
    model: Any,
    *,
    level: float = 0.95,
    profiles: Sequence[ColumnProfile] = (),
    rows: Any = None,
) -> OnnxFile:
    """The file of a fitted model, checked on ``rows``, or on rows made up from its columns.

    ``level`` is that of intervals and sets, ``profiles`` say where the values of columns were.
    """
    runtime()
    columns = columns_of(model)
    graph = build_graph(model, columns, level=level)
    X: Any
    if columns:
        reading = InputTable(columns, is_matrix=False)
        made_up = rows is None
        X = make_up_rows(model, reading, profiles) if made_up else given_rows(rows, model, reading)
        feeds = table_feeds(columns, X)
    elif rows is not None:
        raise InputError(
            "The model was fitted to a matrix without a table's columns.",
            remedy="Leave the rows out: some are made up.",
        )
    else:
        X = sample_matrix(model)
        feeds = {"X": X}
    document = graph.document
    agreed = agreement(graph, feeds, answers_of(model, X, level), roundings(model, X))
    return OnnxFile(
        document.SerializeToString(),
        agreed,
        tuple(each.name for each in document.graph.input),
        tuple(each.name for each in document.graph.output),
        (*graph.notes, *agreed.remarks),
    )


# -------------------------------------------------------------------------------------------------
# The check of a file: onnxruntime and the model answer the same rows.


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
    outputs = dict(zip(names, session.run(names, dict(feeds)), strict=True))
    if built.decided_by is not None:
        outputs["decided by"] = outputs.pop(built.decided_by)
    return outputs


def agreement(
    built: Built,
    feeds: Mapping[str, Any],
    answers: Mapping[str, Any],
    roundings: Mapping[str, Any] | None = None,
) -> Agreement:
    """Compare the answers of the graph with those of the model, which are rounded themselves."""
    outputs = run(built, feeds)
    n = len(answers["prediction"])
    decided = outputs.pop("decided by", None)
    errors, excess, ties, different, rounding = {}, {}, 0, 0, 0.0
    for name, value in outputs.items():
        if name not in answers:
            errors[name] = excess[name] = np.inf  # nothing is given that was not compared
        elif name == "prediction" and decided is not None:
            wrong = np.asarray(value != answers[name]).reshape(n, -1).any(axis=1)
            tied = near_ties(np.asarray(decided), by_sign=built.by_sign)
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
    rounding_here = np.broadcast_to(rounding, b.shape)
    if a.shape != b.shape:
        return np.inf
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    a, b, rounding_here = a[finite], b[finite], rounding_here[finite]
    if not b.size:
        return 0.0
    unit = np.maximum(np.abs(b), np.median(np.abs(b)))
    tolerated = np.maximum(TOLERANCE * np.where(unit > 0.0, unit, 1.0), rounding_here)
    ratio = np.abs(a - b) / tolerated
    return float(ratio.max()) if np.isfinite(ratio).all() else np.inf


def table_feeds(columns: tuple[InputColumn, ...], table: Any) -> dict[str, Any]:
    """Columns of an Arrow table as inputs: NaN and empty texts where a value is missing."""
    feeds: dict[str, Any] = {}
    for column in columns:
        values = table.column(column.name)
        if column.kind is Kind.DISCRETE:
            texts = ["" if text is None else text for text in values.to_pylist()]
            array = np.array(texts, dtype=object)
        else:
            array = _numbers(values)
        feeds[input_name(column.name)] = array[:, None]
    return feeds


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


# -------------------------------------------------------------------------------------------------
# Rows of numbers made up to check a graph: near the training rows that a model remembers.
#
# A model file holds no training rows. Means, spreads, centers and support vectors that it does hold
# say where they were; rows are drawn around them, some far out, and some stored rows are taken as
# they are. The seed is fixed: the same model gives the same rows.


#: Rows that are made up.
ROWS = 200


def sample_matrix(model: Any, n: int = ROWS) -> Floats:
    """Rows (n x d) of numbers for a model that reads a matrix."""
    rng = np.random.default_rng(0)
    d = int(model.n_features_in_)
    formula = formula_of(model)
    points = typical_points(formula, d)
    center, scale = place_of(model, points, d)
    x = center + scale * _column_spread(rng, n, d)
    if points is not None and len(points) > 2:
        some = points[rng.integers(0, len(points), min(40, n // 4))]  # a fifth of them, usually
        x[: len(some)] = some
    for node in nodes_of(formula):
        if isinstance(node, LinearLimits):
            return np.floor(np.abs(x))
        if isinstance(node, RawTerms):
            _draw_codes(rng, x, node.columns)
    return x


def _column_spread(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Normal numbers, a tenth of the rows three times as far out."""
    z = rng.normal(size=(n, d))
    z[-(n // 10) :] *= 3.0
    return z


def _draw_codes(rng: np.random.Generator, x: Floats, columns: Any) -> None:
    """Codes of levels, and truth values, in place of numbers."""
    for j, column in enumerate(columns[: x.shape[1]]):
        if column.kind is Kind.BOOLEAN:
            x[:, j] = rng.integers(0, 2, len(x))
        elif column.kind is Kind.DISCRETE and column.levels:
            x[:, j] = rng.choice([float(level) for level in column.levels], len(x))


# -------------------------------------------------------------------------------------------------
# How far a process's own sums are rounded: terms that are huge and cancel.
#
#   |mean − exact| ≤ ε Σⱼ |κ(x, xⱼ)| |αⱼ|,    |variance − exact| ≤ 2ε Σᵢ |vᵢ| Σⱼ |L⁻¹ᵢⱼ| |κ(x, xⱼ)|
#
# A process that has learned a nearly linear function has a large variance and long length scales:
# its answers are small differences of large numbers, and no two ways to add them agree to 10⁻⁹.


EPS = float(np.finfo(np.float64).eps)


def roundings(model: Any, X: Any) -> dict[str, Floats]:
    """Bounds of the rounding of a process's answers by output; nothing for other models."""
    if type(model).__name__ != "GaussianProcessRegressor" or model._structures:
        return {}
    x = np.asarray(to_array(model._design(X)), dtype=np.float64)
    if len(model.target_scale_) > 1:
        return {"prediction": _of_mean(model, x) * model.target_scale_}
    mean, scale = _of_mean(model, x)[:, 0], float(model.target_scale_[0])
    spread = np.asarray(model.predict(X, return_std=True)[1]) / scale
    variance = _of_variance(model, x)
    deviation = np.where(spread > 0.0, variance / np.where(spread > 0.0, spread, 1.0), 0.0)
    deviation = np.minimum(deviation, np.sqrt(variance))
    interval = (mean + 4.0 * deviation)[:, None]
    errors = {"prediction": mean, "standard_deviation": deviation, "interval": interval}
    return {name: scale * value for name, value in errors.items()}


def _of_mean(model: Any, x: Floats) -> Floats:
    split, k = SplitKernel(model.kernel_), len(model.target_scale_)
    alpha = np.abs(model.alpha_.reshape(-1, k))
    total = np.zeros((len(x), k))
    if split.function is not None:
        total += np.abs(split.function.gram(x, model.X_train_)) @ alpha
    if len(model.basis_):
        total += np.abs(model.basis_.of_rows(x)) @ np.abs(model.trend_coef_)
    return np.asarray(4.0 * EPS * total)


def _of_variance(model: Any, x: Floats) -> Floats:
    """Of the exact process by its factor, of inducing points by that of the points."""
    if model._is_inducing:
        inducing = model._inducing_bound.inducing
        cross, inverse = np.abs(inducing.rows(x)), inducing.whitening
        whitened = np.abs(inducing.whiten(x))
    else:
        function = SplitKernel(model.kernel_).function
        if function is None:
            return np.zeros(len(x))
        cross = np.abs(function.gram(x, model.X_train_))
        factor = np.tril(model._factored.factor)
        inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True).T
        whitened = np.abs(cross @ inverse)
    terms = cross @ np.abs(inverse)
    return np.asarray(4.0 * EPS * np.einsum("ij,ij->i", whitened, terms))
