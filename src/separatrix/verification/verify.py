"""``verify``: the certificate of a model recomputed from its table, in exact arithmetic.

Tables are read by ``rows``, and rows are assigned to training by ``study``, as they were for the
fit; from there on values are Python's integers and fractions.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from separatrix.catalogue import DECLARATIONS
from separatrix.messages import InputError
from separatrix.verification.design import Blocks, Design, encode_blocks
from separatrix.verification.stored import File, Record, Tensor, model_in, read, study_in
from separatrix.verification.verdict import PROVED, REFUTED, Claim, Verification, equal

WRAPPED = (
    "The claims are those of the {}. What the {} adds (calibration, costs, rejection) is learned "
    "from folds and has no certificate: it is not recomputed."
)


def verify(model: Any, table: Any, target: Any = None, *, weight: Any = None) -> Verification:
    """Recompute the certificate of a model from its table in exact or interval arithmetic.

    Doubles are fractions. Sums of their products, solutions of normal equations, signs of scores
    and comparisons of distances are computed as such, without rounding; roots, exponentials and
    logarithms are enclosed. What a certificate claims is then proved or refuted. The file is read
    byte by byte, and neither NumPy nor a solver of this library takes part.

    Parameters
    ----------
    model : estimator, str or path-like
        A fitted estimator, a ``model.sx`` file, or the directory that contains it.
    table : str, path-like, data frame, array or dict
        The table that the model was fitted to: also its test rows, if it was chosen by a study.
    target : str or array-like, default=None
        The target, where the model was fitted to arrays: its column by name, or its values.
    weight : str or array-like, default=None
        The weights, where the model was fitted to arrays.

    Returns
    -------
    Verification
        Verdicts on every claim, and the total: "proved", "consistent" or "refuted".

    See Also
    --------
    save : Store a model with its certificate.
    run_study : Choose a model for a table.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([1.0, 3.0, 4.0, 7.0])
    >>> model = sx.Ridge(alpha=0.5).fit(x, y)
    >>> sx.verify(model, x, y).verdict
    'proved'
    >>> model.coef_[0] *= 1 + 1e-6
    >>> sx.verify(model, x, y).verdict
    'refuted'
    """
    return verify_with(model, table, target, weight=weight)


def verify_with(
    model: Any,
    table: Any,
    target: Any = None,
    *,
    weight: Any = None,
    text: Any = None,
    progress: Any = None,
) -> Verification:
    """As :func:`verify`; ``text`` says how values are written, ``progress`` is told of stages."""
    if isinstance(model, str | os.PathLike):
        return _verify_file(_model_file(Path(model)), table, target, weight, text, progress)
    from separatrix.storage import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sx"
        save(model, path)
        return _verify_file(path, table, target, weight, text, progress)


def _model_file(path: Path) -> Path:
    inside = path / "model.sx"
    if path.is_dir() and not inside.exists():
        raise InputError(
            "contains no model.sx.",
            file=str(path),
            remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
        )
    return inside if path.is_dir() else path


def _verify_file(
    path: Path, table: Any, target: Any, weight: Any, text: Any, progress: Any
) -> Verification:
    file = read(path)
    whole = model_in(file)
    if not file.intact:
        sentence = "The content of the file does not match its checksum."
        return Verification(whole.of, 0, (Claim("file", REFUTED, sentence),))
    model = core_of(whole)
    declared = DECLARATIONS.get(model.of)
    claims_of = None if declared is None else declared.claims()
    if claims_of is None:
        known = sorted(name for name, other in DECLARATIONS.items() if other.verifier)
        raise InputError(
            f"holds a {model.of}, of which no claim can be recomputed exactly.",
            file=str(path),
            remedy=f"These can: {', '.join(known)}.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = _rows(path, file, model, table, target, weight, text)
        blocks = Blocks(rows.designs or encode_blocks(rows.blocks(), rows.encoding), progress)
        claims = [*rows.claims, *claims_of(model.get("svm_", model), blocks)]  # of a search
    intact = Claim("file", PROVED, "The content of the file matches its checksum.")
    notes = rows.notes if whole is model else (*rows.notes, WRAPPED.format(model.of, whole.of))
    return Verification(whole.of, blocks.n, (intact, *claims), notes)


def core_of(model: Record) -> Record:
    """The model that others wrap: calibrations, costs and rejections have no certificate."""
    while isinstance(model.get("estimator_"), Record):
        model = model["estimator_"]
    return model


def _rows(
    path: Path, file: File, model: Record, table: Any, target: Any, weight: Any, text: Any
) -> VerificationRows:
    """The training rows, from arrays or from a table."""
    by_name = target is None or isinstance(target, str)
    if not by_name or (target is None and _is_matrix(table)):
        return rows_of_arrays(table, target, weight, model)
    return rows_of_table(path, study_in(file), model, table, target, weight, text)


def _is_matrix(table: Any) -> bool:
    named = isinstance(table, str | os.PathLike | dict) or hasattr(table, "columns")
    return not named and (hasattr(table, "shape") or isinstance(table, list))


# The rows that a model was fitted to, from a table or from arrays
# ----------------------------------------------------------------

ASSUMED = (
    "The file has no study. Training rows are those of separatrix fit by default (seed 0, a test "
    "part of 0.2): they are as many as the model had."
)
READ = "The table was read by separatrix, as for the fit; the arithmetic is its own."


@dataclass(frozen=True)
class VerificationRows:
    """Raw blocks with their encoding, or designs; claims on the rows themselves, and notes."""

    raw: Any = None
    encoding: Record | None = None
    designs: list[Design] | None = None
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Any]:
        """Raw blocks in order."""
        yield from self.raw.blocks()


def rows_of_arrays(x: Any, y: Any, w: Any, model: Record) -> VerificationRows:
    """Rows given as a matrix, with their targets and weights."""
    rows = _list_values(x)
    if not rows or not isinstance(rows[0], list):
        raise InputError("X has no rows and columns.", remedy="Give a matrix: rows by columns.")
    width = model.get("n_features_in_", len(rows[0]))
    if any(len(row) != width for row in rows):
        raise InputError(
            f"X has {len(rows[0])} columns, training had {width}.",
            remedy="Give the columns of training in their order.",
        )
    columns = [[float(v) for v in column] for column in zip(*rows, strict=True)]
    weights = None if w is None else [float(v) for v in _list_values(w)]
    given = [] if y is None else _list_values(y)
    for name, values in (("y", given), ("weight", weights or [])):
        if values and len(values) != len(rows):
            raise InputError(f"{name} has {len(values)} values for {len(rows)} rows.")
    if "classes_" in model:
        return VerificationRows(designs=[Design(columns, weights=weights, labels=given)])
    several = bool(given) and isinstance(given[0], list)
    targets = (
        [list(map(float, t)) for t in zip(*given, strict=True)]
        if several
        else [list(map(float, given))]
    )
    return VerificationRows(designs=[Design(columns, targets if given else [], weights)])


def _list_values(values: Any) -> list[Any]:
    values = values.toarray() if hasattr(values, "toarray") else values
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    items: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return [list(row) if isinstance(row, tuple) else row for row in items]


def rows_of_table(
    path: Path, study: Record | None, model: Record, table: Any, target: Any, weight: Any, text: Any
) -> VerificationRows:
    """The training rows of a table, read under the schema of the model."""
    from separatrix.estimators.wrapped import schema_of
    from separatrix.rows.sources.new_rows import same_rows
    from separatrix.storage import load
    from separatrix.study.training_part import scanned_schema, training_part

    fitted = load(path)
    schema = schema_of(fitted)
    if schema is None:
        raise InputError(
            f"holds a {model.of} that reads no tables.",
            file=str(path),
            remedy="Give arrays: sx.verify(model, X, y).",
        )
    encoding = model.get("encoding_")
    if target is not None and (not schema.targets or target != schema.targets[0].name):
        return _named_target(table, schema, model, target, weight)
    raw = same_rows(table, scanned_schema(schema), text=text)
    if study is None or study.of != "Study":
        from separatrix.estimators.base import with_classes

        rows = with_classes(raw) if "classes_" in model else raw
        assumed = _assume_encoding(model, rows)
        if assumed is None:
            return VerificationRows(rows, _usable(encoding), notes=(READ,))
        return VerificationRows(
            training_part(raw, assumed), _usable(encoding), notes=(READ, ASSUMED)
        )
    split = _split(study)
    part = training_part(raw, split)
    claims = tuple(Claim("rows", REFUTED, f"{text}.") for text in part.contradictions)
    if part.same_rows is not None:
        same = "The rows of the table are those of training: their digest is the recorded one."
        other = "The rows of the table are not those of training: their digest is another."
        claims += (
            Claim("rows", PROVED, same) if part.same_rows else Claim("rows", REFUTED, other),
        )
    n = sum(block.n for block in part.blocks())
    claims += (equal("rows", "Number of training rows", study["n_train"], n),)
    return VerificationRows(part, _usable(encoding), claims=claims, notes=(READ, part.words))


def _assume_encoding(model: Record, rows: Any) -> Any:
    """The split of a study by default, where the file has none and the model had that many rows."""
    from separatrix.study.training_part import Split, training_part

    counted = model.get("n_samples_fit_")
    for name in ("moments_", "class_moments_"):
        if isinstance(model.get(name), Record):
            counted = model[name]["count"]
            counted = sum(counted.values) if isinstance(counted, Tensor) else counted
    n = sum(block.n for block in rows.blocks())
    if not isinstance(counted, int) or counted >= n or not model.get("encoding_"):
        return None
    task = "classification" if "classes_" in model else "regression"
    split = Split(seed=0, test=0.2, task=task, streamed=False)
    value = sum(block.n for block in training_part(rows, split).blocks())
    return split if value == counted else None


def _usable(encoding: Any) -> Record | None:
    if not isinstance(encoding, Record):
        return None
    if encoding.get("imputation") is not None:
        raise InputError(
            "Values imputed by regression are not recomputed.",
            remedy="Fit with --missing mean, indicator or drop.",
        )
    return None if encoding["is_identity"] else encoding


def _split(study: Record) -> Any:
    from separatrix.study.training_part import Split

    test = study.get("test_predictions")
    streamed = not isinstance(test, Record) or test.get("rows") is None
    rows = [] if streamed else _values(test.get("rows"))
    truth = [] if streamed else _values(test.get("truth"))
    return Split(
        seed=study["seed"],
        test=study["test_fraction"],
        task=study["task"],
        streamed=streamed,
        test_rows=rows,
        truth=truth,
        digest=study.get("digest") or "",
        class_weights=_values(study.get("class_weights")),
    )


def _values(value: Any) -> list[Any]:
    return value.values if isinstance(value, Tensor) else list(value or ())


def _named_target(
    table: Any, schema: Any, model: Record, target: str, weight: Any
) -> VerificationRows:
    """A table for a model that was fitted to arrays: its target is named now."""
    from separatrix.estimators.base import with_classes
    from separatrix.rows.scan import scan

    rows = scan(table, target=target, weight=weight)
    if "classes_" in model:
        rows = with_classes(rows)
    names, known_names = list(schema.names), list(rows.schema.names)
    unnamed = names == [f"x{j}" for j in range(len(names))] and len(names) == len(known_names)
    absent = [name for name in names if name not in known_names]
    if absent and not unnamed:
        raise InputError(
            f"there is no column {absent[0]!r}, which training had.",
            remedy="Give the table of training.",
        )
    order = known_names if unnamed else names
    note = f"Columns in the order of training: {', '.join(order)}." if unnamed else READ
    return VerificationRows(_Ordered(rows, order), None, notes=(note,))


@dataclass(frozen=True)
class _Ordered:
    """Rows whose numeric columns are put in the order of training."""

    rows: Any
    order: list[str]

    def blocks(self) -> Iterator[Any]:
        """Raw blocks of these columns."""
        for block in self.rows.blocks():
            place = {term.column: j for j, term in enumerate(block.terms)}
            if len(place) != len(block.terms):
                raise InputError(
                    "The model was fitted to numbers, and the table has levels or missing values.",
                    remedy="Give the matrix of training: sx.verify(model, X, y).",
                )
            at = [place[name] for name in self.order]
            terms = type(block.terms)(tuple(block.terms.items[j] for j in at))
            yield replace(block, x=block.x[:, at], terms=terms)
