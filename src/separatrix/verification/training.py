"""The rows that a model was fitted to, from a table or from arrays.

Reading a table and splitting it are those of the fit; what they found is said in a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from separatrix.messages import InputError
from separatrix.verification.design import Design
from separatrix.verification.stored import Record, Tensor
from separatrix.verification.verdict import PROVED, REFUTED, Claim, equal

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
    claims += (equal("rows", "Training rows", study["n_train"], n),)
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
